// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: tables of arbitrary bytes.  Besides errors that the
 * sanitizers find, it checks that nothing outside the tables is read except the
 * target of an indirect pointer; that the number of bytes read is limited; that a
 * rule is well-formed, and is the same at both ends of its row, whether the CIE is
 * known or not; that the evaluation of an expression ends, whatever the frame
 * contains; and that it gives the value of the reduced form, if there is one.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cfi.h"
#include "cfi_expr.h"
#include "cfi_fuzz.h"
#include "fuzz_check.h"

#define TABLES		0x500000UL
#define MAX_BYTES	(64 * 1024)
#define MAX_READS	(MAX_BYTES / UNWIND_CFI_WINDOW + 64)
/* limits for an expression: operations; reads of its bytes, at most four for each operation */
#define MAX_STEPS	128
#define MAX_EXPR_READS	(MAX_STEPS * 4)
#define CFA		0x7ffc12345678UL

struct tables {
	const u8		*bytes;
	size_t			nr;
	const struct cfi_fuzz	*in;
	bool			writer;
	bool			in_expr;
	unsigned int		reads;
	unsigned int		uses;	/* number of reads of registers and memory */
	size_t			read;
	struct unwind_cfi	cfi;
};

static int read_tables(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct tables *t = ctx;
	size_t i;

	t->reads++;
	t->read += len;
	CHECK(len && len <= UNWIND_CFI_WINDOW);
	/* The last read of an expression may go beyond its end, but not beyond its page. */
	if (t->in_expr && addr - TABLES < t->nr && len > t->nr - (addr - TABLES)) {
		CHECK(len <= 4096 - addr % 4096);
		memset(to, 0, len);
		len = t->nr - (addr - TABLES);
	}
	if (addr < TABLES || addr - TABLES > t->nr || len > t->nr - (addr - TABLES)) {
		CHECK(t->in_expr || len == t->cfi.word);
		return -EFAULT;
	}
	memcpy(to, t->bytes + (addr - TABLES), len);
	for (i = 0; t->writer && i < len; i += 7)
		((u8 *)to)[i] ^= t->reads * 29;
	return 0;
}

static int look_up(struct tables *t, unsigned long fde, unsigned long ip,
		   struct unwind_full_rule *rule)
{
	int ret;

	t->reads = 0;
	t->read = 0;
	memset(rule, 0xaa, sizeof(*rule));
	ret = unwind_cfi_rule(&t->cfi, fde, ip, rule);
	CHECK(t->reads <= MAX_READS);
	CHECK(t->read <= MAX_BYTES + 64);
	CHECK(!ret || ret == -ENOENT || ret == -EINVAL || ret == -EOPNOTSUPP ||
	      ret == -EFAULT || ret == -E2BIG);
	return ret;
}

static unsigned long to_word(const struct tables *t, u64 val)
{
	return t->cfi.word == 4 ? (u32)val : val;
}

static int frame_reg(void *ctx, unsigned int reg, unsigned long *val)
{
	struct tables *t = ctx;

	t->uses++;
	CHECK(reg < UNWIND_REG_RA);
	if (t->in->lost & (1U << reg % 8))
		return -EOPNOTSUPP;
	*val = to_word(t, t->in->seed * 0x123456789abUL + reg * 0x10UL);
	return 0;
}

static int frame_load(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct tables *t = ctx;
	unsigned int i;

	t->uses++;
	CHECK(len && len <= t->cfi.word);
	CHECK(t->cfi.word == 8 || addr == (u32)addr);
	if (t->in->holes & (1U << addr / 4096 % 8))
		return -EFAULT;
	for (i = 0; i < len; i++)
		((u8 *)to)[i] = (addr + i) * t->in->seed;
	return 0;
}

static int carry_out(struct tables *t, unsigned long expr, bool have_cfa, unsigned long *val)
{
	const struct unwind_cfi_frame frame = {
		.reg = frame_reg, .load = frame_load, .ctx = t,
	};
	unsigned long cfa = to_word(t, CFA);
	int ret;

	t->reads = 0;
	t->read = 0;
	t->uses = 0;
	t->in_expr = true;
	ret = unwind_cfi_expr(&t->cfi, &frame, expr, 0x401000, have_cfa ? &cfa : NULL, val);
	t->in_expr = false;
	CHECK(t->uses <= MAX_STEPS);
	CHECK(t->reads <= MAX_EXPR_READS);
	CHECK(t->read <= MAX_BYTES + 64);
	CHECK(!ret || ret == -EINVAL || ret == -EOPNOTSUPP || ret == -EFAULT || ret == -E2BIG);
	CHECK(ret || *val == to_word(t, *val));
	return ret;
}

/* the value of the reduced form of an expression */
static unsigned long value_of(struct tables *t, const struct cfi_value *v)
{
	unsigned long val = 0;
	u64 word = 0;

	if (v->base == CFI_BASE_CFA)
		val = to_word(t, CFA);
	else if (v->base != CFI_BASE_NONE)
		CHECK(!frame_reg(t, v->base, &val));
	val = to_word(t, (u64)val + v->off);
	if (!v->deref)
		return val;
	CHECK(!frame_load(t, val, &word, t->cfi.word));
	return to_word(t, word + v->add);
}

/* Treat the bytes as an expression. Its value must be that of its reduced form. */
static void check_expr(struct tables *t)
{
	struct unwind_cfi_bytes b = {
		.cfi = &t->cfi, .at = TABLES, .end = t->cfi.limit,
	};
	bool have_cfa = t->in->flags & CFI_FUZZ_CFA;
	enum cfi_expr_kind kind;
	struct cfi_value v;
	unsigned long val;

	t->cfi.ip = 0x401000;
	memset(&v, 0xaa, sizeof(v));
	kind = cfi_expr(&b, have_cfa, &v);
	CHECK(kind == CFI_EXPR_BAD || !t->cfi.err);
	CHECK(kind != CFI_EXPR_VALUE || v.base <= CFI_BASE_NONE);
	if (carry_out(t, TABLES, have_cfa, &val) || t->writer || kind != CFI_EXPR_VALUE)
		return;
	CHECK(val == value_of(t, &v));
}

static void check_where(struct tables *t, const struct unwind_full_rule *rule, u8 where,
			s32 off)
{
	unsigned long val;

	CHECK(where <= UNWIND_LOST);
	if (where == UNWIND_IN_REG)
		CHECK(off >= 0 && off < UNWIND_REG_RA);
	if (where == UNWIND_AT_EXPR || where == UNWIND_IS_EXPR) {
		CHECK(rule->expr_base);
		carry_out(t, rule->expr_base + off, true, &val);
	}
}

static void check_rule(struct tables *t, const struct unwind_full_rule *rule)
{
	unsigned long val;
	int i;

	if (rule->ra_where == UNWIND_UNDEFINED)
		return;
	CHECK(rule->ra_where == UNWIND_AT_CFA || rule->ra_where == UNWIND_AT_SP ||
	      rule->ra_where == UNWIND_AT_FP || rule->ra_where == UNWIND_IN_REG ||
	      rule->ra_where == UNWIND_AT_EXPR || rule->ra_where == UNWIND_IS_EXPR);
	CHECK(rule->cfa_reg < UNWIND_REG_RA);
	CHECK(rule->cfa_deref || !rule->cfa_add);
	CHECK(rule->sp_where < UNWIND_UNDEFINED);
	if (rule->cfa_expr) {
		CHECK(rule->expr_base && !rule->cfa_deref);
		carry_out(t, rule->expr_base + rule->cfa_off, false, &val);
	}
	check_where(t, rule, rule->ra_where, rule->ra_off);
	check_where(t, rule, rule->sp_where, rule->sp_off);
	for (i = 0; i < UNWIND_NR_KEPT; i++)
		check_where(t, rule, rule->kept_where[i], rule->kept_off[i]);
}

/* Compare all members, but not the padding at the end. */
static bool same_rule(const struct unwind_full_rule *a,
		      const struct unwind_full_rule *b)
{
	return !memcmp(a, b, offsetof(struct unwind_full_rule, signal) + 1);
}

static void check_row(struct tables *t, unsigned long fde,
		      const struct unwind_full_rule *rule)
{
	unsigned long start = t->cfi.row_start, end = t->cfi.row_end;
	struct unwind_full_rule other;

	CHECK(!look_up(t, fde, start, &other));
	CHECK(same_rule(&other, rule));
	CHECK(t->cfi.row_start == start && t->cfi.row_end == end);
	unwind_cfi_init(&t->cfi);
	CHECK(!look_up(t, fde, end - 1, &other));
	CHECK(same_rule(&other, rule));
	CHECK(t->cfi.row_start == start && t->cfi.row_end == end);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const struct cfi_fuzz *in = (const void *)data;
	unsigned long fde, ip, len;
	struct unwind_full_rule rule;
	struct tables t;

	if (size < sizeof(*in))
		return 0;
	memset(&t, 0, sizeof(t));
	t.in = in;
	t.bytes = data + sizeof(*in);
	t.nr = size - sizeof(*in);
	t.writer = in->flags & CFI_FUZZ_WRITER;
	t.cfi.read = read_tables;
	t.cfi.ctx = &t;
	t.cfi.start = TABLES;
	t.cfi.limit = TABLES + t.nr;
	t.cfi.data = in->flags & CFI_FUZZ_DATA ? TABLES : 0;
	t.cfi.word = in->flags & CFI_FUZZ_32BIT ? 4 : 8;
	if (in->flags & CFI_FUZZ_EXPR) {
		check_expr(&t);
		return 0;
	}
	fde = TABLES + in->fde[0] + 256 * in->fde[1];

	/* if the FDE does not cover the address, look_up() sets the row to the FDE's range */
	ip = 0;
	if (look_up(&t, fde, ip, &rule) == -ENOENT) {
		len = t.cfi.row_end - t.cfi.row_start;
		ip = t.cfi.row_start;
		if (len)
			ip += (in->ip[0] + 256 * in->ip[1]) % len;
		if (look_up(&t, fde, ip, &rule))
			return 0;
	} else if (look_up(&t, fde, ip, &rule)) {
		return 0;
	}

	CHECK(t.cfi.row_start <= ip && ip < t.cfi.row_end);
	if (!t.writer)
		check_row(&t, fde, &rule);
	check_rule(&t, &rule);
	return 0;
}

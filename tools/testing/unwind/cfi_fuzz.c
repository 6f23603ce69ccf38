// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: tables of arbitrary bytes.  Besides errors that the
 * sanitizers find, it checks that nothing outside the tables is read except the
 * target of an indirect pointer; that the number of bytes read is limited; that a
 * rule is well-formed, and is the same at both ends of its row, whether the CIE is
 * known or not; and that reducing an expression ends, with a well-formed value or without one.
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

struct tables {
	const u8		*bytes;
	size_t			nr;
	const struct cfi_fuzz	*in;
	bool			writer;
	unsigned int		reads;
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
	if (addr < TABLES || addr - TABLES > t->nr || len > t->nr - (addr - TABLES)) {
		CHECK(len == t->cfi.word);
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

/* Treat the bytes as an expression. */
static void check_expr(struct tables *t)
{
	struct unwind_cfi_bytes b = {
		.cfi = &t->cfi, .at = TABLES, .end = t->cfi.limit,
	};
	struct cfi_value v;

	t->cfi.ip = 0x401000;
	memset(&v, 0xaa, sizeof(v));
	if (!cfi_expr(&b, t->in->flags & CFI_FUZZ_CFA, &v))
		return;
	CHECK(!t->cfi.err);
	CHECK(v.base <= CFI_BASE_NONE && v.base != UNWIND_REG_RA);
	CHECK(!v.scale || v.index < UNWIND_REG_RA);
	CHECK(!v.deref || v.base != CFI_BASE_NONE);
	CHECK(v.deref || !v.add);
}

static void check_where(u8 where, s32 off)
{
	CHECK(where <= UNWIND_LOST);
	if (where == UNWIND_IN_REG)
		CHECK(off >= 0 && off < UNWIND_REG_RA);
}

static void check_rule(const struct unwind_full_rule *rule)
{
	int i;

	if (rule->ra_where == UNWIND_UNDEFINED)
		return;
	CHECK(rule->ra_where == UNWIND_AT_CFA || rule->ra_where == UNWIND_AT_SP ||
	      rule->ra_where == UNWIND_AT_FP || rule->ra_where == UNWIND_IN_REG);
	CHECK(rule->cfa_reg < UNWIND_REG_RA);
	CHECK(rule->cfa_deref || !rule->cfa_add);
	CHECK(rule->sp_where < UNWIND_UNDEFINED);
	CHECK(!rule->cfa_scale || rule->cfa_index < UNWIND_REG_RA);
	check_where(rule->ra_where, rule->ra_off);
	check_where(rule->sp_where, rule->sp_off);
	for (i = 0; i < UNWIND_NR_KEPT; i++)
		check_where(rule->kept_where[i], rule->kept_off[i]);
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
	check_rule(&rule);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: tables made of any bytes.  Beyond what the sanitizers see:
 * nothing outside the tables is read but what an indirect pointer points to, the
 * number of bytes read is bounded, a rule is well-formed, and it is the same for
 * the whole row that it is said to be good for, whether the CIE was known or not.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cfi.h"
#include "cfi_fuzz.h"
#include "fuzz_check.h"

#define TABLES		0x500000UL
#define MAX_BYTES	(64 * 1024)
#define MAX_READS	(MAX_BYTES / UNWIND_CFI_WINDOW + 64)

struct tables {
	const u8		*bytes;
	size_t			nr;
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
		   struct unwind_cfi_rule *rule)
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

static void check_where(u8 where, s32 off)
{
	CHECK(where <= UNWIND_LOST);
	if (where == UNWIND_IN_REG)
		CHECK(off >= 0 && off < UNWIND_REG_RA);
}

static void check_rule(const struct unwind_cfi_rule *rule)
{
	int i;

	if (rule->ra_where == UNWIND_UNDEFINED)
		return;
	CHECK(rule->ra_where == UNWIND_AT_CFA || rule->ra_where == UNWIND_AT_SP ||
	      rule->ra_where == UNWIND_AT_FP || rule->ra_where == UNWIND_IN_REG);
	CHECK(rule->cfa_reg < UNWIND_REG_RA);
	CHECK(rule->cfa_deref || !rule->cfa_add);
	check_where(rule->ra_where, rule->ra_off);
	for (i = 0; i < UNWIND_NR_KEPT; i++)
		check_where(rule->kept_where[i], rule->kept_off[i]);
}

/* all but what pads the struct */
static bool same_rule(const struct unwind_cfi_rule *a,
		      const struct unwind_cfi_rule *b)
{
	return !memcmp(a, b, offsetof(struct unwind_cfi_rule, signal) + 1);
}

static void check_row(struct tables *t, unsigned long fde,
		      const struct unwind_cfi_rule *rule)
{
	unsigned long start = t->cfi.row_start, end = t->cfi.row_end;
	struct unwind_cfi_rule other;

	CHECK(!look_up(t, fde, start, &other));
	CHECK(same_rule(&other, rule));
	CHECK(t->cfi.row_start == start && t->cfi.row_end == end);
	t->cfi.nr_known = 0;
	CHECK(!look_up(t, fde, end - 1, &other));
	CHECK(same_rule(&other, rule));
	CHECK(t->cfi.row_start == start && t->cfi.row_end == end);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const struct cfi_fuzz *in = (const void *)data;
	unsigned long fde, ip, len;
	struct unwind_cfi_rule rule;
	struct tables t;

	if (size < sizeof(*in))
		return 0;
	memset(&t, 0, sizeof(t));
	t.bytes = data + sizeof(*in);
	t.nr = size - sizeof(*in);
	t.writer = in->flags & CFI_FUZZ_WRITER;
	t.cfi.read = read_tables;
	t.cfi.ctx = &t;
	t.cfi.start = TABLES;
	t.cfi.limit = TABLES + t.nr;
	t.cfi.data = in->flags & CFI_FUZZ_DATA ? TABLES : 0;
	t.cfi.word = in->flags & CFI_FUZZ_32BIT ? 4 : 8;
	fde = TABLES + in->fde[0] + 256 * in->fde[1];

	/* an address that no FDE covers brings out which ones this one does */
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
	check_rule(&rule);
	if (!t.writer)
		check_row(&t, fde, &rule);
	return 0;
}

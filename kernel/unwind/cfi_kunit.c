// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the interpreter of call frame information, on tables made by
 * hand.  They run in user space too: tools/testing/unwind.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "cfi.h"

#define TABLES	0x500000UL	/* address of the tables */
#define CODE	0x401000UL	/* the code that the FDE covers */
#define LENGTH	0x100

struct tables {
	u8			bytes[1024];
	size_t			nr;
	unsigned long		fde;
	unsigned int		reads;
	struct unwind_cfi	cfi;
	struct unwind_full_rule	rule;
};

static int read_tables(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct tables *t = ctx;

	t->reads++;
	if (addr < TABLES || addr - TABLES > t->nr || len > t->nr - (addr - TABLES))
		return -EFAULT;
	memcpy(to, t->bytes + (addr - TABLES), len);
	return 0;
}

static void put_bytes(struct tables *t, const void *from, size_t len)
{
	if (t->nr + len <= sizeof(t->bytes))
		memcpy(t->bytes + t->nr, from, len);
	t->nr += len;
}

static void put_u8(struct tables *t, u8 val)
{
	put_bytes(t, &val, sizeof(val));
}

static void put_u32(struct tables *t, u32 val)
{
	put_bytes(t, &val, sizeof(val));
}

static void put_u64(struct tables *t, u64 val)
{
	put_bytes(t, &val, sizeof(val));
}

/* leave room for a length; return the offset behind it */
static size_t begin_entry(struct tables *t)
{
	put_u32(t, 0);
	return t->nr;
}

static void end_entry(struct tables *t, size_t start)
{
	u32 len = t->nr - start;

	memcpy(t->bytes + start - sizeof(len), &len, sizeof(len));
}

static struct tables *new_tables(struct kunit *test, unsigned int word)
{
	struct tables *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->cfi.read = read_tables;
	t->cfi.ctx = t;
	t->cfi.start = TABLES;
	t->cfi.limit = TABLES + sizeof(t->bytes);
	t->cfi.word = word;
	return t;
}

/* The part of a CIE before its instructions, as compilers write it. */
static const u8 head_64[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b };
static const u8 head_32[] = { 1, 'z', 'R', 0, 1, 0x7c, 8, 1, 0x1b };
static const u8 first_64[] = { 0x0c, 7, 8, 0x80 | 16, 1 };
static const u8 first_32[] = { 0x0c, 4, 4, 0x80 | 8, 1 };

static void put_cie(struct tables *t, const void *head, size_t head_len,
		    const void *insns, size_t len)
{
	size_t start = begin_entry(t);

	put_u32(t, 0);
	put_bytes(t, head, head_len);
	put_bytes(t, insns, len);
	end_entry(t, start);
}

static void put_fde(struct tables *t, const void *insns, size_t len)
{
	size_t start = begin_entry(t);

	t->fde = TABLES + start - sizeof(u32);
	put_u32(t, start);
	put_u32(t, CODE - (TABLES + t->nr));
	put_u32(t, LENGTH);
	put_u8(t, 0);
	put_bytes(t, insns, len);
	end_entry(t, start);
	t->cfi.limit = TABLES + t->nr;
}

static void put_usual(struct tables *t, const void *insns, size_t len)
{
	if (t->cfi.word == 8)
		put_cie(t, head_64, sizeof(head_64), first_64, sizeof(first_64));
	else
		put_cie(t, head_32, sizeof(head_32), first_32, sizeof(first_32));
	put_fde(t, insns, len);
}

static int look_up(struct tables *t, unsigned long ip)
{
	return unwind_cfi_rule(&t->cfi, t->fde, ip, &t->rule);
}

static void print_where(char *to, size_t size, const char *name, u8 where, s32 off)
{
	static const char * const text[] = {
		[UNWIND_SAME] = "same", [UNWIND_AT_CFA] = "c", [UNWIND_AT_SP] = "sp",
		[UNWIND_AT_FP] = "fp", [UNWIND_IS_CFA] = "=c", [UNWIND_IS_SP] = "=sp",
		[UNWIND_IN_REG] = "r",
		[UNWIND_UNDEFINED] = "none", [UNWIND_LOST] = "lost",
	};
	size_t at = strlen(to);

	if (where == UNWIND_SAME || where >= UNWIND_UNDEFINED)
		snprintf(to + at, size - at, " %s %s", name, text[where]);
	else
		snprintf(to + at, size - at, " %s %s%+d", name, text[where], off);
}

/* print a rule, without the registers that stay the same: "sp+16 ra c-8 fp c-16" */
static void print_rule(char *to, size_t size, const struct unwind_full_rule *rule)
{
	static const char * const kept[] = { "fp", "bx", "k2", "k3", "k4", "k5" };
	char reg[16];
	int i;

	if (rule->cfa_reg == UNWIND_REG_SP || rule->cfa_reg == UNWIND_REG_FP)
		snprintf(reg, sizeof(reg), "%s",
			 rule->cfa_reg == UNWIND_REG_SP ? "sp" : "fp");
	else
		snprintf(reg, sizeof(reg), "r%d", rule->cfa_reg);

	if (rule->cfa_scale)
		snprintf(reg + strlen(reg), sizeof(reg) - strlen(reg), "+%d*r%d",
			 rule->cfa_scale, rule->cfa_index);
	if (rule->cfa_deref)
		snprintf(to, size, "*(%s%+d)%+d", reg, rule->cfa_off, rule->cfa_add);
	else
		snprintf(to, size, "%s%+d", reg, rule->cfa_off);
	print_where(to, size, "ra", rule->ra_where, rule->ra_off);
	if (rule->sp_where != UNWIND_SAME)
		print_where(to, size, "sp", rule->sp_where, rule->sp_off);
	for (i = 0; i < UNWIND_NR_KEPT; i++) {
		if (rule->kept_where[i] != UNWIND_SAME)
			print_where(to, size, kept[i], rule->kept_where[i],
				    rule->kept_off[i]);
	}
}

/**
 * struct insn_case - instructions, and the expected rule
 * @name: for the log
 * @insns: instructions of the FDE; the CIE has "def_cfa sp, word; offset ra at cfa - word"
 * @len: bytes of @insns
 * @word: 4 or 8
 * @at: the address to look up, from the start of the function
 * @ret: expected return value
 * @rule: expected rule, as print_rule() prints it
 * @start: expected start of the row
 * @end: expected end of the row
 */
struct insn_case {
	const char	*name;
	const char	*insns;
	size_t		len;
	unsigned int	word;
	unsigned int	at;
	int		ret;
	const char	*rule;
	unsigned int	start;
	unsigned int	end;
};

#define INSNS(_word, _text)						\
	.word = (_word), .insns = (_text), .len = sizeof(_text) - 1
/* RULE: one rule for the whole function; ROW: a rule for a part of it; REFUSED: no rule */
#define RULE(_name, _text, _rule)					\
	{ .name = (_name), INSNS(8, _text), .rule = (_rule), .end = LENGTH }
#define RULE_32(_name, _text, _rule)					\
	{ .name = (_name), INSNS(4, _text), .rule = (_rule), .end = LENGTH }
#define ROW(_name, _text, _at, _start, _end, _rule)			\
	{ .name = (_name), INSNS(8, _text), .rule = (_rule), .at = (_at),	\
	  .start = (_start), .end = (_end) }
#define RULE_AT_IP(_name, _text, _rule)	ROW(_name, _text, 0, 0, 1, _rule)
#define REFUSED(_name, _text, _ret)					\
	{ .name = (_name), INSNS(8, _text), .ret = (_ret) }
#define REFUSED_32(_name, _text, _ret)					\
	{ .name = (_name), INSNS(4, _text), .ret = (_ret) }

#define PLT_64(_from)							\
	"\x0f\x0b\x77\x08\x80\x00\x3f\x1a" _from "\x2a\x33\x24\x22"
#define PLT_32(_from)							\
	"\x0f\x0b\x74\x04\x78\x00\x3f\x1a" _from "\x2a\x32\x24\x22"

static const struct insn_case insn_cases[] = {
	RULE("no instructions", "", "sp+8 ra c-8"),
	RULE("nop", "\x00\x00", "sp+8 ra c-8"),
	RULE_32("no instructions, 32-bit", "", "sp+4 ra c-4"),

	/* the CFA */
	RULE("def_cfa", "\x0c\x06\x10", "fp+16 ra c-8"),
	RULE("def_cfa, two-byte offset", "\x0c\x07\x90\x03", "sp+400 ra c-8"),
	RULE("def_cfa of another register", "\x0c\x0a\x00", "r10+0 ra c-8"),
	RULE("def_cfa_sf", "\x12\x06\x7e", "fp+16 ra c-8"),
	RULE("def_cfa_register", "\x0d\x06", "fp+8 ra c-8"),
	RULE("def_cfa_offset", "\x0e\x30", "sp+48 ra c-8"),
	RULE("def_cfa_offset_sf", "\x13\x7a", "sp+48 ra c-8"),
	RULE("def_cfa_offset, the greatest offset", "\x0e\xff\xff\xff\xff\x07",
	     "sp+2147483647 ra c-8"),
	RULE("an unknown register, then a known one",
	     "\x0c\x11\x20\x0d\x07", "sp+32 ra c-8"),
	REFUSED("CFA in an unknown register", "\x0c\x11\x20", -EOPNOTSUPP),
	REFUSED("CFA in the return address", "\x0c\x10\x20", -EOPNOTSUPP),
	REFUSED("def_cfa, offset too great", "\x0c\x07\x80\x80\x80\x80\x08", -EINVAL),
	REFUSED("def_cfa_offset, offset too great", "\x0e\x80\x80\x80\x80\x08",
		-EINVAL),
	REFUSED("def_cfa_offset, offset of 64 bits",
		"\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -EINVAL),
	REFUSED("def_cfa_sf, offset too great", "\x12\x06\x80\x80\x80\x80\x02",
		-EINVAL),
	REFUSED("def_cfa_offset_sf, product wraps",
		"\x13\x80\x80\x80\x80\x80\x80\x80\x80\xc0\x00", -EINVAL),
	REFUSED("number of more than 64 bits",
		"\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", -EINVAL),

	/* registers */
	RULE("offset", "\x86\x02\x83\x03", "sp+8 ra c-8 fp c-16 bx c-24"),
	RULE("offset of each", "\x86\x02\x83\x03\x8c\x04\x8d\x05\x8e\x06\x8f\x07",
	     "sp+8 ra c-8 fp c-16 bx c-24 k2 c-32 k3 c-40 k4 c-48 k5 c-56"),
	RULE("offset of an untracked register", "\x80\x02\x8a\x03\xbf\x04",
	     "sp+8 ra c-8"),
	RULE_32("offset of each, 32-bit", "\x85\x02\x83\x03\x86\x04\x87\x05",
		"sp+4 ra c-4 fp c-8 bx c-12 k2 c-16 k3 c-20"),
	RULE_32("offset of a register that 32-bit code lacks", "\x8c\x02\x90\x02",
		"sp+4 ra c-4"),
	RULE("offset_extended", "\x05\x06\x02", "sp+8 ra c-8 fp c-16"),
	RULE("offset_extended, a great number", "\x05\xff\xff\x03\x02", "sp+8 ra c-8"),
	RULE("offset_extended_sf", "\x11\x06\x7e", "sp+8 ra c-8 fp c+16"),
	RULE("GNU_negative_offset_extended", "\x2f\x06\x02", "sp+8 ra c-8 fp c+16"),
	RULE("val_offset", "\x14\x06\x02", "sp+8 ra c-8 fp =c-16"),
	RULE("val_offset_sf", "\x15\x06\x7e", "sp+8 ra c-8 fp =c+16"),
	RULE("register", "\x09\x06\x09", "sp+8 ra c-8 fp r+9"),
	RULE("register, of the return address", "\x09\x10\x01", "sp+8 ra r+1"),
	RULE_32("register, 32-bit number", "\x09\x05\x01", "sp+4 ra c-4 fp r+2"),
	RULE("register, in an unknown one", "\x09\x06\x12",
	     "sp+8 ra c-8 fp lost"),
	RULE("register, in the return address", "\x09\x06\x10", "sp+8 ra c-8 fp lost"),
	RULE("undefined", "\x07\x06", "sp+8 ra c-8 fp none"),
	RULE("undefined return address", "\x07\x10", "sp+8 ra none"),
	RULE("same_value", "\x86\x02\x08\x06", "sp+8 ra c-8"),
	RULE("restore", "\x86\x02\x83\x03\xc6", "sp+8 ra c-8 bx c-24"),
	RULE("restore to the CIE's", "\x90\x03\xd0", "sp+8 ra c-8"),
	RULE("restore_extended", "\x86\x02\x83\x03\x06\x06", "sp+8 ra c-8 bx c-24"),
	RULE("sp is the CFA", "\x14\x07\x00", "sp+8 ra c-8"),
	RULE("sp is not the CFA", "\x14\x07\x01", "sp+8 ra c-8 sp =c-8"),
	RULE("sp in memory", "\x87\x02", "sp+8 ra c-8 sp c-16"),
	RULE("sp in a register", "\x09\x07\x08", "sp+8 ra c-8 sp r+8"),
	REFUSED("sp undefined", "\x07\x07", -EOPNOTSUPP),
	REFUSED("sp in an unknown register", "\x09\x07\x12", -EOPNOTSUPP),
	REFUSED("return address with the same value", "\x08\x10", -EOPNOTSUPP),
	REFUSED("return address is the CFA", "\x14\x10\x00", -EOPNOTSUPP),
	REFUSED("offset too great", "\x86\x81\x80\x80\x80\x01", -EINVAL),
	REFUSED("offset, product wraps", "\x86\x80\x80\x80\x80\x80\x80\x80\x80\x40",
		-EINVAL),
	REFUSED("offset_extended too great", "\x05\x06\x81\x80\x80\x80\x01", -EINVAL),
	REFUSED("offset_extended_sf too great", "\x11\x06\x80\x80\x80\x80\x02",
		-EINVAL),
	REFUSED("negative_offset too great", "\x2f\x06\x80\x80\x80\x80\x01", -EINVAL),
	REFUSED("negative_offset of 2^63",
		"\x2f\x06\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", -EINVAL),
	REFUSED("val_offset too great", "\x14\x06\x81\x80\x80\x80\x01", -EINVAL),
	REFUSED("val_offset_sf too great", "\x15\x06\x80\x80\x80\x80\x02", -EINVAL),

	/* rows, and saved states of rows */
	ROW("before advance_loc", "\x41\x0e\x10", 0, 0, 1, "sp+8 ra c-8"),
	ROW("after advance_loc", "\x41\x0e\x10", 1, 1, LENGTH, "sp+16 ra c-8"),
	ROW("between two rows", "\x41\x0e\x10\x44\x0e\x18", 4, 1, 5, "sp+16 ra c-8"),
	ROW("advance_loc by 0", "\x41\x0e\x10\x40\x0e\x18", 1, 1, LENGTH,
	    "sp+24 ra c-8"),
	ROW("advance_loc1", "\x02\x80\x0e\x10", 0x80, 0x80, LENGTH, "sp+16 ra c-8"),
	ROW("before advance_loc1", "\x02\x80\x0e\x10", 0x7f, 0, 0x80, "sp+8 ra c-8"),
	ROW("advance_loc2", "\x03\x80\x00\x0e\x10", 0x80, 0x80, LENGTH,
	    "sp+16 ra c-8"),
	ROW("advance_loc2, far", "\x03\x00\x01\x0e\x10", 0x80, 0, LENGTH,
	    "sp+8 ra c-8"),
	ROW("advance_loc4", "\x04\x80\x00\x00\x00\x0e\x10", 0x80, 0x80, LENGTH,
	    "sp+16 ra c-8"),
	ROW("advance_loc4, far", "\x04\x00\x00\x00\xff\x0e\x10", 0x80, 0, LENGTH,
	    "sp+8 ra c-8"),
	ROW("instructions after the row do not matter", "\x41\x3f\x3f", 0, 0, 1,
	    "sp+8 ra c-8"),
	ROW("remember and restore", "\x0a\x41\x0e\x10\x86\x02\x41\x0b", 1, 1, 2,
	    "sp+16 ra c-8 fp c-16"),
	ROW("restore_state also restores the CFA",
	    "\x0a\x41\x0c\x06\x10\x86\x02\x41\x0b", 2, 2, LENGTH, "sp+8 ra c-8"),
	ROW("four are remembered", "\x0a\x0e\x10\x0a\x0a\x0a\x0b\x0b\x0b\x0b", 0, 0,
	    LENGTH, "sp+8 ra c-8"),
	ROW("the last address", "\x41\x0e\x10", LENGTH - 1, 1, LENGTH, "sp+16 ra c-8"),
	REFUSED("five are remembered", "\x0a\x0a\x0a\x0a\x0a", -E2BIG),
	REFUSED("nothing is remembered", "\x0b", -EINVAL),
	REFUSED("restore_state without remember_state", "\x0a\x0b\x0b", -EINVAL),

	/* instructions without effect on the rule, and unknown ones */
	RULE("GNU_args_size", "\x2e\xa0\x02\x0e\x10", "sp+16 ra c-8"),
	REFUSED("an unknown instruction", "\x16\x06\x00\x17", -EOPNOTSUPP),
	REFUSED("MIPS_advance_loc8", "\x1d\x01\x00\x00\x00\x00\x00\x00\x00",
		-EOPNOTSUPP),

	/* expressions for the CFA: 0x30 + n: lit n, 0x70 + n: breg n */
	RULE("CFA is reg + n", "\x0f\x02\x77\x20", "sp+32 ra c-8"),
	RULE("CFA is reg + n + m", "\x0f\x06\x77\x20\x38\x22\x23\x07", "sp+47 ra c-8"),
	RULE("CFA is *(reg + n)", "\x0f\x03\x76\x78\x06", "*(fp-8)+0 ra c-8"),
	RULE("CFA is *(reg + n) + m", "\x0f\x06\x77\x98\x01\x06\x23\x08",
	     "*(sp+152)+8 ra c-8"),
	RULE("CFA is *reg + m", "\x0f\x05\x76\x00\x06\x40\x22", "*(fp+0)+16 ra c-8"),
	/* as in OpenSSL */
	RULE("CFA by an index", "\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08",
	     "*(sp+8*r9+8)+8 ra c-8"),
	RULE("CFA by an index, not in memory", "\x0f\x07\x77\x08\x79\x00\x38\x1e\x22",
	     "sp+8*r9+8 ra c-8"),
	ROW("PLT entry, first half", PLT_64("\x3b"), 0xa, 0xa, 0xb, "sp+8 ra c-8"),
	ROW("PLT entry, second half", PLT_64("\x3b"), 0xb, 0xb, 0xc, "sp+16 ra c-8"),
	ROW("IBT PLT entry, first half", PLT_64("\x3a"), 0x29, 0x29, 0x2a,
	    "sp+8 ra c-8"),
	ROW("IBT PLT entry, second half", PLT_64("\x3a"), 0x2a, 0x2a, 0x2b,
	    "sp+16 ra c-8"),
	{ .name = "32-bit PLT entry, first half", INSNS(4, PLT_32("\x3b")),
	  .at = 0x1a, .start = 0x1a, .end = 0x1b, .rule = "sp+4 ra c-4" },
	{ .name = "32-bit PLT entry, second half", INSNS(4, PLT_32("\x3b")),
	  .at = 0x1b, .start = 0x1b, .end = 0x1c, .rule = "sp+8 ra c-4" },
	RULE("an unused expression, then an offset",
	     "\x0f\x02\x77\x20\x0c\x07\x10", "sp+16 ra c-8"),
	RULE("an unused expression without a reduced form", "\x0f\x03\x77\x20\x12\x0c\x07\x10",
	     "sp+16 ra c-8"),
	RULE("an expression that leaves no value", "\x0f\x03\x77\x20\x13\x0c\x07\x10",
	     "sp+16 ra c-8"),
	REFUSED("CFA is the sum of two registers", "\x0f\x05\x77\x08\x76\x00\x22",
		-EOPNOTSUPP),
	REFUSED("CFA is a number", "\x0f\x01\x38", -EOPNOTSUPP),
	REFUSED("CFA by a word at an address in memory", "\x0f\x04\x77\x08\x06\x06", -EOPNOTSUPP),
	REFUSED("CFA too far off", "\x0f\x06\x77\x80\x80\x80\x80\x08", -EOPNOTSUPP),
	REFUSED("CFA, sum wraps",
		"\x0f\x0c\x77\x01\x23\xff\xff\xff\xff\xff\xff\xff\xff\x7f", -EOPNOTSUPP),
	REFUSED("CFA is a register and a mask", "\x0f\x04\x77\x00\x3f\x1a", -EOPNOTSUPP),
	REFUSED("CFA is a multiple of a register", "\x0f\x04\x77\x00\x32\x1e", -EOPNOTSUPP),
	REFUSED("CFA by a multiple of a word", "\x0f\x08\x77\x08\x79\x00\x06\x38\x1e\x22",
		-EOPNOTSUPP),
	REFUSED("CFA by a multiple of a register and a number",
		"\x0f\x07\x77\x08\x79\x08\x38\x1e\x22", -EOPNOTSUPP),
	REFUSED("CFA by two indexes",
		"\x0f\x0c\x77\x08\x79\x00\x38\x1e\x22\x79\x00\x38\x1e\x22", -EOPNOTSUPP),
	REFUSED("CFA in memory by an index after the word",
		"\x0f\x08\x77\x08\x06\x79\x00\x38\x1e\x22", -EOPNOTSUPP),
	REFUSED("CFA by memory at an index", "\x0f\x05\x79\x00\x38\x1e\x06", -EOPNOTSUPP),
	REFUSED("CFA compares a register", "\x0f\x04\x77\x08\x38\x2a", -EOPNOTSUPP),
	REFUSED("CFA by memory at a number", "\x0f\x02\x38\x06", -EOPNOTSUPP),
	REFUSED("CFA by an empty expression", "\x0f\x00", -EOPNOTSUPP),
	REFUSED("CFA by an unknown operation", "\x0f\x03\x77\x08\x18", -EOPNOTSUPP),
	REFUSED("CFA by an unknown register", "\x0f\x02\x82\x00", -EOPNOTSUPP),
	REFUSED("CFA by a stack too deep", "\x0f\x06\x77\x08\x30\x30\x30\x30", -EOPNOTSUPP),
	REFUSED("CFA by an empty stack", "\x0f\x01\x22", -EOPNOTSUPP),
	REFUSED("CFA by one value of two", "\x0f\x03\x77\x08\x22", -EOPNOTSUPP),
	REFUSED("CFA by memory at nothing", "\x0f\x01\x06", -EOPNOTSUPP),
	REFUSED("CFA by an empty stack plus a number", "\x0f\x02\x23\x08", -EOPNOTSUPP),
	REFUSED("CFA by nothing dropped", "\x0f\x01\x13", -EOPNOTSUPP),
	REFUSED("an expression longer than the entry", "\x0f\x70\x77\x08", -EINVAL),
	REFUSED("an operand past the end of its expression", "\x0f\x01\x77\x08", -EINVAL),
	REFUSED("def_cfa_offset after an expression", "\x0f\x02\x77\x20\x0e\x08",
		-EINVAL),
	RULE("def_cfa_register after an expression", "\x0f\x02\x77\x20\x0d\x06",
	     "fp+8 ra c-8"),

	/* numbers are computed from the program counter, which is CODE */
	RULE_AT_IP("and", "\x0f\x07\x77\x00\x80\x1f\x3f\x1a\x22", "sp+15 ra c-8"),
	RULE_AT_IP("plus", "\x0f\x09\x77\x00\x80\x1f\x3f\x1a\x31\x22\x22", "sp+16 ra c-8"),
	RULE_AT_IP("ge", "\x0f\x09\x77\x00\x80\x1f\x3f\x1a\x3f\x2a\x22", "sp+1 ra c-8"),
	RULE_AT_IP("not ge", "\x0f\x09\x77\x00\x80\x1e\x3f\x1a\x3f\x2a\x22", "sp+0 ra c-8"),
	RULE_AT_IP("shl", "\x0f\x09\x77\x00\x80\x1f\x3f\x1a\x34\x24\x22", "sp+240 ra c-8"),

	/* expressions for registers */
	RULE("register at reg + n", "\x10\x06\x02\x76\x00\x10\x03\x02\x77\x10",
	     "sp+8 ra c-8 fp fp+0 bx sp+16"),
	RULE("register at the CFA + n", "\x10\x06\x02\x23\x10",
	     "sp+8 ra c-8 fp c+16"),
	RULE("register at a register, the CFA dropped", "\x10\x0e\x03\x13\x76\x70",
	     "sp+8 ra c-8 k4 fp-16"),
	RULE("register at an aligned address",
	     "\x10\x0c\x0a\x38\x1c\x0d\xe0\xff\xff\xff\x1a\x38\x22",
	     "sp+8 ra c-8 k2 lost"),
	RULE("register at *(reg + n)", "\x10\x06\x03\x76\x00\x06",
	     "sp+8 ra c-8 fp lost"),
	RULE("register at another register", "\x10\x06\x02\x7a\x00",
	     "sp+8 ra c-8 fp lost"),
	RULE("register at an index", "\x10\x06\x07\x77\x00\x79\x00\x38\x1e\x22",
	     "sp+8 ra c-8 fp lost"),
	RULE("register at too large an offset", "\x10\x06\x06\x76\x80\x80\x80\x80\x08",
	     "sp+8 ra c-8 fp lost"),
	RULE("register at nothing", "\x10\x06\x01\x13", "sp+8 ra c-8 fp lost"),
	RULE("register by an unknown operation", "\x10\x06\x03\x76\x00\x18",
	     "sp+8 ra c-8 fp lost"),
	RULE("val_expression", "\x16\x06\x02\x23\x10", "sp+8 ra c-8 fp =c+16"),
	RULE("val_expression of memory", "\x16\x06\x03\x76\x70\x06",
	     "sp+8 ra c-8 fp fp-16"),
	RULE("val_expression of memory at the CFA", "\x16\x06\x01\x06",
	     "sp+8 ra c-8 fp c+0"),
	RULE("val_expression of memory and more", "\x16\x06\x05\x76\x70\x06\x23\x08",
	     "sp+8 ra c-8 fp lost"),
	RULE("val_expression of a register", "\x16\x06\x02\x76\x10",
	     "sp+8 ra c-8 fp lost"),
	RULE("signal frame",
	     "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00"
	     "\x10\x10\x03\x77\xa8\x01\x10\x07\x03\x77\xa0\x01",
	     "*(sp+160)+0 ra sp+168 fp sp+120"),
	RULE("CFA by an expression, sp differs",
	     "\x0f\x04\x77\xa0\x01\x06\x10\x07\x03\x77\xa8\x01",
	     "*(sp+160)+0 ra c-8 sp sp+168"),
	RULE("sp by an expression", "\x16\x07\x03\x23\x80\x02",
	     "sp+8 ra c-8 sp =c+256"),
	/* as in Haskell programs */
	RULE("sp is sp + n", "\x0c\x07\x00\x16\x07\x03\x77\x98\x01",
	     "sp+0 ra c-8 sp =sp+152"),
	REFUSED("sp by an expression with a register", "\x16\x07\x02\x76\x00", -EOPNOTSUPP),
	REFUSED("return address by an expression", "\x10\x10\x03\x76\x00\x06", -EOPNOTSUPP),
	REFUSED("return address is the value of an expression", "\x16\x10\x02\x77\x00",
		-EOPNOTSUPP),
	REFUSED("return address lost", "\x10\x10\x03\x76\x00\x18", -EOPNOTSUPP),

	/* the entry ends too early, or its offset is too great */
	REFUSED("def_cfa without offset", "\x0c\x07", -EINVAL),
	REFUSED("offset without offset", "\x86", -EINVAL),
	REFUSED("number without end", "\x0e\x80", -EINVAL),
	REFUSED("advance_loc4 of three bytes", "\x04\x00\x00\x00", -EINVAL),
	REFUSED("expression without length", "\x0f", -EINVAL),
	REFUSED_32("32-bit offset too great", "\x85\x81\x80\x80\x80\x02", -EINVAL),
};

KUNIT_ARRAY_PARAM_DESC(insn_case, insn_cases, name);

static void insn_rule(struct kunit *test)
{
	const struct insn_case *c = test->param_value;
	struct tables *t = new_tables(test, c->word);
	char text[160];

	put_usual(t, c->insns, c->len);
	KUNIT_ASSERT_EQ(test, look_up(t, CODE + c->at), c->ret);
	if (c->ret)
		return;
	print_rule(text, sizeof(text), &t->rule);
	KUNIT_EXPECT_STREQ(test, text, c->rule);
	KUNIT_EXPECT_EQ(test, t->cfi.row_start, CODE + c->start);
	KUNIT_EXPECT_EQ(test, t->cfi.row_end, CODE + c->end);
	KUNIT_EXPECT_FALSE(test, t->rule.signal);
}

/**
 * struct cie_case - the start of a CIE, and the expected result
 * @name: for the log
 * @head: its bytes from the version on
 * @len: bytes of @head
 * @ret: expected return value
 * @signal: the rule is expected to be that of a signal frame
 */
struct cie_case {
	const char	*name;
	const char	*head;
	size_t		len;
	int		ret;
	bool		signal;
};

#define HEAD(_name, _text, _ret)					\
	{ .name = (_name), .head = (_text), .len = sizeof(_text) - 1, .ret = (_ret) }

static const struct cie_case cie_cases[] = {
	HEAD("zR", "\x01zR\0\x01\x78\x10\x01\x1b", 0),
	HEAD("zPLR", "\x01zPLR\0\x01\x78\x10\x07\x9b\x01\x02\x03\x04\x1b\x1b", 0),
	HEAD("zPLR, absolute personality",
	     "\x01zPLR\0\x01\x78\x10\x0b\x00\x01\x02\x03\x04\x05\x06\x07\x08\x1b\x1b",
	     0),
	HEAD("zPR, personality relative to an unknown base",
	     "\x01zPR\0\x01\x78\x10\x06\xc3\x01\x02\x03\x04\x1b", 0),
	HEAD("zPR, personality left out", "\x01zPR\0\x01\x78\x10\x02\xff\x1b", 0),
	/* the encoding at byte 17 is "aligned": 6 bytes are skipped up to the pointer at byte 24 */
	HEAD("zPR, aligned personality",
	     "\x01zPR\0\x01\x78\x10\x10\x50\0\0\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x1b",
	     0),
	{ .name = "zRS", .head = "\x01zRS\0\x01\x78\x10\x01\x1b", .len = 10,
	  .signal = true },
	HEAD("zR, more data than known", "\x01zR\0\x01\x78\x10\x04\x1b\x01\x02\x03", 0),
	HEAD("version 3", "\x03zR\0\x01\x78\x10\x01\x1b", 0),
	HEAD("version 3, a long number", "\x03zR\0\x01\x78\x90\x00\x01\x1b", 0),
	HEAD("version 4", "\x04zR\0\x08\x00\x01\x78\x10\x01\x1b", 0),
	HEAD("version 4, other addresses", "\x04zR\0\x04\x00\x01\x78\x10\x01\x1b",
	     -EOPNOTSUPP),
	HEAD("version 4, segments", "\x04zR\0\x08\x02\x01\x78\x10\x01\x1b",
	     -EOPNOTSUPP),
	HEAD("version 2", "\x02zR\0\x01\x78\x10\x01\x1b", -EOPNOTSUPP),
	HEAD("version 5", "\x05zR\0\x01\x78\x10\x01\x1b", -EOPNOTSUPP),
	HEAD("an unknown letter", "\x01zRX\0\x01\x78\x10\x01\x1b", -EOPNOTSUPP),
	HEAD("a letter without z", "\x01R\0\x01\x78\x10\x01\x1b", -EOPNOTSUPP),
	HEAD("eh", "\x01\x65h\0\0\0\0\0\0\0\0\0\x01\x78\x10", -EOPNOTSUPP),
	HEAD("a long string", "\x01zRRRRRRRRRRRRRRR\0\x01\x78\x10\x01\x1b",
	     -EOPNOTSUPP),
	HEAD("data shorter than its letters", "\x01zPLR\0\x01\x78\x10\x01\x1b\x1b\x1b",
	     -EINVAL),
	HEAD("data longer than the entry", "\x01zR\0\x01\x78\x10\x70\x1b", -EINVAL),
	HEAD("another return address", "\x01zR\0\x01\x78\x0f\x01\x1b", -EOPNOTSUPP),
	HEAD("function relative", "\x01zR\0\x01\x78\x10\x01\x4b", -EOPNOTSUPP),
	HEAD("text relative", "\x01zR\0\x01\x78\x10\x01\x2b", -EOPNOTSUPP),
	HEAD("data relative, no base", "\x01zR\0\x01\x78\x10\x01\x3b",
	     -EOPNOTSUPP),
	HEAD("an unknown format", "\x01zR\0\x01\x78\x10\x01\x15", -EINVAL),
	HEAD("addresses left out", "\x01zR\0\x01\x78\x10\x01\xff", -EOPNOTSUPP),
};

KUNIT_ARRAY_PARAM_DESC(cie_case, cie_cases, name);

static void cie_header(struct kunit *test)
{
	const struct cie_case *c = test->param_value;
	struct tables *t = new_tables(test, 8);

	put_cie(t, c->head, c->len, first_64, sizeof(first_64));
	put_fde(t, "", 0);
	KUNIT_ASSERT_EQ(test, look_up(t, CODE), c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 8);
	KUNIT_EXPECT_EQ(test, t->rule.signal, c->signal);
}

/* write a CIE, and an FDE whose addresses have the encoding */
static void put_encoded(struct tables *t, u8 encoding, u64 start, size_t size)
{
	u8 head[sizeof(head_64)];
	u64 len = LENGTH;
	size_t entry;

	memcpy(head, head_64, sizeof(head));
	head[sizeof(head) - 1] = encoding;
	put_cie(t, head, sizeof(head), first_64, sizeof(first_64));
	entry = begin_entry(t);
	t->fde = TABLES + entry - sizeof(u32);
	put_u32(t, entry);
	if ((encoding & 0x70) == 0x10)
		start -= TABLES + t->nr;
	put_bytes(t, &start, size);
	put_bytes(t, &len, size);
	put_u8(t, 0);
	end_entry(t, entry);
}

static void pointer_encodings(struct kunit *test)
{
	static const struct {
		u8		encoding;
		u64		start;
		size_t		size;
		unsigned long	data;
	} good[] = {
		{ 0x00, CODE, 8, 0 },	/* absptr */
		{ 0x03, CODE, 4, 0 },	/* udata4 */
		{ 0x04, CODE, 8, 0 },	/* udata8 */
		{ 0x0b, CODE, 4, 0 },	/* sdata4 */
		{ 0x0c, CODE, 8, 0 },	/* sdata8 */
		{ 0x10, CODE, 8, 0 },	/* pcrel */
		{ 0x1b, CODE, 4, 0 },
		{ 0x1c, CODE, 8, 0 },
		{ 0x33, 0x1000, 4, 0x400000 },	/* datarel */
		{ 0x32, 0x1000, 2, 0x400000 },
		{ 0x3a, 0x1000, 2, 0x400000 },
		{ 0x3a, -0x1000, 2, 0x402000 },
		{ 0x3b, 0x1000, 4, 0x400000 },
		{ 0xb2, 64, 2, TABLES },	/* indirect */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct tables *t = new_tables(test, 8);

		t->cfi.data = good[i].data;
		put_encoded(t, good[i].encoding, good[i].start, good[i].size);
		/* an indirect pointer points here */
		while (t->nr < 64)
			put_u8(t, 0);
		put_u64(t, CODE);
		t->cfi.limit = TABLES + t->nr;
		KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE + 0xff), 0, "encoding %#x",
				    good[i].encoding);
		KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE + LENGTH), -ENOENT,
				    "encoding %#x", good[i].encoding);
		KUNIT_EXPECT_EQ(test, t->cfi.row_start, CODE);
		KUNIT_EXPECT_EQ(test, t->cfi.row_end, CODE + LENGTH);
	}
}

/* addresses of 32-bit code wrap at 4 GiB, as its registers do */
static void addresses_wrap(struct kunit *test)
{
	struct tables *t = new_tables(test, 4);
	u8 head[sizeof(head_32)];

	memcpy(head, head_32, sizeof(head));
	head[sizeof(head) - 1] = 0x13;
	put_cie(t, head, sizeof(head), first_32, sizeof(first_32));
	put_fde(t, "", 0);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), 0);
	KUNIT_EXPECT_EQ(test, t->cfi.row_start, CODE);
}

/* addresses and offsets are multiples of the CIE's factors */
static void alignment_factors(struct kunit *test)
{
	static const u8 head[] = { 1, 'z', 'R', 0, 4, 0x7e, 16, 1, 0x1b };
	struct tables *t = new_tables(test, 8);

	put_cie(t, head, sizeof(head), "\x0c\x07\x08\x90\x04", 5);
	put_fde(t, "\x86\x08\x41\x0e\x10\x02\x02\x13\x74", 9);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 3), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 8);
	KUNIT_EXPECT_EQ(test, t->rule.ra_off, -8);
	KUNIT_EXPECT_EQ(test, t->rule.kept_off[UNWIND_SLOT_FP], -16);
	KUNIT_EXPECT_EQ(test, t->cfi.row_end, CODE + 4);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 11), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 16);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 12), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 24);
}

/* use one struct for tables of all kinds: results from one CIE must not be used for others */
static void known_cies(struct kunit *test)
{
	static const u8 other[] = { 0x0c, 7, 16, 0x80 | 16, 2 };
	struct tables *a = new_tables(test, 8), *b = new_tables(test, 8);

	put_usual(a, "\x86\x02", 2);
	put_cie(b, head_64, sizeof(head_64), other, sizeof(other));
	put_fde(b, "\x00\x00", 2);
	KUNIT_EXPECT_EQ(test, look_up(a, CODE), 0);
	b->cfi = a->cfi;
	b->cfi.ctx = b;
	unwind_cfi_moved(&b->cfi);

	KUNIT_EXPECT_EQ(test, look_up(b, CODE), 0);
	KUNIT_EXPECT_EQ(test, b->rule.cfa_off, 16);
	memcpy(b->bytes, a->bytes, a->nr);
	unwind_cfi_moved(&b->cfi);
	KUNIT_EXPECT_EQ(test, look_up(b, CODE), 0);
	KUNIT_EXPECT_EQ(test, b->rule.cfa_off, 8);
	KUNIT_EXPECT_EQ(test, b->rule.kept_where[UNWIND_SLOT_FP], UNWIND_AT_CFA);
	b->bytes[b->fde - TABLES + 17] = 0x83;	/* "offset" of another register */
	KUNIT_EXPECT_EQ(test, look_up(b, CODE), 0);
	KUNIT_EXPECT_EQ(test, b->rule.kept_where[UNWIND_SLOT_FP], UNWIND_SAME);
	KUNIT_EXPECT_EQ(test, b->rule.kept_where[1], UNWIND_AT_CFA);
	b->cfi.word = 4;	/* 32-bit code has no register 16 */
	KUNIT_EXPECT_EQ(test, look_up(b, CODE), -EOPNOTSUPP);
}

/* Skip an expression that is longer than the window of bytes that are read at once. */
static void long_expression(struct kunit *test)
{
	u8 insns[104] = { 0x41, 0x10, 0x06, 98, 0x18 };
	struct tables *t = new_tables(test, 8);

	memset(insns + 5, 0x0b, 97);	/* must not be executed */
	insns[102] = 0x0e;
	insns[103] = 0x20;
	put_usual(t, insns, sizeof(insns));
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 1), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 32);
	KUNIT_EXPECT_EQ(test, t->rule.kept_where[UNWIND_SLOT_FP], UNWIND_LOST);
}

static void set_loc(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);
	u8 insns[] = { 0x01, 0, 0, 0, 0, 0x0e, 0x10 };
	size_t field;
	u32 *at;

	put_usual(t, insns, sizeof(insns));
	field = t->nr - 6;
	at = (u32 *)(t->bytes + field);
	put_unaligned((u32)(CODE + 8 - (TABLES + field)), at);
	KUNIT_ASSERT_EQ(test, look_up(t, CODE + 7), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 8);
	KUNIT_ASSERT_EQ(test, look_up(t, CODE + 8), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 16);
	KUNIT_EXPECT_EQ(test, t->cfi.row_start, CODE + 8);

	put_unaligned((u32)(CODE - 1 - (TABLES + field)), at);
	KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE + 8), -EINVAL, "a step back");
}

static void fde_range(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);

	put_usual(t, "", 0);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE - 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), 0);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + LENGTH - 1), 0);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + LENGTH), -ENOENT);
	KUNIT_EXPECT_EQ(test, look_up(t, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, look_up(t, ~0UL), -ENOENT);
}

/* Look up a rule by an FDE whose length field is @len. */
static int look_up_length(struct kunit *test, u32 len)
{
	struct tables *t = new_tables(test, 8);

	put_usual(t, "", 0);
	memcpy(t->bytes + (t->fde - TABLES), &len, sizeof(len));
	return look_up(t, CODE);
}

static void entry_lengths(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, look_up_length(test, 13), 0);
	KUNIT_EXPECT_EQ_MSG(test, look_up_length(test, 0), -EINVAL, "the end");
	KUNIT_EXPECT_EQ_MSG(test, look_up_length(test, 12), -EINVAL, "too short");
	KUNIT_EXPECT_EQ_MSG(test, look_up_length(test, 14), -EINVAL, "past the end");
	KUNIT_EXPECT_EQ(test, look_up_length(test, 0x7fffffff), -EINVAL);
	KUNIT_EXPECT_EQ_MSG(test, look_up_length(test, 0xfffffff0), -EINVAL, "reserved");
	KUNIT_EXPECT_EQ_MSG(test, look_up_length(test, 0xffffffff), -EINVAL,
			    "a 64-bit length past the end");
}

static void long_lengths(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);
	size_t field;

	put_u32(t, 0xffffffff);
	put_u64(t, 4 + sizeof(head_64) + sizeof(first_64));
	put_u32(t, 0);
	put_bytes(t, head_64, sizeof(head_64));
	put_bytes(t, first_64, sizeof(first_64));
	t->fde = TABLES + t->nr;
	put_u32(t, 0xffffffff);
	put_u64(t, 13);
	field = t->nr;
	put_u32(t, field);
	put_u32(t, CODE - (TABLES + t->nr));
	put_u32(t, LENGTH);
	put_u8(t, 0);
	t->cfi.limit = TABLES + t->nr;
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), 0);
	KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 8);

	put_unaligned(~0ULL, (u64 *)(t->bytes + field - 8));
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), -EINVAL);
}

/* Look up a rule by an FDE whose pointer to its CIE is @distance. */
static int look_up_cie(struct kunit *test, u32 distance)
{
	struct tables *t = new_tables(test, 8);

	put_usual(t, "", 0);
	memcpy(t->bytes + (t->fde - TABLES) + 4, &distance, sizeof(distance));
	return look_up(t, CODE);
}

static void cie_pointers(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);

	put_usual(t, "", 0);
	KUNIT_EXPECT_EQ_MSG(test, look_up_cie(test, 0), -EINVAL, "a CIE");
	KUNIT_EXPECT_EQ_MSG(test, look_up_cie(test, 4), -EINVAL, "the FDE itself");
	KUNIT_EXPECT_EQ_MSG(test, look_up_cie(test, 0x400), -EINVAL, "before the tables");
	KUNIT_EXPECT_EQ_MSG(test, look_up_cie(test, -64U), -EINVAL, "below zero");

	t->fde = TABLES;
	KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE), -EINVAL, "a CIE for an FDE");
	t->fde = TABLES + t->nr;
	KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE), -EINVAL, "past the tables");
	t->fde = TABLES - 1;
	KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE), -EINVAL, "before the tables");
	t->fde = ~0UL;
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), -EINVAL);
	t->fde = 0;
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), -EINVAL);
}

/* instructions of a CIE make only the first row */
static void cie_instructions(struct kunit *test)
{
	static const struct {
		const char	*insns;
		size_t		len;
		int		ret;
	} cases[] = {
		{ "\x0c\x07\x08\x90\x01\x41", 6, -EINVAL },
		{ "\x0c\x07\x08\x90\x01\x02\xff", 7, -EINVAL },
		{ "\x90\x01", 2, -EINVAL },			/* no CFA */
		{ "\x0c\x07\x08", 3, -EOPNOTSUPP },		/* no return address */
		{ "\x0e\x08\x90\x01", 4, -EINVAL },		/* offset without a register */
		{ "\x0c\x07\x08\x90\x01\x0a", 6, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tables *t = new_tables(test, 8);

		put_cie(t, head_64, sizeof(head_64), cases[i].insns, cases[i].len);
		put_fde(t, "\x0b", i == 5);
		/* an FDE cannot restore the state that a CIE has remembered */
		KUNIT_EXPECT_EQ_MSG(test, look_up(t, CODE), i == 5 ? -EINVAL : cases[i].ret,
				    "case %zu", i);
	}
}

/* read an entry with 10^6 instructions: the limit on bytes must end the look-up */
static int read_endless(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct tables *t = ctx;

	if (addr - TABLES < t->nr)
		return read_tables(ctx, addr, to, min(len, t->nr - (addr - TABLES)));
	t->reads++;
	memset(to, 0, len);
	return 0;
}

static void endless_insns(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);
	u32 len = 1000000;

	put_usual(t, "", 0);
	memcpy(t->bytes + (t->fde - TABLES), &len, sizeof(len));
	t->cfi.read = read_endless;
	t->cfi.limit = TABLES + 2000000;
	KUNIT_EXPECT_EQ(test, look_up(t, CODE), -E2BIG);
	KUNIT_EXPECT_LE(test, t->reads, 64 * 1024 / UNWIND_CFI_WINDOW);
}

/* the FDE of a usual function takes one read; its CIE is read only the first time */
static void few_reads(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);

	put_usual(t, "\x41\x0e\x10\x86\x02\x43\x0d\x06", 8);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 4), 0);
	KUNIT_EXPECT_EQ(test, t->reads, 2);
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 5), 0);
	KUNIT_EXPECT_EQ(test, t->reads, 3);
	KUNIT_EXPECT_EQ(test, t->rule.kept_where[UNWIND_SLOT_FP], UNWIND_AT_CFA);

	/* An FDE outside the tables is refused. */
	t->cfi.start = t->fde;
	KUNIT_EXPECT_EQ(test, look_up(t, CODE + 4), -EINVAL);
}

/* decode instructions at any place in an entry that is longer than the window */
static void across_windows(struct kunit *test)
{
	static const u8 some[] = {
		0x04, 1, 0, 0, 0, 0x0e, 0x90, 0x03,
		0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8,
	};
	u8 insns[200];
	int pad;

	for (pad = 0; pad < 150; pad++) {
		struct tables *t = new_tables(test, 8);

		memset(insns, 0, sizeof(insns));
		memcpy(insns + pad, some, sizeof(some));
		put_usual(t, insns, sizeof(insns));
		KUNIT_EXPECT_EQ(test, look_up(t, CODE + 1), 0);
		KUNIT_EXPECT_TRUE(test, t->rule.cfa_deref);
		KUNIT_EXPECT_EQ(test, t->rule.cfa_off, 152);
		KUNIT_EXPECT_EQ(test, t->rule.cfa_add, 8);
	}
}

/* if any byte cannot be read, the error is returned */
static void missing_bytes(struct kunit *test)
{
	struct tables *t = new_tables(test, 8);
	size_t all;

	put_usual(t, "\x41\x0e\x10", 3);
	t->cfi.limit = TABLES + sizeof(t->bytes);
	for (all = t->nr; t->nr--;) {
		t->cfi.limit = TABLES + all;
		KUNIT_EXPECT_EQ(test, look_up(t, CODE + 1), -EFAULT);
	}
}

static struct kunit_case cfi_cases[] = {
	KUNIT_CASE_PARAM(insn_rule, insn_case_gen_params),
	KUNIT_CASE_PARAM(cie_header, cie_case_gen_params),
	KUNIT_CASE(pointer_encodings),
	KUNIT_CASE(addresses_wrap),
	KUNIT_CASE(alignment_factors),
	KUNIT_CASE(known_cies),
	KUNIT_CASE(long_expression),
	KUNIT_CASE(set_loc),
	KUNIT_CASE(fde_range),
	KUNIT_CASE(entry_lengths),
	KUNIT_CASE(long_lengths),
	KUNIT_CASE(cie_pointers),
	KUNIT_CASE(cie_instructions),
	KUNIT_CASE(endless_insns),
	KUNIT_CASE(few_reads),
	KUNIT_CASE(across_windows),
	KUNIT_CASE(missing_bytes),
	{}
};

static struct kunit_suite cfi_suite = {
	.name = "unwind_cfi",
	.test_cases = cfi_cases,
};

kunit_test_suite(cfi_suite);

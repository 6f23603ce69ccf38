// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the rules that kernel/unwind/code.c finds in the code of a file with those of
 * the file's .eh_frame, at every instruction.
 *
 *	code_truth [-v] FILE...    TAP, a test for each file
 *
 * The rules are meant for code without tables.  For code with tables, the tables show whether
 * the rules are right.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asm/insn.h>

#include "cfi.h"
#include "cfi_elf.h"
#include "code.h"

/* memory for searches: each of its parts has at most 4096 bytes */
static u64 memory[UNWIND_CODE_PARTS][512];
#define MEMORY	{ memory[0], memory[1], memory[2], memory[3] }

static bool verbose;

struct counts {
	unsigned long	insns;
	unsigned long	none;
	unsigned long	right;
	unsigned long	other_base;
	unsigned long	wrong;
	unsigned long	fp_lost;
	unsigned long	fp_wrong;
};

static unsigned int read_code(void *ctx, unsigned long addr, u8 *to, unsigned int len)
{
	return cfi_elf_code(ctx, addr, to, len);
}

/* Is the CFA relative to the stack or frame pointer, with the return address right below it? */
static bool is_plain(const struct unwind_full_rule *rule, unsigned int word)
{
	return !rule->signal && !rule->cfa_deref && rule->ra_where == UNWIND_AT_CFA &&
	       rule->ra_off == -(s32)word &&
	       (rule->cfa_reg == UNWIND_REG_SP || rule->cfa_reg == UNWIND_REG_FP);
}

static void report_difference(const char *what, const struct cfi_elf *elf, unsigned long ip,
			      const struct unwind_full_rule *rule, const struct unwind_code *code)
{
	if (!verbose)
		return;
	printf("# %s at %lx: table %s%+d fp %d%+d; code %s%+d fp %s%+d, to %lx%s\n", what, ip,
	       rule->cfa_reg == UNWIND_REG_FP ? "fp" : "sp", rule->cfa_off,
	       rule->kept_where[UNWIND_SLOT_FP], rule->kept_off[UNWIND_SLOT_FP],
	       code->by_fp ? "fp" : "sp", code->cfa_off,
	       code->fp_lost ? "lost" : code->fp_saved ? "saved" : "same", code->fp_off,
	       code->end, code->is_doubtful ? ", doubtful" : "");
	(void)elf;
}

static void compare_fp(const struct cfi_elf *elf, unsigned long ip,
		       const struct unwind_full_rule *rule, const struct unwind_code *code,
		       struct counts *counts)
{
	u8 where = rule->kept_where[UNWIND_SLOT_FP];
	bool right;

	if (code->fp_lost || code->fp_at_fp) {
		counts->fp_lost++;
		return;
	}
	if (code->fp_saved)
		right = where == UNWIND_AT_CFA &&
			rule->kept_off[UNWIND_SLOT_FP] == code->fp_off;
	else
		right = where == UNWIND_SAME ||	/* or popped: its copy is below SP */
			(where == UNWIND_AT_CFA && rule->cfa_reg == UNWIND_REG_SP &&
			 rule->kept_off[UNWIND_SLOT_FP] < -rule->cfa_off);
	if (right)
		return;
	counts->fp_wrong++;
	report_difference("frame pointer", elf, ip, rule, code);
}

static void compare_rule(struct cfi_elf *elf, unsigned long ip,
			 const struct unwind_full_rule *rule, struct counts *counts)
{
	struct unwind_code code = {
		.read = read_code, .ctx = elf, .word = elf->word, .memory = MEMORY,
	};
	bool table_by_fp;

	/* the search must not rely on cleared memory */
	memset(memory, 0xa5, sizeof(memory));
	counts->insns++;
	if (!unwind_code_find(&code, ip)) {
		counts->none++;
		return;
	}
	table_by_fp = rule->cfa_reg == UNWIND_REG_FP;
	if (code.by_mem || code.by_fp != table_by_fp) {
		/* FP >= SP, so the CFA's offset from FP must not exceed that from SP */
		if (code.by_mem || (code.by_fp && code.cfa_off - rule->cfa_off > 0))
			report_difference("base", elf, ip, rule, &code);
		counts->other_base++;
		return;
	}
	if (code.cfa_off != rule->cfa_off) {
		counts->wrong++;
		report_difference("CFA", elf, ip, rule, &code);
		return;
	}
	counts->right++;
	compare_fp(elf, ip, rule, &code, counts);
}

/* Is the instruction a nop, as between functions? */
static bool is_nop(const u8 *bytes, unsigned int nr, unsigned int word)
{
	struct unwind_code_insn insn;

	return unwind_code_decode(bytes, nr, word, &insn) && insn.op == UNWIND_CODE_NOP;
}

static void compare_fde(struct cfi_elf *elf, struct unwind_cfi *cfi, unsigned long fde,
			struct counts *counts)
{
	struct unwind_full_rule rule;
	unsigned long ip, end;
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	struct insn insn;
	unsigned int nr;

	if (unwind_cfi_rule(cfi, fde, 0, &rule) != -ENOENT)
		return;
	ip = cfi->row_start;
	end = cfi->row_end;
	while (ip < end) {
		nr = cfi_elf_code(elf, ip, bytes, sizeof(bytes));
		if (!nr || insn_decode(&insn, bytes, nr,
				       elf->word == 8 ? INSN_MODE_64 : INSN_MODE_32))
			break;
		if (!is_nop(bytes, nr, elf->word) &&
		    !unwind_cfi_rule(cfi, fde, ip, &rule) && is_plain(&rule, elf->word))
			compare_rule(elf, ip, &rule, counts);
		ip += insn.length;
	}
}

static bool compare_file(const char *name)
{
	struct unwind_cfi cfi = {};
	struct counts counts = {};
	struct cfi_elf elf;
	size_t pos = 0, fde;

	if (cfi_elf_open(&elf, name))
		return false;
	cfi.read = cfi_elf_read;
	cfi.ctx = &elf;
	cfi.start = elf.addr;
	cfi.limit = elf.addr + elf.size;
	cfi.word = elf.word;
	unwind_cfi_init(&cfi);
	while (cfi_elf_fde(&elf, &pos, &fde))
		compare_fde(&elf, &cfi, elf.addr + fde, &counts);
	printf("# %s: %lu instructions, %lu right, %lu no rule, %lu by another base, %lu wrong;",
	       name, counts.insns, counts.right, counts.none, counts.other_base,
	       counts.wrong);
	printf(" frame pointer: %lu lost, %lu wrong\n", counts.fp_lost, counts.fp_wrong);
	return counts.insns;
}

int main(int argc, char **argv)
{
	int i, failed = 0, first = 1;

	if (argc > 1 && !strcmp(argv[1], "-v")) {
		verbose = true;
		first = 2;
	}
	for (i = first; i < argc; i++) {
		bool good = compare_file(argv[i]);

		printf("%sok %d - %s\n", good ? "" : "not ", i - first + 1, argv[i]);
		failed |= !good;
	}
	printf("1..%d\n", argc - first);
	return failed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the rules of each row of a file's .eh_frame with those that readelf prints.
 *
 *	cfi_truth FILE...            compare; TAP, a test for each file
 *	cfi_truth --count FILE...    only count the rules by kind
 *
 * readelf prints expressions as "exp" only.  Rows with expressions are counted, and listed
 * with the rule that the interpreter makes of them.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "cfi_elf.h"

#define BLANKS		"\t\n "
#define MAX_COLUMNS	64
#define MAX_KINDS	256

/* a kind of rows, and their number */
struct kind {
	char		name[160];
	unsigned long	nr;
};

static struct kind kinds[MAX_KINDS];
static unsigned int nr_kinds;

/* The row of a CIE. It is the only row of an FDE without instructions of its own. */
struct first_row {
	unsigned long	offset;
	char		columns[256];
	char		row[256];
};

/* the current FDE of readelf, and the tables to compare its rows with */
struct table {
	struct cfi_elf		*elf;
	struct unwind_cfi	cfi;
	struct unwind_full_rule	rule;
	unsigned long		fde;
	unsigned long		start;
	unsigned long		end;
	unsigned long		next;	/* where the next row starts */
	int			ret;	/* result for @rule */
	bool			is_fde;
	bool			open;	/* a row was read, but not compared yet */
	int			nr_columns;
	char			columns[MAX_COLUMNS][16];
	char			row[1024];
	unsigned long		loc;
	struct first_row	*cies;
	unsigned int		nr_cies;
	unsigned long		cie;
	unsigned long		rows;
	unsigned long		fde_rows;
	unsigned long		fdes;
	unsigned long		wrong;
};

static void count_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_kinds && strcmp(kinds[i].name, name); i++)
		;
	if (i == MAX_KINDS)
		i--;
	if (i == nr_kinds) {
		snprintf(kinds[i].name, sizeof(kinds[i].name), "%s", name);
		nr_kinds++;
	}
	kinds[i].nr++;
}

static const char *reg_name(unsigned int reg, unsigned int word)
{
	static const char * const names[2][UNWIND_REG_NR] = {
		{ "eax", "edx", "ecx", "ebx", "esi", "edi", "ebp", "esp" },
		{ "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9",
		  "r10", "r11", "r12", "r13", "r14", "r15" },
	};

	return reg < UNWIND_REG_NR && names[word == 8][reg] ?
	       names[word == 8][reg] : "?";
}

static int slot_of(const char *name, unsigned int word)
{
	unsigned int reg;

	if (!strcmp(name, "ra"))
		return UNWIND_SLOT_RA;
	for (reg = 0; reg < UNWIND_REG_NR; reg++) {
		if (!strcmp(name, reg_name(reg, word)))
			return arch_unwind_slot(reg, word);
	}
	return -1;
}

static void row_at(struct table *t, unsigned long ip)
{
	t->ret = unwind_cfi_rule(&t->cfi, t->fde, ip, &t->rule);
}

static void describe_cfa(const struct table *t, char *to, size_t size)
{
	const struct unwind_full_rule *rule = &t->rule;
	const char *reg = reg_name(rule->cfa_reg, t->elf->word);

	if (t->ret)
		snprintf(to, size, "refused: %s", strerror(-t->ret));
	else if (rule->ra_where == UNWIND_UNDEFINED)
		snprintf(to, size, "end of stack");
	else if (rule->cfa_scale)
		snprintf(to, size, "by an index");
	else if (rule->cfa_deref)
		snprintf(to, size, "*(%s%+d)%+d", reg, rule->cfa_off,
			 rule->cfa_add);
	else
		snprintf(to, size, "%s%+d", reg, rule->cfa_off);
}

/* what readelf prints for a register whose value is at @where, @off */
static void describe_register(const struct table *t, u8 where, s32 off, char *to,
			      size_t size)
{
	/* the number in i386's DWARF of each UNWIND_REG_*, up to UNWIND_REG_SP */
	static const u8 dwarf_32[] = { 0, 2, 1, 3, 6, 7, 5, 4 };

	switch (where) {
	case UNWIND_AT_CFA:
		snprintf(to, size, "c%+d", off);
		break;
	case UNWIND_IS_CFA:
		snprintf(to, size, "v%+d", off);
		break;
	case UNWIND_IN_REG:
		snprintf(to, size, "r%d", t->elf->word == 4 ? dwarf_32[off] : off);
		break;
	case UNWIND_SAME:
	case UNWIND_UNDEFINED:
		snprintf(to, size, "u");
		break;
	default:
		snprintf(to, size, "exp");
	}
}

static void report_wrong(struct table *t, const char *what, const char *want,
			 const char *got)
{
	if (t->wrong++ < 10)
		printf("# FDE at %#lx, row %#lx, %s: %s, readelf: %s\n",
		       t->fde - t->elf->addr, t->loc, what, got, want);
}

static void check_cfa(struct table *t, const char *want)
{
	char got[64], kind[160];

	describe_cfa(t, got, sizeof(got));
	if (!strcmp(want, "exp")) {
		snprintf(kind, sizeof(kind), "CFA by expression: %s", got);
		count_kind(kind);
	} else if (t->ret == -EOPNOTSUPP) {
		snprintf(kind, sizeof(kind), "%s: CFA %.32s", got, want);
		count_kind(kind);
	} else if (t->ret || t->rule.ra_where != UNWIND_UNDEFINED) {
		if (strcmp(want, got))
			report_wrong(t, "CFA", want, got);
	}
}

static void register_rule(const struct unwind_full_rule *rule, int slot, u8 *where,
			  s32 *off)
{
	switch (slot) {
	case UNWIND_SLOT_RA:
		*where = rule->ra_where;
		*off = rule->ra_off;
		break;
	case UNWIND_SLOT_SP:
		*where = rule->sp_where;
		*off = rule->sp_off;
		break;
	default:
		*where = rule->kept_where[slot];
		*off = rule->kept_off[slot];
	}
}

static void check_register(struct table *t, const char *name, const char *want)
{
	int slot = slot_of(name, t->elf->word);
	char got[32], kind[64];
	u8 where;
	s32 off;

	if (slot < 0 || t->ret)
		return;
	register_rule(&t->rule, slot, &where, &off);
	describe_register(t, where, off, got, sizeof(got));

	if (strstr(want, "exp")) {
		snprintf(kind, sizeof(kind), "%s by expression: %s", name,
			 where == UNWIND_AT_SP ? "at sp" :
			 where == UNWIND_AT_FP ? "at fp" :
			 slot == UNWIND_SLOT_SP && where == UNWIND_SAME ? "the CFA" :
			 where == UNWIND_LOST ? "lost" : got);
		count_kind(kind);
		return;
	}
	/* "v+0" says that the stack pointer is the CFA, which is also the default */
	if (where == UNWIND_SAME && (!strcmp(want, "s") ||
				     (slot == UNWIND_SLOT_SP && !strcmp(want, "v+0"))))
		return;
	if (strcmp(want, got))
		report_wrong(t, name, want, got);
}

/* Check the row that was read last. It is complete when a row of another address begins. */
static void check_row(struct table *t)
{
	char *word, *save;
	int col = 0;

	if (!t->open)
		return;
	t->open = false;
	if (!t->is_fde || t->loc >= t->end)
		return;
	if (t->loc != t->next)
		report_wrong(t, "row", "starts here", "starts elsewhere");
	row_at(t, t->loc);
	t->rows++;
	t->fde_rows++;
	t->next = t->cfi.row_end;
	/* A rule that uses the program counter holds at one address: the row's end is unknown. */
	if (t->cfi.row_end == t->loc + 1 && t->cfi.ip_used)
		t->next = 0;

	for (word = strtok_r(t->row, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (*word == '(')
			continue;	/* the name of the register in the last column */
		if (col == 1)
			check_cfa(t, word);
		else if (col > 1 && col < t->nr_columns)
			check_register(t, t->columns[col], word);
		col++;
	}
	if (col != t->nr_columns)
		report_wrong(t, "row", "other columns", "?");
}

static void read_columns(struct table *t, char *line)
{
	char *word, *save;

	t->nr_columns = 0;
	for (word = strtok_r(line, BLANKS, &save); word && t->nr_columns < MAX_COLUMNS;
	     word = strtok_r(NULL, BLANKS, &save))
		snprintf(t->columns[t->nr_columns++], sizeof(t->columns[0]), "%s",
			 word);
}

static struct first_row *find_cie(struct table *t, unsigned long offset)
{
	unsigned int i = t->nr_cies;

	while (i--) {
		if (t->cies[i].offset == offset)
			return &t->cies[i];
	}
	return NULL;
}

static void end_cie(struct table *t)
{
	struct first_row *cie = find_cie(t, t->cie);

	if (t->open && cie)
		snprintf(cie->row, sizeof(cie->row), "%.255s", t->row);
	t->open = false;
}

/* readelf leaves out the row of an FDE that has no instructions */
static void only_first_row(struct table *t)
{
	struct first_row *cie = find_cie(t, t->cie);
	char columns[256];

	if (!cie || !cie->row[0])
		return;
	snprintf(columns, sizeof(columns), "%s", cie->columns);
	read_columns(t, columns);
	snprintf(t->row, sizeof(t->row), "%s", cie->row);
	t->loc = t->start;
	t->open = true;
	check_row(t);
}

static void end_fde(struct table *t)
{
	if (!t->is_fde) {
		end_cie(t);
		return;
	}
	check_row(t);
	if (!t->fde_rows)
		only_first_row(t);
	if (t->next && t->next < t->end)
		report_wrong(t, "row", "no more rows", "another one");
	t->is_fde = false;
}

static void begin_cie(struct table *t, unsigned long offset)
{
	t->cies = realloc(t->cies, (t->nr_cies + 1) * sizeof(*t->cies));
	if (!t->cies)
		exit(1);
	t->cies[t->nr_cies++] = (struct first_row) { .offset = offset };
	t->cie = offset;
}

static void begin_fde(struct table *t, unsigned long offset, const char *cie,
		      const char *pc)
{
	char *end;

	t->cie = strtoul(cie, NULL, 16);
	t->fde = t->elf->addr + offset;
	t->start = strtoul(pc, &end, 16);
	t->end = strtoul(end + 2, NULL, 16);
	t->is_fde = true;
	t->next = t->start;
	t->loc = t->start;
	t->fdes++;
	t->fde_rows = 0;
	if (unwind_cfi_rule(&t->cfi, t->fde, t->start - 1, &t->rule) != -ENOENT ||
	    t->cfi.row_start != t->start || t->cfi.row_end != t->end)
		report_wrong(t, "range", pc, "another one");
}

static void read_line(struct table *t, char *line)
{
	unsigned long number;
	char *cie, *pc, *rest;

	if (!strncmp(line, "   LOC", 6)) {
		if (!t->is_fde && t->nr_cies)
			snprintf(t->cies[t->nr_cies - 1].columns, 256, "%.255s", line);
		read_columns(t, line);
		return;
	}
	number = strtoul(line, &rest, 16);
	if (rest == line || *rest != ' ')
		return;
	cie = strstr(line, " cie=");
	pc = strstr(line, " pc=");
	if (cie && pc && strstr(line, " FDE ")) {
		end_fde(t);
		begin_fde(t, number, cie + 5, pc + 4);
	} else if (strstr(line, " CIE ")) {
		end_fde(t);
		begin_cie(t, number);
	} else if (rest[1] != ' ' && !strstr(line, "ZERO")) {
		if (t->open && number != t->loc)
			check_row(t);
		t->loc = number;
		t->open = true;
		snprintf(t->row, sizeof(t->row), "%s", line);
	}
}

static void init_table(struct table *t, struct cfi_elf *elf)
{
	memset(t, 0, sizeof(*t));
	t->elf = elf;
	t->cfi.read = cfi_elf_read;
	t->cfi.ctx = elf;
	t->cfi.start = elf->addr;
	t->cfi.limit = elf->addr + elf->size;
	t->cfi.word = elf->word;
}

static int compare_file(const char *name, int nr)
{
	unsigned long fdes = 0;
	size_t pos = 0, fde;
	struct cfi_elf elf;
	struct table t;
	char line[1024];
	FILE *in;

	snprintf(line, sizeof(line), "readelf -W --debug-dump=frames-interp '%s'", name);
	if (cfi_elf_open(&elf, name))
		return -1;
	in = popen(line, "r");
	if (!in)
		return -1;
	init_table(&t, &elf);
	while (fgets(line, sizeof(line), in))
		read_line(&t, line);
	end_fde(&t);
	pclose(in);
	free(t.cies);

	/* some warnings change readelf's exit status, so only check that the output is complete */
	while (cfi_elf_fde(&elf, &pos, &fde))
		fdes++;
	if (!fdes || t.fdes != fdes) {
		printf("# readelf shows %lu FDEs, there are %lu\n", t.fdes, fdes);
		t.wrong++;
	}
	printf("%s %d - %s: %lu rows of %lu FDEs, %lu differ\n",
	       t.wrong ? "not ok" : "ok", nr, name, t.rows, t.fdes, t.wrong);
	return t.wrong ? -1 : 0;
}

/* Count the rule by its kind, which names its parts. */
static void count_rule(const struct table *t)
{
	const struct unwind_full_rule *rule = &t->rule;
	char kind[64];

	if (t->ret)
		snprintf(kind, sizeof(kind), "refused: %s", strerror(-t->ret));
	else if (rule->ra_where == UNWIND_UNDEFINED)
		snprintf(kind, sizeof(kind), "end of stack");
	else
		snprintf(kind, sizeof(kind), "%s%s%s",
			 rule->cfa_deref ? "deref " : "",
			 reg_name(rule->cfa_reg, t->elf->word),
			 rule->signal ? " signal" : "");
	count_kind(kind);
}

static int count_file(const char *name)
{
	size_t pos = 0, fde;
	struct cfi_elf elf;
	struct table t;

	if (cfi_elf_open(&elf, name))
		return -1;
	init_table(&t, &elf);
	while (cfi_elf_fde(&elf, &pos, &fde)) {
		t.fde = elf.addr + fde;
		if (unwind_cfi_rule(&t.cfi, t.fde, 0, &t.rule) != -ENOENT) {
			printf("%s: a bad FDE at %#zx\n", name, fde);
			continue;
		}
		t.start = t.cfi.row_start;
		t.end = t.cfi.row_end;
		while (t.start < t.end) {
			row_at(&t, t.start);
			count_rule(&t);
			t.rows++;
			if (t.cfi.row_end <= t.start)
				break;
			t.start = t.cfi.row_end;
		}
	}
	printf("%s: %lu rows\n", name, t.rows);
	return 0;
}

int main(int argc, char **argv)
{
	bool only_count = argc > 1 && !strcmp(argv[1], "--count");
	int i, bad = 0, first = only_count ? 2 : 1;
	unsigned int k;

	for (i = first; i < argc; i++) {
		if (only_count ? count_file(argv[i]) : compare_file(argv[i], i - first + 1))
			bad = 1;
		fflush(stdout);
	}
	for (k = 0; k < nr_kinds; k++)
		printf("# %s: %lu rows\n", kinds[k].name, kinds[k].nr);
	if (!only_count)
		printf("1..%d\n", argc - first);
	return bad;
}

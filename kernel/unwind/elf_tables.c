// SPDX-License-Identifier: GPL-2.0
/*
 * Read the headers of ELF files and .eh_frame_hdr, and make compact rules of what the tables give.
 *
 * Formats: System V ABI, chapters 4 and 5 (object files, program loading);
 * Linux Standard Base Core 5.0, section 10.6.2 (.eh_frame_hdr).
 */

#include <linux/bits.h>
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <asm/unwind_walk.h>

#include "elf_tables.h"
#include "full_rule.h"
#include "unwind.h"

#define MAX_PHDRS		64
/* rows in the middle of a table whose order is checked */
#define ORDER_ROWS		8

/* the only encodings that linkers write; LSB Core 5.0, section 10.5.1 */
#define HDR_VERSION		1
#define ENC_SDATA4_PCREL	0x1b
#define ENC_UDATA4		0x03
#define ENC_SDATA4_DATAREL	0x3b

union elf_header {
	unsigned char		ident[EI_NIDENT];
	struct elf32_hdr	e32;
	struct elf64_hdr	e64;
};

static void elf_note_64(struct unwind_elf *elf, const struct elf64_hdr *hdr)
{
	elf->word = sizeof(u64);
	elf->entry = hdr->e_entry;
	elf->segments = (struct unwind_elf_headers) {
		hdr->e_phoff, hdr->e_phnum, hdr->e_phentsize,
	};
	elf->sections = (struct unwind_elf_headers) {
		hdr->e_shoff, hdr->e_shnum, hdr->e_shentsize,
	};
	elf->names = hdr->e_shstrndx;
}

static void elf_note_32(struct unwind_elf *elf, const struct elf32_hdr *hdr)
{
	elf->word = sizeof(u32);
	elf->entry = hdr->e_entry;
	elf->segments = (struct unwind_elf_headers) {
		hdr->e_phoff, hdr->e_phnum, hdr->e_phentsize,
	};
	elf->sections = (struct unwind_elf_headers) {
		hdr->e_shoff, hdr->e_shnum, hdr->e_shentsize,
	};
	elf->names = hdr->e_shstrndx;
}

/**
 * unwind_elf_open - read the ELF header
 * @elf: the file; the caller sets @read and @ctx
 *
 * Return: 0; -ENOENT if this is no ELF file of this machine; -EOPNOTSUPP if its program headers
 *	   are not in the first page, or are too many; or an error of @read.
 */
int unwind_elf_open(struct unwind_elf *elf)
{
	union elf_header hdr;
	u32 size;
	int ret;

	ret = elf->read(elf->ctx, 0, &hdr, sizeof(hdr));
	if (ret)
		return ret;
	if (memcmp(hdr.ident, ELFMAG, SELFMAG) || hdr.ident[EI_DATA] != ELFDATA2LSB)
		return -ENOENT;
	if (hdr.ident[EI_CLASS] == ELFCLASS64 && hdr.e64.e_machine == UNWIND_ARCH_MACHINE_64) {
		elf_note_64(elf, &hdr.e64);
		size = sizeof(struct elf64_phdr);
	} else if (hdr.ident[EI_CLASS] == ELFCLASS32 &&
		   hdr.e32.e_machine == UNWIND_ARCH_MACHINE_32) {
		elf_note_32(elf, &hdr.e32);
		size = sizeof(struct elf32_phdr);
	} else {
		return -ENOENT;
	}
	if (elf->segments.size != size)
		return -ENOENT;
	return elf->segments.pos < PAGE_SIZE && elf->segments.nr <= MAX_PHDRS ? 0 : -EOPNOTSUPP;
}

/**
 * unwind_elf_segment - read a program header
 * @elf: the file
 * @i: number of the header
 * @segment: filled in, in its 64-bit form, without p_paddr and p_align
 *
 * Return: 0 or an error of @elf->read().
 */
int unwind_elf_segment(const struct unwind_elf *elf, u32 i, struct elf64_phdr *segment)
{
	u64 pos = elf->segments.pos + i * elf->segments.size;
	struct elf32_phdr ph;
	int ret;

	if (elf->word == sizeof(u64))
		return elf->read(elf->ctx, pos, segment, sizeof(*segment));
	ret = elf->read(elf->ctx, pos, &ph, sizeof(ph));
	if (ret)
		return ret;
	*segment = (struct elf64_phdr) {
		.p_type = ph.p_type,
		.p_flags = ph.p_flags,
		.p_offset = ph.p_offset,
		.p_vaddr = ph.p_vaddr,
		.p_filesz = ph.p_filesz,
		.p_memsz = ph.p_memsz,
	};
	return 0;
}

/*
 * Returns -ENODATA if rows are seen to be out of order: some in the middle, the first one or the
 * last one; an error if the middle one, with which each search begins, cannot be read; else 0.
 * @pos: the first row.
 */
static int elf_check_order(const struct unwind_elf *elf, u64 pos, u32 nr)
{
	struct unwind_elf_row rows[ORDER_ROWS];
	u32 i, some = min_t(u32, nr, ORDER_ROWS);
	const u64 size = sizeof(rows[0]);
	s32 first, last;
	int ret;

	if (elf->read(elf->ctx, pos + (nr - some) / 2 * size, rows, some * size)) {
		some = 1;
		ret = elf->read(elf->ctx, pos + nr / 2 * size, &rows[0].ip, sizeof(rows[0].ip));
		if (ret)
			return ret;
	}
	for (i = 1; i < some; i++)
		if (rows[i].ip < rows[i - 1].ip)
			return -ENODATA;
	if (!elf->read(elf->ctx, pos, &first, sizeof(first)) && rows[0].ip < first)
		return -ENODATA;
	if (!elf->read(elf->ctx, pos + (nr - 1) * size, &last, sizeof(last)) &&
	    last < rows[some - 1].ip)
		return -ENODATA;
	return 0;
}

/**
 * unwind_elf_table - read .eh_frame_hdr
 * @elf: the file
 * @pos: its place, for @elf->read()
 * @addr: its address
 * @size: its size
 * @table: filled in
 *
 * Return: 0; -ENODATA if there is no table, it has an unsupported form, or it is not sorted; or an
 *	   error of @elf->read().
 */
int unwind_elf_table(const struct unwind_elf *elf, u64 pos, unsigned long addr, u64 size,
		     struct unwind_elf_table *table)
{
	struct {
		u8	version;
		u8	eh_frame_enc;
		u8	count_enc;
		u8	table_enc;
		s32	eh_frame;
		u32	nr;
	} hdr = {};
	int ret;

	*table = (struct unwind_elf_table) { .base = addr, .rows = addr + sizeof(hdr) };
	if (size < offsetof(typeof(hdr), nr))
		return -ENODATA;
	ret = elf->read(elf->ctx, pos, &hdr, min_t(u64, size, sizeof(hdr)));
	if (ret)
		return ret;
	if (hdr.version != HDR_VERSION || hdr.eh_frame_enc != ENC_SDATA4_PCREL)
		return -ENODATA;
	table->eh_frame = addr + offsetof(typeof(hdr), eh_frame) + hdr.eh_frame;
	if (hdr.count_enc != ENC_UDATA4 || hdr.table_enc != ENC_SDATA4_DATAREL ||
	    size < sizeof(hdr) || !hdr.nr ||
	    hdr.nr > (size - sizeof(hdr)) / sizeof(struct unwind_elf_row))
		return -ENODATA;
	table->nr = hdr.nr;
	return elf_check_order(elf, pos + sizeof(hdr), hdr.nr);
}

static bool elf_offset_fits(s32 offset)
{
	return offset == (s16)offset;
}

/**
 * unwind_compact_rule - convert a full rule to its compact form
 * @full: the rule
 * @word: bytes of a stack word
 * @rule: filled in; of kind UNWIND_RULE_FULL if the rule has no compact form
 *
 * Most rules fit into a struct unwind_user_rule.  In a function that realigns the
 * stack, all values are found by its frame pointer, except the return address, which
 * lies below the CFA as usual.
 *
 * Context: Any.
 */
void unwind_compact_rule(const struct unwind_full_rule *full, unsigned int word,
			 struct unwind_user_rule *rule)
{
	u8 kept_where = full->cfa_deref ? UNWIND_AT_FP : UNWIND_AT_CFA;
	unsigned int slot;

	*rule = (struct unwind_user_rule) { .kind = UNWIND_RULE_FULL };
	if (full->ra_where == UNWIND_UNDEFINED) {
		rule->kind = UNWIND_RULE_END;
		return;
	}
	if (full->signal || full->ra_where != UNWIND_AT_CFA ||
	    full->ra_off != -(s32)word)
		return;
	if (full->cfa_scale || full->sp_where != UNWIND_SAME)
		return;
	if (full->cfa_deref &&
	    (full->cfa_reg != UNWIND_REG_FP || full->cfa_add))
		return;

	for (slot = 0; slot < UNWIND_NR_KEPT; slot++) {
		if (full->kept_where[slot] == UNWIND_SAME)
			continue;
		if (full->kept_where[slot] >= UNWIND_UNDEFINED) {
			rule->lost |= BIT(slot);
			continue;
		}
		if (full->kept_where[slot] != kept_where ||
		    !elf_offset_fits(full->kept_off[slot]))
			return;
		rule->kept |= BIT(slot);
		rule->kept_off[slot] = full->kept_off[slot];
	}
	rule->cfa_off = full->cfa_off;
	rule->cfa_reg = full->cfa_reg;
	rule->kind = full->cfa_deref ? UNWIND_RULE_REALIGNED :
		     full->lands ? UNWIND_RULE_LANDING : UNWIND_RULE_FRAME;
}

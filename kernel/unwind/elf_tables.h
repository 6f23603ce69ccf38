/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ELF files and the sorted table of .eh_frame_hdr, in memory or in the page cache.
 */
#ifndef _KERNEL_UNWIND_ELF_TABLES_H
#define _KERNEL_UNWIND_ELF_TABLES_H

#include <linux/compiler.h>
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/types.h>

struct unwind_full_rule;
struct unwind_user_rule;

/* a table of program headers or section headers */
struct unwind_elf_headers {
	u64	pos;
	u32	nr;
	u32	size;
};

/**
 * struct unwind_elf - an ELF file
 * @read: reads @len bytes at a place, which is 0 for the ELF header; 0 or an error
 * @ctx: for @read
 * @word: bytes of an address, 4 or 8
 * @entry: address of the entry point
 * @segments: the program headers
 * @sections: the section headers; there may be none
 * @names: number of the section with the names of sections
 */
struct unwind_elf {
	int				(*read)(void *ctx, u64 pos, void *to, size_t len);
	void				*ctx;
	u32				word;
	u64				entry;
	struct unwind_elf_headers	segments;
	struct unwind_elf_headers	sections;
	u32				names;
};

/**
 * struct unwind_elf_table - what .eh_frame_hdr has
 * @base: its address, to which the values in the table are relative
 * @rows: address of the sorted table
 * @nr: number of rows
 * @eh_frame: address of .eh_frame; 0 if it has an unsupported form
 */
struct unwind_elf_table {
	unsigned long	base;
	unsigned long	rows;
	u32		nr;
	unsigned long	eh_frame;
};

/* one row of the table; both values are relative to .eh_frame_hdr */
struct unwind_elf_row {
	s32	ip;
	s32	fde;
};

int unwind_elf_open(struct unwind_elf *elf);
int unwind_elf_segment(const struct unwind_elf *elf, u32 i, struct elf64_phdr *segment);
int unwind_elf_table(const struct unwind_elf *elf, u64 pos, unsigned long addr, u64 size,
		     struct unwind_elf_table *table);
void unwind_compact_rule(const struct unwind_full_rule *full, unsigned int word,
			 struct unwind_user_rule *rule);

/**
 * unwind_search_rows - how many rows of a sorted table begin at an address or before it?
 * @nr: number of rows
 * @want: the address, as in the rows
 * @read: reads the address of a row.  @step is 0 for the first row that is compared; after step n,
 *	  2n + 1 for lower addresses, else 2n + 2.
 * @ctx: for @read
 * @found: set to the number
 *
 * Return: 0 or an error of @read.
 */
static __always_inline int unwind_search_rows(u32 nr, s64 want,
					      int (*read)(void *ctx, u32 row, u32 step, s64 *ip),
					      void *ctx, u32 *found)
{
	u32 low = 0, high = nr, step = 0, mid;
	s64 ip;
	int ret;

	/* rows below low begin at @want or before it; rows from high on begin after it */
	while (low < high) {
		mid = low + (high - low) / 2;
		ret = read(ctx, mid, step, &ip);
		if (ret)
			return ret;
		step = 2 * step + (ip <= want ? 2 : 1);
		if (ip <= want)
			low = mid + 1;
		else
			high = mid;
	}
	*found = low;
	return 0;
}

#endif /* _KERNEL_UNWIND_ELF_TABLES_H */

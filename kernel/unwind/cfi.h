/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call frame information, the contents of .eh_frame: from its bytes to the
 * unwind rule of an address.  Does not depend on tasks, mappings or allocation, and
 * compiles in user space.
 *
 * Formats: Linux Standard Base Core 5.0, chapter 10.6; DWARF 5, section 6.4.
 */
#ifndef _KERNEL_UNWIND_CFI_H
#define _KERNEL_UNWIND_CFI_H

#include <linux/types.h>

#include <asm/unwind_regs.h>

#include "full_rule.h"

/* bytes read at once; most entries are shorter */
#define UNWIND_CFI_WINDOW	64
/* how many bytes of a CIE are stored to recognize it; most have 28 */
#define UNWIND_CFI_KNOWN	36
/* how many rows DW_CFA_remember_state can stack; compilers use one */
#define UNWIND_CFI_REMEMBER	4

struct unwind_cfi;

/**
 * struct unwind_cfi_bytes - a place in an entry, and the bytes around it
 * @cfi: the tables
 * @at: address of @buf
 * @end: address of the end of the entry
 * @pos: next byte in @buf
 * @nr: valid bytes in @buf
 * @buf: bytes that were read
 */
struct unwind_cfi_bytes {
	struct unwind_cfi	*cfi;
	unsigned long		at;
	unsigned long		end;
	unsigned int		pos;
	unsigned int		nr;
	u8			buf[UNWIND_CFI_WINDOW];
};

/* a row of the table that an entry describes; UNWIND_SLOT_* index the arrays */
struct unwind_cfi_row {
	s32	cfa_off;
	s32	expr_off;
	s32	expr_add;
	s32	off[UNWIND_NR_SLOTS];
	u8	where[UNWIND_NR_SLOTS];
	u8	cfa_kind;
	u8	cfa_reg;
	u8	expr_index;
	u8	expr_scale;
	bool	expr_deref;
};

/**
 * struct unwind_cfi - tables, and the scratch memory to interpret them in
 * @read: reads @len <= UNWIND_CFI_WINDOW bytes at a user address; 0 or an error
 * @ctx: for @read
 * @start: no byte of an entry lies before this address
 * @limit: no byte of an entry lies at this address or after it
 * @data: what DW_EH_PE_datarel is relative to, or 0
 * @word: bytes of an address of the code, 4 or 8
 *
 * @row_start: first address for which the rule holds
 * @row_end: first address after @row_start for which the rule may not hold
 *
 * Call unwind_cfi_init() once, then fill in the fields from @read to @word before each use.
 * unwind_cfi_rule() sets @row_start and @row_end; on -ENOENT they are the range of the FDE.
 * The last CIE is remembered between calls, by its address: call unwind_cfi_moved() if the
 * bytes at that address may have changed.
 */
struct unwind_cfi {
	int			(*read)(void *ctx, unsigned long addr,
					void *to, size_t len);
	void			*ctx;
	unsigned long		start;
	unsigned long		limit;
	unsigned long		data;
	unsigned int		word;

	unsigned long		row_start;
	unsigned long		row_end;

	/* private: */
	unsigned long		ip;
	unsigned long		code_align;
	s64			data_align;
	int			err;
	unsigned int		spent;
	unsigned int		nr_remembered;
	u8			encoding;
	bool			augmented;
	bool			signal;
	bool			ip_used;
	bool			movable;
	u32			saved;
	unsigned long		known_at;
	u8			known_word;
	u8			nr_known;
	u8			known[UNWIND_CFI_KNOWN];
	struct unwind_cfi_bytes	fde;
	struct unwind_cfi_bytes	cie;
	struct unwind_cfi_row	row;
	struct unwind_cfi_row	initial;
	struct unwind_cfi_row	remembered[UNWIND_CFI_REMEMBER];
};

/* Prepare for the first use, instead of zeroing the whole struct. */
static inline void unwind_cfi_init(struct unwind_cfi *cfi)
{
	cfi->nr_known = 0;
	cfi->known_at = 0;
}

/* Forget the address of the last CIE: the bytes there may have changed, or may change. */
static inline void unwind_cfi_moved(struct unwind_cfi *cfi)
{
	cfi->known_at = 0;
}

/*
 * Get the rule of @ip from the FDE at the address @fde.  Returns 0; -ENOENT if that FDE
 * does not cover @ip; -EOPNOTSUPP if its row cannot be expressed as a rule; or -EINVAL,
 * -EFAULT or -E2BIG if the tables are broken, cannot be read or are too long.
 */
int unwind_cfi_rule(struct unwind_cfi *cfi, unsigned long fde, unsigned long ip,
		    struct unwind_full_rule *rule);

#endif /* _KERNEL_UNWIND_CFI_H */

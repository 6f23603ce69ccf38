/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading the bytes of an entry of .eh_frame, for the files that interpret it.
 *
 * An error stays in cfi->err, and everything read after it is 0.  So the readers return
 * plain values, and code that reads several values checks for errors once.
 */
#ifndef _KERNEL_UNWIND_CFI_BYTES_H
#define _KERNEL_UNWIND_CFI_BYTES_H

#include <linux/compiler.h>

#include "cfi.h"

/* pointer encodings: LSB Core 5.0, section 10.5.1 */
#define DW_EH_PE_absptr		0x00
#define DW_EH_PE_uleb128	0x01
#define DW_EH_PE_udata2		0x02
#define DW_EH_PE_udata4		0x03
#define DW_EH_PE_udata8		0x04
#define DW_EH_PE_sleb128	0x09
#define DW_EH_PE_sdata2		0x0a
#define DW_EH_PE_sdata4		0x0b
#define DW_EH_PE_sdata8		0x0c
#define DW_EH_PE_format		0x0f
#define DW_EH_PE_pcrel		0x10
#define DW_EH_PE_datarel	0x30
#define DW_EH_PE_aligned	0x50
#define DW_EH_PE_base		0x70
#define DW_EH_PE_indirect	0x80
#define DW_EH_PE_omit		0xff

void cfi_open(struct unwind_cfi_bytes *b, struct unwind_cfi *cfi,
	      unsigned long addr);
bool cfi_refill(struct unwind_cfi_bytes *b);
void cfi_skip(struct unwind_cfi_bytes *b, u64 len);
u16 cfi_u16(struct unwind_cfi_bytes *b);
u32 cfi_u32(struct unwind_cfi_bytes *b);
u64 cfi_u64(struct unwind_cfi_bytes *b);
u64 cfi_uleb_tail(struct unwind_cfi_bytes *b, u8 first);
s64 cfi_sleb(struct unwind_cfi_bytes *b);
unsigned long cfi_pointer(struct unwind_cfi_bytes *b, u8 encoding);

static inline void cfi_fail(struct unwind_cfi *cfi, int err)
{
	if (!cfi->err)
		cfi->err = err;
}

/* address of the next byte */
static inline unsigned long cfi_here(const struct unwind_cfi_bytes *b)
{
	return b->at + b->pos;
}

static inline unsigned long cfi_left(const struct unwind_cfi_bytes *b)
{
	return b->end - cfi_here(b);
}

static inline u8 cfi_u8(struct unwind_cfi_bytes *b)
{
	if (unlikely(b->pos == b->nr) && !cfi_refill(b))
		return 0;
	return b->buf[b->pos++];
}

/* Read an unsigned LEB128 number. Most of them have one byte. */
static inline u64 cfi_uleb(struct unwind_cfi_bytes *b)
{
	u8 byte = cfi_u8(b);

	return byte < 0x80 ? byte : cfi_uleb_tail(b, byte);
}

#endif /* _KERNEL_UNWIND_CFI_BYTES_H */

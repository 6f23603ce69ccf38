// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the bytes of an entry of .eh_frame.
 *
 * The process may write to the tables during a read.  So each byte is read only
 * once, into the window, and all results are derived from that copy.
 */

#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include "cfi_bytes.h"

/*
 * The most bytes of tables that are read for one rule; this also limits the number of
 * instructions.  The longest entry of common programs has a third of that.
 */
#define CFI_MAX_BYTES	(64 * 1024)

/* Convert a value to an address of the program, which may be a 32-bit program. */
static unsigned long cfi_to_addr(const struct unwind_cfi *cfi, u64 val)
{
	return cfi->word == 4 ? (u32)val : val;
}

#define CFI_PAGE	4096UL

/**
 * cfi_refill - read the next bytes of an entry after the whole window was used
 * @b: the place
 *
 * Return: true if there is a byte; else cfi->err has the reason.
 */
bool cfi_refill(struct unwind_cfi_bytes *b)
{
	struct unwind_cfi *cfi = b->cfi;
	unsigned int nr;
	int err;

	if (cfi->err)
		return false;

	b->at += b->pos;
	b->pos = 0;
	b->nr = 0;
	/* the next page may belong to another mapping */
	nr = min_t(unsigned long, b->end - b->at,
		   min_t(unsigned long, UNWIND_CFI_WINDOW,
			 CFI_PAGE - b->at % CFI_PAGE));
	if (!nr) {
		cfi_fail(cfi, -EINVAL);
		return false;
	}
	cfi->spent += nr;
	if (cfi->spent > CFI_MAX_BYTES) {
		cfi_fail(cfi, -E2BIG);
		return false;
	}
	err = cfi->read(cfi->ctx, b->at, b->buf, nr);
	if (err) {
		cfi_fail(cfi, err);
		return false;
	}
	b->nr = nr;
	return true;
}

/**
 * cfi_skip - pass over bytes
 * @b: the place
 * @len: number of bytes; more than the entry has is an error
 */
void cfi_skip(struct unwind_cfi_bytes *b, u64 len)
{
	if (len > cfi_left(b)) {
		cfi_fail(b->cfi, -EINVAL);
		return;
	}
	if (len <= b->nr - b->pos) {
		b->pos += len;
		return;
	}
	b->at += b->pos + len;
	b->pos = 0;
	b->nr = 0;
}

/* Read a little-endian number that may extend across the end of the window. */
static u64 cfi_read_slowly(struct unwind_cfi_bytes *b, unsigned int size)
{
	unsigned int i;
	u64 val = 0;

	for (i = 0; i < size; i++)
		val |= (u64)cfi_u8(b) << (8 * i);
	return val;
}

/**
 * cfi_u16 - read two bytes
 * @b: the place
 *
 * Return: the number; 0 after an error.
 */
u16 cfi_u16(struct unwind_cfi_bytes *b)
{
	return cfi_read_slowly(b, sizeof(u16));
}

/**
 * cfi_u32 - read four bytes
 * @b: the place
 *
 * Return: the number; 0 after an error.
 */
u32 cfi_u32(struct unwind_cfi_bytes *b)
{
	u32 val;

	if (b->pos == b->nr && !cfi_refill(b))
		return 0;
	if (b->nr - b->pos < sizeof(val))
		return cfi_read_slowly(b, sizeof(val));
	val = get_unaligned_le32(b->buf + b->pos);
	b->pos += sizeof(val);
	return val;
}

/**
 * cfi_u64 - read eight bytes
 * @b: the place
 *
 * Return: the number; 0 after an error.
 */
u64 cfi_u64(struct unwind_cfi_bytes *b)
{
	return cfi_read_slowly(b, sizeof(u64));
}

/**
 * cfi_uleb_tail - read the rest of an unsigned LEB128 number
 * @b: the place after the first byte
 * @first: that byte, which is not the last
 *
 * Return: the number; 0 after an error, or if it has more than 64 bits.
 */
u64 cfi_uleb_tail(struct unwind_cfi_bytes *b, u8 first)
{
	u64 val = first & 0x7f;
	unsigned int shift;
	u8 byte;

	for (shift = 7; shift < 64; shift += 7) {
		byte = cfi_u8(b);
		val |= (u64)(byte & 0x7f) << shift;
		if (shift == 63 && byte > 1)
			break;
		if (byte < 0x80)
			return val;
	}
	cfi_fail(b->cfi, -EINVAL);
	return 0;
}

/**
 * cfi_sleb - read a signed LEB128 number
 * @b: the place
 *
 * Return: the number; 0 after an error, or if it has more than 64 bits.
 */
s64 cfi_sleb(struct unwind_cfi_bytes *b)
{
	unsigned int shift;
	u64 val = 0;
	u8 byte;

	for (shift = 0; shift < 64; shift += 7) {
		byte = cfi_u8(b);
		val |= (u64)(byte & 0x7f) << shift;
		if (shift == 63 && byte != 0 && byte != 0x7f)
			break;
		if (byte >= 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			val |= ~0ULL << (shift + 7);
		return val;
	}
	cfi_fail(b->cfi, -EINVAL);
	return 0;
}

static u64 cfi_read_word(struct unwind_cfi_bytes *b)
{
	return b->cfi->word == 4 ? cfi_u32(b) : cfi_u64(b);
}

static u64 cfi_read_format(struct unwind_cfi_bytes *b, u8 encoding)
{
	switch (encoding & DW_EH_PE_format) {
	case DW_EH_PE_absptr:
		return cfi_read_word(b);
	case DW_EH_PE_uleb128:
		return cfi_uleb(b);
	case DW_EH_PE_udata2:
		return cfi_u16(b);
	case DW_EH_PE_udata4:
		return cfi_u32(b);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_u64(b);
	case DW_EH_PE_sleb128:
		return cfi_sleb(b);
	case DW_EH_PE_sdata2:
		return (s16)cfi_u16(b);
	case DW_EH_PE_sdata4:
		return (s32)cfi_u32(b);
	}
	cfi_fail(b->cfi, -EINVAL);
	return 0;
}

/* Load the word that an indirect pointer refers to.  The word lies outside the tables. */
static unsigned long cfi_follow_indirect(struct unwind_cfi *cfi, unsigned long addr)
{
	u8 word[8] = {};
	int err;

	if (cfi->err)
		return 0;
	err = cfi->read(cfi->ctx, addr, word, cfi->word);
	if (err) {
		cfi_fail(cfi, err);
		return 0;
	}
	return cfi_to_addr(cfi, get_unaligned_le64(word));
}

static void cfi_align(struct unwind_cfi_bytes *b)
{
	unsigned long here = cfi_here(b);

	cfi_skip(b, ALIGN(here, (unsigned long)b->cfi->word) - here);
}

/**
 * cfi_pointer - read an encoded pointer
 * @b: the place
 * @encoding: DW_EH_PE_*
 *
 * Return: the address, or 0 after an error.
 */
unsigned long cfi_pointer(struct unwind_cfi_bytes *b, u8 encoding)
{
	struct unwind_cfi *cfi = b->cfi;
	unsigned long base = 0, addr;

	if (encoding == DW_EH_PE_aligned) {
		cfi_align(b);
		return cfi_to_addr(cfi, cfi_read_word(b));
	}

	switch (encoding & DW_EH_PE_base) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = cfi_here(b);
		break;
	case DW_EH_PE_datarel:
		base = cfi->data;
		if (base)
			break;
		fallthrough;
	default:
		/* only the program knows the base */
		cfi_fail(cfi, -EOPNOTSUPP);
		return 0;
	}

	addr = cfi_to_addr(cfi, base + cfi_read_format(b, encoding));
	return encoding & DW_EH_PE_indirect ? cfi_follow_indirect(cfi, addr) : addr;
}

/**
 * cfi_open - go to the first byte of an entry after its length field
 * @b: the place
 * @cfi: the tables
 * @addr: address of the entry
 */
void cfi_open(struct unwind_cfi_bytes *b, struct unwind_cfi *cfi,
	      unsigned long addr)
{
	u64 len;

	b->cfi = cfi;
	b->at = addr;
	b->pos = 0;
	b->nr = 0;
	b->end = cfi->limit;
	if (addr < cfi->start || addr >= cfi->limit) {
		b->end = addr;
		cfi_fail(cfi, -EINVAL);
		return;
	}

	len = cfi_u32(b);
	if (len == 0xffffffff)
		len = cfi_u64(b);
	else if (len >= 0xfffffff0)
		len = 0;
	/* an entry of length 0 ends the tables */
	if (!len || len > cfi_left(b)) {
		cfi_fail(cfi, -EINVAL);
		return;
	}
	b->end = cfi_here(b) + len;
	b->nr = min_t(unsigned long, b->nr, b->end - b->at);
}

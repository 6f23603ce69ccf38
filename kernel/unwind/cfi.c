// SPDX-License-Identifier: GPL-2.0
/*
 * Call frame information: from an FDE and an address to an unwind rule.
 *
 * An FDE encodes a table with a row for each range of addresses of a function.
 * Its instructions, after those of its CIE, make each row from the one before.
 * They are run up to the wanted row.
 */

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>

#include "cfi.h"
#include "cfi_bytes.h"
#include "cfi_expr.h"

/*
 * DWARF 5, section 7.24; LSB Core 5.0, section 10.5.2.  The first three are identified by
 * the upper two bits of the byte; the lower six bits are an operand.
 */
#define DW_CFA_advance_loc			0x40
#define DW_CFA_offset				0x80
#define DW_CFA_restore				0xc0
#define DW_CFA_nop				0x00
#define DW_CFA_set_loc				0x01
#define DW_CFA_advance_loc1			0x02
#define DW_CFA_advance_loc2			0x03
#define DW_CFA_advance_loc4			0x04
#define DW_CFA_offset_extended			0x05
#define DW_CFA_restore_extended			0x06
#define DW_CFA_undefined			0x07
#define DW_CFA_same_value			0x08
#define DW_CFA_register				0x09
#define DW_CFA_remember_state			0x0a
#define DW_CFA_restore_state			0x0b
#define DW_CFA_def_cfa				0x0c
#define DW_CFA_def_cfa_register			0x0d
#define DW_CFA_def_cfa_offset			0x0e
#define DW_CFA_def_cfa_expression		0x0f
#define DW_CFA_expression			0x10
#define DW_CFA_offset_extended_sf		0x11
#define DW_CFA_def_cfa_sf			0x12
#define DW_CFA_def_cfa_offset_sf		0x13
#define DW_CFA_val_offset			0x14
#define DW_CFA_val_offset_sf			0x15
#define DW_CFA_val_expression			0x16
#define DW_CFA_GNU_args_size			0x2e
#define DW_CFA_GNU_negative_offset_extended	0x2f

/* a register that rules do not track */
#define NO_REG		0xff
/* longest known augmentation string */
#define MAX_AUGMENTATION	8

enum cfa_kind {
	CFA_UNSET,
	CFA_OFFSET,	/* register plus offset; an instruction may set only one of them */
	CFA_EXPR,	/* an expression in reduced form */
	CFA_BAD,	/* an expression that has no reduced form */
};

static s32 cfi_to_s32(struct unwind_cfi *cfi, s64 val)
{
	if (val != (s32)val)
		cfi_fail(cfi, -EINVAL);
	return val;
}

/* Read an unsigned number, which must also fit in a signed one. */
static s64 cfi_uleb_s64(struct unwind_cfi_bytes *b)
{
	s64 val = cfi_uleb(b);

	if (val < 0) {
		cfi_fail(b->cfi, -EINVAL);
		return 0;
	}
	return val;
}

static s32 cfi_factored(struct unwind_cfi *cfi, s64 n)
{
	s64 val;

	if (check_mul_overflow(n, cfi->data_align, &val)) {
		cfi_fail(cfi, -EINVAL);
		return 0;
	}
	return cfi_to_s32(cfi, val);
}

static void cfi_set_where(struct unwind_cfi *cfi, u64 dwarf, u8 where, s32 off)
{
	int reg = arch_unwind_reg(dwarf, cfi->word);
	int slot = reg < 0 ? -1 : arch_unwind_slot(reg, cfi->word);

	if (reg >= 0 && where == UNWIND_AT_CFA)
		cfi->saved |= BIT(reg);
	if (slot < 0)
		return;
	cfi->row.where[slot] = where;
	cfi->row.off[slot] = off;
}

static void cfi_restore_register(struct unwind_cfi *cfi, u64 dwarf)
{
	int reg = arch_unwind_reg(dwarf, cfi->word);
	int slot = reg < 0 ? -1 : arch_unwind_slot(reg, cfi->word);

	if (slot < 0)
		return;
	cfi->row.where[slot] = cfi->initial.where[slot];
	cfi->row.off[slot] = cfi->initial.off[slot];
}

static void cfi_set_in_register(struct unwind_cfi *cfi, u64 dwarf, u64 other)
{
	int reg = arch_unwind_reg(other, cfi->word);

	if (reg < 0 || reg == UNWIND_REG_RA)
		cfi_set_where(cfi, dwarf, UNWIND_LOST, 0);
	else
		cfi_set_where(cfi, dwarf, UNWIND_IN_REG, reg);
}

/* The unwind_where of a register. @v is its value if @is_value, else the address of its value. */
static u8 cfi_where(const struct cfi_value *v, bool is_value)
{
	if (v->off != (s32)v->off || v->scale)
		return UNWIND_LOST;
	if (is_value && !v->deref)
		return v->base == CFI_BASE_CFA ? UNWIND_IS_CFA :
		       v->base == UNWIND_REG_SP ? UNWIND_IS_SP : UNWIND_LOST;
	/* A rule loads only one word and adds nothing: that word must be the register's value. */
	if (v->deref && (!is_value || v->add))
		return UNWIND_LOST;

	switch (v->base) {
	case CFI_BASE_CFA:
		return UNWIND_AT_CFA;
	case UNWIND_REG_SP:
		return UNWIND_AT_SP;
	case UNWIND_REG_FP:
		return UNWIND_AT_FP;
	}
	return UNWIND_LOST;
}

static void cfi_set_by_expression(struct unwind_cfi_bytes *b, u64 dwarf, bool is_value)
{
	struct cfi_value v = {};
	u8 where = UNWIND_LOST;

	if (cfi_expr(b, true, &v))
		where = cfi_where(&v, is_value);
	cfi_set_where(b->cfi, dwarf, where, v.off);
}

static void cfi_set_cfa_register(struct unwind_cfi *cfi, u64 dwarf)
{
	int reg = arch_unwind_reg(dwarf, cfi->word);

	cfi->row.cfa_reg = reg < 0 || reg == UNWIND_REG_RA ? NO_REG : reg;
}

static void cfi_def_cfa(struct unwind_cfi *cfi, u64 dwarf, s32 off)
{
	cfi->row.cfa_kind = CFA_OFFSET;
	cfi->row.cfa_off = off;
	cfi_set_cfa_register(cfi, dwarf);
}

/*
 * DW_CFA_def_cfa_expression does not change the offset.  Hand-written tables rely on that:
 * after an expression they define a register, and use the offset from before the expression.
 */
static void cfi_def_cfa_register(struct unwind_cfi *cfi, u64 dwarf)
{
	if (cfi->row.cfa_kind == CFA_UNSET)
		cfi_fail(cfi, -EINVAL);
	cfi->row.cfa_kind = CFA_OFFSET;
	cfi_set_cfa_register(cfi, dwarf);
}

static void cfi_def_cfa_offset(struct unwind_cfi *cfi, s32 off)
{
	if (cfi->row.cfa_kind != CFA_OFFSET)
		cfi_fail(cfi, -EINVAL);
	cfi->row.cfa_off = off;
}

static void cfi_def_cfa_expression(struct unwind_cfi_bytes *b)
{
	struct unwind_cfi_row *row = &b->cfi->row;
	struct cfi_value v;

	row->cfa_kind = CFA_BAD;
	if (!cfi_expr(b, false, &v) || v.base >= CFI_BASE_CFA ||
	    v.off != (s32)v.off || v.add != (s32)v.add)
		return;
	row->cfa_kind = CFA_EXPR;
	row->cfa_reg = v.base;
	row->expr_index = v.index;
	row->expr_scale = v.scale;
	row->expr_deref = v.deref;
	row->expr_off = v.off;
	row->expr_add = v.add;
}

static void cfi_remember_row(struct unwind_cfi *cfi)
{
	if (cfi->nr_remembered == UNWIND_CFI_REMEMBER) {
		cfi_fail(cfi, -E2BIG);
		return;
	}
	cfi->remembered[cfi->nr_remembered++] = cfi->row;
}

static void cfi_restore_row(struct unwind_cfi *cfi)
{
	if (!cfi->nr_remembered) {
		cfi_fail(cfi, -EINVAL);
		return;
	}
	cfi->row = cfi->remembered[--cfi->nr_remembered];
}

/* Start the next row at @loc.  Returns false if that is after the wanted address. */
static bool cfi_set_loc(struct unwind_cfi_bytes *b, unsigned long loc)
{
	struct unwind_cfi *cfi = b->cfi;

	/* only an FDE may start new rows, in ascending order of addresses */
	if (b != &cfi->fde || loc < cfi->row_start) {
		cfi_fail(cfi, -EINVAL);
		return false;
	}
	if (loc > cfi->ip) {
		cfi->row_end = min(loc, cfi->row_end);
		return false;
	}
	cfi->row_start = loc;
	return true;
}

static bool cfi_advance_loc(struct unwind_cfi_bytes *b, unsigned long delta)
{
	struct unwind_cfi *cfi = b->cfi;
	unsigned long loc;

	/* the CIE has no rows */
	if (b != &cfi->fde || check_mul_overflow(delta, cfi->code_align, &delta) ||
	    check_add_overflow(cfi->row_start, delta, &loc)) {
		cfi_fail(cfi, -EINVAL);
		return false;
	}
	return cfi_set_loc(b, loc);
}

/* Run an instruction that starts a row.  False if the row is not needed, or after an error. */
static bool cfi_begin_row(struct unwind_cfi_bytes *b, u8 op)
{
	switch (op) {
	case DW_CFA_set_loc:
		return cfi_set_loc(b, cfi_pointer(b, b->cfi->encoding));
	case DW_CFA_advance_loc1:
		return cfi_advance_loc(b, cfi_u8(b));
	case DW_CFA_advance_loc2:
		return cfi_advance_loc(b, cfi_u16(b));
	default:
		return cfi_advance_loc(b, cfi_u32(b));
	}
}

/* Run an instruction that defines the CFA. Returns false if @op is not one. */
static bool cfi_run_cfa_op(struct unwind_cfi_bytes *b, u8 op)
{
	struct unwind_cfi *cfi = b->cfi;
	u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cfi_uleb(b);
		cfi_def_cfa(cfi, reg, cfi_to_s32(cfi, cfi_uleb_s64(b)));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_uleb(b);
		cfi_def_cfa(cfi, reg, cfi_factored(cfi, cfi_sleb(b)));
		return true;
	case DW_CFA_def_cfa_register:
		cfi_def_cfa_register(cfi, cfi_uleb(b));
		return true;
	case DW_CFA_def_cfa_offset:
		cfi_def_cfa_offset(cfi, cfi_to_s32(cfi, cfi_uleb_s64(b)));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		cfi_def_cfa_offset(cfi, cfi_factored(cfi, cfi_sleb(b)));
		return true;
	case DW_CFA_def_cfa_expression:
		cfi_def_cfa_expression(b);
		return true;
	}
	return false;
}

/* Run one of the remaining instructions, which tell where a register is saved. */
static void cfi_run_register_op(struct unwind_cfi_bytes *b, u8 op)
{
	struct unwind_cfi *cfi = b->cfi;
	u64 reg = cfi_uleb(b);

	switch (op) {
	case DW_CFA_offset_extended:
		cfi_set_where(cfi, reg, UNWIND_AT_CFA,
			      cfi_factored(cfi, cfi_uleb_s64(b)));
		break;
	case DW_CFA_offset_extended_sf:
		cfi_set_where(cfi, reg, UNWIND_AT_CFA, cfi_factored(cfi, cfi_sleb(b)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		cfi_set_where(cfi, reg, UNWIND_AT_CFA,
			      cfi_factored(cfi, -cfi_uleb_s64(b)));
		break;
	case DW_CFA_val_offset:
		cfi_set_where(cfi, reg, UNWIND_IS_CFA,
			      cfi_factored(cfi, cfi_uleb_s64(b)));
		break;
	case DW_CFA_val_offset_sf:
		cfi_set_where(cfi, reg, UNWIND_IS_CFA, cfi_factored(cfi, cfi_sleb(b)));
		break;
	case DW_CFA_restore_extended:
		cfi_restore_register(cfi, reg);
		break;
	case DW_CFA_undefined:
		cfi_set_where(cfi, reg, UNWIND_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		cfi_set_where(cfi, reg, UNWIND_SAME, 0);
		break;
	case DW_CFA_register:
		cfi_set_in_register(cfi, reg, cfi_uleb(b));
		break;
	case DW_CFA_expression:
		cfi_set_by_expression(b, reg, false);
		break;
	case DW_CFA_val_expression:
		cfi_set_by_expression(b, reg, true);
		break;
	}
}

/* Run an instruction that has no operand in the opcode byte.  Returns false to stop. */
static bool cfi_run_extended_op(struct unwind_cfi_bytes *b, u8 op)
{
	struct unwind_cfi *cfi = b->cfi;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		return cfi_begin_row(b, op);
	case DW_CFA_remember_state:
		cfi_remember_row(cfi);
		return true;
	case DW_CFA_restore_state:
		cfi_restore_row(cfi);
		return true;
	case DW_CFA_GNU_args_size:
		cfi_uleb(b);
		return true;
	}
	if (op > DW_CFA_val_expression &&
	    op != DW_CFA_GNU_negative_offset_extended) {
		cfi_fail(cfi, -EOPNOTSUPP);
		return false;
	}
	if (!cfi_run_cfa_op(b, op))
		cfi_run_register_op(b, op);
	return true;
}

/* Run the next instruction.  Returns false to stop. */
static bool cfi_run_op(struct unwind_cfi_bytes *b)
{
	struct unwind_cfi *cfi = b->cfi;
	u8 op = cfi_u8(b), arg = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return cfi_advance_loc(b, arg);
	case DW_CFA_offset:
		cfi_set_where(cfi, arg, UNWIND_AT_CFA, cfi_factored(cfi, cfi_uleb_s64(b)));
		return true;
	case DW_CFA_restore:
		cfi_restore_register(cfi, arg);
		return true;
	}
	return cfi_run_extended_op(b, arg);
}

/*
 * Fast path.  Nearly all instructions are of four kinds, have a small operand, and are
 * completely in the window.  Stop before any other instruction, and before a
 * DW_CFA_advance_loc that leads past the wanted address.
 */
static void cfi_run_common(struct unwind_cfi_bytes *b)
{
	struct unwind_cfi *cfi = b->cfi;
	const u8 *p = b->buf + b->pos, *end = b->buf + b->nr;
	unsigned long to_go = cfi->ip - cfi->row_start;
	s8 data_align = cfi->data_align;

	if (cfi->code_align != 1 || cfi->data_align != data_align)
		return;

	while (end - p >= 2) {
		u8 arg = *p & 0x3f;

		if ((*p & 0xc0) == DW_CFA_advance_loc) {
			if (arg > to_go)
				break;
			to_go -= arg;
			p++;
		} else if (*p == DW_CFA_def_cfa_offset && p[1] < 0x80 &&
			   cfi->row.cfa_kind == CFA_OFFSET) {
			cfi->row.cfa_off = p[1];
			p += 2;
		} else if ((*p & 0xc0) == DW_CFA_offset && p[1] < 0x80) {
			cfi_set_where(cfi, arg, UNWIND_AT_CFA, p[1] * data_align);
			p += 2;
		} else if ((*p & 0xc0) == DW_CFA_restore) {
			cfi_restore_register(cfi, arg);
			p++;
		} else {
			break;
		}
	}
	b->pos = p - b->buf;
	cfi->row_start = cfi->ip - to_go;
}

/* Run the instructions from @b to the end of the entry or of the wanted row. */
static int cfi_run_program(struct unwind_cfi_bytes *b)
{
	struct unwind_cfi *cfi = b->cfi;

	do {
		if (b == &cfi->fde)
			cfi_run_common(b);
	} while (cfi_left(b) && cfi_run_op(b) && !cfi->err);
	return cfi->err;
}

/* Skip the address of the personality routine, which unwinding does not need. */
static void cfi_skip_personality(struct unwind_cfi_bytes *b)
{
	u8 encoding = cfi_u8(b);

	if (encoding == DW_EH_PE_omit)
		return;
	if (encoding != DW_EH_PE_aligned)
		encoding &= DW_EH_PE_format;
	else
		b->cfi->movable = false;
	cfi_pointer(b, encoding);
}

/* Read the augmentation data: the fields of the letters after "z". */
static void cfi_read_augmentation(struct unwind_cfi_bytes *b, const char *letter)
{
	struct unwind_cfi *cfi = b->cfi;
	u64 len = cfi_uleb(b);
	unsigned long end;

	if (len > cfi_left(b)) {
		cfi_fail(cfi, -EINVAL);
		return;
	}
	end = cfi_here(b) + len;

	for (; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cfi->encoding = cfi_u8(b);
			break;
		case 'L':
			cfi_u8(b);
			break;
		case 'P':
			cfi_skip_personality(b);
			break;
		case 'S':
			cfi->signal = true;
			break;
		default:
			cfi_fail(cfi, -EOPNOTSUPP);
			return;
		}
	}
	if (cfi_here(b) > end)
		cfi_fail(cfi, -EINVAL);
	else
		cfi_skip(b, end - cfi_here(b));
}

static void cfi_read_string(struct unwind_cfi_bytes *b, char *to, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		to[i] = cfi_u8(b);
		if (!to[i])
			return;
	}
	cfi_fail(b->cfi, -EOPNOTSUPP);
	to[0] = '\0';
}

/* Read a CIE, after cfi_open(), up to its instructions. */
static int cfi_read_cie(struct unwind_cfi *cfi)
{
	struct unwind_cfi_bytes *b = &cfi->cie;
	char augmentation[MAX_AUGMENTATION];
	u8 version;
	u64 ra;

	if (cfi_u32(b))
		cfi_fail(cfi, -EINVAL);	/* not a CIE */
	version = cfi_u8(b);
	cfi_read_string(b, augmentation, sizeof(augmentation));
	if (version == 4) {
		/* size of addresses, size of segment selectors */
		if (cfi_u8(b) != cfi->word || cfi_u8(b))
			cfi_fail(cfi, -EOPNOTSUPP);
	} else if (version != 1 && version != 3) {
		cfi_fail(cfi, -EOPNOTSUPP);
	}
	cfi->code_align = cfi_uleb(b);
	cfi->data_align = cfi_sleb(b);
	ra = version == 1 ? cfi_u8(b) : cfi_uleb(b);
	if (arch_unwind_reg(ra, cfi->word) != UNWIND_REG_RA)
		cfi_fail(cfi, -EOPNOTSUPP);

	cfi->encoding = DW_EH_PE_absptr;
	cfi->signal = false;
	cfi->augmented = augmentation[0] == 'z';
	if (cfi->augmented)
		cfi_read_augmentation(b, augmentation + 1);
	else if (augmentation[0])
		cfi_fail(cfi, -EOPNOTSUPP);
	return cfi->err;
}

/*
 * Nearly all CIEs are equal, so a CIE that is equal to the last one is not decoded again.  But
 * cfi_use_cie() does not remember a CIE whose meaning depends on its address.  Returns the number
 * of bytes to compare, or 0 if this CIE is too long.
 */
static unsigned int cie_bytes(const struct unwind_cfi_bytes *b)
{
	unsigned long len = cfi_left(b);

	return len <= UNWIND_CFI_KNOWN && len == b->nr - b->pos ? len : 0;
}

static bool cie_is_known(const struct unwind_cfi *cfi)
{
	const struct unwind_cfi_bytes *b = &cfi->cie;
	unsigned int nr = cie_bytes(b);

	return nr && nr == cfi->nr_known && cfi->word == cfi->known_word &&
	       !memcmp(b->buf + b->pos, cfi->known, nr);
}

/* Is the CIE at @addr the one that was read last? */
static bool cie_is_at_hand(const struct unwind_cfi *cfi, unsigned long addr)
{
	return cfi->known_at && addr == cfi->known_at && addr >= cfi->start && addr < cfi->limit &&
	       cfi->word == cfi->known_word;
}

/* Read the CIE at @addr, which has the fields and the first row that its FDEs share. */
static int cfi_use_cie(struct unwind_cfi *cfi, unsigned long addr)
{
	struct unwind_cfi_bytes *b = &cfi->cie;
	unsigned int nr;

	if (cie_is_at_hand(cfi, addr)) {
		cfi->row = cfi->initial;
		return 0;
	}
	cfi_open(b, cfi, addr);
	if (cfi->err)
		return cfi->err;
	if (cie_is_known(cfi)) {
		cfi->known_at = addr;
		cfi->row = cfi->initial;
		return 0;
	}

	cfi->nr_known = 0;
	cfi->known_at = 0;
	cfi->movable = true;
	nr = cie_bytes(b);
	memcpy(cfi->known, b->buf + b->pos, nr);
	memset(&cfi->row, 0, sizeof(cfi->row));
	memset(&cfi->initial, 0, sizeof(cfi->initial));

	if (cfi_read_cie(cfi) || cfi_run_program(b))
		return cfi->err;
	cfi->nr_remembered = 0;
	cfi->initial = cfi->row;
	if (cfi->movable && !cfi->ip_used) {
		cfi->known_at = addr;
		cfi->nr_known = nr;
		cfi->known_word = cfi->word;
	}
	return 0;
}

/* Use the CIE of an FDE, and read the FDE up to its instructions. */
static int cfi_read_fde(struct unwind_cfi *cfi, unsigned long addr)
{
	struct unwind_cfi_bytes *b = &cfi->fde;
	unsigned long field, start, len;
	u32 distance;

	cfi_open(b, cfi, addr);
	field = cfi_here(b);
	distance = cfi_u32(b);
	if (!distance || distance > field)
		cfi_fail(cfi, -EINVAL);	/* this is a CIE itself, or an FDE without a CIE */
	if (cfi->err || cfi_use_cie(cfi, field - distance))
		return cfi->err;

	start = cfi_pointer(b, cfi->encoding);
	len = cfi_pointer(b, cfi->encoding & DW_EH_PE_format);
	if (check_add_overflow(start, len, &cfi->row_end))
		cfi_fail(cfi, -EINVAL);
	cfi->row_start = start;
	if (cfi->augmented)
		cfi_skip(b, cfi_uleb(b));
	return cfi->err;
}

/* Is the caller's stack pointer equal to the CFA? */
static bool sp_is_cfa(const struct unwind_cfi_row *row)
{
	s32 off = row->off[UNWIND_SLOT_SP];

	switch (row->where[UNWIND_SLOT_SP]) {
	case UNWIND_SAME:
		return true;	/* the row does not mention sp */
	case UNWIND_IS_CFA:
		return off == 0;
	case UNWIND_AT_SP:
		return row->cfa_kind == CFA_EXPR && row->expr_deref && !row->expr_scale &&
		       row->cfa_reg == UNWIND_REG_SP && row->expr_off == off &&
		       row->expr_add == 0;
	}
	return false;
}

/* Fill in the CFA of a rule from a row whose CFA is given by an expression. */
static void cfi_make_cfa(const struct unwind_cfi_row *row, struct unwind_full_rule *rule)
{
	rule->cfa_off = row->expr_off;
	rule->cfa_index = row->expr_index;
	rule->cfa_scale = row->expr_scale;
	rule->cfa_deref = row->expr_deref;
	rule->cfa_add = row->expr_add;
}

/* Does the row have usable rules for the return address and the stack pointer? */
static int cfi_check_row(const struct unwind_cfi_row *row)
{
	switch (row->where[UNWIND_SLOT_RA]) {
	case UNWIND_UNDEFINED:
		return 0;
	case UNWIND_SAME:
	case UNWIND_IS_CFA:
	case UNWIND_IS_SP:
	case UNWIND_LOST:
		return -EOPNOTSUPP;
	}
	if (row->cfa_kind == CFA_UNSET)
		return -EINVAL;
	if (row->cfa_kind == CFA_BAD || row->cfa_reg == NO_REG)
		return -EOPNOTSUPP;
	return row->where[UNWIND_SLOT_SP] < UNWIND_UNDEFINED ? 0 : -EOPNOTSUPP;
}

static int cfi_make_rule(const struct unwind_cfi *cfi, struct unwind_full_rule *rule)
{
	const u32 lands = BIT(UNWIND_REG_EH_DATA) | BIT(UNWIND_REG_FP);
	const struct unwind_cfi_row *row = &cfi->row;

	*rule = (struct unwind_full_rule) {
		.cfa_reg	= row->cfa_reg,
		.cfa_off	= row->cfa_off,
		.ra_where	= row->where[UNWIND_SLOT_RA],
		.ra_off		= row->off[UNWIND_SLOT_RA],
		.signal		= cfi->signal,
		.lands		= (cfi->saved & lands) == lands && !cfi->signal,
	};
	if (unlikely(row->cfa_kind != CFA_OFFSET))
		cfi_make_cfa(row, rule);
	memcpy(rule->kept_off, row->off, sizeof(rule->kept_off));
	memcpy(rule->kept_where, row->where, sizeof(rule->kept_where));
	if (!sp_is_cfa(row)) {
		rule->sp_where = row->where[UNWIND_SLOT_SP];
		rule->sp_off = row->off[UNWIND_SLOT_SP];
	}
	return cfi_check_row(row);
}

/**
 * unwind_cfi_rule - the unwind rule of an address
 * @cfi: the tables
 * @fde: address of the FDE
 * @ip: the address; in expressions it is also the program counter
 * @rule: filled in on success
 *
 * Return: 0; -ENOENT if the FDE does not cover @ip; -EOPNOTSUPP if the row cannot
 *	   be expressed as a rule; -EINVAL if the FDE is broken; -E2BIG if it is
 *	   too long; or an error of cfi->read().
 */
int unwind_cfi_rule(struct unwind_cfi *cfi, unsigned long fde, unsigned long ip,
		    struct unwind_full_rule *rule)
{
	int ret;

	cfi->ip = ip;
	cfi->err = 0;
	cfi->spent = 0;
	cfi->nr_remembered = 0;
	cfi->ip_used = false;
	cfi->saved = 0;

	ret = cfi_read_fde(cfi, fde);
	if (ret)
		return ret;
	if (ip < cfi->row_start || ip >= cfi->row_end)
		return -ENOENT;

	ret = cfi_run_program(&cfi->fde);
	if (ret)
		return ret;
	if (cfi->ip_used) {
		cfi->row_start = ip;
		cfi->row_end = ip + 1;
	}
	return cfi_make_rule(cfi, rule);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * DWARF expressions in call frame information.
 *
 * An expression is not carried out, as registers and memory are not at hand, but
 * reduced to one form: base + offset, or the word in memory there plus a number.
 * The program counter is at hand, so what is done with it is arithmetic; that of
 * the linker's PLT entries comes to the stack pointer plus 8 or 16.
 */

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/types.h>

#include "cfi_expr.h"

/* DWARF 5, section 7.7.1 */
#define DW_OP_addr		0x03
#define DW_OP_deref		0x06
#define DW_OP_const1u		0x08
#define DW_OP_const1s		0x09
#define DW_OP_const2u		0x0a
#define DW_OP_const2s		0x0b
#define DW_OP_const4u		0x0c
#define DW_OP_const4s		0x0d
#define DW_OP_const8u		0x0e
#define DW_OP_const8s		0x0f
#define DW_OP_constu		0x10
#define DW_OP_consts		0x11
#define DW_OP_dup		0x12
#define DW_OP_drop		0x13
#define DW_OP_and		0x1a
#define DW_OP_minus		0x1c
#define DW_OP_mul		0x1e
#define DW_OP_neg		0x1f
#define DW_OP_not		0x20
#define DW_OP_or		0x21
#define DW_OP_plus		0x22
#define DW_OP_plus_uconst	0x23
#define DW_OP_shl		0x24
#define DW_OP_shr		0x25
#define DW_OP_shra		0x26
#define DW_OP_xor		0x27
#define DW_OP_eq		0x29
#define DW_OP_ge		0x2a
#define DW_OP_gt		0x2b
#define DW_OP_le		0x2c
#define DW_OP_lt		0x2d
#define DW_OP_ne		0x2e
#define DW_OP_lit0		0x30
#define DW_OP_lit31		0x4f
#define DW_OP_breg0		0x70
#define DW_OP_breg31		0x8f
#define DW_OP_bregx		0x92
#define DW_OP_nop		0x96

/* the PLT's expression needs 3 */
#define EXPR_STACK		4

/**
 * struct expr - an expression that is being reduced
 * @b: its next byte
 * @nr: values on the stack
 * @stack: the last one is on top
 */
struct expr {
	struct unwind_cfi_bytes	*b;
	unsigned int		nr;
	struct cfi_value	stack[EXPR_STACK];
};

/* numbers are as wide as a word */
static s64 wrap(const struct expr *e, s64 val)
{
	return e->b->cfi->word == 4 ? (s32)val : val;
}

static bool push(struct expr *e, u8 base, s64 off)
{
	if (e->nr == EXPR_STACK)
		return false;
	e->stack[e->nr++] = (struct cfi_value) {
		.base = base, .off = wrap(e, off),
	};
	return true;
}

static bool push_number(struct expr *e, s64 val)
{
	return push(e, CFI_BASE_NONE, val);
}

static bool push_reg(struct expr *e, u64 dwarf, s64 off)
{
	struct unwind_cfi *cfi = e->b->cfi;
	int reg = arch_unwind_reg(dwarf, cfi->word);

	if (reg < 0)
		return false;
	if (reg == UNWIND_REG_RA) {
		cfi->ip_used = true;
		return push_number(e, (s64)(cfi->ip + (u64)off));
	}
	return push(e, reg, off);
}

static struct cfi_value *top(struct expr *e)
{
	return e->nr ? &e->stack[e->nr - 1] : NULL;
}

static bool add(struct cfi_value *v, s64 n)
{
	s64 *to = v->deref ? &v->add : &v->off;

	return !check_add_overflow(*to, n, to);
}

static bool dup_top(struct expr *e)
{
	if (!e->nr || e->nr == EXPR_STACK)
		return false;
	e->stack[e->nr] = e->stack[e->nr - 1];
	e->nr++;
	return true;
}

static bool deref_top(struct expr *e)
{
	struct cfi_value *v = top(e);

	if (!v || v->deref || v->base == CFI_BASE_NONE)
		return false;
	v->deref = true;
	return true;
}

static bool add_to_top(struct expr *e, u64 n)
{
	return e->nr && (s64)n >= 0 && add(top(e), n);
}

static u64 shift_right(const struct expr *e, s64 x, u64 by)
{
	u64 val = e->b->cfi->word == 4 ? (u32)x : (u64)x;

	return by < 64 ? val >> by : 0;
}

/* arithmetic on numbers, modulo the size of a word; comparisons are signed */
static bool compute(const struct expr *e, u8 op, s64 x, s64 y, s64 *res)
{
	switch (op) {
	case DW_OP_and:
		*res = x & y;
		return true;
	case DW_OP_or:
		*res = x | y;
		return true;
	case DW_OP_xor:
		*res = x ^ y;
		return true;
	case DW_OP_plus:
		*res = (s64)((u64)x + (u64)y);
		return true;
	case DW_OP_minus:
		*res = (s64)((u64)x - (u64)y);
		return true;
	case DW_OP_mul:
		*res = (s64)((u64)x * (u64)y);
		return true;
	case DW_OP_shl:
		*res = (u64)y < 64 ? (s64)((u64)x << y) : 0;
		return true;
	case DW_OP_shr:
		*res = (s64)shift_right(e, x, y);
		return true;
	case DW_OP_shra:
		*res = x >> min_t(u64, y, 63);
		return true;
	case DW_OP_eq:
		*res = x == y;
		return true;
	case DW_OP_ge:
		*res = x >= y;
		return true;
	case DW_OP_gt:
		*res = x > y;
		return true;
	case DW_OP_le:
		*res = x <= y;
		return true;
	case DW_OP_lt:
		*res = x < y;
		return true;
	case DW_OP_ne:
		*res = x != y;
		return true;
	}
	return false;
}

static bool binary(struct expr *e, u8 op)
{
	struct cfi_value *x, *y;

	if (e->nr < 2)
		return false;
	y = &e->stack[--e->nr];
	x = &e->stack[e->nr - 1];

	/* a number plus something is something plus a number */
	if (op == DW_OP_plus && x->base == CFI_BASE_NONE) {
		struct cfi_value number = *x;

		*x = *y;
		*y = number;
	}
	if (y->base != CFI_BASE_NONE)
		return false;

	if (x->base == CFI_BASE_NONE) {
		if (!compute(e, op, x->off, y->off, &x->off))
			return false;
		x->off = wrap(e, x->off);
		return true;
	}
	if (op == DW_OP_minus && check_sub_overflow((s64)0, y->off, &y->off))
		return false;
	return (op == DW_OP_plus || op == DW_OP_minus) && add(x, y->off);
}

static bool unary(struct expr *e, u8 op)
{
	struct cfi_value *x = top(e);

	if (!x || x->base != CFI_BASE_NONE)
		return false;
	x->off = wrap(e, op == DW_OP_not ? ~x->off : (s64)-(u64)x->off);
	return true;
}

/* Is there an operation for it, and does its result have the form? */
static bool operation(struct expr *e)
{
	struct unwind_cfi_bytes *b = e->b;
	u8 op = cfi_u8(b);
	u64 reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push_number(e, op - DW_OP_lit0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_reg(e, op - DW_OP_breg0, cfi_sleb(b));

	switch (op) {
	case DW_OP_addr:
		return push_number(e, b->cfi->word == 4 ? cfi_u32(b) : cfi_u64(b));
	case DW_OP_const1u:
		return push_number(e, cfi_u8(b));
	case DW_OP_const1s:
		return push_number(e, (s8)cfi_u8(b));
	case DW_OP_const2u:
		return push_number(e, cfi_u16(b));
	case DW_OP_const2s:
		return push_number(e, (s16)cfi_u16(b));
	case DW_OP_const4u:
		return push_number(e, cfi_u32(b));
	case DW_OP_const4s:
		return push_number(e, (s32)cfi_u32(b));
	case DW_OP_const8u:
	case DW_OP_const8s:
		return push_number(e, cfi_u64(b));
	case DW_OP_constu:
		return push_number(e, cfi_uleb(b));
	case DW_OP_consts:
		return push_number(e, cfi_sleb(b));
	case DW_OP_bregx:
		reg = cfi_uleb(b);
		return push_reg(e, reg, cfi_sleb(b));
	case DW_OP_dup:
		return dup_top(e);
	case DW_OP_drop:
		return e->nr && e->nr--;
	case DW_OP_deref:
		return deref_top(e);
	case DW_OP_plus_uconst:
		return add_to_top(e, cfi_uleb(b));
	case DW_OP_neg:
	case DW_OP_not:
		return unary(e, op);
	case DW_OP_nop:
		return true;
	}
	return binary(e, op);
}

/**
 * cfi_expr - reduce an expression, and go behind it
 * @b: where it starts, with its length
 * @have_cfa: it starts with the CFA on its stack
 * @value: filled in
 *
 * Return: true if it has the form; false if not, or after an error.
 */
bool cfi_expr(struct unwind_cfi_bytes *b, bool have_cfa,
	      struct cfi_value *value)
{
	struct expr e = { .b = b };
	u64 len = cfi_uleb(b);
	unsigned long end;
	bool good = true;

	if (len > cfi_left(b)) {
		cfi_fail(b->cfi, -EINVAL);
		return false;
	}
	end = cfi_here(b) + len;
	if (have_cfa)
		push(&e, CFI_BASE_CFA, 0);

	while (good && cfi_here(b) < end)
		good = operation(&e);

	if (cfi_here(b) > end)
		cfi_fail(b->cfi, -EINVAL);
	if (b->cfi->err)
		return false;
	cfi_skip(b, end - cfi_here(b));
	if (!good || !e.nr)
		return false;
	*value = e.stack[e.nr - 1];
	return true;
}

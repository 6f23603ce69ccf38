// SPDX-License-Identifier: GPL-2.0
/*
 * DWARF expressions in call frame information.
 *
 * A stack machine reduces an expression to a struct cfi_value while the rule is made.  Registers
 * and memory are not available then, but the program counter is, so arithmetic on it gives a
 * number: the expression of the linker's PLT entries reduces to the stack pointer plus 8 or 16.
 *
 * The operations are those that compilers, linkers and hand-written tables use.
 */

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/types.h>

#include "cfi_expr.h"

/* DWARF 5, section 7.7.1 */
#define DW_OP_deref		0x06
#define DW_OP_drop		0x13
#define DW_OP_and		0x1a
#define DW_OP_mul		0x1e
#define DW_OP_plus		0x22
#define DW_OP_plus_uconst	0x23
#define DW_OP_shl		0x24
#define DW_OP_ge		0x2a
#define DW_OP_lit0		0x30
#define DW_OP_lit31		0x4f
#define DW_OP_breg0		0x70
#define DW_OP_breg31		0x8f

/* the most values on the stack; the expression of PLT entries needs 3 */
#define EXPR_STACK	4

/**
 * struct expr - an expression that is reduced
 * @b: its next byte
 * @nr: number of values in @stack
 * @stack: the values; the last one is on top
 */
struct expr {
	struct unwind_cfi_bytes	*b;
	unsigned int		nr;
	struct cfi_value	stack[EXPR_STACK];
};

static bool expr_is_number(const struct cfi_value *v)
{
	return v->base == CFI_BASE_NONE && !v->scale;
}

static bool expr_push(struct expr *e, u8 base, s64 off)
{
	if (e->nr == EXPR_STACK)
		return false;
	e->stack[e->nr++] = (struct cfi_value) { .base = base, .off = off };
	return true;
}

static bool expr_push_reg(struct expr *e, unsigned int dwarf, s64 off)
{
	struct unwind_cfi *cfi = e->b->cfi;
	int reg = arch_unwind_reg(dwarf, cfi->word);

	if (reg == UNWIND_REG_RA) {
		cfi->ip_used = true;
		return expr_push(e, CFI_BASE_NONE, (s64)(cfi->ip + (u64)off));
	}
	return reg >= 0 && expr_push(e, reg, off);
}

static bool expr_add(struct cfi_value *v, s64 n)
{
	s64 *to = v->deref ? &v->add : &v->off;

	return !check_add_overflow(*to, n, to);
}

static bool expr_add_value(struct cfi_value *x, const struct cfi_value *y)
{
	/* a multiple of a register, made by expr_multiply() */
	if (y->base == CFI_BASE_NONE && y->scale && x->base != CFI_BASE_NONE &&
	    !x->scale && !x->deref) {
		x->index = y->index;
		x->scale = y->scale;
	} else if (!expr_is_number(y)) {
		return false;
	}
	return expr_add(x, y->off);
}

static bool expr_multiply(struct cfi_value *x, s64 n)
{
	if (x->base >= CFI_BASE_CFA || x->off || x->deref || x->scale || n != (u8)n)
		return false;
	*x = (struct cfi_value) { .base = CFI_BASE_NONE, .index = x->base, .scale = n };
	return true;
}

static bool expr_compute(u8 op, struct cfi_value *x, s64 n)
{
	if (!expr_is_number(x))
		return false;
	switch (op) {
	case DW_OP_and:
		x->off &= n;
		return true;
	case DW_OP_ge:
		x->off = x->off >= n;
		return true;
	case DW_OP_shl:
		x->off = n >= 0 && n < 64 ? (s64)((u64)x->off << n) : 0;
		return true;
	}
	return false;
}

static bool expr_binary(struct expr *e, u8 op)
{
	struct cfi_value *x, *y;

	if (e->nr < 2)
		return false;
	e->nr--;
	x = &e->stack[e->nr - 1];
	y = &e->stack[e->nr];
	if (op == DW_OP_plus)
		return expr_add_value(x, y);
	if (!expr_is_number(y))
		return false;
	return op == DW_OP_mul ? expr_multiply(x, y->off) : expr_compute(op, x, y->off);
}

static bool expr_deref(struct cfi_value *v)
{
	if (v->deref || v->base == CFI_BASE_NONE)
		return false;
	v->deref = true;
	return true;
}

/* Read the next operation and carry it out.  False if it is not known, or cannot be reduced. */
static bool expr_step(struct expr *e)
{
	struct unwind_cfi_bytes *b = e->b;
	u8 op = cfi_u8(b);
	s64 arg = 0;

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return expr_push_reg(e, op - DW_OP_breg0, cfi_sleb(b));
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return expr_push(e, CFI_BASE_NONE, op - DW_OP_lit0);
	if (op == DW_OP_plus_uconst)
		arg = cfi_uleb(b);
	if (!e->nr)
		return false;

	switch (op) {
	case DW_OP_plus_uconst:
		return expr_add(&e->stack[e->nr - 1], arg);
	case DW_OP_deref:
		return expr_deref(&e->stack[e->nr - 1]);
	case DW_OP_drop:
		e->nr--;
		return true;
	}
	return expr_binary(e, op);
}

/**
 * cfi_expr - reduce an expression, and skip it
 * @b: the place of its length, which precedes the expression
 * @have_cfa: push the CFA before the expression runs
 * @value: filled in if it can be reduced
 *
 * Return: true if it can be reduced; false also after an error.
 */
bool cfi_expr(struct unwind_cfi_bytes *b, bool have_cfa, struct cfi_value *value)
{
	struct expr e = { .b = b };
	u64 len = cfi_uleb(b);
	unsigned long end;

	if (len > cfi_left(b)) {
		cfi_fail(b->cfi, -EINVAL);
		return false;
	}
	end = cfi_here(b) + len;
	if (have_cfa)
		expr_push(&e, CFI_BASE_CFA, 0);
	while (cfi_here(b) < end && !b->cfi->err) {
		if (!expr_step(&e)) {
			e.nr = 0;
			break;
		}
	}
	if (cfi_here(b) > end)
		cfi_fail(b->cfi, -EINVAL);
	if (b->cfi->err)
		return false;
	cfi_skip(b, end - cfi_here(b));
	if (!e.nr)
		return false;
	*value = e.stack[e.nr - 1];
	return true;
}

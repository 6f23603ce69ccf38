// SPDX-License-Identifier: GPL-2.0
/*
 * DWARF expressions in call frame information.
 *
 * One stack machine serves two purposes.
 *
 * While a rule is made, registers and memory are not available.  The machine then tries
 * to *reduce* an expression to one of two forms: base + offset, or a number plus the word
 * in memory at base + offset.  The program counter is available, so arithmetic on it
 * gives a number: the expression of the linker's PLT entries reduces to the stack pointer
 * plus 8 or 16.
 *
 * An expression that cannot be reduced is *evaluated* in each frame that needs it, where
 * all values are numbers.
 */

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

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
#define DW_OP_over		0x14
#define DW_OP_pick		0x15
#define DW_OP_swap		0x16
#define DW_OP_rot		0x17
#define DW_OP_abs		0x19
#define DW_OP_and		0x1a
#define DW_OP_div		0x1b
#define DW_OP_minus		0x1c
#define DW_OP_mod		0x1d
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
#define DW_OP_bra		0x28
#define DW_OP_eq		0x29
#define DW_OP_ge		0x2a
#define DW_OP_gt		0x2b
#define DW_OP_le		0x2c
#define DW_OP_lt		0x2d
#define DW_OP_ne		0x2e
#define DW_OP_skip		0x2f
#define DW_OP_lit0		0x30
#define DW_OP_lit31		0x4f
#define DW_OP_breg0		0x70
#define DW_OP_breg31		0x8f
#define DW_OP_bregx		0x92
#define DW_OP_deref_size	0x94
#define DW_OP_nop		0x96

/* the most values on the stack; the expression of PLT entries needs 3 */
#define EXPR_STACK	8
/* the most operations of one evaluation: an expression may loop */
#define EXPR_STEPS	128

/**
 * struct expr - an expression that is reduced or evaluated
 * @b: its next byte
 * @frame: registers and memory, to evaluate it; or NULL, to reduce it
 * @start: address of its first byte
 * @end: address after its last byte
 * @err: -EOPNOTSUPP if it is invalid or has an unknown operation, or an error of @frame
 * @nr: number of values in @stack
 * @stack: the values; the last one is on top
 */
struct expr {
	struct unwind_cfi_bytes		*b;
	const struct unwind_cfi_frame	*frame;
	unsigned long			start;
	unsigned long			end;
	int				err;
	unsigned int			nr;
	struct cfi_value		stack[EXPR_STACK];
};

/**
 * struct operation - an operation with its operands
 * @op: DW_OP_*; DW_OP_consts for all that push a number, DW_OP_bregx for all that push a register
 * @reg: the register's number in DWARF
 * @arg: any other operand
 */
struct operation {
	u8	op;
	u64	reg;
	s64	arg;
};

/* The expression has no value: it is invalid, not supported, or fails in this frame. */
static bool expr_fail(struct expr *e)
{
	if (!e->err)
		e->err = -EOPNOTSUPP;
	return false;
}

/* Wrap a number to the size of a word. */
static s64 expr_wrap(const struct expr *e, s64 val)
{
	return e->b->cfi->word == 4 ? (s32)val : val;
}

/* Convert a number to an unsigned number or an address of the size of a word. */
static u64 expr_to_unsigned(const struct expr *e, s64 val)
{
	return e->b->cfi->word == 4 ? (u32)val : (u64)val;
}

static bool expr_push(struct expr *e, u8 base, s64 off)
{
	if (e->nr == EXPR_STACK)
		return expr_fail(e);
	e->stack[e->nr++] = (struct cfi_value) {
		.base = base, .off = expr_wrap(e, off),
	};
	return true;
}

static bool expr_push_number(struct expr *e, s64 val)
{
	return expr_push(e, CFI_BASE_NONE, val);
}

static bool expr_push_reg(struct expr *e, u64 dwarf, s64 off)
{
	struct unwind_cfi *cfi = e->b->cfi;
	int reg = arch_unwind_reg(dwarf, cfi->word);
	unsigned long val = 0;

	if (reg < 0)
		return expr_fail(e);
	if (reg == UNWIND_REG_RA) {
		cfi->ip_used = true;
		return expr_push_number(e, (s64)(cfi->ip + (u64)off));
	}
	if (!e->frame)
		return expr_push(e, reg, off);
	e->err = e->frame->reg(e->frame->ctx, reg, &val);
	return !e->err && expr_push_number(e, (s64)((u64)val + (u64)off));
}

/* The value @depth below the top. */
static struct cfi_value *expr_below_top(struct expr *e, u64 depth)
{
	if (depth >= e->nr) {
		expr_fail(e);
		return NULL;
	}
	return &e->stack[e->nr - 1 - depth];
}

static bool expr_add(const struct expr *e, struct cfi_value *v, s64 n)
{
	s64 *to = v->deref ? &v->add : &v->off;

	if (v->base == CFI_BASE_NONE) {
		v->off = expr_wrap(e, (s64)((u64)v->off + (u64)n));
		return true;
	}
	return !check_add_overflow(*to, n, to);
}

static bool expr_pick(struct expr *e, u64 depth)
{
	struct cfi_value *v = expr_below_top(e, depth);

	if (!v || e->nr == EXPR_STACK)
		return expr_fail(e);
	e->stack[e->nr++] = *v;
	return true;
}

/* Move the value on top below @others values. */
static bool expr_rotate(struct expr *e, unsigned int others)
{
	struct cfi_value *to = expr_below_top(e, others);
	struct cfi_value top_value;

	if (!to)
		return false;
	top_value = to[others];
	memmove(to + 1, to, others * sizeof(*to));
	*to = top_value;
	return true;
}

/* Replace the number on top, which is an address, with the number in memory there. */
static bool expr_load(struct expr *e, struct cfi_value *v, size_t len)
{
	u8 bytes[8] = {};

	e->err = e->frame->load(e->frame->ctx, expr_to_unsigned(e, v->off), bytes, len);
	v->off = expr_wrap(e, get_unaligned_le64(bytes));
	return !e->err;
}

static bool expr_deref_top(struct expr *e, u64 len)
{
	struct cfi_value *v = expr_below_top(e, 0);

	if (!v || !len || len > e->b->cfi->word)
		return expr_fail(e);
	if (e->frame)
		return expr_load(e, v, len);
	if (v->deref || v->base == CFI_BASE_NONE || len != e->b->cfi->word)
		return false;
	v->deref = true;
	return true;
}

static bool expr_add_to_top(struct expr *e, s64 n)
{
	struct cfi_value *v = expr_below_top(e, 0);

	return v && expr_add(e, v, n);
}

/* Signed division; the smallest number divided by -1 wraps. */
static bool expr_divide(struct expr *e, s64 x, s64 y, s64 *res)
{
	if (!y)
		return expr_fail(e);
	*res = y == -1 ? (s64)-(u64)x : x / y;
	return true;
}

static bool expr_modulo(struct expr *e, s64 x, s64 y, s64 *res)
{
	if (!y)
		return expr_fail(e);
	*res = expr_to_unsigned(e, x) % expr_to_unsigned(e, y);
	return true;
}

/* Compute on numbers. Comparisons are signed. The caller wraps the result to the size of a word. */
static bool expr_compute(struct expr *e, u8 op, s64 x, s64 y, s64 *res)
{
	switch (op) {
	case DW_OP_and:
		*res = x & y;
		return true;
	case DW_OP_div:
		return expr_divide(e, x, y, res);
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
	case DW_OP_mod:
		return expr_modulo(e, x, y, res);
	case DW_OP_mul:
		*res = (s64)((u64)x * (u64)y);
		return true;
	case DW_OP_shl:
		*res = expr_to_unsigned(e, y) < 64 ? (s64)((u64)x << y) : 0;
		return true;
	case DW_OP_shr:
		*res = expr_to_unsigned(e, y) < 64 ? (s64)(expr_to_unsigned(e, x) >> y) : 0;
		return true;
	case DW_OP_shra:
		*res = x >> min_t(u64, expr_to_unsigned(e, y), 63);
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
	return expr_fail(e);
}

static bool expr_binary(struct expr *e, u8 op)
{
	struct cfi_value *x = expr_below_top(e, 1), *y;

	if (!x)
		return false;
	y = expr_below_top(e, 0);
	e->nr--;

	/* make the number the second operand */
	if (op == DW_OP_plus && x->base == CFI_BASE_NONE) {
		struct cfi_value value = *x;

		*x = *y;
		*y = value;
	}
	if (y->base != CFI_BASE_NONE)
		return false;

	if (x->base == CFI_BASE_NONE) {
		if (!expr_compute(e, op, x->off, y->off, &x->off))
			return false;
		x->off = expr_wrap(e, x->off);
		return true;
	}
	if (op == DW_OP_minus && check_sub_overflow((s64)0, y->off, &y->off))
		return false;
	return (op == DW_OP_plus || op == DW_OP_minus) && expr_add(e, x, y->off);
}

static bool expr_unary(struct expr *e, u8 op)
{
	struct cfi_value *x = expr_below_top(e, 0);

	if (!x || x->base != CFI_BASE_NONE)
		return false;
	if (op == DW_OP_not)
		x->off = ~x->off;
	else if (op == DW_OP_neg || x->off < 0)
		x->off = expr_wrap(e, (s64)-(u64)x->off);
	return true;
}

/* Jump, only when evaluating, and only within the expression. */
static bool expr_jump(struct expr *e, s64 by)
{
	struct unwind_cfi_bytes *b = e->b;
	unsigned long to = cfi_here(b) + by;

	if (!e->frame)
		return false;
	if (to < e->start || to > e->end)
		return expr_fail(e);
	if (to >= b->at && to - b->at <= b->nr) {
		b->pos = to - b->at;
		return true;
	}
	b->at = to;
	b->pos = 0;
	b->nr = 0;
	return true;
}

static bool expr_branch(struct expr *e, s64 by)
{
	struct cfi_value *v = expr_below_top(e, 0);

	if (!v || !e->frame)
		return false;
	e->nr--;
	return !v->off || expr_jump(e, by);
}

static bool expr_drop(struct expr *e)
{
	return expr_below_top(e, 0) && e->nr--;
}

/*
 * Carry out an operation.  False if it fails.  If it fails without setting e->err, the expression
 * cannot be reduced, but may be valid: evaluate it in the frame.
 */
static bool expr_carry_out(struct expr *e, const struct operation *o)
{
	switch (o->op) {
	case DW_OP_consts:
		return expr_push_number(e, o->arg);
	case DW_OP_bregx:
		return expr_push_reg(e, o->reg, o->arg);
	case DW_OP_dup:
		return expr_pick(e, 0);
	case DW_OP_drop:
		return expr_drop(e);
	case DW_OP_over:
		return expr_pick(e, 1);
	case DW_OP_pick:
		return expr_pick(e, o->arg);
	case DW_OP_swap:
		return expr_rotate(e, 1);
	case DW_OP_rot:
		return expr_rotate(e, 2);
	case DW_OP_deref:
		return expr_deref_top(e, e->b->cfi->word);
	case DW_OP_deref_size:
		return expr_deref_top(e, o->arg);
	case DW_OP_plus_uconst:
		return expr_add_to_top(e, o->arg);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
		return expr_unary(e, o->op);
	case DW_OP_skip:
		return expr_jump(e, o->arg);
	case DW_OP_bra:
		return expr_branch(e, o->arg);
	case DW_OP_nop:
		return true;
	}
	return expr_binary(e, o->op);
}

static bool expr_set_number(struct operation *o, s64 val)
{
	o->op = DW_OP_consts;
	o->arg = val;
	return true;
}

static bool expr_set_reg_and_offset(struct operation *o, u64 reg, s64 off)
{
	o->op = DW_OP_bregx;
	o->reg = reg;
	o->arg = off;
	return true;
}

/* Is this a known operation without operands, other than DW_OP_lit0 to DW_OP_lit31? */
static bool expr_is_plain(u8 op)
{
	switch (op) {
	case DW_OP_deref:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
	case DW_OP_nop:
		return true;
	}
	return (op >= DW_OP_abs && op <= DW_OP_plus) ||
	       (op >= DW_OP_shl && op <= DW_OP_xor) ||
	       (op >= DW_OP_eq && op <= DW_OP_ne);
}

/* Read the next operation.  False if it is not known. */
static bool expr_read_operation(struct expr *e, struct operation *o)
{
	struct unwind_cfi_bytes *b = e->b;
	u8 op = cfi_u8(b);
	u64 reg;

	o->op = op;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return expr_set_number(o, op - DW_OP_lit0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return expr_set_reg_and_offset(o, op - DW_OP_breg0, cfi_sleb(b));

	switch (op) {
	case DW_OP_addr:
		return expr_set_number(o, b->cfi->word == 4 ? cfi_u32(b) : cfi_u64(b));
	case DW_OP_const1u:
		return expr_set_number(o, cfi_u8(b));
	case DW_OP_const1s:
		return expr_set_number(o, (s8)cfi_u8(b));
	case DW_OP_const2u:
		return expr_set_number(o, cfi_u16(b));
	case DW_OP_const2s:
		return expr_set_number(o, (s16)cfi_u16(b));
	case DW_OP_const4u:
		return expr_set_number(o, cfi_u32(b));
	case DW_OP_const4s:
		return expr_set_number(o, (s32)cfi_u32(b));
	case DW_OP_const8u:
	case DW_OP_const8s:
		return expr_set_number(o, cfi_u64(b));
	case DW_OP_constu:
		return expr_set_number(o, cfi_uleb(b));
	case DW_OP_consts:
		return expr_set_number(o, cfi_sleb(b));
	case DW_OP_bregx:
		reg = cfi_uleb(b);
		return expr_set_reg_and_offset(o, reg, cfi_sleb(b));
	case DW_OP_pick:
	case DW_OP_deref_size:
		o->arg = cfi_u8(b);
		return true;
	case DW_OP_plus_uconst:
		o->arg = cfi_uleb(b);
		return true;
	case DW_OP_bra:
	case DW_OP_skip:
		o->arg = (s16)cfi_u16(b);
		return true;
	}
	return expr_is_plain(op) || expr_fail(e);
}

/* Read the length of the expression. */
static bool expr_open(struct expr *e)
{
	struct unwind_cfi_bytes *b = e->b;
	u64 len = cfi_uleb(b);

	e->start = cfi_here(b);
	if (len > cfi_left(b)) {
		cfi_fail(b->cfi, -EINVAL);
		return false;
	}
	e->end = e->start + len;
	return true;
}

/* Run the whole expression: evaluate it, or reduce it if there is no frame. */
static bool expr_run(struct expr *e)
{
	unsigned int steps = EXPR_STEPS;
	struct operation o = {};
	bool good = true;

	while (!e->err && !e->b->cfi->err && cfi_here(e->b) < e->end) {
		if (!steps--)
			return expr_fail(e);
		if (expr_read_operation(e, &o) && good)
			good = expr_carry_out(e, &o);
	}
	if (cfi_here(e->b) > e->end)
		cfi_fail(e->b->cfi, -EINVAL);
	if (good && !e->nr)
		expr_fail(e);
	return good && !e->err && !e->b->cfi->err;
}

/**
 * cfi_expr - reduce an expression, and skip it
 * @b: the place of its length, which precedes the expression
 * @have_cfa: push the CFA before the expression runs
 * @value: filled in if it can be reduced
 *
 * Return: CFI_EXPR_VALUE if it can be reduced; CFI_EXPR_HARD if it must be evaluated
 *	   in a frame; CFI_EXPR_BAD if it is invalid, or after an error.
 */
enum cfi_expr_kind cfi_expr(struct unwind_cfi_bytes *b, bool have_cfa,
			    struct cfi_value *value)
{
	struct expr e = { .b = b };
	bool good;

	if (!expr_open(&e))
		return CFI_EXPR_BAD;
	if (have_cfa)
		expr_push(&e, CFI_BASE_CFA, 0);

	good = expr_run(&e);
	if (b->cfi->err)
		return CFI_EXPR_BAD;
	cfi_skip(b, e.end - cfi_here(b));
	if (good)
		*value = e.stack[e.nr - 1];
	else if (e.err)
		return CFI_EXPR_BAD;
	return good ? CFI_EXPR_VALUE : CFI_EXPR_HARD;
}

/* Start reading at an address without knowing the entry around it. */
static void expr_open_anywhere(struct unwind_cfi_bytes *b, struct unwind_cfi *cfi,
			       unsigned long addr)
{
	b->cfi = cfi;
	b->at = addr;
	b->end = ~0UL;
	b->pos = 0;
	b->nr = 0;
}

/**
 * unwind_cfi_expr - evaluate an expression
 * @cfi: the tables
 * @frame: registers and memory of the frame
 * @expr: address of the expression, which begins with its length
 * @ip: the program counter
 * @cfa: the CFA, to push before the expression runs; or NULL
 * @val: filled in on success
 *
 * Context: As the functions of @cfi and @frame.
 * Return: 0; -EOPNOTSUPP if it is invalid, takes too long or needs an unknown
 *	   register; -EINVAL or -E2BIG if its bytes are invalid; or an error of a
 *	   function of @cfi or @frame.
 */
int unwind_cfi_expr(struct unwind_cfi *cfi, const struct unwind_cfi_frame *frame,
		    unsigned long expr, unsigned long ip, const unsigned long *cfa,
		    unsigned long *val)
{
	struct expr e = { .b = &cfi->fde, .frame = frame };

	cfi->ip = ip;
	cfi->err = 0;
	cfi->spent = 0;
	expr_open_anywhere(e.b, cfi, expr);
	if (!expr_open(&e))
		return cfi->err;
	/* read no byte after the expression */
	e.b->end = e.end;
	e.b->nr = min_t(unsigned long, e.b->nr, e.end - e.b->at);
	if (cfa)
		expr_push_number(&e, *cfa);

	if (!expr_run(&e))
		return cfi->err ?: e.err ?: -EOPNOTSUPP;
	*val = expr_to_unsigned(&e, e.stack[e.nr - 1].off);
	return 0;
}

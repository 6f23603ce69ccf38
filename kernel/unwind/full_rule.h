/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The general form of an unwind rule.  Compiles in user space.
 */
#ifndef _KERNEL_UNWIND_FULL_RULE_H
#define _KERNEL_UNWIND_FULL_RULE_H

#include <linux/types.h>

#include <asm/unwind_regs.h>

/**
 * enum unwind_where - where to find a value of the caller's frame
 * @UNWIND_SAME: still in the same register
 * @UNWIND_AT_CFA: in memory, at the CFA plus the offset
 * @UNWIND_AT_SP: in memory, at this frame's stack pointer plus the offset
 * @UNWIND_AT_FP: in memory, at this frame's frame pointer plus the offset
 * @UNWIND_IS_CFA: the value is the CFA plus the offset
 * @UNWIND_IN_REG: in another register, whose UNWIND_REG_* is the offset
 * @UNWIND_UNDEFINED: not preserved, according to the table
 * @UNWIND_LOST: at a place that a rule cannot express
 */
enum unwind_where {
	UNWIND_SAME,
	UNWIND_AT_CFA,
	UNWIND_AT_SP,
	UNWIND_AT_FP,
	UNWIND_IS_CFA,
	UNWIND_IN_REG,
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/**
	 * @UNWIND_AT_EXPR: in memory, at the address that an expression evaluates to; the offset
	 *		    is that of the expression from the rule's expr_base
	 */
	UNWIND_AT_EXPR,
	/**
	 * @UNWIND_IS_EXPR: the value that an expression evaluates to; the offset is as for
	 *		    @UNWIND_AT_EXPR
	 */
	UNWIND_IS_EXPR,
#endif
	UNWIND_UNDEFINED,
	UNWIND_LOST,
};

/**
 * struct unwind_full_rule - how to get from a frame to its caller's
 * @cfa_off: offset from the base register, in bytes
 * @cfa_add: the number to add after @cfa_deref
 * @ra_off: the offset that @ra_where refers to
 * @sp_off: the offset that @sp_where refers to
 * @kept_off: for each slot, the offset that @kept_where refers to
 * @cfa_reg: the base register, UNWIND_REG_*
 * @cfa_deref: the CFA is not base + @cfa_off, but the word in memory there, plus
 *	       @cfa_add
 * @ra_where: never SAME, IS_CFA or LOST; UNDEFINED if this frame has no caller: the stack
 *	      ends here, and nothing else in the rule is valid
 * @sp_where: SAME if the caller's stack pointer is the CFA, as nearly always; neither
 *	      UNDEFINED nor LOST
 * @kept_where: enum unwind_where of each slot
 * @signal: the kernel made this frame for a signal handler; the caller's address
 *	    is that of the next instruction to run
 *
 * A caller-saved register (neither sp nor one with a slot) is known at most in the innermost
 * frame, and in its caller's if the innermost function does not change the register.
 */
struct unwind_full_rule {
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/** @expr_base: base of the offsets of expressions; 0 if there are no expressions */
	unsigned long	expr_base;
#endif
	s32	cfa_off;
	s32	cfa_add;
	s32	ra_off;
	s32	sp_off;
	s32	kept_off[UNWIND_NR_KEPT];
	u8	cfa_reg;
	bool	cfa_deref;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/** @cfa_expr: the CFA is the value of the expression at @expr_base + @cfa_off */
	bool	cfa_expr;
#endif
	u8	ra_where;
	u8	sp_where;
	u8	kept_where[UNWIND_NR_KEPT];
	bool	signal;
};

#endif /* _KERNEL_UNWIND_FULL_RULE_H */

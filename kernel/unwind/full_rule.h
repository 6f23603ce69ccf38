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
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/** @UNWIND_IS_SP: the value is this frame's stack pointer plus the offset */
	UNWIND_IS_SP,
#endif
	UNWIND_IN_REG,
	UNWIND_UNDEFINED,
	UNWIND_LOST,
};

/**
 * struct unwind_full_rule - how to get from a frame to its caller's
 * @cfa_off: offset from the base register, in bytes
 * @cfa_add: the number to add after @cfa_deref
 * @ra_off: the offset that @ra_where refers to
 * @kept_off: for each slot, the offset that @kept_where refers to
 * @cfa_reg: the base register, UNWIND_REG_*
 * @cfa_deref: the CFA is not base + @cfa_off, but the word in memory there, plus
 *	       @cfa_add
 * @ra_where: never SAME, LOST or an IS value; UNDEFINED if this frame has no caller: the stack
 *	      ends here, and nothing else in the rule is valid
 * @kept_where: enum unwind_where of each slot
 * @signal: the kernel made this frame for a signal handler; the caller's address
 *	    is that of the next instruction to run
 *
 * A caller-saved register (neither sp nor one with a slot) is known at most in the innermost
 * frame, and in its caller's if the innermost function does not change the register.
 */
struct unwind_full_rule {
	s32	cfa_off;
	s32	cfa_add;
	s32	ra_off;
	s32	kept_off[UNWIND_NR_KEPT];
	u8	cfa_reg;
	bool	cfa_deref;
	u8	ra_where;
	u8	kept_where[UNWIND_NR_KEPT];
	bool	signal;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/** @sp_off: the offset that @sp_where refers to */
	s32	sp_off;
	/**
	 * @sp_where: SAME if the caller's stack pointer is the CFA, as nearly always; neither
	 * UNDEFINED nor LOST
	 */
	u8	sp_where;
	/** @cfa_index: a register, UNWIND_REG_*, that is added to the base, times @cfa_scale */
	u8	cfa_index;
	/** @cfa_scale: see @cfa_index; 0 in nearly all rules */
	u8	cfa_scale;
	/**
	 * @lands: the function saves the frame pointer and the register that __builtin_eh_return()
	 * sets, as those of libgcc do that throw; see unwind_apply_landing()
	 */
	bool	lands;
#endif
};

#endif /* _KERNEL_UNWIND_FULL_RULE_H */

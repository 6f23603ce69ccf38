/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One step of a walk by a common rule, inlined where it is used.
 */
#ifndef _KERNEL_UNWIND_STEP_H
#define _KERNEL_UNWIND_STEP_H

#include <linux/bits.h>
#include <linux/sched.h>

#include <asm/unwind_walk.h>

#include "unwind.h"

/* Get the value of a register of this frame. */
static __always_inline enum unwind_result unwind_read_reg(struct unwind_walk *state,
							  unsigned int reg, unsigned long *val)
{
	int slot;

	if (reg == UNWIND_REG_SP) {
		*val = state->sp;
		return UNWIND_FOUND;
	}
	slot = arch_unwind_slot(reg, state->word);
	if (slot < 0 || slot >= UNWIND_NR_KEPT)
#ifdef CONFIG_UNWIND_USER_EH_FRAME
		return unwind_volatile_reg(state, reg, val);
#else
		return UNWIND_STOP;
#endif
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (unlikely(state->fp_only) && slot != UNWIND_SLOT_FP) {
		state->again = true;
		return UNWIND_STOP;
	}
#endif
	if (state->lost & BIT(slot))
		return UNWIND_STOP;
	*val = state->kept[slot];
	if (!(state->in_memory & BIT(slot)))
		return UNWIND_FOUND;
	if (unwind_read_word(state, *val, val))
		return UNWIND_FAULT;
	*val += state->ss_base;
	return UNWIND_FOUND;
}

/* May the caller's frame be at @cfa, and its next instruction at @ip? */
static __always_inline enum unwind_result unwind_check_cfa(struct unwind_walk *state,
							   unsigned long cfa, unsigned long ip)
{
	if (cfa >= TASK_SIZE_MAX)
		return UNWIND_BAD;
	if (cfa <= state->sp && !unwind_switch_stack(state, cfa, ip))
		return UNWIND_BAD;
	return UNWIND_FOUND;
}

static __always_inline enum unwind_result unwind_check_return_address(unsigned long ra)
{
	if (!ra)
		return UNWIND_END;
	return ra < TASK_SIZE_MAX ? UNWIND_FOUND : UNWIND_BAD;
}

static __always_inline enum unwind_result
unwind_read_return_address(struct unwind_walk *state, unsigned long slot, unsigned long *ra,
			   struct return_instance **ri)
{
	if (unwind_read_word(state, slot, ra))
		return UNWIND_FAULT;
	*ri = state->ri;
	if (unlikely(state->probed))
		*ra = unwind_uprobe_return(ri, slot, *ra);
	return unwind_check_return_address(*ra);
}

/* The CFA of a rule of the kind UNWIND_RULE_FRAME. */
static __always_inline enum unwind_result unwind_find_cfa(struct unwind_walk *state,
							  const struct unwind_user_rule *rule,
							  unsigned long *cfa)
{
	enum unwind_result ret;

	ret = unwind_read_reg(state, rule->cfa_reg, cfa);
	if (ret)
		return ret;
	/* programs and threads start with a frame pointer of 0 */
	if (!*cfa)
		return UNWIND_END;
	*cfa += rule->cfa_off;
	return UNWIND_FOUND;
}

static __always_inline void unwind_note_kept(struct unwind_walk *state,
					     const struct unwind_user_rule *rule,
					     unsigned long base)
{
	unsigned int slot;

	/* WRITE_ONCE(), because gcc would merge the two stores, with eight more instructions */
	WRITE_ONCE(state->in_memory, state->in_memory | rule->kept);
	WRITE_ONCE(state->lost, (state->lost & ~rule->kept) | rule->lost);
	/* most slots are kept: a search for set bits would take longer */
#pragma GCC unroll 8
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		if (rule->kept & BIT(slot))
			state->kept[slot] = base + rule->kept_off[slot];
}

/* Step to the caller at @ra, whose frame is at @cfa.  @kept is the base of rule->kept_off. */
static __always_inline enum unwind_result
unwind_step_by(struct unwind_walk *state, const struct unwind_user_rule *rule,
	       unsigned long kept, unsigned long cfa, unsigned long ra, struct return_instance *ri)
{
	enum unwind_result ret = unwind_check_cfa(state, cfa, ra);

	if (ret)
		return ret;
	unwind_note_kept(state, rule, kept);
	state->ip = ra;
	state->sp = cfa;
	state->ri = ri;
	state->exact = false;
#ifdef CONFIG_UNWIND_USER_CODE
	state->sp_is_low = false;
#endif
	state->back = 1;
	state->regs = NULL;
	return UNWIND_FOUND;
}

/* As unwind_step_by(), with the return address below the CFA. */
static __always_inline enum unwind_result unwind_step_to(struct unwind_walk *state,
							 const struct unwind_user_rule *rule,
							 unsigned long kept, unsigned long cfa)
{
	struct return_instance *ri __uninitialized;
	enum unwind_result ret;
	unsigned long ra;

	ret = unwind_read_return_address(state, cfa - state->word, &ra, &ri);
	return ret ? ret : unwind_step_by(state, rule, kept, cfa, ra + state->cs_base, ri);
}

/* Step by a rule of the kind UNWIND_RULE_FRAME. */
static __always_inline enum unwind_result unwind_apply_frame(struct unwind_walk *state,
							     const struct unwind_user_rule *rule)
{
	enum unwind_result ret;
	unsigned long cfa;

	ret = unwind_find_cfa(state, rule, &cfa);
	return ret ? ret : unwind_step_to(state, rule, cfa, cfa);
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* Step by a rule of the kind UNWIND_RULE_REALIGNED. */
static __always_inline enum unwind_result
unwind_apply_realigned(struct unwind_walk *state, const struct unwind_user_rule *rule)
{
	unsigned long kept __uninitialized, cfa __uninitialized;
	enum unwind_result ret;

	ret = unwind_read_reg(state, rule->cfa_reg, &kept);
	if (ret)
		return ret;
	if (unwind_read_word(state, kept + rule->cfa_off, &cfa))
		return UNWIND_FAULT;
	return unwind_step_to(state, rule, kept, cfa + state->ss_base);
}
#endif

#endif /* _KERNEL_UNWIND_STEP_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Steps that only frames of code without tables need.
 *
 * A frame of an interpreter may include a part of its caller's frame: then the stack pointer of
 * the caller is not known.  And assembly may rely on its own functions not to change a
 * caller-saved register, in which a table then has the CFA.
 */

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/sizes.h>

#include <asm/unwind_user.h>

#include "full_rule.h"
#include "no_tables.h"
#include "step.h"
#include "unwind.h"

/* the most bytes of its caller's frame that a frame may include, see frame_extends() */
#define UNWIND_MAX_EXTENSION	SZ_512K

/*
 * Does this frame include a part of its caller's frame? Then the word below its
 * frame pointer is the caller's stack pointer.
 */
static bool frame_extends(struct unwind_user_state *state, unsigned long cfa)
{
	unsigned long place = cfa - 3 * state->word, sp;

	return place >= state->sp && !unwind_read_word(state, place, &sp) &&
	       sp > cfa && sp - cfa <= UNWIND_MAX_EXTENSION &&
	       IS_ALIGNED(sp, state->word);
}

/**
 * unwind_apply_code_rule - step by a rule of the kind UNWIND_RULE_CODE
 * @state: the frame
 * @rule: the rule
 *
 * Context: Task context of a user task; may sleep, unless the walk is quick.
 * Return: as unwind_user_next().
 */
int unwind_apply_code_rule(struct unwind_user_state *state, const struct unwind_user_rule *rule)
{
	unsigned long sp = state->sp, cfa;
	int ret;

	ret = unwind_apply_frame(state, rule);
	if (ret || !rule->extends)
		return ret;
	cfa = state->sp;
	state->sp = sp;
	state->sp_is_low = frame_extends(state, cfa);
	state->sp = cfa;
	return 0;
}

static int apply_any_rule(struct unwind_user_state *state, const struct unwind_user_rule *rule,
			  const struct unwind_full_rule *full)
{
	return rule->kind == UNWIND_RULE_CODE ? unwind_apply_code_rule(state, rule) :
						unwind_apply_rule(state, rule, full);
}

static unsigned int steps_taken(const struct unwind_user_state *state)
{
	unsigned int i, nr = 0;

	for (i = 0; i < UNWIND_NR_METHODS; i++)
		nr += state->frames[i];
	return nr;
}

/* Is this frame the caller of the innermost function, which was interrupted? */
static bool called_innermost(const struct unwind_user_state *state)
{
	/* find_rule() has already counted this step */
	return state->start && !state->exact && !arch_unwind_in_syscall(state->start) &&
	       steps_taken(state) == 2;
}

/* May the rule need a caller-saved register? */
static bool rule_is_volatile(const struct unwind_user_state *state,
			     const struct unwind_user_rule *rule)
{
	return rule->kind == UNWIND_RULE_FULL ||
	       (rule->kind > UNWIND_RULE_FULL &&
		arch_unwind_slot(rule->cfa_reg, state->word) < 0);
}

/*
 * Assembly may rely on its own functions not to change a caller-saved register.
 * OpenSSL's AES-GCM keeps its CFA in rax across such calls.
 */
static noinline int apply_left_alone(struct unwind_user_state *state,
				     const struct unwind_user_rule *rule,
				     const struct unwind_full_rule *full)
{
	unsigned long ip = instruction_pointer(state->start) + state->cs_base;
	const struct unwind_frame here = state->frame;
	int ret;

	state->left_alone = unwind_callee_keeps(state, ip);
	ret = state->left_alone ? apply_any_rule(state, rule, full) : -EOPNOTSUPP;
	state->left_alone = 0;
	if (ret)
		state->frame = here;
	return ret;
}

/**
 * unwind_code_step - as unwind_apply_rule(), but knows frames of code without tables
 * @state: the frame; on failure it is unchanged, except for the budgets of the walk
 * @rule: the rule
 * @full: the rule, if @rule is of the kind UNWIND_RULE_FULL
 *
 * Context: Task context of a user task; may sleep.
 * Return: as unwind_user_next().
 */
int unwind_code_step(struct unwind_user_state *state, const struct unwind_user_rule *rule,
		     const struct unwind_full_rule *full)
{
	int ret;

	/* the stack pointer of this frame is not known */
	if (unlikely(state->sp_is_low) && rule->kind >= UNWIND_RULE_FULL &&
	    (rule->kind == UNWIND_RULE_FULL || rule->cfa_reg != UNWIND_REG_FP))
		return -EOPNOTSUPP;
	ret = apply_any_rule(state, rule, full);
	if (ret == -EOPNOTSUPP && rule_is_volatile(state, rule) && called_innermost(state))
		ret = apply_left_alone(state, rule, full);
	return ret;
}

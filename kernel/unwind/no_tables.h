/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the walk uses of rules of code without tables.
 */
#ifndef _KERNEL_UNWIND_NO_TABLES_H
#define _KERNEL_UNWIND_NO_TABLES_H

#include <linux/bits.h>

#include "unwind.h"

/* A rule may be wrong if it was found behind a call that never returns. */
enum unwind_doubt {
	UNWIND_DOUBT_NONE,
	UNWIND_DOUBT_RETURN,	/* valid if it leads to a possible return address */
	UNWIND_DOUBT_CALL,	/* valid if that follows a call of the function */
};

/* Code is read only if all methods of the kernel are enabled. */
static inline bool unwind_reads_code(const struct unwind_user_state *state)
{
	return state->methods == BIT(UNWIND_NR_METHODS) - 1;
}

int unwind_no_tables_rule(struct unwind_user_state *state,
			  struct unwind_user_rule *rule, struct unwind_full_rule *full);
bool unwind_may_return_to(struct unwind_user_state *state, unsigned long addr, bool unsure);
u16 unwind_callee_keeps(struct unwind_user_state *state, unsigned long ip);
int unwind_apply_code_rule(struct unwind_user_state *state, const struct unwind_user_rule *rule);
int unwind_code_step(struct unwind_user_state *state, const struct unwind_user_rule *rule,
		     const struct unwind_full_rule *full);
bool unwind_is_fixed(unsigned long addr);
unsigned long unwind_auxv(struct unwind_user_state *state, unsigned long type);
unsigned long unwind_start_stack(void);

#endif /* _KERNEL_UNWIND_NO_TABLES_H */

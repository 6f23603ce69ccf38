/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the walk uses of unwind tables.
 */
#ifndef _KERNEL_UNWIND_TABLES_H
#define _KERNEL_UNWIND_TABLES_H

#include <linux/string.h>

#include "unwind.h"
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif

struct unwind_stacktrace;

enum unwind_result unwind_eh_frame_rule(struct unwind_walk *state,
					struct unwind_user_rule *rule,
					struct unwind_full_rule *full);
enum unwind_result unwind_sigframe_behind(struct unwind_walk *state, unsigned long ip,
					  struct unwind_full_rule *full);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
bool unwind_quick_knows(u64 key);
#endif
bool unwind_quick_steps(struct unwind_walk *state, struct unwind_stacktrace *trace,
			unsigned int max);

/* Set the members of the state that only walks by tables use, each by itself. */
static inline void unwind_tables_begin(struct unwind_walk *state)
{
	state->quick = false;
	state->all_regs = false;
	state->fp_only = false;
	state->again = false;
	state->crowded = false;
	state->missed = false;
	state->cfi = NULL;
	state->tables = (struct unwind_cache_state) {};
#ifdef CONFIG_UNWIND_USER_FILES
	state->changes = unwind_files_changes();
	state->of_file = 0;
	state->held = NULL;
#endif
	memset(state->found, 0, sizeof(state->found));
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	state->in_place = false;
#endif
}

#endif /* _KERNEL_UNWIND_TABLES_H */

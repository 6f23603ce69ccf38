/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_IN_PLACE_H
#define _LINUX_UNWIND_IN_PLACE_H

#include <linux/compiler.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/unwind_user_types.h>

struct pt_regs;

#ifdef CONFIG_UNWIND_USER_IN_PLACE

extern u8 unwind_in_place_enabled;

/* Is kernel.unwind_user_in_place 1? */
static inline bool unwind_in_place_is_on(void)
{
	return READ_ONCE(unwind_in_place_enabled);
}

bool unwind_user_in_place(struct pt_regs *regs, struct unwind_stacktrace *trace,
			  unsigned int max_entries);
void unwind_user_learn(void);

/**
 * unwind_user_regs_begin - several user registers are about to be replaced
 *
 * Until unwind_user_regs_end(), samples of the current task have no user stack in place.
 *
 * Context: Task context, after unwind_deferred_close().
 */
static inline void unwind_user_regs_begin(void)
{
	WRITE_ONCE(current->unwind_info.replacing, true);
	/* interrupts and NMIs of this CPU see the mark before the first register */
	barrier();
}

/**
 * unwind_user_regs_end - the user registers are whole again
 *
 * Context: Task context.
 */
static inline void unwind_user_regs_end(void)
{
	barrier();
	WRITE_ONCE(current->unwind_info.replacing, false);
}

#else

static inline bool unwind_in_place_is_on(void)
{
	return false;
}

static inline bool unwind_user_in_place(struct pt_regs *regs, struct unwind_stacktrace *trace,
					unsigned int max_entries)
{
	return false;
}

static inline void unwind_user_learn(void) {}

static inline void unwind_user_regs_begin(void) {}
static inline void unwind_user_regs_end(void) {}

#endif

#endif /* _LINUX_UNWIND_IN_PLACE_H */

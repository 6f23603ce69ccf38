/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_USER_H
#define _LINUX_UNWIND_USER_H

#include <linux/unwind_walk.h>

/**
 * unwind_user - unwind the current task's user stack
 * @trace: filled in; @trace->entries has room for @max_entries
 * @max_entries: most frames to store
 *
 * Context: Task context; may sleep.
 * Return: as unwind_walk().
 */
static inline int unwind_user(struct unwind_stacktrace *trace, unsigned int max_entries)
{
	return unwind_walk(trace, max_entries);
}

#endif /* _LINUX_UNWIND_USER_H */

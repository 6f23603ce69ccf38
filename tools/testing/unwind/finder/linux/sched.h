/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task. */
#ifndef _UNWIND_FINDER_LINUX_SCHED_H
#define _UNWIND_FINDER_LINUX_SCHED_H

#include <linux/compiler.h>

struct mm_struct;

struct task_struct {
	struct mm_struct	*mm;
};

extern struct task_struct *const current;

static inline void cond_resched(void)
{
}

#ifndef __uninitialized
#define __uninitialized
#endif

#endif /* _UNWIND_FINDER_LINUX_SCHED_H */

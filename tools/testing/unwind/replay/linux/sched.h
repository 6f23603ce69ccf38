/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task. */
#ifndef _UNWIND_REPLAY_LINUX_SCHED_H
#define _UNWIND_REPLAY_LINUX_SCHED_H

#include <linux/compiler.h>
#include <linux/mm.h>

#define PF_KTHREAD	1
#define PF_USER_WORKER	2
#define PF_MEMALLOC_NOIO	4

struct task_struct {
	struct mm_struct	*mm;
	unsigned int		flags;
	struct uprobe_task	*utask;
};

extern struct task_struct *const current;

static inline void cond_resched(void)
{
}

#ifndef __uninitialized
#define __uninitialized
#endif

#endif /* _UNWIND_REPLAY_LINUX_SCHED_H */

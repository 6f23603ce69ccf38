/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May a walk in the current task wait or allocate memory?
 */
#ifndef _KERNEL_UNWIND_TASK_H
#define _KERNEL_UNWIND_TASK_H

#include <linux/gfp.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/*
 * Allocations reclaim no memory, so walks do not wait for it.  If an allocation
 * fails, for instance because the memory cgroup is at its limit, the next walk tries again, which
 * costs little.
 */
#define UNWIND_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/*
 * A task that is being killed must not wait for a page.  fatal_signal_pending() is false if the
 * task has dequeued its SIGKILL already, because its process exits (SIGNAL_GROUP_EXIT) or another
 * thread calls execve (group_exec_task).  Then no signal is certain to end the wait.
 */
static inline bool unwind_task_is_dying(void)
{
	return (current->flags & PF_EXITING) ||
	       (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT) ||
	       READ_ONCE(current->signal->group_exec_task) ||
	       fatal_signal_pending(current);
}

/* Walks use no memory reserves, and allocate nothing for a task that is about to end. */
static inline bool unwind_task_may_allocate(void)
{
	return !(current->flags & PF_MEMALLOC) && !tsk_is_oom_victim(current) &&
	       !unwind_task_is_dying();
}

#endif /* _KERNEL_UNWIND_TASK_H */

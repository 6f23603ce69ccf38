/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a task that is unwound may still do.
 */
#ifndef _KERNEL_UNWIND_TASK_H
#define _KERNEL_UNWIND_TASK_H

#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/*
 * A task that is being killed must not wait for a page.  Once its process has
 * SIGNAL_GROUP_EXIT set, another SIGKILL does not wake it.  A thread that execve
 * in another thread ends has already dequeued its SIGKILL, and execve waits for it.
 */
static inline bool unwind_task_is_dying(void)
{
	return (current->flags & PF_EXITING) ||
	       (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT) ||
	       READ_ONCE(current->signal->group_exec_task) ||
	       fatal_signal_pending(current);
}

/*
 * Memory to keep rules in is never worth a reserve, and a task that gives its own memory
 * back takes no more.
 */
static inline bool unwind_task_may_allocate(void)
{
	return !(current->flags & PF_MEMALLOC) && !unwind_task_is_dying() &&
	       !tsk_is_oom_victim(current);
}

#endif /* _KERNEL_UNWIND_TASK_H */

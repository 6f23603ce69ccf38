/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_WALK_H
#define _LINUX_UNWIND_WALK_H

#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/unwind_user_types.h>

/* Kernel threads, user workers and tasks without an mm have no user stack. */
static inline bool unwind_user_exists(const struct task_struct *task)
{
	return task->mm && !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
}

/* values of kernel.unwind_user_realtime, for real-time and deadline tasks */
enum unwind_realtime {
	UNWIND_REALTIME_IN_PLACE,	/* their user stacks are not deferred */
	UNWIND_REALTIME_NO_FAULTS,	/* their user stacks are deferred without page faults */
	UNWIND_REALTIME_AS_OTHERS,
};

extern u8 unwind_user_realtime;

/**
 * unwind_user_left_out - is a task excluded because it is a real-time task?
 * @task: the task; an inherited real-time priority counts
 * @from: the highest value of kernel.unwind_user_realtime that excludes real-time tasks
 *
 * Context: Any, NMI included.
 * Return: true if the task is excluded.
 */
static inline bool unwind_user_left_out(struct task_struct *task,
					enum unwind_realtime from)
{
	return unlikely(READ_ONCE(unwind_user_realtime) <= from) && rt_or_dl_task(task);
}

int unwind_walk(struct unwind_stacktrace *trace, unsigned int max_entries);

#endif /* _LINUX_UNWIND_WALK_H */

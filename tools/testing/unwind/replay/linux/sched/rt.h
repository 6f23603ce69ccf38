/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_SCHED_RT_H
#define _UNWIND_REPLAY_LINUX_SCHED_RT_H

#include <linux/sched.h>

static inline bool rt_or_dl_task(struct task_struct *task)
{
	return false;
}

#endif /* _UNWIND_REPLAY_LINUX_SCHED_RT_H */

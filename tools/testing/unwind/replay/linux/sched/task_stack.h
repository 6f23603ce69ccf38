/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_SCHED_TASK_STACK_H
#define _UNWIND_REPLAY_LINUX_SCHED_TASK_STACK_H

extern struct pt_regs replay_regs;

#define task_pt_regs(task)	((void)(task), &replay_regs)

#endif /* _UNWIND_REPLAY_LINUX_SCHED_TASK_STACK_H */

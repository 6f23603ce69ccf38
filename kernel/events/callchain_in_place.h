/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H
#define _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H

#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>

#ifdef CONFIG_UNWIND_USER_IN_PLACE
void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs);
#else
static inline void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx,
						struct pt_regs *regs)
{
	perf_callchain_user(ctx, user_mode(regs) ? regs : task_pt_regs(current));
}
#endif

#endif /* _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H */

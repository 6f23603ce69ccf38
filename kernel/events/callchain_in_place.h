/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H
#define _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H

#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/unwind_in_place.h>

/* Store the callers that known rules lead to. False if there are none. */
static inline bool callchain_by_rules(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs)
{
	struct perf_callchain_entry *entry = ctx->entry;
	/* a 64-bit kernel: see CONFIG_UNWIND_USER */
	struct unwind_stacktrace trace = { .entries = (unsigned long *)&entry->ip[entry->nr] };

	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack || perf_guest_state() ||
	    !unwind_user_in_place(regs, &trace, ctx->max_stack - ctx->nr))
		return false;
	entry->nr += trace.nr;
	ctx->nr += trace.nr;
	return true;
}

/**
 * perf_callchain_user_in_place - store the user half of a callchain that is not deferred
 * @ctx: the callchain
 * @regs: the registers at the sample, of the kernel or of user space
 *
 * Context: Any, NMI included.
 */
static inline void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx,
						struct pt_regs *regs)
{
	if (!unwind_in_place_is_on() || !callchain_by_rules(ctx, regs))
		perf_callchain_user(ctx, user_mode(regs) ? regs : task_pt_regs(current));
}

#endif /* _KERNEL_EVENTS_CALLCHAIN_IN_PLACE_H */

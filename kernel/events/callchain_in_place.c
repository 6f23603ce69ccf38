// SPDX-License-Identifier: GPL-2.0
/*
 * The user half of a callchain that is not deferred.
 */

#include <linux/perf_event.h>
#include <linux/unwind_in_place.h>

#include "callchain_in_place.h"

/**
 * perf_callchain_user_in_place - store the user half of a callchain
 * @ctx: the callchain
 * @regs: the registers at the sample, of the kernel or of user space
 *
 * Context: Any, NMI included.
 */
void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs)
{
	struct perf_callchain_entry *entry = ctx->entry;
	/* a 64-bit kernel: see CONFIG_UNWIND_USER */
	struct unwind_stacktrace trace = { .entries = (unsigned long *)&entry->ip[entry->nr] };

	if (!ctx->contexts_maxed && ctx->nr < ctx->max_stack && !perf_guest_state() &&
	    unwind_user_in_place(regs, &trace, ctx->max_stack - ctx->nr)) {
		entry->nr += trace.nr;
		ctx->nr += trace.nr;
	} else {
		perf_callchain_user(ctx, user_mode(regs) ? regs : task_pt_regs(current));
	}
}

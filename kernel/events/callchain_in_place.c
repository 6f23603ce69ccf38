// SPDX-License-Identifier: GPL-2.0
/*
 * The user half of a callchain that is not deferred.
 */

#include <linux/perf_event.h>
#include <linux/unwind_in_place.h>

#include <asm/unwind_user.h>

#include "callchain_in_place.h"

/* Unwind by known rules into the free part of the callchain. */
static enum unwind_in_place store_known(struct perf_callchain_entry_ctx *ctx,
					struct pt_regs *regs, unsigned long *fp)
{
	struct perf_callchain_entry *entry = ctx->entry;
	/* a 64-bit kernel: see CONFIG_UNWIND_USER */
	struct unwind_stacktrace trace = { .entries = (unsigned long *)&entry->ip[entry->nr] };
	enum unwind_in_place found;

	found = unwind_user_in_place(regs, &trace, ctx->max_stack - ctx->nr, fp);
	entry->nr += trace.nr;
	ctx->nr += trace.nr;
	return found;
}

static struct pt_regs *user_regs_of(struct pt_regs *regs)
{
	return user_mode(regs) ? regs : task_pt_regs(current);
}

/* Store the last known frame again, and its callers by frame pointers. */
static noinline void store_from_last(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs,
				     unsigned long fp)
{
	struct pt_regs last = *user_regs_of(regs);

	ctx->nr--;
	arch_unwind_set_frame(&last, ctx->entry->ip[--ctx->entry->nr], fp);
	perf_callchain_user(ctx, &last);
}

/**
 * perf_callchain_user_in_place - store the user half of a callchain
 * @ctx: the callchain
 * @regs: the registers at the sample, of the kernel or of user space
 *
 * Unwinds by known rules, if there are any.  If they do not lead to the end of the stack, but the
 * frame pointers lead to the last known frame, the stack goes on by these.
 *
 * Context: Any, NMI included.
 */
void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs)
{
	u64 begin = ctx->entry->nr;
	unsigned long fp;

	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack || perf_guest_state()) {
		perf_callchain_user(ctx, user_regs_of(regs));
		return;
	}
	if (store_known(ctx, regs, &fp) != UNWIND_IN_PLACE_PART)
		return;
	if (ctx->entry->nr == begin)
		perf_callchain_user(ctx, user_regs_of(regs));
	else if (fp)
		store_from_last(ctx, regs, fp);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The user half of a callchain that is not deferred.
 */

#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/unwind_in_place.h>

#include "callchain_in_place.h"

/* Unwind by known rules into the free part of the callchain. */
static enum unwind_in_place store_known(struct perf_callchain_entry_ctx *ctx,
					struct pt_regs *regs)
{
	struct perf_callchain_entry *entry = ctx->entry;
	/* a 64-bit kernel: see CONFIG_UNWIND_USER */
	struct unwind_stacktrace trace = { .entries = (unsigned long *)&entry->ip[entry->nr] };
	enum unwind_in_place found;

	found = unwind_user_in_place(regs, &trace, ctx->max_stack - ctx->nr);
	entry->nr += trace.nr;
	ctx->nr += trace.nr;
	return found;
}

static void store_by_fp(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs)
{
	perf_callchain_user(ctx, user_mode(regs) ? regs : task_pt_regs(current));
}

/* Drop all but the first @nr entries. */
static void cut_to(struct perf_callchain_entry_ctx *ctx, u64 nr)
{
	ctx->nr -= ctx->entry->nr - nr;
	ctx->entry->nr = nr;
}

static u64 count_frame(const u64 *frames, u64 nr, u64 frame)
{
	u64 i, found = 0;

	for (i = 0; i < nr; i++)
		found += frames[i] == frame;
	return found;
}

/*
 * The index behind the frame with which the known frames end, or 0 if it is not there.  With
 * recursion an address comes several times: take the frame that comes as often as in @known.
 */
static u64 behind_known(const u64 *frames, u64 nr, const u64 *known, u64 nr_known)
{
	u64 last = known[nr_known - 1], times = count_frame(known, nr_known, last), i;

	for (i = 0; i < nr; i++) {
		if (frames[i] == last && !--times)
			return i + 1;
	}
	return 0;
}

/*
 * Both stacks do not fit.  Take that by frame pointers if it is longer and has the frame @last,
 * else the one by known rules.
 */
static noinline void store_longer(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs,
				  u64 begin, u64 known, u64 last)
{
	const u64 *first = &ctx->entry->ip[begin];
	u64 by_fp;

	cut_to(ctx, begin);
	store_by_fp(ctx, regs);
	by_fp = ctx->entry->nr - begin;
	if (by_fp > known && count_frame(first, by_fp, last))
		return;
	cut_to(ctx, begin);
	store_known(ctx, regs);
}

/**
 * perf_callchain_user_in_place - store the user half of a callchain
 * @ctx: the callchain
 * @regs: the registers at the sample, of the kernel or of user space
 *
 * Unwinds by known rules, if there are any.  If they do not lead to the end of the stack, the frame
 * pointers are followed, too.  If they come to the last frame that is known, the stack goes on with
 * their frames from there.  If not, they have skipped that frame, or are none.
 *
 * Context: Any, NMI included.
 */
void perf_callchain_user_in_place(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs)
{
	struct perf_callchain_entry *entry = ctx->entry;
	u64 begin = entry->nr, known, by_fp, behind, *first;

	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack || perf_guest_state()) {
		store_by_fp(ctx, regs);
		return;
	}
	if (store_known(ctx, regs) != UNWIND_IN_PLACE_PART)
		return;
	known = entry->nr - begin;
	first = &entry->ip[begin];
	store_by_fp(ctx, regs);
	if (!known)
		return;
	if (ctx->nr >= ctx->max_stack) {
		store_longer(ctx, regs, begin, known, first[known - 1]);
		return;
	}
	by_fp = entry->nr - begin - known;
	behind = behind_known(first + known, by_fp, first, known);
	if (behind)
		by_fp -= behind;
	else
		by_fp = 0;
	memmove(first + known, first + known + behind, by_fp * sizeof(*first));
	cut_to(ctx, begin + known + by_fp);
}

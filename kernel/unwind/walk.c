// SPDX-License-Identifier: GPL-2.0
/*
 * Walking a user stack, frame by frame.
 *
 * For each frame a method gives an unwind rule, which frame.c executes.  With tables, most rules
 * are cached, and quick.c takes these steps.  A return address that is not a user address is not
 * stored in the trace.
 */

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/unwind_walk.h>

#include <asm/unwind_walk.h>

#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "cache.h"
#include "cfi.h"
#endif
#include "full_rule.h"
#ifdef CONFIG_UNWIND_USER_CODE
#include "no_tables.h"
#endif
#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "tables.h"
#endif
#include "unwind.h"

/* how many page faults one walk may take, and for how long it may fault and search for rules */
#define UNWIND_MAX_FAULTS	256
#define UNWIND_MAX_TIME		HZ
#if defined(CONFIG_UNWIND_USER_EH_FRAME) || defined(CONFIG_UNWIND_USER_CODE)
/*
 * How many bytes of unwind tables and code one walk may read.  A step without a cached rule
 * reads some 200 bytes of tables, and some 800 more for the headers of an object that is not
 * cached.
 */
#define UNWIND_MAX_TABLE_BYTES	SZ_1M
#endif

/* the methods, in the order in which they are tried for each frame */
static const struct {
	enum unwind_method	method;
	enum unwind_result (*rule)(struct unwind_walk *state, struct unwind_user_rule *rule,
				   struct unwind_full_rule *full);
} methods[] = {
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	{ UNWIND_METHOD_EH_FRAME, unwind_eh_frame_rule },
#endif
	{ UNWIND_METHOD_FP, unwind_fp_rule },
};

static enum unwind_result find_rule(struct unwind_walk *state, struct unwind_user_rule *rule,
				    struct unwind_full_rule *full)
{
	enum unwind_result ret;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!(state->methods & BIT(methods[i].method)))
			continue;
		ret = methods[i].rule(state, rule, full);
		if (ret == UNWIND_NONE)
			continue;
		state->frames[methods[i].method] += ret >= 0;
		return ret;
	}
	return UNWIND_NONE;
}

/*
 * Step from a frame to its caller's.  On failure @state is unchanged, except for the budgets of the
 * walk; or no register is known any more.
 */
enum unwind_result unwind_user_next(struct unwind_walk *state)
{
	struct unwind_user_rule rule __uninitialized;
	struct unwind_full_rule full __uninitialized;
	enum unwind_result ret;

	ret = find_rule(state, &rule, &full);
	if (ret)
		return ret == UNWIND_TAKEN ? UNWIND_FOUND : ret;
#ifdef CONFIG_UNWIND_USER_CODE
	return unwind_code_step(state, &rule, &full);
#else
	return unwind_apply_rule(state, &rule, &full);
#endif
}

/* Set each member by itself: clearing the struct first would take longer. */
static void begin_frame(struct unwind_walk *state, struct pt_regs *regs)
{
	state->cs_base = arch_unwind_cs_base(regs);
	state->ss_base = arch_unwind_ss_base(regs);
	state->ip = instruction_pointer(regs) + state->cs_base;
	state->sp = user_stack_pointer(regs) + state->ss_base;
	arch_unwind_kept(regs, state->kept);
	state->kept[UNWIND_SLOT_FP] += state->ss_base;
	state->in_memory = 0;
	state->lost = 0;
	state->exact = true;
	state->back = 0;
	state->probed = false;
	state->regs = regs;
	state->insn = state->ip;
	state->ri = NULL;
	state->word = arch_unwind_word(regs);
	state->downs = 0;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	state->nowhere = false;
#endif
#ifdef CONFIG_UNWIND_USER_CODE
	state->sp_is_low = false;
	state->left_alone = 0;
#endif
}

/* Set the members of the state that follow @frame, again each by itself: see begin_frame(). */
static void begin_walk(struct unwind_walk *state, struct pt_regs *regs)
{
	state->no_faults = false;
	state->methods = unwind_methods_enabled();
	memset(state->frames, 0, sizeof(state->frames));
	state->start = regs;
	state->faults = UNWIND_MAX_FAULTS;
	state->deadline = jiffies + UNWIND_MAX_TIME;
	state->code.end = 0;
#if defined(CONFIG_UNWIND_USER_EH_FRAME) || defined(CONFIG_UNWIND_USER_CODE)
	state->table_bytes = UNWIND_MAX_TABLE_BYTES;
#endif
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	unwind_tables_begin(state);
#endif
}

/* Begin a walk at the innermost frame, which has the user registers @regs. */
void unwind_user_begin(struct unwind_walk *state, struct pt_regs *regs)
{
	begin_frame(state, regs);
	begin_walk(state, regs);
	/*
	 * No page faults: in real-time tasks, if so configured; in a task that serves I/O
	 * (PR_SET_IO_FLUSHER), which may have to provide the page itself; in uprobe handlers.
	 */
	if (unwind_user_left_out(current, UNWIND_REALTIME_NO_FAULTS) ||
	    (current->flags & PF_MEMALLOC_NOIO) || unwind_in_uprobe_handler()) {
		state->no_faults = true;
		state->faults = 0;
	}
	state->back = arch_unwind_in_syscall(regs) && unwind_is_after_syscall(state);
	unwind_uprobe_begin(state);
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/*
 * Begin a walk in place, with page faults disabled.  Uprobes must not have changed the stack or the
 * registers.
 */
void unwind_user_begin_in_place(struct unwind_walk *state, struct pt_regs *regs)
{
	begin_frame(state, regs);
	begin_walk(state, regs);
	state->quick = true;
	state->in_place = true;
	state->missed = true;
	state->no_faults = true;
	/* for unwind_apply_landing(), in each frame of a hostile program */
	state->table_bytes = SZ_4K;
	state->back = arch_unwind_in_syscall(regs) && unwind_is_after_syscall(state);
}
#endif

/* Must the walk be repeated?  See repeat_walk(). */
static bool must_repeat(const struct unwind_walk *state)
{
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	return state->again;
#else
	return false;
#endif
}

/* Take quick steps, if there are tables.  Returns true if the stack has ended. */
static bool quick_to_end(struct unwind_walk *state, struct unwind_stacktrace *trace,
			 unsigned int max)
{
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	return state->cfi && unwind_quick_steps(state, trace, max);
#else
	return false;
#endif
}

/* Returns UNWIND_FOUND if @trace is full, or if the walk must be repeated. */
static enum unwind_result walk_frames(struct unwind_walk *state,
				      struct unwind_stacktrace *trace, unsigned int max)
{
	enum unwind_result ret;

	do {
		/* store no frame if the program has jumped to a kernel address */
		if (likely(state->ip < TASK_SIZE_MAX)) {
			trace->entries[trace->nr++] = state->ip;
			if (quick_to_end(state, trace, max))
				return UNWIND_END;
		}
		if (trace->nr == max || must_repeat(state))
			return UNWIND_FOUND;
		ret = unwind_user_next(state);
	} while (!ret && !must_repeat(state));
	return ret;
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/*
 * Repeat a walk that needs a callee-saved register which the quick steps have not followed.  Page
 * faults and time are limited for both walks together.  The limit of table bytes starts anew,
 * because the rules of the first walk are possibly not cached.
 */
static noinline enum unwind_result repeat_walk(struct unwind_walk *state,
					       struct unwind_stacktrace *trace, unsigned int max)
{
	const struct unwind_walk first = *state;

	unwind_cache_need_all_regs();
	unwind_user_begin(state, first.start);
	unwind_cfi_init(first.cfi);
	state->cfi = first.cfi;
	state->faults = min(state->faults, first.faults);
	state->deadline = first.deadline;
	memcpy(state->found, first.found, sizeof(state->found));
	state->crowded = first.crowded;
	state->all_regs = true;
	trace->nr = 0;
	return walk_frames(state, trace, max);
}

/* noinline: @cfi takes kernel stack that a walk without tables does not need */
static noinline enum unwind_result walk_by_tables(struct unwind_walk *state,
						  struct unwind_stacktrace *trace, unsigned int max)
{
	struct unwind_cfi cfi __uninitialized;
	enum unwind_result ret;

	unwind_cfi_init(&cfi);
	state->cfi = &cfi;
	ret = walk_frames(state, trace, max);
	if (unlikely(state->again))
		ret = repeat_walk(state, trace, max);
	if (unlikely(state->crowded))
		unwind_cache_grow_rules(0);
	if (ret != UNWIND_NOT_CODE)
		return ret;
	trace->nr--;
	return UNWIND_BAD;
}
#endif

/**
 * unwind_walk - unwind the current task's user stack
 * @trace: filled in; @trace->entries has room for @max_entries
 * @max_entries: most frames to store
 *
 * Walks until the stack ends or cannot be followed; frames found before that are kept.
 * The user memory that is read is the task's own; missing pages are faulted in
 * within a budget of pages and time, unless the task must not wait for a page, for instance
 * because it is being killed.
 *
 * Context: Task context; may sleep.
 * Return: 0, or -EINVAL when the current task has no user stack.
 */
int unwind_walk(struct unwind_stacktrace *trace, unsigned int max_entries)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct unwind_walk state __uninitialized;
	enum unwind_result ret;

	trace->nr = 0;
	if (!unwind_user_exists(current) || !arch_unwind_possible(regs))
		return -EINVAL;
	if (!max_entries)
		return 0;

	unwind_user_begin(&state, regs);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (likely(state.methods & BIT(UNWIND_METHOD_EH_FRAME)))
		ret = walk_by_tables(&state, trace, max_entries);
	else
#endif
		ret = walk_frames(&state, trace, max_entries);

	unwind_count_walk(&state, ret);
	return 0;
}

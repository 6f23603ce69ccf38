// SPDX-License-Identifier: GPL-2.0
/*
 * Walks in place: the user stack of a sample, unwound where the sample is taken.
 *
 * Such a walk only takes quick steps: by known rules, over resident memory.  It takes no lock, not
 * even by a try, allocates nothing and waits for nothing, so it is allowed in any context.  It may
 * have interrupted a writer of what it reads: then it sees an odd sequence count, and finds
 * nothing.
 *
 * If it ends early, the task is asked to learn: to walk the stack once on its return to user space,
 * which finds the missing rules.  Nothing is recorded.  Each sample may be at another address, so
 * for the files of the task's objects all rows are decoded, too, in the background (file_rows.c).
 */

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/mmu_context.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_in_place.h>
#include <linux/unwind_walk.h>
#include <linux/uprobes.h>

#include <asm/tlbflush.h>
#include <asm/unwind_walk.h>

#include "cache.h"
#include "step.h"
#include "tables.h"
#include "task.h"
#include "unwind.h"

/* the most walks to learn a stack at once */
#define MAX_LEARN_TRIES	5

u8 unwind_in_place_enabled __read_mostly = 1;

/* how walks in place have ended */
enum place_end {
	PLACE_COMPLETE,		/* the outermost frame was reached, or as many as requested */
	PLACE_NO_REGS,		/* the user registers are not known */
	PLACE_UPROBES,		/* uprobes may have changed the stack */
	PLACE_NO_MEMORY,	/* the mm of the task is not loaded */
	/* from here on, the task can learn */
	PLACE_NO_CACHE,		/* the mm has no cache yet */
	PLACE_NO_RULE,		/* the rule of a frame is not known */
	PLACE_NO_STEP,		/* a rule that needs more, or memory that is not resident */
	PLACE_LEARN,		/* how often a task was asked to learn */
	NR_PLACE_ENDS,
};

static const char * const place_end_names[NR_PLACE_ENDS] = {
	[PLACE_COMPLETE]	= "complete",
	[PLACE_NO_REGS]		= "no_regs",
	[PLACE_UPROBES]		= "uprobes",
	[PLACE_NO_MEMORY]	= "no_memory",
	[PLACE_NO_CACHE]	= "no_cache",
	[PLACE_NO_RULE]		= "no_rule",
	[PLACE_NO_STEP]		= "no_step",
	[PLACE_LEARN]		= "learn",
};

static DEFINE_PER_CPU(u64 [NR_PLACE_ENDS], place_ends);

static void place_learned(struct unwind_work *work, struct unwind_stacktrace *trace, u64 cookie)
{
#ifdef CONFIG_UNWIND_USER_FILES
	unwind_file_make_rows();
#endif
}

#ifdef UNWIND_ENTRIES_OF_OTHERS
static struct unwind_work learner = { .max_entries = UNWIND_ENTRIES_OF_OTHERS };
#else
static struct unwind_work learner;
#endif

/* May the current task learn now?  If so, that is counted. */
static bool place_claims_learning(void)
{
	bool may;

	rcu_read_lock();
	may = unwind_cache_may_learn();
	if (may)
		unwind_cache_note_learning();
	rcu_read_unlock();
	return may;
}

/* Ask the current task to learn its stack, unless that has been of no use lately. */
static void place_learn(void)
{
	u64 cookie;

	rcu_read_lock();
	if (unwind_cache_may_learn() && !unwind_deferred_request(&learner, &cookie)) {
		unwind_cache_note_learning();
		this_cpu_inc(place_ends[PLACE_LEARN]);
	}
	rcu_read_unlock();
}

/*
 * Are task_pt_regs() the user registers?  Not in the first instructions of an entry, where they are
 * being saved; nor while a signal, sigreturn or execve replaces them.
 */
static bool regs_are_known(struct pt_regs *regs)
{
	return (user_mode(regs) || arch_unwind_regs_are_saved(regs)) &&
	       unwind_deferred_keeps_regs();
}

/*
 * Have uprobes changed the stack or the registers?  The list of pending uretprobes cannot be read
 * here: the task frees its members before it unlinks them.
 */
static bool uprobes_interfere(void)
{
	const struct uprobe_task *utask = current->utask;

	return test_thread_flag(TIF_UPROBE) ||
	       (utask && (utask->active_uprobe || utask->return_instances));
}

/* Walk once.  Returns true if the stack has ended, or @trace is full. */
static bool place_walk(struct unwind_walk *state, struct pt_regs *regs, bool all_regs,
		       struct unwind_stacktrace *trace, unsigned int max)
{
	unwind_user_begin_in_place(state, regs);
	state->all_regs = all_regs;
	trace->nr = 0;
	if (state->ip >= TASK_SIZE_MAX)
		return false;
	trace->entries[trace->nr++] = state->ip;
	return unwind_quick_steps(state, trace, max) || trace->nr == max;
}

/*
 * Where the rules end, add the frames by frame pointers: if these, followed from the innermost
 * frame, come to that of the last frame, and as long as the return addresses follow calls.
 */
static void place_add_by_fp(struct unwind_walk *state, struct pt_regs *regs,
			    struct unwind_stacktrace *trace, unsigned int max)
{
	unsigned long kept[UNWIND_NR_KEPT], last, fp, ra;
	unsigned int steps = trace->nr;

	if (unwind_read_reg(state, UNWIND_REG_FP, &last))
		return;
	arch_unwind_kept(regs, kept);
	for (fp = kept[UNWIND_SLOT_FP]; fp != last; steps--) {
		if (!steps || unwind_read_word(state, fp, &fp))
			return;
	}
	while (trace->nr < max) {
		if (unwind_read_word(state, fp + state->word, &ra) ||
		    unwind_check_return_address(ra) || !unwind_is_after_call(state, ra) ||
		    unwind_read_word(state, fp, &fp))
			return;
		trace->entries[trace->nr++] = ra;
	}
}

/* Walk again with all callee-saved registers, as the next walks will do at once. */
static noinline bool place_walk_again(struct unwind_walk *state, struct pt_regs *regs,
				      struct unwind_stacktrace *trace, unsigned int max)
{
	unwind_cache_need_all_regs();
	return place_walk(state, regs, true, trace, max);
}

/*
 * The key of the innermost frame.  Most samples of code without rules end here: it costs less than
 * to begin a walk.  If the address of a system call does not follow its instruction, another key is
 * right, which is rare.
 */
static u64 place_first_key(struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs) - arch_unwind_in_syscall(regs);

	return unwind_word_key(ip, arch_unwind_word(regs));
}

static enum place_end place_unwind(struct pt_regs *regs, struct unwind_stacktrace *trace,
				   unsigned int max)
{
	struct unwind_walk state __uninitialized;
	enum place_end end;

	trace->nr = 0;
	if (unlikely(uprobes_interfere()))
		return PLACE_UPROBES;
	/* see there: an interrupt may come while another mm is loaded */
	if (!nmi_uaccess_okay())
		return PLACE_NO_MEMORY;

	rcu_read_lock();
	pagefault_disable();
	if (!rcu_access_pointer(current->mm->unwind_cache))
		end = PLACE_NO_CACHE;
	else if (!unwind_quick_knows(place_first_key(regs)))
		end = PLACE_NO_RULE;
	else if (place_walk(&state, regs, false, trace, max) ||
		 (state.again && place_walk_again(&state, regs, trace, max)))
		end = PLACE_COMPLETE;
	else
		end = state.missed ? PLACE_NO_RULE : PLACE_NO_STEP;
	/* without a first step, the base's walk is as good, and knows uprobes; but see frame.c */
	if (end != PLACE_COMPLETE && trace->nr == 1 && !(state.lost & BIT(UNWIND_SLOT_FP)))
		trace->nr = 0;
	else if (end != PLACE_COMPLETE && trace->nr)
		place_add_by_fp(&state, regs, trace, max);
	pagefault_enable();
	rcu_read_unlock();
	return end;
}

static bool place_allows(struct pt_regs *regs)
{
	return arch_unwind_possible(regs) && arch_unwind_is_flat(regs) &&
	       (unwind_methods_enabled() & BIT(UNWIND_METHOD_EH_FRAME));
}

/**
 * unwind_user_in_place - unwind the current task's user stack by known rules
 * @regs: the registers at the sample, of the kernel or of user space
 * @trace: filled in; @trace->entries has room for @max_entries
 * @max_entries: most frames to store, at least 1
 *
 * Unwinds by known rules, and where these end, by frame pointers if they lead on from there.
 *
 * Context: Any, NMI included.
 * Return: false if no caller is known, so the stack should be unwound in another way.
 */
bool unwind_user_in_place(struct pt_regs *regs, struct unwind_stacktrace *trace,
			  unsigned int max_entries)
{
	enum place_end end;

	trace->nr = 0;
	if (!unwind_in_place_is_on() || !unwind_user_exists(current))
		return false;
	/* hardware may have sampled another address: then the other registers may not fit */
	if (user_mode(regs) && regs != task_pt_regs(current))
		return false;
	if (unlikely(!regs_are_known(regs))) {
		this_cpu_inc(place_ends[PLACE_NO_REGS]);
		return true;
	}
	regs = task_pt_regs(current);
	if (!place_allows(regs))
		return false;
	end = place_unwind(regs, trace, max_entries);
	this_cpu_inc(place_ends[end]);
	if (end >= PLACE_NO_CACHE)
		place_learn();
	return trace->nr;
}

/**
 * unwind_user_learn - learn the current task's user stack at once
 *
 * Walks the stack until walks in place know its rules.  The table of a new cache holds few rules,
 * so it is enlarged with each walk that is not enough.  Limited like all learning.
 *
 * Context: Task context without the mmap lock; may sleep.
 */
void unwind_user_learn(void)
{
	struct pt_regs *regs = task_pt_regs(current);
	const unsigned int max = PAGE_SIZE / sizeof(unsigned long);
	struct unwind_stacktrace trace;
	enum place_end end;
	int tries;

	if (!unwind_in_place_is_on() || !unwind_user_exists(current) ||
	    !unwind_deferred_keeps_regs() || !place_allows(regs) ||
	    unwind_user_left_out(current, UNWIND_REALTIME_IN_PLACE))
		return;
	trace.entries = kmalloc(PAGE_SIZE, UNWIND_GFP);
	if (!trace.entries)
		return;
	for (tries = 0; tries < MAX_LEARN_TRIES; tries++) {
		end = place_unwind(regs, &trace, max);
		if (end < PLACE_NO_CACHE || !place_claims_learning())
			break;
		if (tries && end == PLACE_NO_RULE)
			unwind_cache_grow_rules(5 + 2 * tries);
		unwind_walk(&trace, max);
	}
	kfree(trace.entries);
}

static int unwind_user_in_place_show(struct seq_file *m, void *unused)
{
	unsigned int cpu, i;
	u64 sum;

	for (i = 0; i < NR_PLACE_ENDS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(place_ends, cpu)[i]);
		seq_printf(m, "%s %llu\n", place_end_names[i], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unwind_user_in_place);

static struct ctl_table place_sysctls[] = {
	{
		.procname	= "unwind_user_in_place",
		.data		= &unwind_in_place_enabled,
		.maxlen		= sizeof(unwind_in_place_enabled),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init unwind_in_place_setup(void)
{
	register_sysctl("kernel", place_sysctls);
	debugfs_create_file("unwind_user_in_place", 0444, NULL, NULL, &unwind_user_in_place_fops);
	return unwind_deferred_init(&learner, place_learned);
}
late_initcall(unwind_in_place_setup);

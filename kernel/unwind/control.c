// SPDX-License-Identifier: GPL-2.0
/*
 * The sysctls that control walks: kernel.unwind_user_methods, kernel.unwind_user_realtime and
 * kernel.unwind_user_files_max_kb.  Statistics of walks: <debugfs>/unwind_user.
 */

#include <linux/bits.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>
#include <linux/unwind_user.h>

#include "cache.h"
#include "file.h"
#include "unwind.h"

#define ALL_METHODS	(BIT(UNWIND_METHOD_FP) | \
			 (IS_ENABLED(CONFIG_UNWIND_USER_EH_FRAME) ? \
			  BIT(UNWIND_METHOD_EH_FRAME) : 0))

static u8 methods_enabled __read_mostly = ALL_METHODS;
static const unsigned int all_methods = ALL_METHODS;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
static const unsigned int most_kb = 1024 * 1024;

/* If the limit is lowered, evict rules and files that exceed it. */
static int set_files_max(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			 loff_t *ppos)
{
	int ret = proc_douintvec_minmax(table, write, buffer, lenp, ppos);

	if (!ret && write)
		unwind_files_trim();
	return ret;
}
#endif

u8 unwind_user_realtime __read_mostly = UNWIND_REALTIME_NO_FAULTS;

struct walk_counts {
	u64	frames[UNWIND_NR_METHODS];
	u64	ends[UNWIND_NR_ENDS];
	u64	found[UNWIND_NR_FOUND];
};

static DEFINE_PER_CPU(struct walk_counts, walk_counts);

static const char * const method_names[UNWIND_NR_METHODS] = {
	[UNWIND_METHOD_FP]		= "fp",
	[UNWIND_METHOD_EH_FRAME]	= "eh_frame",
};

static const char * const found_names[UNWIND_NR_FOUND] = {
	[UNWIND_FOUND_FILE]	= "file",
	[UNWIND_FOUND_TABLES]	= "tables",
	[UNWIND_FOUND_CODE]	= "code",
};

static const char * const end_names[UNWIND_NR_ENDS] = {
	[UNWIND_END_COMPLETE]	= "complete",
	[UNWIND_END_DEPTH]	= "depth",
	[UNWIND_END_NO_RULE]	= "no_rule",
	[UNWIND_END_STOP]	= "stop",
	[UNWIND_END_FAULT]	= "fault",
	[UNWIND_END_BAD]	= "bad",
	[UNWIND_END_GAVE_UP]	= "gave_up",
};

/**
 * unwind_methods_enabled - which methods are enabled
 *
 * Context: Any.
 * Return: a bit mask by enum unwind_method.
 */
u8 unwind_methods_enabled(void)
{
	return READ_ONCE(methods_enabled);
}

/**
 * unwind_count_walk - add a walk to the statistics
 * @state: the walk
 * @end: why it ended
 *
 * Context: Task context.
 */
void unwind_count_walk(const struct unwind_user_state *state,
		       enum unwind_end end)
{
	unsigned int i;

	this_cpu_inc(walk_counts.ends[end]);
	for (i = 0; i < UNWIND_NR_METHODS; i++) {
		if (state->frames[i])
			this_cpu_add(walk_counts.frames[i], state->frames[i]);
	}
	for (i = 0; i < UNWIND_NR_FOUND; i++) {
		if (state->found[i])
			this_cpu_add(walk_counts.found[i], state->found[i]);
	}
}

static int unwind_user_show(struct seq_file *m, void *unused)
{
	struct walk_counts sum = {};
	unsigned long nr, bytes;
	unsigned int cpu, i;

	for_each_possible_cpu(cpu) {
		struct walk_counts *counts = per_cpu_ptr(&walk_counts, cpu);

		for (i = 0; i < UNWIND_NR_METHODS; i++)
			sum.frames[i] += READ_ONCE(counts->frames[i]);
		for (i = 0; i < UNWIND_NR_ENDS; i++)
			sum.ends[i] += READ_ONCE(counts->ends[i]);
		for (i = 0; i < UNWIND_NR_FOUND; i++)
			sum.found[i] += READ_ONCE(counts->found[i]);
	}
	for (i = 0; i < UNWIND_NR_METHODS; i++)
		seq_printf(m, "frames %s %llu\n", method_names[i], sum.frames[i]);
	for (i = 0; i < UNWIND_NR_ENDS; i++)
		seq_printf(m, "ends %s %llu\n", end_names[i], sum.ends[i]);
	for (i = 0; i < UNWIND_NR_FOUND; i++)
		seq_printf(m, "rules %s %llu\n", found_names[i], sum.found[i]);
	unwind_caches_stat(&nr, &bytes);
	seq_printf(m, "caches %lu\ncaches bytes %lu\n", nr, bytes);
	unwind_files_stat(&nr, &bytes);
	seq_printf(m, "files %lu\nfiles bytes %lu\n", nr, bytes);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(unwind_user);

static struct ctl_table unwind_sysctls[] = {
	{
		.procname	= "unwind_user_methods",
		.data		= &methods_enabled,
		.maxlen		= sizeof(methods_enabled),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&all_methods,
	},
	{
		.procname	= "unwind_user_realtime",
		.data		= &unwind_user_realtime,
		.maxlen		= sizeof(unwind_user_realtime),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	},
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	{
		.procname	= "unwind_user_files_max_kb",
		.data		= &unwind_files_max_kb,
		.maxlen		= sizeof(unwind_files_max_kb),
		.mode		= 0644,
		.proc_handler	= set_files_max,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&most_kb,
	},
#endif
};

static int __init unwind_control_setup(void)
{
	register_sysctl("kernel", unwind_sysctls);
	debugfs_create_file("unwind_user", 0444, NULL, NULL, &unwind_user_fops);
	return 0;
}
late_initcall(unwind_control_setup);

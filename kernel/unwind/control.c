// SPDX-License-Identifier: GPL-2.0
/*
 * The sysctls that control walks: kernel.unwind_user_methods and kernel.unwind_user_realtime.
 * Statistics of walks: <debugfs>/unwind_user.
 */

#include <linux/bits.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>
#include <linux/unwind_walk.h>

#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "cache.h"
#endif
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif
#include "unwind.h"

#define ALL_METHODS	(BIT(UNWIND_NR_METHODS) - 1)

static u8 methods_enabled __read_mostly = ALL_METHODS;
static const unsigned int all_methods = ALL_METHODS;

u8 unwind_user_realtime __read_mostly = UNWIND_REALTIME_NO_FAULTS;

/* by enum unwind_result, whose values for the end of a walk are at most 0 */
static const char * const end_names[] = {
	[-UNWIND_FOUND]	= "depth",
	[-UNWIND_NONE]	= "no_rule",
	[-UNWIND_END]	= "complete",
	[-UNWIND_STOP]	= "stop",
	[-UNWIND_FAULT]	= "fault",
	[-UNWIND_BAD]	= "bad",
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	[-UNWIND_STALE]	= "gave_up",
#endif
};

struct walk_counts {
	u64	frames[UNWIND_NR_METHODS];
	u64	ends[ARRAY_SIZE(end_names)];
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	u64	found[UNWIND_NR_FOUND];
#endif
};

static DEFINE_PER_CPU(struct walk_counts, walk_counts);

static const char * const method_names[UNWIND_NR_METHODS] = {
	[UNWIND_METHOD_FP]		= "fp",
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	[UNWIND_METHOD_EH_FRAME]	= "eh_frame",
#endif
};

#ifdef CONFIG_UNWIND_USER_EH_FRAME
static const char * const found_names[UNWIND_NR_FOUND] = {
#ifdef CONFIG_UNWIND_USER_FILES
	[UNWIND_FOUND_FILE]	= "file",
#endif
	[UNWIND_FOUND_TABLES]	= "tables",
#ifdef CONFIG_UNWIND_USER_CODE
	[UNWIND_FOUND_CODE]	= "code",
#endif
};
#endif

/* The enabled methods, a bit mask by enum unwind_method. */
u8 unwind_methods_enabled(void)
{
	return READ_ONCE(methods_enabled);
}

/* Add a walk to the statistics. */
void unwind_count_walk(const struct unwind_walk *state, enum unwind_result end)
{
	unsigned int i = -end;

	/* no other result ends a walk */
	if (WARN_ON_ONCE(i >= ARRAY_SIZE(end_names)))
		i = -UNWIND_BAD;
	this_cpu_inc(walk_counts.ends[i]);
	for (i = 0; i < UNWIND_NR_METHODS; i++) {
		if (state->frames[i])
			this_cpu_add(walk_counts.frames[i], state->frames[i]);
	}
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	for (i = 0; i < UNWIND_NR_FOUND; i++) {
		if (state->found[i])
			this_cpu_add(walk_counts.found[i], state->found[i]);
	}
#endif
}

static int unwind_user_show(struct seq_file *m, void *unused)
{
	struct walk_counts sum = {};
	unsigned int cpu, i;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	unsigned long nr, bytes;
#endif

	for_each_possible_cpu(cpu) {
		struct walk_counts *counts = per_cpu_ptr(&walk_counts, cpu);

		for (i = 0; i < UNWIND_NR_METHODS; i++)
			sum.frames[i] += READ_ONCE(counts->frames[i]);
		for (i = 0; i < ARRAY_SIZE(end_names); i++)
			sum.ends[i] += READ_ONCE(counts->ends[i]);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
		for (i = 0; i < UNWIND_NR_FOUND; i++)
			sum.found[i] += READ_ONCE(counts->found[i]);
#endif
	}
	for (i = 0; i < UNWIND_NR_METHODS; i++)
		seq_printf(m, "frames %s %llu\n", method_names[i], sum.frames[i]);
	for (i = 0; i < ARRAY_SIZE(end_names); i++)
		seq_printf(m, "ends %s %llu\n", end_names[i], sum.ends[i]);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	for (i = 0; i < UNWIND_NR_FOUND; i++)
		seq_printf(m, "rules %s %llu\n", found_names[i], sum.found[i]);
	unwind_caches_stat(&nr, &bytes);
	seq_printf(m, "caches %lu\ncaches bytes %lu\n", nr, bytes);
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	unwind_files_stat(&nr, &bytes);
	seq_printf(m, "files %lu\nfiles bytes %lu\n", nr, bytes);
#endif
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
};

static int __init unwind_control_setup(void)
{
	register_sysctl("kernel", unwind_sysctls);
	debugfs_create_file("unwind_user", 0444, NULL, NULL, &unwind_user_fops);
	return 0;
}
late_initcall(unwind_control_setup);

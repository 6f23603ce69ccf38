// SPDX-License-Identifier: GPL-2.0
/*
 * The kfunc that defers a user stack. perf's BPF program for off-CPU time calls it at the
 * end of a wait, in the sched_switch tracepoint.
 */

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/init.h>
#include <linux/string.h>

#include "callchain_deferred.h"

__bpf_kfunc_start_defs();

/**
 * bpf_perf_defer_callchain - defer the user stack of the task that is switched to
 * @task: the third argument of the sched_switch tracepoint
 *
 * This takes constant time: no locks, allocations or wake-ups.
 *
 * Return: the cookie of a PERF_RECORD_CALLCHAIN_DEFERRED that will be written
 *	   before @task returns to user space, the same for all its waits until
 *	   then; or 0 if there will be none, because no event defers, or @task has
 *	   no user stack, is exiting or in execve, is a real-time task and these are
 *	   excluded, has had too many rounds of records, or is not the next task.
 */
__bpf_kfunc u64 bpf_perf_defer_callchain(struct task_struct *task)
{
	return perf_deferred_request_next(task);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(perf_deferred_kfuncs)
BTF_ID_FLAGS(func, bpf_perf_defer_callchain, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(perf_deferred_kfuncs)

/* In other contexts @task could be running, or past its last check of the work flags. */
static int in_sched_switch_only(const struct bpf_prog *prog, u32 kfunc_id)
{
	const char *name = prog->aux->attach_func_name;

	if (!btf_id_set8_contains(&perf_deferred_kfuncs, kfunc_id))
		return 0;
	if (prog->expected_attach_type == BPF_TRACE_RAW_TP && name &&
	    !strcmp(name, "sched_switch"))
		return 0;
	return -EACCES;
}

static const struct btf_kfunc_id_set perf_deferred_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &perf_deferred_kfuncs,
	.filter	= in_sched_switch_only,
};

static int __init perf_deferred_kfunc_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING,
					 &perf_deferred_kfunc_set);
}
late_initcall(perf_deferred_kfunc_init);

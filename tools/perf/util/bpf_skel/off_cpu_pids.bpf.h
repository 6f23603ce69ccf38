/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Pids and tids in the PID namespace of perf record, which the kernel's records
 * also use.  They are 0 for a task outside that namespace.
 */
struct ns_common___inum {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace___inum {
	struct ns_common___inum ns;
} __attribute__((preserve_access_index));

struct upid___there {
	int nr;
	struct pid_namespace___inum *ns;
} __attribute__((preserve_access_index));

struct pid___numbers {
	unsigned int level;
	struct upid___there numbers[1];
} __attribute__((preserve_access_index));

#define INDEX_OF_TGID	1

struct signal_struct___pids {
	struct pid___numbers *pids[INDEX_OF_TGID + 1];
} __attribute__((preserve_access_index));

struct task_struct___pids {
	struct pid___numbers *thread_pid;
	struct signal_struct___pids *signal;
} __attribute__((preserve_access_index));

/* perf record is not in the initial PID namespace */
const volatile bool in_pid_ns;

__u32 pid_ns_level;
__u32 pid_ns_inum;

static __always_inline struct upid___there *upid_at(struct pid___numbers *pid, __u64 level)
{
	return (void *)pid + bpf_core_field_offset(pid->numbers) +
	       level * bpf_core_type_size(struct upid___there);
}

static __always_inline __u32 number_of(struct pid___numbers *pid)
{
	struct upid___there *upid = upid_at(pid, pid_ns_level);

	if (!pid || BPF_CORE_READ(pid, level) < pid_ns_level ||
	    BPF_CORE_READ(upid, ns, ns.inum) != pid_ns_inum)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	struct task_struct___pids *t = (void *)task;

	return in_pid_ns ? number_of(BPF_CORE_READ(t, thread_pid)) : task->pid;
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	struct task_struct___pids *t = (void *)task;

	return in_pid_ns ? number_of(BPF_CORE_READ(t, signal, pids[INDEX_OF_TGID])) : task->tgid;
}

/* perf record runs this once, to note its PID namespace. */
SEC("?syscall")
int note_pid_ns(void *ctx)
{
	struct task_struct___pids *t = (void *)bpf_get_current_task();
	struct pid___numbers *pid = BPF_CORE_READ(t, thread_pid);
	struct upid___there *upid;

	pid_ns_level = BPF_CORE_READ(pid, level);
	upid = upid_at(pid, pid_ns_level);
	pid_ns_inum = BPF_CORE_READ(upid, ns, ns.inum);
	return 0;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Raw BPF output that the off-CPU program sends to perf record. */
#ifndef __PERF_OFF_CPU_PAYLOAD_H
#define __PERF_OFF_CPU_PAYLOAD_H

/*
 * Room for the frames of a kernel stack. It is a power of 2, so that a mask can limit the
 * size. The program requests one frame less.
 */
#define OFF_CPU_KERNEL_ROOM	128

#define OFF_CPU_MAX_STACKS	32

/* take the CPU of the record: the wait ended there, or its CPU is not known */
#define OFF_CPU_HERE		(~0U)

enum off_cpu_kind {
	OFF_CPU_WAIT = 0x6f637774,	/* a wait that ended or was cut off */
	OFF_CPU_SUMS = 0x6f637375,	/* the sums of a thread, which are in the map */
};

/* The hash covers the stack, the state and the cgroup; 0 ends a list. */
struct off_cpu_sum_key {
	__u32 tid;
	__u32 serial;	/* different for each list of sums of a tid */
	__u64 hash;
};

struct off_cpu_sum {
	__u64 period;
	__u64 next;	/* hash of the thread's next sum */
	__u64 cgroup_id;
	__u64 nr_user;
	__u64 user[OFF_CPU_MAX_STACKS];
};

struct off_cpu_payload {
	__u32 kind;
	__u32 pid;
	struct off_cpu_sum_key key;	/* for SUMS: key of the first sum */
	__u64 period;
	__u64 cookie;			/* names the deferred user stack, or 0 */
	__u64 cgroup_id;
	__u32 cpu;
	__u16 nr_user;
	__u16 nr_kernel;
	__u64 ips[];			/* for WAIT: user frames, then kernel frames */
};

#endif /* __PERF_OFF_CPU_PAYLOAD_H */

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the program that measures waits sends to perf record as raw BPF output. */
#ifndef __PERF_OFF_CPU_PAYLOAD_H
#define __PERF_OFF_CPU_PAYLOAD_H

/* frames of a kernel stack; one more than are asked for, to bound its bytes by a mask */
#define OFF_CPU_KERNEL_ROOM	128

#define OFF_CPU_MAX_STACKS	32

/* the CPU is that of the record */
#define OFF_CPU_HERE		(~0U)

enum off_cpu_kind {
	OFF_CPU_WAIT = 0x6f637774,	/* a wait that has ended, or lasts so far */
	OFF_CPU_SUMS = 0x6f637375,	/* the sums of a thread, to be fetched from the map */
};

/* The hash is of the stack, the state and the cgroup; 0 is none. */
struct off_cpu_sum_key {
	__u32 tid;
	__u32 serial;	/* of the thread, or of its program after execve */
	__u64 hash;
};

struct off_cpu_sum {
	__u64 period;
	__u64 next;	/* the hash of the thread's next sum */
	__u64 cgroup_id;
	__u64 nr_user;
	__u64 user[OFF_CPU_MAX_STACKS];
};

struct off_cpu_payload {
	__u32 kind;
	__u32 pid;
	struct off_cpu_sum_key key;	/* of SUMS the first */
	__u64 period;
	__u64 cookie;			/* of the user stack to come, or 0 */
	__u64 cgroup_id;
	__u32 cpu;
	__u16 nr_user;
	__u16 nr_kernel;
	__u64 ips[];			/* of WAIT: the user's, then the kernel's */
};

#endif /* __PERF_OFF_CPU_PAYLOAD_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_OFF_CPU_DIRECT_H
#define __PERF_OFF_CPU_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "bpf_skel/off_cpu_payload.h"

struct evlist;
struct evsel;
struct off_cpu_bpf;
union perf_event;

/* Layout of BPF output with the attributes that the event has in the kernel. */
struct off_cpu_record {
	struct perf_event_header header;
	u64 id;
	u32 pid, tid;			/* not those of the waiting task */
	u64 time;
	u32 cpu, reserved;
	u32 raw_size;
	u8 raw[];
} __packed;

struct off_cpu_payload_room {
	struct off_cpu_payload	head;
	u64			ips[OFF_CPU_MAX_STACKS + OFF_CPU_KERNEL_ROOM];
};

/* off-cpu-unpack.c: on the way from the ring buffer to the file */
bool off_cpu_record__payload(const union perf_event *event, struct off_cpu_payload_room *to);
int off_cpu_unpack__start(struct evsel *evsel, int sums_fd);
unsigned long off_cpu_unpack__malformed(void);
unsigned long off_cpu_unpack__forgotten(void);
void off_cpu_unpack__stop(void);

/* off-cpu-direct.c: the event and the BPF program */
u64 off_cpu_clock(void);
int off_cpu_event__add(struct evlist *evlist, bool kernel_callchains);
void off_cpu_event__before_open(void);
struct evsel *off_cpu_event__after_open(int output_fd);
bool off_cpu_run__is_possible(void);
void off_cpu_run__configure(struct off_cpu_bpf *skel);
bool off_cpu_run__load(struct off_cpu_bpf *skel);
bool off_cpu_run__attach(struct off_cpu_bpf *skel);
void off_cpu_run__begin(struct off_cpu_bpf *skel, bool new_tasks);
void off_cpu_run__end(struct off_cpu_bpf *skel, struct evlist *evlist);
void off_cpu_run__report(struct off_cpu_bpf *skel);

/* bpf_off_cpu.c: reads the ring buffers as perf record does */
int off_cpu_drain(void);

#endif /* __PERF_OFF_CPU_DIRECT_H */

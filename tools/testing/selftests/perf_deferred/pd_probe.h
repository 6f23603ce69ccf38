/* SPDX-License-Identifier: GPL-2.0 */
/* Events at given places, and kernel functions. pd_attr_*() return 0 or a reported result. */
#ifndef PD_PROBE_H
#define PD_PROBE_H

#include <stdbool.h>

#include "pd_log.h"
#include "pd_ring.h"
#include "pd_uapi.h"

int pd_attr_kprobe(struct perf_event_attr *attr, const char *function);
/* An event that counts the calls of a kernel function, and takes no samples. */
int pd_attr_kprobe_counter(struct perf_event_attr *attr, const char *function);
int pd_attr_uprobe(struct perf_event_attr *attr, const void *function, bool on_return);
int pd_attr_tracepoint(struct perf_event_attr *attr, const char *system, const char *name);

/* The range of a kernel function, or zeros if it is not in /proc/kallsyms. */
struct pd_range {
	__u64 low, high;
};

struct pd_range pd_find_function(const char *name);
/* Is the function among the sample's kernel frames? */
bool pd_is_under(const struct pd_rec *sample, const struct pd_range *function);

/* Sample kernel stacks of a task and its children on @cpu, or of the task alone (-1). */
int pd_watch_open(struct pd_event *watch, struct perf_event_attr *attr, pid_t pid, int cpu);
/* Fail with "a dying task @what" if a sample was taken in unwind_deferred_exit(). */
int pd_watch_exit(struct pd_event *watch, const char *what);

/* One number from a file, or -1. */
long pd_read_long(const char *path);
int pd_write_str(const char *path, const char *text);

#endif /* PD_PROBE_H */

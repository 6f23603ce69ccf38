/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes of events that sample at one place: 0, or PD_SKIP told. */
#ifndef PD_PROBE_H
#define PD_PROBE_H

#include <stdbool.h>

#include "pd_uapi.h"

int pd_attr_kprobe(struct perf_event_attr *attr, const char *function);
int pd_attr_uprobe(struct perf_event_attr *attr, const void *function, bool on_return);
int pd_attr_tracepoint(struct perf_event_attr *attr, const char *system, const char *name);

/* One number from a file, or -1. */
long pd_read_long(const char *path);
int pd_write_str(const char *path, const char *text);

#endif /* PD_PROBE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* Open events, and read their buffers into a log. */
#ifndef PD_RING_H
#define PD_RING_H

#include <stdbool.h>
#include <sys/types.h>

#include "pd_uapi.h"

struct pd_log;

#define PD_SAMPLE_ID	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |		\
			 PERF_SAMPLE_IDENTIFIER)
#define PD_SAMPLE	(PD_SAMPLE_ID | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN)
#define PD_PAGES	256

struct pd_event {
	struct perf_event_attr attr;
	struct perf_event_mmap_page *page;
	size_t size;
	__u64 id;
	__u64 dropped;		/* lost records that are counted in a log already */
	__u64 disabled_at;	/* start of pd_disable(), by CLOCK_MONOTONIC */
	int fd;
};

bool pd_supported(void);

/* Attrs of any sampling event, of the CPU clock and of a dummy. The events start disabled. */
void pd_attr_init(struct perf_event_attr *attr);
void pd_attr_clock(struct perf_event_attr *attr, unsigned int hz);
void pd_attr_dummy(struct perf_event_attr *attr);

int pd_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	    unsigned long flags);
/* Try to open an event for this task. Return 0 or an error number. */
int pd_try_open(struct perf_event_attr *attr);
/* Check that all flags from bit @first on are refused, and that the oldest size is accepted. */
int pd_check_unknown_bits(const struct perf_event_attr *attr, int first);
int pd_check_oldest_size(struct perf_event_attr *attr);
/* Open an event; without a buffer if @pages is 0. Returns 0 or an error number. */
int pd_event_open(struct pd_event *event, const struct perf_event_attr *attr,
		  pid_t pid, int cpu, unsigned int pages);
int pd_event_open_flags(struct pd_event *event, const struct perf_event_attr *attr,
			pid_t pid, int cpu, unsigned int pages, unsigned long flags);
/* Open an event with a buffer of PD_PAGES. Returns 0, or reports a failure. */
int pd_must_open(struct pd_event *event, const struct perf_event_attr *attr,
		 pid_t pid, int cpu);
void pd_event_close(struct pd_event *event);
void pd_enable(struct pd_event *event);
void pd_disable(struct pd_event *event);
void pd_drain(struct pd_event *event, struct pd_log *log);

/* One event on every online CPU, for a task or (pid -1) for all tasks. */
struct pd_set {
	struct pd_event *events;
	int nr;
};

int pd_set_open(struct pd_set *set, const struct perf_event_attr *attr,
		pid_t pid, unsigned int pages);
int pd_set_must_open(struct pd_set *set, const struct perf_event_attr *attr, pid_t pid);
void pd_set_enable(struct pd_set *set);
void pd_set_disable(struct pd_set *set);
void pd_set_drain(struct pd_set *set, struct pd_log *log);
void pd_set_close(struct pd_set *set);

#endif /* PD_RING_H */

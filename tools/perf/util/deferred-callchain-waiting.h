/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_WAITING_H
#define __PERF_DEFERRED_CALLCHAIN_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

#include "deferred-callchain-pool.h"
#include "deferred-callchain-state.h"

struct deferred_context;
struct evsel;
struct machine;
struct perf_sample;
struct perf_tool;
struct waiting_extra;
union perf_event;

/**
 * struct waiting_sample - a deferred sample whose record was not read yet
 * @next: in &waiting_run.oldest or &waiting_run.newest
 * @run: the run it is of
 * @by_age: in &deferred_callchains.waiting
 * @event: its event, in the file or a copy
 * @evsel: event it is delivered for
 * @time: when it was taken
 * @extra: what cannot be had from the event again, or NULL
 */
struct waiting_sample {
	struct waiting_sample *next;
	struct waiting_run *run;
	struct list_head by_age;
	union perf_event *event;
	struct evsel *evsel;
	u64 time;
	struct waiting_extra *extra;
};

/**
 * struct waiting_run - successive waiting samples of a thread with much in common
 * @state: what they are resolved against
 * @tool: who gets them
 * @machine: machine they are delivered for
 * @context: the entry context they were taken in
 * @by_thread: in &deferred_thread.runs
 * @by_context: in &deferred_context.runs
 * @oldest: the samples that are delivered first, the oldest first
 * @newest: the samples behind these, the newest first
 */
struct waiting_run {
	struct deferred_state state;
	const struct perf_tool *tool;
	struct machine *machine;
	struct deferred_context *context;
	struct list_head by_thread;
	struct list_head by_context;
	struct waiting_sample *oldest;
	struct waiting_sample *newest;
};

/**
 * struct waiting_pool - memory for waiting samples
 * @samples: for &struct waiting_sample
 * @runs: for &struct waiting_run
 * @bytes: what all of them take
 */
struct waiting_pool {
	struct deferred_pool samples;
	struct deferred_pool runs;
	size_t bytes;
};

void waiting_pool__init(struct waiting_pool *pool);
void waiting_pool__exit(struct waiting_pool *pool);

struct waiting_sample *waiting_sample__new(struct waiting_pool *pool, union perf_event *event,
					   const struct perf_sample *sample, struct evsel *evsel,
					   bool event_stays);
void waiting_sample__delete(struct waiting_pool *pool, struct waiting_sample *ws);
int waiting_sample__parse(struct waiting_sample *ws, struct perf_sample *sample);
u32 waiting_sample__cpu(struct waiting_sample *ws);

struct waiting_run *waiting_run__new(struct waiting_pool *pool);
void waiting_run__delete(struct waiting_pool *pool, struct waiting_run *run);
void waiting_run__add(struct waiting_run *run, struct waiting_sample *ws);
struct waiting_sample *waiting_run__oldest(struct waiting_run *run);
struct waiting_sample *waiting_run__take(struct waiting_run *run);

static inline bool waiting_run__is_empty(const struct waiting_run *run)
{
	return !run->oldest && !run->newest;
}

static inline bool waiting_run__has_one(const struct waiting_run *run)
{
	const struct waiting_sample *ws = run->oldest ?: run->newest;

	return ws && !ws->next && (!run->oldest || !run->newest);
}

#endif /* __PERF_DEFERRED_CALLCHAIN_WAITING_H */

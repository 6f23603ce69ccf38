// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred samples that wait.  Their events stay where they are if that is a
 * file that stays mapped as a whole: all else is one cache line for each sample,
 * and no sample that waits is touched before it is delivered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-index.h"
#include "deferred-callchain-waiting.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "sample.h"

/**
 * struct waiting_extra - what cannot be had from the event of a waiting sample
 * @id: what made &waiting_sample.evsel, differs from the parsed one when a group is split
 * @period: as @id
 * @size: bytes of all this
 * @parsed: the parsed sample, if parsing the event again would go wrong
 * @event: a copy of the event, if it is gone by the time of delivery
 */
struct waiting_extra {
	u64 id;
	u64 period;
	size_t size;
	struct perf_sample *parsed;
	u64 event[];
};

/**
 * waiting_pool__init - nothing waits yet
 * @pool: the pool
 */
void waiting_pool__init(struct waiting_pool *pool)
{
	deferred_pool__init(&pool->samples, sizeof(struct waiting_sample));
	deferred_pool__init(&pool->runs, sizeof(struct waiting_run));
	pool->bytes = 0;
}

/**
 * waiting_pool__exit - free all memory
 * @pool: the pool, in which nothing waits any more
 */
void waiting_pool__exit(struct waiting_pool *pool)
{
	deferred_pool__exit(&pool->samples);
	deferred_pool__exit(&pool->runs);
}

static void *rebase(void *ptr, const void *from, size_t size, void *to)
{
	if (ptr < from || ptr >= from + size)
		return ptr;
	return to + (ptr - from);
}

/* Have a copy of a parsed sample point into the copy of its event. */
static void rebase_parsed(struct perf_sample *parsed, const struct evsel *evsel,
			  const union perf_event *event, void *copy)
{
	size_t size = event->header.size;

	parsed->callchain = rebase(parsed->callchain, event, size, copy);
	parsed->raw_data = rebase(parsed->raw_data, event, size, copy);
	parsed->branch_stack = rebase(parsed->branch_stack, event, size, copy);
	parsed->branch_stack_cntr = rebase(parsed->branch_stack_cntr, event, size, copy);
	parsed->user_regs.regs = rebase(parsed->user_regs.regs, event, size, copy);
	parsed->intr_regs.regs = rebase(parsed->intr_regs.regs, event, size, copy);
	parsed->user_stack.data = rebase(parsed->user_stack.data, event, size, copy);
	parsed->aux_sample.data = rebase(parsed->aux_sample.data, event, size, copy);
	if (evsel->core.attr.read_format & PERF_FORMAT_GROUP)
		parsed->read.group.values = rebase(parsed->read.group.values, event, size, copy);
}

static void copy_event(struct waiting_sample *ws, struct waiting_extra *extra, size_t size)
{
	memcpy(extra->event, ws->event, size);
	if (extra->parsed)
		rebase_parsed(extra->parsed, ws->evsel, ws->event, extra->event);
	ws->event = (void *)extra->event;
}

static struct waiting_extra *extra__new(const struct perf_sample *sample, bool parsed,
					size_t copied)
{
	struct waiting_extra *extra = malloc(sizeof(*extra) + copied);

	if (!extra)
		return NULL;

	extra->id = sample->id;
	extra->period = sample->period;
	extra->size = sizeof(*extra) + copied;
	extra->parsed = NULL;
	if (!parsed)
		return extra;

	extra->parsed = memdup(sample, sizeof(*sample));
	if (!extra->parsed) {
		free(extra);
		return NULL;
	}
	extra->size += sizeof(*sample);
	return extra;
}

/* Parsing swaps some fields of a foreign event in place: that is done once. */
static int keep_extra(struct waiting_sample *ws, const struct perf_sample *sample,
		      bool event_stays)
{
	const struct evsel *evsel = ws->evsel;

	ws->extra = NULL;
	if (event_stays && !evsel->needs_swap && !(evsel->core.attr.sample_type & PERF_SAMPLE_READ))
		return 0;

	ws->extra = extra__new(sample, evsel->needs_swap, event_stays ? 0 : ws->event->header.size);
	if (!ws->extra)
		return -ENOMEM;
	if (!event_stays)
		copy_event(ws, ws->extra, ws->event->header.size);
	return 0;
}

static size_t sample_size(const struct waiting_sample *ws)
{
	return sizeof(*ws) + (ws->extra ? ws->extra->size : 0);
}

/**
 * waiting_sample__new - keep a sample
 * @pool: where
 * @event: its event
 * @sample: the event, parsed
 * @evsel: event to deliver it for
 * @event_stays: is @event there until the sample is delivered?
 *
 * Return: a sample of no run, nor in the list by age, or NULL.
 */
struct waiting_sample *waiting_sample__new(struct waiting_pool *pool, union perf_event *event,
					   const struct perf_sample *sample, struct evsel *evsel,
					   bool event_stays)
{
	struct waiting_sample *ws = deferred_pool__alloc(&pool->samples);

	if (!ws)
		return NULL;

	ws->event = event;
	ws->evsel = evsel;
	ws->time = sample->time;
	if (keep_extra(ws, sample, event_stays)) {
		deferred_pool__free(&pool->samples, ws);
		return NULL;
	}
	pool->bytes += sample_size(ws);
	return ws;
}

/**
 * waiting_sample__delete - free a kept sample
 * @pool: where it is
 * @ws: the sample, in no list
 */
void waiting_sample__delete(struct waiting_pool *pool, struct waiting_sample *ws)
{
	pool->bytes -= sample_size(ws);
	if (ws->extra)
		free(ws->extra->parsed);
	free(ws->extra);
	deferred_pool__free(&pool->samples, ws);
}

/* An attr that a file or a pipe has brought meanwhile may have taken the id. */
static bool is_still(const struct waiting_sample *ws, const struct perf_sample *sample)
{
	return sample->time == ws->time && ip_callchain__is_deferred(sample->callchain);
}

/**
 * waiting_sample__parse - parse a kept sample
 * @ws: the sample
 * @sample: as it was when it was kept
 *
 * Return: 0 or a negative error code.
 */
int waiting_sample__parse(struct waiting_sample *ws, struct perf_sample *sample)
{
	struct waiting_extra *extra = ws->extra;
	int ret = 0;

	if (extra && extra->parsed)
		*sample = *extra->parsed;
	else
		ret = evlist__parse_sample(ws->evsel->evlist, ws->event, sample);
	if (!ret && !is_still(ws, sample)) {
		pr_err("A sample that waited for its callchain is of another event now: the data is damaged.\n");
		ret = -EFAULT;
	}
	if (extra) {
		sample->id = extra->id;
		sample->period = extra->period;
	}
	return ret;
}

/**
 * waiting_sample__cpu - where a kept sample was taken
 * @ws: the sample
 *
 * Return: the CPU, or -1 if not known.
 */
u32 waiting_sample__cpu(struct waiting_sample *ws)
{
	struct perf_sample sample;

	return waiting_sample__parse(ws, &sample) ? (u32)-1 : sample.cpu;
}

/* An entry context waits because of the run. */
static size_t run_size(void)
{
	return sizeof(struct waiting_run) + sizeof(struct deferred_context);
}

/**
 * waiting_run__new - make a run
 * @pool: where
 *
 * Return: a run without samples, in no list, whose other members are not set, or NULL.
 */
struct waiting_run *waiting_run__new(struct waiting_pool *pool)
{
	struct waiting_run *run = deferred_pool__alloc(&pool->runs);

	if (!run)
		return NULL;

	run->oldest = NULL;
	run->newest = NULL;
	pool->bytes += run_size();
	return run;
}

/**
 * waiting_run__delete - free a run
 * @pool: where it is
 * @run: the run, without samples, in no list
 */
void waiting_run__delete(struct waiting_pool *pool, struct waiting_run *run)
{
	pool->bytes -= run_size();
	deferred_pool__free(&pool->runs, run);
}

/**
 * waiting_run__add - add a sample
 * @run: the run
 * @ws: the sample, newer than all others in it
 */
void waiting_run__add(struct waiting_run *run, struct waiting_sample *ws)
{
	ws->run = run;
	ws->next = run->newest;
	run->newest = ws;
}

/* Each sample once, so that it costs a constant time for each. */
static void turn_around(struct waiting_run *run)
{
	while (run->newest) {
		struct waiting_sample *ws = run->newest;

		run->newest = ws->next;
		ws->next = run->oldest;
		run->oldest = ws;
	}
}

/**
 * waiting_run__oldest - the sample that must be delivered first
 * @run: a run that has samples
 *
 * Return: the sample, which stays in the run.
 */
struct waiting_sample *waiting_run__oldest(struct waiting_run *run)
{
	if (!run->oldest)
		turn_around(run);
	return run->oldest;
}

/**
 * waiting_run__take - take the sample that must be delivered first
 * @run: a run that has samples
 *
 * Return: the sample, which still knows the run.
 */
struct waiting_sample *waiting_run__take(struct waiting_run *run)
{
	struct waiting_sample *ws = waiting_run__oldest(run);

	run->oldest = ws->next;
	if (run->oldest)
		__builtin_prefetch(run->oldest->event);
	return ws;
}

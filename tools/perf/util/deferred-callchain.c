// SPDX-License-Identifier: GPL-2.0
/*
 * The stage of a session that stitches deferred user callchains.
 *
 * It stands in front of a tool's sample callback.  A deferred sample whose
 * record was already read is stitched and delivered in its turn.  Otherwise
 * it waits, and is delivered when its record is read, or without its user half
 * when no record can come any more.  No sample is dropped, and no sample is
 * stitched with anything but the record of its own machine, thread and cookie.
 *
 *   read from file ---> deferred_callchains__announce() ---> index
 *   (in any order)                                             |
 *   ordered queue  ---> deferred_callchains__tool()     <------+---> tool->sample
 *   (in time order)     deferred_callchains__record()
 *                       deferred_callchains__side_band()
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "deferred-callchain.h"
#include "deferred-callchain-index.h"
#include "deferred-callchain-lost.h"
#include "deferred-callchain-state.h"
#include "deferred-callchain-waiting.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "memswap.h"
#include "sample.h"
#include "tool.h"

/* What is kept of records whose turn has passed, over all threads. */
#define MAX_KEPT_BYTES		(16UL << 20)
/* How long a sample waits where there is no end of data. */
#define MAX_LIVE_WAIT		(5ULL * NSEC_PER_SEC)
/* The same in a pipe; a thread that sleeps writes its record when it wakes. */
#define MAX_PIPE_WAIT		(60ULL * NSEC_PER_SEC)

/* How much the clocks of two CPUs may differ: they are set anew with every tick. */
#define MAX_CLOCK_SKEW		(20ULL * NSEC_PER_MSEC)

struct deferred_callchains {
	struct deferred_index index;
	const void *file;		/* what is read, if all of it stays mapped */
	size_t file_size;
	struct waiting_pool pool;	/* memory of waiting samples */
	struct list_head waiting;	/* all waiting samples, oldest first */
	size_t ahead_bytes;		/* of copies of records that were read ahead */
	size_t limit;			/* of these, of the pool and of the states */
	bool all_read;			/* no record comes that is not in the index */
	struct deferred_states states;	/* what waiting samples rely on */
	struct deferred_losses losses;
	struct list_head kept;		/* last record of each thread, oldest first */
	size_t kept_bytes;
	u64 event_time;			/* in a live session, of the last event */
	u64 event_clock;		/* and when nothing came after it, or 0 */
	struct perf_tool proxy;		/* its sample callback is the stage */
	const struct perf_tool *tool;	/* the tool behind the proxy */
	struct ip_callchain *chain;	/* callchain of the sample under delivery */
	size_t max_chain;		/* entries that fit in it */
	struct deferred_callchain_stats stats;
};

static int stage_sample(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct evsel *evsel,
			struct machine *machine);

/**
 * deferred_callchains__new - make a stage
 *
 * Return: the stage, or NULL if there is no memory.
 */
struct deferred_callchains *deferred_callchains__new(void)
{
	struct deferred_callchains *dc = zalloc(sizeof(*dc));

	if (!dc)
		return NULL;

	deferred_index__init(&dc->index);
	deferred_states__init(&dc->states);
	waiting_pool__init(&dc->pool);
	INIT_LIST_HEAD(&dc->waiting);
	INIT_LIST_HEAD(&dc->kept);
	dc->limit = deferred_callchain_limit();
	perf_tool__init(&dc->proxy, /*ordered_events=*/true);
	dc->proxy.sample = stage_sample;
	return dc;
}

static void free_run(struct deferred_callchains *dc, struct waiting_run *run)
{
	list_del(&run->by_thread);
	list_del(&run->by_context);
	deferred_state__drop(&dc->states, &run->state);
	waiting_run__delete(&dc->pool, run);
}

static void free_waiting(struct deferred_callchains *dc, struct waiting_sample *ws)
{
	struct waiting_run *run = ws->run;

	list_del(&ws->by_age);
	waiting_sample__delete(&dc->pool, ws);
	if (waiting_run__is_empty(run))
		free_run(dc, run);
}

/**
 * deferred_callchains__map - the file to be read is mapped
 * @dc: the stage
 * @file: where it begins
 * @size: bytes that are mapped until all of them were read
 *
 * Events in there need no copies to wait.
 */
void deferred_callchains__map(struct deferred_callchains *dc, const void *file, size_t size)
{
	dc->file = file;
	dc->file_size = size;
}

static bool stays_mapped(const struct deferred_callchains *dc, const union perf_event *event)
{
	return (const void *)event >= dc->file && (const void *)event < dc->file + dc->file_size;
}

/**
 * deferred_callchains__delete - free a stage and what still waits in it
 * @dc: the stage, may be NULL
 */
void deferred_callchains__delete(struct deferred_callchains *dc)
{
	struct waiting_sample *ws;

	if (!dc)
		return;

	while (!list_empty(&dc->waiting)) {
		ws = list_first_entry(&dc->waiting, struct waiting_sample, by_age);
		free_waiting(dc, waiting_run__take(ws->run));
	}
	waiting_pool__exit(&dc->pool);
	deferred_index__exit(&dc->index);
	deferred_states__exit(&dc->states);
	deferred_losses__exit(&dc->losses);
	free(dc->chain);
	free(dc);
}

static struct ip_callchain *chain_buffer(struct deferred_callchains *dc, size_t nr)
{
	struct ip_callchain *chain;

	if (dc->chain && nr <= dc->max_chain)
		return dc->chain;

	chain = realloc(dc->chain, sizeof(*chain) + nr * sizeof(u64));
	if (!chain)
		return NULL;

	dc->chain = chain;
	dc->max_chain = nr;
	return chain;
}

/*
 * In place, the frames of both halves never exceed what the event asked for.
 * An event that did not ask gets the limit of the system it was recorded on;
 * that is the default, unless the record proves that it was higher: then nobody
 * knows how much, and all of the record is shown.
 */
static u64 user_room(const struct evsel *evsel, u64 kernel_frames, u64 user_frames)
{
	u64 limit = evsel->core.attr.sample_max_stack;

	if (!limit && user_frames > PERF_MAX_STACK_DEPTH)
		return user_frames;
	if (!limit)
		limit = PERF_MAX_STACK_DEPTH;
	return limit > kernel_frames ? limit - kernel_frames : 0;
}

/* @chain has room for PERF_CONTEXT_USER and all of @user. */
static void append_user(struct ip_callchain *chain, const struct evsel *evsel,
			const struct ip_callchain *user)
{
	u64 kernel = ip_callchain__nr_frames(chain->ips, chain->nr);
	u64 nr;
	const u64 *frames = deferred_record__frames(user, &nr);

	nr = min(nr, user_room(evsel, kernel, nr));
	if (!nr)
		return;

	chain->ips[chain->nr++] = PERF_CONTEXT_USER;
	memcpy(&chain->ips[chain->nr], frames, nr * sizeof(u64));
	chain->nr += nr;
}

/* Deliver with @user in the place of marker and cookie, or with neither. */
static int deliver(struct deferred_callchains *dc, const struct perf_tool *tool,
		   union perf_event *event, struct perf_sample *sample, struct evsel *evsel,
		   struct machine *machine, const struct ip_callchain *user, bool complete)
{
	struct ip_callchain *orig = sample->callchain;
	size_t kernel_nr = ip_callchain__kernel_nr(orig);
	struct ip_callchain *chain = chain_buffer(dc, kernel_nr + 1 + user->nr);
	int ret;

	if (!chain)
		return -ENOMEM;

	chain->nr = kernel_nr;
	memcpy(chain->ips, orig->ips, kernel_nr * sizeof(u64));
	append_user(chain, evsel, user);

	sample->callchain = chain;
	sample->deferred_callchain = !complete;
	sample->deferred_cookie = ip_callchain__cookie(orig);
	ret = tool->sample(tool, event, sample, evsel, machine);
	sample->callchain = orig;
	return ret;
}

static int deliver_stitched(struct deferred_callchains *dc, const struct perf_tool *tool,
			    union perf_event *event, struct perf_sample *sample,
			    struct evsel *evsel, struct machine *machine,
			    struct deferred_record *record)
{
	dc->stats.stitched++;
	record->used = true;
	return deliver(dc, tool, event, sample, evsel, machine, record->chain, true);
}

static int deliver_bare(struct deferred_callchains *dc, const struct perf_tool *tool,
			union perf_event *event, struct perf_sample *sample,
			struct evsel *evsel, struct machine *machine)
{
	const struct ip_callchain none = { .nr = 0 };

	return deliver(dc, tool, event, sample, evsel, machine, &none, false);
}

/* Of a sample in user space, the innermost frame is known without a record. */
static int deliver_incomplete(struct deferred_callchains *dc, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample,
			      struct evsel *evsel, struct machine *machine,
			      enum deferred_incomplete reason)
{
	const u64 leaf[] = { 1, sample->ip };

	dc->stats.incomplete[reason]++;
	if (sample->cpumode != PERF_RECORD_MISC_USER ||
	    !(evsel->core.attr.sample_type & PERF_SAMPLE_IP))
		return deliver_bare(dc, tool, event, sample, evsel, machine);
	return deliver(dc, tool, event, sample, evsel, machine, (void *)leaf, false);
}

static int deliver_waiting(struct deferred_callchains *dc, struct waiting_sample *ws,
			   struct perf_sample *sample, struct deferred_record *record,
			   enum deferred_incomplete reason)
{
	const struct waiting_run *run = ws->run;

	if (!record)
		return deliver_incomplete(dc, run->tool, ws->event, sample, ws->evsel,
					  run->machine, reason);

	dc->stats.late += run->tool->ordered_events;
	return deliver_stitched(dc, run->tool, ws->event, sample, ws->evsel, run->machine,
				record);
}

/* Deliver the oldest sample of a run with its record, or without one for @reason. */
static int release(struct deferred_callchains *dc, struct waiting_run *run,
		   struct deferred_record *record, enum deferred_incomplete reason)
{
	struct waiting_sample *ws = waiting_run__take(run);
	struct deferred_scene scene;
	struct perf_sample sample;
	int ret = waiting_sample__parse(ws, &sample);

	if (!ret)
		ret = deferred_state__present(&dc->states, &run->state, run->machine, &scene);
	if (!ret) {
		ret = deliver_waiting(dc, ws, &sample, record, reason);
		deferred_state__withdraw(&run->state, &scene);
	}
	free_waiting(dc, ws);
	return ret;
}

/* As release(), without a record, where nothing else holds the entry context. */
static int release_bare(struct deferred_callchains *dc, struct waiting_run *run,
			enum deferred_incomplete reason)
{
	struct deferred_context *context = run->context;
	int ret = release(dc, run, NULL, reason);

	deferred_index__put(&dc->index, context);
	return ret;
}

static int release_oldest(struct deferred_callchains *dc, enum deferred_incomplete reason)
{
	struct waiting_sample *ws = list_first_entry(&dc->waiting, struct waiting_sample, by_age);

	return release_bare(dc, ws->run, reason);
}

/* Copies of maps that only waiting samples need are no less theirs. */
static int enforce_limit(struct deferred_callchains *dc)
{
	int ret = 0;

	while (!ret && !list_empty(&dc->waiting) &&
	       dc->pool.bytes + dc->ahead_bytes + dc->states.bytes > dc->limit)
		ret = release_oldest(dc, DEFERRED_INCOMPLETE__LIMIT);
	return ret;
}

/*
 * A thread does not come to @cpu, for what it does next, without its record being
 * written before, there or where the sample was taken.
 */
static enum deferred_incomplete why_missing(const struct deferred_callchains *dc,
					    struct waiting_sample *ws, u32 cpu,
					    enum deferred_incomplete otherwise)
{
	if (!deferred_losses__since(&dc->losses, -1, ws->time))
		return otherwise;
	if (deferred_losses__since(&dc->losses, waiting_sample__cpu(ws), ws->time) ||
	    deferred_losses__since(&dc->losses, cpu, ws->time))
		return DEFERRED_INCOMPLETE__LOST;
	return otherwise;
}

static void forget_last(struct deferred_callchains *dc, struct deferred_thread *thread)
{
	struct deferred_record *record = thread->last;

	if (!record)
		return;

	dc->stats.orphans += !record->used;
	dc->kept_bytes -= deferred_record__size(record);
	list_del(&record->node);
	deferred_record__delete(&dc->index, record);
	thread->last = NULL;
}

/* Of the thread whose last record is the oldest. */
static void forget_oldest_last(struct deferred_callchains *dc)
{
	forget_last(dc, list_first_entry(&dc->kept, struct deferred_record, node)->thread);
}

/* In time order, no sample of its entry context comes after one of another. */
static void forget_older(struct deferred_callchains *dc, struct deferred_thread *thread,
			 u64 cookie, u64 time)
{
	if (thread->last && thread->last->cookie != cookie && thread->last->time < time)
		forget_last(dc, thread);
}

/* Tasks of PID namespaces beside perf's all go by the same number. */
static bool is_one_thread(u32 tid)
{
	return tid && tid != (u32)-1;
}

/*
 * The thread has come to another entry context, or to another program if
 * @cookie is 0.  The record of an entry context is written before that, so that
 * in time order what waits for an older one now waits in vain.
 */
static int release_older(struct deferred_callchains *dc, const struct perf_tool *tool,
			 struct deferred_thread *thread, u64 cookie,
			 const struct perf_sample *now)
{
	struct waiting_sample *ws;
	struct waiting_run *run;
	int ret = 0;

	if (!tool->ordered_events || !is_one_thread(thread->tid))
		return 0;

	forget_older(dc, thread, cookie, now->time);
	while (!ret && !list_empty(&thread->runs)) {
		run = list_first_entry(&thread->runs, struct waiting_run, by_thread);
		if (run->context->cookie == cookie)
			break;
		ws = waiting_run__oldest(run);
		if (ws->time >= now->time)
			break;
		ret = release_bare(dc, run, why_missing(dc, ws, now->cpu,
							DEFERRED_INCOMPLETE__NO_RECORD));
	}
	return ret;
}

static int release_stitched(struct deferred_callchains *dc, struct deferred_context *context,
			    struct deferred_record *record)
{
	int ret = 0;

	while (!ret && !list_empty(&context->runs)) {
		struct waiting_run *run = list_first_entry(&context->runs, struct waiting_run,
							   by_context);

		ret = release(dc, run, record, DEFERRED_INCOMPLETE__MAX);
	}
	return ret;
}

/* A tool that does not keep threads can resolve nothing against them. */
static bool tool_follows_threads(const struct deferred_callchains *dc,
				 const struct perf_tool *tool)
{
	return tool->comm != dc->proxy.comm || tool->mmap2 != dc->proxy.mmap2;
}

/* The run that a sample can be added to, if there is one. */
static struct waiting_run *find_run(struct deferred_callchains *dc, const struct perf_tool *tool,
				    struct deferred_thread *thread, u64 cookie,
				    const struct perf_sample *sample, struct machine *machine)
{
	struct waiting_run *run;

	if (list_empty(&thread->runs))
		return NULL;

	run = list_last_entry(&thread->runs, struct waiting_run, by_thread);
	if (run->context->cookie != cookie || run->tool != tool || run->machine != machine ||
	    !deferred_state__holds(&dc->states, &run->state, machine, sample))
		return NULL;
	return run;
}

static struct waiting_run *new_run(struct deferred_callchains *dc, const struct perf_tool *tool,
				   struct deferred_thread *thread, u64 cookie,
				   const struct perf_sample *sample, struct machine *machine)
{
	struct deferred_context *context = deferred_index__findnew(&dc->index, thread, cookie);
	struct machine *followed = tool_follows_threads(dc, tool) ? machine : NULL;
	struct waiting_run *run = context ? waiting_run__new(&dc->pool) : NULL;

	if (!run)
		return NULL;

	if (deferred_state__take_down(&dc->states, &run->state, followed, sample)) {
		waiting_run__delete(&dc->pool, run);
		return NULL;
	}
	run->tool = tool;
	run->machine = machine;
	run->context = context;
	list_add_tail(&run->by_thread, &thread->runs);
	list_add_tail(&run->by_context, &context->runs);
	return run;
}

static int wait_for_record(struct deferred_callchains *dc, const struct perf_tool *tool,
			   union perf_event *event, struct perf_sample *sample,
			   struct evsel *evsel, struct machine *machine,
			   struct deferred_thread *thread)
{
	u64 cookie = ip_callchain__cookie(sample->callchain);
	struct waiting_run *run = find_run(dc, tool, thread, cookie, sample, machine);
	struct waiting_sample *ws;

	if (!run)
		run = new_run(dc, tool, thread, cookie, sample, machine);
	if (!run)
		return -ENOMEM;

	ws = waiting_sample__new(&dc->pool, event, sample, evsel, stays_mapped(dc, event));
	if (!ws) {
		if (waiting_run__is_empty(run))
			free_run(dc, run);
		return -ENOMEM;
	}
	waiting_run__add(run, ws);
	list_add_tail(&ws->by_age, &dc->waiting);
	deferred_states__earn(&dc->states);
	return enforce_limit(dc);
}

/*
 * A thread has one entry context after the other.  If a whole one with another record
 * lies between a sample at @time and the next record with the cookie of the sample,
 * then that is of a later entry context for which the cookie came up again, and the one
 * of the sample was lost.  An entry context with samples before this one does not lie
 * between.  As the clocks of two CPUs may differ, what is near in time counts only on
 * one CPU; so soon, a cookie does not come up again.
 */
static bool tells_apart(const struct deferred_record *other, u64 time, u32 cpu)
{
	if (other->used)
		return false;
	return other->time - time > MAX_CLOCK_SKEW || (other->cpu == cpu && cpu != (u32)-1);
}

static bool record_was_lost(struct deferred_context *context, const struct perf_sample *sample)
{
	const struct deferred_record *other;

	if (!is_one_thread(context->thread->tid))
		return false;
	other = deferred_context__record_between(context, sample->time);
	return other && tells_apart(other, sample->time, sample->cpu);
}

/* The record that was read and whose turn is still to come. */
static struct deferred_record *coming_record(struct deferred_callchains *dc,
					     struct deferred_thread *thread, u64 cookie,
					     const struct perf_sample *sample)
{
	struct deferred_context *context = deferred_index__find(&dc->index, thread, cookie);
	struct deferred_record *next = context ? deferred_context__next_record(context) : NULL;

	if (next && deferred_thread__lives_at(thread, next->time) &&
	    !record_was_lost(context, sample))
		return next;
	return NULL;
}

/*
 * The record for a sample whose turn has come: the next one that was read, or
 * else the last one whose turn has passed.  A cookie names one entry context,
 * so that any record with it will do; the next is the right one even where a
 * cookie comes up again, and is waited for where there was no room for it.
 */
static struct deferred_record *find_record(struct deferred_callchains *dc,
					   struct deferred_thread *thread, u64 cookie,
					   const struct perf_sample *sample)
{
	struct deferred_record *next = coming_record(dc, thread, cookie, sample);

	if (next)
		return next->chain ? next : NULL;
	if (thread->last && thread->last->cookie == cookie)
		return thread->last;
	return NULL;
}

static int merge_sample(struct deferred_callchains *dc, const struct perf_tool *tool,
			union perf_event *event, struct perf_sample *sample,
			struct evsel *evsel, struct machine *machine)
{
	u64 cookie = ip_callchain__cookie(sample->callchain);
	struct deferred_thread *thread;
	struct deferred_record *record;
	int ret;

	if (!cookie)
		return deliver_incomplete(dc, tool, event, sample, evsel, machine,
					  DEFERRED_INCOMPLETE__COOKIE);

	thread = deferred_index__findnew_thread(&dc->index, deferred_index__machine_pid(sample),
						sample->tid);
	if (!thread)
		return -ENOMEM;

	ret = release_older(dc, tool, thread, cookie, sample);
	if (ret)
		return ret;

	record = find_record(dc, thread, cookie, sample);
	if (record)
		return deliver_stitched(dc, tool, event, sample, evsel, machine, record);

	if (!tool->never_wait_for_deferred && !tool->read_ahead_for_deferred)
		return wait_for_record(dc, tool, event, sample, evsel, machine, thread);
	if (dc->all_read && !coming_record(dc, thread, cookie, sample))
		return deliver_incomplete(dc, tool, event, sample, evsel, machine,
					  DEFERRED_INCOMPLETE__ABSENT);
	if (tool->never_wait_for_deferred)
		return deliver_incomplete(dc, tool, event, sample, evsel, machine,
					  DEFERRED_INCOMPLETE__IN_TURN);
	return wait_for_record(dc, tool, event, sample, evsel, machine, thread);
}

static int stage_sample(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct evsel *evsel,
			struct machine *machine)
{
	struct deferred_callchains *dc = container_of(tool, struct deferred_callchains, proxy);

	dc->stats.samples++;
	sample->deferred_unmerged = !dc->tool->merge_deferred_callchains;
	if (sample->deferred_unmerged)
		return deliver_bare(dc, dc->tool, event, sample, evsel, machine);
	return merge_sample(dc, dc->tool, event, sample, evsel, machine);
}

/**
 * deferred_callchains__tool - put the stage in front of a tool
 * @dc: the stage
 * @tool: the tool that the sample is for
 * @sample: the sample
 *
 * Return: the tool to deliver @sample to.  Only its sample callback does something;
 * it is @tool itself for a sample that is not deferred.
 */
const struct perf_tool *deferred_callchains__tool(struct deferred_callchains *dc,
						  const struct perf_tool *tool,
						  const struct perf_sample *sample)
{
	if (!ip_callchain__is_deferred(sample->callchain))
		return tool;

	dc->tool = tool;
	dc->proxy.dont_split_sample_group = tool->dont_split_sample_group;
	return &dc->proxy;
}

static struct deferred_record *keep_record(struct deferred_callchains *dc, union perf_event *event,
					   const struct ip_callchain *chain,
					   const struct perf_sample *sample)
{
	return deferred_record__new(&dc->index, event->callchain_deferred.cookie, sample, chain,
				    stays_mapped(dc, event));
}

/*
 * Copies of records that were read ahead take half of the limit at the most, lest
 * they drive out all waiting samples.  Beyond that only the place of a record is
 * kept, which takes about as much as its place in the ordered queue does.  So does
 * the end of a thread, and a record in a file that stays mapped.
 */
static struct deferred_record *keep_ahead(struct deferred_callchains *dc, struct evlist *evlist,
					  union perf_event *event,
					  const struct perf_sample *sample)
{
	const struct ip_callchain *chain = deferred_record__callchain(evlist, event);
	struct deferred_record *record;

	if (!chain)
		return NULL;

	if (!stays_mapped(dc, event) && dc->ahead_bytes + event->header.size > dc->limit / 2)
		chain = NULL;
	record = keep_record(dc, event, chain, sample);
	if (record && record->copy)
		dc->ahead_bytes += deferred_record__size(record);
	return record;
}

static void free_ahead(struct deferred_callchains *dc, struct deferred_record *record)
{
	if (record->copy)
		dc->ahead_bytes -= deferred_record__size(record);
	deferred_record__delete(&dc->index, record);
}

/*
 * Does an exit or a fork say that a thread is no more?  One may be synthesized for a
 * thread that was there before, whatever happened to it since.
 */
static bool ends_former_life(const union perf_event *event)
{
	return is_one_thread(event->fork.tid) &&
	       (event->header.type == PERF_RECORD_EXIT ||
		!(event->header.misc & PERF_RECORD_MISC_FORK_EXEC));
}

/* So that no sample takes a record of a later thread with the same tid. */
static int announce_end(struct deferred_callchains *dc, struct evlist *evlist,
			union perf_event *event)
{
	struct deferred_thread *thread;
	struct perf_sample sample;

	if (!evlist__has_deferred_callchains(evlist) || !ends_former_life(event) ||
	    evlist__parse_sample(evlist, event, &sample))
		return 0;

	thread = deferred_index__findnew_thread(&dc->index, deferred_index__machine_pid(&sample),
						event->fork.tid);
	return thread ? deferred_thread__add_exit(thread, sample.time) : -ENOMEM;
}

/* As record_was_lost(), of the oldest sample that waits in @context. */
static bool waits_for_lost(struct deferred_context *context)
{
	const struct deferred_record *other;
	struct waiting_sample *ws;

	if (list_empty(&context->runs) || !is_one_thread(context->thread->tid))
		return false;

	ws = waiting_run__oldest(list_first_entry(&context->runs, struct waiting_run,
						  by_context));
	other = deferred_context__record_between(context, ws->time);
	return other && tells_apart(other, ws->time, waiting_sample__cpu(ws));
}

static int announce_record(struct deferred_callchains *dc, struct evlist *evlist,
			   union perf_event *event)
{
	struct deferred_context *context;
	struct deferred_thread *thread;
	struct deferred_record *record;
	struct perf_sample sample;

	if (evlist__parse_sample(evlist, event, &sample))
		return 0;

	record = keep_ahead(dc, evlist, event, &sample);
	if (!record)
		return 0;

	thread = deferred_index__findnew_thread(&dc->index, deferred_index__machine_pid(&sample),
						sample.tid);
	context = thread ? deferred_index__findnew(&dc->index, thread, record->cookie) : NULL;
	if (!context) {
		free_ahead(dc, record);
		return -ENOMEM;
	}

	deferred_context__add_record(context, record);
	if (!record->chain)
		return 0;
	if (deferred_thread__lives_at(thread, record->time) && !waits_for_lost(context)) {
		int ret = release_stitched(dc, context, record);

		if (ret)
			return ret;
	}
	return enforce_limit(dc);
}

/* It never has its turn, when other events are dumped. */
static void dump_short_record(struct evlist *evlist, union perf_event *event)
{
	if (!dump_trace)
		return;

	trace_event(event);
	printf(" PERF_RECORD_CALLCHAIN_DEFERRED");
	deferred_record__fprintf(evlist, event, NULL, stdout);
}

/**
 * deferred_callchains__announce - an event was read, its turn comes later
 * @dc: the stage
 * @tool: the tool of the session
 * @evlist: the events of the session
 * @event: any event; only deferred records and ends of threads are looked at
 *
 * Samples that wait for a record are delivered when it is read: their turn has
 * passed, and now is closer to it than the turn of the record.  Only what waits for
 * a record that was lost has to wait until the next one has its turn.  A bad record
 * is left for deferred_callchains__record() to count, unless it is too short
 * to be parsed.
 *
 * Return: 0, a positive number if the event must be skipped, or what the tool
 * returned.
 */
int deferred_callchains__announce(struct deferred_callchains *dc, const struct perf_tool *tool,
				  struct evlist *evlist, union perf_event *event)
{
	if (deferred_record__too_short(evlist, event)) {
		dump_short_record(evlist, event);
		dc->stats.records++;
		dc->stats.malformed++;
		return 1;
	}
	if (!tool->merge_deferred_callchains || !tool->ordered_events)
		return 0;

	switch (event->header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return announce_end(dc, evlist, event);
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return announce_record(dc, evlist, event);
	default:
		return 0;
	}
}

static void trim_kept(struct deferred_callchains *dc)
{
	while (dc->kept_bytes > MAX_KEPT_BYTES)
		forget_oldest_last(dc);
}

static void keep_last(struct deferred_callchains *dc, struct deferred_thread *thread,
		      struct deferred_record *record)
{
	if (thread->last && thread->last->cookie == record->cookie) {
		dc->stats.duplicates++;
		record->used |= thread->last->used;
		thread->last->used = true;
	}

	forget_last(dc, thread);
	thread->last = record;
	record->thread = thread;
	list_add_tail(&record->node, &dc->kept);
	dc->kept_bytes += deferred_record__size(record);
	trim_kept(dc);
}

/* What is kept since the record was announced, or if it is a stub, what is kept now. */
static struct deferred_record *take_record(struct deferred_callchains *dc,
					   struct deferred_context *context,
					   union perf_event *event,
					   const struct ip_callchain *chain,
					   const struct perf_sample *sample)
{
	struct deferred_record *record = context ? deferred_context__take_record(context) : NULL;

	if (record && record->chain) {
		if (record->copy)
			dc->ahead_bytes -= deferred_record__size(record);
		return record;
	}
	if (record)
		deferred_record__delete(&dc->index, record);
	return keep_record(dc, event, chain, sample);
}

static int merge_record(struct deferred_callchains *dc, const struct perf_tool *tool,
			struct evlist *evlist, union perf_event *event,
			struct perf_sample *sample)
{
	const struct ip_callchain *chain = deferred_record__callchain(evlist, event);
	struct deferred_context *context;
	struct deferred_thread *thread;
	struct deferred_record *record;
	int ret;

	if (!chain) {
		dc->stats.malformed++;
		return 0;
	}

	thread = deferred_index__findnew_thread(&dc->index, deferred_index__machine_pid(sample),
						sample->tid);
	if (!thread)
		return -ENOMEM;

	ret = release_older(dc, tool, thread, event->callchain_deferred.cookie, sample);
	if (ret)
		return ret;

	context = deferred_index__find(&dc->index, thread, event->callchain_deferred.cookie);
	record = take_record(dc, context, event, chain, sample);
	if (!record)
		return -ENOMEM;

	if (context) {
		ret = release_stitched(dc, context, record);
		deferred_index__put(&dc->index, context);
	}
	keep_last(dc, thread, record);
	return ret;
}

/**
 * deferred_callchains__record - the turn of a deferred record has come
 * @dc: the stage
 * @tool: the tool; gets the record itself if it does not merge
 * @evlist: the events of the session
 * @event: the record
 * @sample: its parsed sample_id
 * @machine: its machine, may be NULL
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__record(struct deferred_callchains *dc, const struct perf_tool *tool,
				struct evlist *evlist, union perf_event *event,
				struct perf_sample *sample, struct machine *machine)
{
	dc->stats.records++;
	if (tool->merge_deferred_callchains)
		return merge_record(dc, tool, evlist, event, sample);
	if (tool->callchain_deferred)
		return tool->callchain_deferred(tool, event, sample, machine);
	return 0;
}

static int release_ended(struct deferred_callchains *dc, struct deferred_thread *thread, u32 cpu)
{
	struct waiting_sample *ws;
	struct waiting_run *run;
	int ret = 0;

	while (!ret && !list_empty(&thread->runs)) {
		run = list_first_entry(&thread->runs, struct waiting_run, by_thread);
		ws = waiting_run__oldest(run);
		ret = release_bare(dc, run, why_missing(dc, ws, cpu, DEFERRED_INCOMPLETE__EXIT));
	}
	return ret;
}

/**
 * deferred_callchains__exit - the turn of the end of a thread has come
 * @dc: the stage
 * @tool: the tool of the session
 * @event: its PERF_RECORD_EXIT, or a PERF_RECORD_FORK that uses its tid again
 * @sample: its parsed sample_id
 *
 * A thread writes its last deferred record before it exits.  If events are in
 * time order, what still waits then waits in vain.
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__exit(struct deferred_callchains *dc, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample)
{
	u32 machine_pid = deferred_index__machine_pid(sample);
	struct deferred_context *context, *tmp;
	struct deferred_thread *thread;
	int ret;

	if (!tool->ordered_events || !ends_former_life(event))
		return 0;

	thread = deferred_index__find_thread(&dc->index, machine_pid, event->fork.tid);
	if (!thread)
		return 0;

	ret = release_ended(dc, thread, sample->cpu);
	list_for_each_entry_safe(context, tmp, &thread->contexts, node)
		deferred_index__put(&dc->index, context);
	forget_last(dc, thread);
	deferred_thread__take_exit(thread);
	deferred_index__put_thread(&dc->index, thread);
	return ret;
}

/**
 * deferred_callchains__exec - the turn of a PERF_RECORD_COMM has come
 * @dc: the stage
 * @tool: the tool of the session
 * @event: the comm event
 * @sample: its parsed sample_id
 *
 * The callchains of a program are written before the thread executes another.
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__exec(struct deferred_callchains *dc, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample)
{
	struct deferred_thread *thread;

	if (!(event->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;

	thread = deferred_index__find_thread(&dc->index, deferred_index__machine_pid(sample),
					     event->comm.tid);
	return thread ? release_older(dc, tool, thread, 0, sample) : 0;
}

static int release_run(struct deferred_callchains *dc, struct waiting_run *run)
{
	bool last;
	int ret;

	do {
		last = waiting_run__has_one(run);
		ret = release_bare(dc, run, DEFERRED_INCOMPLETE__LIMIT);
	} while (!ret && !last);
	return ret;
}

/* Samples that the maps cannot be kept for are delivered while they are right. */
static int freeze_maps(struct deferred_callchains *dc, struct machine *machine, pid_t tid)
{
	struct deferred_state *state;
	int ret = 0;

	while (!ret && (state = deferred_states__freeze(&dc->states, machine, tid)))
		ret = release_run(dc, container_of(state, struct waiting_run, state));
	return ret;
}

/* Of a thread that is new, the maps are those of its process. */
static int freeze_process(struct deferred_callchains *dc, struct machine *machine, pid_t pid,
			  pid_t tid)
{
	int ret;

	if (!machine || list_empty(&dc->waiting))
		return 0;

	ret = freeze_maps(dc, machine, tid);
	if (!ret && pid != tid)
		ret = freeze_maps(dc, machine, pid);
	return ret ?: enforce_limit(dc);
}

static int process_fork(struct deferred_callchains *dc, const struct perf_tool *tool,
			union perf_event *event, struct perf_sample *sample,
			struct machine *machine)
{
	int ret = deferred_callchains__exit(dc, tool, event, sample);

	return ret ?: freeze_process(dc, machine, event->fork.pid, event->fork.tid);
}

static int note_loss(struct deferred_callchains *dc, const struct perf_tool *tool,
		     const struct perf_sample *sample)
{
	if (tool->ordered_events)
		deferred_losses__add(&dc->losses, sample->cpu, sample->time);
	return 0;
}

/* Of events that change threads, before they do. */
static int prepare_change(struct deferred_callchains *dc, const struct perf_tool *tool,
			  union perf_event *event, struct perf_sample *sample,
			  struct machine *machine)
{
	switch (event->header.type) {
	case PERF_RECORD_MMAP:
		return freeze_process(dc, machine, event->mmap.pid, event->mmap.tid);
	case PERF_RECORD_MMAP2:
		return freeze_process(dc, machine, event->mmap2.pid, event->mmap2.tid);
	case PERF_RECORD_COMM:
		return deferred_callchains__exec(dc, tool, event, sample);
	case PERF_RECORD_FORK:
		return process_fork(dc, tool, event, sample, machine);
	case PERF_RECORD_EXIT:
		return deferred_callchains__exit(dc, tool, event, sample);
	default:
		return 0;
	}
}

/**
 * deferred_callchains__side_band - the turn of an event has come
 * @dc: the stage
 * @tool: the tool of the session
 * @event: any event but a sample and a deferred record
 * @sample: its parsed sample_id
 * @machine: its machine, may be NULL
 *
 * To be called before the event has an effect on the machine: samples that wait
 * in vain from now on are delivered, and for others the state is kept that is
 * about to change.
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__side_band(struct deferred_callchains *dc, const struct perf_tool *tool,
				   union perf_event *event, struct perf_sample *sample,
				   struct machine *machine)
{
	int ret;

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_CALLCHAIN_DEFERRED:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return 0;
	case PERF_RECORD_LOST:
		return note_loss(dc, tool, sample);
	default:
		ret = prepare_change(dc, tool, event, sample, machine);
		/* What is delivered up to here still finds threads unchanged. */
		deferred_states__change(&dc->states);
		return ret;
	}
}

static int release_older_than(struct deferred_callchains *dc, u64 now, u64 age)
{
	struct waiting_sample *ws;
	int ret = 0;

	if (now == -1ULL)
		return 0;

	while (!ret && !list_empty(&dc->waiting)) {
		ws = list_first_entry(&dc->waiting, struct waiting_sample, by_age);
		if (ws->time + age >= now)
			break;
		ret = release_oldest(dc, DEFERRED_INCOMPLETE__EXPIRED);
	}
	return ret;
}

/**
 * deferred_callchains__expire - do not let live samples wait for ever
 * @dc: the stage
 * @now: the turn of which time has come
 *
 * Samples that have waited for too long are delivered without their user half.
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__expire(struct deferred_callchains *dc, u64 now)
{
	if (now != -1ULL) {
		dc->event_time = now;
		dc->event_clock = 0;
	}
	return release_older_than(dc, now, MAX_LIVE_WAIT);
}

/**
 * deferred_callchains__idle - as expire, while no event comes
 * @dc: the stage
 * @clock: a time of any clock that goes on in nanoseconds
 *
 * The clock of the events is unknown.  As much time has passed on it since the last
 * one as on @clock, since the first call after that.
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__idle(struct deferred_callchains *dc, u64 clock)
{
	if (list_empty(&dc->waiting))
		return 0;

	if (!dc->event_clock)
		dc->event_clock = clock;
	return release_older_than(dc, dc->event_time + (clock - dc->event_clock), MAX_LIVE_WAIT);
}

/**
 * deferred_callchains__round - as expire, for a pipe that may be live
 * @dc: the stage
 * @now: the turn of which time has come
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__round(struct deferred_callchains *dc, u64 now)
{
	return release_older_than(dc, now, MAX_PIPE_WAIT);
}

/**
 * deferred_callchains__all_read - no event is to come that was not announced
 * @dc: the stage
 *
 * Events may be delivered after this.
 */
void deferred_callchains__all_read(struct deferred_callchains *dc)
{
	dc->all_read = true;
}

/**
 * deferred_callchains__flush - no more data: deliver all that waits
 * @dc: the stage
 *
 * Return: 0 or what the tool returned.
 */
int deferred_callchains__flush(struct deferred_callchains *dc)
{
	int ret = 0;

	while (!ret && !list_empty(&dc->waiting))
		ret = release_oldest(dc, DEFERRED_INCOMPLETE__END);
	while (!list_empty(&dc->kept))
		forget_oldest_last(dc);
	dc->all_read = false;
	return ret;
}

/**
 * deferred_callchains__is_far_ahead - should the turn of records come soon?
 * @dc: the stage
 *
 * Return: true if what waits takes so much that copies of records of a few more
 * rounds would find no room, or if records that are not copied take too much.
 */
bool deferred_callchains__is_far_ahead(const struct deferred_callchains *dc)
{
	return dc->pool.bytes + dc->ahead_bytes + dc->states.bytes > dc->limit / 4 ||
	       deferred_index__bytes(&dc->index) > dc->limit;
}

/**
 * deferred_callchains__stats - what happened to deferred samples so far
 * @dc: the stage
 *
 * Return: the counts.
 */
const struct deferred_callchain_stats *
deferred_callchains__stats(const struct deferred_callchains *dc)
{
	return &dc->stats;
}

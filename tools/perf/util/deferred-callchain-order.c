// SPDX-License-Identifier: GPL-2.0
/*
 * For tools that follow state from one sample to the next, or that write what
 * is to be in order: no sample may come late, and the record of a thread that
 * sleeps is written when it wakes.  Keep events in the ordered queue until what
 * follows them has been read, so that every record is at hand when its sample
 * has its turn.
 */
#include <linux/kernel.h>
#include <linux/time64.h>

#include "data.h"
#include "deferred-callchain.h"
#include "evlist.h"
#include "evsel.h"
#include "ordered-events.h"
#include "session.h"
#include "tool.h"

/* What the queue may hold; 48 bytes each, and their records, read ahead. */
#define MAX_HELD_EVENTS		(4U << 20)
/* A pipe need not end: what its events wait for records of threads that sleep. */
#define MAX_PIPE_HOLD		(60ULL * NSEC_PER_SEC)

/* What has no time is delivered when it is read, and must find what was mapped by then. */
static bool has_times(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME))
			return false;
	}
	return true;
}

static bool wants_order(const struct perf_session *session)
{
	const struct perf_tool *tool = session->tool;

	if (!tool->never_wait_for_deferred &&
	    (!tool->read_ahead_for_deferred || perf_data__is_pipe(session->data)))
		return false;
	return tool->merge_deferred_callchains && tool->ordered_events &&
	       evlist__has_deferred_callchains(session->evlist) && has_times(session->evlist);
}

/**
 * perf_session__hold_round - keep a round in the queue for deferred records
 * @session: the session, which has come to a PERF_RECORD_FINISHED_ROUND
 *
 * In a file, events are held to the end of the data; in a pipe, until events
 * that are a minute younger were read.  If too many are held, or their records
 * take too much, the round has its normal turn, and samples whose record comes
 * later miss their user half, or come late where a tool takes them late.
 *
 * Return: 1 if the round is held, 0 if it must have its turn, or what the tool
 * returned for the events that a pipe need not hold any longer.
 */
int perf_session__hold_round(struct perf_session *session)
{
	struct ordered_events *oe = &session->ordered_events;
	int ret = 0;

	if (!wants_order(session) || oe->nr_events > MAX_HELD_EVENTS ||
	    deferred_callchains__is_far_ahead(session->deferred))
		return 0;

	if (perf_data__is_pipe(session->data) && oe->max_timestamp > MAX_PIPE_HOLD)
		ret = ordered_events__flush_time(oe, oe->max_timestamp - MAX_PIPE_HOLD);
	return ret ?: 1;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the perf tools of the base kernels.
 */
#ifndef __PERF_DEFERRED_CALLCHAIN_COMPAT_H
#define __PERF_DEFERRED_CALLCHAIN_COMPAT_H

#include <string.h>
#include <linux/perf_event.h>

#include "callchain.h"
#include "debug.h"
#include "evlist.h"
#include "sample.h"
#include "session.h"
#include "tool.h"

#ifdef PERF_ATTR_SIZE_VER9	/* Linux 7.3 */

/* callbacks for samples: parameters, the event of the sample, and how to call another one */
#define SAMPLE_PARAMS							\
	const struct perf_tool *tool __maybe_unused,			\
	union perf_event *event __maybe_unused, struct perf_sample *sample, \
	struct machine *machine __maybe_unused
#define SAMPLE_EVSEL	(sample->evsel)

static inline int call_sample(event_sample callback, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample,
			      struct evsel *evsel __maybe_unused, struct machine *machine)
{
	return callback(tool, event, sample, machine);
}

static inline int resolve_callchain(struct perf_sample *sample, struct callchain_cursor *cursor,
				    struct evsel *evsel __maybe_unused, struct addr_location *al)
{
	return sample__resolve_callchain(sample, cursor, NULL, al, PERF_MAX_STACK_DEPTH);
}

/* a callback of zstd_compress_stream_to_records() */
static inline ssize_t pack_header(void *record, size_t space __maybe_unused, size_t more)
{
	struct perf_record_compressed2 *packed = record;
	size_t padding = -more % sizeof(u64);

	if (!more) {
		packed->header = (struct perf_event_header){ .type = PERF_RECORD_COMPRESSED2,
							     .size = sizeof(*packed) };
		return sizeof(*packed);
	}
	packed->data_size = more;
	packed->header.size += more + padding;
	memset(record + sizeof(*packed) + more, 0, padding);
	return padding;
}

static inline bool is_compressed(u32 type)
{
	return type == PERF_RECORD_COMPRESSED || type == PERF_RECORD_COMPRESSED2;
}

/* does the reader skip events of types that it does not know? */
#define SKIPS_UNKNOWN	true

static inline bool perf_event__fits(const union perf_event *event, bool swapped __maybe_unused)
{
	return !perf_event__too_small(event, NULL);
}

/* session.c reports it with the offset of the event */
static inline void report_unparsed(int err __maybe_unused)
{
}

#else

#include "event-layout.h"

#define SAMPLE_PARAMS							\
	const struct perf_tool *tool __maybe_unused,			\
	union perf_event *event __maybe_unused, struct perf_sample *sample, \
	struct evsel *evsel __maybe_unused, struct machine *machine __maybe_unused
#define SAMPLE_EVSEL	evsel

static inline int call_sample(event_sample callback, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample,
			      struct evsel *evsel, struct machine *machine)
{
	return callback(tool, event, sample, evsel, machine);
}

static inline int resolve_callchain(struct perf_sample *sample, struct callchain_cursor *cursor,
				    struct evsel *evsel, struct addr_location *al)
{
	return sample__resolve_callchain(sample, cursor, NULL, evsel, al, PERF_MAX_STACK_DEPTH);
}

static inline size_t pack_header(void *record, size_t more)
{
	struct perf_event_header *header = record;

	if (!more) {
		*header = (struct perf_event_header){ .type = PERF_RECORD_COMPRESSED };
		more = sizeof(*header);
	}
	header->size += more;
	return more;
}

static inline bool is_compressed(u32 type)
{
	return type == PERF_RECORD_COMPRESSED;
}

#define SKIPS_UNKNOWN	false

static inline struct events_stats *evlist__stats(struct evlist *evlist)
{
	return &evlist->stats;
}

static inline int evlist__nr_entries(const struct evlist *evlist)
{
	return evlist->core.nr_entries;
}

static inline void perf_sample__init(struct perf_sample *sample __maybe_unused,
				     bool all __maybe_unused)
{
}

static inline void perf_sample__exit(struct perf_sample *sample __maybe_unused)
{
}

static inline void report_unparsed(int err)
{
	pr_err("Can't parse sample, err = %d\n", err);
}

#endif

/* Parse a sample of which only numbers are used, no pointers. */
static inline int parse_numbers(struct evlist *evlist, union perf_event *event,
				struct perf_sample *sample)
{
	int ret;

	perf_sample__init(sample, /*all=*/false);
	ret = evlist__parse_sample(evlist, event, sample);
	perf_sample__exit(sample);
	return ret;
}

#endif /* __PERF_DEFERRED_CALLCHAIN_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_INJECT_H
#define __PERF_DEFERRED_CALLCHAIN_INJECT_H

#include <stdbool.h>
#include <linux/types.h>

#include "header.h"
#include "synthetic-events.h"

struct feat_writer;
struct perf_sample;
struct perf_session;
struct perf_tool;
union perf_event;

/* State of perf inject --merge-callchains. If @enabled is not set, nothing else is used. */
struct deferred_merge {
	bool enabled;				/* the option was given */
	bool to_file;				/* the output is a file; its header comes last */
	struct perf_session *session;		/* the session that is rewritten */
	const struct perf_tool *tool;		/* the tool that rewrites it */
	perf_event__handler_t process;		/* writes a build id event */
	union perf_event *copy;			/* the rewritten event */
	union perf_event *feats[HEADER_LAST_FEATURE]; /* feature events for the header */
	u64 cut_samples;			/* samples cut to the size of an event */
	u64 cut_frames;				/* frames dropped from these samples */
};

int deferred_merge__start(struct deferred_merge *merge, struct perf_tool *tool,
			  struct perf_session *session, bool to_file);
void deferred_merge__finish(struct deferred_merge *merge);
void deferred_merge__exit(struct deferred_merge *merge);
int deferred_merge__copy_feat(const struct deferred_merge *merge, int feat,
			      struct feat_writer *writer);
int deferred_merge__build_ids(struct deferred_merge *merge, perf_event__handler_t process);
union perf_event *deferred_merge__event(struct deferred_merge *merge, union perf_event *event);
union perf_event *deferred_merge__sample(struct deferred_merge *merge, union perf_event *event,
					 const struct perf_sample *sample);

#endif /* __PERF_DEFERRED_CALLCHAIN_INJECT_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_INJECT_H
#define __PERF_DEFERRED_CALLCHAIN_INJECT_H

#include <stdbool.h>
#include <linux/types.h>

#include "synthetic-events.h"

struct feat_writer;
struct perf_file_section;
struct perf_sample;
struct perf_session;
struct perf_tool;
union perf_event;

/* What perf inject --merge-callchains keeps in mind; nothing is used if it is not enabled. */
struct deferred_merge {
	bool enabled;				/* the option was given */
	bool to_file;				/* the output has a header, written last */
	struct perf_session *session;		/* that is rewritten */
	const struct perf_file_section *sections; /* of its header, by feature */
	const struct perf_tool *tool;		/* for @process */
	perf_event__handler_t process;		/* writes an event that describes the file */
	union perf_event *copy;			/* the event under rewriting */
	union perf_event **feats;		/* those that go into the header */
	int nr_feats;
	unsigned int events_of_round;		/* written since the end of a round */
	u64 cut_samples;			/* samples that lost frames to fit an event */
	u64 cut_frames;				/* the frames that they lost */
};

int deferred_merge__init(struct deferred_merge *merge, struct perf_tool *tool);
void deferred_merge__exit(struct deferred_merge *merge);
int deferred_merge__start(struct deferred_merge *merge, struct perf_session *session,
			  const struct perf_file_section *sections, bool to_file);
void deferred_merge__finish(struct deferred_merge *merge);
bool deferred_merge__keeps_feat(const struct deferred_merge *merge, int feat);
int deferred_merge__copy_feat(const struct deferred_merge *merge, int feat,
			      struct feat_writer *writer);
int deferred_merge__describe(struct deferred_merge *merge, const struct perf_tool *tool, int fd,
			     perf_event__handler_t process);
union perf_event *deferred_merge__event(struct deferred_merge *merge, union perf_event *event);
union perf_event *deferred_merge__end_round(struct deferred_merge *merge,
					    const union perf_event *event);
union perf_event *deferred_merge__sample(struct deferred_merge *merge, union perf_event *event,
					 const struct perf_sample *sample);

#endif /* __PERF_DEFERRED_CALLCHAIN_INJECT_H */

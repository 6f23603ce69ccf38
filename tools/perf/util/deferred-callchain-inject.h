/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_INJECT_H
#define __PERF_DEFERRED_CALLCHAIN_INJECT_H

#include <stdbool.h>
#include <linux/types.h>

struct feat_writer;
struct ip_callchain;
struct machine;
struct perf_file_section;
struct perf_sample;
struct perf_session;
struct perf_tool;
union perf_event;

/**
 * struct deferred_merge - what perf inject --merge-callchains keeps in mind
 * @enabled: the option was given; nothing else is used without it
 * @session: the session that is rewritten
 * @sections: where its header sections are, by feature
 * @to_file: the output has a header, and it is written last
 * @by_file: features that are synthesized are replaced by those of the file
 * @next_feat: the next one of the file
 * @describe_ret: what went wrong with those
 * @tool: for @process
 * @process: writes an event that describes the file
 * @copy: the event under rewriting
 * @feats: features that came as events and go into the header
 * @nr_feats: how many there are
 * @events_of_round: events that were written since the end of a round
 * @cut_samples: samples that had to lose frames to fit an event
 * @cut_frames: the frames that they lost
 */
struct deferred_merge {
	bool enabled;
	struct perf_session *session;
	const struct perf_file_section *sections;
	bool to_file;
	bool by_file;
	u64 next_feat;
	int describe_ret;
	const struct perf_tool *tool;
	int (*process)(const struct perf_tool *tool, union perf_event *event,
		       struct perf_sample *sample, struct machine *machine);
	union perf_event *copy;
	union perf_event **feats;
	int nr_feats;
	unsigned int events_of_round;
	u64 cut_samples;
	u64 cut_frames;
};

int deferred_merge__init(struct deferred_merge *merge, struct perf_tool *tool);
void deferred_merge__exit(struct deferred_merge *merge);
int deferred_merge__start(struct deferred_merge *merge, struct perf_session *session,
			  const struct perf_file_section *sections, bool to_file);
void deferred_merge__finish(struct deferred_merge *merge);
bool deferred_merge__keeps_feat(const struct deferred_merge *merge, int feat);
int deferred_merge__copy_feat(const struct deferred_merge *merge, int feat,
			      struct feat_writer *writer);
void deferred_merge__describe(struct deferred_merge *merge, const struct perf_tool *tool,
			      int (*process)(const struct perf_tool *tool,
					     union perf_event *event,
					     struct perf_sample *sample,
					     struct machine *machine));
int deferred_merge__pack_header(const struct deferred_merge *merge, int fd);
int deferred_merge__described(struct deferred_merge *merge);
union perf_event *deferred_merge__event(struct deferred_merge *merge, union perf_event *event);
union perf_event *deferred_merge__end_round(struct deferred_merge *merge,
					    const union perf_event *event);
union perf_event *deferred_merge__sample(struct deferred_merge *merge, union perf_event *event,
					 const struct perf_sample *sample);

#endif /* __PERF_DEFERRED_CALLCHAIN_INJECT_H */

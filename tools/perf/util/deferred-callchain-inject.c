// SPDX-License-Identifier: GPL-2.0
/*
 * perf inject --merge-callchains: the session stitches, as for any other tool; here each
 * sample whose callchain it has completed becomes an event again, and all that tells of
 * deferral is left out of what is written, for readers that know nothing of it.  Only what
 * has to change does.  All of it is in the byte order of this machine.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-inject.h"
#include "dso.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "synthetic-events.h"
#include "tool.h"
#include "trace-event.h"

/* The largest attr that perf before Linux 6.3 reads; it refuses larger ones. */
#define OLD_ATTR_SIZE	PERF_ATTR_SIZE_VER7

/* A context that no frame follows says nothing. */
static u64 without_last_contexts(const u64 *ips, u64 nr)
{
	while (nr && ips[nr - 1] >= PERF_CONTEXT_MAX)
		nr--;
	return nr;
}

/*
 * Write a sample with another callchain in the @place of its own.  The size of an event has
 * 16 bits: what goes beyond that is cut off at the outermost frames, whose number is returned.
 */
static u64 write_sample(const union perf_event *event, const struct ip_callchain *place,
			const struct ip_callchain *chain, union perf_event *out)
{
	const void *tail = &place->ips[place->nr];
	size_t head_size = (const void *)place - (const void *)event;
	size_t tail_size = (const void *)event + event->header.size - tail;
	u64 room = (UINT16_MAX - head_size - sizeof(*place) - tail_size) / sizeof(u64);
	struct ip_callchain *put = (void *)out + head_size;
	u64 nr = chain->nr;

	if (nr > room)
		nr = without_last_contexts(chain->ips, room);

	memcpy(out, event, head_size);
	put->nr = nr;
	memcpy(put->ips, chain->ips, nr * sizeof(u64));
	memcpy(&put->ips[nr], tail, tail_size);
	out->header.size = head_size + sizeof(*put) + nr * sizeof(u64) + tail_size;
	return ip_callchain__nr_frames(chain->ips + nr, chain->nr - nr);
}

/* Is there nothing in an attr of this size that an old perf would not know? */
static bool fits_old_attr(const void *attr, size_t size)
{
	return size > OLD_ATTR_SIZE && !memchr_inv(attr + OLD_ATTR_SIZE, 0, size - OLD_ATTR_SIZE);
}

/* @raw may lie anywhere and be of any size. */
static void clear_flags(void *raw, size_t size)
{
	struct perf_event_attr attr = { .size = 0 };

	size = min(size, sizeof(attr));
	memcpy(&attr, raw, size);
	attr.defer_callchain = 0;
	attr.defer_output = 0;
	memcpy(raw, &attr, size);
}

/*
 * An old perf takes the ids to begin where its own attr ends, so that the attr is cut to that
 * where nothing is lost.
 */
static void write_attr(const union perf_event *event, union perf_event *out)
{
	size_t old_size = event->attr.attr.size ?: PERF_ATTR_SIZE_VER0;
	size_t ids = offsetof(struct perf_record_header_attr, attr) + old_size;
	size_t saved = old_size - OLD_ATTR_SIZE;

	memcpy(out, event, event->header.size);
	if (event->header.size < ids)
		return;

	clear_flags(&out->attr.attr, old_size);
	if (!fits_old_attr(&event->attr.attr, old_size))
		return;

	memcpy((void *)out + ids - saved, (const void *)event + ids, event->header.size - ids);
	out->attr.attr.size = OLD_ATTR_SIZE;
	out->header.size -= saved;
}

/* A walk over the bytes of a feature that ends at the first thing that does not fit. */
struct walk {
	char *at;
	size_t left;
};

static char *walk(struct walk *w, size_t size)
{
	char *at = w->at;

	if (size > w->left)
		return NULL;
	w->at += size;
	w->left -= size;
	return at;
}

static bool walk_u32(struct walk *w, u32 *value)
{
	const char *at = walk(w, sizeof(*value));

	if (at)
		memcpy(value, at, sizeof(*value));
	return at;
}

static void write_event_desc(const union perf_event *event, union perf_event *out)
{
	size_t fixed = sizeof(struct perf_record_header_feature);
	struct walk w = { .at = out->feat.data };
	u32 nr, attr_size, nr_ids, name_size;
	char *attr;

	memmove(out, event, event->header.size);
	if (event->header.size < fixed)
		return;

	w.left = event->header.size - fixed;
	if (!walk_u32(&w, &nr) || !walk_u32(&w, &attr_size))
		return;

	while (nr--) {
		attr = walk(&w, attr_size);
		if (!attr || !walk_u32(&w, &nr_ids) || !walk_u32(&w, &name_size) ||
		    !walk(&w, name_size) || !walk(&w, nr_ids * sizeof(u64)))
			return;
		clear_flags(attr, attr_size);
	}
}

/* So many events that a reader of what is written need not hold more than two times that. */
#define EVENTS_OF_A_ROUND	1024

/**
 * deferred_merge__init - set a tool up to merge
 * @merge: does nothing if it is not enabled
 * @tool: the tool, whose other callbacks are set
 *
 * Return: 0 or -ENOMEM.
 */
int deferred_merge__init(struct deferred_merge *merge, struct perf_tool *tool)
{
	struct perf_tool usual;

	if (!merge->enabled)
		return 0;

	merge->copy = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!merge->copy)
		return -ENOMEM;

	perf_tool__init(&usual, true);
	tool->ordered_events = true;
	tool->merge_deferred_callchains = true;
	tool->compressed = usual.compressed;
	return 0;
}

/**
 * deferred_merge__exit - free what merging needed
 * @merge: may be used no more
 */
void deferred_merge__exit(struct deferred_merge *merge)
{
	for (int i = 0; i < merge->nr_feats; i++)
		free(merge->feats[i]);
	free(merge->feats);
	free(merge->copy);
}

/**
 * deferred_merge__start - the input was opened
 * @merge: does nothing if it is not enabled
 * @session: the session that reads it
 * @sections: where its header sections are, by feature; of size 0 in a pipe
 * @to_file: the output is a file
 *
 * Return: 0, or -EINVAL with a message if it cannot be merged.
 */
int deferred_merge__start(struct deferred_merge *merge, struct perf_session *session,
			  const struct perf_file_section *sections, bool to_file)
{
	if (!merge->enabled)
		return 0;

	if (session->header.needs_swap) {
		pr_err("--merge-callchains cannot read data in the byte order of another machine.\n");
		return -EINVAL;
	}
	merge->session = session;
	merge->sections = sections;
	merge->to_file = to_file;
	return 0;
}

static void say(const struct deferred_merge *merge, const struct deferred_callchain_stats *stats)
{
	if (!stats->samples) {
		pr_info("[ perf inject: no deferred callchains, samples are as they were ]\n");
		return;
	}
	pr_info("[ perf inject: merged %llu deferred callchains, %llu incomplete ]\n",
		(unsigned long long)stats->stitched,
		(unsigned long long)deferred_callchain_stats__incomplete(stats));
	if (merge->cut_samples)
		pr_info("[ perf inject: %llu samples would exceed 64 KiB, cut %llu outermost frames ]\n",
			(unsigned long long)merge->cut_samples,
			(unsigned long long)merge->cut_frames);
}

/**
 * deferred_merge__finish - all events are written, the header is not
 * @merge: does nothing if it is not enabled
 *
 * The output is one plain file, whatever the input was, with attrs that an old perf can
 * read unless one makes use of what that does not know.
 */
void deferred_merge__finish(struct deferred_merge *merge)
{
	struct perf_session *session = merge->session;
	struct evsel *evsel;
	bool old = true;

	if (!merge->enabled)
		return;

	evlist__for_each_entry(session->evlist, evsel) {
		clear_flags(&evsel->core.attr, sizeof(evsel->core.attr));
		old &= fits_old_attr(&evsel->core.attr, sizeof(evsel->core.attr));
	}
	session->header.attr_bytes = old ? OLD_ATTR_SIZE : 0;
	for (int i = 0; i < merge->nr_feats; i++)
		perf_header__set_feat(&session->header, merge->feats[i]->feat.feat_id);
	perf_header__clear_feat(&session->header, HEADER_COMPRESSED);
	perf_header__clear_feat(&session->header, HEADER_DIR_FORMAT);
	say(merge, deferred_callchains__stats(session->deferred));
}

/**
 * deferred_merge__keeps_feat - copy a header section that is written anew otherwise?
 * @merge: false if it is not enabled
 * @feat: HEADER_BUILD_ID, ...
 *
 * The command line is that of the recording.  perf inject writes build ids of
 * what samples hit, but finds out what these are only if told to.
 *
 * Return: true if the section is to be copied as it is.
 */
bool deferred_merge__keeps_feat(const struct deferred_merge *merge, int feat)
{
	return merge->enabled && (feat == HEADER_CMDLINE || feat == HEADER_BUILD_ID);
}

/**
 * deferred_merge__copy_feat - write a header section that came as an event
 * @merge: does nothing if it is not enabled
 * @feat: HEADER_HOSTNAME, ...
 * @writer: writes into the section
 *
 * Return: 1 if it is written, 0 if there was no such event, or a negative error code.
 */
int deferred_merge__copy_feat(const struct deferred_merge *merge, int feat,
			      struct feat_writer *writer)
{
	for (int i = 0; i < merge->nr_feats; i++) {
		struct perf_record_header_feature *event = &merge->feats[i]->feat;

		if (event->feat_id == (u64)feat)
			return writer->write(writer, event->data,
					     event->header.size - sizeof(*event)) ?: 1;
	}
	return 0;
}

/* Some readers look for features in the header of a file only. */
static union perf_event *keep_for_header(struct deferred_merge *merge, union perf_event *event)
{
	union perf_event **feats = realloc(merge->feats, (merge->nr_feats + 1) * sizeof(*feats));
	union perf_event *copy = memdup(event, event->header.size);

	if (feats)
		merge->feats = feats;
	if (!feats || !copy) {
		free(copy);
		return event;
	}
	merge->feats[merge->nr_feats++] = copy;
	return NULL;
}

/* What is written otherwise, and what goes for the form of a file only. */
static bool has_no_event(int feat)
{
	switch (feat) {
	case HEADER_TRACING_DATA:
	case HEADER_BUILD_ID:
	case HEADER_AUXTRACE:
	case HEADER_DIR_FORMAT:
	case HEADER_COMPRESSED:
		return true;
	default:
		return false;
	}
}

static int write_feature(struct deferred_merge *merge, int feat,
			 const struct perf_file_section *section)
{
	struct perf_record_header_feature *copy = &merge->copy->feat;

	if (section->size > PERF_SAMPLE_MAX_SIZE - 8 - sizeof(*copy)) {
		pr_warning("WARNING: header feature %d is left out: %llu bytes do not fit an event.\n",
			   feat, (unsigned long long)section->size);
		return 0;
	}
	if (pread(perf_data__fd(merge->session->data), copy->data, section->size,
		  section->offset) != (ssize_t)section->size) {
		pr_warning("WARNING: header feature %d is left out: it cannot be read.\n", feat);
		return 0;
	}
	copy->header = (struct perf_event_header){
		.type = PERF_RECORD_HEADER_FEATURE,
		.size = sizeof(*copy) + section->size,
	};
	copy->feat_id = feat;
	return merge->process(merge->tool, merge->copy, NULL, NULL);
}

static int write_build_id(struct dso *dso, struct machine *machine, void *priv)
{
	const bool host = machine__is_host(machine);
	const struct deferred_merge *merge = priv;
	u16 misc;

	if (!dso__header_build_id(dso))
		return 0;

	if (dso__kernel(dso))
		misc = host ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_GUEST_KERNEL;
	else
		misc = host ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_GUEST_USER;
	return perf_event__synthesize_build_id(merge->tool, /*sample=*/NULL, machine,
					       merge->process, /*evsel=*/NULL, misc,
					       dso__bid(dso), dso__long_name(dso));
}

static int write_build_ids(struct deferred_merge *merge)
{
	struct machines *machines = &merge->session->machines;
	int ret = machine__for_each_dso(&machines->host, write_build_id, merge);

	for (struct rb_node *node = rb_first_cached(&machines->guests); node && !ret;
	     node = rb_next(node))
		ret = machine__for_each_dso(rb_entry(node, struct machine, rb_node),
					    write_build_id, merge);
	return ret;
}

/* The features of the file; some tell of events, whose attrs come before them. */
static int write_features(struct deferred_merge *merge)
{
	const struct perf_file_section nothing = {};
	int ret = 0;

	for (int feat = HEADER_FIRST_FEATURE; feat < HEADER_LAST_FEATURE && !ret; feat++) {
		if (perf_header__has_feat(&merge->session->header, feat) && !has_no_event(feat))
			ret = write_feature(merge, feat, &merge->sections[feat]);
	}
	return ret ?: write_build_ids(merge) ?:
	       write_feature(merge, HEADER_LAST_FEATURE, &nothing);
}

/**
 * deferred_merge__describe - write what the header of a file says into a pipe
 * @merge: does nothing if it is not enabled
 * @tool: passed on to @process
 * @fd: the pipe
 * @process: writes an event
 *
 * In the place of perf_event__synthesize_for_pipe(), which tells of the machine that perf
 * inject runs on.
 *
 * Return: a positive number, 0 if it is not enabled, or a negative error code.
 */
int deferred_merge__describe(struct deferred_merge *merge, const struct perf_tool *tool, int fd,
			     perf_event__handler_t process)
{
	struct evlist *evlist;
	int ret;

	if (!merge->enabled)
		return 0;

	merge->tool = tool;
	merge->process = process;
	evlist = merge->session->evlist;
	ret = perf_event__synthesize_attrs(tool, evlist, process) ?: write_features(merge);
#ifdef HAVE_LIBTRACEEVENT
	if (!ret && have_tracepoints(&evlist->core.entries))
		ret = perf_event__synthesize_tracing_data(tool, fd, evlist, process);
#else
	(void)fd;
#endif
	return ret ?: 1;
}

static union perf_event *feature(struct deferred_merge *merge, union perf_event *event)
{
	u64 feat = event->feat.feat_id;

	if (feat == HEADER_COMPRESSED)
		return NULL;

	if (feat == HEADER_EVENT_DESC) {
		write_event_desc(event, merge->copy);
		event = merge->copy;
	}
	if (merge->to_file && feat < HEADER_LAST_FEATURE &&
	    event->header.size >= sizeof(event->feat))
		return keep_for_header(merge, event);
	return event;
}

/**
 * deferred_merge__event - the last look at an event before it is written
 * @merge: leaves all as it is if it is not enabled
 * @event: what is about to be written
 *
 * Return: what to write, or NULL for nothing.
 */
union perf_event *deferred_merge__event(struct deferred_merge *merge, union perf_event *event)
{
	if (!merge->enabled)
		return event;

	switch (event->header.type) {
	case PERF_RECORD_HEADER_ATTR:
		write_attr(event, merge->copy);
		return merge->copy;
	case PERF_RECORD_HEADER_FEATURE:
		return feature(merge, event);
	default:
		return event;
	}
}

/**
 * deferred_merge__end_round - let readers deliver what was written so far
 * @merge: does nothing if it is not enabled
 * @event: what was written
 *
 * To be called for each event that was written, where they are written in the order of
 * time: a round may end anywhere then, whether or not the input has rounds.  None ends
 * behind what describes the data, which may go on in a way of its own.
 *
 * Return: a PERF_RECORD_FINISHED_ROUND that is to be written now, or NULL.
 */
union perf_event *deferred_merge__end_round(struct deferred_merge *merge,
					    const union perf_event *event)
{
	static union perf_event round = {
		.header = { .type = PERF_RECORD_FINISHED_ROUND, .size = sizeof(round.header) },
	};

	if (!merge->enabled || event->header.type >= PERF_RECORD_USER_TYPE_START ||
	    ++merge->events_of_round < EVENTS_OF_A_ROUND)
		return NULL;

	merge->events_of_round = 0;
	return &round;
}

/**
 * deferred_merge__sample - make an event of a sample that the session delivers
 * @merge: leaves all as it is if it is not enabled
 * @event: the event of the sample
 * @sample: the sample
 *
 * Return: the event to write, valid until the next call.
 */
union perf_event *deferred_merge__sample(struct deferred_merge *merge, union perf_event *event,
					 const struct perf_sample *sample)
{
	u64 cut;

	if (!merge->enabled || event->header.type != PERF_RECORD_SAMPLE || !sample->deferred_raw)
		return event;

	cut = write_sample(event, sample->deferred_raw, sample->callchain, merge->copy);
	merge->cut_samples += !!cut;
	merge->cut_frames += cut;
	return merge->copy;
}

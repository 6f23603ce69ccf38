// SPDX-License-Identifier: GPL-2.0
/*
 * perf inject --merge-callchains: the session stitches the callchains, as for any other tool.  This
 * file writes each stitched sample as an event again, and removes all traces of deferral so that
 * older readers can parse the output.  It copies everything else.  All data have native byte order.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>

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

/* The largest attr that perf of Linux 5.13 to 6.2 reads; it refuses larger ones. */
#define OLD_ATTR_SIZE	PERF_ATTR_SIZE_VER7

/* Drop the contexts at the end: no frame follows them. */
static u64 without_last_contexts(const u64 *ips, u64 nr)
{
	while (nr && ips[nr - 1] >= PERF_CONTEXT_MAX)
		nr--;
	return nr;
}

/*
 * Write the sample @event to @out, with @chain in place of its own callchain, which is at @place.
 * The size of an event has 16 bits: drop outermost frames that do not fit.
 * Return: the number of dropped frames.
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

/* Is an attr larger than OLD_ATTR_SIZE, with only zeros in the rest? */
static bool fits_old_attr(const void *attr, size_t size)
{
	return size > OLD_ATTR_SIZE && !memchr_inv(attr + OLD_ATTR_SIZE, 0, size - OLD_ATTR_SIZE);
}

/* Clear the flags of deferral in an attr of any size, which may be unaligned. */
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
 * An old perf knows a smaller attr, and expects the ids right behind it.  So shorten the attr to
 * OLD_ATTR_SIZE if the rest of the attr is zero, and move the ids to the new end.
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

/* Copy HEADER_EVENT_DESC without deferral flags. Stop at a description that exceeds the event. */
static void write_event_desc(const union perf_event *event, union perf_event *out)
{
	u64 left = event->header.size - sizeof(event->feat), size = 2 * sizeof(u32);
	char *at = out->feat.data;
	u32 nr, attr_size, counts[2];	/* numbers of ids and of name bytes */

	memcpy(out, event, event->header.size);
	if (left < size)
		return;

	memcpy(&nr, at, sizeof(nr));
	memcpy(&attr_size, at + sizeof(nr), sizeof(attr_size));
	while (nr--) {
		at += size;
		left -= size;
		size = (u64)attr_size + sizeof(counts);
		if (size > left)
			return;
		clear_flags(at, attr_size);
		memcpy(counts, at + attr_size, sizeof(counts));
		size += (u64)counts[0] * sizeof(u64) + counts[1];
		if (size > left)
			return;
	}
}

/**
 * deferred_merge__exit - free all memory of a merge
 * @merge: the merge, must not be used any more
 */
void deferred_merge__exit(struct deferred_merge *merge)
{
	for (int i = 0; i < HEADER_LAST_FEATURE; i++)
		free(merge->feats[i]);
	free(merge->copy);
}

/**
 * deferred_merge__start - prepare a tool for merging
 * @merge: the merge; if it is not enabled, nothing is done
 * @tool: an initialized tool; sorting, stitching and decompression are turned on in it
 * @session: the session of @tool; its header has been read, but no event
 * @to_file: the output is a file
 *
 * Return: 0, -ENOMEM, or -EINVAL with a message if the input cannot be merged.
 */
int deferred_merge__start(struct deferred_merge *merge, struct perf_tool *tool,
			  struct perf_session *session, bool to_file)
{
	struct perf_tool usual;

	if (!merge->enabled)
		return 0;

	if (session->header.needs_swap) {
		pr_err("--merge-callchains cannot read data in the byte order of another machine.\n");
		return -EINVAL;
	}
	merge->copy = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!merge->copy)
		return -ENOMEM;

	perf_tool__init(&usual, true);
	tool->ordered_events = true;
	tool->merge_deferred_callchains = true;
	tool->compressed = usual.compressed;
	merge->tool = tool;
	merge->session = session;
	merge->to_file = to_file;
	return 0;
}

static void merge_report(const struct deferred_merge *merge,
			 const struct deferred_callchain_stats *stats)
{
	if (!stats->samples) {
		pr_info("[ perf inject: no deferred callchains found: samples unchanged ]\n");
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
 * deferred_merge__finish - end a merge before the header is written
 * @merge: the merge; if it is not enabled, nothing is done
 *
 * Makes the header describe a single uncompressed file, whatever the input was. The attrs are
 * shortened for old perfs, unless one of them uses a newer field.
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
	for (int i = 0; i < HEADER_LAST_FEATURE; i++) {
		if (merge->feats[i])
			perf_header__set_feat(&session->header, i);
	}
	perf_header__clear_feat(&session->header, HEADER_COMPRESSED);
	perf_header__clear_feat(&session->header, HEADER_DIR_FORMAT);
	merge_report(merge, &session->evlist->stats.deferred);
}

/**
 * deferred_merge__copy_feat - write a header section that came as an event
 * @merge: the merge; if it is not enabled, nothing is done
 * @feat: HEADER_HOSTNAME, ...
 * @writer: writes into the section
 *
 * Return: 1 if the section was written, 0 if no event had the feature, or an error.
 */
int deferred_merge__copy_feat(const struct deferred_merge *merge, int feat,
			      struct feat_writer *writer)
{
	const union perf_event *event = merge->feats[feat];

	if (!event)
		return 0;
	return writer->write(writer, (void *)event->feat.data,
			     event->header.size - sizeof(event->feat)) ?: 1;
}

/* Keep the first event of each feature: some readers look for features only in the header. */
static union perf_event *keep_for_header(struct deferred_merge *merge, union perf_event *event)
{
	union perf_event **feat = &merge->feats[event->feat.feat_id];

	if (!*feat)
		*feat = memdup(event, event->header.size);
	return *feat ? NULL : event;
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

/**
 * deferred_merge__build_ids - copy build ids from a file's header into a pipe
 * @merge: the merge; if it is not enabled, nothing is done
 * @process: writes an event
 *
 * Return: 0 or a negative error code.
 */
int deferred_merge__build_ids(struct deferred_merge *merge, perf_event__handler_t process)
{
	struct machines *machines;
	int ret;

	if (!merge->enabled)
		return 0;

	merge->process = process;
	machines = &merge->session->machines;
	ret = machine__for_each_dso(&machines->host, write_build_id, merge);
	for (struct rb_node *node = rb_first_cached(&machines->guests); node && !ret;
	     node = rb_next(node))
		ret = machine__for_each_dso(rb_entry(node, struct machine, rb_node),
					    write_build_id, merge);
	return ret;
}

static union perf_event *merge_feature(struct deferred_merge *merge, union perf_event *event)
{
	u64 feat = event->feat.feat_id;

	/* the session needs this feature to decompress the input; the output is not compressed */
	if (feat == HEADER_COMPRESSED) {
		perf_event__process_feature(merge->session, event);
		return NULL;
	}

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
 * deferred_merge__event - change or drop an event before it is written
 * @merge: the merge; if it is not enabled, the event is not changed
 * @event: the event that is to be written
 *
 * Return: the event to write, or NULL to drop it.
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
		return merge_feature(merge, event);
	default:
		return event;
	}
}

/**
 * deferred_merge__sample - convert a delivered sample back to an event
 * @merge: the merge; if it is not enabled, the event is not changed
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

// SPDX-License-Identifier: GPL-2.0
/*
 * Write events as they would be had user callchains not been deferred, for
 * readers that know nothing of deferral.  Only what has to change does: the
 * callchain of a sample, and the flags and the size of an attr.  All of it is
 * in the byte order of this machine.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "deferred-callchain.h"
#include "deferred-callchain-merge.h"
#include "event.h"
#include "header.h"
#include "sample.h"

/* The largest attr that perf before Linux 6.3 reads; it refuses larger ones. */
#define OLD_ATTR_SIZE	PERF_ATTR_SIZE_VER7

/* struct perf_file_attr as it lies in a file whose attrs are this long */
struct packed_attr {
	char attr[OLD_ATTR_SIZE];
	struct perf_file_section ids;
};

/* A context that no frame follows says nothing. */
static u64 without_last_contexts(const u64 *ips, u64 nr)
{
	while (nr && ips[nr - 1] >= PERF_CONTEXT_MAX)
		nr--;
	return nr;
}

/**
 * deferred_merge__sample_event - write a sample with another callchain
 * @event: the sample
 * @place: its callchain, which lies inside @event and was checked
 * @chain: what to write there
 * @out: where to write to, PERF_SAMPLE_MAX_SIZE bytes
 *
 * All else in @event is copied as it is.  The size of an event has 16 bits:
 * what goes beyond that is cut off at the outermost frames.
 *
 * Return: the number of frames that were cut off.
 */
u64 deferred_merge__sample_event(const union perf_event *event, const struct ip_callchain *place,
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

static bool all_zero(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

/* Is there nothing in an attr of this size that an old perf would not know? */
static bool fits_old_attr(const void *attr, size_t size)
{
	return size > OLD_ATTR_SIZE &&
	       all_zero((const char *)attr + OLD_ATTR_SIZE, size - OLD_ATTR_SIZE);
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

/**
 * deferred_merge__attr_event - write an attr without what belongs to deferral
 * @event: a PERF_RECORD_HEADER_ATTR
 * @out: where to write to, as much as @event takes
 *
 * An old perf takes the ids to begin where its own attr ends, so that the attr
 * is cut to that where nothing is lost.
 */
void deferred_merge__attr_event(const union perf_event *event, union perf_event *out)
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

/**
 * deferred_merge__event_desc - write a description of events without the flags
 * @event: a PERF_RECORD_HEADER_FEATURE with HEADER_EVENT_DESC
 * @out: where to write to, as much as @event takes
 */
void deferred_merge__event_desc(const union perf_event *event, union perf_event *out)
{
	size_t fixed = sizeof(struct perf_record_header_feature);
	struct walk w = { .at = out->feat.data };
	u32 nr, attr_size, nr_ids, name_size;
	char *attr;

	memcpy(out, event, event->header.size);
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

static int write_at(int fd, const void *buf, size_t size, u64 offset)
{
	return pwrite(fd, buf, size, offset) == (ssize_t)size ? 0 : -EIO;
}

struct file_attr {
	struct perf_event_attr attr;
	struct perf_file_section ids;
};

static bool attrs_fit(int fd, const struct perf_file_header *header, u64 nr)
{
	struct file_attr entry;

	for (u64 i = 0; i < nr; i++) {
		if (preadn(fd, &entry, sizeof(entry), header->attrs.offset + i * sizeof(entry)) !=
		    sizeof(entry) || !fits_old_attr(&entry.attr, sizeof(entry.attr)))
			return false;
	}
	return true;
}

/* Each entry moves towards the start, so that none is overwritten unread. */
static int pack_attr(int fd, const struct perf_file_header *header, u64 i)
{
	struct packed_attr packed;
	struct file_attr entry;

	if (preadn(fd, &entry, sizeof(entry), header->attrs.offset + i * sizeof(entry)) !=
	    sizeof(entry))
		return -EIO;

	entry.attr.size = OLD_ATTR_SIZE;
	memcpy(packed.attr, &entry.attr, sizeof(packed.attr));
	packed.ids = entry.ids;
	return write_at(fd, &packed, sizeof(packed), header->attrs.offset + i * sizeof(packed));
}

/**
 * deferred_merge__pack_header - let an old perf read the attrs of a file
 * @fd: a perf.data file whose header this perf has written
 *
 * Nothing is changed if an attr makes use of what an old perf does not know.
 *
 * Return: 0 or a negative error code.
 */
int deferred_merge__pack_header(int fd)
{
	struct perf_file_header header;
	int err = 0;
	u64 nr;

	if (preadn(fd, &header, sizeof(header), 0) != sizeof(header))
		return -EIO;

	nr = header.attrs.size / sizeof(struct file_attr);
	if (header.attr_size != sizeof(struct file_attr) || !attrs_fit(fd, &header, nr))
		return 0;

	for (u64 i = 0; i < nr && !err; i++)
		err = pack_attr(fd, &header, i);
	if (err)
		return err;

	header.attr_size = sizeof(struct packed_attr);
	header.attrs.size = nr * sizeof(struct packed_attr);
	return write_at(fd, &header, sizeof(header), 0);
}

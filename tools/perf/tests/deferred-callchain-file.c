// SPDX-License-Identifier: GPL-2.0
/*
 * Small perf.data files with deferred callchains, of either byte order.  Every
 * user frame contains its thread and entry context, so that wrong stitching is
 * detected.
 */
#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/lib.h>

#include "compress.h"
#include "data.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "event.h"
#include "evlist.h"
#include "header.h"
#include "session.h"
#include "tool.h"

#define NR_ATTRS	3
#define MAX_EVENT_U64	4096
/* Bytes that are compressed in one step. */
#define PIECE		300
#define MAX_PACKED	1024

/* One event under construction, in this machine's byte order. */
struct body {
	size_t nr;
	u64 words[MAX_EVENT_U64];
};

struct file_attr {
	struct perf_event_attr attr;
	struct perf_file_section ids;
};

/* The part of a file before its events. */
struct file_start {
	u64 magic, size, attr_size;
	struct perf_file_section attrs, data, event_types;
	u64 features[4];
	u64 ids[NR_ATTRS];
	struct file_attr attr[NR_ATTRS];
};

static u32 order_u32(const struct synth *s, u32 value)
{
	return s->foreign ? bswap_32(value) : value;
}

static u16 order_u16(const struct synth *s, u16 value)
{
	return s->foreign ? bswap_16(value) : value;
}

static u64 order_u64(const struct synth *s, u64 value)
{
	return s->foreign ? bswap_64(value) : value;
}

u64 synth__user_ip(u32 tid, u64 cookie, unsigned int depth)
{
	return 0x55ULL << 40 | (u64)(tid & 0xfffff) << 20 | (cookie & 0xff) << 12 | depth;
}

static u32 pid_of(const struct synth *s, u32 tid)
{
	return s->pairs ? tid & ~1U : tid;
}

static bool grow_data(struct synth *s, size_t size)
{
	size_t room = max(s->room * 2, s->size + size);
	char *grown;

	if (s->size + size <= s->room)
		return true;

	grown = realloc(s->data, room);
	if (!grown) {
		s->failed = true;
		return false;
	}
	s->data = grown;
	s->room = room;
	return true;
}

static void append_bytes(struct synth *s, const void *data, size_t size)
{
	if (!size || !grow_data(s, size))
		return;

	memcpy(s->data + s->size, data, size);
	s->size += size;
}

/* Append the events of @from, which has the same byte order, to those of @s. */
void synth__append(struct synth *s, const struct synth *from)
{
	append_bytes(s, from->data, from->size);
	s->failed |= from->failed;
}

static void put_header(struct synth *s, u32 type, u16 misc, size_t size)
{
	struct perf_event_header header = {
		.type = order_u32(s, type),
		.misc = order_u16(s, misc),
		.size = order_u16(s, sizeof(header) + size),
	};

	append_bytes(s, &header, sizeof(header));
}

static void put_event(struct synth *s, u32 type, u16 misc, const struct body *body)
{
	put_header(s, type, misc, body->nr * sizeof(u64));
	append_bytes(s, body->words, body->nr * sizeof(u64));
}

static void add_u64(const struct synth *s, struct body *body, u64 value)
{
	body->words[body->nr++] = order_u64(s, value);
}

static void add_u32_pair(const struct synth *s, struct body *body, u32 first, u32 second)
{
	u32 pair[] = { order_u32(s, first), order_u32(s, second) };

	memcpy(&body->words[body->nr++], pair, sizeof(pair));
}

static void add_sample_id(const struct synth *s, struct body *body, u32 tid, u64 time)
{
	add_u32_pair(s, body, pid_of(s, tid), tid);
	add_u64(s, body, time);
	if (!s->no_cpu)
		add_u32_pair(s, body, s->cpu, 0);
	add_u64(s, body, s->whose ?: SYNTH_TRACKING_ID);
}

/* Raw data: their size, and bytes that a reader must not swap. */
static void add_raw(const struct synth *s, struct body *body)
{
	u32 size = order_u32(s, SYNTH_RAW_SIZE);
	char *raw = (char *)&body->words[body->nr];

	memcpy(raw, &size, sizeof(size));
	memcpy(raw + sizeof(size), SYNTH_RAW, SYNTH_RAW_SIZE);
	body->nr += (sizeof(size) + SYNTH_RAW_SIZE) / sizeof(u64);
}

/* Text that ends in a zero byte, and zeroes up to the next multiple of 8. */
static void add_text(struct body *body, const char *text)
{
	size_t size = (strlen(text) + sizeof(u64)) / sizeof(u64);

	memset(&body->words[body->nr], 0, size * sizeof(u64));
	memcpy(&body->words[body->nr], text, strlen(text));
	body->nr += size;
}

void synth__name(struct synth *s, u32 tid, u64 time, u16 misc, const char *name)
{
	struct body body;

	body.nr = 0;
	add_u32_pair(s, &body, pid_of(s, tid), tid);
	add_text(&body, name);
	add_sample_id(s, &body, tid, time);
	put_event(s, PERF_RECORD_COMM, misc, &body);
}

void synth__comm(struct synth *s, u32 tid, u64 time)
{
	synth__name(s, tid, time, 0, "thread");
}

void synth__exec(struct synth *s, u32 tid, u64 time)
{
	synth__name(s, tid, time, PERF_RECORD_MISC_COMM_EXEC, "thread");
}

static void put_task(struct synth *s, u32 type, u32 tid, u32 parent, u64 time)
{
	struct body body;

	body.nr = 0;
	add_u32_pair(s, &body, pid_of(s, tid), pid_of(s, parent));
	add_u32_pair(s, &body, tid, parent);
	add_u64(s, &body, time);
	add_sample_id(s, &body, tid, time);
	put_event(s, type, 0, &body);
}

void synth__exit(struct synth *s, u32 tid, u64 time)
{
	put_task(s, PERF_RECORD_EXIT, tid, 2, time);
}

void synth__fork(struct synth *s, u32 tid, u64 time)
{
	put_task(s, PERF_RECORD_FORK, tid, 2, time);
}

void synth__fork_by(struct synth *s, u32 parent, u32 tid, u64 time)
{
	put_task(s, PERF_RECORD_FORK, tid, parent, time);
}

/* A new thread of the same process. */
void synth__clone(struct synth *s, u32 tid, u64 time)
{
	put_task(s, PERF_RECORD_FORK, tid, pid_of(s, tid), time);
}

/* Write an MMAP or MMAP2 event. If @misc has the flag of a build id, the id's size is too large. */
void synth__map(struct synth *s, u32 who, u64 time, u16 misc, u64 start, u64 len,
		const char *name)
{
	struct body body;

	body.nr = 0;
	add_u32_pair(s, &body, pid_of(s, who), who);
	add_u64(s, &body, start);
	add_u64(s, &body, len);
	add_u64(s, &body, 0);
	if (s->mmap2) {
		add_u32_pair(s, &body, misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? -1 : 8, 1);
		add_u64(s, &body, 4711);
		add_u64(s, &body, 0);
		add_u32_pair(s, &body, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	}
	add_text(&body, name);
	add_sample_id(s, &body, who, time);
	put_event(s, s->mmap2 ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP, misc, &body);
}

/* Map @pages pages of user code of @tid. The first page has the user frames of @cookie. */
void synth__mmap_by(struct synth *s, u32 who, u32 tid, u64 time, u64 cookie, unsigned int pages,
		    const char *name)
{
	synth__map(s, who, time, PERF_RECORD_MISC_USER, synth__user_ip(tid, cookie, 0),
		   (u64)pages << 12, name);
}

void synth__mmap(struct synth *s, u32 tid, u64 time, u64 cookie, unsigned int pages,
		 const char *name)
{
	synth__mmap_by(s, tid, tid, time, cookie, pages, name);
}

/* A NAMESPACES event: all namespaces have the same number. */
void synth__namespace(struct synth *s, u32 tid, u64 time, u64 inode)
{
	struct body body;

	body.nr = 0;
	add_u32_pair(s, &body, pid_of(s, tid), tid);
	add_u64(s, &body, NR_NAMESPACES);
	for (int i = 0; i < NR_NAMESPACES; i++) {
		add_u64(s, &body, 1);
		add_u64(s, &body, inode);
	}
	add_sample_id(s, &body, tid, time);
	put_event(s, PERF_RECORD_NAMESPACES, 0, &body);
}

void synth__lost(struct synth *s, u64 time)
{
	struct body body;

	body.nr = 0;
	add_u64(s, &body, SYNTH_TRACKING_ID);
	add_u64(s, &body, 1);
	add_sample_id(s, &body, 0, time);
	put_event(s, PERF_RECORD_LOST, 0, &body);
}

void synth__round(struct synth *s)
{
	put_header(s, PERF_RECORD_FINISHED_ROUND, 0, 0);
}

void synth__sample(struct synth *s, u32 tid, u64 time, u16 misc, const u64 *ips, size_t nr)
{
	u64 ip = misc == PERF_RECORD_MISC_USER ? synth__user_ip(tid, 0, 0) : SYNTH_KERNEL_IP;
	struct body body;

	body.nr = 0;
	add_u64(s, &body, s->second ? SYNTH_SECOND_ID : SYNTH_SAMPLING_ID);
	add_u64(s, &body, ip);
	add_u32_pair(s, &body, pid_of(s, tid), tid);
	add_u64(s, &body, time);
	add_u32_pair(s, &body, s->cpu, 0);
	add_u64(s, &body, 1);
	add_u64(s, &body, nr);
	for (size_t i = 0; i < nr; i++)
		add_u64(s, &body, ips[i]);
	add_raw(s, &body);
	if (s->branches)
		add_u64(s, &body, s->branches);
	put_event(s, PERF_RECORD_SAMPLE, misc, &body);
}

static size_t kernel_half(u64 *ips, unsigned int depth)
{
	size_t nr = 0;

	if (depth)
		ips[nr++] = PERF_CONTEXT_KERNEL;
	for (unsigned int i = 0; i < depth; i++)
		ips[nr++] = SYNTH_KERNEL_IP + i;
	return nr;
}

static void user_frames(u64 *ips, u32 tid, u64 cookie, unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++)
		ips[i] = synth__user_ip(tid, cookie, i);
}

void synth__in_place(struct synth *s, u32 tid, u64 time, u64 context, unsigned int depth)
{
	u64 ips[256];
	size_t nr = kernel_half(ips, 2);

	ips[nr++] = PERF_CONTEXT_USER;
	user_frames(ips + nr, tid, context, depth);
	synth__sample(s, tid, time, PERF_RECORD_MISC_KERNEL, ips, nr + depth);
}

/*
 * Add a sample at @time between two flush rounds.  At the second round, perf delivers what it has
 * read before the first round, up to the first sample whose record may still come.
 */
void synth__pass_time(struct synth *s, u64 time)
{
	synth__round(s);
	synth__in_place(s, 900, time, 9, 1);
	synth__round(s);
}

void synth__deferred_at(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc,
			unsigned int kernel)
{
	u64 ips[256];
	size_t nr = kernel_half(ips, kernel);

	ips[nr++] = PERF_CONTEXT_USER_DEFERRED;
	ips[nr++] = cookie;
	synth__sample(s, tid, time, misc, ips, nr);
}

void synth__deferred(struct synth *s, u32 tid, u64 time, u64 cookie)
{
	synth__deferred_at(s, tid, time, cookie, PERF_RECORD_MISC_KERNEL, 2);
}

void synth__record_at(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc, u64 nr,
		      const u64 *ips, size_t nr_ips)
{
	struct body body;

	body.nr = 0;
	add_u64(s, &body, cookie);
	add_u64(s, &body, nr);
	for (size_t i = 0; i < nr_ips; i++)
		add_u64(s, &body, ips[i]);
	add_sample_id(s, &body, tid, time);
	put_event(s, PERF_RECORD_CALLCHAIN_DEFERRED, misc, &body);
}

/*
 * A deferred record as the kernel writes it.  With @prefixed it has the form of early kernels,
 * with PERF_CONTEXT_USER in front.
 */
void synth__record_of(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc,
		      const u64 *frames, size_t nr)
{
	u64 ips[512] = { PERF_CONTEXT_USER };
	size_t first = s->prefixed;

	if (first + nr > ARRAY_SIZE(ips)) {
		s->failed = true;
		return;
	}
	memcpy(ips + first, frames, nr * sizeof(*frames));
	synth__record_at(s, tid, time, cookie, misc, first + nr, ips, first + nr);
}

void synth__record(struct synth *s, u32 tid, u64 time, u64 cookie, unsigned int depth)
{
	u64 ips[256];

	user_frames(ips, tid, cookie, depth);
	synth__record_of(s, tid, time, cookie, PERF_RECORD_MISC_USER, ips, depth);
}

void synth__unknown(struct synth *s, u32 type)
{
	const struct body body = { .nr = 2 };

	put_event(s, type, 0, &body);
}

/* An event of arbitrary @words, with a sample_id behind them. */
void synth__words(struct synth *s, u32 type, u64 time, const u64 *words, size_t nr)
{
	struct body body;

	body.nr = 0;
	for (size_t i = 0; i < nr; i++)
		add_u64(s, &body, words[i]);
	add_sample_id(s, &body, 0, time);
	put_event(s, type, 0, &body);
}

/* An event that readers skip. @data has only its header; write_events() adds the rest. */
void synth__hole(struct synth *s)
{
	put_header(s, PERF_RECORD_FINISHED_INIT, 0, SYNTH_HOLE);
	s->holes++;
}

/* Write a HEADER_ATTR event, for a new or a known @id. It is in this machine's byte order. */
void synth__attr(struct synth *s, u64 id, u64 sample_type)
{
	struct {
		struct perf_event_attr attr;
		u64 id;
	} event = { .attr = {}, .id = id };

	event.attr.type = PERF_TYPE_SOFTWARE;
	event.attr.size = sizeof(event.attr);
	event.attr.config = PERF_COUNT_SW_CPU_CLOCK;
	event.attr.sample_type = sample_type;
	event.attr.sample_id_all = 1;
	put_header(s, PERF_RECORD_HEADER_ATTR, 0, sizeof(event));
	append_bytes(s, &event, sizeof(event));
}

/*
 * A TRACING_DATA event with @size bytes behind its header. Its data look like events of one byte.
 */
void synth__tracing_data(struct synth *s, size_t size)
{
	const u32 body[] = { order_u32(s, SYNTH_TRACING_SIZE), 0 };
	char data[SYNTH_TRACING_SIZE];

	memset(data, 1, sizeof(data));
	put_header(s, PERF_RECORD_HEADER_TRACING_DATA, 0, size);
	append_bytes(s, body, size);
	append_bytes(s, data, sizeof(data));
}

/* Make the last sample claim more raw data than it has. */
void synth__inflate_raw(struct synth *s)
{
	u32 size = order_u32(s, 0x7ffffff0);

	memcpy(s->data + s->size - sizeof(size) - SYNTH_RAW_SIZE, &size, sizeof(size));
}

/* An event that ends with its header. */
void synth__empty(struct synth *s, u32 type)
{
	put_header(s, type, 0, 0);
}

void synth__raw_record(struct synth *s, const void *body, size_t size)
{
	put_header(s, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER, size);
	append_bytes(s, body, size);
}

/* The flags are bit fields: the other byte order also reverses the bits of each byte. */
static void mirror_flags(struct perf_event_attr *attr)
{
	u8 bytes[sizeof(*attr)], *flags;

	memcpy(bytes, attr, sizeof(bytes));
	flags = bytes + offsetof(struct perf_event_attr, read_format) + sizeof(attr->read_format);
	for (int i = 0; i < 8; i++) {
		u8 byte = flags[i], mirrored = 0;

		for (int bit = 0; bit < 8; bit++)
			mirrored |= (byte >> bit & 1) << (7 - bit);
		flags[i] = mirrored;
	}
	memcpy(attr, bytes, sizeof(bytes));
}

static void order_attr(const struct synth *s, struct perf_event_attr *attr)
{
	if (!s->foreign)
		return;

	attr->type = bswap_32(attr->type);
	attr->size = bswap_32(attr->size);
	attr->config = bswap_64(attr->config);
	attr->sample_period = bswap_64(attr->sample_period);
	attr->sample_type = bswap_64(attr->sample_type);
	attr->sample_max_stack = bswap_16(attr->sample_max_stack);
	attr->branch_sample_type = bswap_64(attr->branch_sample_type);
	mirror_flags(attr);
}

static struct perf_file_section file_section(const struct synth *s, u64 offset, u64 size)
{
	return (struct perf_file_section){
		.offset = order_u64(s, offset),
		.size = order_u64(s, size),
	};
}

static void fill_attr(const struct synth *s, struct file_start *start, int i, u64 id, u64 config)
{
	struct perf_event_attr *attr = &start->attr[i].attr;
	bool tracking = id == SYNTH_TRACKING_ID;

	attr->type = PERF_TYPE_SOFTWARE;
	attr->size = sizeof(*attr);
	attr->config = config;
	attr->sample_period = 4000;
	attr->sample_type = SYNTH_SAMPLE_TYPE;
	if (tracking && s->no_cpu)
		attr->sample_type &= ~PERF_SAMPLE_CPU;
	if (s->no_id && id == SYNTH_SAMPLING_ID)
		attr->sample_type &= ~PERF_SAMPLE_IDENTIFIER;
	if (s->plain_second && id == SYNTH_SECOND_ID)
		attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ID;
	attr->sample_id_all = 1;
	attr->defer_callchain = !tracking && !s->undeferred;
	attr->defer_output = tracking && !s->undeferred;
	attr->comm = tracking;
	attr->task = tracking;
	attr->sample_max_stack = tracking ? 0 : s->max_stack;
	if (s->branches && !tracking)
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	if (!tracking)
		attr->sample_type |= s->claims;
	if (s->branch_callchains && !tracking)
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK;
	order_attr(s, attr);
	start->attr[i].ids = file_section(s, offsetof(struct file_start, ids[i]), sizeof(u64));
	start->ids[i] = order_u64(s, id);
}

static void fill_start(const struct synth *s, struct file_start *start)
{
	memset(start, 0, sizeof(*start));
	start->magic = order_u64(s, SYNTH_MAGIC);
	/* in the other byte order, perf would take features without a host name for damaged ones */
	start->size = order_u64(s, s->foreign ? offsetof(struct file_start, features) :
						offsetof(struct file_start, ids));
	start->attr_size = order_u64(s, sizeof(struct file_attr));
	start->attrs = file_section(s, offsetof(struct file_start, attr),
				    (s->single ? 1 : NR_ATTRS) * sizeof(struct file_attr));
	start->data = file_section(s, sizeof(*start) + s->gap,
				   s->size + (u64)s->holes * SYNTH_HOLE);
	fill_attr(s, start, 0, SYNTH_SAMPLING_ID, PERF_COUNT_SW_CPU_CLOCK);
	fill_attr(s, start, 1, SYNTH_TRACKING_ID, PERF_COUNT_SW_DUMMY);
	fill_attr(s, start, 2, SYNTH_SECOND_ID, PERF_COUNT_SW_TASK_CLOCK);
}

/* The part of a pipe before its events. */
struct pipe_start {
	u64 magic, size;
	struct {
		struct perf_event_header header;
		struct perf_event_attr attr;
		u64 id;
	} attr[NR_ATTRS];
};

static void fill_pipe_start(const struct synth *s, const struct file_start *from,
			    struct pipe_start *start)
{
	start->magic = from->magic;
	start->size = order_u64(s, offsetof(struct pipe_start, attr));
	for (int i = 0; i < NR_ATTRS; i++) {
		start->attr[i].header.type = order_u32(s, PERF_RECORD_HEADER_ATTR);
		start->attr[i].header.misc = 0;
		start->attr[i].header.size = order_u16(s, sizeof(start->attr[i]));
		start->attr[i].attr = from->attr[i].attr;
		if (s->no_attr_size)
			start->attr[i].attr.size = 0;
		start->attr[i].id = from->ids[i];
	}
}

static size_t head_size(const struct synth *s)
{
	if (!s->piped)
		return sizeof(struct file_start);
	return s->no_attrs ? offsetof(struct pipe_start, attr) : sizeof(struct pipe_start);
}

size_t synth__file_size(const struct synth *s)
{
	return sizeof(struct file_start) + s->gap + s->size;
}

/* The part of a compressed file after its events. */
struct file_end {
	struct perf_file_section where;
	u32 version, type, level, ratio, mmap_len;
};

/* Put the events of @s into @packed, compressed. */
static int pack_events(const struct synth *s, struct synth *packed)
{
	char buf[MAX_PACKED];
	struct zstd_data zstd;
	int ret = zstd_init(&zstd, 1);

	for (size_t at = 0; !ret && at < s->size; at += PIECE) {
		size_t left = min_t(size_t, PIECE, s->size - at);
		ssize_t size = zstd_compress_stream_to_records(&zstd, buf, sizeof(buf),
							       s->data + at, left, sizeof(buf),
							       pack_header);

		if (size > 0)
			append_bytes(packed, buf, size);
		else
			ret = -EINVAL;
	}
	zstd_fini(&zstd);
	return packed->failed ? -ENOMEM : ret;
}

static int write_compressed(const struct synth *s, int fd)
{
	struct file_end end = { .version = 1, .type = PERF_COMP_ZSTD, .level = 1, .ratio = 1,
				.mmap_len = 4096 };
	struct synth packed = {};
	struct file_start start;
	int ret = pack_events(s, &packed);

	fill_start(s, &start);
	start.data.size = packed.size;
	start.features[HEADER_COMPRESSED / 64] |= 1ULL << HEADER_COMPRESSED % 64;
	end.where.offset = sizeof(start) + packed.size + sizeof(end.where);
	end.where.size = sizeof(end) - sizeof(end.where);
	if (!ret && (writen(fd, &start, sizeof(start)) != sizeof(start) ||
		     writen(fd, packed.data, packed.size) != (ssize_t)packed.size ||
		     writen(fd, &end, sizeof(end)) != sizeof(end)))
		ret = -errno;
	synth__free(&packed);
	return ret;
}

static int write_events(const struct synth *s, int fd, size_t size)
{
	size_t done = 0;

	for (size_t at = 0; s->holes && at < size;) {
		const struct perf_event_header *header = (void *)(s->data + at);

		if (header->type != PERF_RECORD_FINISHED_INIT) {
			at += header->size;
			continue;
		}
		at += sizeof(*header);
		if (writen(fd, s->data + done, at - done) != (ssize_t)(at - done) ||
		    lseek(fd, SYNTH_HOLE, SEEK_CUR) < 0)
			return -errno;
		done = at;
	}
	return writen(fd, s->data + done, size - done) == (ssize_t)(size - done) ? 0 : -errno;
}

/* Write at most @limit bytes of the file; a compressed file is always written as a whole. */
int synth__write(const struct synth *s, int fd, size_t limit)
{
	struct file_start start;
	struct pipe_start pipe_start;
	const void *head = s->piped ? (void *)&pipe_start : &start;
	size_t first = min(limit, head_size(s));
	size_t gap = min(limit - first, s->gap);
	size_t rest = min(limit - first - gap, s->size);

	if (s->failed)
		return -ENOMEM;
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return -errno;
	if (s->compressed)
		return write_compressed(s, fd);

	fill_start(s, &start);
	fill_pipe_start(s, &start, &pipe_start);
	if (writen(fd, head, first) != (ssize_t)first ||
	    lseek(fd, gap, SEEK_CUR) < 0 || ftruncate(fd, first + gap))
		return -errno;
	return write_events(s, fd, rest);
}

static int read_file(struct perf_tool *tool, const char *path,
		     struct perf_session **where, struct deferred_callchain_stats *stats)
{
	struct perf_data data = { .path = path, .mode = PERF_DATA_MODE_READ, .force = true };
	struct perf_session *session = perf_session__new(&data, tool);
	int ret;

	if (IS_ERR(session))
		return PTR_ERR(session);

	if (where)
		*where = session;
	ret = perf_session__process_events(session);
	*stats = evlist__stats(session->evlist)->deferred;
	perf_session__delete(session);
	return ret;
}

/* A session that reads a pipe closes standard input at its end: restore it from a copy. */
static int read_piped(struct perf_tool *tool, int fd, struct perf_session **where,
		      struct deferred_callchain_stats *stats)
{
	int save = dup(STDIN_FILENO);
	int ret = -errno;

	tool->attr = perf_event__process_attr;
	if (!lseek(fd, 0, SEEK_SET) && dup2(fd, STDIN_FILENO) == STDIN_FILENO)
		ret = read_file(tool, "-", where, stats);
	if (save >= 0) {
		dup2(save, STDIN_FILENO);
		close(save);
	}
	return ret;
}

static int write_and_read(struct perf_tool *tool, const struct synth *s, size_t limit,
			  struct perf_session **where, struct deferred_callchain_stats *stats)
{
	char path[] = "/tmp/perf-test-deferred-XXXXXX";
	int fd = mkstemp(path);
	int ret;

	if (fd < 0)
		return -errno;

	ret = synth__write(s, fd, limit);
	if (!ret && s->piped)
		ret = read_piped(tool, fd, where, stats);
	else if (!ret)
		ret = read_file(tool, path, where, stats);
	close(fd);
	unlink(path);
	return ret;
}

/* Write at most @limit bytes of the file and read them. */
int synth__read(struct perf_tool *tool, const struct synth *s, size_t limit,
		struct deferred_callchain_stats *stats)
{
	return write_and_read(tool, s, limit, NULL, stats);
}

/* Write and read the whole file. Meanwhile, @where points to the session. */
int synth__read_session(struct perf_tool *tool, const struct synth *s,
			struct perf_session **where, struct deferred_callchain_stats *stats)
{
	return write_and_read(tool, s, SIZE_MAX, where, stats);
}

void synth__free(struct synth *s)
{
	free(s->data);
	memset(s, 0, sizeof(*s));
}

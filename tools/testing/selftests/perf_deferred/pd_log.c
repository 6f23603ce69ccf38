// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pd_log.h"
#include "pd_ring.h"
#include "pd_test.h"

/* A record is read word by word, and never past its end. */
struct words {
	const __u64 *at, *end;
	bool short_read;
};

static __u64 next_word(struct words *in)
{
	if (in->at >= in->end) {
		in->short_read = true;
		return 0;
	}
	return *in->at++;
}

static void next_pair(struct words *in, __u32 *low, __u32 *high)
{
	__u64 word = next_word(in);

	*low = word;
	*high = word >> 32;
}

void pd_log_malformed(struct pd_log *log, const char *fmt, ...)
{
	va_list args;

	if (log->malformed[0])
		return;
	va_start(args, fmt);
	vsnprintf(log->malformed, sizeof(log->malformed), fmt, args);
	va_end(args);
}

static void make_frames(struct pd_rec *rec, __u64 nr)
{
	rec->frames = calloc(nr + 1, sizeof(*rec->frames));
	rec->user = rec->frames;
}

/* Kernel frames come before any user frame. */
static void add_kernel_frame(struct pd_log *log, struct pd_rec *rec, __u64 ip)
{
	if (rec->nr_user) {
		pd_log_malformed(log, "a kernel frame after user frames: %llx", ip);
		return;
	}
	rec->frames[rec->nr_kernel++] = ip;
	rec->user = rec->frames + rec->nr_kernel;
}

static void add_user_frame(struct pd_rec *rec, __u64 ip)
{
	rec->user[rec->nr_user++] = ip;
}

static void parse_chain(struct pd_log *log, struct words *in, struct pd_rec *rec)
{
	__u64 nr = next_word(in), context = 0, ip;

	if (nr > (__u64)(in->end - in->at)) {
		pd_log_malformed(log, "a callchain of %llu words in %td", nr, in->end - in->at);
		return;
	}
	make_frames(rec, nr);
	while (nr--) {
		ip = next_word(in);
		if (rec->deferred) {
			pd_log_malformed(log, "words after the marker's cookie");
			return;
		}
		if (context == PD_CONTEXT_DEFERRED) {
			rec->deferred = true;
			rec->cookie = ip;
			if (!ip)
				pd_log_malformed(log, "a sample with cookie zero");
		} else if (ip >= PERF_CONTEXT_MAX) {
			context = ip;
			rec->kernel |= ip == PERF_CONTEXT_KERNEL;
			rec->inplace |= ip == PERF_CONTEXT_USER;
		} else if (context == PERF_CONTEXT_USER) {
			add_user_frame(rec, ip);
		} else if (context == PERF_CONTEXT_KERNEL) {
			add_kernel_frame(log, rec, ip);
		} else {
			pd_log_malformed(log, "a frame outside any context: %llx, with %llu more; "
					 "event %llu of type %u, tid %u, ip %llx", ip, nr,
					 rec->event->attr.config, rec->event->attr.type, rec->tid,
					 rec->ip);
		}
	}
	if (context == PD_CONTEXT_DEFERRED && !rec->deferred)
		pd_log_malformed(log, "a marker without a cookie");
	if (rec->deferred && rec->inplace)
		pd_log_malformed(log, "a marker and a user half in place");
}

static void parse_raw(struct pd_log *log, struct words *in, struct pd_rec *rec)
{
	const char *data = (const char *)in->at + sizeof(rec->raw_size);
	__u32 size = next_word(in), words = size / 8;

	if (size % 8 != 4 || words > in->end - in->at) {
		pd_log_malformed(log, "%u raw bytes in %td words", size, in->end - in->at);
		return;
	}
	in->at += words;
	rec->raw = malloc(size);
	rec->raw_size = size;
	memcpy(rec->raw, data, size);
}

static void parse_regs(struct pd_log *log, struct words *in, struct pd_rec *rec)
{
	int nr = __builtin_popcountll(rec->event->attr.sample_regs_user), i;

	if (nr > PD_MAX_REGS)
		pd_log_malformed(log, "%d registers are too many for this test", nr);
	if (!next_word(in))
		return;
	for (i = 0; i < nr && i < PD_MAX_REGS; i++)
		rec->regs[i] = next_word(in);
}

static void parse_sample(struct pd_log *log, struct words *in, struct pd_rec *rec)
{
	__u64 type = rec->event->attr.sample_type;
	__u32 unused;

	if (type & PERF_SAMPLE_IDENTIFIER)
		rec->identifier = next_word(in);
	if (type & PERF_SAMPLE_IP)
		rec->ip = next_word(in);
	if (type & PERF_SAMPLE_TID)
		next_pair(in, &rec->pid, &rec->tid);
	if (type & PERF_SAMPLE_TIME)
		rec->time = next_word(in);
	if (type & PERF_SAMPLE_ID)
		rec->id = next_word(in);
	if (type & PERF_SAMPLE_STREAM_ID)
		rec->stream_id = next_word(in);
	if (type & PERF_SAMPLE_CPU)
		next_pair(in, &rec->cpu, &unused);
	if (type & PERF_SAMPLE_CALLCHAIN)
		parse_chain(log, in, rec);
	if (type & PERF_SAMPLE_RAW)
		parse_raw(log, in, rec);
	if (type & PERF_SAMPLE_REGS_USER)
		parse_regs(log, in, rec);
}

static void parse_sample_id(struct words *in, struct pd_rec *rec)
{
	__u64 type = rec->event->attr.sample_type;
	__u32 unused;

	if (!rec->event->attr.sample_id_all)
		return;
	if (type & PERF_SAMPLE_TID)
		next_pair(in, &rec->pid, &rec->tid);
	if (type & PERF_SAMPLE_TIME)
		rec->time = next_word(in);
	if (type & PERF_SAMPLE_ID)
		rec->id = next_word(in);
	if (type & PERF_SAMPLE_STREAM_ID)
		rec->stream_id = next_word(in);
	if (type & PERF_SAMPLE_CPU)
		next_pair(in, &rec->cpu, &unused);
	if (type & PERF_SAMPLE_IDENTIFIER)
		rec->identifier = next_word(in);
}

static void parse_deferred(struct pd_log *log, struct words *in, struct pd_rec *rec)
{
	__u64 nr, ip;

	rec->cookie = next_word(in);
	nr = next_word(in);
	if (!rec->cookie)
		pd_log_malformed(log, "a record with cookie zero");
	if (rec->misc != PERF_RECORD_MISC_USER)
		pd_log_malformed(log, "a record with misc %#x", rec->misc);
	if (nr > (__u64)(in->end - in->at)) {
		pd_log_malformed(log, "a record of %llu frames in %td words", nr, in->end - in->at);
		return;
	}
	make_frames(rec, nr);
	while (nr--) {
		ip = next_word(in);
		if (ip >= PERF_CONTEXT_MAX)
			pd_log_malformed(log, "a context %llx inside a record", ip);
		add_user_frame(rec, ip);
	}
	parse_sample_id(in, rec);
	if (in->at != in->end)
		pd_log_malformed(log, "%td words too many in a record", in->end - in->at);
}

static void parse_fork(struct words *in, struct pd_rec *rec)
{
	__u32 pid, tid, parent;

	next_pair(in, &pid, &parent);
	next_pair(in, &tid, &rec->parent_tid);
	next_word(in);
	parse_sample_id(in, rec);
	rec->pid = pid;
	rec->tid = tid;
}

static void parse_comm(struct words *in, struct pd_rec *rec)
{
	__u32 pid, tid;
	const __u64 *at;

	next_pair(in, &pid, &tid);
	/* skip the name, which fills the words up to the trailer */
	at = in->end - __builtin_popcountll(rec->event->attr.sample_type & PD_SAMPLE_ID);
	if (at < in->at)
		in->short_read = true;
	else
		in->at = at;
	parse_sample_id(in, rec);
	rec->pid = pid;
	rec->tid = tid;
}

static struct pd_rec *new_rec(struct pd_log *log)
{
	if (log->nr == log->room) {
		log->room = log->room ? 2 * log->room : 1024;
		log->recs = realloc(log->recs, log->room * sizeof(*log->recs));
		if (!log->recs)
			abort();
	}
	memset(&log->recs[log->nr], 0, sizeof(*log->recs));
	return &log->recs[log->nr++];
}

void pd_log_add(struct pd_log *log, const struct perf_event_header *header,
		const struct pd_event *event)
{
	struct words in = {
		.at = (const __u64 *)(header + 1),
		.end = (const __u64 *)header + header->size / 8,
	};
	struct pd_rec *rec = new_rec(log);

	rec->type = header->type;
	rec->misc = header->misc;
	rec->size = header->size;
	rec->event = event;
	if (header->size % 8)
		pd_log_malformed(log, "a record of %u bytes", header->size);

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		parse_sample(log, &in, rec);
		break;
	case PD_RECORD_DEFERRED:
		parse_deferred(log, &in, rec);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_fork(&in, rec);
		break;
	case PERF_RECORD_COMM:
		parse_comm(&in, rec);
		break;
	case PERF_RECORD_LOST:
		next_word(&in);
		log->lost += next_word(&in);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		log->lost += next_word(&in);
		break;
	}
	if (in.short_read)
		pd_log_malformed(log, "a record of type %u ends early", header->type);
}

void pd_log_free(struct pd_log *log)
{
	size_t i;

	for (i = 0; i < log->nr; i++) {
		free(log->recs[i].frames);
		free(log->recs[i].raw);
	}
	free(log->recs);
	free(log->index);
	memset(log, 0, sizeof(*log));
}

static int compare_key(const struct pd_rec *a, const struct pd_rec *b)
{
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->cookie != b->cookie)
		return a->cookie < b->cookie ? -1 : 1;
	return 0;
}

static int compare_index(const void *a, const void *b)
{
	return compare_key(*(const struct pd_rec **)a, *(const struct pd_rec **)b);
}

static void reindex_log(struct pd_log *log)
{
	const struct pd_rec *rec = NULL;

	free(log->index);
	log->indexed = 0;
	log->index = calloc(log->nr + 1, sizeof(*log->index));
	while (pd_log_next(log, PD_RECORD_DEFERRED, &rec))
		log->index[log->indexed++] = rec;
	qsort(log->index, log->indexed, sizeof(*log->index), compare_index);
	log->indexed_at = log->nr;
}

/* Index of the first record that is not below the key. */
static size_t lower_bound(struct pd_log *log, const struct pd_rec *key)
{
	size_t low = 0, high;

	if (!log->index || log->indexed_at != log->nr)
		reindex_log(log);
	high = log->indexed;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (compare_key(log->index[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t pd_log_records(struct pd_log *log, __u32 tid, __u64 cookie)
{
	struct pd_rec key = { .tid = tid, .cookie = cookie };
	size_t first = lower_bound(log, &key), at = first;

	while (at < log->indexed && !compare_key(log->index[at], &key))
		at++;
	return at - first;
}

const struct pd_rec *pd_log_record(struct pd_log *log, __u32 tid, __u64 cookie)
{
	struct pd_rec key = { .tid = tid, .cookie = cookie };
	size_t at = lower_bound(log, &key);

	if (at < log->indexed && !compare_key(log->index[at], &key))
		return log->index[at];
	return NULL;
}

bool pd_log_next(const struct pd_log *log, __u32 type, const struct pd_rec **rec)
{
	const struct pd_rec *end = log->recs + log->nr, *at;

	for (at = *rec ? *rec + 1 : log->recs; at < end; at++) {
		if (at->type == type) {
			*rec = at;
			return true;
		}
	}
	*rec = NULL;
	return false;
}

size_t pd_log_count(const struct pd_log *log, __u32 type)
{
	const struct pd_rec *rec = NULL;
	size_t count = 0;

	while (pd_log_next(log, type, &rec))
		count++;
	return count;
}

const struct pd_rec *pd_log_nth(const struct pd_log *log, __u32 type, size_t n)
{
	const struct pd_rec *rec = NULL;

	while (pd_log_next(log, type, &rec))
		if (!n--)
			return rec;
	return NULL;
}

enum pd_half pd_user_half(struct pd_log *log, const struct pd_rec *sample,
			  const struct pd_rec **stack)
{
	*stack = NULL;
	if (sample->inplace) {
		*stack = sample;
		return PD_INPLACE;
	}
	if (!sample->deferred)
		return PD_NONE;
	*stack = pd_log_record(log, sample->tid, sample->cookie);
	return *stack ? PD_STITCHED : PD_BARE;
}

int pd_log_clean(const struct pd_log *log)
{
	PD_CHECK(!log->malformed[0], "malformed: %s", log->malformed);
	PD_CHECK(!log->lost && !log->dropped, "%llu records lost, %llu dropped", log->lost,
		 log->dropped);
	return 0;
}

void pd_note_stack(const char *what, const struct pd_rec *rec)
{
	char line[600];
	size_t len = 0;
	__u32 i;

	line[0] = 0;
	for (i = 0; i < rec->nr_user && len < sizeof(line) - 20; i++)
		len += snprintf(line + len, sizeof(line) - len, " %llx", rec->user[i]);
	pd_note("%s: tid %u cookie %llx, %u user frames:%s", what, rec->tid,
		rec->cookie, rec->nr_user, line);
}

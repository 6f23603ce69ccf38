// SPDX-License-Identifier: GPL-2.0
/*
 * Unpack the output of the off-CPU BPF program on its way from the ring buffers to the
 * file: each payload becomes an ordinary sample of offcpu-time.  All other records are
 * written unchanged, without a copy if there is nothing to unpack.
 *
 * Several threads may unpack at the same time, each from its own ring buffers.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <bpf/bpf.h>
#include <internal/lib.h>
#include <perf/event.h>

#include "debug.h"
#include "event.h"
#include "evsel.h"
#include "mmap.h"
#include "off-cpu-direct.h"
#include "off_cpu.h"
#include "sample.h"
#include "synthetic-events.h"

/* Upper limit for the size of a sample made from a payload. */
#define SAMPLE_ROOM	4096

/* From a payload to a sample. */

/* The frames, and up to three other entries: kernel context, marker and cookie. */
#define MAX_CHAIN	(OFF_CPU_KERNEL_ROOM + OFF_CPU_MAX_STACKS + 3)

struct chain {
	u64 nr;
	u64 ips[MAX_CHAIN];
};

static size_t nr_ips(const struct off_cpu_payload *payload)
{
	if (payload->kind == OFF_CPU_SUMS)
		return 0;
	return payload->nr_user + payload->nr_kernel;
}

static bool payload_makes_sense(const struct off_cpu_payload *payload, size_t size)
{
	if (payload->kind != OFF_CPU_WAIT && payload->kind != OFF_CPU_SUMS)
		return false;
	if (payload->nr_kernel >= OFF_CPU_KERNEL_ROOM ||
	    payload->nr_user > OFF_CPU_MAX_STACKS)
		return false;
	/* a payload of sums has no stack and no cookie: the sums are in the BPF map */
	if (payload->kind == OFF_CPU_SUMS &&
	    (payload->nr_kernel || payload->nr_user || payload->cookie))
		return false;
	/* the kernel adds 4 bytes of padding, to align the record */
	return size == sizeof(*payload) + nr_ips(payload) * sizeof(u64) + sizeof(u32);
}

/**
 * off_cpu_record__payload - copy the payload of a record of BPF output
 * @event: the whole record
 * @to: the copy, as the payload is not aligned in the record
 *
 * Return: false if the BPF program cannot have sent this record.
 */
bool off_cpu_record__payload(const union perf_event *event, struct off_cpu_payload_room *to)
{
	const struct off_cpu_record *record = (const void *)event;
	size_t size = event->header.size;
	u32 raw_size;

	if (size < sizeof(*record) + sizeof(to->head) || size % sizeof(u64))
		return false;
	raw_size = record->raw_size;
	if (raw_size != size - sizeof(*record) || raw_size > sizeof(*to) + sizeof(u32))
		return false;

	memcpy(&to->head, record->raw, sizeof(to->head));
	if (!payload_makes_sense(&to->head, raw_size))
		return false;
	memcpy(to->ips, record->raw + sizeof(to->head), nr_ips(&to->head) * sizeof(u64));
	return true;
}

static void chain_add(struct chain *chain, u64 ip)
{
	chain->ips[chain->nr++] = ip;
}

static void chain_add_all(struct chain *chain, const u64 *ips, size_t nr)
{
	memcpy(chain->ips + chain->nr, ips, nr * sizeof(*ips));
	chain->nr += nr;
}

static void make_chain(struct chain *chain, const struct perf_event_attr *attr,
		       const struct off_cpu_payload *payload, const u64 *user,
		       const u64 *kernel)
{
	chain->nr = 0;
	if (payload->nr_kernel && !attr->exclude_callchain_kernel) {
		chain_add(chain, PERF_CONTEXT_KERNEL);
		chain_add_all(chain, kernel, payload->nr_kernel);
	}
	if (attr->exclude_callchain_user)
		return;
	if (payload->cookie) {
		chain_add(chain, PERF_CONTEXT_USER_DEFERRED);
		chain_add(chain, payload->cookie);
	} else if (payload->nr_user) {
		chain_add(chain, PERF_CONTEXT_USER);
		chain_add_all(chain, user, payload->nr_user);
	}
}

/*
 * Make a sample.  A wait has the cpumode of the kernel, where the task left the CPU.  A sum has
 * the cpumode of user space, as it has no kernel stack.  So readers can tell waits from sums.
 * Time and id are those of the @record with the payload, and so is the CPU unless the payload
 * contains one.
 */
static size_t make_sample(union perf_event *to, const struct perf_event_attr *attr,
			  const struct off_cpu_record *record,
			  const struct off_cpu_payload_room *room)
{
	const struct off_cpu_payload *payload = &room->head;
	const u64 *user = room->ips, *kernel = room->ips + payload->nr_user;
	bool is_wait = payload->kind == OFF_CPU_WAIT;
	struct perf_sample sample = {
		.id = record->id,
		.pid = payload->pid,
		.tid = payload->key.tid,
		.time = record->time,
		.cpu = payload->cpu == OFF_CPU_HERE ? record->cpu : payload->cpu,
		.period = payload->period,
		.cgroup = payload->cgroup_id,
	};
	struct chain chain;

	if (is_wait && payload->nr_kernel)
		sample.ip = kernel[0];
	else if (!is_wait && payload->nr_user)
		sample.ip = user[0];
	make_chain(&chain, attr, payload, user, kernel);
	sample.callchain = (struct ip_callchain *)&chain;

	to->header.type = PERF_RECORD_SAMPLE;
	to->header.misc = is_wait ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	to->header.size = perf_event__sample_event_size(&sample, attr->sample_type,
							attr->read_format);
	perf_event__synthesize_sample(to, attr->sample_type, attr->read_format, &sample);
	return to->header.size;
}

/* From the ring buffer to the file. */

/**
 * struct unpack - state of unpacking a ring buffer
 * @map: the ring buffer
 * @push: function that writes to the file
 * @to: argument of @push
 * @out: copied data that will be written next
 * @used: bytes in @out
 * @part: the beginning of a record that ends in the next piece
 * @have: bytes in @part
 */
struct unpack {
	struct mmap	*map;
	off_cpu_push_fn	push;
	void		*to;
	char		*out;
	size_t		used;
	char		*part;
	size_t		have;
};

static struct {
	struct evsel	*evsel;
	u64		*ids;
	size_t		nr_ids;
	int		sums_fd;
	atomic_ulong	malformed;
	atomic_ulong	forgotten;
} off_cpu;

static int compare_ids(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * off_cpu_unpack__start - start unpacking
 * @evsel: offcpu-time, opened
 * @sums_fd: the map of sums
 *
 * Return: 0, or -ENOMEM with a message.
 */
int off_cpu_unpack__start(struct evsel *evsel, int sums_fd)
{
	off_cpu.nr_ids = evsel->core.ids;
	off_cpu.ids = malloc(off_cpu.nr_ids * sizeof(u64));
	if (!off_cpu.ids) {
		pr_err("Out of memory while unpacking samples of %s.\n", OFFCPU_EVENT);
		return -ENOMEM;
	}
	memcpy(off_cpu.ids, evsel->core.id, off_cpu.nr_ids * sizeof(u64));
	qsort(off_cpu.ids, off_cpu.nr_ids, sizeof(u64), compare_ids);
	off_cpu.malformed = 0;
	off_cpu.forgotten = 0;
	off_cpu.sums_fd = sums_fd;
	off_cpu.evsel = evsel;
	return 0;
}

/**
 * off_cpu_unpack__malformed - number of malformed records since the start
 */
unsigned long off_cpu_unpack__malformed(void)
{
	return off_cpu.malformed;
}

/**
 * off_cpu_unpack__forgotten - number of threads whose sums could not all be read from the map
 */
unsigned long off_cpu_unpack__forgotten(void)
{
	return off_cpu.forgotten;
}

/**
 * off_cpu_unpack__stop - end unpacking, with warnings about errors
 */
void off_cpu_unpack__stop(void)
{
	off_cpu.evsel = NULL;
	zfree(&off_cpu.ids);
	if (off_cpu.malformed)
		pr_warning("WARNING: Skipped %lu malformed off-CPU records.\n",
			   (unsigned long)off_cpu.malformed);
	if (off_cpu.forgotten)
		pr_warning("WARNING: Cannot read the accumulated waits of %lu threads.\n",
			   (unsigned long)off_cpu.forgotten);
}

/* While records are unpacked, all events have PERF_SAMPLE_IDENTIFIER, so the id is first. */
static bool is_off_cpu_sample(const union perf_event *event)
{
	u64 id;

	if (event->header.type != PERF_RECORD_SAMPLE ||
	    event->header.size < sizeof(event->header) + sizeof(id))
		return false;
	id = event->sample.array[0];
	return bsearch(&id, off_cpu.ids, off_cpu.nr_ids, sizeof(id), compare_ids);
}

static int unpack_push(struct unpack *un, void *buf, size_t size)
{
	return size ? un->push(un->map, un->to, buf, size) : 0;
}

static int unpack_flush(struct unpack *un)
{
	size_t used = un->used;

	un->used = 0;
	return unpack_push(un, un->out, used) < 0 ? -1 : 0;
}

/*
 * perf record can compress at most the size of the ring buffer plus a page at a time. Leave the
 * page for the headers of compressed records, in case compression does not make the data smaller.
 */
static size_t unpack_out_room(struct unpack *un)
{
	return mmap__mmap_len(un->map) - page_size;
}

/* Return room for one more sample. */
static union perf_event *unpack_make_room(struct unpack *un)
{
	if (!un->out) {
		un->out = malloc(unpack_out_room(un) + SAMPLE_ROOM);
		if (!un->out)
			return NULL;
	}
	if (un->used && un->used + SAMPLE_ROOM > unpack_out_room(un) && unpack_flush(un))
		return NULL;
	return (void *)un->out + un->used;
}

static int unpack_put_sample(struct unpack *un, const struct off_cpu_record *record,
			     const struct off_cpu_payload_room *payload)
{
	union perf_event *to = unpack_make_room(un);

	if (!to)
		return -1;
	un->used += make_sample(to, &off_cpu.evsel->core.attr, record, payload);
	return 0;
}

/* Write a list of sums and delete each from the map, so that even a circular list ends. */
static int unpack_put_sums(struct unpack *un, const struct off_cpu_record *record,
			   struct off_cpu_payload_room *payload)
{
	struct off_cpu_sum_key *key = &payload->head.key;
	struct off_cpu_sum sum;

	while (key->hash) {
		if (bpf_map_lookup_elem(off_cpu.sums_fd, key, &sum) ||
		    bpf_map_delete_elem(off_cpu.sums_fd, key)) {
			off_cpu.forgotten++;
			return 0;
		}
		payload->head.period = sum.period;
		payload->head.cgroup_id = sum.cgroup_id;
		payload->head.nr_user = min_t(u64, sum.nr_user, OFF_CPU_MAX_STACKS);
		memcpy(payload->ips, sum.user, sizeof(sum.user));
		if (unpack_put_sample(un, record, payload))
			return -1;
		key->hash = sum.next;
	}
	return 0;
}

static int unpack_sample(struct unpack *un, const union perf_event *event)
{
	const struct off_cpu_record *record = (const void *)event;
	struct off_cpu_payload_room payload;

	if (!off_cpu_record__payload(event, &payload)) {
		off_cpu.malformed++;
		return 0;
	}
	if (payload.head.kind == OFF_CPU_SUMS)
		return unpack_put_sums(un, record, &payload);
	return unpack_put_sample(un, record, &payload);
}

/* If samples wait to be written, append the data to them: a copy is cheaper than small writes. */
static int unpack_pass(struct unpack *un, void *buf, size_t size)
{
	if (!size)
		return 0;
	if (un->used && size <= unpack_out_room(un) - un->used) {
		memcpy(un->out + un->used, buf, size);
		un->used += size;
		return 0;
	}
	return unpack_flush(un) || unpack_push(un, buf, size) < 0 ? -1 : 0;
}

/* Finish the record that began in the previous piece. @size bytes of it are missing. */
static int unpack_finish_part(struct unpack *un, const void *buf, size_t size)
{
	union perf_event *event = (void *)un->part;

	memcpy(un->part + un->have, buf, size);
	un->have = 0;
	if (is_off_cpu_sample(event))
		return unpack_sample(un, event);
	return unpack_pass(un, event, event->header.size);
}

static int unpack_begin_part(struct unpack *un, const void *buf, size_t size)
{
	if (!un->part)
		un->part = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!un->part)
		return -1;
	memcpy(un->part, buf, size);
	un->have = size;
	return 0;
}

/*
 * Write one piece of a ring buffer.  Records are aligned, so a header is never
 * split.  If the size of a record is less than that of a header, write the rest
 * of the piece unchanged, from that record on.
 */
static int unpack_push_piece(struct mmap *map __maybe_unused, void *to, void *buf, size_t size)
{
	struct unpack *un = to;
	size_t passed = 0, at = 0;

	if (un->have) {
		at = ((union perf_event *)un->part)->header.size - un->have;
		if (at > size) {
			memcpy(un->part + un->have, buf, size);
			un->have += size;
			return 0;
		}
		if (unpack_finish_part(un, buf, at))
			return -1;
		passed = at;
	}

	while (size - at >= sizeof(struct perf_event_header)) {
		union perf_event *event = buf + at;

		if (event->header.size < sizeof(event->header))
			break;
		if (event->header.size > size - at) {
			if (unpack_pass(un, buf + passed, at - passed))
				return -1;
			return unpack_begin_part(un, event, size - at);
		}
		if (is_off_cpu_sample(event)) {
			if (unpack_pass(un, buf + passed, at - passed) || unpack_sample(un, event))
				return -1;
			passed = at + event->header.size;
		}
		at += event->header.size;
	}
	return unpack_pass(un, buf + passed, size - passed);
}

/**
 * off_cpu_push - like perf_mmap__push(), but unpack off-CPU samples
 * @map: the ring buffer
 * @to: passed on to @push_fn
 * @push_fn: function that writes to the file
 *
 * Return: as perf_mmap__push()
 */
int off_cpu_push(struct mmap *map, void *to, off_cpu_push_fn push_fn)
{
	struct unpack un = { .map = map, .push = push_fn, .to = to };
	int ret;

	if (!off_cpu.evsel)
		return perf_mmap__push(map, to, push_fn);

	ret = perf_mmap__push(map, &un, unpack_push_piece);
	/* write an incomplete record unchanged */
	if (!ret && (unpack_pass(&un, un.part, un.have) || unpack_flush(&un)))
		ret = -1;
	free(un.out);
	free(un.part);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Test the unpacking of off-CPU samples from a ring buffer that contains broken records
 * and wraps around at any place.  Also test the clock of these samples.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "tests.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evsel.h"
#include "util/mmap.h"
#include "util/off_cpu.h"

#ifdef HAVE_BPF_SKEL
#include "util/off-cpu-direct.h"
#include "util/sample.h"

#define ID	4711
#define PAGES	2
#define MOST	(PAGES * 4096UL)

struct bytes {
	char	buf[MOST];
	size_t	size;
};

/* A stream of records, and the expected numbers of good, bad and forgotten records. */
struct stream {
	struct bytes	in;
	unsigned int	good, bad, forgotten;
};

/* Ways in which the stream ends. */
enum tail { WHOLE, CUT, TOO_SMALL, NR_TAILS };

static void put_plain(struct stream *st, u32 type, u64 id, size_t words)
{
	union perf_event *event = (void *)st->in.buf + st->in.size;
	size_t i;

	event->header.type = type;
	event->header.misc = 1;
	event->header.size = sizeof(event->header) + words * sizeof(u64);
	for (i = 0; i < words; i++)
		event->sample.array[i] = i ? i * 77 : id;
	st->in.size += event->header.size;
}

static struct off_cpu_record *put_wait(struct stream *st, size_t nr_user, size_t nr_kernel,
				       u64 cookie)
{
	struct off_cpu_record *record = (void *)st->in.buf + st->in.size;
	struct off_cpu_payload_room room = {
		.head = {
			.kind = OFF_CPU_WAIT,
			.pid = 10,
			.key = { .tid = 11 },
			.cgroup_id = 5,
			.period = 12345,
			.cookie = cookie,
			.cpu = OFF_CPU_HERE,
			.nr_user = nr_user,
			.nr_kernel = nr_kernel,
		},
	};
	size_t i, size = sizeof(room.head) + (nr_user + nr_kernel) * sizeof(u64);

	for (i = 0; i < nr_user; i++)
		room.ips[i] = 0x400000 + i;
	for (i = 0; i < nr_kernel; i++)
		room.ips[nr_user + i] = 0xffffffff81000000ULL + i;
	record->header.type = PERF_RECORD_SAMPLE;
	record->header.misc = PERF_RECORD_MISC_KERNEL;
	record->id = ID;
	record->pid = 99;
	record->tid = 99;
	record->time = 1000 + st->good;
	record->cpu = 3;
	record->reserved = 0;
	record->raw_size = size + sizeof(u32);
	record->header.size = sizeof(*record) + record->raw_size;
	memcpy(record->raw, &room, size);
	memset(record->raw + size, 0, sizeof(u32));
	st->in.size += record->header.size;
	st->good++;
	return record;
}

static struct off_cpu_record *put_bad(struct stream *st)
{
	struct off_cpu_record *record = put_wait(st, 2, 3, 0);

	st->good--;
	st->bad++;
	return record;
}

/* A list of sums that is not in the map. */
static void put_sums(struct stream *st)
{
	struct off_cpu_record *record = put_wait(st, 0, 0, 0);
	u32 sums = OFF_CPU_SUMS;
	u64 hash = 77;

	st->good--;
	st->forgotten++;
	memcpy(record->raw + offsetof(struct off_cpu_payload, kind), &sums, sizeof(sums));
	memcpy(record->raw + offsetof(struct off_cpu_payload, key.hash), &hash, sizeof(hash));
}

/* The last record is incomplete, or its size is less than a header. */
static void put_tail(struct stream *st, enum tail tail)
{
	union perf_event *event = (void *)st->in.buf + st->in.size;

	if (tail == WHOLE)
		return;
	put_plain(st, PERF_RECORD_SAMPLE, ID, 5);
	if (tail == CUT)
		event->header.size += sizeof(u64);
	else
		event->header.size = sizeof(event->header) - 1;
}

static void fill_stream(struct stream *st, enum tail tail)
{
	struct off_cpu_record *record;
	u16 kernel = OFF_CPU_KERNEL_ROOM, user = OFF_CPU_MAX_STACKS + 1;
	u32 none = 0, sums = OFF_CPU_SUMS;

	put_plain(st, PERF_RECORD_MMAP, ID, 6);
	put_plain(st, PERF_RECORD_SAMPLE, 5, 3);
	put_wait(st, 1, 3, 0);
	put_wait(st, 0, 0, 42);
	put_plain(st, PERF_RECORD_SAMPLE, 6, 9);
	put_wait(st, OFF_CPU_MAX_STACKS, OFF_CPU_KERNEL_ROOM - 1, 0);
	record = put_bad(st);
	memcpy(record->raw + offsetof(struct off_cpu_payload, kind), &none, sizeof(none));
	record = put_bad(st);
	memcpy(record->raw + offsetof(struct off_cpu_payload, nr_kernel), &kernel, sizeof(kernel));
	record = put_bad(st);
	memcpy(record->raw + offsetof(struct off_cpu_payload, nr_user), &user, sizeof(user));
	/* valid except for the number of user frames */
	record = put_bad(st);
	user = 4;
	memcpy(record->raw + offsetof(struct off_cpu_payload, nr_user), &user, sizeof(user));
	/* a record of sums must not have frames */
	record = put_bad(st);
	memcpy(record->raw + offsetof(struct off_cpu_payload, kind), &sums, sizeof(sums));
	/* ... nor a cookie */
	record = put_wait(st, 0, 0, 7);
	st->good--;
	st->bad++;
	memcpy(record->raw + offsetof(struct off_cpu_payload, kind), &sums, sizeof(sums));
	/* ... nor a number of frames */
	record = put_wait(st, 0, 0, 0);
	st->good--;
	st->bad++;
	user = 2;
	memcpy(record->raw + offsetof(struct off_cpu_payload, kind), &sums, sizeof(sums));
	memcpy(record->raw + offsetof(struct off_cpu_payload, nr_kernel), &user, sizeof(user));
	record = put_bad(st);
	record->raw_size += sizeof(u64);
	record = put_bad(st);
	record->raw_size = -4U;
	record = put_bad(st);
	record->header.size -= sizeof(u64);
	st->in.size -= sizeof(u64);
	put_plain(st, PERF_RECORD_SAMPLE, ID, 1);
	st->bad++;
	put_plain(st, PERF_RECORD_SAMPLE, ID, 5);
	st->bad++;
	put_plain(st, PERF_RECORD_SAMPLE, 7, 0);
	put_sums(st);
	put_wait(st, 0, 2, 44);
	put_plain(st, PERF_RECORD_EXIT, ID, 4);
	put_tail(st, tail);
}

/* Make a ring buffer with these bytes, from offset @start on. */
static int make_ring(struct mmap *map, const struct bytes *bytes, size_t start)
{
	struct perf_event_mmap_page *page;
	size_t i, mask = MOST - 1;

	memset(map, 0, sizeof(*map));
	page = calloc(1, page_size + MOST);
	if (!page)
		return -1;
	page->data_tail = start;
	page->data_head = start + bytes->size;
	for (i = 0; i < bytes->size; i++)
		((char *)page)[page_size + ((start + i) & mask)] = bytes->buf[i];
	map->core.base = page;
	map->core.mask = mask;
	map->core.prev = start;
	map->core.flush = 1;
	refcount_set(&map->core.refcnt, 2);
	return 0;
}

static int take_bytes(struct mmap *map __maybe_unused, void *to, void *buf, size_t size)
{
	struct bytes *out = to;

	if (size > sizeof(out->buf) - out->size)
		return -1;
	memcpy(out->buf + out->size, buf, size);
	out->size += size;
	return 0;
}

static bool are_frames(const u64 *ips, u64 context, u64 first, size_t nr)
{
	size_t i;

	if (nr && *ips++ != context)
		return false;
	for (i = 0; i < nr; i++)
		if (ips[i] != first + i)
			return false;
	return true;
}

static bool is_right(struct evsel *evsel, union perf_event *event, unsigned int nth)
{
	static const size_t user[] = { 1, 0, OFF_CPU_MAX_STACKS, 0 };
	static const size_t kernel[] = { 3, 0, OFF_CPU_KERNEL_ROOM - 1, 2 };
	static const u64 cookie[] = { 0, 42, 0, 44 };
	size_t at = kernel[nth] ? kernel[nth] + 1 : 0;
	size_t nr = at + (user[nth] ? user[nth] + 1 : 0) + (cookie[nth] ? 2 : 0);
	struct perf_sample sample = {};
	struct ip_callchain *chain;

	if (evsel__parse_sample(evsel, event, &sample))
		return false;
	chain = sample.callchain;
	if (!chain || chain->nr != nr || sample.id != ID || sample.pid != 10 || sample.tid != 11 ||
	    sample.time != 1000 + nth || sample.cpu != 3 || sample.period != 12345 ||
	    sample.cgroup != 5)
		return false;
	if (!are_frames(chain->ips, PERF_CONTEXT_KERNEL, 0xffffffff81000000ULL, kernel[nth]) ||
	    !are_frames(chain->ips + at, PERF_CONTEXT_USER, 0x400000, user[nth]))
		return false;
	return !cookie[nth] || (chain->ips[nr - 2] == PERF_CONTEXT_USER_DEFERRED &&
				chain->ips[nr - 1] == cookie[nth]);
}

static bool is_ours(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_SAMPLE &&
	       event->header.size > sizeof(event->header) && event->sample.array[0] == ID;
}

/* Is the record complete? */
static bool is_whole(const union perf_event *event, size_t left)
{
	return event->header.size >= sizeof(event->header) && event->header.size <= left;
}

static bool is_wait(const union perf_event *event)
{
	struct off_cpu_payload_room room;

	return off_cpu_record__payload(event, &room) && room.head.kind == OFF_CPU_WAIT;
}

/* Off-CPU samples must be right, and all other records unchanged and in order. */
static bool check_output(struct evsel *evsel, const struct stream *st, struct bytes *out)
{
	unsigned int good = 0;
	size_t in = 0, at = 0;

	while (in < st->in.size) {
		union perf_event *was = (void *)st->in.buf + in;
		union perf_event *is = (void *)out->buf + at;
		size_t left = st->in.size - in;
		bool ours;

		if (!is_whole(was, left))
			return out->size - at == left && !memcmp(was, is, left) && good == st->good;
		ours = is_ours(was);
		in += was->header.size;
		if (ours && !is_wait(was))
			continue;
		if (at + sizeof(is->header) > out->size)
			return false;
		at += is->header.size;
		if (at > out->size)
			return false;
		if (ours ? !is_right(evsel, is, good++) :
			   memcmp(was, is, was->header.size))
			return false;
	}
	return at == out->size && good == st->good;
}

static int push_and_check(struct evsel *evsel, const struct stream *st, size_t start)
{
	struct bytes *out = zalloc(sizeof(*out));
	unsigned long forgotten = off_cpu_unpack__forgotten();
	unsigned long bad = off_cpu_unpack__malformed();
	struct mmap map;
	int ret = TEST_FAIL;

	if (!out || make_ring(&map, &st->in, start))
		goto out;
	if (off_cpu_push(&map, out, take_bytes))
		pr_debug("start %zu: not pushed\n", start);
	else if (off_cpu_unpack__malformed() - bad != st->bad)
		pr_debug("start %zu: %lu malformed instead of %u\n", start,
			 off_cpu_unpack__malformed() - bad, st->bad);
	else if (off_cpu_unpack__forgotten() - forgotten != st->forgotten)
		pr_debug("start %zu: %lu threads forgotten instead of %u\n", start,
			 off_cpu_unpack__forgotten() - forgotten, st->forgotten);
	else if (!check_output(evsel, st, out))
		pr_debug("start %zu: wrong records\n", start);
	else
		ret = TEST_OK;
	free(map.core.base);
out:
	free(out);
	return ret;
}

static struct evsel *make_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = OFFCPU_SAMPLE_TYPES & ~PERF_SAMPLE_ID,
	};
	struct evsel *evsel = evsel__new(&attr);

	if (evsel)
		evsel->core.id = calloc(1, sizeof(u64));
	if (evsel && evsel->core.id) {
		evsel->core.id[0] = ID;
		evsel->core.ids = 1;
	}
	return evsel;
}

/* Is an unaligned record accepted?  Records of the kernel are aligned. */
static bool takes_unaligned(void)
{
	struct stream *st = zalloc(sizeof(*st));
	struct off_cpu_payload_room room;
	struct off_cpu_record *record;
	bool takes = true;

	if (st) {
		record = put_wait(st, 1, 0, 0);
		record->header.size += sizeof(u32);
		record->raw_size += sizeof(u32);
		takes = off_cpu_record__payload((void *)st->in.buf, &room);
	}
	free(st);
	return takes;
}

/* Let the buffer wrap around at each possible place. */
static int run_all(struct evsel *evsel, enum tail tail)
{
	struct stream *st = zalloc(sizeof(*st));
	int ret = TEST_FAIL;
	size_t start;

	if (!st)
		return ret;
	fill_stream(st, tail);
	for (start = 0; start < MOST; start += sizeof(u64)) {
		ret = push_and_check(evsel, st, start);
		if (ret) {
			pr_debug("... with tail %d\n", tail);
			break;
		}
	}
	free(st);
	return ret;
}

static int test__off_cpu_unpack(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct evsel *evsel = make_event();
	int ret = TEST_FAIL;
	enum tail tail;

	if (!evsel || takes_unaligned() || off_cpu_unpack__start(evsel, -1))
		goto out;
	for (tail = WHOLE; tail < NR_TAILS; tail++) {
		ret = run_all(evsel, tail);
		if (ret)
			break;
	}
	off_cpu_unpack__stop();
out:
	if (evsel)
		evsel__delete(evsel);
	return ret;
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

static u64 monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Send the clocks of a process in a time namespace that is a million seconds ahead. */
static int read_clocks_ahead(int fd)
{
	static const char ahead[] = "monotonic 1000000 0";
	int offsets = open("/proc/self/timens_offsets", O_WRONLY);
	u64 clocks[2];

	if (offsets < 0 || unshare(CLONE_NEWTIME) ||
	    write(offsets, ahead, sizeof(ahead) - 1) < 0)
		return TEST_SKIP;
	close(offsets);

	if (!fork()) {
		clocks[0] = off_cpu_clock();
		clocks[1] = monotonic_ns();
		_exit(write(fd, clocks, sizeof(clocks)) == sizeof(clocks) ? 0 : 1);
	}
	return wait(NULL) > 0 ? TEST_OK : TEST_FAIL;
}

static int test__off_cpu_clock(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	u64 here = off_cpu_clock(), clocks[2];
	int fds[2], status;
	bool is_read;

	if (pipe(fds))
		return TEST_FAIL;
	if (!fork())
		_exit(read_clocks_ahead(fds[1]) == TEST_SKIP ? 2 : 0);
	close(fds[1]);
	is_read = read(fds[0], clocks, sizeof(clocks)) == sizeof(clocks);
	close(fds[0]);
	if (wait(&status) < 0 || !WIFEXITED(status))
		return TEST_FAIL;
	if (WEXITSTATUS(status) == 2) {
		pr_debug("no time namespaces here\n");
		return TEST_OK;
	}
	return is_read && clocks[0] >= here && clocks[0] <= off_cpu_clock() &&
	       clocks[1] >= clocks[0] + 1000000ULL * NSEC_PER_SEC ? TEST_OK : TEST_FAIL;
}
#else
static int test__off_cpu_unpack(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	return TEST_SKIP;
}

static int test__off_cpu_clock(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	return TEST_SKIP;
}
#endif

static struct test_case tests__off_cpu_unpack[] = {
	TEST_CASE("Unpack off-cpu samples", off_cpu_unpack),
	TEST_CASE("Clock of off-cpu samples", off_cpu_clock),
	{ .name = NULL, }
};

struct test_suite suite__off_cpu_unpack = {
	.desc = "Off-cpu samples before they are written",
	.test_cases = tests__off_cpu_unpack,
};

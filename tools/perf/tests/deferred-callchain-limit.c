// SPDX-License-Identifier: GPL-2.0
/* Test the limits on the time and memory for held deferred samples, and the counts of samples. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>

#include "callchain.h"
#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "event.h"
#include "evlist.h"
#include "ordered-events.h"
#include "sample.h"
#include "session.h"
#include "tests.h"
#include "tool.h"
#include "ui/progress.h"

#define DEFAULT_LIMIT	(512 << 20)

/**
 * struct count_tool - a tool that counts samples
 * @tool: the tool
 * @session: the session, only in tests that create one themselves
 * @complete: samples with their user half
 * @incomplete: samples without their user half
 * @last_bare: time of the last sample without its user half
 * @wrong: some sample had the user half of another thread
 * @stats: counts of the session
 */
struct count_tool {
	struct perf_tool tool;
	struct perf_session *session;
	u64 complete;
	u64 incomplete;
	u64 last_bare;
	bool wrong;
	struct deferred_callchain_stats stats;
};

static int count_sample(SAMPLE_PARAMS)
{
	struct count_tool *count = container_of(tool, struct count_tool, tool);
	struct ip_callchain *chain = sample->callchain;
	u64 last = chain->nr ? chain->ips[chain->nr - 1] : 0;

	if (sample->deferred_callchain) {
		count->incomplete++;
		count->last_bare = sample->time;
	} else {
		count->complete++;
		count->wrong |= (last >> 20 & 0xfffff) != sample->tid;
	}
	return 0;
}

static void count_tool__init(struct count_tool *count)
{
	memset(count, 0, sizeof(*count));
	perf_tool__init(&count->tool, /*ordered_events=*/true);
	count->tool.sample = count_sample;
	count->tool.no_warn = true;
}

static bool read_limited(struct count_tool *count, const struct synth *s, u64 limit)
{
	int ret;

	deferred_callchain_limit = limit;
	ret = synth__read(&count->tool, s, SIZE_MAX, &count->stats);
	deferred_callchain_limit = DEFAULT_LIMIT;
	return !ret && !count->wrong;
}

/* 50 samples wait at the same time. Each takes some 200 bytes in the queue. */
static void build_waiting(struct synth *s)
{
	for (u32 i = 0; i < 50; i++)
		synth__deferred(s, 100 + i, 10 + i, 1);
	synth__pass_time(s, 100);
	synth__pass_time(s, 110);
	for (u32 i = 0; i < 50; i++)
		synth__record(s, 100 + i, 200 + i, 1, 3);
}

/* At the limit, the oldest waiting samples lose their user half, and no more than necessary. */
static int test__deferred_limit(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct synth s = { .piped = true };
	struct count_tool count;
	u64 dropped;
	bool ok;

	build_waiting(&s);
	count_tool__init(&count);
	ok = read_limited(&count, &s, 6 << 10);
	dropped = count.incomplete;
	ok &= dropped > 10 && dropped < 45 && count.last_bare == 10 + dropped - 1 &&
	      count.stats.incomplete[DEFERRED_INCOMPLETE__LIMIT] == dropped &&
	      count.stats.orphans == dropped;
	if (!ok)
		pr_debug("FAILED: %llu dropped, the last at %llu\n", (unsigned long long)dropped,
			 (unsigned long long)count.last_bare);

	count_tool__init(&count);
	ok &= read_limited(&count, &s, DEFAULT_LIMIT) && !count.incomplete;
	/* in a file, no sample has to wait */
	s.piped = false;
	count_tool__init(&count);
	ok &= read_limited(&count, &s, 6 << 10) && !count.incomplete;
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * Return the number of samples that lose their user half while the index has copies of @nr_ahead
 * records of other threads.
 */
static u64 drop_beside(unsigned int nr_ahead, bool *ok)
{
	struct synth s = { .piped = true };
	struct count_tool count;

	for (u32 i = 0; i < 50; i++)
		synth__deferred(&s, 100 + i, 10 + i, 1);
	synth__pass_time(&s, 100);
	for (u32 i = 0; i < nr_ahead; i++)
		synth__record(&s, 500 + i, 120, 1, 100);
	synth__pass_time(&s, 130);
	for (u32 i = 0; i < 50; i++)
		synth__record(&s, 100 + i, 200 + i, 1, 3);

	count_tool__init(&count);
	*ok &= read_limited(&count, &s, 32 << 10) && count.complete + count.incomplete == 52 &&
	       count.stats.incomplete[DEFERRED_INCOMPLETE__LIMIT] == count.incomplete;
	synth__free(&s);
	return count.incomplete;
}

static int test__deferred_limit_of_all(struct test_suite *test __maybe_unused,
				       int subtest __maybe_unused)
{
	bool ok = true;
	u64 alone = drop_beside(0, &ok), beside = drop_beside(18, &ok);

	if (!ok || alone || !beside)
		pr_debug("FAILED: dropped %llu without records of other threads, %llu with them\n",
			 (unsigned long long)alone, (unsigned long long)beside);
	return ok && !alone && beside ? TEST_OK : TEST_FAIL;
}

/* Many more events than the limit allows: in one flush round, or each sample in its own round. */
static void build_many(struct synth *s, bool rounds)
{
	for (u32 i = 0; i < 500; i++) {
		synth__deferred(s, 100 + i % 7, 10 + 10 * i, i + 1);
		synth__record(s, 100 + i % 7, 12 + 10 * i, i + 1, 100);
		if (rounds)
			synth__round(s);
	}
}

static bool check_limited(const struct synth *s, u64 limit, u64 complete, u64 incomplete)
{
	struct count_tool count;
	bool ok;

	count_tool__init(&count);
	ok = read_limited(&count, s, limit) && count.complete == complete &&
	     count.incomplete == incomplete &&
	     count.stats.incomplete[DEFERRED_INCOMPLETE__LIMIT] == incomplete;
	if (!ok)
		pr_debug("FAILED with %llu: %llu complete, %llu incomplete\n",
			 (unsigned long long)limit,
			 (unsigned long long)count.complete, (unsigned long long)count.incomplete);
	return ok;
}

/* No sample loses its user half if its record has been read, whatever the limit is. */
static int test__deferred_ahead(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	build_many(&s, false);
	ok = check_limited(&s, 16 << 10, 500, 0);
	s.piped = true;
	ok = ok && check_limited(&s, 16 << 10, 500, 0) && check_limited(&s, DEFAULT_LIMIT, 500, 0);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * A sample of a sleeping thread waits for a record at the end of the file.  Events
 * are read ahead or held for the sample only up to the limit.  At the limit, only
 * this sample loses its user half.
 */
static int test__deferred_sleeper(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	synth__deferred(&s, 300, 5, 1);
	build_many(&s, true);
	synth__record(&s, 300, 100000, 1, 1);
	ok = check_limited(&s, DEFAULT_LIMIT, 501, 0);
	s.piped = true;
	ok = ok && check_limited(&s, DEFAULT_LIMIT, 501, 0) && check_limited(&s, 64 << 10, 500, 1);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * The last records of many threads are kept under a separate limit, so no sample loses
 * its user half because of them.
 */
static int test__deferred_limit_of_kept(struct test_suite *test __maybe_unused,
					int subtest __maybe_unused)
{
	struct synth s = { .piped = true };
	bool ok;

	for (u32 i = 0; i < 1000; i++) {
		synth__deferred(&s, 1000 + i, 10 + 10 * i, 1);
		synth__record(&s, 1000 + i, 12 + 10 * i, 1, 10);
		synth__round(&s);
	}
	synth__deferred(&s, 300, 20000, 1);
	for (u64 time = 20010; time <= 20030; time += 10)
		synth__pass_time(&s, time);
	synth__record(&s, 300, 20040, 1, 1);
	ok = check_limited(&s, 64 << 10, 1004, 0);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/* A sample of a sleeping thread, in a file that is too large to be scanned in one step. */
static int test__deferred_sleeper_in_file(struct test_suite *test __maybe_unused,
					  int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	synth__deferred(&s, 300, 5, 1);
	for (u64 i = 0; i < 40; i++) {
		for (u32 j = 0; j < 100; j++) {
			synth__deferred(&s, 100 + j, 100 * (i + 1) + j, i + 1);
			synth__record(&s, 100 + j, 100 * (i + 1) + j, i + 1, 100);
		}
		synth__round(&s);
	}
	synth__record(&s, 300, 1000000, 1, 1);
	ok = check_limited(&s, DEFAULT_LIMIT, 4001, 0) && check_limited(&s, 64 << 10, 4000, 1);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

#define HOLES	65536

/*
 * The record of the first sample is the last event of a file of 4 GB, most of it holes. The limit
 * is enough for the index of the file, but not if events were held as well.
 */
static int test__deferred_far(struct test_suite *test __maybe_unused,
			      int subtest __maybe_unused)
{
	struct synth s = {};
	struct count_tool count;
	int ret;

	synth__deferred(&s, 300, 5, 1);
	for (u64 i = 1; i <= HOLES; i++) {
		synth__hole(&s);
		if (i % 16)
			continue;
		synth__deferred(&s, 100, 10 * i, i);
		synth__record(&s, 100, 10 * i + 1, i, 3);
		synth__round(&s);
	}
	synth__record(&s, 300, 10 * HOLES + 10, 1, 1);
	count_tool__init(&count);
	deferred_callchain_limit = 512 << 10;
	ret = synth__read(&count.tool, &s, SIZE_MAX, &count.stats);
	deferred_callchain_limit = DEFAULT_LIMIT;
	synth__free(&s);
	if (ret == -ENOSPC || ret == -EFBIG || ret == -EDQUOT) {
		pr_debug("SKIPPED: no room in /tmp for a file of 4 GB that is mostly holes\n");
		return TEST_SKIP;
	}
	if (!ret && !count.wrong && !count.incomplete && count.complete == HOLES / 16 + 1)
		return TEST_OK;
	pr_debug("FAILED: %d, %llu complete, %llu incomplete\n", ret,
		 (unsigned long long)count.complete, (unsigned long long)count.incomplete);
	return TEST_FAIL;
}

/* The farthest place to which perf has looked ahead, as its progress bar shows it. */
static u64 looked_ahead;

static void note_progress(struct ui_progress *progress)
{
	if (!strcmp(progress->title, "Looking ahead..."))
		looked_ahead = progress->curr;
}

/* In a file of 48 MiB, perf looks ahead only to the record, which is behind 16 MiB. */
static int test__deferred_near(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	struct ui_progress_ops *usual = ui_progress__ops, ops = { .update = note_progress };
	struct count_tool count;
	struct synth s = {};
	int ret;

	synth__deferred(&s, 300, 5, 1);
	synth__pass_time(&s, 6);
	synth__pass_time(&s, 7);
	for (int i = 0; i < 3 * 256; i++) {
		if (i == 256)
			synth__record(&s, 300, 10, 1, 1);
		synth__hole(&s);
	}
	count_tool__init(&count);
	looked_ahead = 0;
	ui_progress__ops = &ops;
	ret = synth__read(&count.tool, &s, SIZE_MAX, &count.stats);
	ui_progress__ops = usual;
	synth__free(&s);
	if (!ret && count.complete == 3 && looked_ahead > 8 << 20 && looked_ahead < 20 << 20)
		return TEST_OK;
	pr_debug("FAILED: %d, %llu complete, looked ahead to %llu\n", ret,
		 (unsigned long long)count.complete, (unsigned long long)looked_ahead);
	return TEST_FAIL;
}

/*
 * Return the CPU time in ms for making and reading a file in which @nr records of one thread come
 * before the record of another thread.
 */
static long read_records(u64 nr, bool *ok)
{
	clock_t start = clock();
	struct count_tool count;
	struct synth s = {};

	synth__deferred(&s, 300, 5, 1);
	/* the turn of the sample comes before its record is read */
	synth__round(&s);
	synth__round(&s);
	for (u64 i = 1; i <= nr; i++)
		synth__record(&s, 100, 5 + i, i, 0);
	synth__record(&s, 300, 10 + nr, 1, 1);
	count_tool__init(&count);
	*ok &= read_limited(&count, &s, DEFAULT_LIMIT) && count.complete == 1 &&
	       count.stats.records == nr + 1;
	synth__free(&s);
	return (clock() - start) / (CLOCKS_PER_SEC / 1000);
}

/* The time must grow in proportion to the number of records. */
static int test__deferred_millions(struct test_suite *test __maybe_unused,
				   int subtest __maybe_unused)
{
	bool ok = true;
	long few = read_records(400000, &ok), many = 0;

	/* with sanitizers, many records would take too much time and memory */
	if (few < 2000)
		many = read_records(4000000, &ok);
	pr_debug("400,000 records: %ld ms, 4,000,000: %ld ms\n", few, many);
	return ok && many <= 20 * few + 1000 ? TEST_OK : TEST_FAIL;
}

#define MANY_MAPS	4096
#define MANY_CHANGES	1500

/* A process changes one of its many maps after each sample: the reader must not copy the maps. */
static int test__deferred_maps(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	struct count_tool count;
	struct synth s = {};
	bool ok;

	synth__comm(&s, 100, 1);
	for (u32 i = 0; i < MANY_MAPS; i++)
		synth__mmap_by(&s, 100, 1000 + i, 2, 0, 1, "/lib/a");
	for (u32 i = 0; i < MANY_CHANGES; i++) {
		synth__deferred(&s, 100, 10 + 2 * i, 1);
		synth__mmap_by(&s, 100, 1000 + i, 11 + 2 * i, 0, 1, "/lib/b");
	}
	synth__record(&s, 100, 1000020, 1, 1);
	count_tool__init(&count);
	count.tool.comm = perf_event__process_comm;
	count.tool.mmap = perf_event__process_mmap;
	ok = read_limited(&count, &s, 4 << 10) && count.complete == MANY_CHANGES;
	if (!ok)
		pr_debug("FAILED: %llu complete\n", (unsigned long long)count.complete);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/* Threads return to user space while a buffer is full. */
static void build_lost(struct synth *s)
{
	s->cpu = 1;
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 500, 10, 1);
	s->cpu = 2;
	synth__deferred(s, 200, 11, 1);
	s->cpu = 3;
	synth__deferred(s, 300, 12, 1);
	synth__deferred(s, 400, 13, 1);
	s->cpu = 1;
	synth__lost(s, 20);
	synth__deferred(s, 100, 30, 2);	/* still on the CPU of the loss */
	synth__deferred(s, 200, 31, 2);	/* moved to the CPU of the loss */
	s->cpu = 2;
	synth__deferred(s, 500, 31, 2);	/* moved away from the CPU of the loss */
	s->cpu = 3;
	synth__deferred(s, 300, 32, 2);	/* never on the CPU of the loss */
	synth__exit(s, 400, 33);
	s->cpu = 1;
	synth__record(s, 100, 40, 2, 1);
	synth__record(s, 200, 41, 2, 1);
	s->cpu = 3;
	synth__record(s, 300, 42, 2, 1);
	s->cpu = 2;
	synth__record(s, 500, 43, 2, 1);
	s->cpu = 1;
	synth__deferred(s, 100, 50, 3);	/* the loss was earlier */
	synth__deferred(s, 100, 60, 4);
	synth__record(s, 100, 61, 4, 1);
}

/* No event has a CPU in its trailer: a loss may concern any thread. */
static void build_lost_somewhere(struct synth *s)
{
	s->no_cpu = true;
	s->cpu = 1;
	synth__deferred(s, 100, 10, 1);
	s->cpu = 2;
	synth__lost(s, 20);
	s->cpu = 1;
	synth__deferred(s, 100, 30, 2);
	synth__record(s, 100, 40, 2, 1);
}

/* Only the LOST event has a CPU: the loss may still concern any thread. */
static void build_lost_anywhere(struct synth *s)
{
	s->cpu = -1;
	synth__deferred(s, 100, 10, 1);
	s->cpu = 2;
	synth__lost(s, 20);
	s->cpu = -1;
	synth__deferred(s, 100, 30, 2);
	synth__record(s, 100, 40, 2, 1);
}

static void build_exit(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 1);
	synth__exit(s, 100, 12);
	synth__lost(s, 13);
	synth__exit(s, 200, 14);
}

/* A guest's sample must not hold the queue: the samples behind it would exceed the limit. */
static void build_guest(struct synth *s)
{
	synth__deferred_at(s, 100, 5, 1, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	build_many(s, true);
}

static void build_end(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 0);
	synth__lost(s, 12);
}

/* Two buffers get the same records.  The second buffer is read first. */
static void build_twice(struct synth *s)
{
	synth__record(s, 100, 11, 1, 2);
	synth__record(s, 200, 13, 1, 2);
	synth__record(s, 100, 15, 2, 2);
	synth__record(s, 100, 25, 3, 2);
	synth__deferred(s, 100, 10, 1);
	synth__record(s, 100, 11, 1, 2);
	synth__deferred(s, 200, 12, 1);
	synth__record(s, 200, 13, 1, 2);
	synth__record(s, 100, 15, 2, 2);
	synth__deferred(s, 100, 24, 3);
	synth__record(s, 100, 25, 3, 2);
	synth__deferred(s, 100, 26, 3);
	synth__record(s, 300, 27, 1, 2);
	synth__exit(s, 300, 28);
}

/*
 * The samples of a thread do not get the records of a new thread with the same tid, which reuses
 * the cookie after some seconds.
 */
static void build_forked(struct synth *s)
{
	const u64 sec = NSEC_PER_SEC;

	synth__deferred(s, 100, 1 * sec, 1);
	synth__fork(s, 100, 2 * sec);
	synth__record(s, 100, 3 * sec, 1, 1);
	synth__pass_time(s, 3 * sec + 1);
	synth__deferred(s, 200, 4 * sec, 1);
	synth__pass_time(s, 4 * sec + 1);
	synth__pass_time(s, 5 * sec + 1);
	synth__fork(s, 200, 6 * sec);
	synth__record(s, 200, 7 * sec, 1, 1);
}

struct reason_case {
	const char *name;
	void (*build)(struct synth *s);
	struct deferred_callchain_stats expect;
};

#define R(reason)	incomplete[DEFERRED_INCOMPLETE__##reason]

static const struct reason_case reason_cases[] = {
	{ "lost", build_lost, {
		.samples = 11, .stitched = 5, .records = 5,
		.R(LOST) = 3, .R(NO_RECORD) = 2, .R(EXIT) = 1 } },
	{ "lost somewhere", build_lost_somewhere, {
		.samples = 2, .stitched = 1, .records = 1, .R(LOST) = 1 } },
	{ "lost anywhere", build_lost_anywhere, {
		.samples = 2, .stitched = 1, .records = 1, .R(LOST) = 1 } },
	{ "exit", build_exit, {
		.samples = 2, .R(EXIT) = 1, .R(LOST) = 1 } },
	{ "end", build_end, {
		.samples = 2, .R(END) = 1, .R(COOKIE) = 1 } },
	{ "guest", build_guest, {
		.samples = 501, .stitched = 500, .records = 500, .R(GUEST) = 1 } },
	{ "twice", build_twice, {
		.samples = 4, .stitched = 4, .records = 9, .duplicates = 4, .orphans = 2 } },
	{ "forked", build_forked, {
		.samples = 2, .records = 2, .orphans = 2, .R(EXIT) = 2 } },
};

static bool run_reason_case(const struct reason_case *c, bool piped)
{
	struct count_tool count;
	struct synth s = {};
	bool ok;

	c->build(&s);
	s.piped = piped;
	count_tool__init(&count);
	ok = read_limited(&count, &s, 64 << 10) &&
	     !memcmp(&count.stats, &c->expect, sizeof(c->expect));
	synth__free(&s);
	if (!ok) {
		pr_debug("FAILED %s, in a pipe: %d, expected and got:\n", c->name, piped);
		deferred_callchain_stats__fprintf(&c->expect, stderr);
		deferred_callchain_stats__fprintf(&count.stats, stderr);
	}
	return ok;
}

static int test__deferred_reasons(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(reason_cases); i++)
		ok &= run_reason_case(&reason_cases[i / 2], i % 2);
	return ok ? TEST_OK : TEST_FAIL;
}

static int count_without_stage(SAMPLE_PARAMS)
{
	struct count_tool *count = container_of(tool, struct count_tool, tool);

	if (count->session->deferred)
		return -EINVAL;
	return call_sample(count_sample, tool, event, sample, SAMPLE_EVSEL, machine);
}

/* Data in which no event defers callchains are read without the stitching stage. */
static int test__deferred_undeferred(struct test_suite *test __maybe_unused,
				     int subtest __maybe_unused)
{
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		struct synth s = { .piped = i, .undeferred = true };
		struct count_tool count;
		int ret;

		for (u64 time = 10; time < 20; time++)
			synth__in_place(&s, 100, time, 1, 1);
		synth__exit(&s, 100, 20);
		synth__lost(&s, 21);
		count_tool__init(&count);
		count.tool.sample = count_without_stage;
		ret = synth__read_session(&count.tool, &s, &count.session, &count.stats);
		synth__free(&s);
		if (ret || count.complete != 10) {
			pr_debug("FAILED in a pipe: %d: %d\n", i, ret);
			ok = false;
		}
	}
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * The records of one thread, all without a time, come in the reverse order of their samples.  In a
 * pipe, such samples are not held until their record is read.
 */
static int test__deferred_untimed(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	const u64 nr = 3000;
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		struct synth s = { .piped = i };
		struct count_tool count;

		for (u64 cookie = 1; cookie <= nr; cookie++)
			synth__deferred(&s, 100, -1ULL, cookie);
		for (u64 cookie = nr; cookie; cookie--)
			synth__record(&s, 100, -1ULL, cookie, 3);
		count_tool__init(&count);
		ok &= read_limited(&count, &s, DEFAULT_LIMIT) &&
		      (s.piped ? count.stats.incomplete[DEFERRED_INCOMPLETE__UNORDERED] :
				 count.complete) == nr;
		synth__free(&s);
		if (!ok)
			pr_debug("FAILED in a pipe: %d: %llu complete\n", i,
				 (unsigned long long)count.complete);
	}
	return ok ? TEST_OK : TEST_FAIL;
}

/* Queue the events of @s as perf top does, without perf_session__process_events(). */
static int queue_live(struct perf_session *session, const struct synth *s)
{
	struct ordered_events *oe = &session->ordered_events;
	int ret = 0;

	ordered_events__set_copy_on_queue(oe, true);
	for (size_t at = 0; !ret && at < s->size;) {
		union perf_event *event = (void *)(s->data + at);
		u64 time;

		ret = deferred_callchains__index(session, event) ?:
		      evlist__parse_sample_timestamp(session->evlist, event, &time) ?:
		      ordered_events__queue(oe, event, time, 0, NULL);
		at += event->header.size;
	}
	return ret;
}

/* Return the number of samples that are delivered until the time @ms. */
static u64 flush_live(struct count_tool *count, u64 ms)
{
	struct ordered_events *oe = &count->session->ordered_events;

	deferred_callchains__set_live(count->session, ms * NSEC_PER_MSEC, DEFERRED_TOP_WAIT);
	if (ordered_events__flush_time(oe, oe->max_timestamp))
		return -1ULL;
	return count->complete + count->incomplete;
}

static bool check_live(struct count_tool *count, const struct synth *s, const struct synth *rest)
{
	struct evlist *evlist = count->session->evlist;
	const struct deferred_callchain_stats *stats = &evlist__stats(evlist)->deferred;

	return !queue_live(count->session, s) && flush_live(count, 1000) == 0 &&
	       flush_live(count, 1900) == 0 &&
	       !queue_live(count->session, rest) && flush_live(count, 3000) == 1 &&
	       count->complete == 1 && flush_live(count, 3900) == 1 &&
	       flush_live(count, 4100) == 2 &&
	       stats->incomplete[DEFERRED_INCOMPLETE__EXPIRED] == 1;
}

/* perf top holds a sample for one second, and no longer, even if no other event comes. */
static int test__deferred_idle(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	char path[] = "/tmp/perf-test-deferred-XXXXXX";
	struct perf_data data = { .path = path, .mode = PERF_DATA_MODE_READ, .force = true };
	struct synth s = {}, rest = {};
	struct count_tool count;
	int fd = mkstemp(path);
	bool ok = false;

	synth__deferred(&s, 200, 10, 1);
	synth__deferred(&s, 100, 11, 1);
	synth__comm(&s, 300, 12);
	synth__record(&rest, 200, 13, 1, 1);
	count_tool__init(&count);
	if (fd >= 0 && !synth__write(&s, fd, SIZE_MAX)) {
		count.session = perf_session__new(&data, &count.tool);
		if (!IS_ERR(count.session)) {
			ok = check_live(&count, &s, &rest);
			deferred_callchains__finish(count.session);
			ordered_events__free(&count.session->ordered_events);
			perf_session__delete(count.session);
		}
	}
	if (!ok)
		pr_debug("FAILED: %llu complete, %llu incomplete\n",
			 (unsigned long long)count.complete, (unsigned long long)count.incomplete);
	close(fd);
	unlink(path);
	synth__free(&s);
	synth__free(&rest);
	return ok ? TEST_OK : TEST_FAIL;
}

static int interrupt_at_sample(SAMPLE_PARAMS)
{
	session_done = 1;
	return call_sample(count_sample, tool, event, sample, SAMPLE_EVSEL, machine);
}

/* After ^C no more samples are delivered, neither waiting ones nor others. */
static int test__deferred_interrupted(struct test_suite *test __maybe_unused,
				      int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok = true;

	synth__in_place(&s, 300, 5, 9, 1);
	for (u32 i = 0; i < 50; i++)
		synth__deferred(&s, 100 + i, 10 + i, 1);
	synth__pass_time(&s, 100);
	synth__pass_time(&s, 110);
	synth__pass_time(&s, 120);
	for (int i = 0; i < 2; i++) {
		struct count_tool count;

		s.piped = i;
		count_tool__init(&count);
		count.tool.sample = interrupt_at_sample;
		ok &= !synth__read(&count.tool, &s, SIZE_MAX, &count.stats) &&
		      count.complete + count.incomplete == 1;
		session_done = 0;
		if (!ok)
			pr_debug("FAILED: %llu samples\n",
				 (unsigned long long)(count.complete + count.incomplete));
	}
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/* A type that perf does not know is an error or is skipped: then the scan of the file goes on. */
static int test__deferred_unknown(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	struct synth s = { .size = 0 };
	struct count_tool count;
	bool ok, err;

	synth__deferred(&s, 100, 10, 1);
	synth__pass_time(&s, 100);
	synth__pass_time(&s, 110);
	synth__unknown(&s, PERF_RECORD_HEADER_MAX);
	synth__record(&s, 100, 120, 1, 3);
	count_tool__init(&count);
	err = synth__read(&count.tool, &s, SIZE_MAX, &count.stats);
	ok = err == !SKIPS_UNKNOWN && count.complete == (SKIPS_UNKNOWN ? 3 : 2);
	if (!ok)
		pr_debug("FAILED: error %d, %llu complete\n", err,
			 (unsigned long long)count.complete);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * After an error, samples that wait are delivered, also if an event that bypasses the queue was
 * delivered meanwhile.
 */
static int test__deferred_error(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct synth s = { .piped = true };
	struct count_tool count;
	bool ok;

	synth__deferred(&s, 100, 10, 1);
	synth__round(&s);
	synth__comm(&s, 200, 20);
	synth__round(&s);
	synth__comm(&s, 300, 0);
	synth__unknown(&s, PERF_RECORD_SAMPLE);	/* too short */
	count_tool__init(&count);
	ok = synth__read(&count.tool, &s, SIZE_MAX, &count.stats) && count.incomplete == 1 &&
	     count.stats.incomplete[DEFERRED_INCOMPLETE__END] == 1;
	if (!ok)
		pr_debug("FAILED: %llu samples\n", (unsigned long long)count.incomplete);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/*
 * Read files one after the other in one session, as perf record --switch-output does: each file
 * has its own counts.
 */
static int test__deferred_again(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	char path[] = "/tmp/perf-test-deferred-XXXXXX";
	struct perf_data data = { .path = path, .mode = PERF_DATA_MODE_READ, .force = true };
	struct deferred_callchain_stats first;
	struct count_tool count;
	int fd = mkstemp(path);
	struct synth s = {};
	bool ok = false;

	build_lost(&s);
	synth__deferred(&s, 200, 100, 9);
	count_tool__init(&count);
	if (fd >= 0 && !synth__write(&s, fd, SIZE_MAX)) {
		count.session = perf_session__new(&data, &count.tool);
		if (!IS_ERR(count.session)) {
			ok = !perf_session__process_events(count.session);
			first = evlist__stats(count.session->evlist)->deferred;
			ok = ok && !perf_session__process_events(count.session) &&
			     !memcmp(&first, &evlist__stats(count.session->evlist)->deferred,
				     sizeof(first)) && first.samples == 12 &&
			     count.complete + count.incomplete == 24;
			perf_session__delete(count.session);
		}
	}
	close(fd);
	unlink(path);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

static const struct synth *other_file;

/* Read a second session while samples of the first one wait. */
static int read_other(const struct perf_tool *tool __maybe_unused,
		      union perf_event *event __maybe_unused,
		      struct perf_sample *sample __maybe_unused,
		      struct machine *machine __maybe_unused)
{
	struct count_tool count;

	count_tool__init(&count);
	if (synth__read(&count.tool, other_file, SIZE_MAX, &count.stats))
		return -EINVAL;
	return count.complete == 1 && count.incomplete == 1 && !count.wrong ? 0 : -EINVAL;
}

static int test__deferred_sessions(struct test_suite *test __maybe_unused,
				   int subtest __maybe_unused)
{
	struct count_tool count;
	struct synth one = {}, other = {};
	bool ok;

	synth__deferred(&one, 100, 10, 1);
	synth__deferred(&one, 200, 11, 1);
	synth__pass_time(&one, 12);
	synth__comm(&one, 300, 20);
	synth__pass_time(&one, 21);
	synth__pass_time(&one, 31);
	synth__record(&one, 200, 41, 1, 1);

	synth__deferred(&other, 100, 10, 2);
	synth__deferred(&other, 200, 11, 1);
	synth__record(&other, 100, 12, 2, 1);

	other_file = &other;
	count_tool__init(&count);
	count.tool.comm = read_other;
	ok = !synth__read(&count.tool, &one, SIZE_MAX, &count.stats) && !count.wrong &&
	     count.complete == 4 && count.incomplete == 1;
	if (!ok)
		pr_debug("FAILED: %llu complete, %llu incomplete\n",
			 (unsigned long long)count.complete, (unsigned long long)count.incomplete);
	synth__free(&one);
	synth__free(&other);
	return ok ? TEST_OK : TEST_FAIL;
}

static struct test_case tests__deferred_callchain_limit[] = {
	TEST_CASE("Deferred samples past the limit", deferred_limit),
	TEST_CASE("Deferred samples and records at hand past the limit", deferred_limit_of_all),
	TEST_CASE("Deferred records read ahead past the limit", deferred_ahead),
	TEST_CASE("Deferred samples beside last records past the limit", deferred_limit_of_kept),
	TEST_CASE("Deferred sample of a thread that sleeps", deferred_sleeper),
	TEST_CASE("Deferred sample of a thread that sleeps, in a file", deferred_sleeper_in_file),
	TEST_CASE("Deferred record behind 16 MiB", deferred_near),
	TEST_CASE("Deferred record behind 4 GB", deferred_far),
	TEST_CASE("Millions of deferred records of a thread", deferred_millions),
	TEST_CASE("Deferred samples of a process with many maps", deferred_maps),
	TEST_CASE("Reasons for incomplete deferred samples", deferred_reasons),
	TEST_CASE("Deferred samples without times", deferred_untimed),
	TEST_CASE("No deferred samples, no stage", deferred_undeferred),
	TEST_CASE("Deferred samples while no event comes", deferred_idle),
	TEST_CASE("Deferred samples after an interrupt", deferred_interrupted),
	TEST_CASE("Deferred samples before an unknown event", deferred_unknown),
	TEST_CASE("Deferred samples after an error", deferred_error),
	TEST_CASE("Deferred samples of one file after the other", deferred_again),
	TEST_CASE("Deferred samples of two sessions", deferred_sessions),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain_limit = {
	.desc = "Limits and counts of deferred samples",
	.test_cases = tests__deferred_callchain_limit,
};

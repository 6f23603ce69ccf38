// SPDX-License-Identifier: GPL-2.0
/* How long and how much deferred samples may wait, and what is counted of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>

#include "callchain.h"
#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-file.h"
#include "event.h"
#include "sample.h"
#include "session.h"
#include "tests.h"
#include "tool.h"

#define DEFAULT_LIMIT	"512M"

/**
 * struct count_tool - a tool that counts what it gets
 * @tool: the tool
 * @session: the session, for callbacks that do to it what a live tool does
 * @complete: samples that had their user half
 * @incomplete: samples that did not
 * @last_bare: the time of the last one that did not
 * @wrong: some had a user half that is not theirs
 * @seen: @incomplete at each turn of a comm event
 * @nr_seen: entries in @seen
 * @stats: of the session
 */
struct count_tool {
	struct perf_tool tool;
	struct perf_session *session;
	u64 complete;
	u64 incomplete;
	u64 last_bare;
	bool wrong;
	u64 seen[8];
	int nr_seen;
	struct deferred_callchain_stats stats;
};

static int count_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			struct perf_sample *sample, struct evsel *evsel __maybe_unused,
			struct machine *machine __maybe_unused)
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

static bool read_limited(struct count_tool *count, const struct synth *s, const char *limit)
{
	int ret = deferred_callchain__set_limit(limit, "test");

	if (!ret)
		ret = synth__read(&count->tool, s, SIZE_MAX, &count->stats);
	deferred_callchain__set_limit(DEFAULT_LIMIT, "test");
	return !ret && !count->wrong;
}

/* 50 waiting samples at once, each of some hundred bytes. */
static void build_waiting(struct synth *s)
{
	for (u32 i = 0; i < 50; i++)
		synth__deferred(s, 100 + i, 10 + i, 1);
	synth__pass_time(s, 100);
	synth__pass_time(s, 110);
	for (u32 i = 0; i < 50; i++)
		synth__record(s, 100 + i, 200 + i, 1, 3);
}

/* What waits longest goes first.  Return how many did. */
static u64 drop_oldest(struct synth *s, bool *ok)
{
	struct count_tool count;
	u64 dropped;

	count_tool__init(&count);
	*ok &= read_limited(&count, s, "8K");
	dropped = count.incomplete;
	*ok &= dropped > 10 && dropped < 45 && count.last_bare == 10 + dropped - 1 &&
	       count.stats.incomplete[DEFERRED_INCOMPLETE__LIMIT] == dropped &&
	       count.stats.late == 50 - dropped && count.stats.orphans == dropped;
	if (!*ok)
		pr_debug("FAILED: %llu dropped, the last at %llu\n", (unsigned long long)dropped,
			 (unsigned long long)count.last_bare);

	count_tool__init(&count);
	*ok &= read_limited(&count, s, DEFAULT_LIMIT) && !count.incomplete;
	return dropped;
}

/* Many times the limit, in one flush round or in as many. */
static void build_many(struct synth *s, bool rounds)
{
	for (u32 i = 0; i < 500; i++) {
		synth__deferred(s, 100 + i % 7, 10 + 10 * i, i + 1);
		synth__record(s, 100 + i % 7, 12 + 10 * i, i + 1, 100);
		if (rounds)
			synth__round(s);
	}
}

/* Samples take less where they need not be copied. */
static int test__deferred_limit(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct synth s = {};
	u64 from_file, from_pipe;
	bool ok = true;

	build_waiting(&s);
	from_file = drop_oldest(&s, &ok);
	s.piped = true;
	from_pipe = drop_oldest(&s, &ok);
	if (from_file >= from_pipe)
		pr_debug("FAILED: %llu dropped from a file, %llu from a pipe\n",
			 (unsigned long long)from_file, (unsigned long long)from_pipe);
	synth__free(&s);
	return ok && from_file < from_pipe ? TEST_OK : TEST_FAIL;
}

/* How many are dropped while so many records of others are at hand, which have to be copied. */
static u64 drop_beside(unsigned int nr_ahead, bool *ok)
{
	struct synth s = { .piped = true };
	struct count_tool count;

	for (u32 i = 0; i < 50; i++)
		synth__deferred(&s, 100 + i, 10 + i, 1);
	synth__pass_time(&s, 100);
	for (u32 i = 0; i < nr_ahead; i++)
		synth__record(&s, 500 + i, 120, 1, 100);
	synth__pass_time(&s, 110);
	for (u32 i = 0; i < 50; i++)
		synth__record(&s, 100 + i, 200 + i, 1, 3);

	count_tool__init(&count);
	*ok &= read_limited(&count, &s, "32K") && count.complete + count.incomplete == 52 &&
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
		pr_debug("FAILED: %llu dropped, %llu beside records at hand\n",
			 (unsigned long long)alone, (unsigned long long)beside);
	return ok && !alone && beside ? TEST_OK : TEST_FAIL;
}

static bool check_ahead(const struct synth *s, const char *limit, u64 min_late, u64 max_late)
{
	struct count_tool count;
	bool ok;

	count_tool__init(&count);
	ok = read_limited(&count, s, limit) && !count.incomplete && count.complete == 500 &&
	     count.stats.late >= min_late && count.stats.late <= max_late;
	if (!ok)
		pr_debug("FAILED with %s: %llu complete, %llu incomplete, %llu late\n", limit,
			 (unsigned long long)count.complete, (unsigned long long)count.incomplete,
			 (unsigned long long)count.stats.late);
	return ok;
}

/* All read before any of it has its turn; in a file, it is at hand. */
static int test__deferred_ahead(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	build_many(&s, false);
	ok = check_ahead(&s, "16K", 0, 0);
	s.piped = true;
	ok = ok && check_ahead(&s, "16K", 401, 500) && check_ahead(&s, DEFAULT_LIMIT, 0, 0);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

/* For a tool that has the queue held. */
static int test__deferred_held(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	struct count_tool count;
	struct synth s = {};
	bool ok;

	build_many(&s, true);
	s.piped = true;
	count_tool__init(&count);
	count.tool.never_wait_for_deferred = true;
	ok = read_limited(&count, &s, "64K") && count.complete == 500 && !count.incomplete;
	if (!ok)
		pr_debug("FAILED: %llu complete, %llu incomplete\n",
			 (unsigned long long)count.complete, (unsigned long long)count.incomplete);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

static bool check_sleeper(const struct synth *s, const char *limit, u64 late)
{
	struct count_tool count;
	bool ok;

	count_tool__init(&count);
	count.tool.read_ahead_for_deferred = true;
	ok = read_limited(&count, s, limit) && count.complete == 501 && count.stats.late == late;
	if (!ok)
		pr_debug("FAILED with %s: %llu complete, %llu late\n", limit,
			 (unsigned long long)count.complete, (unsigned long long)count.stats.late);
	return ok;
}

/* For a tool that would like to have it held; what is not copied counts, too. */
static int test__deferred_read_ahead(struct test_suite *test __maybe_unused,
				     int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	synth__deferred(&s, 300, 5, 1);
	build_many(&s, true);
	synth__record(&s, 300, 100000, 1, 1);
	ok = check_sleeper(&s, DEFAULT_LIMIT, 0) && check_sleeper(&s, "64K", 1);
	s.piped = true;
	ok = ok && check_sleeper(&s, DEFAULT_LIMIT, 1);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

#define MANY_MAPS	4096
#define MANY_CHANGES	1500

/* A process whose many maps change after each of many waiting samples. */
static void build_many_maps(struct synth *s)
{
	synth__comm(s, 100, 1);
	for (u32 i = 0; i < MANY_MAPS; i++)
		synth__mmap_by(s, 100, 1000 + i, 2, 0, 1, "/lib/a");
	for (u32 i = 0; i < MANY_CHANGES; i++) {
		synth__deferred(s, 100, 10 + 2 * i, 1);
		synth__mmap_by(s, 100, 1000 + i, 11 + 2 * i, 0, 1, "/lib/b");
	}
	synth__pass_time(s, 1000000);
	synth__pass_time(s, 1000010);
	synth__record(s, 100, 1000020, 1, 1);
}

static bool check_many_maps(const struct synth *s, const char *limit, u64 min, u64 max)
{
	struct count_tool count;
	bool ok;

	count_tool__init(&count);
	count.tool.comm = perf_event__process_comm;
	count.tool.mmap = perf_event__process_mmap;
	ok = read_limited(&count, s, limit) && count.incomplete >= min &&
	     count.incomplete <= max &&
	     count.stats.incomplete[DEFERRED_INCOMPLETE__LIMIT] == count.incomplete &&
	     count.complete + count.incomplete == MANY_CHANGES + 2;
	if (!ok)
		pr_debug("FAILED with %s: %llu incomplete\n", limit,
			 (unsigned long long)count.incomplete);
	return ok;
}

/* Both the time for copies of maps and their memory are limited. */
static int test__deferred_maps(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	struct synth s = {};
	bool ok;

	build_many_maps(&s);
	ok = check_many_maps(&s, DEFAULT_LIMIT, 300, 500) &&
	     check_many_maps(&s, "4M", MANY_CHANGES - 200, MANY_CHANGES - 50);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

struct size_case {
	const char *text;
	size_t size;
};

static const struct size_case size_cases[] = {
	{ "1B", 1 },
	{ "4K", 4 << 10 },
	{ "64M", 64 << 20 },
	{ "2G", 2UL << 30 },
	{ NULL, 0 },
	{ "", 0 },
	{ "0", 0 },
	{ "0K", 0 },
	{ "12", 0 },
	{ "M", 0 },
	{ "5KB", 0 },
	{ "5 K", 0 },
	{ "-1K", 0 },
	{ "1.5G", 0 },
	{ "1T", 0 },
	{ "99999999999G", 0 },
	{ "99999999999999999999B", 0 },
};

static bool check_size(const struct size_case *c)
{
	size_t before = deferred_callchain_limit();
	int ret = deferred_callchain__set_limit(c->text, "test");

	if (c->size ? !ret && deferred_callchain_limit() == c->size :
		      ret == -EINVAL && deferred_callchain_limit() == before)
		return true;

	pr_debug("FAILED '%s': %d\n", c->text, ret);
	return false;
}

static int test__deferred_sizes(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	int save_verbose = verbose;
	bool ok = true;

	verbose = -1;
	for (size_t i = 0; i < ARRAY_SIZE(size_cases); i++)
		ok &= check_size(&size_cases[i]);
	verbose = save_verbose;
	return deferred_callchain__set_limit(DEFAULT_LIMIT, "test") || !ok ? TEST_FAIL : TEST_OK;
}

/* The thread is back in user space, but the buffer was full. */
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
	synth__deferred(s, 100, 30, 2);	/* where it was */
	synth__deferred(s, 200, 31, 2);	/* moved to where it is now */
	s->cpu = 2;
	synth__deferred(s, 500, 31, 2);	/* moved from there */
	s->cpu = 3;
	synth__deferred(s, 300, 32, 2);	/* not where either is */
	synth__exit(s, 400, 33);
	s->cpu = 1;
	synth__record(s, 100, 40, 2, 1);
	synth__record(s, 200, 41, 2, 1);
	synth__record(s, 300, 42, 2, 1);
	synth__record(s, 500, 43, 2, 1);
	synth__deferred(s, 100, 50, 3);	/* the loss was before */
	synth__deferred(s, 100, 60, 4);
	synth__record(s, 100, 61, 4, 1);
}

/* Events do not say where they were written: any loss may be theirs. */
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

static void build_exit(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 1);
	synth__exit(s, 100, 12);
	synth__lost(s, 13);
	synth__exit(s, 200, 14);
}

static void build_end(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 0);
	synth__lost(s, 12);
}

/* Two buffers that get the same records; the second is read first. */
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

/* A thread that starts anew has nothing of the thread before, whatever the cookie. */
static void build_forked(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__fork(s, 100, 20);
	synth__record(s, 100, 30, 1, 1);
	synth__pass_time(s, 31);
	synth__deferred(s, 200, 40, 1);
	synth__pass_time(s, 41);
	synth__pass_time(s, 51);
	synth__fork(s, 200, 60);
	synth__record(s, 200, 70, 1, 1);
}

/* More records than may be read ahead lie between. */
static void build_in_turn(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	for (u32 i = 0; i < 100; i++) {
		synth__record(s, 300, 11 + i, 1 + i, 100);
		synth__round(s);
	}
	synth__record(s, 100, 200, 1, 1);
}

struct reason_case {
	const char *name;
	void (*build)(struct synth *s);
	struct deferred_callchain_stats expect;
	const char *in_turn_limit;	/* for a tool that takes no sample late, in a pipe */
};

#define R(reason)	incomplete[DEFERRED_INCOMPLETE__##reason]

static const struct reason_case reason_cases[] = {
	{ "lost", build_lost, {
		.samples = 11, .stitched = 5, .records = 5,
		.R(LOST) = 3, .R(NO_RECORD) = 2, .R(EXIT) = 1 }, NULL },
	{ "lost somewhere", build_lost_somewhere, {
		.samples = 2, .stitched = 1, .records = 1, .R(LOST) = 1 }, NULL },
	{ "exit", build_exit, {
		.samples = 2, .R(EXIT) = 1, .R(LOST) = 1 }, NULL },
	{ "end", build_end, {
		.samples = 2, .R(END) = 1, .R(COOKIE) = 1 }, NULL },
	{ "twice", build_twice, {
		.samples = 4, .stitched = 4, .records = 9, .duplicates = 4, .orphans = 2 }, NULL },
	{ "forked", build_forked, {
		.samples = 2, .records = 2, .orphans = 2, .R(EXIT) = 2 }, NULL },
	{ "in turn", build_in_turn, {
		.samples = 1, .records = 101, .orphans = 101, .R(IN_TURN) = 1 }, "16K" },
	{ "in turn, none there", build_end, {
		.samples = 2, .R(ABSENT) = 1, .R(COOKIE) = 1 }, DEFAULT_LIMIT },
};

static bool run_reason_case(const struct reason_case *c)
{
	struct count_tool count;
	struct synth s = {};
	bool ok;

	c->build(&s);
	s.piped = c->in_turn_limit;
	count_tool__init(&count);
	count.tool.never_wait_for_deferred = c->in_turn_limit;
	ok = read_limited(&count, &s, c->in_turn_limit ?: DEFAULT_LIMIT) &&
	     !memcmp(&count.stats, &c->expect, sizeof(c->expect));
	synth__free(&s);
	if (!ok) {
		pr_debug("FAILED %s, expected and got:\n", c->name);
		deferred_callchain_stats__fprintf(&c->expect, stderr);
		deferred_callchain_stats__fprintf(&count.stats, stderr);
	}
	return ok;
}

static int test__deferred_reasons(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(reason_cases); i++)
		ok &= run_reason_case(&reason_cases[i]);
	return ok ? TEST_OK : TEST_FAIL;
}

/* The first comm event comes after an event, the others while none come. */
static int pass_idle_time(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample __maybe_unused,
			  struct machine *machine __maybe_unused)
{
	static const u64 clock[] = { 0, 1000ULL * NSEC_PER_SEC, 1004ULL * NSEC_PER_SEC,
				     1006ULL * NSEC_PER_SEC };
	struct count_tool *count = container_of(tool, struct count_tool, tool);
	struct deferred_callchains *dc = count->session->deferred;
	int ret;

	if (count->nr_seen == ARRAY_SIZE(clock))
		return -EINVAL;
	if (count->nr_seen)
		ret = deferred_callchains__idle(dc, clock[count->nr_seen]);
	else
		ret = deferred_callchains__expire(dc, 11);
	count->seen[count->nr_seen++] = count->incomplete;
	return ret;
}

/* As perf top does it, whose events have a clock of their own. */
static int test__deferred_idle(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	static const u64 expect[] = { 0, 0, 0, 1 };
	struct count_tool count;
	struct synth s = {};
	bool ok;

	synth__deferred(&s, 100, 10, 1);
	for (u64 time = 11; time < 15; time++)
		synth__comm(&s, 200, time);
	count_tool__init(&count);
	count.tool.comm = pass_idle_time;
	ok = !synth__read_session(&count.tool, &s, &count.session, &count.stats) &&
	     count.nr_seen == ARRAY_SIZE(expect) && !memcmp(count.seen, expect, sizeof(expect)) &&
	     count.stats.incomplete[DEFERRED_INCOMPLETE__EXPIRED] == 1;
	if (!ok)
		pr_debug("FAILED: %d times, %llu %llu %llu %llu\n", count.nr_seen,
			 (unsigned long long)count.seen[0], (unsigned long long)count.seen[1],
			 (unsigned long long)count.seen[2], (unsigned long long)count.seen[3]);
	synth__free(&s);
	return ok ? TEST_OK : TEST_FAIL;
}

static const struct synth *other_file;

/* While one session is being read, with samples waiting, so is another. */
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
	     count.complete == 4 && count.incomplete == 1 && count.stats.late == 1;
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
	TEST_CASE("Deferred records held for order up to the limit", deferred_held),
	TEST_CASE("Deferred records read ahead for order up to the limit", deferred_read_ahead),
	TEST_CASE("Deferred samples of a process with many maps", deferred_maps),
	TEST_CASE("Limits for deferred samples", deferred_sizes),
	TEST_CASE("Reasons for incomplete deferred samples", deferred_reasons),
	TEST_CASE("Deferred samples while no event comes", deferred_idle),
	TEST_CASE("Deferred samples of two sessions", deferred_sessions),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain_limit = {
	.desc = "Limits and counts of deferred samples",
	.test_cases = tests__deferred_callchain_limit,
};

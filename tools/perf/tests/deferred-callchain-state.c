// SPDX-License-Identifier: GPL-2.0
/*
 * Check that deferred samples are resolved with the threads and maps of their own
 * time.  A delivered sample becomes
 *
 *	name#N+S tid@time lib*M
 *
 * where N numbers the threads in the order in which they are seen, S is the namespace
 * if known, and M user frames are in a map of library lib ('?': in no map).  A '-'
 * marks a sample without its user half.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include "addr_location.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-reader.h"
#include "dso.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "namespaces.h"
#include "sample.h"
#include "symbol.h"
#include "tests.h"
#include "thread.h"
#include "tool.h"
#include "util.h"

/**
 * struct state_tool - a tool that writes down threads and maps
 * @tool: the tool
 * @nr_threads: threads seen so far
 * @plain: do not number the threads
 * @stats: counts of the session
 * @text: the delivered samples as text
 */
struct state_tool {
	struct perf_tool tool;
	long nr_threads;
	bool plain;
	struct deferred_callchain_stats stats;
	struct read_text text;
};

static void map_name(struct thread *thread, u64 ip, char *name, size_t size)
{
	struct addr_location al;
	struct map *map;

	addr_location__init(&al);
	map = thread__find_map(thread, PERF_RECORD_MISC_USER, ip, &al);
	scnprintf(name, size, "%s", map ? dso__short_name(map__dso(map)) : "?");
	addr_location__exit(&al);
}

/* Consecutive frames in the same map become one word. */
static void add_maps(struct state_tool *state, struct thread *thread, const u64 *ips, u64 nr)
{
	u64 i = 0;

	while (i < nr) {
		char name[32], next[32];
		u64 first = i;

		map_name(thread, ips[i++], name, sizeof(name));
		while (i < nr) {
			map_name(thread, ips[i], next, sizeof(next));
			if (strcmp(name, next))
				break;
			i++;
		}
		read_text__add(&state->text, " %s*%llu", name, (unsigned long long)(i - first));
	}
}

/* Store the number of a thread in its private data, which must be kept for late samples. */
static long thread_number(struct state_tool *state, struct thread *thread)
{
	const void *number = thread__priv(thread);

	if (!number) {
		state->nr_threads++;
		number = (void *)state->nr_threads;
		thread__set_priv(thread, (void *)number);
	}
	return (long)number;
}

static void add_thread(struct state_tool *state, struct thread *thread)
{
	struct namespaces *ns = thread__namespaces(thread);

	read_text__add(&state->text, "%s", thread__comm_str(thread));
	if (!state->plain)
		read_text__add(&state->text, "#%ld", thread_number(state, thread));
	if (ns)
		read_text__add(&state->text, "+%llu", (unsigned long long)ns->link_info[0].ino);
}

static int state_sample(SAMPLE_PARAMS)
{
	struct state_tool *state = container_of(tool, struct state_tool, tool);
	struct thread *thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	struct ip_callchain *chain = sample->callchain;
	u64 user = 0;

	if (!thread)
		return -ENOMEM;

	while (user < chain->nr && chain->ips[user] != PERF_CONTEXT_USER)
		user++;
	add_thread(state, thread);
	read_text__add(&state->text, " %u@%llu", sample->tid, (unsigned long long)sample->time);
	if (user < chain->nr)
		add_maps(state, thread, &chain->ips[user + 1], chain->nr - user - 1);
	read_text__add(&state->text, "%s\n", sample->deferred_callchain ? " -" : "");
	thread__put(thread);
	return 0;
}

static void state_tool__init(struct state_tool *state)
{
	state->nr_threads = 0;
	state->plain = false;
	read_text__init(&state->text);
	perf_tool__init(&state->tool, /*ordered_events=*/true);
	state->tool.sample = state_sample;
	state->tool.mmap = perf_event__process_mmap;
	state->tool.mmap2 = perf_event__process_mmap2;
	state->tool.comm = perf_event__process_comm;
	state->tool.fork = perf_event__process_fork;
	state->tool.exit = perf_event__process_exit;
	state->tool.namespaces = perf_event__process_namespaces;
	state->tool.no_warn = true;
}

#define PASSED(time)	":900#2 900@" #time " ?*1\n"

static void build_mmap(struct synth *s)
{
	synth__name(s, 100, 1, 0, "old");
	synth__mmap(s, 100, 2, 1, 4, "/lib/a");
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 11);
	synth__mmap(s, 100, 20, 1, 1, "/lib/b");
	synth__mmap(s, 100, 21, 2, 9, "/lib/c");
	synth__deferred(s, 100, 22, 1);
	synth__pass_time(s, 23);
	synth__pass_time(s, 33);
	synth__record(s, 100, 41, 1, 3);
}

static const char expect_mmap[] =
	"old#1 100@10 a*3\n"
	PASSED(11)
	"old#1 100@22 b*3\n"
	PASSED(23)
	PASSED(33);

/* The case of build_mmap() with MMAP2 events, which perf record writes. */
static void build_mmap2(struct synth *s)
{
	s->mmap2 = true;
	build_mmap(s);
}

/* Another thread of the process, first seen after the sample, changes the mappings. */
static void build_shared(struct synth *s)
{
	s->pairs = true;
	synth__name(s, 100, 1, 0, "first");
	synth__mmap(s, 100, 2, 1, 4, "/lib/a");
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 11);
	synth__mmap_by(s, 101, 100, 20, 1, 4, "/lib/b");
	synth__pass_time(s, 23);
	synth__pass_time(s, 33);
	synth__record(s, 100, 41, 1, 2);
	synth__deferred(s, 100, 50, 2);
	synth__record(s, 100, 51, 2, 2);
}

static const char expect_shared[] =
	"first#1 100@10 a*2\n"
	PASSED(11)
	PASSED(23)
	PASSED(33)
	"first#1 100@50 b*2\n";

static void build_comm(struct synth *s)
{
	synth__name(s, 100, 1, 0, "one");
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 11);
	synth__name(s, 100, 12, 0, "two");
	synth__name(s, 100, 13, 0, "three");
	synth__deferred(s, 100, 20, 1);
	synth__pass_time(s, 21);
	synth__name(s, 100, 22, 0, "four");
	synth__in_place(s, 100, 23, 9, 0);
	synth__pass_time(s, 31);
	synth__pass_time(s, 41);
	synth__record(s, 100, 42, 1, 1);
	synth__in_place(s, 100, 43, 9, 0);
}

static const char expect_comm[] =
	"one#1 100@10 ?*1\n"
	PASSED(11)
	"three#1 100@20 ?*1\n"
	PASSED(21)
	"four#1 100@23\n"
	PASSED(31)
	PASSED(41)
	"four#1 100@43\n";

static void build_namespaces(struct synth *s)
{
	synth__name(s, 100, 1, 0, "one");
	synth__name(s, 200, 1, 0, "two");
	synth__namespace(s, 200, 2, 7);
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 10, 2);
	synth__pass_time(s, 11);
	synth__namespace(s, 100, 20, 5);
	synth__namespace(s, 200, 20, 8);
	synth__pass_time(s, 21);
	synth__pass_time(s, 31);
	synth__record(s, 100, 41, 1, 1);
	synth__record(s, 200, 41, 2, 1);
	synth__in_place(s, 100, 50, 9, 0);
	synth__in_place(s, 200, 51, 9, 0);
}

static const char expect_namespaces[] =
	"one#1 100@10 ?*1\n"
	"two#2+7 200@10 ?*1\n"
	":900#3 900@11 ?*1\n"
	":900#3 900@21 ?*1\n"
	":900#3 900@31 ?*1\n"
	"one#1+5 100@50\n"
	"two#2+8 200@51\n";

/* The first thread of a process ends, and the other thread continues. */
static void build_leader(struct synth *s)
{
	s->pairs = true;
	synth__name(s, 100, 1, 0, "first");
	synth__name(s, 101, 2, 0, "other");
	synth__mmap_by(s, 100, 101, 3, 1, 4, "/lib/a");
	synth__deferred(s, 101, 10, 1);
	synth__pass_time(s, 11);
	synth__exit(s, 100, 12);
	synth__mmap_by(s, 101, 101, 20, 1, 4, "/lib/b");
	synth__pass_time(s, 23);
	synth__pass_time(s, 33);
	synth__record(s, 101, 41, 1, 2);
	synth__deferred(s, 101, 50, 2);
	synth__record(s, 101, 51, 2, 2);
}

static const char expect_leader[] =
	"other#1 101@10 a*2\n"
	PASSED(11)
	PASSED(23)
	PASSED(33)
	"other#1 101@50 b*2\n";

/* A sample without a record must be delivered before the exec, with the name of the old program. */
static void build_exec(struct synth *s)
{
	synth__name(s, 100, 1, 0, "old");
	synth__mmap(s, 100, 2, 1, 4, "/lib/a");
	synth__deferred_at(s, 100, 10, 1, PERF_RECORD_MISC_KERNEL, 2);
	synth__pass_time(s, 11);
	synth__mmap(s, 100, 19, 1, 4, "/lib/b");
	synth__name(s, 100, 20, PERF_RECORD_MISC_COMM_EXEC, "new");
	synth__deferred(s, 100, 30, 1);
	synth__pass_time(s, 31);
	synth__pass_time(s, 41);
	synth__record(s, 100, 51, 1, 1);
}

static const char expect_exec[] =
	"old#1 100@10 -\n"
	PASSED(11)
	"new#1 100@30 b*1\n"
	PASSED(31)
	PASSED(41);

/* The tid is reused, and there is no event for the end of the first thread. */
static void build_fork(struct synth *s)
{
	synth__name(s, 100, 1, 0, "old");
	synth__in_place(s, 100, 5, 9, 0);
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 11);
	synth__fork(s, 100, 20);
	synth__name(s, 100, 21, 0, "new");
	synth__deferred(s, 100, 30, 2);
	synth__pass_time(s, 31);
	synth__pass_time(s, 41);
	synth__record(s, 100, 51, 2, 1);
}

static const char expect_fork[] =
	"old#1 100@5\n"
	"old#1 100@10 -\n"
	PASSED(11)
	"new#3 100@30 ?*1\n"
	PASSED(31)
	PASSED(41);

/* If events are not in time order, the exit of a thread may be read before its record. */
static void build_ended(struct synth *s)
{
	synth__name(s, 100, 1, 0, "old");
	synth__mmap(s, 100, 2, 1, 4, "/lib/a");
	synth__in_place(s, 100, 5, 9, 0);
	synth__deferred(s, 100, 10, 1);
	synth__exit(s, 100, 12);
	synth__record(s, 100, 11, 1, 2);
	synth__deferred(s, 100, 13, 2);
	synth__fork(s, 100, 20);
	synth__name(s, 100, 21, 0, "new");
	synth__mmap(s, 100, 22, 1, 4, "/lib/b");
	synth__in_place(s, 100, 23, 1, 1);
	synth__record(s, 100, 14, 2, 2);
	synth__in_place(s, 100, 24, 1, 1);
}

static const char expect_ended[] =
	"old#1 100@5\n"
	"old#1 100@10 a*2\n"
	":100#2 100@13 ?*2\n"
	"new#3 100@23 b*1\n"
	"new#3 100@24 b*1\n";

/* Host and guest both have a thread 100: these are two threads. */
static void build_guest(struct synth *s)
{
	const u64 ip = synth__user_ip(100, 1, 0);

	synth__name(s, 100, 1, PERF_RECORD_MISC_USER, "host");
	synth__name(s, 100, 2, PERF_RECORD_MISC_GUEST_USER, "guest");
	synth__deferred(s, 100, 10, 1);
	synth__deferred_at(s, 100, 11, 1, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	synth__pass_time(s, 12);
	synth__name(s, 100, 20, PERF_RECORD_MISC_GUEST_USER, "later");
	synth__mmap(s, 100, 21, 1, 1, "/lib/a");
	synth__pass_time(s, 22);
	synth__pass_time(s, 32);
	synth__record_of(s, 100, 41, 1, PERF_RECORD_MISC_GUEST_USER, &ip, 1);
	synth__record(s, 100, 42, 1, 2);
}

static const char expect_guest[] =
	"host#1 100@10 ?*2\n"
	"guest#2 100@11 -\n"
	":900#3 900@12 ?*1\n"
	":900#3 900@22 ?*1\n"
	":900#3 900@32 ?*1\n";

/* perf record --tail-synthesize writes names and maps at the end, with time 0. */
static void build_tail(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__record(s, 100, 20, 1, 3);
	synth__name(s, 100, 0, 0, "tail");
	synth__mmap(s, 100, 0, 1, 4, "/lib/a");
}

static const char expect_tail[] = "tail#1 100@10 a*3\n";

struct state_case {
	const char *name;
	void (*build)(struct synth *s);
	const char *expect;
	bool unordered;
	bool guest;
};

static const struct state_case state_cases[] = {
	{ "mmap", build_mmap, expect_mmap, false, false },
	{ "mmap2", build_mmap2, expect_mmap, false, false },
	{ "mmap by another thread", build_shared, expect_shared, false, false },
	{ "leader ends first", build_leader, expect_leader, false, false },
	{ "comm", build_comm, expect_comm, false, false },
	{ "namespaces", build_namespaces, expect_namespaces, false, false },
	{ "exec", build_exec, expect_exec, false, false },
	{ "fork without exit", build_fork, expect_fork, false, false },
	{ "exit and fork", build_ended, expect_ended, true, false },
	{ "guest", build_guest, expect_guest, false, true },
	{ "names and maps at the end", build_tail, expect_tail, false, false },
};

static bool run_state_case(const struct state_case *c, bool piped)
{
	struct synth s = { .piped = piped };
	struct state_tool state;
	bool ok;

	state_tool__init(&state);
	perf_guest = c->guest;
	symbol_conf.guest_code = c->guest;
	state.tool.ordered_events = !c->unordered;
	c->build(&s);
	ok = !synth__read(&state.tool, &s, SIZE_MAX, &state.stats) &&
	     read_text__is(&state.text, c->expect, c->name);
	perf_guest = false;
	symbol_conf.guest_code = false;
	synth__free(&s);
	return ok;
}

static int test__deferred_state(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(state_cases); i++) {
		ok &= run_state_case(&state_cases[i], /*piped=*/false);
		/* without sorting, a sample in a pipe does not wait for its record */
		if (!state_cases[i].unordered)
			ok &= run_state_case(&state_cases[i], /*piped=*/true);
	}
	return ok ? TEST_OK : TEST_FAIL;
}

#define FIRST_TID	100
#define NR_TIDS		8
#define NR_STEPS	800

/* State of a random schedule of threads, from which the next step is chosen. */
struct schedule {
	unsigned int seed;
	bool late;		/* the turn of a sample can come before its record is read */
	bool dead[NR_TIDS];
	bool sampled[NR_TIDS];
	u64 cookie[NR_TIDS];
	unsigned int nr_names;
};

static unsigned int pick_random(struct schedule *sched, unsigned int nr)
{
	sched->seed = sched->seed * 1103515245 + 12345;
	return (sched->seed >> 16 & 0x7fff) % nr;
}

static void new_name(struct schedule *sched, struct synth *s, u32 tid, u64 time, u16 misc)
{
	char name[16];

	scnprintf(name, sizeof(name), "n%u", ++sched->nr_names);
	synth__name(s, tid, time, misc, name);
}

static void new_map(struct schedule *sched, struct synth *s, u32 tid, u64 time)
{
	u64 cookie = sched->cookie[tid - FIRST_TID] + pick_random(sched, 4);
	char name[16];

	scnprintf(name, sizeof(name), "/lib/m%u", ++sched->nr_names);
	synth__mmap_by(s, tid ^ pick_random(sched, 2), tid, time, cookie & 0xff,
		       1 + pick_random(sched, 6), name);
}

static void end_context(struct schedule *sched, struct synth *s, u32 tid, u64 time, bool record)
{
	unsigned int i = tid - FIRST_TID;

	if (sched->sampled[i] && record)
		synth__record(s, tid, time, sched->cookie[i], 1 + pick_random(sched, 5));
	sched->sampled[i] = false;
	sched->cookie[i]++;
}

/*
 * End a thread. If it is the first thread of a process, end the second one, too. Some EXIT events
 * are missing.
 */
static void end_thread(struct schedule *sched, struct synth *s, u32 tid, u64 time)
{
	if (!(tid & 1) && !sched->dead[tid + 1 - FIRST_TID])
		end_thread(sched, s, tid + 1, time);
	end_context(sched, s, tid, time, pick_random(sched, 2));
	if (pick_random(sched, 4))
		synth__exit(s, tid, time);
	sched->dead[tid - FIRST_TID] = true;
}

static void start_thread(struct schedule *sched, struct synth *s, u32 tid, u64 time)
{
	if (tid & 1 && sched->dead[tid - 1 - FIRST_TID])
		return;
	if (tid & 1)
		synth__clone(s, tid, time);
	else
		synth__fork(s, tid, time);
	sched->dead[tid - FIRST_TID] = false;
}

static void live_on(struct schedule *sched, struct synth *s, u32 tid, u64 time)
{
	switch (pick_random(sched, 20)) {
	case 0 ... 2:
		end_context(sched, s, tid, time, pick_random(sched, 10));
		break;
	case 3 ... 6:
		new_map(sched, s, tid, time);
		break;
	case 7 ... 8:
		new_name(sched, s, tid, time, 0);
		break;
	case 9:
		end_context(sched, s, tid, time - 1, pick_random(sched, 2));
		new_name(sched, s, tid, time, PERF_RECORD_MISC_COMM_EXEC);
		break;
	case 10:
		end_thread(sched, s, tid, time);
		break;
	default:
		synth__deferred(s, tid, time, sched->cookie[tid - FIRST_TID]);
		sched->sampled[tid - FIRST_TID] = true;
	}
}

static void build_schedule(struct schedule *sched, struct synth *s)
{
	s->pairs = true;
	synth__name(s, 2, 1, 0, "parent");
	for (int i = 0; i < NR_TIDS; i++) {
		sched->cookie[i] = 1;
		synth__name(s, FIRST_TID + i, 1, 0, "first");
	}
	for (u64 step = 1; step <= NR_STEPS; step++) {
		unsigned int i = pick_random(sched, NR_TIDS);
		u64 time = step * 10;

		if (sched->dead[i])
			start_thread(sched, s, FIRST_TID + i, time);
		else
			live_on(sched, s, FIRST_TID + i, time);
		if (sched->late && !(step % 7))
			synth__pass_time(s, time + 1);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/*
 * Sort the lines, as their order does not matter. Drop the lines of thread 900, which is sampled
 * only to let time pass.
 */
static size_t sort_lines(char *text, char *lines[NR_STEPS])
{
	size_t nr = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strstarts(line, ":900"))
			lines[nr++] = line;
	}
	qsort(lines, nr, sizeof(*lines), compare_lines);
	return nr;
}

static bool same_lines(char *lines[2][NR_STEPS], const size_t nr[2])
{
	for (size_t i = 0; i < min(nr[0], nr[1]); i++) {
		if (strcmp(lines[0][i], lines[1][i])) {
			pr_debug("FAILED in turn: %s\n          late: %s\n",
				 lines[0][i], lines[1][i]);
			return false;
		}
	}
	return nr[0] == nr[1];
}

/* Late delivery must not change the threads and maps with which a sample is resolved. */
static bool run_schedule(unsigned int seed)
{
	struct state_tool state[2];
	char *lines[2][NR_STEPS];
	size_t nr[2];
	bool ok = true;

	for (int late = 0; late < 2; late++) {
		struct schedule sched = { .seed = seed, .late = late };
		struct synth s = { .mmap2 = seed % 2 };

		state_tool__init(&state[late]);
		state[late].plain = true;
		build_schedule(&sched, &s);
		ok = ok && !synth__read(&state[late].tool, &s, SIZE_MAX, &state[late].stats);
		nr[late] = ok ? sort_lines(state[late].text.buf, lines[late]) : 0;
		synth__free(&s);
	}
	ok = ok && same_lines(lines, nr);
	if (!ok)
		pr_debug("FAILED seed %u: %zu samples in turn and %zu late\n", seed, nr[0], nr[1]);
	return ok;
}

static int test__deferred_schedules(struct test_suite *test __maybe_unused,
				    int subtest __maybe_unused)
{
	bool ok = true;

	for (unsigned int seed = 1; ok && seed <= 30; seed++)
		ok = run_schedule(seed);
	return ok ? TEST_OK : TEST_FAIL;
}

static struct test_case tests__deferred_callchain_state[] = {
	TEST_CASE("Deferred samples that come late", deferred_state),
	TEST_CASE("Deferred samples in time and late", deferred_schedules),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain_state = {
	.desc = "State of late deferred samples",
	.test_cases = tests__deferred_callchain_state,
};

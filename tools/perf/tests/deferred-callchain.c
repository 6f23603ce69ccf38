// SPDX-License-Identifier: GPL-2.0
/*
 * Read synthetic files with deferred callchains and compare the delivered
 * events with the expected ones.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>

#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-model.h"
#include "deferred-callchain-reader.h"
#include "event.h"
#include "events_stats.h"
#include "tests.h"
#include "tool.h"
#include "util.h"

#define K		PERF_CONTEXT_KERNEL
#define U		PERF_CONTEXT_USER
#define D		PERF_CONTEXT_USER_DEFERRED
#define USER_IP		0x550006401000ULL	/* thread 100, cookie 1, innermost */

/* Times of tests in which a cookie is reused: the kernel does so after minutes or years. */
#define SEC		((u64)NSEC_PER_SEC)
#define S		"000000000"

static void build_basic(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 2);
	synth__deferred(s, 100, 12, 1);
	synth__deferred_at(s, 100, 13, 3, PERF_RECORD_MISC_USER, 0);
	synth__in_place(s, 200, 14, 9, 2);
	synth__record(s, 200, 20, 2, 4);
	synth__record(s, 100, 21, 1, 3);
	synth__record(s, 100, 22, 3, 2);
	synth__exit(s, 100, 30);
}

static const char expect_basic[] =
	"100@10 k2 100/1*3\n"
	"200@11 k2 200/2*4\n"
	"100@12 k2 100/1*3\n"
	"100@13 k0 100/3*2\n"
	"200@14 k2 200/9*2\n";

static const char expect_unmerged[] =
	"100@10 k2 -\n"
	"200@11 k2 -\n"
	"100@12 k2 -\n"
	"100@13 k0 -\n"
	"200@14 k2 200/9*2\n"
	"200@20 record 2\n"
	"100@21 record 1\n"
	"100@22 record 3\n";

/* A record that is repeated, after or before other samples of its entry context. */
static void build_again(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__record(s, 100, 11, 1, 3);
	synth__deferred(s, 100, 12, 1);
	synth__record(s, 100, 13, 1, 3);
	synth__record(s, 100, 13, 1, 3);
	synth__deferred(s, 100, 14, 1);
}

static const char expect_again[] =
	"100@10 k2 100/1*3\n"
	"100@12 k2 100/1*3\n"
	"100@14 k2 100/1*3\n";

/* A record that is read some flush rounds after the turn of its sample. */
static void build_late(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__round(s);
	synth__in_place(s, 100, 20, 9, 1);
	synth__round(s);
	synth__in_place(s, 100, 30, 9, 1);
	synth__round(s);
	synth__in_place(s, 100, 40, 9, 1);
	synth__record(s, 100, 41, 1, 3);
}

static const char expect_late[] =
	"100@10 k2 100/1*3\n"
	"100@20 k2 100/9*1\n"
	"100@30 k2 100/9*1\n"
	"100@40 k2 100/9*1\n";

/* Buffers are read one after the other, so the events in a file are not in time order. */
static void build_shuffled(struct synth *s)
{
	synth__record(s, 100, 20, 1, 3);
	synth__deferred(s, 200, 15, 2);
	synth__deferred(s, 100, 12, 1);
	synth__record(s, 200, 16, 2, 2);
	synth__deferred(s, 100, 10, 1);
}

static const char expect_shuffled[] =
	"100@10 k2 100/1*3\n"
	"100@12 k2 100/1*3\n"
	"200@15 k2 200/2*2\n";

static void build_incomplete(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__exit(s, 100, 11);
	synth__deferred(s, 200, 12, 2);
	synth__deferred_at(s, 200, 13, 3, PERF_RECORD_MISC_USER, 0);
	synth__deferred(s, 200, 14, 0);
	synth__record(s, 200, 15, 4, 2);
}

/* A sample in user space has its innermost frame in ip. */
static const char expect_incomplete[] =
	"100@10 k2 -\n"
	"200@12 k2 -\n"
	"200@13 k0 200/0*1 -\n"
	"200@14 k2 -\n";

/* The sample of a lost record is held only until the next entry context. */
static void build_lost(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__round(s);
	synth__deferred(s, 100, 20, 2);
	synth__record(s, 100, 21, 2, 3);
	synth__round(s);
	synth__deferred(s, 100, 30, 3);
	synth__in_place(s, 200, 31, 9, 1);
	synth__round(s);
	synth__in_place(s, 200, 40, 9, 1);
	synth__record(s, 100, 41, 4, 3);
	synth__round(s);
	synth__in_place(s, 200, 50, 9, 1);
}

static const char expect_lost[] =
	"100@10 k2 -\n"
	"100@20 k2 100/2*3\n"
	"100@30 k2 -\n"
	"200@31 k2 200/9*1\n"
	"200@40 k2 200/9*1\n"
	"200@50 k2 200/9*1\n";

/* An exec ends the wait for records of its thread, but not of other threads. */
static void build_exec(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 2);
	synth__comm(s, 100, 12);
	synth__in_place(s, 100, 13, 9, 1);
	synth__exec(s, 100, 14);
	synth__in_place(s, 100, 15, 9, 1);
}

static const char expect_exec[] =
	"100@10 k2 -\n"
	"200@11 k2 -\n"
	"100@13 k2 100/9*1\n"
	"100@15 k2 100/9*1\n";

/* Samples of two entry contexts have the same time, so their order is not known. */
static void build_same_time(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 100, 10, 2);
	synth__round(s);
	synth__in_place(s, 200, 20, 9, 1);
	synth__round(s);
	synth__in_place(s, 200, 30, 9, 1);
	synth__round(s);
	synth__record(s, 100, 40, 1, 1);
	synth__record(s, 100, 41, 2, 2);
}

static const char expect_same_time[] =
	"100@10 k2 100/1*1\n"
	"100@10 k2 100/2*2\n"
	"200@20 k2 200/9*1\n"
	"200@30 k2 200/9*1\n";

static void build_foreign(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__record(s, 200, 11, 1, 3);
	synth__record(s, 100, 12, 2, 3);
	synth__record(s, 4000000, 13, 1, 3);
	synth__record(s, -1, 14, 1, 3);
}

static const char expect_bare[] = "100@10 k2 -\n";

/*
 * Mainline kernels also put a cookie into samples of a guest.  Such a sample gets no record,
 * neither of the host's thread 100 nor of the guest's, and must not wait for one.
 */
static void build_guest(struct synth *s)
{
	const u64 host = synth__user_ip(100, 7, 0);
	const u64 guest[] = { synth__user_ip(100, 8, 0), synth__user_ip(100, 8, 1) };

	synth__deferred(s, 100, 10, 1);
	synth__deferred_at(s, 100, 11, 1, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	synth__deferred(s, 100, 12, 2);
	synth__record_of(s, 100, 20, 1, PERF_RECORD_MISC_GUEST_USER, guest, 2);
	synth__record_of(s, 100, 21, 1, PERF_RECORD_MISC_USER, &host, 1);
	synth__record_of(s, 100, 22, 2, PERF_RECORD_MISC_GUEST_USER, guest, 2);
}

static const char expect_guest[] =
	"100@10 k2 100/7*1\n"
	"100@11 k1 -\n"
	"100@12 k2 -\n";

/* Events that are added from now on are from the guest of event @id. */
static void in_guest(struct synth *s, u64 id)
{
	s->whose = id;
	s->second = id == SYNTH_SECOND_ID;
}

/* Threads of two guests with the same pid and cookie get their own records. */
static void build_guests(struct synth *s)
{
	const u64 index[] = {
		2, SYNTH_SAMPLING_ID, 0, 0, 0, SYNTH_SECOND_ID, 0, 0, 0, 5001, 0, 5002, 0,
	};
	const u64 one = synth__user_ip(100, 7, 0);
	const u64 other = synth__user_ip(100, 8, 0);

	synth__words(s, PERF_RECORD_ID_INDEX, 0, index, ARRAY_SIZE(index));
	in_guest(s, SYNTH_SAMPLING_ID);
	synth__deferred_at(s, 100, 10, 1, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	synth__deferred_at(s, 100, 11, 2, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	in_guest(s, SYNTH_SECOND_ID);
	synth__deferred_at(s, 100, 12, 1, PERF_RECORD_MISC_GUEST_KERNEL, 2);
	synth__record_of(s, 100, 20, 1, PERF_RECORD_MISC_GUEST_USER, &other, 1);
	synth__record_of(s, 100, 21, 2, PERF_RECORD_MISC_GUEST_USER, &other, 1);
	in_guest(s, SYNTH_SAMPLING_ID);
	synth__record_of(s, 100, 22, 1, PERF_RECORD_MISC_GUEST_USER, &one, 1);
}

static const char expect_guests[] =
	"100@10 k1 100/7*1\n"
	"100@11 k1 -\n"
	"100@12 k2 100/8*1\n";

static void build_malformed(struct synth *s)
{
	const u64 good[] = { U, USER_IP, USER_IP + 1, USER_IP + 2 };
	const u64 kernel[] = { K, USER_IP };
	const u64 nested[] = { U, USER_IP, D, 1 };
	const u64 twice[] = { U, U, USER_IP };
	const u64 inside[] = { USER_IP, U, USER_IP + 1 };
	const u64 other[] = { USER_IP, PERF_CONTEXT_MAX };
	const u64 *bare = good + 1;
	const u64 no_nr[] = { 1 };

	synth__deferred(s, 100, 10, 1);
	synth__record_at(s, 100, 11, 1, PERF_RECORD_MISC_USER, 5, good, 4);
	synth__record_at(s, 100, 12, 1, PERF_RECORD_MISC_USER, 3, good, 4);
	synth__record_at(s, 100, 13, 1, PERF_RECORD_MISC_USER, 1ULL << 61, good, 4);
	synth__record_at(s, 100, 14, 1, PERF_RECORD_MISC_USER, -1ULL, good, 4);
	synth__record_at(s, 100, 15, 1, PERF_RECORD_MISC_USER, 0, good, 4);
	synth__record_at(s, 100, 16, 1, PERF_RECORD_MISC_USER, 2, kernel, 2);
	synth__record_at(s, 100, 17, 1, PERF_RECORD_MISC_USER, 4, nested, 4);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 3, twice, 3);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 3, inside, 3);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 2, other, 2);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 4, bare, 3);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 2, bare, 3);
	synth__record_at(s, 100, 18, 1, PERF_RECORD_MISC_USER, 0, bare, 3);
	synth__record_at(s, 100, 19, 0, PERF_RECORD_MISC_USER, 4, good, 4);
	synth__raw_record(s, no_nr, sizeof(no_nr));
	synth__raw_record(s, NULL, 0);
}

/* The marker at a wrong place, or without a cookie. */
static void build_marker(struct synth *s)
{
	const u64 only[] = { D };
	const u64 last[] = { K, SYNTH_KERNEL_IP, D };
	const u64 twice[] = { K, SYNTH_KERNEL_IP, D, D };

	synth__sample(s, 100, 10, PERF_RECORD_MISC_KERNEL, only, ARRAY_SIZE(only));
	synth__sample(s, 100, 11, PERF_RECORD_MISC_KERNEL, last, ARRAY_SIZE(last));
	synth__sample(s, 100, 12, PERF_RECORD_MISC_KERNEL, twice, ARRAY_SIZE(twice));
}

static const char expect_marker[] =
	"100@10 k0 -\n"
	"100@11 k1 -\n"
	"100@12 k1 -\n";

static void build_empty(struct synth *s)
{
	const u64 context = U;

	synth__deferred(s, 100, 10, 1);
	synth__record_at(s, 100, 11, 1, PERF_RECORD_MISC_USER, 0, NULL, 0);
	synth__deferred(s, 100, 12, 2);
	synth__record(s, 100, 13, 2, 0);
	synth__deferred(s, 100, 14, 3);
	synth__record_at(s, 100, 15, 3, PERF_RECORD_MISC_USER, 1, &context, 1);
	synth__deferred_at(s, 100, 16, 4, PERF_RECORD_MISC_USER, 0);
	synth__record(s, 100, 17, 4, 0);
}

/* A sample in user space keeps its ip. */
static const char expect_empty[] =
	"100@10 k2 -\n"
	"100@12 k2 -\n"
	"100@14 k2 -\n"
	"100@16 k0 100/0*1 -\n";

/* A tid is reused, with the same cookies. */
static void build_reuse(struct synth *s)
{
	synth__deferred(s, 100, 10 * SEC, 1);
	synth__record(s, 100, 11 * SEC, 1, 1);
	synth__deferred(s, 100, 12 * SEC, 2);
	synth__exit(s, 100, 13 * SEC);
	synth__fork(s, 100, 20 * SEC);
	synth__deferred(s, 100, 21 * SEC, 2);
	synth__record(s, 100, 22 * SEC, 2, 2);
	synth__deferred(s, 100, 23 * SEC, 1);
	synth__record(s, 100, 24 * SEC, 1, 3);
}

static const char expect_reuse[] =
	"100@10" S " k2 100/1*1\n"
	"100@12" S " k2 -\n"
	"100@21" S " k2 100/2*2\n"
	"100@23" S " k2 100/1*3\n";

/* A new entry context after the record of an old one with the same cookie. */
static void build_wrap(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__record(s, 100, 11, 1, 1);
	synth__deferred(s, 100, 20, 1);
	synth__record(s, 100, 21, 1, 2);
}

static const char expect_wrap[] =
	"100@10 k2 100/1*1\n"
	"100@20 k2 100/1*2\n";

/* A cookie is reused, also by later threads with the same tid, and events are read backwards. */
static void build_backwards(struct synth *s)
{
	synth__record(s, 100, 41 * SEC, 1, 4);
	synth__exit(s, 100, 42 * SEC);
	synth__record(s, 100, 31 * SEC, 1, 3);
	synth__exit(s, 100, 25 * SEC);
	synth__record(s, 100, 21 * SEC, 1, 2);
	synth__record(s, 100, 11 * SEC, 1, 1);
	synth__deferred(s, 100, 40 * SEC, 1);
	synth__deferred(s, 100, 30 * SEC, 1);
	synth__deferred(s, 100, 24 * SEC, 1);
	synth__deferred(s, 100, 20 * SEC, 1);
	synth__deferred(s, 100, 10 * SEC, 1);
}

static const char expect_backwards[] =
	"100@10" S " k2 100/1*1\n"
	"100@20" S " k2 100/1*2\n"
	"100@24" S " k2 100/1*2\n"
	"100@30" S " k2 100/1*3\n"
	"100@40" S " k2 100/1*4\n";

/* After a sample of another entry context, an old record is not used for a reused cookie. */
static void build_moved_on(struct synth *s)
{
	synth__deferred(s, 100, 10 * SEC, 1);
	synth__record(s, 100, 11 * SEC, 1, 3);
	synth__deferred(s, 100, 20 * SEC, 2);
	synth__deferred(s, 100, 30 * SEC, 1);
}

static const char expect_moved_on[] =
	"100@10" S " k2 100/1*3\n"
	"100@20" S " k2 -\n"
	"100@30" S " k2 -\n";

/*
 * The record of the first sample was lost.  A later record with the same cookie is not used for
 * this sample.
 */
static void build_lost_again(struct synth *s)
{
	synth__deferred(s, 100, 10 * SEC, 1);
	synth__deferred(s, 100, 20 * SEC, 2);
	synth__record(s, 100, 21 * SEC, 2, 2);
	synth__deferred(s, 100, 30 * SEC, 1);
	synth__record(s, 100, 31 * SEC, 1, 3);
}

static const char expect_lost_again[] =
	"100@10" S " k2 -\n"
	"100@20" S " k2 100/2*2\n"
	"100@30" S " k2 100/1*3\n";

/* The case of build_lost_again(), but the first sample waits while the others are read. */
static void build_lost_again_late(struct synth *s)
{
	synth__deferred(s, 100, 10 * SEC, 1);
	synth__round(s);
	synth__in_place(s, 200, 15 * SEC, 9, 1);
	synth__round(s);
	synth__deferred(s, 100, 20 * SEC, 2);
	synth__record(s, 100, 21 * SEC, 2, 2);
	synth__deferred(s, 100, 30 * SEC, 1);
	synth__record(s, 100, 31 * SEC, 1, 3);
}

static const char expect_lost_again_late[] =
	"100@10" S " k2 -\n"
	"200@15" S " k2 200/9*1\n"
	"100@20" S " k2 100/2*2\n"
	"100@30" S " k2 100/1*3\n";

/* Tasks of other PID namespaces all have tid 0. Only their cookies differ. */
static void build_foreign_tasks(struct synth *s)
{
	synth__deferred(s, 0, 10, 1);
	synth__deferred(s, 0, 20, 2);
	synth__record(s, 0, 30, 2, 2);
	synth__record(s, 0, 31, 1, 3);
	synth__deferred(s, 0, 40, 3);
	synth__round(s);
	synth__in_place(s, 200, 41, 9, 1);
	synth__round(s);
	synth__deferred(s, 0, 50, 4);
	synth__record(s, 0, 51, 4, 2);
	synth__record(s, 0, 52, 3, 3);
}

static const char expect_foreign_tasks[] =
	"0@10 k2 0/1*3\n"
	"0@20 k2 0/2*2\n"
	"0@40 k2 0/3*3\n"
	"200@41 k2 200/9*1\n"
	"0@50 k2 0/4*2\n";

/* Forks and exits with tid 0 do not end the wait of samples with tid 0. */
static void build_foreign_ends(struct synth *s)
{
	synth__deferred(s, 0, 10, 1);
	synth__exit(s, 0, 11);
	synth__fork(s, 0, 12);
	synth__deferred(s, 0, 13, 2);
	synth__record(s, 0, 14, 2, 2);
	synth__round(s);
	synth__in_place(s, 200, 15, 9, 1);
	synth__round(s);
	synth__record(s, 0, 20, 1, 3);
	synth__deferred(s, 0, 30, 3);
	synth__exit(s, 0, 31);
	synth__record(s, 0, 32, 3, 2);
}

static const char expect_foreign_ends[] =
	"0@10 k2 0/1*3\n"
	"0@13 k2 0/2*2\n"
	"200@15 k2 200/9*1\n"
	"0@30 k2 0/3*2\n";

/* Clocks of CPUs differ: a record can come behind the record of the next entry context. */
static void build_skewed(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	s->cpu = 1;
	synth__record(s, 100, 11, 2, 2);
	synth__record(s, 100, 21, 1, 3);
	synth__deferred(s, 100, 30, 3);
	synth__record(s, 100, 31, 4, 2);
	synth__record(s, 100, 41, 3, 3);
	s->cpu = 0;
}

static const char expect_skewed[] =
	"100@10 k2 100/1*3\n"
	"100@30 k2 100/3*3\n";

/*
 * A thread moves to CPU 1, returns to user space there and moves back.  The clock of CPU 1 is
 * ahead, so its record has a later time than the record of the next entry context.  The second
 * time, the thread first sleeps for a second.
 */
static void build_ahead(struct synth *s)
{
	for (u64 i = 0; i < 2; i++) {
		u64 start = 30 * NSEC_PER_MSEC + i * NSEC_PER_SEC;
		u64 end = start + i * NSEC_PER_SEC;

		synth__deferred(s, 100, start, 2 * i + 1);
		s->cpu = 1;
		synth__record(s, 100, end + 12 * NSEC_PER_USEC, 2 * i + 1, 3);
		s->cpu = 0;
		synth__deferred(s, 100, end + 10 * NSEC_PER_USEC, 2 * i + 2);
		synth__record(s, 100, end + 11 * NSEC_PER_USEC, 2 * i + 2, 2);
	}
}

static const char expect_ahead[] =
	"100@30000000 k2 100/1*3\n"
	"100@30010000 k2 100/2*2\n"
	"100@1030000000 k2 100/3*3\n"
	"100@2030010000 k2 100/4*2\n";

/*
 * The clock of CPU 1 is behind, so the record and what the thread does next have earlier times than
 * the sample.
 */
static void build_behind(struct synth *s)
{
	s->cpu = 1;
	synth__record(s, 100, 5 * NSEC_PER_USEC, 1, 3);
	synth__deferred(s, 100, 6 * NSEC_PER_USEC, 2);
	synth__record(s, 100, 7 * NSEC_PER_USEC, 2, 2);
	synth__exec(s, 100, 8 * NSEC_PER_USEC);
	s->cpu = 0;
	synth__deferred(s, 100, 12 * NSEC_PER_USEC, 1);
	synth__round(s);
	synth__in_place(s, 200, 14 * NSEC_PER_USEC, 9, 1);
}

static const char expect_behind[] =
	"100@6000 k2 100/2*2\n"
	"100@12000 k2 100/1*3\n"
	"200@14000 k2 200/9*1\n";

/* The thread calls execve() on CPU 1, whose clock is behind that of the record. */
static void build_end_behind(struct synth *s)
{
	synth__deferred(s, 100, 10 * NSEC_PER_USEC, 1);
	synth__record(s, 100, 12 * NSEC_PER_USEC, 1, 3);
	s->cpu = 1;
	synth__exec(s, 100, 11 * NSEC_PER_USEC);
	s->cpu = 0;
}

static const char expect_end_behind[] = "100@10000 k2 100/1*3\n";

/*
 * Clocks of CPUs do not differ by 50 ms.  If the record of another entry context comes that long
 * before the record, that belongs to a later entry context.
 */
static void build_not_skewed(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	s->cpu = 1;
	synth__record(s, 100, 100 * NSEC_PER_MSEC, 2, 2);
	synth__record(s, 100, 150 * NSEC_PER_MSEC, 1, 3);
	s->cpu = 0;
}

/* A record without a time does not end the wait of other samples. */
static void build_untimed(struct synth *s)
{
	synth__record(s, 300, -1ULL, 1, 1);
	synth__round(s);
	synth__round(s);
	synth__deferred(s, 100, 10, 1);
	synth__round(s);
	s->cpu = 1;
	synth__record(s, 100, 100 * NSEC_PER_MSEC, 2, 2);
	s->cpu = 0;
	synth__round(s);
	synth__record(s, 100, 20, 1, 3);
	synth__round(s);
	synth__round(s);
}

static const char expect_untimed[] = "100@10 k2 100/1*3\n";

static void build_deep(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__deferred_at(s, 100, 11, 1, PERF_RECORD_MISC_KERNEL, 20);
	synth__deferred_at(s, 100, 12, 1, PERF_RECORD_MISC_USER, 0);
	synth__record(s, 100, 13, 1, 127);
}

/* The file does not say which limit on frames was set, so no frame is cut off. */
static const char expect_deep[] =
	"100@10 k2 100/1*127\n"
	"100@11 k20 100/1*127\n"
	"100@12 k0 100/1*127\n";

static const char expect_trimmed[] =
	"100@10 k2 100/1*14\n"
	"100@11 k20\n"
	"100@12 k0 100/1*16\n";

struct file_case {
	const char *name;
	void (*build)(struct synth *s);
	const char *expect;
	u64 stitched;
	u64 incomplete;
	u64 malformed;
	u16 max_stack;
	bool unmerged;
	bool no_cpu;
};

static const struct file_case file_cases[] = {
	{ "basic", build_basic, expect_basic, .stitched = 4 },
	{ "unmerged", build_basic, expect_unmerged, .unmerged = true },
	{ "record again", build_again, expect_again, .stitched = 3 },
	{ "late record", build_late, expect_late, .stitched = 1 },
	{ "shuffled", build_shuffled, expect_shuffled, .stitched = 3 },
	{ "incomplete", build_incomplete, expect_incomplete, .incomplete = 4 },
	{ "lost records", build_lost, expect_lost, .stitched = 1, .incomplete = 2 },
	{ "exec", build_exec, expect_exec, .incomplete = 2 },
	{ "same time", build_same_time, expect_same_time, .stitched = 2 },
	{ "short trailer", build_basic, expect_basic, .stitched = 4, .no_cpu = true },
	{ "foreign records", build_foreign, expect_bare, .incomplete = 1 },
	{ "guest", build_guest, expect_guest, .stitched = 1, .incomplete = 2 },
	{ "guests", build_guests, expect_guests, .stitched = 2, .incomplete = 1 },
	{ "malformed", build_malformed, expect_bare, .incomplete = 1, .malformed = 16 },
	{ "marker", build_marker, expect_marker, .incomplete = 3 },
	{ "empty records", build_empty, expect_empty, .incomplete = 4 },
	{ "tid reuse", build_reuse, expect_reuse, .stitched = 3, .incomplete = 1 },
	{ "cookie wrap", build_wrap, expect_wrap, .stitched = 2 },
	{ "moved on", build_moved_on, expect_moved_on, .stitched = 1, .incomplete = 2 },
	{ "lost, cookie again", build_lost_again, expect_lost_again, .stitched = 2,
	  .incomplete = 1 },
	{ "lost, cookie again, late", build_lost_again_late, expect_lost_again_late,
	  .stitched = 2, .incomplete = 1 },
	{ "tasks of other namespaces", build_foreign_tasks, expect_foreign_tasks,
	  .stitched = 4 },
	{ "ends of tasks of other namespaces", build_foreign_ends, expect_foreign_ends,
	  .stitched = 3 },
	{ "clocks differ", build_skewed, expect_skewed, .stitched = 2 },
	{ "clock of the next record differs", build_ahead, expect_ahead, .stitched = 4 },
	{ "clock of the record is behind", build_behind, expect_behind, .stitched = 2 },
	{ "clock of an end is behind", build_end_behind, expect_end_behind, .stitched = 1 },
	{ "clocks cannot differ", build_not_skewed, expect_bare, .incomplete = 1 },
	{ "record without a time", build_untimed, expect_untimed, .stitched = 1 },
	{ "backwards", build_backwards, expect_backwards, .stitched = 5 },
	{ "deep", build_deep, expect_deep, .stitched = 3 },
	{ "trimmed", build_deep, expect_trimmed, .stitched = 3, .max_stack = 16 },
};

static bool check_file(const struct file_case *c, const struct reader_tool *reader, int ret)
{
	const struct deferred_callchain_stats *stats = &reader->stats;

	if (read_text__is(&reader->text, c->expect, c->name) && !ret &&
	    stats->stitched == c->stitched && stats->malformed == c->malformed &&
	    deferred_callchain_stats__incomplete(stats) == c->incomplete)
		return true;

	pr_debug("FAILED %s: %d\n", c->name, ret);
	deferred_callchain_stats__fprintf(stats, stderr);
	return false;
}

static bool run_file_case(const struct file_case *c, const struct synth *how)
{
	struct reader_tool reader;
	struct synth s = *how;
	bool ok;
	int ret;

	s.max_stack = c->max_stack;
	s.no_cpu = c->no_cpu;
	synth__comm(&s, 100, 1);
	synth__comm(&s, 200, 1);
	c->build(&s);
	reader_tool__init(&reader, !c->unmerged);
	ret = synth__read(&reader.tool, &s, SIZE_MAX, &reader.stats);
	ok = check_file(c, &reader, ret);
	perf_guest = false;
	synth__free(&s);
	return ok;
}

/* Run all cases with both forms of records: with and without PERF_CONTEXT_USER. */
static int run_file_cases(struct synth how)
{
	int ret = TEST_OK;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(file_cases); i++) {
		how.prefixed = i % 2;
		if (!run_file_case(&file_cases[i / 2], &how)) {
			pr_debug("... with PERF_CONTEXT_USER in records: %d\n", how.prefixed);
			ret = TEST_FAIL;
		}
	}
	return ret;
}

static int test__deferred_native(struct test_suite *test __maybe_unused,
				 int subtest __maybe_unused)
{
	return run_file_cases((struct synth){});
}

static int test__deferred_foreign(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	return run_file_cases((struct synth){ .foreign = true });
}

/* A pipe cannot be read twice, so the session must copy the events that it holds. */
static int test__deferred_piped(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	return run_file_cases((struct synth){ .piped = true });
}

static int test__deferred_foreign_piped(struct test_suite *test __maybe_unused,
					int subtest __maybe_unused)
{
	return run_file_cases((struct synth){ .piped = true, .foreign = true });
}

#ifdef HAVE_ZSTD_SUPPORT
static int test__deferred_compressed(struct test_suite *test __maybe_unused,
				     int subtest __maybe_unused)
{
	return run_file_cases((struct synth){ .compressed = true });
}
#else
static int test__deferred_compressed(struct test_suite *test __maybe_unused,
				     int subtest __maybe_unused)
{
	return TEST_SKIP;
}
#endif

#define MODEL_SEEDS	2000

/* DEFERRED_MODEL_SEED=N runs only schedule N, for instance one that failed. */
static int test__deferred_random(struct test_suite *test __maybe_unused,
				 int subtest __maybe_unused)
{
	const char *only = getenv("DEFERRED_MODEL_SEED");
	u64 first = only ? strtoull(only, NULL, 0) : 1;
	u64 last = only ? first : MODEL_SEEDS;

	for (u64 seed = first; seed <= last; seed++) {
		if (!deferred_model__run(seed))
			return TEST_FAIL;
	}
	return TEST_OK;
}

static struct test_case tests__deferred_callchain[] = {
	TEST_CASE("Deferred callchains of this byte order", deferred_native),
	TEST_CASE("Deferred callchains of the other byte order", deferred_foreign),
	TEST_CASE("Deferred callchains in a pipe", deferred_piped),
	TEST_CASE("Deferred callchains in a pipe of the other byte order", deferred_foreign_piped),
	TEST_CASE_REASON("Deferred callchains in a compressed file", deferred_compressed,
			 "perf is built without zstd"),
	TEST_CASE("Deferred callchains in random schedules", deferred_random),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain = {
	.desc = "Deferred user callchains",
	.test_cases = tests__deferred_callchain,
};

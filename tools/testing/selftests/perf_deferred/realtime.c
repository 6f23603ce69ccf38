// SPDX-License-Identifier: GPL-2.0
/*
 * Real-time and deadline tasks take no page faults in walks; a sysctl allows these, or excludes
 * the tasks from deferral.
 * Walks of tasks that serve I/O never take page faults.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_chain.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME		5
#define DEPTH		4
#define FRAMES		6
#define REALTIME	"/proc/sys/kernel/unwind_user_realtime"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE	6
#endif

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER	57
#endif
/* not a policy: stands for a task that serves I/O */
#define IO_FLUSHER	(-1)

enum { IN_PLACE, NO_FAULTS, AS_OTHERS };

static const int policies[] = { SCHED_FIFO, SCHED_RR, SCHED_DEADLINE };

/* struct sched_attr: C libraries have it under different names, or not at all */
struct attr_of_sched {
	__u32 size;
	__u32 policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime;
	__u64 deadline;
	__u64 period;
};

static int set_policy(int policy)
{
	struct attr_of_sched attr = { .size = sizeof(attr), .policy = policy };

	if (prctl(PR_SET_IO_FLUSHER, policy == IO_FLUSHER, 0, 0, 0))
		return pd_skip("PR_SET_IO_FLUSHER: %s", strerror(errno));
	if (policy == IO_FLUSHER)
		return 0;
	if (policy == SCHED_DEADLINE) {
		attr.runtime = 50000000;
		attr.deadline = 100000000;
		attr.period = 100000000;
	} else if (policy != SCHED_OTHER) {
		attr.priority = 1;
	}
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		return pd_skip("scheduling policy %d: %s", policy, strerror(errno));
	return 0;
}

static int set_realtime(int value)
{
	char text[] = { '0' + value, 0 };
	int err = pd_write_str(REALTIME, text);

	PD_CHECK(!err, "%s: %s", REALTIME, strerror(err));
	return 0;
}

/* Sample a system call under @policy. Its stack must be deferred if @deferred, else in place. */
static int call_as(int policy, bool deferred)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	PD_TRY(set_policy(policy));
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	PD_TRY(set_policy(SCHED_OTHER));
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(deferred ? sample->deferred : sample->inplace,
		 "policy %d: the sample is %s", policy, sample->inplace ? "unwound in place" :
		 sample->deferred ? "deferred" : "without a user stack");
	PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	PD_CHECK(deferred || !pd_log_count(&log, PD_RECORD_DEFERRED), "a record of it");
	pd_log_free(&log);
	return 0;
}

static int call_as_each(int realtime)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		PD_TRY(set_realtime(realtime));
		PD_TRY(call_as(policies[i], realtime != IN_PLACE));
	}
	return call_as(SCHED_OTHER, true);
}

static int restore_and_return(int ret)
{
	set_policy(SCHED_OTHER);
	set_realtime(NO_FAULTS);
	return ret;
}

static int without_faults_by_default(void)
{
	PD_CHECK(pd_read_long(REALTIME) == NO_FAULTS, "%s is %ld", REALTIME,
		 pd_read_long(REALTIME));
	return restore_and_return(call_as_each(NO_FAULTS));
}

static int deferred_as_others(void)
{
	return restore_and_return(call_as_each(AS_OTHERS));
}

static int unwound_in_place(void)
{
	return restore_and_return(call_as_each(IN_PLACE));
}

static int check_values(void)
{
	PD_CHECK(pd_write_str(REALTIME, "3") == EINVAL, "3 is taken");
	PD_CHECK(pd_write_str(REALTIME, "-1") == EINVAL, "-1 is taken");
	PD_CHECK(pd_read_long(REALTIME) == NO_FAULTS, "the value has changed");
	return PD_PASS;
}

static size_t resident_pages(char *memory)
{
	unsigned char map[FRAMES];
	size_t i, count = 0;

	if (mincore(memory, FRAMES * getpagesize(), map))
		return FRAMES;
	for (i = 0; i < FRAMES; i++)
		count += map[i] & 1;
	return count;
}

/* Walk a chain of frames in pages that are not in memory. */
static int walk_unread(int policy, unsigned int *frames, bool *brought_in)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t before;
	char *memory;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	memory = pd_chain_map_file(NAME, FRAMES);
	PD_CHECK(memory, "no file to map: %s", strerror(errno));
	before = resident_pages(memory);
	if (before == FRAMES)
		return pd_skip("all pages are already in memory");
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	PD_TRY(set_policy(policy));
	pd_enable(&event);
	pd_getppid_on(memory, memory);
	pd_disable(&event);
	PD_TRY(set_policy(SCHED_OTHER));
	*brought_in = resident_pages(memory) != before;
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && sample->deferred, "no deferred sample");
	PD_CHECK(pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
	*frames = pd_frames_of(stack, NAME);
	return 0;
}

static int walk_unread_as_each(void)
{
	unsigned int frames;
	bool brought_in;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		PD_TRY(set_realtime(NO_FAULTS));
		PD_TRY(walk_unread(policies[i], &frames, &brought_in));
		PD_CHECK(!brought_in && frames < FRAMES,
			 "policy %d: %u frames, pages were faulted in", policies[i], frames);
		PD_TRY(set_realtime(AS_OTHERS));
		PD_TRY(walk_unread(policies[i], &frames, &brought_in));
		PD_CHECK(frames == FRAMES, "policy %d: %u frames", policies[i], frames);
	}
	PD_TRY(set_realtime(NO_FAULTS));
	PD_TRY(walk_unread(SCHED_OTHER, &frames, &brought_in));
	PD_CHECK(frames == FRAMES, "another task: %u frames", frames);
	return PD_PASS;
}

static int nothing_brought_in(void)
{
	return restore_and_return(walk_unread_as_each());
}

static int nothing_brought_in_by_io_flusher(void)
{
	unsigned int frames;
	bool brought_in;

	PD_TRY(restore_and_return(walk_unread(IO_FLUSHER, &frames, &brought_in)));
	PD_CHECK(!brought_in && frames < FRAMES, "%u frames, pages were faulted in", frames);
	PD_TRY(walk_unread(SCHED_OTHER, &frames, &brought_in));
	PD_CHECK(frames == FRAMES, "afterwards: %u frames", frames);
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(check_values),
	PD_TEST(without_faults_by_default),
	PD_TEST(deferred_as_others),
	PD_TEST(unwound_in_place),
	PD_TEST(nothing_brought_in),
	PD_TEST(nothing_brought_in_by_io_flusher),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

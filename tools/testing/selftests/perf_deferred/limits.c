// SPDX-License-Identifier: GPL-2.0
/* How many frames a record may have. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME		7
#define MAX_STACK	"/proc/sys/kernel/perf_event_max_stack"

static int call_with(struct perf_event_attr *attr, unsigned int depth, struct pd_log *log,
		     const struct pd_rec **stack)
{
	const struct pd_rec *sample;
	struct pd_event event;

	PD_TRY(pd_must_open(&event, attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, depth, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(log));
	sample = pd_log_nth(log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(pd_user_half(log, sample, stack) != PD_BARE && *stack, "no user half");
	return 0;
}

static int of_the_event(void)
{
	static const unsigned int limits[] = { 5, 1, 20 };
	struct perf_event_attr attr;
	const struct pd_rec *stack;
	size_t i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	for (i = 0; i < 3; i++) {
		struct pd_log log = {};

		attr.sample_max_stack = limits[i];
		PD_TRY(call_with(&attr, 50, &log, &stack));
		PD_CHECK(stack->nr_user == limits[i], "%u frames with sample_max_stack %u",
			 stack->nr_user, limits[i]);
		pd_log_free(&log);
	}
	return PD_PASS;
}

static int of_the_system(void)
{
	long limit = pd_read_long(MAX_STACK);
	struct perf_event_attr attr;
	const struct pd_rec *stack;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(call_with(&attr, 2 * limit, &log, &stack));
	PD_CHECK(stack->nr_user <= limit, "%u frames, the limit is %ld", stack->nr_user, limit);
	PD_CHECK(stack->nr_user >= limit / 2, "%u frames, the limit is %ld", stack->nr_user,
		 limit);
	return PD_PASS;
}

/* An event without callchains that asks for more frames must not raise the limit of others. */
static int of_a_bpf_event(void)
{
	struct perf_event_attr attr;
	struct pd_event event;

	pd_attr_dummy(&attr);
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.sample_type &= ~PERF_SAMPLE_CALLCHAIN;
	attr.sample_max_stack = 65535;
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 1);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	return of_the_system();
}

/* Of two events with different frame limits, the one with the larger limit gets all frames. */
static int of_two_events(void)
{
	struct perf_event_attr small_attr, attr;
	const struct pd_rec *stack;
	struct pd_event small_event;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	small_attr = attr;
	small_attr.sample_max_stack = 4;
	PD_TRY(pd_must_open(&small_event, &small_attr, 0, -1));
	pd_enable(&small_event);
	PD_TRY(call_with(&attr, 50, &log, &stack));
	return pd_check_stack(stack, NAME, 50);
}

static int set_max_stack(long limit)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%ld", limit);
	err = pd_write_str(MAX_STACK, text);
	if (err)
		return pd_skip("%s: %s", MAX_STACK, strerror(err));
	return 0;
}

static int raised_call(void)
{
	struct perf_event_attr attr;
	const struct pd_rec *stack;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(call_with(&attr, 200, &log, &stack));
	return pd_check_stack(stack, NAME, 200);
}

static int raised(void)
{
	long before = pd_read_long(MAX_STACK);
	int ret;

	PD_TRY(set_max_stack(400));
	ret = raised_call();
	set_max_stack(before);
	return ret;
}

static int exit_deep(void *unused)
{
	struct pd_syscall call = { .nr = SYS_exit_group };

	(void)unused;
	return pd_call(NAME, 200, pd_leaf_syscall, &call);
}

static int dying_call(void)
{
	const struct pd_rec *stack = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	PD_TRY(pd_child_start(&child, exit_deep, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(!pd_child_wait(&child, 10), "the task does not exit");
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == 1, "%zu samples",
		 pd_log_count(&log, PERF_RECORD_SAMPLE));
	pd_user_half(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), &stack);
	PD_CHECK(stack && stack->nr_user == 128, "%u frames instead of 128",
		 stack ? stack->nr_user : 0);
	PD_CHECK(!pd_foreign_frame(stack, NAME), "a frame of another function");
	pd_log_free(&log);
	return PD_PASS;
}

/* A task without a sample before its exit has no page for its frames: it gets 128 at most. */
static int of_a_dying_task(void)
{
	long before = pd_read_long(MAX_STACK);
	int ret;

	PD_TRY(set_max_stack(400));
	ret = dying_call();
	set_max_stack(before);
	return ret;
}

/* More frames than fit in a record: the record is still well-formed. */
static int huge_call(unsigned int frames)
{
	const size_t size = frames * sizeof(struct pd_frame);
	const struct pd_rec *record;
	struct perf_event_attr attr;
	struct pd_frame *chain;
	struct pd_log log = {};
	struct pd_event event;
	unsigned int i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	chain = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(chain != MAP_FAILED, "mmap: %s", strerror(errno));
	for (i = 0; i < frames; i++) {
		chain[i].ip = i ? pd_name_address(NAME) : pd_getppid_on_address();
		chain[i].next = i + 1 < frames ? (unsigned long)&chain[i + 1] : 0;
	}
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_getppid_on(chain, chain);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
	record = pd_log_nth(&log, PD_RECORD_DEFERRED, 0);
	PD_CHECK(record, "no record");
	pd_note("%u of %u frames", record->nr_user, frames);
	PD_CHECK(record->nr_user >= 127, "only %u frames", record->nr_user);
	return pd_check_no_bare(&log);
}

static int huge(void)
{
	long before = pd_read_long(MAX_STACK);
	int ret;

	PD_TRY(set_max_stack(20000));
	ret = huge_call(15000);
	set_max_stack(before);
	return ret;
}

static int call_without_frames(void)
{
	const struct pd_rec *record = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, 5, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == 1, "no sample");
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PD_RECORD_DEFERRED, &record))
		PD_CHECK(!record->nr_user, "a record of %u frames", record->nr_user);
	return PD_PASS;
}

static int of_none(void)
{
	long before = pd_read_long(MAX_STACK);
	int ret;

	PD_TRY(set_max_stack(0));
	ret = call_without_frames();
	set_max_stack(before);
	return ret;
}

/*
 * A sample whose stack is known, but does not fit, makes a request. Another sample, taken in the
 * request, must not change the callchain of the first one.
 */
static int with_samples_of_the_request(void)
{
	struct pd_range unlock = pd_find_function("__srcu_read_unlock");
	struct perf_event_attr attr, known_attr, inner_attr;
	struct pd_event event, known, inner;
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	size_t nr = 0;
	int i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	known_attr = attr;
	known_attr.type = PERF_TYPE_BREAKPOINT;
	known_attr.config = 0;
	known_attr.bp_type = HW_BREAKPOINT_X;
	known_attr.bp_addr = unlock.low;
	known_attr.bp_len = sizeof(long);
	known_attr.sample_max_stack = 20;
	PD_TRY(pd_attr_kprobe(&inner_attr, "unwind_deferred_request"));
	pd_attr_flag(&inner_attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&inner_attr, PD_FLAG_DEFER_OUTPUT, 0);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	if (pd_try_open(&known_attr))
		return pd_skip("no breakpoint in the kernel");
	PD_TRY(pd_must_open(&known, &known_attr, 0, -1));
	PD_TRY(pd_must_open(&inner, &inner_attr, 0, -1));
	pd_enable(&event);
	pd_enable(&known);
	pd_enable(&inner);
	for (i = 0; i < 20; i++)
		pd_call(NAME, 60, pd_leaf_getppid, NULL);
	pd_disable(&known);
	pd_disable(&inner);
	pd_disable(&event);
	pd_drain(&known, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		nr++;
		PD_CHECK(sample->nr_kernel + sample->nr_user <= 20, "%u frames in sample %zu",
			 sample->nr_kernel + sample->nr_user, nr);
	}
	PD_CHECK(nr >= 20, "only %zu samples", nr);
	pd_log_free(&log);
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(of_the_event),
	PD_TEST(of_the_system),
	PD_TEST(of_a_bpf_event),
	PD_TEST(of_two_events),
	PD_TEST(of_none),
	PD_TEST(raised),
	PD_TEST(of_a_dying_task),
	PD_TEST(huge),
	PD_TEST(with_samples_of_the_request),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

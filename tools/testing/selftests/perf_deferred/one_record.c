// SPDX-License-Identifier: GPL-2.0
/* One unwind and one cookie for each entry context, whatever the number of requests. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	1
#define DEPTH	6
#define FDS	200

/* One poll() of FDS entries, all for one pipe, calls pipe_poll() once for each entry. */
static PD_LEAF long poll_pipes(void *fds)
{
	return pd_syscall3(SYS_poll, fds, FDS, 0);
}

static int make_pipes(struct pollfd *fds)
{
	int pipe_fds[2], i;

	PD_CHECK(!pipe(pipe_fds), "pipe failed");
	for (i = 0; i < FDS; i++) {
		fds[i].fd = pipe_fds[0];
		fds[i].events = POLLIN;
	}
	return 0;
}

static int attr_pipe_poll(struct perf_event_attr *attr)
{
	return pd_attr_kprobe(attr, "pipe_poll");
}

/* Check that a buffer has @samples samples with one cookie, and only one record. */
static int check_one_cookie(struct pd_log *log, size_t samples, __u64 *cookie)
{
	const struct pd_rec *sample = NULL;

	PD_TRY(pd_log_clean(log));
	PD_CHECK(pd_log_count(log, PERF_RECORD_SAMPLE) == samples, "%zu samples instead of %zu",
		 pd_log_count(log, PERF_RECORD_SAMPLE), samples);
	PD_CHECK(pd_log_count(log, PD_RECORD_DEFERRED) == 1, "%zu records instead of 1",
		 pd_log_count(log, PD_RECORD_DEFERRED));
	*cookie = pd_log_nth(log, PERF_RECORD_SAMPLE, 0)->cookie;
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(sample->cookie == *cookie, "cookies %llx and %llx in one system call",
			 *cookie, sample->cookie);
		PD_TRY(pd_check_stitched(log, sample, NAME, DEPTH));
	}
	return 0;
}

static int one_for_many_samples(void)
{
	struct pollfd fds[FDS];
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	__u64 cookie;

	PD_TRY(make_pipes(fds));
	PD_TRY(attr_pipe_poll(&attr));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, DEPTH, poll_pipes, fds);
	pd_disable(&event);
	pd_drain(&event, &log);
	return check_one_cookie(&log, FDS, &cookie);
}

/* Return the number of finished user stack walks, from the counters in debugfs, or -1. */
static long walks_counted(void)
{
	FILE *file = fopen("/sys/kernel/debug/unwind_user", "r");
	long sum = 0, count;
	char line[128];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "ends %*s %ld", &count) == 1)
			sum += count;
	fclose(file);
	return sum;
}

/* Two events with a buffer each must get the same cookie, and one record each. */
static int call_with_two_events(long *walks)
{
	struct perf_event_attr attr, other_attr;
	struct pd_log log = {}, other_log = {};
	struct pd_event event, other;
	struct pollfd fds[FDS];
	__u64 cookie, other_cookie;
	long before;

	PD_TRY(make_pipes(fds));
	PD_TRY(attr_pipe_poll(&attr));
	PD_TRY(pd_attr_kprobe(&other_attr, "__x64_sys_poll"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	PD_TRY(pd_must_open(&other, &other_attr, 0, -1));
	pd_enable(&event);
	pd_enable(&other);
	before = walks_counted();
	pd_call(NAME, DEPTH, poll_pipes, fds);
	*walks = walks_counted() - before;
	pd_disable(&other);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_drain(&other, &other_log);
	PD_TRY(check_one_cookie(&log, FDS, &cookie));
	PD_TRY(check_one_cookie(&other_log, 1, &other_cookie));
	PD_CHECK(cookie == other_cookie, "cookies %llx and %llx in one system call",
		 cookie, other_cookie);
	return 0;
}

static int two_events_share(void)
{
	long walks;

	return call_with_two_events(&walks);
}

static int two_events_one_walk(void)
{
	long walks;

	if (walks_counted() < 0)
		return pd_skip("nothing in debugfs counts walks");
	PD_TRY(call_with_two_events(&walks));
	PD_CHECK(walks == 1, "%ld walks for one system call", walks);
	return PD_PASS;
}

/* A process that samples the target's poll(), with an event and a buffer of its own. */
struct profiler {
	pid_t target;
	int ready, done, cookie_out;
};

static int run_profiler(void *arg)
{
	struct profiler *profiler = arg;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	__u64 cookie = 0;
	char byte = 0;
	int ret;

	ret = attr_pipe_poll(&attr);
	if (!ret)
		ret = pd_must_open(&event, &attr, profiler->target, -1);
	if (!ret)
		pd_enable(&event);
	if (write(profiler->ready, &byte, 1) != 1 || read(profiler->done, &byte, 1) != 1 || ret)
		return PD_FAIL;
	pd_disable(&event);
	pd_drain(&event, &log);
	ret = check_one_cookie(&log, FDS, &cookie);
	if (write(profiler->cookie_out, &cookie, sizeof(cookie)) != sizeof(cookie))
		return PD_FAIL;
	return ret;
}

static int profilers_share(void)
{
	int ready[2], done[2], out[2], i, status;
	struct pd_child children[3];
	struct perf_event_attr attr;
	struct profiler profiler;
	__u64 cookies[3];
	struct pollfd fds[FDS];
	char byte = 0;

	PD_TRY(make_pipes(fds));
	PD_TRY(attr_pipe_poll(&attr));
	PD_CHECK(!pipe(ready) && !pipe(done) && !pipe(out), "pipe failed");
	profiler = (struct profiler){ getpid(), ready[1], done[0], out[1] };
	for (i = 0; i < 3; i++) {
		PD_TRY(pd_child_start(&children[i], run_profiler, &profiler));
		pd_child_go(&children[i]);
		PD_CHECK(read(ready[0], &byte, 1) == 1, "profiler %d ended early", i);
	}
	pd_call(NAME, DEPTH, poll_pipes, fds);
	PD_CHECK(write(done[1], "abc", 3) == 3, "write failed");
	for (i = 0; i < 3; i++) {
		status = pd_child_wait(&children[i], 60);
		PD_CHECK(!status, "profiler %d ended with %#x", i, status);
		PD_CHECK(read(out[0], &cookies[i], 8) == 8, "no cookie from profiler");
		PD_CHECK(cookies[i] == cookies[0], "cookies %llx and %llx for two profilers",
			 cookies[0], cookies[i]);
	}
	return PD_PASS;
}

/* Events that are only outputs; the last one is not enabled. */
static const struct output {
	const char *whose;
	pid_t pid;
	int cpu;
} outputs[] = {
	{ "the task", 0, -1 },
	{ "the CPU", -1, 0 },
	{ "the task on its CPU", 0, 0 },
	{ "nobody", 0, -1 },
};

#define OUTPUTS		((int)ARRAY_SIZE(outputs))

/* Check the user half of the event's only sample, which must have a record. */
static int check_sample_of(struct pd_event *event, __u32 tid, __u64 *cookie)
{
	const struct pd_rec *sample;
	struct pd_log log = {};

	pd_drain(event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_TRY(pd_check_stitched(&log, sample, NAME, DEPTH));
	PD_CHECK(sample->tid == tid, "a sample of task %u", sample->tid);
	*cookie = sample->cookie;
	return 0;
}

static int check_record_in(struct pd_event *dummy, __u32 tid, __u64 cookie, const char *whose)
{
	const struct pd_rec *record;
	struct pd_log log = {};

	pd_drain(dummy, &log);
	record = pd_log_record(&log, tid, cookie);
	PD_CHECK(record, "no record in the output of %s", whose);
	return pd_check_stack(record, NAME, DEPTH);
}

/* Records go to the outputs of events of the task, of its CPU, and of the task on its CPU. */
static int every_output_that_covers(void)
{
	struct perf_event_attr attr, dummy_attr;
	struct pd_event event, dummies[OUTPUTS];
	struct pd_log log = {};
	__u64 cookie;
	int i;

	pd_pin(0, 0);
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_dummy(&dummy_attr);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	for (i = 0; i < OUTPUTS; i++)
		PD_TRY(pd_must_open(&dummies[i], &dummy_attr, outputs[i].pid, outputs[i].cpu));
	for (i = 0; i < OUTPUTS - 1; i++)
		pd_enable(&dummies[i]);
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	PD_TRY(check_sample_of(&event, gettid(), &cookie));
	for (i = 0; i < OUTPUTS - 1; i++)
		PD_TRY(check_record_in(&dummies[i], gettid(), cookie, outputs[i].whose));
	pd_drain(&dummies[i], &log);
	PD_CHECK(!pd_log_count(&log, PD_RECORD_DEFERRED), "a record in an output that is off");
	return PD_PASS;
}

static int call_once(void *unused)
{
	(void)unused;
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	return 0;
}

/* The record of a child goes to the buffer of its parent's event, which the child has inherited. */
static int inherited_output(void)
{
	struct perf_event_attr attr, dummy_attr;
	struct pd_event event, dummy;
	struct pd_child child;
	__u64 cookie;

	pd_pin(0, 0);
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_dummy(&dummy_attr);
	dummy_attr.inherit = 1;
	PD_TRY(pd_must_open(&dummy, &dummy_attr, 0, 0));
	pd_enable(&dummy);
	PD_TRY(pd_child_start(&child, call_once, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(!pd_child_wait(&child, 60), "the child failed");
	PD_TRY(check_sample_of(&event, child.pid, &cookie));
	return check_record_in(&dummy, child.pid, cookie, "the parent") ? PD_FAIL : PD_PASS;
}

static int pause_task(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static int no_output_that_does_not(void)
{
	struct perf_event_attr attr, dummy_attr;
	struct pd_event event, of_task, of_cpu;
	struct pd_child other;
	struct pd_log log = {};

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	pd_pin(0, 0);
	PD_TRY(pd_child_start(&other, pause_task, NULL));
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_dummy(&dummy_attr);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	PD_TRY(pd_must_open(&of_task, &dummy_attr, other.pid, -1));
	PD_TRY(pd_must_open(&of_cpu, &dummy_attr, -1, 1));
	pd_enable(&of_task);
	pd_enable(&of_cpu);
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&of_task, &log);
	PD_CHECK(!pd_log_count(&log, PD_RECORD_DEFERRED), "a record in another task's output");
	pd_drain(&of_cpu, &log);
	kill(other.pid, SIGKILL);
	PD_CHECK(!pd_log_record(&log, gettid(), 0) && !pd_log_count(&log, PD_RECORD_DEFERRED),
		 "a record in another CPU's output");
	return PD_PASS;
}

static PD_LEAF long read_zeros(void *buffer)
{
	int fd = pd_syscall2(SYS_open, "/dev/zero", O_RDONLY);
	long ret = 0;
	int i;

	for (i = 0; i < 20; i++)
		ret += pd_syscall3(SYS_read, fd, buffer, 16 << 20);
	pd_syscall1(SYS_close, fd);
	return ret;
}

/*
 * A timer samples long system calls many times.  Every cookie must have a record, and
 * only a few cookies may have another one.
 */
static int long_system_calls(void)
{
	size_t cookies = 0, samples = 0, records;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	__u64 last = 0;

	pd_attr_clock(&attr, pd_hz(5000));
	attr.exclude_user = 1;
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, DEPTH, read_zeros, malloc(16 << 20));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));

	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		/* a sample that is taken while the event is being disabled may have no record */
		if (sample->time >= event.disabled_at)
			continue;
		samples++;
		cookies += sample->deferred && sample->cookie != last;
		last = sample->cookie;
	}
	records = pd_log_count(&log, PD_RECORD_DEFERRED);
	pd_note("%zu samples, %zu cookies, %zu records", samples, cookies, records);
	PD_CHECK(samples >= 20, "only %zu samples", samples);
	PD_CHECK(records >= cookies, "%zu records for %zu cookies", records, cookies);
	/* Allow some records to be sent again. */
	PD_CHECK(records <= cookies + cookies / 4 + 2, "%zu records for %zu cookies",
		 records, cookies);
	return PD_PASS;
}

/* Count the entry contexts with deferred samples. */
static size_t count_cookies(const struct pd_log *log)
{
	const struct pd_rec *sample = NULL, *other;
	size_t count = 0;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		other = NULL;
		while (pd_log_next(log, PERF_RECORD_SAMPLE, &other) &&
		       other->cookie != sample->cookie)
			;
		count += sample->deferred && other == sample;
	}
	return count;
}

/*
 * Samples that are taken after the record was sent, but before the return to user mode, must
 * have the stack of the record, and must not cause a second record.
 */
static int behind_the_record(void)
{
	unsigned long calls = pd_scale(50), i;
	struct perf_event_attr attrs[2];
	struct pd_event events[2];
	const struct pd_rec *sample = NULL;
	size_t samples, cookies;
	struct pd_log log = {};
	long walks;

	PD_TRY(pd_attr_kprobe(&attrs[0], "__x64_sys_getppid"));
	PD_TRY(pd_attr_kprobe(&attrs[1], "__rseq_handle_notify_resume"));
	for (i = 0; i < 2; i++)
		PD_TRY(pd_must_open(&events[i], &attrs[i], 0, -1));
	walks = walks_counted();
	pd_enable(&events[0]);
	pd_enable(&events[1]);
	for (i = 0; i < calls; i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&events[1]);
	pd_disable(&events[0]);
	walks = walks_counted() - walks;
	pd_drain(&events[0], &log);
	pd_drain(&events[1], &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	samples = pd_log_count(&log, PERF_RECORD_SAMPLE);
	cookies = count_cookies(&log);
	pd_note("%zu samples of %lu calls, %zu cookies, %ld walks, %zu records", samples, calls,
		cookies, walks, pd_log_count(&log, PD_RECORD_DEFERRED));
	if (samples <= calls)
		return pd_skip("nothing was sampled on the way back");
	PD_CHECK(samples < 1000 * calls, "%zu samples of %lu calls", samples, calls);
	PD_CHECK(walks <= (long)cookies, "%ld walks for %zu cookies", walks, cookies);
	/* each of the two events has a buffer of its own */
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) <= 2 * cookies,
		 "%zu records for %zu cookies", pd_log_count(&log, PD_RECORD_DEFERRED), cookies);
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		const struct pd_rec *stack;

		pd_user_half(&log, sample, &stack);
		if (stack && pd_frames_of(stack, NAME))
			PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	}
	return PD_PASS;
}

/* A sample whose frame limit would cut the known stack gets a record with the whole stack. */
static int too_deep_behind_the_record(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attrs[2];
	struct pd_event events[2];
	struct pd_log log = {};
	size_t samples = 0, deferred = 0;
	int i;

	PD_TRY(pd_attr_kprobe(&attrs[0], "__x64_sys_getppid"));
	PD_TRY(pd_attr_kprobe(&attrs[1], "__rseq_handle_notify_resume"));
	attrs[1].sample_max_stack = DEPTH / 2;
	for (i = 0; i < 2; i++)
		PD_TRY(pd_must_open(&events[i], &attrs[i], 0, -1));
	pd_enable(&events[0]);
	pd_enable(&events[1]);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&events[1]);
	pd_disable(&events[0]);
	for (i = 0; i < 2; i++)
		pd_drain(&events[i], &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->event != &events[1])
			continue;
		samples++;
		pd_user_half(&log, sample, &stack);
		if (!sample->deferred || !stack || !pd_frames_of(stack, NAME))
			continue;
		deferred++;
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	}
	if (!samples)
		return pd_skip("nothing was sampled on the way back");
	PD_CHECK(deferred, "all of %zu stacks are cut", samples);
	return PD_PASS;
}

#define FAULTS	16

/* Check that a buffer has a sample of each fault, with the id and the data of its own event. */
static int check_own_samples(struct pd_event *event, bool defers)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};

	pd_drain(event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) >= FAULTS, "only %zu samples",
		 pd_log_count(&log, PERF_RECORD_SAMPLE));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(sample->id == event->id, "event %llu has a sample of event %llu",
			 event->id, sample->id);
		PD_CHECK(defers || !sample->deferred, "a cookie for an event that does not defer");
	}
	return 0;
}

/* Open an event for page faults; with @raw, its samples have another size. */
static int open_faults(struct pd_event *event, bool defers, bool raw)
{
	struct perf_event_attr attr;

	pd_attr_init(&attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	if (raw)
		attr.sample_type |= PERF_SAMPLE_RAW;
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, defers);
	return pd_must_open(event, &attr, 0, -1);
}

/* Events of one software counter share no sample: not the id, the callchain or the size. */
static int events_of_one_counter(void)
{
	size_t size = FAULTS * getpagesize(), at;
	struct pd_event events[3];
	volatile char *memory;
	int i;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(memory != MAP_FAILED, "mmap failed");
	madvise((void *)memory, size, MADV_NOHUGEPAGE);
	for (i = 0; i < 3; i++)
		PD_TRY(open_faults(&events[i], i == 1, i == 2));
	for (i = 0; i < 3; i++)
		pd_enable(&events[i]);
	for (at = 0; at < size; at += getpagesize())
		memory[at] = 1;
	for (i = 0; i < 3; i++)
		pd_disable(&events[i]);
	for (i = 0; i < 3; i++)
		PD_TRY(check_own_samples(&events[i], i == 1));
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(one_for_many_samples),
	PD_TEST(two_events_share),
	PD_TEST(two_events_one_walk),
	PD_TEST(profilers_share),
	PD_TEST(events_of_one_counter),
	PD_TEST(every_output_that_covers),
	PD_TEST(inherited_output),
	PD_TEST(no_output_that_does_not),
	PD_TEST(long_system_calls),
	PD_TEST(behind_the_record),
	PD_TEST(too_deep_behind_the_record),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

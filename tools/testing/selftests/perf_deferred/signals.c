// SPDX-License-Identifier: GPL-2.0
/* Signal delivery rewrites the registers: samples before and after it have their own stacks. */
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME		1
#define DEPTH		4
#define IN_HANDLER	7
#define HANDLER_DEPTH	2
/* to get enough samples and signals; only for a kernel that has none */
#define MOST_SECONDS	300

static int handled;

static void quiet_handler(int sig)
{
	(void)sig;
	PD_WRITE(handled, handled + 1);
}

static void calling_handler(int sig)
{
	(void)sig;
	PD_WRITE(handled, handled + 1);
	pd_call(IN_HANDLER, HANDLER_DEPTH, pd_leaf_getppid, NULL);
}

static PD_LEAF long raise_usr1(void *unused)
{
	long pid = pd_syscall0(SYS_getpid);

	(void)unused;
	return pd_syscall3(SYS_tgkill, pid, pd_syscall0(SYS_gettid), SIGUSR1);
}

static int raise_many(struct perf_event_attr *attr, struct pd_log *log, unsigned long rounds)
{
	struct pd_event event;
	unsigned long i;

	PD_TRY(pd_must_open(&event, attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < rounds; i++) {
		pd_call(NAME, DEPTH, raise_usr1, NULL);
		if (i % 64 == 0)
			pd_drain(&event, log);
	}
	pd_disable(&event);
	pd_drain(&event, log);
	PD_TRY(pd_log_clean(log));
	PD_CHECK((unsigned long)handled == rounds, "%d of %lu signals", handled, rounds);
	PD_CHECK(pd_log_count(log, PERF_RECORD_SAMPLE) >= rounds, "%zu samples of %lu signals",
		 pd_log_count(log, PERF_RECORD_SAMPLE), rounds);
	return 0;
}

/* A sample before the handler's frame is made must have the interrupted stack, or none. */
static int before_the_frame(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	size_t with = 0;

	PD_TRY(pd_attr_kprobe(&attr, "x64_setup_rt_frame"));
	pd_handle(SIGUSR1, quiet_handler, false);
	PD_TRY(raise_many(&attr, &log, pd_scale(300)));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_TRY(pd_check_right_or_none(&log, sample, NAME, DEPTH));
		with += sample->deferred || sample->inplace;
	}
	pd_note("%zu of %zu samples have a user half", with,
		pd_log_count(&log, PERF_RECORD_SAMPLE));
	return PD_PASS;
}

static int at_the_raising_call(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_tgkill"));
	pd_handle(SIGUSR1, calling_handler, false);
	PD_TRY(raise_many(&attr, &log, pd_scale(300)));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	return PD_PASS;
}

/* A sample in the handler must have all named frames of the handler. */
static int in_handler(bool on_altstack)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};

	pd_altstack();
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_handle(SIGUSR1, calling_handler, on_altstack);
	PD_TRY(raise_many(&attr, &log, pd_scale(200)));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(pd_user_half(&log, sample, &stack) != PD_BARE && stack,
			 "a sample without its user half");
		if (pd_frames_of(stack, IN_HANDLER) != HANDLER_DEPTH + 2 ||
		    !pd_has_outermost(stack, IN_HANDLER)) {
			pd_note_stack("handler", stack);
			return pd_fail("%u of %u frames of the handler",
				       pd_frames_of(stack, IN_HANDLER), HANDLER_DEPTH + 2);
		}
	}
	return PD_PASS;
}

static int in_the_handler(void)
{
	return in_handler(false);
}

static int in_the_handler_altstack(void)
{
	return in_handler(true);
}

/* The handler has no frame yet, and the word on top of the stack follows no call. */
static int at_the_first_instruction(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (unsigned long)calling_handler;
	attr.bp_len = sizeof(long);
	if (pd_try_open(&attr))
		return pd_skip("no breakpoint in user space");
	pd_handle_known(SIGUSR1, calling_handler, false);
	PD_TRY(raise_many(&attr, &log, pd_scale(100)));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (pd_user_half(&log, sample, &stack) == PD_STITCHED && stack->nr_user == 1)
			return pd_skip("without tables, code at a handler's start has no caller");
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
		if (stack->user[0] != (unsigned long)calling_handler ||
		    stack->user[1] != (unsigned long)pd_known_restorer ||
		    !pd_in_leaf(stack->user[2])) {
			pd_note_stack("handler", stack);
			return pd_fail("not the handler's callers");
		}
	}
	return PD_PASS;
}

static void spinning_handler(int sig)
{
	(void)sig;
	PD_WRITE(handled, handled + 1);
	pd_call(IN_HANDLER, HANDLER_DEPTH, pd_leaf_spin, (void *)1L);
}

/* Check one sample under load, as far as its stack is known. */
static int check_storm_sample(struct pd_log *log, const struct pd_rec *sample, size_t *complete)
{
	const struct pd_rec *stack;
	unsigned int i;

	pd_user_half(log, sample, &stack);
	if (!stack || !stack->nr_user)
		return 0;
	for (i = 0; i < stack->nr_user; i++) {
		int name = pd_frame_name(stack->user[i]);

		PD_CHECK(name < 0 || name == NAME || name == IN_HANDLER,
			 "a frame of stack %d", name);
	}
	*complete += pd_has_outermost(stack, NAME) || pd_has_outermost(stack, IN_HANDLER);
	if ((sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		PD_CHECK(stack->user[0] == sample->ip, "sampled at %llx, innermost frame %llx",
			 sample->ip, stack->user[0]);
	return 0;
}

static __u64 storm_begin, storm_end;

/* Spin until there are enough signals and samples; a sample and its record have less than 1 KiB. */
static PD_LEAF long spin_between_times(void *arg)
{
	const struct pd_event *event = arg;
	const __u64 enough = pd_scale(1000) << 10;
	const long long last = pd_now_ns() + MOST_SECONDS * 1000000000LL;

	storm_begin = pd_now_ns();
	do {
		pd_leaf_spin((void *)20L);
	} while ((handled <= 5 ||
		  __atomic_load_n(&event->page->data_head, __ATOMIC_RELAXED) < enough) &&
		 pd_now_ns() < last);
	storm_end = pd_now_ns();
	return 0;
}

static int record_storm(bool on_altstack)
{
	const struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	const struct itimerval never = {};
	size_t samples = 0, complete = 0;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	int i;

	pd_altstack();
	pd_handle(SIGALRM, spinning_handler, on_altstack);
	pd_attr_clock(&attr, pd_hz(10000));
	/* Use a buffer that holds all samples: reading it meanwhile would be sampled, too. */
	i = pd_event_open(&event, &attr, 0, -1, 16 * PD_PAGES);
	PD_CHECK(!i, "perf_event_open: %s", strerror(i));
	pd_enable(&event);
	setitimer(ITIMER_REAL, &every, NULL);
	pd_call(NAME, DEPTH, spin_between_times, &event);
	setitimer(ITIMER_REAL, &never, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->time < storm_begin || sample->time > storm_end)
			continue;
		samples++;
		PD_TRY(check_storm_sample(&log, sample, &complete));
	}
	pd_note("%zu samples, %zu complete, %d signals", samples, complete, handled);
	PD_CHECK(handled > 5 && samples >= pd_scale(100), "too few");
	/*
	 * A sample that is taken while a walk is under way is unwound in place and
	 * incomplete.  On a busy machine a walk can take longer than the sampling period.
	 */
	PD_CHECK(complete >= samples / 2, "only %zu of %zu samples complete", complete,
		 samples);
	return PD_PASS;
}

static int under_load(void)
{
	return record_storm(false);
}

static int under_load_altstack(void)
{
	return record_storm(true);
}

const struct pd_test pd_tests[] = {
	PD_TEST(before_the_frame),
	PD_TEST(at_the_raising_call),
	PD_TEST(in_the_handler),
	PD_TEST(in_the_handler_altstack),
	PD_TEST(at_the_first_instruction),
	PD_TEST(under_load),
	PD_TEST(under_load_altstack),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* Stacks of probed functions must have the caller, and the original return addresses. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	1
#define DEPTH	4
#define STALE	6

static PD_LEAF long inner_call(void *arg)
{
	long ret = pd_leaf_getppid(arg);

	asm volatile("" : "+r" (ret));
	return ret;
}

static PD_LEAF long outer_call(void *arg)
{
	long ret = inner_call(arg);

	asm volatile("" : "+r" (ret));
	return ret;
}

static unsigned long nr_rounds(void)
{
	return pd_scale(50);
}

static int record_calls(struct perf_event_attr *attr, struct pd_log *log)
{
	struct pd_event event;
	unsigned long i;

	PD_TRY(pd_must_open(&event, attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < nr_rounds(); i++)
		pd_call(NAME, DEPTH, outer_call, NULL);
	pd_disable(&event);
	pd_drain(&event, log);
	PD_TRY(pd_log_clean(log));
	PD_CHECK(pd_log_count(log, PERF_RECORD_SAMPLE) == nr_rounds(), "%zu samples of %lu calls",
		 pd_log_count(log, PERF_RECORD_SAMPLE), nr_rounds());
	return 0;
}

static int check_all(struct pd_log *log)
{
	const struct pd_rec *sample = NULL;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample))
		PD_TRY(pd_check_right(log, sample, NAME, DEPTH));
	return PD_PASS;
}

/* At its first instruction, the probed function has not set up its frame yet. */
static int first_instruction(void)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};

	PD_TRY(pd_attr_uprobe(&attr, outer_call, false));
	PD_TRY(record_calls(&attr, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	pd_user_half(&log, sample, &stack);
	PD_CHECK(stack && stack->nr_user && stack->user[0] == (unsigned long)outer_call,
		 "innermost frame %llx instead of %lx",
		 stack && stack->nr_user ? stack->user[0] : 0, (unsigned long)outer_call);
	return check_all(&log);
}

static int on_return(void)
{
	struct perf_event_attr attr;
	struct pd_log log = {};

	PD_TRY(pd_attr_uprobe(&attr, outer_call, true));
	PD_TRY(record_calls(&attr, &log));
	return check_all(&log);
}

/* A system call in functions that return through the trampoline of uretprobes. */
static int below_uretprobes(const void **functions, int nr)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr, probe_attr;
	struct pd_event probes[2];
	struct pd_log log = {};
	int i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	for (i = 0; i < nr; i++) {
		PD_TRY(pd_attr_uprobe(&probe_attr, functions[i], true));
		PD_TRY(pd_must_open(&probes[i], &probe_attr, 0, -1));
		pd_enable(&probes[i]);
	}
	PD_TRY(record_calls(&attr, &log));
	PD_TRY(check_all(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	pd_user_half(&log, sample, &stack);
	for (i = 0; i < 3; i++)
		PD_CHECK(stack->nr_user > 3 && pd_in_leaf(stack->user[i]),
			 "frame %d is %llx, not in a function of this test", i, stack->user[i]);
	return PD_PASS;
}

static int below_one_uretprobe(void)
{
	const void *functions[] = { outer_call };

	return below_uretprobes(functions, 1);
}

static int below_two_uretprobes(void)
{
	const void *functions[] = { inner_call, outer_call };

	return below_uretprobes(functions, 2);
}

/*
 * Code made at run time, without tables: it sets up its frame, puts its first argument
 * on top of the stack, and spins until the word at its second argument is not 0.
 */
static const unsigned char spinning[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov %rsp,%rbp */
	0x57,			/* push %rdi */
	0xf3, 0x90,		/* 1: pause */
	0x83, 0x3e, 0x00,	/* cmpl $0,(%rsi) */
	0x74, 0xf9,		/* je 1b */
	0x5f,			/* pop %rdi */
	0x5d,			/* pop %rbp */
	0xc3,			/* ret */
};

static volatile int alarmed;

/* This handler begins with the push of the frame pointer. */
static PD_LEAF void on_alarm(int sig)
{
	pd_frame();
	alarmed = sig;
}

static PD_LEAF long spin_in(void *code)
{
	void (*spin)(unsigned long top, volatile int *until);

	memcpy(&spin, &code, sizeof(spin));
	spin(pd_name_address(STALE), &alarmed);
	return 0;
}

static void *make_code(void)
{
	size_t page = getpagesize();
	void *code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return NULL;
	memcpy(code, spinning, sizeof(spinning));
	return mprotect(code, page, PROT_READ | PROT_EXEC) ? NULL : code;
}

/*
 * The walk must not take the handler's probed instruction for the code that the signal has
 * interrupted.
 */
static int handler_above_made_code(void)
{
	/* late enough for the code to spin by then */
	const struct itimerval soon = { .it_value.tv_usec = pd_slow() ? 300000 : 30000 };
	unsigned long i, times = pd_scale(20);
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	void *code = make_code();

	PD_CHECK(code, "no code: %s", strerror(errno));
	PD_TRY(pd_attr_uprobe(&attr, on_alarm, false));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_handle_known(SIGALRM, on_alarm, false);
	pd_enable(&event);
	for (i = 0; i < times; i++) {
		alarmed = 0;
		setitimer(ITIMER_REAL, &soon, NULL);
		pd_call(NAME, DEPTH, spin_in, code);
	}
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == times, "%zu samples of %lu signals",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), times);
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(first_instruction),
	PD_TEST(on_return),
	PD_TEST(below_one_uretprobe),
	PD_TEST(below_two_uretprobes),
	PD_TEST(handler_above_made_code),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

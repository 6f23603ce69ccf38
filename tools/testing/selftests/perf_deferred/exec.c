// SPDX-License-Identifier: GPL-2.0
/* execve() closes the entry context before the old stack is unmapped. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME		2
#define SLEEPER		5
#define DEPTH		5
#define PROGRAM_LOW	0x70000000UL
#define PROGRAM_HIGH	0x78000000UL

static char program[512], *const argv[] = { program, NULL };

static PD_LEAF long exec_program(void *unused)
{
	(void)unused;
	return pd_syscall3(SYS_execve, program, argv, NULL);
}

static PD_LEAF long exec_nothing(void *unused)
{
	(void)unused;
	return pd_syscall3(SYS_execve, "/nonexistent/program", argv, NULL);
}

static int from_leader(void *unused)
{
	(void)unused;
	return pd_call(NAME, DEPTH, exec_program, NULL);
}

static void *exec_thread(void *unused)
{
	(void)unused;
	pd_call(NAME, DEPTH, exec_program, NULL);
	return NULL;
}

/* The leader sleeps in another named stack while another thread calls execve(). */
static int from_thread(void *unused)
{
	struct pd_syscall sleep = { .nr = SYS_pause };
	pthread_t thread;

	(void)unused;
	pthread_create(&thread, NULL, exec_thread, NULL);
	pd_call(SLEEPER, 1, pd_leaf_syscall, &sleep);
	return 1;
}

static int from_vfork(void *unused)
{
	pid_t pid = vfork();
	int status;

	(void)unused;
	if (!pid) {
		pd_call(NAME, DEPTH, exec_program, NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

/* After the point of no return: no user stack, or frames of the new program only. */
static int check_after(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;
	unsigned int i;

	PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE,
		 "tid %u: cookie %llx has no record", sample->tid, sample->cookie);
	for (i = 0; stack && i < stack->nr_user; i++) {
		if (stack->user[i] >= PROGRAM_LOW && stack->user[i] < PROGRAM_HIGH)
			continue;
		pd_note_stack("after the point of no return", stack);
		return pd_fail("frame %llx is not the new program's", stack->user[i]);
	}
	return 0;
}

/* Until the new program runs, there is no user stack. */
static int check_none(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	PD_CHECK(pd_user_half(log, sample, &stack) == PD_NONE, "a user stack");
	return 0;
}

static int check_new(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED && stack->nr_user,
		 "no stack of the new program");
	return check_after(log, sample);
}

static int check_before(struct pd_log *log, const struct pd_rec *sample)
{
	return pd_check_right(log, sample, NAME, DEPTH);
}

typedef int (*check_fn)(struct pd_log *log, const struct pd_rec *sample);

static int exec_round(struct perf_event_attr *attr, int (*body)(void *unused), check_fn check,
		      size_t *samples)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	int status;

	PD_TRY(pd_child_start(&child, body, NULL));
	attr->inherit = 1;
	PD_TRY(pd_set_must_open(&set, attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	status = pd_child_wait(&child, 60);
	PD_CHECK(!status, "the program ended with %#x", status);
	pd_sleep_ms(10);
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		++*samples;
		PD_TRY(check(&log, sample));
	}
	pd_set_close(&set);
	pd_log_free(&log);
	return 0;
}

static int exec_rounds(struct perf_event_attr *attr, const char *where, check_fn check)
{
	static int (* const bodies[])(void *) = { from_leader, from_thread, from_vfork };
	static const char * const what[] = { "the leader", "a thread", "a vfork child" };
	unsigned long rounds = pd_scale(5), i;
	int kind;

	snprintf(program, sizeof(program), "%s", pd_beside("exec_prog"));
	PD_CHECK(!access(program, X_OK), "%s is missing", program);
	for (kind = 0; kind < 3; kind++) {
		size_t samples = 0;

		for (i = 0; i < rounds; i++) {
			int ret = exec_round(attr, bodies[kind], check, &samples);

			if (ret)
				return pd_fail("%s, execve by %s, round %lu", where,
					       what[kind], i);
		}
		PD_CHECK(samples >= rounds, "%s: %zu samples of %lu execve by %s",
			 where, samples, rounds, what[kind]);
	}
	return PD_PASS;
}

static int at_kprobe(const char *function, check_fn check)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, function));
	return exec_rounds(&attr, function, check);
}

static int at_tracepoint(const char *name, check_fn check)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_tracepoint(&attr, "sched", name));
	return exec_rounds(&attr, name, check);
}

static int at_entry(void)
{
	return at_kprobe("__x64_sys_execve", check_before);
}

static int before_begin_new_exec(void)
{
	return at_kprobe("begin_new_exec", check_before);
}

static int sched_prepare_exec(void)
{
	return at_tracepoint("sched_prepare_exec", check_before);
}

static int after_setup_new_exec(void)
{
	return at_kprobe("setup_new_exec", check_none);
}

static int after_setup_arg_pages(void)
{
	return at_kprobe("setup_arg_pages", check_none);
}

/* Here the registers are those of the old program, but the memory is that of the new one. */
static int after_start_thread(void)
{
	return at_kprobe("start_thread", check_none);
}

static int sched_process_exec(void)
{
	return at_tracepoint("sched_process_exec", check_none);
}

static int the_new_program(void)
{
	return at_kprobe("__x64_sys_getppid", check_new);
}

/* Samples from the timer, anywhere in execve, before and after the time of its COMM record. */
static int timer_round(size_t *samples, struct perf_event_attr *attr)
{
	const struct pd_rec *sample = NULL, *exec = NULL, *stack;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	__u64 changed = 0;

	PD_TRY(pd_child_start(&child, from_leader, NULL));
	PD_TRY(pd_set_must_open(&set, attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	PD_CHECK(pd_child_wait(&child, 60) != -1, "the child hangs");
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_COMM, &exec))
		if (exec->misc & PERF_RECORD_MISC_COMM_EXEC)
			changed = exec->time;
	PD_CHECK(changed, "no COMM record of the execve");
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		++*samples;
		pd_user_half(&log, sample, &stack);
		if (sample->time > changed) {
			PD_TRY(check_after(&log, sample));
			continue;
		}
		PD_CHECK(!stack || !pd_foreign_frame(stack, NAME), "a foreign stack before");
	}
	pd_set_close(&set);
	pd_log_free(&log);
	return 0;
}

static int from_timer(void)
{
	unsigned long rounds = pd_scale(40), i;
	struct perf_event_attr attr;
	size_t samples = 0;

	snprintf(program, sizeof(program), "%s", pd_beside("exec_prog"));
	pd_attr_clock(&attr, 10000);
	attr.inherit = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	for (i = 0; i < rounds; i++)
		PD_TRY(timer_round(&samples, &attr));
	pd_note("%zu samples in %lu execve", samples, rounds);
	PD_CHECK(samples >= rounds, "only %zu samples", samples);
	return PD_PASS;
}

static int that_fails(void)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_execve"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	PD_CHECK(pd_call(NAME, DEPTH, exec_nothing, NULL) < 0, "execve of an empty path worked");
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	return pd_check_stitched(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), NAME, DEPTH);
}

const struct pd_test pd_tests[] = {
	PD_TEST(at_entry),
	PD_TEST(before_begin_new_exec),
	PD_TEST(sched_prepare_exec),
	PD_TEST(after_setup_new_exec),
	PD_TEST(after_setup_arg_pages),
	PD_TEST(after_start_thread),
	PD_TEST(sched_process_exec),
	PD_TEST(the_new_program),
	PD_TEST(from_timer),
	PD_TEST(that_fails),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

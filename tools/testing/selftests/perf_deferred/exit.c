// SPDX-License-Identifier: GPL-2.0
/* A task's exit: samples at do_exit() have the user stack, and every cookie has a record. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	6
#define OTHER	2
#define DEPTH	4
#define THREADS	10

static PD_LEAF long cause_segfault(void *unused)
{
	(void)unused;
	pd_frame();
	asm volatile("mov 8, %%rax" : : : "rax", "memory");
	return 0;
}

static int by_exit(void *unused)
{
	struct pd_syscall call = { .nr = SYS_exit };

	(void)unused;
	return pd_call(NAME, DEPTH, pd_leaf_syscall, &call);
}

static int by_exit_group(void *unused)
{
	struct pd_syscall call = { .nr = SYS_exit_group };

	(void)unused;
	return pd_call(NAME, DEPTH, pd_leaf_syscall, &call);
}

static int by_segfault(void *unused)
{
	struct rlimit no_core = {};

	(void)unused;
	setrlimit(RLIMIT_CORE, &no_core);
	return pd_call(NAME, DEPTH, cause_segfault, NULL);
}

static int by_kill_spinning(void *unused)
{
	(void)unused;
	return pd_call(NAME, DEPTH, pd_leaf_says_and_spins, (void *)60000L);
}

static int by_kill_sleeping(void *unused)
{
	struct pd_syscall call = { .nr = SYS_pause };

	(void)unused;
	pd_child_says();
	return pd_call(NAME, DEPTH, pd_leaf_syscall, &call);
}

static void *sleep_in_other(void *tid)
{
	struct pd_syscall call = { .nr = SYS_pause };

	PD_WRITE(*(pid_t *)tid, syscall(SYS_gettid));
	pd_call(OTHER, DEPTH, pd_leaf_syscall, &call);
	return NULL;
}

/* One thread ends the whole process: each thread has its own stack at do_exit(). */
static int by_one_of(int threads)
{
	pid_t tids[THREADS] = {};
	pthread_t thread;
	int i;

	for (i = 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, sleep_in_other, &tids[i]) ||
		    !pd_wait_asleep(&tids[i], 30))
			return pd_fail("no thread that sleeps");
	}
	return by_exit_group(NULL);
}

static int by_other_thread(void *unused)
{
	(void)unused;
	return by_one_of(2);
}

/* The threads are woken together, and need the same tables. */
static int by_one_of_many(void *unused)
{
	(void)unused;
	return by_one_of(THREADS);
}

struct way {
	const char *what;
	int (*body)(void *unused);
	/* wait until the child can be killed; NULL if it ends by itself */
	bool (*wait)(struct pd_child *child, int n, int seconds);
	int tasks;
};

static const struct way ways[] = {
	{ "exit", by_exit, NULL, 1 },
	{ "exit_group", by_exit_group, NULL, 1 },
	{ "SIGSEGV", by_segfault, NULL, 1 },
	{ "SIGKILL while spinning", by_kill_spinning, pd_child_wait_said, 1 },
	{ "SIGKILL while sleeping", by_kill_sleeping, pd_child_wait_sleep, 1 },
	{ "exit_group by a thread", by_other_thread, NULL, 2 },
	{ "exit_group by one of many threads", by_one_of_many, NULL, THREADS },
};

/* Expected contents of the samples of an exit. */
enum has {
	THE_STACK,
	THE_STACK_IN_PLACE,
	THE_STACK_OR_NONE,
};

static int check_sample(struct pd_log *log, const struct pd_rec *sample, __u32 leader,
			enum has has)
{
	int name = sample->tid == leader ? NAME : OTHER;

	if (has == THE_STACK_OR_NONE)
		return pd_check_right_or_none(log, sample, name, DEPTH);
	PD_CHECK(has == THE_STACK || sample->inplace, "the stack is not unwound in place");
	return pd_check_right(log, sample, name, DEPTH);
}

/*
 * If attr.inherit is set, open the event for the child.  Else open it for all CPUs, so that it
 * also samples after the exit has removed the events of the task.
 */
static int exit_round(struct perf_event_attr *attr, const struct way *way, enum has has)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	int samples = 0;

	PD_TRY(pd_child_start(&child, way->body, NULL));
	PD_TRY(pd_set_must_open(&set, attr, attr->inherit ? child.pid : -1));
	pd_set_enable(&set);
	pd_child_go(&child);
	if (way->wait) {
		PD_CHECK(way->wait(&child, 1, 60), "the child is not ready");
		kill(child.pid, SIGKILL);
	}
	PD_CHECK(pd_child_wait(&child, 60) != -1, "the child hangs");
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->pid != (__u32)child.pid)
			continue;
		samples++;
		PD_TRY(check_sample(&log, sample, child.pid, has));
	}
	PD_CHECK(samples == way->tasks, "%d samples of %d exits", samples, way->tasks);
	pd_set_close(&set);
	pd_log_free(&log);
	return 0;
}

static int exit_rounds(struct perf_event_attr *attr, enum has has)
{
	unsigned long rounds = pd_scale(6), i;
	size_t w;

	for (w = 0; w < ARRAY_SIZE(ways); w++)
		for (i = 0; i < rounds; i++)
			if (exit_round(attr, &ways[w], has))
				return pd_fail("at exit by %s, round %lu", ways[w].what, i);
	return PD_PASS;
}

static int at_do_exit(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	return exit_rounds(&attr, THE_STACK);
}

/* An event of one task: do_exit() must send its record before it removes the event. */
static int at_do_exit_of_a_task(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	attr.inherit = 1;
	return exit_rounds(&attr, THE_STACK);
}

/* Map the pages of this program's file in a loop, so that they are often locked. */
static int map_tables(void *unused)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END), at;
	volatile char *map;

	(void)unused;
	for (;;) {
		map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			return 1;
		for (at = 0; at < size; at += getpagesize())
			(void)map[at];
		munmap((void *)map, size);
	}
}

/* Other tasks that map, and so lock, the same pages must not cut the stack of an exiting task. */
static int while_others_map(void)
{
	const struct way *way = &ways[1];
	unsigned long rounds = pd_scale(100), i;
	struct perf_event_attr attr;
	struct pd_child mapper;
	int ret = PD_PASS, status;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	PD_TRY(pd_child_start(&mapper, map_tables, NULL));
	pd_child_go(&mapper);
	for (i = 0; i < rounds && !ret; i++)
		ret = exit_round(&attr, way, THE_STACK);
	kill(mapper.pid, SIGKILL);
	status = pd_child_wait(&mapper, 60);
	PD_CHECK(status != -1, "the child hangs");
	PD_CHECK(WIFSIGNALED(status), "the child has ended by itself");
	return ret ? pd_fail("at exit by %s, round %lu", way->what, i) : PD_PASS;
}

/* The task has begun to exit, but its mm and its events still exist. */
static int at_exit_signals(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "exit_signals"));
	PD_TRY(exit_rounds(&attr, THE_STACK));
	attr.inherit = 1;
	return exit_rounds(&attr, THE_STACK);
}

/* The entry context is closed, but the mm still exists: stacks are unwound in place. */
static int at_perf_event_exit_task(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "perf_event_exit_task"));
	return exit_rounds(&attr, THE_STACK_IN_PLACE);
}

/* The memory has been freed: a sample has a stack or none, but no cookie without a record. */
static int sched_process_exit(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_tracepoint(&attr, "sched", "sched_process_exit"));
	return exit_rounds(&attr, THE_STACK_OR_NONE);
}

static int short_lived(void *unused)
{
	unsigned long i;

	for (i = 0; i < pd_scale(150); i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(by_exit(unused));
		waitpid(pid, NULL, 0);
	}
	return 0;
}

/* Run many short processes once more. */
static int record_timer(struct perf_event_attr *attr, struct pd_log *log)
{
	struct pd_child child;
	struct pd_set set;

	PD_TRY(pd_child_start(&child, short_lived, NULL));
	PD_TRY(pd_set_must_open(&set, attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	while (waitpid(child.pid, NULL, WNOHANG) == 0) {
		pd_set_drain(&set, log);
		pd_sleep_ms(20);
	}
	pd_set_disable(&set);
	pd_set_drain(&set, log);
	/* the log still needs the array */
	while (set.nr)
		pd_event_close(&set.events[--set.nr]);
	return pd_log_clean(log);
}

/* Samples from the timer, in many short processes. On a busy machine, the timer ticks seldom. */
static int from_timer(void)
{
	const struct pd_rec *sample = NULL, *stack;
	long long end = pd_end_of_wait(60);
	struct perf_event_attr attr;
	struct pd_log log = {};

	pd_attr_clock(&attr, 10000);
	attr.inherit = 1;
	do {
		PD_TRY(record_timer(&attr, &log));
	} while (pd_log_count(&log, PERF_RECORD_SAMPLE) <= 50 && pd_now_ns() < end);
	pd_note("%zu samples", pd_log_count(&log, PERF_RECORD_SAMPLE));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) > 50, "too few samples");
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		pd_user_half(&log, sample, &stack);
		PD_CHECK(!stack || !pd_foreign_frame(stack, NAME), "a foreign stack");
	}
	return pd_check_no_bare(&log);
}

const struct pd_test pd_tests[] = {
	PD_TEST(at_do_exit),
	PD_TEST(at_do_exit_of_a_task),
	PD_TEST(while_others_map),
	PD_TEST(at_exit_signals),
	PD_TEST(at_perf_event_exit_task),
	PD_TEST(sched_process_exit),
	PD_TEST(from_timer),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

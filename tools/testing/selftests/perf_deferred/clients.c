// SPDX-License-Identifier: GPL-2.0
/* Events are opened and closed while tasks run, sleep and wait for their records. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_test.h"

#define WORKERS	4
#define OPENERS	3
#define DEPTH	4

static int stop;
static pid_t *worker_tids;

static void *work_until_stopped(void *name)
{
	worker_tids[(long)name] = gettid();
	while (!PD_READ(stop)) {
		pd_call((long)name, DEPTH, pd_leaf_getppid, NULL);
		pd_call((long)name, DEPTH, pd_leaf_spin, (void *)1L);
		pd_sleep_ms(1);
	}
	return NULL;
}

static int run_workers(void *unused)
{
	pthread_t thread;
	long i;

	(void)unused;
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, work_until_stopped, (void *)i))
			return 1;
	pause();
	return 0;
}

static int name_of(__u32 tid)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (worker_tids[i] == (pid_t)tid)
			return i;
	return -1;
}

/* The last samples before an event is closed may have no record. */
static int check_short_log(struct pd_log *log)
{
	const struct pd_rec *sample = NULL, *stack;

	PD_CHECK(!log->malformed[0], "malformed: %s", log->malformed);
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		int name = name_of(sample->tid);

		pd_user_half(log, sample, &stack);
		PD_CHECK(name < 0 || !stack || !pd_foreign_frame(stack, name),
			 "a foreign frame on a sample of thread %d", name);
	}
	return 0;
}

struct opener {
	struct perf_event_attr attrs[2];
	unsigned int seed;
	unsigned long opened;
	pthread_t thread;
	int failed;
};

static int open_and_close(struct opener *opener)
{
	unsigned int dice = rand_r(&opener->seed);
	pid_t tid = worker_tids[dice % WORKERS];
	int cpu = dice / 16 % 3 ? -1 : 0;
	struct pd_log log = {};
	struct pd_event event;
	int err, ret;

	err = pd_event_open(&event, &opener->attrs[dice / 4 % 2], cpu < 0 ? tid : -1, cpu, 16);
	PD_CHECK(!err || err == EBUSY, "perf_event_open: %s", strerror(err));
	if (err)
		return 0;
	opener->opened++;
	pd_enable(&event);
	if (dice / 64 % 4)
		pd_sleep_ms(dice / 256 % 8);
	if (dice / 4096 % 2)
		pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	ret = check_short_log(&log);
	pd_log_free(&log);
	return ret;
}

static void *open_many(void *arg)
{
	struct opener *opener = arg;

	while (!PD_READ(stop) && !opener->failed)
		opener->failed = open_and_close(opener);
	return NULL;
}

static int start_workers(struct pd_child *child)
{
	int i;

	worker_tids = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	PD_TRY(pd_child_start(child, run_workers, NULL));
	pd_child_go(child);
	for (i = 0; i < WORKERS; i++)
		while (!__atomic_load_n(&worker_tids[i], __ATOMIC_ACQUIRE))
			pd_sleep_ms(5);
	return 0;
}

static int come_and_go(void)
{
	struct opener openers[OPENERS] = {};
	unsigned long opened = 0;
	struct pd_child child;
	int i;

	PD_TRY(start_workers(&child));
	for (i = 0; i < OPENERS; i++) {
		PD_TRY(pd_attr_kprobe(&openers[i].attrs[0], "__x64_sys_getppid"));
		pd_attr_clock(&openers[i].attrs[1], 5000);
		openers[i].seed = i + 1;
		PD_CHECK(!pthread_create(&openers[i].thread, NULL, open_many, &openers[i]),
			 "pthread_create failed");
	}
	pd_sleep_ms(pd_scale(6000));
	PD_WRITE(stop, 1);
	for (i = 0; i < OPENERS; i++) {
		pthread_join(openers[i].thread, NULL);
		opened += openers[i].opened;
		PD_CHECK(!openers[i].failed, "opener %d failed after %lu events", i,
			 openers[i].opened);
	}
	pd_note("%lu events opened and closed", opened);
	kill(child.pid, SIGKILL);
	PD_CHECK(pd_child_wait(&child, 30) != -1, "the workers cannot be killed");
	PD_CHECK(opened >= pd_scale(20), "only %lu events were opened", opened);
	return PD_PASS;
}

/* A child sleeps twice in a sampled system call, until SIGUSR1 interrupts the call. */
static void on_usr1(int sig)
{
	(void)sig;
}

static int sleep_twice(void *unused)
{
	struct pd_syscall call = { .nr = SYS_pause };
	int i;

	(void)unused;
	pd_handle(SIGUSR1, on_usr1, false);
	for (i = 0; i < 2; i++) {
		pd_child_says();
		pd_call(i, DEPTH, pd_leaf_syscall, &call);
	}
	return 0;
}

/* Run the sleeper on CPU @cpu, or on any CPU if @cpu is -1. */
static int start_sleeper(struct pd_child *child, struct perf_event_attr *attr,
			 struct pd_event *event, int cpu)
{
	PD_TRY(pd_attr_kprobe(attr, "__x64_sys_pause"));
	PD_TRY(pd_child_start(child, sleep_twice, NULL));
	if (cpu >= 0)
		pd_pin(child->pid, cpu);
	PD_TRY(pd_must_open(event, attr, child->pid, -1));
	pd_enable(event);
	pd_child_go(child);
	PD_CHECK(pd_child_wait_sleep(child, 1, 30), "the child does not sleep");
	return 0;
}

/* Wait until a buffer has a record of the type; false after a timeout. */
static bool wait_for(struct pd_event *event, struct pd_log *log, __u32 type)
{
	long long end = pd_end_of_wait(30);

	do {
		pd_drain(event, log);
		if (pd_log_count(log, type))
			return true;
		pd_sleep_ms(2);
	} while (pd_now_ns() < end);
	return false;
}

/*
 * Close an event before its record is written, and open another one. With @apart,
 * close the event on another CPU than the one on which the task's work is queued.
 */
static int close_and_open_anew(bool apart)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;

	PD_TRY(start_sleeper(&child, &attr, &event, apart ? 1 : -1));
	pd_event_close(&event);
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	kill(child.pid, SIGUSR1);
	PD_CHECK(wait_for(&event, &log, PERF_RECORD_SAMPLE), "no second sample");
	PD_CHECK(pd_child_wait_sleep(&child, 2, 30), "the child does not sleep");
	kill(child.pid, SIGUSR1);
	PD_CHECK(!pd_child_wait(&child, 30), "the child failed");
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_stitched(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), 1, DEPTH));
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) == 1, "%zu records of one sample",
		 pd_log_count(&log, PD_RECORD_DEFERRED));
	pd_event_close(&event);
	pd_log_free(&log);
	return 0;
}

static int closed_with_a_sample_waiting(void)
{
	unsigned long rounds = pd_scale(10), i;

	for (i = 0; i < rounds; i++)
		PD_TRY(close_and_open_anew(false));
	return PD_PASS;
}

static int closed_on_another_cpu(void)
{
	unsigned long rounds = pd_scale(10), i;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	pd_pin(0, 0);
	for (i = 0; i < rounds; i++)
		PD_TRY(close_and_open_anew(true));
	return PD_PASS;
}

/* One of two events is closed while both wait for a record: the other event gets its record. */
static int one_of_two_closed(void)
{
	struct perf_event_attr attr;
	struct pd_event event, other;
	struct pd_log log = {};
	struct pd_child child;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_pause"));
	PD_TRY(pd_child_start(&child, sleep_twice, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	PD_TRY(pd_must_open(&other, &attr, child.pid, -1));
	pd_enable(&event);
	pd_enable(&other);
	pd_child_go(&child);
	PD_CHECK(pd_child_wait_sleep(&child, 1, 30), "the child does not sleep");
	pd_event_close(&other);
	kill(child.pid, SIGUSR1);
	PD_CHECK(wait_for(&event, &log, PD_RECORD_DEFERRED), "no record");
	kill(child.pid, SIGKILL);
	PD_TRY(pd_log_clean(&log));
	return pd_check_stitched(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), 0, DEPTH);
}

/* A task is killed while its sample waits. In every second round, its event is closed first. */
static int killed_with_a_sample_waiting(void)
{
	struct perf_event_attr attr;
	struct pd_child child;
	struct pd_event event;
	unsigned long i;

	for (i = 0; i < pd_scale(10); i++) {
		PD_TRY(start_sleeper(&child, &attr, &event, -1));
		if (i % 2)
			pd_event_close(&event);
		kill(child.pid, SIGKILL);
		PD_CHECK(pd_child_wait(&child, 30) == SIGKILL, "the child did not die");
		if (!(i % 2)) {
			struct pd_log log = {};

			pd_drain(&event, &log);
			PD_TRY(pd_log_clean(&log));
			PD_TRY(pd_check_right(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0),
					      0, DEPTH));
			pd_event_close(&event);
		}
	}
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(come_and_go),
	PD_TEST(closed_with_a_sample_waiting),
	PD_TEST(closed_on_another_cpu),
	PD_TEST(one_of_two_closed),
	PD_TEST(killed_with_a_sample_waiting),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* A task sampled on one CPU returns to user mode on another. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pd_cgroup.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	3
#define DEPTH	4

static int pipe_fds[2];

static int read_pipe(void *unused)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	struct pd_syscall call = {
		.nr = SYS_readv,
		.args = { pipe_fds[0], (long)&iov, 1 },
	};

	(void)unused;
	pd_pin(0, 0);
	pd_child_says();
	return pd_call(NAME, DEPTH, pd_leaf_syscall, &call) != 1 || sched_getcpu() != 1;
}

static int start_reader(struct pd_child *child)
{
	PD_CHECK(!pipe(pipe_fds), "pipe failed");
	return pd_child_start(child, read_pipe, NULL);
}

/* The system call of the child is sampled on CPU 0 and returns on CPU 1. */
static int move_reader(struct pd_child *child)
{
	pd_child_go(child);
	PD_CHECK(pd_child_wait_sleep(child, 1, 20), "the reader does not sleep");
	pd_pin(child->pid, 1);
	PD_CHECK(write(pipe_fds[1], "x", 1) == 1, "write failed");
	PD_CHECK(!pd_child_wait(child, 60), "the reader failed, or did not return on CPU 1");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* Check that the sample has its record; *records is set to the number of records. */
static int check_moved(struct pd_log *log, pid_t pid, size_t *records)
{
	const struct pd_rec *sample = NULL;

	PD_TRY(pd_log_clean(log));
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample))
		if (sample->tid == (__u32)pid)
			break;
	PD_CHECK(sample && sample->cpu == 0, "no sample on CPU 0");
	PD_CHECK(sample->deferred, "the sample was not deferred");
	*records = pd_log_records(log, sample->tid, sample->cookie);
	PD_CHECK(*records, "the record did not reach the reader");
	return pd_check_stitched(log, sample, NAME, DEPTH);
}

static int migrate_once(struct perf_event_attr *attr, bool of_cpu)
{
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	size_t records;

	PD_TRY(start_reader(&child));
	PD_TRY(pd_must_open(&event, attr, of_cpu ? -1 : child.pid, 0));
	pd_enable(&event);
	PD_TRY(move_reader(&child));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(check_moved(&log, child.pid, &records));
	pd_event_close(&event);
	pd_log_free(&log);
	return 0;
}

static int migrate_many(bool of_cpu)
{
	struct perf_event_attr attr;
	unsigned long i;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	for (i = 0; i < pd_scale(10); i++)
		PD_TRY(migrate_once(&attr, of_cpu));
	return PD_PASS;
}

static int event_of_a_cpu(void)
{
	return migrate_many(true);
}

static int event_of_a_task_on_a_cpu(void)
{
	return migrate_many(false);
}

static int spin_forever(void *unused)
{
	(void)unused;
	for (;;)
		asm volatile("");
	return 0;
}

/* A task of the cgroup runs on CPU 0. The cgroup's event must get no record of the moved task. */
static int migrate_beside(const struct pd_cgroup *group)
{
	const struct pd_rec *rec = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child spinner;
	struct pd_event event;
	int fd, err;

	PD_TRY(pd_child_start(&spinner, spin_forever, NULL));
	PD_TRY(pd_cgroup_join(group, spinner.pid));
	pd_pin(spinner.pid, 0);
	fd = open(group->path, O_RDONLY | O_DIRECTORY);
	pd_attr_dummy(&attr);
	err = pd_event_open_flags(&event, &attr, fd, 0, PD_PAGES, PERF_FLAG_PID_CGROUP);
	if (err == EINVAL || err == EOPNOTSUPP)
		return pd_skip("no events of cgroups: %s", strerror(err));
	PD_CHECK(!err, "event of a cgroup: %s", strerror(err));
	pd_enable(&event);
	pd_child_go(&spinner);
	PD_TRY(migrate_many(true));
	pd_disable(&event);
	pd_drain(&event, &log);
	kill(spinner.pid, SIGKILL);
	pd_child_wait(&spinner, 10);
	while (pd_log_next(&log, PD_RECORD_DEFERRED, &rec))
		PD_CHECK(rec->tid == (__u32)spinner.pid, "the group's event has a record of %u",
			 rec->tid);
	return PD_PASS;
}

static int beside_a_cgroup(void)
{
	struct pd_cgroup group;
	int ret;

	PD_TRY(pd_cgroup_make(&group));
	ret = migrate_beside(&group);
	pd_cgroup_remove(&group);
	return ret;
}

/* A task makes many system calls while it is moved between the CPUs. */
static int make_calls(void *unused)
{
	unsigned long i;

	(void)unused;
	for (i = 0; i < pd_scale(2000); i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	return 0;
}

static int to_and_fro(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	size_t samples = 0;
	int status, cpu = 0;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_child_start(&child, make_calls, NULL));
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	pd_set_enable(&set);
	pd_child_go(&child);
	do {
		pd_pin(child.pid, cpu++ % 2);
		pd_set_drain(&set, &log);
		status = pd_child_wait(&child, 0);
	} while (status == -1);
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_CHECK(!status, "the migrating child ended with status %#x", status);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->tid != (__u32)child.pid)
			continue;
		samples++;
		PD_TRY(pd_check_stitched(&log, sample, NAME, DEPTH));
	}
	PD_CHECK(samples == pd_scale(2000), "%zu samples of %lu calls", samples, pd_scale(2000));
	return PD_PASS;
}

/* Count the calls of a kernel function on each CPU. */
static int count_calls(struct pd_set *set, const char *function)
{
	struct perf_event_attr attr;
	int err;

	PD_TRY(pd_attr_kprobe_counter(&attr, function));
	err = pd_set_open(set, &attr, -1, 0);
	PD_CHECK(!err, "a counter of %s: %s", function, strerror(err));
	pd_set_enable(set);
	return 0;
}

static __u64 calls_counted(struct pd_set *set)
{
	__u64 sum = 0, values[2];
	int i;

	for (i = 0; i < set->nr; i++)
		if (read(set->events[i].fd, values, sizeof(values)) >= (ssize_t)sizeof(*values))
			sum += values[0];
	return sum;
}

/*
 * The reader has a buffer on every CPU.  The record must be written on the CPU to which
 * the task has moved, without a cross call (send_away()) to another CPU.
 */
static int move_before_all(bool of_task)
{
	struct pd_set set, cross_calls;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	size_t records;
	__u64 calls;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(count_calls(&cross_calls, "send_away"));
	PD_TRY(start_reader(&child));
	PD_TRY(pd_set_must_open(&set, &attr, of_task ? child.pid : -1));
	pd_set_enable(&set);
	PD_TRY(move_reader(&child));
	pd_set_disable(&set);
	calls = calls_counted(&cross_calls);
	pd_set_drain(&set, &log);
	PD_TRY(check_moved(&log, child.pid, &records));
	PD_CHECK(records == 1, "%zu records of one system call", records);
	PD_CHECK(!calls, "%llu cross calls", calls);
	return PD_PASS;
}

static int reader_of_all_cpus(void)
{
	return move_before_all(false);
}

static int reader_of_a_task_on_all_cpus(void)
{
	return move_before_all(true);
}

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define MANY		64

static pthread_barrier_t all_open;

static void *open_output(void *unused)
{
	struct perf_event_attr attr;
	struct pd_event event;

	(void)unused;
	pd_attr_dummy(&attr);
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	if (pd_event_open(&event, &attr, 0, 0, 0))
		_exit(1);
	pthread_barrier_wait(&all_open);
	pause();
	return NULL;
}

/* Each thread of a user without privileges opens an output, and so is a reader. */
static int take_readers(void *unused)
{
	pthread_t thread;
	int i;

	(void)unused;
	if (setresuid(65534, 65534, 65534) || pthread_barrier_init(&all_open, NULL, MANY + 1))
		return 1;
	for (i = 0; i < MANY; i++)
		if (pthread_create(&thread, NULL, open_output, NULL))
			return 1;
	pthread_barrier_wait(&all_open);
	pd_child_says();
	pause();
	return 0;
}

/* A user without privileges cannot take so many readers that none is left for others. */
static int beside_many_readers(void)
{
	long paranoid = pd_read_long(PARANOID);
	struct pd_child other;
	char text[16];
	int ret;

	PD_CHECK(!pd_write_str(PARANOID, "2"), "%s cannot be set", PARANOID);
	PD_TRY(pd_child_start(&other, take_readers, NULL));
	pd_child_go(&other);
	ret = pd_child_wait_said(&other, 1, 60) ? move_before_all(false) :
	      pd_fail("the other readers are not ready");
	kill(other.pid, SIGKILL);
	pd_child_wait(&other, 10);
	snprintf(text, sizeof(text), "%ld", paranoid);
	pd_write_str(PARANOID, text);
	return ret;
}

/* A pipe that tells another process which task has moved. */
static int moved_fds[2];

/* A process that reads only CPU 0 must get the record of the task that has moved to CPU 1. */
static int look_at_one_cpu(void *unused)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t records;
	pid_t pid;

	(void)unused;
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(pd_must_open(&event, &attr, -1, 0));
	pd_enable(&event);
	pd_child_says();
	PD_CHECK(read(moved_fds[0], &pid, sizeof(pid)) == sizeof(pid), "read failed");
	pd_disable(&event);
	pd_drain(&event, &log);
	return check_moved(&log, pid, &records);
}

static int two_readers(void)
{
	struct pd_child child, other;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_set set;
	size_t records;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_CHECK(!pipe(moved_fds), "pipe failed");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(pd_child_start(&other, look_at_one_cpu, NULL));
	pd_child_go(&other);
	PD_CHECK(pd_child_wait_said(&other, 1, 60), "the other reader is not ready");
	PD_TRY(start_reader(&child));
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	pd_set_enable(&set);
	PD_TRY(move_reader(&child));
	pd_set_disable(&set);
	PD_CHECK(write(moved_fds[1], &child.pid, sizeof(pid_t)) == sizeof(pid_t),
		 "write failed");
	PD_CHECK(!pd_child_wait(&other, 60), "the reader of one CPU missed the record");
	pd_set_drain(&set, &log);
	PD_TRY(check_moved(&log, child.pid, &records));
	PD_CHECK(records == 1, "%zu records for the reader of all CPUs", records);
	return PD_PASS;
}

/* One thread opens the events of two readers. Each of the readers must get a record. */
static int two_sets_of_one_thread(bool one_first)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	struct pd_set set;
	size_t records;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(start_reader(&child));
	if (one_first)
		PD_TRY(pd_must_open(&event, &attr, -1, 0));
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	if (!one_first)
		PD_TRY(pd_must_open(&event, &attr, -1, 0));
	pd_enable(&event);
	pd_set_enable(&set);
	PD_TRY(move_reader(&child));
	pd_set_disable(&set);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(check_moved(&log, child.pid, &records));
	pd_event_close(&event);
	pd_log_free(&log);
	pd_set_drain(&set, &log);
	PD_TRY(check_moved(&log, child.pid, &records));
	pd_set_close(&set);
	return 0;
}

static int two_sets(void)
{
	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(two_sets_of_one_thread(false));
	return two_sets_of_one_thread(true);
}

/* The reader must get the record even if its event on CPU 1 is disabled or has no buffer. */
static int move_to_no_output(bool off)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event there;
	struct pd_set set;
	size_t records;
	int err;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(start_reader(&child));
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	pd_set_enable(&set);
	if (off) {
		pd_disable(&set.events[1]);
	} else {
		pd_event_close(&set.events[1]);
		err = pd_event_open(&there, &attr, -1, 1, 0);
		PD_CHECK(!err, "an event without a buffer: %s", strerror(err));
		pd_enable(&there);
	}
	PD_TRY(move_reader(&child));
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	return check_moved(&log, child.pid, &records);
}

static int output_is_off(void)
{
	return move_to_no_output(true);
}

static int output_has_no_buffer(void)
{
	return move_to_no_output(false);
}

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static int move_to_new_cpu(void)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	size_t records;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_readv"));
	PD_TRY(start_reader(&child));
	PD_TRY(pd_must_open(&event, &attr, -1, 0));
	pd_enable(&event);
	PD_CHECK(!pd_write_str(ONLINE, "1"), "CPU 1 cannot be brought online again");
	PD_TRY(move_reader(&child));
	pd_disable(&event);
	pd_drain(&event, &log);
	return check_moved(&log, child.pid, &records);
}

/*
 * A task returns on CPU 1, which went online after the reader had opened its event on CPU 0.  The
 * record must go to the buffer of CPU 0.
 */
static int new_cpu(void)
{
	int ret;

	if (pd_online_cpus() != 2)
		return pd_skip("needs exactly two CPUs");
	if (pd_write_str(ONLINE, "0"))
		return pd_skip("CPU 1 cannot be taken away");
	ret = move_to_new_cpu();
	pd_write_str(ONLINE, "1");
	return ret;
}

const struct pd_test pd_tests[] = {
	PD_TEST(event_of_a_cpu),
	PD_TEST(event_of_a_task_on_a_cpu),
	PD_TEST(beside_a_cgroup),
	PD_TEST(to_and_fro),
	PD_TEST(reader_of_all_cpus),
	PD_TEST(reader_of_a_task_on_all_cpus),
	PD_TEST(beside_many_readers),
	PD_TEST(two_readers),
	PD_TEST(two_sets),
	PD_TEST(output_is_off),
	PD_TEST(output_has_no_buffer),
	PD_TEST(new_cpu),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

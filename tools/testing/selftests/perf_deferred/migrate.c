// SPDX-License-Identifier: GPL-2.0
/* A task sampled on one CPU returns to user mode on another. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static int migrate_once(struct perf_event_attr *attr, bool of_cpu)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;

	PD_CHECK(!pipe(pipe_fds), "pipe failed");
	PD_TRY(pd_child_start(&child, read_pipe, NULL));
	PD_TRY(pd_must_open(&event, attr, of_cpu ? -1 : child.pid, 0));
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(pd_child_wait_sleep(&child, 1, 20), "the reader does not sleep");
	pd_pin(child.pid, 1);
	PD_CHECK(write(pipe_fds[1], "x", 1) == 1, "write failed");
	PD_CHECK(!pd_child_wait(&child, 60), "the reader failed, or did not return on CPU 1");
	pd_disable(&event);
	pd_drain(&event, &log);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		if (sample->tid == (__u32)child.pid)
			break;
	PD_CHECK(sample && sample->cpu == 0, "no sample on CPU 0");
	PD_CHECK(sample->deferred, "the sample was not deferred");
	PD_CHECK(pd_log_record(&log, sample->tid, sample->cookie),
		 "the record did not reach CPU 0's buffer");
	PD_TRY(pd_check_stitched(&log, sample, NAME, DEPTH));
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

static int spin(void *unused)
{
	(void)unused;
	for (;;)
		asm volatile("");
	return 0;
}

/* As it returns on CPU 1, one of the group runs on CPU 0. */
static int migrate_beside(const struct pd_cgroup *group)
{
	const struct pd_rec *rec = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child spinner;
	struct pd_event event;
	int fd, err;

	PD_TRY(pd_child_start(&spinner, spin, NULL));
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

/* Everywhere at once: spinning and calling while it is sent to and from. */
static int wanderer(void *unused)
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
	PD_TRY(pd_child_start(&child, wanderer, NULL));
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
	PD_CHECK(!status, "the wanderer ended with %#x", status);
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

const struct pd_test pd_tests[] = {
	PD_TEST(event_of_a_cpu),
	PD_TEST(event_of_a_task_on_a_cpu),
	PD_TEST(beside_a_cgroup),
	PD_TEST(to_and_fro),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* Events of a cgroup: samples and records of its tasks only. Walks in a cgroup without memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pd_cgroup.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	5
#define DEPTH	2
#define PATIENCE	120
/* what else may reclaim memory for the task */
#define MOST_RECLAIMS	10

static int make_calls(void *unused)
{
	unsigned long i;

	(void)unused;
	for (i = 0; i < pd_scale(100); i++) {
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
		if (i % 10 == 0)
			pd_sleep_ms(1);
	}
	return 0;
}

static int check_log(struct pd_log *log, __u32 inside)
{
	const struct pd_rec *rec = NULL;
	size_t samples = 0;

	PD_TRY(pd_log_clean(log));
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &rec)) {
		samples++;
		PD_CHECK(rec->tid == inside, "a sample of task %u", rec->tid);
		PD_TRY(pd_check_stitched(log, rec, NAME, DEPTH));
	}
	while (pd_log_next(log, PD_RECORD_DEFERRED, &rec))
		PD_CHECK(rec->tid == inside, "a record of task %u", rec->tid);
	PD_CHECK(samples == pd_scale(100), "%zu samples of %lu calls", samples, pd_scale(100));
	return 0;
}

/* Open an event for the tasks of the cgroup on each CPU. */
static int open_group(struct pd_event *events, const struct perf_event_attr *attr,
		      const struct pd_cgroup *group, int cpus)
{
	int fd = open(group->path, O_RDONLY | O_DIRECTORY), err, i;

	for (i = 0; i < cpus; i++) {
		err = pd_event_open_flags(&events[i], attr, fd, i, PD_PAGES,
					  PERF_FLAG_PID_CGROUP);
		if (err == EINVAL || err == EOPNOTSUPP)
			return pd_skip("no events of cgroups: %s", strerror(err));
		PD_CHECK(!err, "event of a cgroup: %s", strerror(err));
		pd_enable(&events[i]);
	}
	close(fd);
	return 0;
}

static void close_group(struct pd_event *events, struct pd_log *log, int cpus)
{
	int i;

	for (i = 0; i < cpus; i++) {
		pd_disable(&events[i]);
		pd_drain(&events[i], log);
		pd_event_close(&events[i]);
	}
}

/* @of_task: an event of one task takes the samples, and events of the cgroup get the records. */
static int record_group(struct perf_event_attr *attr, const struct pd_cgroup *group,
			bool of_task)
{
	int cpus = pd_online_cpus() < 8 ? pd_online_cpus() : 8;
	struct pd_child inside, outside;
	struct perf_event_attr dummy;
	struct pd_log log = {};
	struct pd_event events[8], event;

	PD_TRY(pd_child_start(&inside, make_calls, NULL));
	PD_TRY(pd_child_start(&outside, make_calls, NULL));
	PD_TRY(pd_cgroup_join(group, inside.pid));
	pd_attr_dummy(&dummy);
	PD_TRY(open_group(events, of_task ? &dummy : attr, group, cpus));
	if (of_task) {
		pd_attr_flag(attr, PD_FLAG_DEFER_OUTPUT, 0);
		PD_TRY(pd_must_open(&event, attr, inside.pid, -1));
		pd_enable(&event);
	}
	pd_child_go(&inside);
	pd_child_go(&outside);
	PD_CHECK(!pd_child_wait(&inside, 60) && !pd_child_wait(&outside, 60),
		 "a child failed");
	close_group(events, &log, cpus);
	if (of_task) {
		pd_drain(&event, &log);
		pd_event_close(&event);
	}
	return check_log(&log, inside.pid);
}

static int with_group(bool of_task)
{
	struct perf_event_attr attr;
	struct pd_cgroup group;
	int ret;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_cgroup_make(&group));
	ret = record_group(&attr, &group, of_task);
	pd_cgroup_remove(&group);
	return ret;
}

static int tasks_of_a_cgroup(void)
{
	return with_group(false);
}

static int output_of_a_cgroup(void)
{
	return with_group(true);
}

/* Call without allocating memory: the limit of the cgroup is 0. */
static int make_calls_when_full(void *unused)
{
	unsigned long i;

	(void)unused;
	pd_child_says();
	for (i = 0; i < pd_scale(100); i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_child_says();
	pause();
	return 0;
}

static int limit_to_nothing(const struct pd_cgroup *group)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/memory.max", group->path);
	if (pd_write_str(path, "0"))
		return pd_skip("no limits of memory");
	return 0;
}

static int check_full(struct pd_child *child, const struct pd_cgroup *group,
		      struct perf_event_attr *attr)
{
	struct pd_event event, reclaims;
	struct perf_event_attr counter;
	struct pd_log log = {};
	__u64 values[2];

	PD_TRY(limit_to_nothing(group));
	PD_TRY(pd_must_open(&event, attr, child->pid, -1));
	PD_TRY(pd_attr_kprobe_counter(&counter, "try_to_free_mem_cgroup_pages"));
	PD_TRY(pd_must_open(&reclaims, &counter, child->pid, -1));
	PD_TRY(pd_cgroup_join(group, child->pid));
	pd_enable(&reclaims);
	pd_enable(&event);
	pd_child_go(child);
	PD_CHECK(pd_child_wait_said(child, 2, PATIENCE), "the child does not end");
	PD_CHECK(read(reclaims.fd, values, sizeof(values)) == sizeof(values),
		 "cannot count: %s", strerror(errno));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(check_log(&log, child->pid));
	PD_CHECK(values[0] <= MOST_RECLAIMS, "memory was reclaimed %llu times", values[0]);
	pd_event_close(&reclaims);
	pd_event_close(&event);
	pd_log_free(&log);
	return 0;
}

/* In a cgroup that may have no more memory, stacks are complete, and walks reclaim no memory. */
static int full_cgroup(void)
{
	struct perf_event_attr attr;
	struct pd_cgroup group;
	struct pd_child child;
	int ret;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_cgroup_make(&group));
	PD_CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
	PD_TRY(pd_child_start(&child, make_calls_when_full, NULL));
	ret = check_full(&child, &group, &attr);
	kill(child.pid, SIGKILL);
	pd_child_wait(&child, PATIENCE);
	pd_cgroup_remove(&group);
	return ret;
}

const struct pd_test pd_tests[] = {
	PD_TEST(tasks_of_a_cgroup),
	PD_TEST(output_of_a_cgroup),
	PD_TEST(full_cgroup),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

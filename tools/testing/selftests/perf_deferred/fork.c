// SPDX-License-Identifier: GPL-2.0
/* Children do not inherit a cookie or a record from their parent. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
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

#define PARENT	0
#define CHILD	5
#define DEPTH	3

static PD_LEAF long raw_fork(void *unused)
{
	(void)unused;
	return pd_syscall0(SYS_fork);
}

static int child_work(void)
{
	return pd_call(CHILD, DEPTH, pd_leaf_getppid, NULL) < 0;
}

static void *thread_work(void *unused)
{
	(void)unused;
	child_work();
	return NULL;
}

static int make_forks(void *unused)
{
	unsigned long i;
	long pid;

	(void)unused;
	for (i = 0; i < pd_scale(30); i++) {
		pid = pd_call(PARENT, DEPTH, raw_fork, NULL);
		if (!pid)
			_exit(child_work());
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static void one_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(child_work());
	waitpid(pid, NULL, 0);
}

static int make_vforks(void *unused)
{
	unsigned long i;

	(void)unused;
	for (i = 0; i < pd_scale(30); i++)
		one_vfork();
	return 0;
}

/* A grandchild in its own pid namespace: its records have the same ids as its samples. */
static int namespace_and_fork(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return 1;
	pid = fork();
	if (!pid)
		_exit(child_work());
	waitpid(pid, NULL, 0);
	return 0;
}

static int make_namespaces(void *unused)
{
	unsigned long i;
	int status;
	pid_t pid;

	(void)unused;
	for (i = 0; i < pd_scale(30); i++) {
		pid = fork();
		if (!pid)
			_exit(namespace_and_fork());
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

static int make_threads(void *unused)
{
	pthread_t thread;
	unsigned long i;

	(void)unused;
	for (i = 0; i < pd_scale(30); i++) {
		if (pthread_create(&thread, NULL, thread_work, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}

static int record_family(struct perf_event_attr *attr, int (*body)(void *), struct pd_log *log,
			 __u32 *parent)
{
	struct pd_child child;
	struct pd_set set;
	int status;

	PD_TRY(pd_child_start(&child, body, NULL));
	attr->inherit = 1;
	attr->task = 1;
	PD_TRY(pd_set_must_open(&set, attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	status = pd_child_wait(&child, 60);
	PD_CHECK(!status, "the parent ended with %#x", status);
	pd_set_disable(&set);
	pd_set_drain(&set, log);
	*parent = child.pid;
	PD_TRY(pd_log_clean(log));
	return pd_check_no_bare(log);
}

/* No cookie belongs to two tasks. */
static int check_cookies(struct pd_log *log)
{
	const struct pd_rec *a = NULL, *b = NULL;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &a))
		while (pd_log_next(log, PD_RECORD_DEFERRED, &b))
			PD_CHECK(!a->deferred || a->cookie != b->cookie || a->tid == b->tid,
				 "cookie %llx of task %u on a record of task %u",
				 a->cookie, a->tid, b->tid);
	return 0;
}

static int children_call(int (*body)(void *))
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	size_t samples = 0;
	__u32 parent;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(record_family(&attr, body, &log, &parent));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_CHECK(sample->tid != parent, "a sample of the parent");
		PD_TRY(pd_check_right(&log, sample, CHILD, DEPTH));
	}
	PD_CHECK(samples == pd_scale(30), "%zu samples of %lu children", samples, pd_scale(30));
	return check_cookies(&log);
}

static int fork_children(void)
{
	return children_call(make_forks);
}

static int vfork_children(void)
{
	return children_call(make_vforks);
}

static int namespace_children(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(unshare(CLONE_NEWPID) ? errno : 0);
	waitpid(pid, &status, 0);
	if (status)
		return pd_skip("no pid namespaces here");
	return children_call(make_namespaces);
}

static int thread_children(void)
{
	return children_call(make_threads);
}

/* The parent is sampled inside its fork, where it has a cookie. */
static int parent_waits(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	size_t samples = 0;
	__u32 parent;

	PD_TRY(pd_attr_kprobe(&attr, "copy_process"));
	PD_TRY(record_family(&attr, make_forks, &log, &parent));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_CHECK(sample->tid == parent, "copy_process in task %u", sample->tid);
		PD_TRY(pd_check_stitched(&log, sample, PARENT, DEPTH));
	}
	PD_CHECK(samples == pd_scale(30), "%zu samples of %lu forks", samples, pd_scale(30));
	/* A sample may have two records, if the parent moved to another CPU meanwhile. */
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) <= 2 * samples,
		 "%zu records for %zu samples",
		 pd_log_count(&log, PD_RECORD_DEFERRED), samples);
	return check_cookies(&log);
}

/* Samples of a child before it first returns to user space have the stack of the fork, or none. */
static int first_steps(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	size_t samples = 0;
	__u32 parent;

	PD_TRY(pd_attr_kprobe(&attr, "calculate_sigpending"));
	PD_TRY(record_family(&attr, make_forks, &log, &parent));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_CHECK(sample->tid != parent, "calculate_sigpending() in the parent");
		PD_TRY(pd_check_right_or_none(&log, sample, PARENT, DEPTH));
	}
	PD_CHECK(samples == pd_scale(30), "%zu samples of %lu children", samples, pd_scale(30));
	return check_cookies(&log);
}

/* A child has its parent's return instances, before it maps the trampoline of uretprobes. */
static int first_steps_below_uretprobe(void)
{
	struct perf_event_attr attr;
	struct pd_event probe;

	PD_TRY(pd_attr_uprobe(&attr, raw_fork, true));
	PD_TRY(pd_must_open(&probe, &attr, -1, 0));
	pd_enable(&probe);
	return first_steps();
}

const struct pd_test pd_tests[] = {
	PD_TEST(fork_children),
	PD_TEST(vfork_children),
	PD_TEST(thread_children),
	PD_TEST(namespace_children),
	PD_TEST(parent_waits),
	PD_TEST(first_steps),
	PD_TEST(first_steps_below_uretprobe),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

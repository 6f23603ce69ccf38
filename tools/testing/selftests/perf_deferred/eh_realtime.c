// SPDX-License-Identifier: GPL-2.0
/*
 * A static program, whose unwind tables need an index: a real-time task neither makes the index,
 * nor waits for another task that makes it.  If the memory cgroup is full, few walks try it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_cgroup.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_test.h"

#define REALTIME	"/proc/sys/kernel/unwind_user_realtime"
/* how long no walk tries to make the index after an allocation has failed */
#define INDEX_PAUSE_NS	1000000000LL
/* how often a try reclaims memory; what else may reclaim memory for the task */
#define RECLAIMS	4
#define MORE_RECLAIMS	10

static const eh_step steps[] = { eh_pushes, eh_plain, eh_leaf };

static int set_policy(int policy)
{
	struct sched_param param = { .sched_priority = policy == SCHED_FIFO };

	if (sched_setscheduler(0, policy, &param))
		return pd_skip("scheduling policy %d: %s", policy, strerror(errno));
	return 0;
}

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/*
 * Open an event at getppid(), and a counter of the indexes that this task makes. Each test is a
 * process without an index.
 */
static int open_events(struct pd_event *event, struct pd_event *claims)
{
	struct perf_event_attr attr;

	PD_TRY(eh_open(event));
	PD_TRY(pd_attr_kprobe_counter(&attr, "unwind_cache_claim_index"));
	PD_TRY(pd_must_open(claims, &attr, 0, -1));
	PD_CHECK(pd_read_long(REALTIME) == 1, "%s is %ld", REALTIME, pd_read_long(REALTIME));
	/* the rules of the file may be known from another process */
	PD_CHECK(!pd_write_str("/proc/sys/vm/drop_caches", "2"), "drop_caches failed");
	pd_enable(claims);
	return 0;
}

static __u64 calls_counted(const struct pd_event *counter)
{
	__u64 values[2] = {};

	return read(counter->fd, values, sizeof(values)) == sizeof(values) ? values[0] : ~0ULL;
}

/* Sample a real-time task. Its walk must not sleep. */
static int walk_without_sleep(struct pd_event *event, struct eh_walk *walk)
{
	long before;

	pd_enable(event);
	before = voluntary_switches();
	eh_run(walk, steps);
	PD_CHECK(voluntary_switches() == before, "the walk slept %ld times",
		 voluntary_switches() - before);
	pd_disable(event);
	return 0;
}

static int check_record(struct pd_event *event, struct pd_log *log, const struct pd_rec **stack)
{
	const struct pd_rec *sample;

	pd_drain(event, log);
	PD_TRY(pd_log_clean(log));
	sample = pd_log_nth(log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && pd_user_half(log, sample, stack) == PD_STITCHED, "no record");
	PD_CHECK((*stack)->nr_user, "the record is empty");
	return 0;
}

static int makes_no_index(void)
{
	struct pd_event event, claims;
	static struct eh_walk walk;
	const struct pd_rec *stack;
	struct pd_log log = {};

	PD_TRY(open_events(&event, &claims));
	/* have all pages in memory */
	eh_run(&walk, steps);
	PD_TRY(set_policy(SCHED_FIFO));
	PD_TRY(walk_without_sleep(&event, &walk));
	PD_TRY(set_policy(SCHED_OTHER));
	PD_CHECK(!calls_counted(&claims), "a real-time task makes an index");
	PD_TRY(check_record(&event, &log, &stack));
	PD_CHECK(stack->nr_user <= walk.nr, "%u frames without the index", stack->nr_user);
	pd_log_free(&log);

	/* made without real time, and then used in real time */
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_CHECK(calls_counted(&claims) == 1, "%llu indexes were made", calls_counted(&claims));
	PD_TRY(set_policy(SCHED_FIFO));
	PD_TRY(walk_without_sleep(&event, &walk));
	PD_TRY(set_policy(SCHED_OTHER));
	PD_TRY(check_record(&event, &log, &stack));
	return eh_check(&walk, stack);
}

/* a task that makes the index */
struct maker {
	pthread_t thread;
	pid_t tid;
	int go;
	int done;
	struct eh_walk walk;
};

static void *make_index(void *arg)
{
	struct maker *maker = arg;

	eh_run(&maker->walk, steps);
	PD_WRITE(maker->tid, syscall(SYS_gettid));
	while (!PD_READ(maker->go))
		pd_sleep_ms(1);
	eh_run(&maker->walk, steps);
	PD_WRITE(maker->done, 1);
	return NULL;
}

/* Open an event of the maker, and one that wakes its reader when the first FDE is read. */
static int start_maker(struct maker *maker, struct pd_event *event, struct pd_event *reads)
{
	struct perf_event_attr attr;

	PD_CHECK(!pthread_create(&maker->thread, NULL, make_index, maker), "no thread");
	while (!PD_READ(maker->tid))
		pd_sleep_ms(1);
	PD_TRY(eh_attr(&attr));
	PD_TRY(pd_must_open(event, &attr, maker->tid, -1));
	PD_TRY(pd_attr_kprobe(&attr, "unwind_cfi_rule"));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	attr.sample_type = PD_SAMPLE_ID;
	attr.wakeup_events = 1;
	PD_TRY(pd_must_open(reads, &attr, maker->tid, -1));
	pd_enable(event);
	pd_enable(reads);
	return 0;
}

/* On one CPU, the maker can only continue when the real-time task sleeps. */
static int waits_for_no_index(void)
{
	struct pd_event event, claims, makers_event, reads;
	struct pollfd poll_reads = { .events = POLLIN };
	static struct eh_walk walk;
	static struct maker maker;
	const struct pd_rec *stack;
	struct pd_log log = {};

	pd_pin(0, 0);
	PD_TRY(open_events(&event, &claims));
	PD_TRY(start_maker(&maker, &makers_event, &reads));
	eh_run(&walk, steps);
	poll_reads.fd = reads.fd;
	PD_TRY(set_policy(SCHED_FIFO));
	PD_WRITE(maker.go, 1);
	PD_CHECK(poll(&poll_reads, 1, 600000) == 1, "no task makes the index");
	PD_CHECK(!PD_READ(maker.done), "the index has already been made");
	PD_TRY(walk_without_sleep(&event, &walk));
	PD_CHECK(!PD_READ(maker.done), "the index was made during the walk");
	PD_TRY(set_policy(SCHED_OTHER));
	PD_CHECK(!calls_counted(&claims), "a real-time task makes an index");
	pthread_join(maker.thread, NULL);
	return check_record(&event, &log, &stack);
}

/* Have no memory in the cgroup.  Return a file to lift the limit, or -1. */
static int fill_cgroup(const struct pd_cgroup *group)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/memory.max", group->path);
	fd = open(path, O_WRONLY);
	if (fd >= 0 && write(fd, "0", 1) != 1) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void leave_cgroup(struct pd_cgroup *group)
{
	char *name = strrchr(group->path, '/');

	*name = '\0';
	pd_cgroup_join(group, getpid());
	*name = '/';
	pd_cgroup_remove(group);
}

static int walk_when_full(const struct pd_cgroup *group, struct pd_event *event,
			  const struct pd_event *claims)
{
	int limit = fill_cgroup(group), tries, most;
	unsigned long i, nr = pd_scale(1000);
	struct perf_event_attr counter;
	static struct eh_walk walk;
	struct pd_event reclaims;
	long long start, ns;
	__u64 reclaimed;

	if (limit < 0)
		return pd_skip("no limits of memory");
	PD_TRY(pd_attr_kprobe_counter(&counter, "try_to_free_mem_cgroup_pages"));
	PD_TRY(pd_must_open(&reclaims, &counter, 0, -1));
	PD_TRY(pd_cgroup_join(group, getpid()));
	pd_enable(&reclaims);
	pd_enable(event);
	start = pd_now_ns();
	for (i = 0; i < nr; i++)
		eh_run(&walk, steps);
	ns = pd_now_ns() - start;
	pd_disable(event);
	reclaimed = calls_counted(&reclaims);
	tries = calls_counted(claims);
	PD_CHECK(write(limit, "max", 3) == 3, "the limit stays: %s", strerror(errno));
	most = 1 + ns / INDEX_PAUSE_NS;
	pd_note("%lu walks in %lld ms: %d tries, %llu reclaims", nr, ns / 1000000, tries,
		reclaimed);
	PD_CHECK(tries >= 1 && tries <= most, "%d tries to make the index", tries);
	PD_CHECK(reclaimed <= (__u64)RECLAIMS * most + MORE_RECLAIMS,
		 "memory was reclaimed %llu times", reclaimed);
	return 0;
}

/* The object is known from before the cgroup became full, but there is no memory for its index. */
static int full_cgroup(void)
{
	struct pd_event event, claims;
	static struct eh_walk walk;
	struct pd_cgroup group;
	struct pd_log log = {};
	int ret;

	PD_TRY(open_events(&event, &claims));
	PD_CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
	PD_TRY(set_policy(SCHED_FIFO));
	PD_TRY(walk_without_sleep(&event, &walk));
	PD_TRY(set_policy(SCHED_OTHER));
	PD_CHECK(!calls_counted(&claims), "a real-time task makes an index");
	PD_TRY(pd_cgroup_make(&group));
	ret = walk_when_full(&group, &event, &claims);
	leave_cgroup(&group);
	if (ret)
		return ret;
	pd_drain(&event, &log);
	pd_log_free(&log);
	pd_sleep_ms(INDEX_PAUSE_NS / 1000000 + 100);
	return eh_run_and_check(&event, &walk, steps);
}

const struct pd_test pd_tests[] = {
	PD_TEST(makes_no_index),
	PD_TEST(waits_for_no_index),
	PD_TEST(full_cgroup),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

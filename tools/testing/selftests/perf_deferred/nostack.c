// SPDX-License-Identifier: GPL-2.0
/* Kernel threads and user workers have no user stack, and so no cookie. */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define PF_KTHREAD	0x00200000

static bool is_kthread(__u32 tid)
{
	char path[64], line[512], *at;
	unsigned long flags = 0;
	FILE *file;

	if (!tid)
		return true;
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	at = fgets(line, sizeof(line), file);
	fclose(file);
	at = at ? strrchr(line, ')') : NULL;
	if (!at || sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return false;
	return flags & PF_KTHREAD;
}

/*
 * Did the task return to user space while the event was enabled? If so, a later sample of the
 * task has another cookie. The log is not sorted by time.
 */
static bool has_returned(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *other = NULL;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &other))
		if (other->tid == sample->tid && other->deferred &&
		    other->cookie != sample->cookie && other->time > sample->time &&
		    other->time < sample->event->disabled_at)
			return true;
	return false;
}

/* Like pd_check_no_bare(), but tasks that sleep until the end need no record. */
static int check_no_bare(struct pd_log *log)
{
	const struct pd_rec *sample = NULL, *stack;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample))
		PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE ||
			 !has_returned(log, sample),
			 "cookie %llx of tid %u, ip %llx, has no record", sample->cookie,
			 sample->tid, sample->ip);
	return 0;
}

static int check_kthreads(struct pd_log *log, size_t at_least)
{
	const struct pd_rec *sample = NULL;
	size_t kthreads = 0;

	PD_CHECK(!log->malformed[0], "malformed: %s", log->malformed);
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		if (!is_kthread(sample->tid))
			continue;
		kthreads++;
		PD_CHECK(!sample->deferred && !sample->inplace,
			 "kernel thread %u has %s", sample->tid,
			 sample->deferred ? "a cookie" : "a user half");
	}
	pd_note("%zu of %zu samples in kernel threads", kthreads,
		pd_log_count(log, PERF_RECORD_SAMPLE));
	PD_CHECK(kthreads >= at_least, "only %zu samples in kernel threads", kthreads);
	return check_no_bare(log);
}

static int watch_all_cpus(struct perf_event_attr *attr, size_t at_least)
{
	struct pd_log log = {};
	struct pd_set set;
	int i;

	PD_TRY(pd_set_must_open(&set, attr, -1));
	pd_set_enable(&set);
	for (i = 0; i < 30; i++) {
		pd_call(0, 1, pd_leaf_spin, (void *)10L);
		sync();
		pd_sleep_ms(10);
		pd_set_drain(&set, &log);
	}
	pd_set_disable(&set);
	return check_kthreads(&log, at_least);
}

static int kthreads_from_timer(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, pd_hz(2000));
	return watch_all_cpus(&attr, 1);
}

static int kworkers(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_tracepoint(&attr, "workqueue", "workqueue_execute_start"));
	return watch_all_cpus(&attr, 1);
}

/* An io_uring, set up without liburing, for requests that a worker must run. */
struct ring {
	struct io_uring_params params;
	struct io_uring_sqe *sqes;
	char *sq;
	int fd;
};

static int ring_open(struct ring *ring)
{
	size_t size;

	memset(ring, 0, sizeof(*ring));
	ring->fd = syscall(SYS_io_uring_setup, 8, &ring->params);
	if (ring->fd < 0)
		return pd_skip("io_uring_setup: %s", strerror(errno));
	size = ring->params.sq_off.array + ring->params.sq_entries * sizeof(__u32);
	ring->sq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, ring->params.sq_entries * sizeof(*ring->sqes),
			  PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	PD_CHECK(ring->sq != MAP_FAILED && ring->sqes != MAP_FAILED, "mmap of a ring failed");
	return 0;
}

static int ring_nop_async(struct ring *ring)
{
	__u32 *tail = (__u32 *)(ring->sq + ring->params.sq_off.tail);
	__u32 mask = *(__u32 *)(ring->sq + ring->params.sq_off.ring_mask);
	__u32 *array = (__u32 *)(ring->sq + ring->params.sq_off.array);
	__u32 slot = *tail & mask;

	memset(&ring->sqes[slot], 0, sizeof(ring->sqes[slot]));
	ring->sqes[slot].opcode = IORING_OP_NOP;
	ring->sqes[slot].flags = IOSQE_ASYNC;
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static int io_uring_workers(void)
{
	unsigned long rounds = pd_scale(6), i;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	size_t by_worker = 0;
	struct ring ring;
	struct pd_set set;

	PD_TRY(pd_attr_kprobe(&attr, "io_wq_submit_work"));
	PD_TRY(ring_open(&ring));
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	pd_set_enable(&set);
	for (i = 0; i < rounds; i++)
		PD_CHECK(ring_nop_async(&ring) >= 0, "io_uring_enter: %s", strerror(errno));
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->tid == (__u32)gettid())
			continue;
		by_worker++;
		PD_CHECK(!sample->deferred && !sample->inplace, "worker %u has %s",
			 sample->tid, sample->deferred ? "a cookie" : "a user half");
	}
	PD_CHECK(by_worker, "no request was run by a worker");
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(kthreads_from_timer),
	PD_TEST(kworkers),
	PD_TEST(io_uring_workers),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * A task has no memory for deferral before its first request, and then one page until it exits.
 * The tests count allocations and frees by the kernel's tracepoints.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pd_log.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	3
#define DEPTH	4
#define CALLS	1000

/* Functions that send records. senders[0] calls senders[1], which may be inlined. */
static struct pd_range senders[2];
/* Function that allocates a table of unwind rules, which is not a task's own memory. */
static struct pd_range room_for_rules;
/* Functions that run when a task exits. */
static struct pd_range exit_functions[2];

static int find_functions(void)
{
	senders[0] = pd_find_function("unwind_deferred_work");
	senders[1] = pd_find_function("send_records");
	room_for_rules = pd_find_function("unwind_rules_alloc");
	exit_functions[0] = pd_find_function("unwind_deferred_exit");
	exit_functions[1] = pd_find_function("do_exit");
	if (!senders[0].low || !exit_functions[0].low || !exit_functions[1].low)
		return pd_skip("/proc/kallsyms has no addresses of functions");
	return 0;
}

static bool is_sending(const struct pd_rec *sample)
{
	if (room_for_rules.low && pd_is_under(sample, &room_for_rules))
		return false;
	return pd_is_under(sample, &senders[0]) || pd_is_under(sample, &senders[1]);
}

static bool is_exiting(const struct pd_rec *sample)
{
	return pd_is_under(sample, &exit_functions[0]) && pd_is_under(sample, &exit_functions[1]);
}

/* Offset of the field ptr in the raw data of a kmem tracepoint, or -1. */
static int offset_of_ptr(const char *tracepoint)
{
	char path[128], line[256];
	int offset = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/kmem/%s/format", tracepoint);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (offset < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, " field:const void * ptr; offset:%d;", &offset) != 1)
			offset = -1;
	fclose(file);
	return offset;
}

/* Samples of the kernel's allocations or frees in one task. */
struct trace {
	struct pd_event event;
	struct pd_log log;
	int offset;
};

static int trace_open(struct trace *trace, const char *tracepoint, const char *filter, pid_t pid)
{
	struct perf_event_attr attr;

	*trace = (struct trace){ .offset = offset_of_ptr(tracepoint) };
	PD_TRY(pd_attr_tracepoint(&attr, "kmem", tracepoint));
	PD_CHECK(trace->offset >= 0, "kmem:%s has no address", tracepoint);
	/* this event must not defer itself */
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	attr.exclude_callchain_user = 1;
	attr.sample_type |= PERF_SAMPLE_RAW;
	PD_TRY(pd_must_open(&trace->event, &attr, pid, -1));
	PD_CHECK(!filter || !ioctl(trace->event.fd, PERF_EVENT_IOC_SET_FILTER, filter),
		 "filter %s of kmem:%s: %s", filter, tracepoint, strerror(errno));
	pd_enable(&trace->event);
	return 0;
}

static __u64 ptr_of(const struct trace *trace, const struct pd_rec *sample)
{
	__u64 ptr;

	if (!sample->raw || trace->offset + sizeof(ptr) > sample->raw_size)
		return 0;
	memcpy(&ptr, (char *)sample->raw + trace->offset, sizeof(ptr));
	return ptr;
}

static void on_usr1(int sig)
{
	(void)sig;
}

/* Makes two series of calls, and waits for a signal after each. */
static int call_twice(void *unused)
{
	unsigned long calls = pd_scale(CALLS), i;
	int half;

	(void)unused;
	pd_handle(SIGUSR1, on_usr1, false);
	for (half = 0; half < 2; half++) {
		for (i = 0; i < calls; i++)
			pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
		pd_child_says();
		pause();
	}
	return 0;
}

/* A task, and the allocations and frees for it. */
struct subject {
	struct pd_child child;
	struct trace pages, frees;
	__u64 page;	/* last page that the deferral allocated */
};

static int subject_start(struct subject *subject)
{
	char filter[64];

	PD_TRY(find_functions());
	snprintf(filter, sizeof(filter), "bytes_req==%d", getpagesize());
	PD_TRY(pd_child_start(&subject->child, call_twice, NULL));
	PD_TRY(trace_open(&subject->pages, "kmalloc", filter, subject->child.pid));
	PD_TRY(trace_open(&subject->frees, "kfree", NULL, subject->child.pid));
	subject->page = 0;
	pd_child_go(&subject->child);
	return 0;
}

static int drain_clean(struct trace *trace)
{
	pd_drain(&trace->event, &trace->log);
	return pd_log_clean(&trace->log);
}

/* Check that @pages pages were allocated so far, and that the last one was not freed. */
static int check_pages(struct subject *subject, size_t pages, const char *when)
{
	const struct pd_rec *sample = NULL;
	size_t count = 0;

	PD_TRY(drain_clean(&subject->pages));
	while (pd_log_next(&subject->pages.log, PERF_RECORD_SAMPLE, &sample)) {
		if (!is_sending(sample))
			continue;
		subject->page = ptr_of(&subject->pages, sample);
		count++;
	}
	PD_CHECK(count == pages, "%s: %zu pages instead of %zu", when, count, pages);
	PD_CHECK(!pages || subject->page, "a page without an address");
	PD_TRY(drain_clean(&subject->frees));
	while (pd_log_next(&subject->frees.log, PERF_RECORD_SAMPLE, &sample))
		PD_CHECK(!pages || ptr_of(&subject->frees, sample) != subject->page,
			 "%s: the page is gone", when);
	return 0;
}

/* Check that the exit of the task freed memory @frees times, and only the task's page. */
static int check_frees(struct subject *subject, size_t frees)
{
	const struct pd_rec *sample = NULL;
	size_t count = 0;

	PD_TRY(drain_clean(&subject->frees));
	while (pd_log_next(&subject->frees.log, PERF_RECORD_SAMPLE, &sample)) {
		__u64 ptr = ptr_of(&subject->frees, sample);

		/* kfree(NULL) is traced, too */
		if (!is_exiting(sample) || !ptr)
			continue;
		PD_CHECK(ptr == subject->page, "%llx is freed, the page is %llx", ptr,
			 subject->page);
		count++;
	}
	PD_CHECK(count == frees, "%zu pages were freed instead of %zu", count, frees);
	return 0;
}

static int subject_go_on(struct subject *subject, int half)
{
	PD_CHECK(pd_child_wait_sleep(&subject->child, half, 60), "the child does not sleep");
	return kill(subject->child.pid, SIGUSR1);
}

/* A task that is not sampled gets no page, even if another task is sampled at the same function. */
static int none_without_a_request(void)
{
	struct perf_event_attr attr;
	struct subject subject;
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	PD_TRY(subject_start(&subject));
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	PD_TRY(subject_go_on(&subject, 1));
	PD_TRY(subject_go_on(&subject, 2));
	PD_CHECK(!pd_child_wait(&subject.child, 60), "the child failed");
	PD_TRY(check_pages(&subject, 0, "not sampled"));
	return check_frees(&subject, 0);
}

/* A task that is sampled only in its second series of calls has one page from then to its exit. */
static int one_page_until_exit(void)
{
	unsigned long calls = pd_scale(CALLS);
	struct perf_event_attr attr;
	struct subject subject;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(subject_start(&subject));
	PD_TRY(pd_must_open(&event, &attr, subject.child.pid, -1));
	PD_CHECK(pd_child_wait_sleep(&subject.child, 1, 60), "the child does not sleep");
	PD_TRY(check_pages(&subject, 0, "before the first request"));
	pd_enable(&event);
	PD_TRY(subject_go_on(&subject, 1));
	PD_CHECK(pd_child_wait_sleep(&subject.child, 2, 60), "the child does not sleep");
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == calls &&
		 pd_log_count(&log, PD_RECORD_DEFERRED) >= calls,
		 "%zu samples and %zu records of %lu calls",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), pd_log_count(&log, PD_RECORD_DEFERRED),
		 calls);
	PD_TRY(check_pages(&subject, 1, "after many requests"));
	PD_TRY(subject_go_on(&subject, 2));
	PD_CHECK(!pd_child_wait(&subject.child, 60), "the child failed");
	return check_frees(&subject, 1);
}

const struct pd_test pd_tests[] = {
	PD_TEST(none_without_a_request),
	PD_TEST(one_page_until_exit),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* The binary interface: the marker and cookie of a sample, and its record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	3
#define DEPTH	4

/* Sample one system call with @attr, which a test may have changed. */
static int sample_once(struct perf_event_attr *attr, struct pd_event *event,
		       struct pd_log *log)
{
	PD_TRY(pd_must_open(event, attr, 0, -1));
	pd_enable(event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(event);
	pd_drain(event, log);
	return pd_log_clean(log);
}

static int marker_and_record(void)
{
	const struct pd_rec *sample, *record;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(sample_once(&attr, &event, &log));

	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == 1, "%zu samples instead of 1",
		 pd_log_count(&log, PERF_RECORD_SAMPLE));
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) == 1, "%zu records instead of 1",
		 pd_log_count(&log, PD_RECORD_DEFERRED));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	record = pd_log_nth(&log, PD_RECORD_DEFERRED, 0);
	PD_CHECK(sample->kernel && sample->nr_kernel, "no kernel half");
	PD_CHECK(sample < record, "the record came first");
	PD_CHECK(record->pid == (__u32)getpid() && record->tid == (__u32)gettid(),
		 "the record is of %u/%u", record->pid, record->tid);
	PD_CHECK(record->time >= sample->time, "the record is older than its sample");
	return pd_check_stitched(&log, sample, NAME, DEPTH);
}

/* A sample in user mode: no kernel half, and the stack begins at the sampled address. */
static int user_mode_sample(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	int seen = 0;

	pd_attr_clock(&attr, 1000);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_spin, (void *)pd_scale(200));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));

	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if ((sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
			continue;
		seen++;
		PD_CHECK(!sample->kernel, "a kernel half on a sample from user mode");
		PD_CHECK(pd_user_half(&log, sample, &stack) == PD_STITCHED,
			 "sample %d has no record", seen);
		PD_CHECK(stack->nr_user && stack->user[0] == sample->ip,
			 "sampled at %llx, innermost frame %llx", sample->ip,
			 stack->nr_user ? stack->user[0] : 0);
	}
	PD_CHECK(seen, "no sample from user mode among %zu",
		 pd_log_count(&log, PERF_RECORD_SAMPLE));
	return PD_PASS;
}

static int exclude_kernel_half(void)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	attr.exclude_callchain_kernel = 1;
	PD_TRY(sample_once(&attr, &event, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(!sample->kernel, "a kernel half despite exclude_callchain_kernel");
	return pd_check_stitched(&log, sample, NAME, DEPTH);
}

static int exclude_user_half(void)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	attr.exclude_callchain_user = 1;
	PD_TRY(sample_once(&attr, &event, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && sample->kernel, "no sample with a kernel half");
	PD_CHECK(!sample->deferred && !sample->inplace,
		 "a user half despite exclude_callchain_user");
	PD_CHECK(!pd_log_count(&log, PD_RECORD_DEFERRED), "an unrequested deferred record");
	return PD_PASS;
}

static int without_the_flag(void)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	PD_TRY(sample_once(&attr, &event, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && sample->inplace, "not unwound in place");
	PD_CHECK(!pd_log_count(&log, PD_RECORD_DEFERRED), "an unrequested deferred record");
	return pd_check_stack(sample, NAME, DEPTH);
}

/* Without attr.defer_output the buffer has deferred samples, but no records. */
static int no_output(void)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	PD_TRY(sample_once(&attr, &event, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(!pd_log_count(&log, PD_RECORD_DEFERRED),
		 "a record in the buffer of an event without defer_output");
	return PD_PASS;
}

/* Request a set of fields, and check that the record's sample_id has them in order. */
static int check_trailer(__u64 fields, int all, const char *kprobe)
{
	const struct pd_rec *sample, *record;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t size;

	PD_TRY(pd_attr_kprobe(&attr, kprobe));
	attr.sample_type = fields | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	attr.sample_id_all = all;
	PD_TRY(sample_once(&attr, &event, &log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	record = pd_log_nth(&log, PD_RECORD_DEFERRED, 0);
	PD_CHECK(sample && record, "sample_type %llx: no record", attr.sample_type);

	size = 8 + 8 + 8 + 8 * record->nr_user;
	if (all)
		size += 8 * __builtin_popcountll(fields);
	PD_CHECK(record->size == size, "sample_type %llx: %u bytes instead of %zu",
		 attr.sample_type, record->size, size);
	PD_CHECK(record->cookie == sample->cookie, "cookie %llx instead of %llx",
		 record->cookie, sample->cookie);
	if (!all)
		goto done;
	PD_CHECK(record->id == sample->id && record->stream_id == sample->stream_id &&
		 record->identifier == sample->identifier,
		 "sample_type %llx: id %llu, stream %llu, identifier %llu instead of %llu, %llu, %llu",
		 attr.sample_type, record->id, record->stream_id, record->identifier,
		 sample->id, sample->stream_id, sample->identifier);
	PD_CHECK(!(fields & PERF_SAMPLE_ID) || record->id == event.id,
		 "id %llu instead of %llu", record->id, event.id);
	PD_CHECK(record->pid == sample->pid && record->tid == sample->tid,
		 "task %u/%u instead of %u/%u", record->pid, record->tid,
		 sample->pid, sample->tid);
	PD_CHECK(record->time >= sample->time && record->cpu == sample->cpu,
		 "sample_type %llx: time %llu, cpu %u behind %llu, %u", attr.sample_type,
		 record->time, record->cpu, sample->time, sample->cpu);
done:
	pd_event_close(&event);
	pd_log_free(&log);
	return 0;
}

static int sample_id_trailer(void)
{
	static const __u64 bits[] = {
		PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
	};
	unsigned int mask, i;
	__u64 fields;

	pd_pin(0, 0);
	for (mask = 0; mask < 64; mask++) {
		fields = 0;
		for (i = 0; i < 6; i++)
			if (mask >> i & 1)
				fields |= bits[i];
		PD_TRY(check_trailer(fields, 1, "__x64_sys_getppid"));
	}
	return check_trailer(PD_SAMPLE_ID, 0, "__x64_sys_getppid");
}

static int compare_u64(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* Every entry context has its own cookie. */
static int cookies_differ(void)
{
	size_t nr = pd_scale(3000), i, got = 0;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	__u64 *cookies;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < nr; i++) {
		pd_call(i % PD_NAMES, i % 5, pd_leaf_getppid, NULL);
		if (i % 64 == 0)
			pd_drain(&event, &log);
	}
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));

	cookies = calloc(nr, sizeof(*cookies));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(got < nr, "more than %zu samples", nr);
		PD_TRY(pd_check_stitched(&log, sample, got % PD_NAMES, got % 5));
		cookies[got++] = sample->cookie;
	}
	PD_CHECK(got == nr, "%zu samples instead of %zu", got, nr);
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) == nr, "%zu records for %zu samples",
		 pd_log_count(&log, PD_RECORD_DEFERRED), nr);
	qsort(cookies, nr, sizeof(*cookies), compare_u64);
	for (i = 1; i < nr; i++)
		PD_CHECK(cookies[i] != cookies[i - 1], "cookie %llx twice", cookies[i]);
	return PD_PASS;
}

/* Records go to the buffer that the event's output was redirected to. */
static int redirected_output(void)
{
	struct perf_event_attr attr, dummy_attr;
	struct pd_event event, dummy;
	struct pd_log log = {};
	int err;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	pd_attr_dummy(&dummy_attr);
	err = pd_event_open(&dummy, &dummy_attr, 0, -1, PD_PAGES);
	PD_CHECK(!err, "dummy: %s", strerror(err));
	err = pd_event_open(&event, &attr, 0, -1, 0);
	PD_CHECK(!err, "kprobe: %s", strerror(err));
	PD_CHECK(!ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, dummy.fd), "SET_OUTPUT failed");
	pd_enable(&dummy);
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&dummy, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) == 1, "%zu records instead of 1",
		 pd_log_count(&log, PD_RECORD_DEFERRED));
	return pd_check_stitched(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), NAME, DEPTH);
}

/* A member of a group takes the samples; its leader has the buffer and the records. */
static int member_of_a_group(void)
{
	struct perf_event_attr attr, leader_attr;
	struct pd_log log = {};
	struct pd_event leader;
	int fd;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	attr.disabled = 0;
	pd_attr_dummy(&leader_attr);
	PD_TRY(pd_must_open(&leader, &leader_attr, 0, -1));
	fd = pd_open(&attr, 0, -1, leader.fd, PERF_FLAG_FD_OUTPUT);
	PD_CHECK(fd >= 0, "perf_event_open of a member: %s", strerror(errno));
	pd_enable(&leader);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&leader);
	pd_drain(&leader, &log);
	close(fd);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PD_RECORD_DEFERRED) == 1, "%zu records instead of 1",
		 pd_log_count(&log, PD_RECORD_DEFERRED));
	return pd_check_stitched(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), NAME, DEPTH);
}

const struct pd_test pd_tests[] = {
	PD_TEST(marker_and_record),
	PD_TEST(user_mode_sample),
	PD_TEST(exclude_kernel_half),
	PD_TEST(exclude_user_half),
	PD_TEST(without_the_flag),
	PD_TEST(no_output),
	PD_TEST(sample_id_trailer),
	PD_TEST(cookies_differ),
	PD_TEST(redirected_output),
	PD_TEST(member_of_a_group),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

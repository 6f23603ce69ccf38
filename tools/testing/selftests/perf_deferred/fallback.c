// SPDX-License-Identifier: GPL-2.0
/* If a callchain has no room for the marker, the stack is unwound in place. */
#include <stdio.h>
#include <string.h>

#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME		6
#define DEPTH		3
#define MAX_CONTEXTS	"/proc/sys/kernel/perf_event_max_contexts_per_stack"

static int set_max_contexts(long limit)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%ld", limit);
	err = pd_write_str(MAX_CONTEXTS, text);
	if (err)
		return pd_skip("%s: %s", MAX_CONTEXTS, strerror(err));
	return 0;
}

/* What the sample must have: a marker; the stack; one of the two or neither. */
enum has {
	MARKER,
	STACK,
	EITHER_OR_NONE,
};

static int check_sample(struct pd_log *log, const struct pd_rec *sample, enum has has)
{
	if (has == EITHER_OR_NONE)
		return pd_check_right_or_none(log, sample, NAME, DEPTH);
	PD_CHECK(has == MARKER ? sample->deferred : sample->inplace, "the sample is %s",
		 sample->inplace ? "unwound in place" : "not unwound in place");
	return pd_check_right(log, sample, NAME, DEPTH);
}

static int call_once(enum has has)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	int ret;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	pd_note("%s", sample->inplace ? "in place" : sample->deferred ? "deferred" : "none");
	ret = check_sample(&log, sample, has);
	pd_log_free(&log);
	return ret;
}

static int with_contexts(long limit, enum has has)
{
	long before = pd_read_long(MAX_CONTEXTS);
	int ret;

	PD_TRY(set_max_contexts(limit));
	ret = call_once(has);
	set_max_contexts(before);
	return ret;
}

static int three_contexts(void)
{
	return with_contexts(3, MARKER);
}

/* A limit of two has room for the context markers of the kernel half and the user half only. */
static int two_contexts(void)
{
	return with_contexts(2, STACK);
}

static int one_context(void)
{
	return with_contexts(1, EITHER_OR_NONE);
}

const struct pd_test pd_tests[] = {
	PD_TEST(three_contexts),
	PD_TEST(two_contexts),
	PD_TEST(one_context),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

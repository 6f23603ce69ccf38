// SPDX-License-Identifier: GPL-2.0
/* A full buffer: LOST counts all records that are not in it. */
#include <string.h>

#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	4
#define DEPTH	10

static int full_buffer(void)
{
	unsigned long calls = pd_scale(2000), i;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t samples, records;
	int err;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	err = pd_event_open(&event, &attr, 0, -1, 2);
	PD_CHECK(!err, "perf_event_open: %s", strerror(err));
	pd_enable(&event);
	for (i = 0; i < calls; i++) {
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
		if (i % 100 == 0)
			pd_drain(&event, &log);
	}
	/* The next record that fits comes with the number of lost records. */
	pd_drain(&event, &log);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	calls++;

	PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
	samples = pd_log_count(&log, PERF_RECORD_SAMPLE);
	records = pd_log_count(&log, PD_RECORD_DEFERRED);
	pd_note("%lu calls: %zu samples, %zu records, %llu lost", calls, samples, records,
		log.lost);
	PD_CHECK(samples && records && samples < calls, "the buffer was never full");
	PD_CHECK(log.lost == log.dropped, "%llu lost by the records, %llu by the event", log.lost,
		 log.dropped);
	PD_CHECK(samples + records + log.lost == 2 * calls,
		 "%zu samples, %zu records and %llu lost of %lu calls", samples, records,
		 log.lost, calls);
	return PD_PASS;
}

/* The records in the buffer are right. */
static int the_rest_is_right(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	unsigned long i;
	int err;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	err = pd_event_open(&event, &attr, 0, -1, 1);
	PD_CHECK(!err, "perf_event_open: %s", strerror(err));
	pd_enable(&event);
	for (i = 0; i < pd_scale(1000); i++) {
		pd_call(i % PD_NAMES, DEPTH, pd_leaf_getppid, (void *)i);
		if (i % 37 == 0)
			pd_drain(&event, &log);
	}
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		int name;

		if (pd_user_half(&log, sample, &stack) != PD_STITCHED)
			continue;
		name = stack->nr_user > 1 ? pd_frame_name(stack->user[1]) : -1;
		PD_CHECK(name >= 0, "a stack without a name");
		PD_TRY(pd_check_stack(stack, name, DEPTH));
	}
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(full_buffer),
	PD_TEST(the_rest_is_right),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

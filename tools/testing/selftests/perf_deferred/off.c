// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel without the options of the series: it refuses the new flags, and unwinds every stack
 * in place.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pd_log.h"
#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	6
#define DEPTH	3

/* Look at the kernel's symbols, and not at the flags, because the tests check the flags. */
const char *pd_unmet(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	const char *unmet = NULL;
	char line[512];

	if (!file)
		return "no /proc/kallsyms to identify the kernel";
	while (!unmet && fgets(line, sizeof(line), file))
		if (strstr(line, " perf_callchain_deferred\n"))
			unmet = "this kernel defers user callchains";
	fclose(file);
	return unmet;
}

static void set_flags(struct perf_event_attr *attr, int mask)
{
	pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, mask & 1);
	pd_attr_flag(attr, PD_FLAG_DEFER_OUTPUT, mask & 2);
}

static int refuses_flags(const char *what, struct perf_event_attr *attr)
{
	int err, mask;

	for (mask = 0; mask < 4; mask++) {
		set_flags(attr, mask);
		err = pd_try_open(attr);
		PD_CHECK(err == (mask ? EINVAL : 0), "%s, defer_callchain=%d defer_output=%d: %s",
			 what, mask & 1, mask >> 1, strerror(err));
	}
	return PD_PASS;
}

static int flags_of_a_clock(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 100);
	return refuses_flags("clock", &attr);
}

static int flags_of_a_dummy(void)
{
	struct perf_event_attr attr;

	pd_attr_dummy(&attr);
	return refuses_flags("dummy", &attr);
}

static int flags_of_a_tracepoint(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_tracepoint(&attr, "raw_syscalls", "sys_enter"));
	return refuses_flags("tracepoint", &attr);
}

/* The new flags must be refused like any unknown bit, with EINVAL. */
static int unknown_bits_rejected(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 100);
	set_flags(&attr, 0);
	return pd_check_unknown_bits(&attr, PD_FLAG_DEFER_CALLCHAIN);
}

static int oldest_attr_size(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 100);
	set_flags(&attr, 0);
	return pd_check_oldest_size(&attr);
}

static int in_place(void)
{
	const struct pd_rec *sample;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	int ret;

	PD_TRY(pd_attr_tracepoint(&attr, "raw_syscalls", "sys_enter"));
	set_flags(&attr, 0);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && sample->inplace, "no sample with its stack in place");
	ret = pd_check_right(&log, sample, NAME, DEPTH);
	pd_log_free(&log);
	return ret;
}

const struct pd_test pd_tests[] = {
	PD_TEST(flags_of_a_clock),
	PD_TEST(flags_of_a_dummy),
	PD_TEST(flags_of_a_tracepoint),
	PD_TEST(unknown_bits_rejected),
	PD_TEST(oldest_attr_size),
	PD_TEST(in_place),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* The two flags of perf_event_open(): which bits they are, and which events may set them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pd_ring.h"
#include "pd_test.h"

/* The two flags follow sigtrap, the last flag of the base kernel. */
static int bits_in_place(void)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.sigtrap = 1;
	PD_CHECK(*pd_attr_flags(&attr) == 1ULL << (PD_FLAG_DEFER_CALLCHAIN - 1),
		 "sigtrap is flag %#llx", *pd_attr_flags(&attr));
	return PD_PASS;
}

static int each_flag_alone(void)
{
	struct perf_event_attr attr;
	int err, mask;

	for (mask = 0; mask < 4; mask++) {
		pd_attr_clock(&attr, 100);
		pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, mask & 1);
		pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, mask & 2);
		err = pd_try_open(&attr);
		PD_CHECK(!err, "defer_callchain=%d defer_output=%d: %s", mask & 1,
			 mask >> 1, strerror(err));
	}
	return PD_PASS;
}

static int unknown_bits_rejected(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 100);
	return pd_check_unknown_bits(&attr, PD_FLAG_DEFER_OUTPUT + 1);
}

static int oldest_attr_size(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 100);
	return pd_check_oldest_size(&attr);
}

static int dummy_carries_records(void)
{
	struct perf_event_attr attr;
	int err;

	pd_attr_dummy(&attr);
	attr.sample_type = PD_SAMPLE_ID;
	err = pd_try_open(&attr);
	PD_CHECK(!err, "a dummy with defer_output: %s", strerror(err));
	return PD_PASS;
}

/* A task can have 64 deferring events: they share one client of the unwinder. */
static int many_events(void)
{
	struct perf_event_attr attr;
	int fds[64], nr, err = 0, i;

	pd_attr_clock(&attr, 100);
	for (nr = 0; nr < 64 && !err; nr++) {
		fds[nr] = pd_open(&attr, 0, -1, -1, 0);
		if (fds[nr] < 0) {
			err = errno;
			break;
		}
	}
	for (i = 0; i < nr; i++)
		close(fds[i]);
	PD_CHECK(nr == 64, "only %d events: %s", nr, strerror(err));
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(bits_in_place),
	PD_TEST(each_flag_alone),
	PD_TEST(unknown_bits_rejected),
	PD_TEST(oldest_attr_size),
	PD_TEST(dummy_carries_records),
	PD_TEST(many_events),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

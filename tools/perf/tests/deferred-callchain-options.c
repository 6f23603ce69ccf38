// SPDX-License-Identifier: GPL-2.0
/*
 * Test the options that defer user callchains, and the flags of the events.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "callchain.h"
#include "cgroup.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "evlist.h"
#include "evsel.h"
#include "parse-events.h"
#include "record.h"
#include "tests.h"

struct option_case {
	const char *option;
	int ret;
	enum perf_call_graph_mode mode;
	bool defer;
	u16 max_stack;
};

static const struct option_case option_cases[] = {
	{ "fp", 0, CALLCHAIN_FP, false, 0 },
	{ "fp,defer", 0, CALLCHAIN_FP, true, 0 },
	{ "defer", 0, CALLCHAIN_FP, true, 0 },
	{ "defer,fp", 0, CALLCHAIN_FP, true, 0 },
	{ "fp,16,defer", 0, CALLCHAIN_FP, true, 16 },
	{ "fp,defer,16", 0, CALLCHAIN_FP, true, 16 },
	{ "lbr", 0, CALLCHAIN_LBR, false, 0 },
	{ "dwarf,4096", 0, CALLCHAIN_DWARF, false, 0 },
	{ .option = "lbr,defer", .ret = -1 },
	{ .option = "dwarf,defer", .ret = -1 },
	{ .option = "dwarf,4096,defer", .ret = -1 },
	{ .option = "defer,dwarf", .ret = -1 },
	{ .option = "deferred", .ret = -1 },
	{ .option = "defe", .ret = -1 },
	{ .option = "fp,deferred", .ret = -1 },
	{ .option = "fp, defer", .ret = -1 },
	{ .option = "fp,defer,extra", .ret = -1 },
	{ .option = "fp,defer,16,17", .ret = -1 },
	{ .option = "", .ret = -1 },
};

static bool run_option_case(const struct option_case *c)
{
	struct callchain_param param = { .defer = !c->defer };
	int ret = parse_callchain_record(c->option, &param);

	if (!!ret == !!c->ret && (ret || (param.record_mode == c->mode &&
					  param.defer == c->defer &&
					  param.max_stack == c->max_stack)))
		return true;

	pr_debug("FAILED '%s': %d, mode %d, defer %d, max_stack %u\n", c->option, ret,
		 param.record_mode, param.defer, param.max_stack);
	return false;
}

static int test__deferred_options(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	int save_verbose = verbose;
	bool save_dwarf_users = dwarf_callchain_users;
	int ret = TEST_OK;

	if (verbose <= 0)
		verbose = -1;
	for (size_t i = 0; i < ARRAY_SIZE(option_cases); i++) {
		if (!run_option_case(&option_cases[i]))
			ret = TEST_FAIL;
	}
	verbose = save_verbose;
	dwarf_callchain_users = save_dwarf_users;
	return ret;
}

/* If the kernel does not know the flags, they must be clear: it rejects unknown flags. */
static int check_attrs(struct evlist *evlist, bool can_defer)
{
	struct evsel *evsel, *tracking = evlist__get_tracking_event(evlist);

	evlist__for_each_entry(evlist, evsel) {
		bool wants = strcmp(evsel->name, "user") && strcmp(evsel->name, "never");

		TEST_ASSERT_VAL("defer_callchain",
				evsel->core.attr.defer_callchain == (wants && can_defer));
		TEST_ASSERT_VAL("defer_output",
				evsel->core.attr.defer_output == (evsel == tracking && can_defer));
	}
	return TEST_OK;
}

static const char * const attr_events[] = {
	"cpu-clock/name=global/",
	"cpu-clock/name=own,call-graph=defer/",
	"cpu-clock/name=shallow,max-stack=16/",
	"cpu-clock/name=user,call-graph=fp/",
	"cpu-clock/name=never,call-graph=no/",
};

static int parse_attr_events(struct evlist *evlist)
{
	for (size_t i = 0; i < ARRAY_SIZE(attr_events); i++) {
		if (parse_event(evlist, attr_events[i]))
			return -EINVAL;
	}
	return 0;
}

/* Records go to the first event, and to events of CPUs or tasks that the first does not cover. */
static int check_outputs(struct evlist *evlist, const bool *outputs)
{
	bool can_defer = evlist__first(evlist)->core.attr.defer_callchain;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		bool expected = outputs[evsel->core.idx] && can_defer;

		TEST_ASSERT_VAL("defer_output", evsel->core.attr.defer_output == expected);
		TEST_ASSERT_VAL("the time of records", !expected ||
				evsel->core.attr.sample_type & PERF_SAMPLE_TIME);
	}
	return TEST_OK;
}

static void set_cpus(struct evsel *evsel, const char *cpus)
{
	perf_cpu_map__put(evsel->core.cpus);
	evsel->core.cpus = perf_cpu_map__new(cpus);
}

/* An event of one CPU or one cgroup does not cover other CPUs or other tasks. */
static int check_narrow_outputs(struct record_opts *opts)
{
	static const bool by_cpu[] = { true, false, true, true };
	static const bool by_cgroup[] = { true, false, true };
	struct evlist *cpus = evlist__new(), *cgroups = evlist__new();
	struct cgroup group = {};
	struct evsel *evsel;
	int ret = TEST_FAIL;

	if (!cpus || !cgroups ||
	    parse_event(cpus, "cpu-clock,cpu-clock,cpu-clock,cpu-clock/time=1/") ||
	    parse_event(cgroups, "cpu-clock,cpu-clock/time=1/,cpu-clock"))
		goto out;

	evlist__for_each_entry(cpus, evsel)
		set_cpus(evsel, evsel->core.idx < 2 ? "0" : evsel->core.idx == 2 ? "0-1" : "1");
	evlist__config(cpus, opts, &callchain_param);
	ret = check_outputs(cpus, by_cpu);
	evlist__for_each_entry(cgroups, evsel)
		evsel->cgrp = evsel->core.idx < 2 ? &group : NULL;
	evlist__config(cgroups, opts, &callchain_param);
	ret = ret ?: check_outputs(cgroups, by_cgroup);
	evlist__for_each_entry(cgroups, evsel)
		evsel->cgrp = NULL;
out:
	evlist__delete(cgroups);
	evlist__delete(cpus);
	return ret;
}

static int test__deferred_attrs(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct callchain_param save = callchain_param;
	struct record_opts opts = { .freq = 100, .mmap_pages = UINT_MAX, .user_freq = UINT_MAX,
				    .user_interval = ULLONG_MAX, .default_interval = 1 };
	struct evlist *evlist = evlist__new();
	int ret = TEST_FAIL;

	if (!evlist || parse_attr_events(evlist))
		goto out;

	callchain_param.enabled = true;
	if (parse_callchain_record("fp,defer", &callchain_param))
		goto out;
	evlist__config(evlist, &opts, &callchain_param);
	ret = check_attrs(evlist, evlist__first(evlist)->core.attr.defer_callchain) ?:
	      check_narrow_outputs(&opts);
out:
	callchain_param = save;
	evlist__delete(evlist);
	return ret;
}

static struct test_case tests__deferred_callchain_options[] = {
	TEST_CASE("Deferred callchain options", deferred_options),
	TEST_CASE("Deferred callchain attributes", deferred_attrs),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain_options = {
	.desc = "Options of deferred user callchains",
	.test_cases = tests__deferred_callchain_options,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * Request deferred user callchains from the kernel: parse the option, set the
 * flags of the events, and fall back to callchains in place if the kernel does
 * not know the flags.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <perf/cpumap.h>
#include <perf/threadmap.h>

#include "../perf-sys.h"
#include "callchain.h"
#include "cloexec.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "evlist.h"
#include "evsel.h"

#define DEFER_OPTION	"defer"
#define DEFAULT_MODE	"fp"

/* The end of the list element that starts at @elem. */
static char *element_end(char *elem)
{
	return elem + strcspn(elem, ",");
}

/**
 * deferred_callchain__take_option - remove "defer" from a list of options
 * @options: elements separated by commas, changed in place; may be NULL
 *
 * "defer" alone means "fp,defer", so @options becomes "fp".
 *
 * Return: true if "defer" was an element of @options.
 */
bool deferred_callchain__take_option(char *options)
{
	char *elem = options;
	char *end;

	while (elem) {
		end = element_end(elem);
		if ((size_t)(end - elem) == strlen(DEFER_OPTION) &&
		    !strncmp(elem, DEFER_OPTION, strlen(DEFER_OPTION)))
			break;
		elem = *end ? end + 1 : NULL;
	}
	if (!elem)
		return false;

	if (*end)
		memmove(elem, end + 1, strlen(end));
	else if (elem == options)
		memcpy(elem, DEFAULT_MODE, sizeof(DEFAULT_MODE));
	else
		elem[-1] = '\0';
	return true;
}

/**
 * deferred_callchain__check_mode - can this kind of callchain be deferred?
 * @param: the requested kind of callchain
 *
 * Return: 0, or -1 with a message if it cannot be deferred.
 */
int deferred_callchain__check_mode(const struct callchain_param *param)
{
	if (!param->defer || param->record_mode == CALLCHAIN_FP)
		return 0;

	pr_err("callchain: Only 'fp' can be deferred, not 'dwarf' or 'lbr'\n");
	return -1;
}

static int open_dummy(bool defer)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.defer_callchain = defer,
		.defer_output = defer,
	};
	int fd = sys_perf_event_open(&attr, 0, -1, -1, perf_event_open_cloexec_flag());

	if (fd < 0)
		return -errno;

	close(fd);
	return 0;
}

/* If an event without deferral fails, too, return true: opening the real events reports why. */
static bool kernel_can_defer(void)
{
	return !open_dummy(true) || open_dummy(false);
}

static bool evsel__wants_deferral(struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	return attr->defer_callchain && (attr->sample_type & PERF_SAMPLE_CALLCHAIN) &&
	       !attr->exclude_callchain_user && !evsel__is_dummy_event(evsel);
}

static bool evlist__wants_deferral(struct evlist *evlist)
{
	struct evsel *evsel;
	bool any = false;

	evlist__for_each_entry(evlist, evsel) {
		evsel->core.attr.defer_callchain = evsel__wants_deferral(evsel);
		any |= evsel->core.attr.defer_callchain;
	}
	return any;
}

/**
 * evlist__drop_deferred_callchains - fall back to callchains in place
 * @evlist: events that may have the flags of deferred callchains
 * @who: who cannot defer, for the warning
 */
void evlist__drop_deferred_callchains(struct evlist *evlist, const char *who)
{
	struct evsel *evsel;
	bool any = false;

	evlist__for_each_entry(evlist, evsel) {
		any |= evsel->core.attr.defer_callchain;
		evsel->core.attr.defer_callchain = 0;
		evsel->core.attr.defer_output = 0;
	}
	if (any)
		pr_warning("WARNING: %s cannot defer user callchains, they are taken in place.\n",
			   who);
}

/* If other events have a time, records need one, too: they are sorted among these events. */
static void set_time(struct evlist *evlist)
{
	struct evsel *evsel;
	u64 types = 0;

	evlist__for_each_entry(evlist, evsel)
		types |= evsel->core.attr.sample_type;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.defer_output && (types & PERF_SAMPLE_TIME))
			evsel__set_sample_bit(evsel, TIME);
	}
}

static bool is_of_tasks(const struct evlist *evlist)
{
	struct perf_thread_map *threads = evlist->core.threads;

	return threads && perf_thread_map__pid(threads, 0) != -1;
}

/* Do the buffers of @tracking get the records of all tasks that @evsel samples? */
static bool evsel__covers(struct evsel *tracking, struct evsel *evsel)
{
	if (tracking->cgrp && tracking->cgrp != evsel->cgrp)
		return false;
	/* @tracking does not follow new tasks, but @evsel may get samples of them */
	if (evsel->core.system_wide && !tracking->core.system_wide &&
	    !tracking->core.attr.inherit && is_of_tasks(evsel->evlist))
		return false;
	return tracking->core.system_wide ||
	       perf_cpu_map__is_subset(tracking->core.cpus, evsel->core.cpus);
}

/**
 * evlist__config_deferred_callchains - set the flags of deferred callchains
 * @evlist: events whose other attributes are set up
 *
 * If the kernel cannot defer, the flags are cleared, with a warning.  Records
 * go to the tracking event, like other side-band records, and also to the
 * buffers of events that the tracking event does not cover.  The reader ignores
 * duplicates.
 */
void evlist__config_deferred_callchains(struct evlist *evlist)
{
	struct evsel *evsel, *tracking;

	if (!evlist__wants_deferral(evlist))
		return;

	if (!kernel_can_defer()) {
		evlist__drop_deferred_callchains(evlist, "the kernel");
		return;
	}

	tracking = evlist__get_tracking_event(evlist);
	tracking->core.attr.defer_output = 1;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.defer_callchain && !evsel__covers(tracking, evsel))
			evsel->core.attr.defer_output = 1;
	}
	set_time(evlist);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The event offcpu-time.  For the kernel it is BPF output, on every CPU; for whoever
 * reads the file it has ordinary samples, which perf record makes of that.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <bpf/bpf.h>
#include <perf/cpumap.h>
#include <internal/evlist.h>
#include <internal/xyarray.h>
#include <subcmd/parse-options.h>

#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "off-cpu-direct.h"
#include "off_cpu.h"

#define DEFAULT_THRESHOLD_MS	500
#define MAX_THRESHOLD_MS	(24ULL * 3600 * MSEC_PER_SEC)

#define FILE_SAMPLE_TYPES	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
				 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
				 PERF_SAMPLE_CALLCHAIN)

static u64 threshold_ms = DEFAULT_THRESHOLD_MS;

/* Was the user half left out on request? */
static bool no_user_half;

/* The event's attributes for readers, while it has those for the kernel. */
static struct perf_event_attr file_attr;

/**
 * off_cpu_threshold - how long a wait is that gets a sample of its own
 *
 * Return: nanoseconds
 */
u64 off_cpu_threshold(void)
{
	return threshold_ms * NSEC_PER_MSEC;
}

/**
 * off_cpu_parse_threshold - take the argument of --off-cpu-thresh
 * @opt: its value is that of --off-cpu, which it implies
 * @str: milliseconds
 * @unset: the option was negated: back to the default
 *
 * Return: 0, or -1 with a message.
 */
int off_cpu_parse_threshold(const struct option *opt, const char *str, int unset)
{
	unsigned long long ms;
	char *end;

	if (unset) {
		threshold_ms = DEFAULT_THRESHOLD_MS;
		return 0;
	}
	errno = 0;
	ms = strtoull(str, &end, 10);
	if (!isdigit(*str) || *end || errno || ms > MAX_THRESHOLD_MS) {
		pr_err("--off-cpu-thresh: '%s' is not a number of milliseconds from 0 to %llu\n",
		       str, MAX_THRESHOLD_MS);
		return -1;
	}
	threshold_ms = ms;
	*(bool *)opt->value = true;
	return 0;
}

/**
 * off_cpu_event__add - add the event
 * @evlist: where to
 * @kernel_callchains: callchains are to have no user half
 *
 * A wait may end on any CPU, whichever are recorded otherwise.
 *
 * Return: 0 or -ENOMEM.
 */
int off_cpu_event__add(struct evlist *evlist, bool kernel_callchains)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_BPF_OUTPUT,
		.size		= sizeof(attr),
		.sample_type	= FILE_SAMPLE_TYPES,
		.sample_period	= 1,
	};
	char *name = strdup(OFFCPU_EVENT);
	struct evsel *evsel = name ? evsel__new(&attr) : NULL;

	if (!evsel) {
		free(name);
		return -ENOMEM;
	}
	free(evsel->name);
	evsel->name = name;
	evsel->immediate = true;
	no_user_half = kernel_callchains;
	evlist__add(evlist, evsel);
	perf_evlist__go_system_wide(&evlist->core, &evsel->core);
	return 0;
}

/**
 * off_cpu_give_up - go on without the event, if that makes sense
 * @evlist: does not have it
 *
 * Return: false if there is nothing else to record.
 */
bool off_cpu_give_up(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_dummy_event(evsel)) {
			pr_warning("WARNING: there will be no samples of %s.\n", OFFCPU_EVENT);
			return true;
		}
	}
	return false;
}

/*
 * What evsel__config() makes of the command line, but for what is our own choice.  The user
 * half is not taken from the copy of a stack (dwarf) or from branches (lbr): the BPF program
 * takes it by frame pointers.
 */
static void set_attr(struct perf_event_attr *attr)
{
	attr->sample_type &= PERF_SAMPLE_CGROUP;
	attr->sample_type |= FILE_SAMPLE_TYPES;
	attr->freq = 0;
	attr->sample_period = 1;
	attr->inherit = 0;
	attr->inherit_stat = 0;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = 0;
	attr->sample_regs_intr = 0;
	attr->sample_stack_user = 0;
	attr->exclude_callchain_user = no_user_half;
}

static void warn_in_place(struct evsel *evsel)
{
	if (evsel->core.attr.defer_callchain)
		pr_warning("WARNING: the kernel cannot defer the user callchains of %s, they are taken in place.\n",
			   OFFCPU_EVENT);
	evsel->core.attr.defer_callchain = 0;
}

/**
 * off_cpu_event__before_open - give the event the attributes for the kernel
 * @evlist: has the event, set up as the others
 * @can_defer: the BPF program can get cookies
 */
void off_cpu_event__before_open(struct evlist *evlist, bool can_defer)
{
	struct evsel *evsel = evlist__find_evsel_by_str(evlist, OFFCPU_EVENT);

	if (!can_defer)
		warn_in_place(evsel);
	set_attr(&evsel->core.attr);
	file_attr = evsel->core.attr;
	evsel->core.attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
}

/**
 * off_cpu_event__after_open - let the BPF program write to the event
 * @evlist: has the event, opened
 * @output_fd: the program's map of outputs
 *
 * Return: the event
 */
struct evsel *off_cpu_event__after_open(struct evlist *evlist, int output_fd)
{
	struct evsel *evsel = evlist__find_evsel_by_str(evlist, OFFCPU_EVENT);
	struct perf_cpu cpu;
	int idx;

	evsel->core.attr = file_attr;
	evsel->sample_size = __evsel__sample_size(file_attr.sample_type);
	evsel__calc_id_pos(evsel);

	perf_cpu_map__for_each_cpu(cpu, idx, evsel->core.cpus) {
		int *fd = xyarray__entry(evsel->core.fd, idx, 0);

		if (bpf_map_update_elem(output_fd, &cpu.cpu, fd, BPF_ANY))
			pr_warning("WARNING: there will be no samples of %s from CPU %d: %m.\n",
				   OFFCPU_EVENT, cpu.cpu);
	}
	return evsel;
}

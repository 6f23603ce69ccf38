// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of offcpu-time as perf of Linux 6.16 and later records them: the event is BPF
 * output, and the raw data of a sample describes the waiting task.  The other fields of
 * the sample describe the task that ran on the CPU before the waiting task.
 *
 * The raw data is u64 words in the byte order of the file:
 *
 *	process and thread, 32 bits each
 *	nanoseconds off the CPU
 *	number of callchain entries, and the entries, PERF_CONTEXT_USER first
 *	cgroup
 */
#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "off-cpu-raw.h"
#include "off_cpu.h"
#include "sample.h"
#include "thread.h"

/* Words of a payload besides the callchain entries. */
#define FIXED_WORDS	4
/* Upper limit for the words of an event. */
#define MAX_WORDS	(PERF_SAMPLE_MAX_SIZE / sizeof(u64))
/* Samples from this time on are sums, which perf record writes when it ends. */
#define SUMS_TIME	(~0ULL << 32)

/*
 * Which half of the first word is the process?  The BPF program puts the process into the
 * upper half.  perf record writes the sums itself, and puts the process into the lower half.
 */
enum pid_order {
	PID_UPPER,
	PID_LOWER,
};

/**
 * struct off_cpu_raw - state of a session for decoding off-CPU samples with raw data
 * @waits: which half of the first word is the process in samples of waits; the usual half,
 *	   unless a known thread proves that it is the other half
 * @sums: which half of the first word is the process in samples of sums, found in the same way
 * @malformed: number of skipped samples
 * @chain: callchain of the current sample, aligned and in this machine's byte order
 */
struct off_cpu_raw {
	enum pid_order waits;
	enum pid_order sums;
	u64 malformed;
	struct ip_callchain chain;
};

/* A decoded payload; its callchain is in &off_cpu_raw.chain. */
struct payload {
	u32 upper, lower;
	u64 period;
	u64 cgroup;
};

static bool evsel__is_off_cpu_raw(struct evsel *evsel)
{
	return evsel__is_bpf_output(evsel) && evsel->core.attr.sample_type & PERF_SAMPLE_RAW &&
	       evsel__name_is(evsel, OFFCPU_EVENT);
}

/**
 * evlist__mark_off_cpu_raw - make commands expect callchains
 * @evlist: the events of a file, with their names
 *
 * Callchains in the raw data are not visible in the attr.
 */
void evlist__mark_off_cpu_raw(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_off_cpu_raw(evsel))
			evsel->synth_sample_type |= PERF_SAMPLE_CALLCHAIN;
	}
}

static struct off_cpu_raw *off_cpu_raw__new(void)
{
	struct off_cpu_raw *oc = zalloc(sizeof(*oc) + MAX_WORDS * sizeof(u64));

	if (oc) {
		oc->waits = PID_UPPER;
		oc->sums = PID_LOWER;
	}
	return oc;
}

/* Raw data is not aligned, and parsing leaves it in the byte order of the file. */
static u64 payload_word(const struct evsel *evsel, const struct perf_sample *sample, size_t i)
{
	u64 word;

	memcpy(&word, sample->raw_data + i * sizeof(word), sizeof(word));
	return evsel->needs_swap ? bswap_64(word) : word;
}

static bool read_chain(struct ip_callchain *chain, const struct evsel *evsel,
		       const struct perf_sample *sample, size_t first)
{
	for (size_t i = 0; i < chain->nr; i++) {
		chain->ips[i] = payload_word(evsel, sample, first + i);
		if (i ? chain->ips[i] >= PERF_CONTEXT_MAX : chain->ips[i] != PERF_CONTEXT_USER)
			return false;
	}
	return true;
}

static bool read_payload(struct off_cpu_raw *oc, const struct evsel *evsel,
			 const struct perf_sample *sample, struct payload *payload)
{
	size_t words = sample->raw_size / sizeof(u64);
	u64 task;

	if (words < FIXED_WORDS)
		return false;
	oc->chain.nr = payload_word(evsel, sample, 2);
	if (oc->chain.nr > words - FIXED_WORDS || !read_chain(&oc->chain, evsel, sample, 3))
		return false;

	task = payload_word(evsel, sample, 0);
	payload->upper = task >> 32;
	payload->lower = task;
	payload->period = payload_word(evsel, sample, 1);
	payload->cgroup = payload_word(evsel, sample, 3 + oc->chain.nr);
	return true;
}

static bool machine__knows(struct machine *machine, pid_t pid, pid_t tid)
{
	struct thread *thread = machine__find_thread(machine, -1, tid);
	bool known;

	if (!thread)
		return false;
	/* require a comm: a thread without it may come from a sample with pid and tid exchanged */
	known = thread__pid(thread) == pid && thread__comm_set(thread);
	thread__put(thread);
	return known;
}

/* If only one order gives a known thread, use it for this and all later samples. */
static enum pid_order resolve_order(enum pid_order *order, const struct payload *payload,
				    struct machine *machine)
{
	bool upper, lower;

	if (payload->upper == payload->lower)
		return *order;

	upper = machine__knows(machine, payload->upper, payload->lower);
	lower = machine__knows(machine, payload->lower, payload->upper);
	if (upper != lower)
		*order = upper ? PID_UPPER : PID_LOWER;
	return *order;
}

static void put_payload(struct off_cpu_raw *oc, const struct payload *payload,
			struct perf_sample *sample, struct machine *machine)
{
	enum pid_order *order = sample->time >= SUMS_TIME ? &oc->sums : &oc->waits;
	bool upper = resolve_order(order, payload, machine) == PID_UPPER;

	sample->pid = upper ? payload->upper : payload->lower;
	sample->tid = upper ? payload->lower : payload->upper;
	sample->period = payload->period;
	sample->cgroup = payload->cgroup;
	sample->callchain = &oc->chain;
	sample->ip = oc->chain.nr > 1 ? oc->chain.ips[1] : 0;
	sample->cpumode = PERF_RECORD_MISC_USER;
	/* Hide the raw data, so that it is not printed or converted a second time. */
	sample->raw_data = NULL;
	sample->raw_size = 0;
}

/**
 * off_cpu_raw__decode - fill in the fields of an off-CPU sample from its raw data
 * @where: where the session keeps its state; the pointer in it is NULL at first
 * @evsel: event of the sample
 * @sample: any parsed sample; only those of BPF output named offcpu-time are changed
 * @machine: machine of the sample
 *
 * The callchain is valid until the next call.
 *
 * Return: 0, a positive number if the sample must be skipped, or a negative error.
 */
int off_cpu_raw__decode(struct off_cpu_raw **where, struct evsel *evsel,
			struct perf_sample *sample, struct machine *machine)
{
	struct payload payload;

	if (!evsel__is_off_cpu_raw(evsel))
		return 0;

	if (!*where)
		*where = off_cpu_raw__new();
	if (!*where)
		return -ENOMEM;

	/* in a pipe, the name comes after the attr, so this flag may not have been set yet */
	evsel->synth_sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!read_payload(*where, evsel, sample, &payload)) {
		(*where)->malformed++;
		if (dump_trace)
			printf(": off-CPU sample with invalid raw data, skipped\n");
		return 1;
	}
	put_payload(*where, &payload, sample, machine);
	return 0;
}

/**
 * off_cpu_raw__warn - warn about skipped samples
 * @oc: state of the session, may be NULL
 */
void off_cpu_raw__warn(const struct off_cpu_raw *oc)
{
	if (oc && oc->malformed)
		ui__warning("Skipped %llu samples of %s: invalid raw data.\n",
			    (unsigned long long)oc->malformed, OFFCPU_EVENT);
}

/**
 * off_cpu_raw__delete - free the state of a session
 * @oc: may be NULL
 */
void off_cpu_raw__delete(struct off_cpu_raw *oc)
{
	free(oc);
}

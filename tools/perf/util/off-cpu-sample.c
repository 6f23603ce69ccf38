// SPDX-License-Identifier: GPL-2.0
/*
 * Ordinary samples of offcpu-time from what the BPF program sends.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <perf/event.h>

#include "event.h"
#include "off-cpu-direct.h"
#include "sample.h"
#include "synthetic-events.h"

/* The kernel's context, the user's or the marker, and the cookie. */
#define MAX_CHAIN	(OFF_CPU_KERNEL_ROOM + OFF_CPU_MAX_STACKS + 3)

struct chain {
	u64 nr;
	u64 ips[MAX_CHAIN];
};

static size_t nr_ips(const struct off_cpu_payload *payload)
{
	if (payload->kind == OFF_CPU_SUMS)
		return 0;
	return payload->nr_user + payload->nr_kernel;
}

static bool payload_makes_sense(const struct off_cpu_payload *payload, size_t size)
{
	if (payload->kind != OFF_CPU_WAIT && payload->kind != OFF_CPU_SUMS)
		return false;
	if (payload->nr_kernel >= OFF_CPU_KERNEL_ROOM ||
	    payload->nr_user > OFF_CPU_MAX_STACKS)
		return false;
	/* what sums have of these is in the map */
	if (payload->kind == OFF_CPU_SUMS &&
	    (payload->nr_kernel || payload->nr_user || payload->cookie))
		return false;
	/* the kernel fills up to where the next record is aligned */
	return size == sizeof(*payload) + nr_ips(payload) * sizeof(u64) + sizeof(u32);
}

/**
 * off_cpu_record__payload - take the payload out of a record of BPF output
 * @event: the record, whole as by its header
 * @to: where to put it: in the record it is not aligned
 *
 * Return: false if what is there cannot be what the BPF program sent.
 */
bool off_cpu_record__payload(const union perf_event *event, struct off_cpu_payload_room *to)
{
	const struct off_cpu_record *record = (const void *)event;
	size_t size = event->header.size;
	u32 raw_size;

	if (size < sizeof(*record) + sizeof(to->head) || size % sizeof(u64))
		return false;
	raw_size = record->raw_size;
	if (raw_size != size - sizeof(*record) || raw_size > sizeof(*to) + sizeof(u32))
		return false;

	memcpy(&to->head, record->raw, sizeof(to->head));
	if (!payload_makes_sense(&to->head, raw_size))
		return false;
	memcpy(to->ips, record->raw + sizeof(to->head), nr_ips(&to->head) * sizeof(u64));
	return true;
}

static void add(struct chain *chain, u64 ip)
{
	chain->ips[chain->nr++] = ip;
}

static void add_all(struct chain *chain, const u64 *ips, size_t nr)
{
	memcpy(chain->ips + chain->nr, ips, nr * sizeof(*ips));
	chain->nr += nr;
}

static void make_chain(struct chain *chain, const struct perf_event_attr *attr,
		       const struct off_cpu_payload *payload, const u64 *user,
		       const u64 *kernel)
{
	chain->nr = 0;
	if (payload->nr_kernel && !attr->exclude_callchain_kernel) {
		add(chain, PERF_CONTEXT_KERNEL);
		add_all(chain, kernel, payload->nr_kernel);
	}
	if (attr->exclude_callchain_user)
		return;
	if (payload->cookie) {
		add(chain, PERF_CONTEXT_USER_DEFERRED);
		add(chain, payload->cookie);
	} else if (payload->nr_user) {
		add(chain, PERF_CONTEXT_USER);
		add_all(chain, user, payload->nr_user);
	}
}

/**
 * off_cpu__synthesize - make a sample of offcpu-time
 * @to: the sample; has OFF_CPU_SAMPLE_ROOM bytes
 * @attr: the event's attributes, as readers see them
 * @record: the record that brought the payload, for the time, the CPU and the id
 * @room: the wait, or the sum of many with its stack
 *
 * The sample of a wait is the kernel's, where the task left the CPU.  That of a
 * sum, which has no kernel stack, is the user's: so the two can be told apart.
 *
 * Return: its size
 */
size_t off_cpu__synthesize(union perf_event *to, const struct perf_event_attr *attr,
			   const struct off_cpu_record *record,
			   const struct off_cpu_payload_room *room)
{
	const struct off_cpu_payload *payload = &room->head;
	const u64 *user = room->ips, *kernel = room->ips + payload->nr_user;
	bool is_wait = payload->kind == OFF_CPU_WAIT;
	struct perf_sample sample = {
		.id = record->id,
		.pid = payload->pid,
		.tid = payload->key.tid,
		.time = record->time,
		.cpu = payload->cpu == OFF_CPU_HERE ? record->cpu : payload->cpu,
		.period = payload->period,
		.cgroup = payload->cgroup_id,
	};
	struct chain chain;

	if (is_wait && payload->nr_kernel)
		sample.ip = kernel[0];
	else if (!is_wait && payload->nr_user)
		sample.ip = user[0];
	make_chain(&chain, attr, payload, user, kernel);
	sample.callchain = (struct ip_callchain *)&chain;

	to->header.type = PERF_RECORD_SAMPLE;
	to->header.misc = is_wait ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	to->header.size = perf_event__sample_event_size(&sample, attr->sample_type,
							attr->read_format);
	perf_event__synthesize_sample(to, attr->sample_type, attr->read_format, &sample);
	return to->header.size;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Large perf.data files with deferred callchains, or with the same callchains
 * in place.  The last kernel frame of a sample identifies its entry context, and
 * every user frame contains thread, entry context and depth.  So each delivered
 * sample can be checked without the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "deferred-callchain-file.h"
#include "deferred-callchain-load.h"
#include "event.h"

#define FIRST_TID	1000
#define MAX_FRAMES	200
#define CONTEXT_STEP	0x1000

/* A file under construction. At the end of each flush round, the buffers are added to @file. */
struct builder {
	const struct synth_load *load;
	struct synth *file;
	struct synth cpu[SYNTH_LOAD_MAX_CPUS];
	unsigned int in_round;
	u64 time;
	u64 random;
};

u64 synth_random__next(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15ULL;

	/* splitmix64, by Sebastiano Vigna, in the public domain */
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* A number from 0 to @limit - 1. */
unsigned int synth_random__below(u64 *state, unsigned int limit)
{
	return (synth_random__next(state) >> 32) % limit;
}

bool synth_random__percent(u64 *state, unsigned int percent)
{
	return percent && synth_random__below(state, 100) < percent;
}

void synth_random__shuffle(u64 *state, unsigned int *items, unsigned int nr)
{
	for (unsigned int i = nr; i > 1; i--) {
		unsigned int other = synth_random__below(state, i);
		unsigned int item = items[i - 1];

		items[i - 1] = items[other];
		items[other] = item;
	}
}

static u64 cookie_of(u32 tid, unsigned int context)
{
	return (u64)tid << 16 | (context + 1);
}

static u64 context_ip(unsigned int context)
{
	return SYNTH_KERNEL_IP + (u64)CONTEXT_STEP * (context + 1);
}

static void end_round(struct builder *b)
{
	unsigned int order[SYNTH_LOAD_MAX_CPUS];

	for (unsigned int i = 0; i < b->load->cpus; i++)
		order[i] = i;
	if (b->load->shuffle)
		synth_random__shuffle(&b->random, order, b->load->cpus);
	for (unsigned int i = 0; i < b->load->cpus; i++) {
		synth__append(b->file, &b->cpu[order[i]]);
		b->cpu[order[i]].size = 0;
	}
	synth__round(b->file);
	b->in_round = 0;
}

/* Choose the buffer of an event of @tid. Threads migrate, so the buffer changes. */
static struct synth *next_buffer(struct builder *b, u32 tid)
{
	unsigned int cpu = (tid + b->time / 16) % b->load->cpus;

	if (b->load->round && b->in_round == b->load->round)
		end_round(b);
	b->in_round++;
	b->time++;
	b->cpu[cpu].cpu = cpu;
	return &b->cpu[cpu];
}

static void user_frames(const struct synth_load *load, u64 *ips, u32 tid, unsigned int context)
{
	for (unsigned int i = 0; i < load->depth; i++)
		ips[i] = synth__user_ip(tid, context, i);
}

static void put_sample(struct builder *b, u32 tid, unsigned int context)
{
	const struct synth_load *load = b->load;
	struct synth *s = next_buffer(b, tid);
	u64 ips[MAX_FRAMES];
	size_t nr = 0;

	ips[nr++] = PERF_CONTEXT_KERNEL;
	for (unsigned int i = 1; i < load->kernel; i++)
		ips[nr++] = SYNTH_KERNEL_IP + i;
	ips[nr++] = context_ip(context);
	if (load->in_place) {
		ips[nr++] = PERF_CONTEXT_USER;
		user_frames(load, ips + nr, tid, context);
		nr += load->depth;
	} else {
		ips[nr++] = PERF_CONTEXT_USER_DEFERRED;
		ips[nr++] = cookie_of(tid, context);
	}
	synth__sample(s, tid, b->time, PERF_RECORD_MISC_KERNEL, ips, nr);
}

static void put_record(struct builder *b, u32 tid, unsigned int context)
{
	unsigned int times = 1 + synth_random__percent(&b->random, b->load->duplicate);
	u64 ips[MAX_FRAMES];

	if (b->load->in_place || synth_random__percent(&b->random, b->load->lose))
		return;

	user_frames(b->load, ips, tid, context);
	for (unsigned int i = 0; i < times; i++) {
		struct synth *s = next_buffer(b, tid);

		synth__record_of(s, tid, b->time, cookie_of(tid, context),
				 PERF_RECORD_MISC_USER, ips, b->load->depth);
	}
}

static bool thread_sleeps(const struct synth_load *load, unsigned int thread)
{
	return thread * 37 % 100 < load->sleepers;
}

static void put_context(struct builder *b, unsigned int context)
{
	const struct synth_load *load = b->load;

	for (unsigned int i = 0; i < load->samples; i++) {
		for (unsigned int t = 0; t < load->threads; t++) {
			if (!context || !thread_sleeps(load, t))
				put_sample(b, FIRST_TID + t, context);
		}
	}
	for (unsigned int i = 0; i < load->delay; i++)
		end_round(b);
	for (unsigned int t = 0; t < load->threads; t++) {
		if (!thread_sleeps(load, t))
			put_record(b, FIRST_TID + t, context);
	}
}

/**
 * synth_load__build - generate the events of a file
 * @load: the parameters of the file
 * @s: the file to fill; the caller has set its byte order and form of records
 *
 * Return: 0 or a negative error.
 */
int synth_load__build(const struct synth_load *load, struct synth *s)
{
	struct builder b = { .load = load, .file = s, .random = load->seed };

	if (!load->cpus || load->cpus > SYNTH_LOAD_MAX_CPUS || !load->kernel ||
	    load->kernel + load->depth + 4 > MAX_FRAMES)
		return -EINVAL;

	for (unsigned int i = 0; i < load->cpus; i++) {
		b.cpu[i].foreign = s->foreign;
		b.cpu[i].prefixed = s->prefixed;
	}
	for (unsigned int context = 0; context < load->contexts; context++)
		put_context(&b, context);
	for (unsigned int t = 0; t < load->threads; t++) {
		if (thread_sleeps(load, t))
			put_record(&b, FIRST_TID + t, 0);
	}
	end_round(&b);
	for (unsigned int i = 0; i < load->cpus; i++)
		synth__free(&b.cpu[i]);
	return s->failed ? -ENOMEM : 0;
}

/**
 * synth_load__check - check the user half of a sample
 * @load: the parameters of the file that was read
 * @chain: callchain of the delivered sample
 * @tid: its thread
 *
 * Return: the verdict.
 */
enum synth_verdict synth_load__check(const struct synth_load *load,
				     const struct ip_callchain *chain, u32 tid)
{
	size_t nr = load->kernel + 1;
	unsigned int context;

	if (chain->nr < nr || chain->ips[0] != PERF_CONTEXT_KERNEL)
		return SYNTH_WRONG;
	if (chain->nr == nr)
		return SYNTH_BARE;

	context = (chain->ips[nr - 1] - context_ip(0)) / CONTEXT_STEP;
	if (chain->nr != nr + 1 + load->depth || chain->ips[nr++] != PERF_CONTEXT_USER)
		return SYNTH_WRONG;
	for (unsigned int i = 0; i < load->depth; i++) {
		if (chain->ips[nr + i] != synth__user_ip(tid, context, i))
			return SYNTH_WRONG;
	}
	return SYNTH_COMPLETE;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_LOAD_H
#define __TESTS_DEFERRED_CALLCHAIN_LOAD_H

#include <stdbool.h>
#include <linux/types.h>

#define SYNTH_LOAD_MAX_CPUS	64

struct ip_callchain;
struct synth;

/**
 * struct synth_load - parameters of a generated perf.data file
 * @threads: number of threads
 * @contexts: entry contexts of each thread, one after the other
 * @samples: samples of each entry context
 * @kernel: kernel frames of a sample, at least one; the last one names the entry context
 * @depth: user frames
 * @cpus: number of buffers; threads migrate between them
 * @round: events in a flush round; 0: all events are in one round
 * @delay: empty flush rounds between the samples and their records
 * @lose: percentage of records that are missing
 * @duplicate: percentage of records that come twice
 * @sleepers: percentage of threads that stay in their first entry context until the end
 * @shuffle: read the buffers of a flush round in a random order
 * @in_place: write the same callchains in place, not deferred
 * @seed: seed of the random numbers
 */
struct synth_load {
	unsigned int threads;
	unsigned int contexts;
	unsigned int samples;
	unsigned int kernel;
	unsigned int depth;
	unsigned int cpus;
	unsigned int round;
	unsigned int delay;
	unsigned int lose;
	unsigned int duplicate;
	unsigned int sleepers;
	bool shuffle;
	bool in_place;
	u64 seed;
};

/* Verdict on a delivered callchain. */
enum synth_verdict {
	SYNTH_COMPLETE,		/* has its own user half */
	SYNTH_BARE,		/* has no user half */
	SYNTH_WRONG,		/* anything else */
};

int synth_load__build(const struct synth_load *load, struct synth *s);
enum synth_verdict synth_load__check(const struct synth_load *load,
				     const struct ip_callchain *chain, u32 tid);

u64 synth_random__next(u64 *state);
unsigned int synth_random__below(u64 *state, unsigned int limit);
bool synth_random__percent(u64 *state, unsigned int percent);
void synth_random__shuffle(u64 *state, unsigned int *items, unsigned int nr);

#endif /* __TESTS_DEFERRED_CALLCHAIN_LOAD_H */

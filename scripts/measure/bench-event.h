/* SPDX-License-Identifier: GPL-2.0 */
/* A sampled event and its ring buffer, for the programs of scripts/bench. */
#ifndef BENCH_EVENT_H
#define BENCH_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE		4096UL

/* kinds of user stacks in a sample */
enum mode {
	OFF,		/* there are no samples */
	BARE,		/* no user stack */
	IN_PLACE,	/* a user callchain by frame pointers */
	DEFERRED,	/* a cookie, and a record later on */
	DUMP_8K,	/* registers and a copy of the top 8 KiB of the stack */
	DUMP_64K,	/* the same with 65528 bytes, the maximum */
};

struct event {
	int	fd;
	void	*page;
	size_t	size;
};

/* @frames: number of frames in the last deferred record */
struct counts {
	unsigned int	samples;
	unsigned int	records;
	unsigned int	frames;
};

void die(const char *what);
bool count_cycles(void);
uint64_t now(void);
void event_open(struct event *event, const char *tracepoint, enum mode mode);
void event_open_on_exec(struct event *event, const char *tracepoint, enum mode mode, pid_t pid);
void event_open_clock(struct event *event, uint64_t period, enum mode mode, pid_t pid, int cpu);
void event_stop(struct event *event);
void event_count(const struct event *event, struct counts *counts);
void event_close(struct event *event);

#endif /* BENCH_EVENT_H */

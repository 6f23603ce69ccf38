// SPDX-License-Identifier: GPL-2.0
/* Walks from one stack to another, as in programs with coroutines and in those of OCaml. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_test.h"

#define STACK_SIZE	(1024 * 1024)
#define STACK_STEP	8192
#define MAX_SWITCHES	40

/* the free part of each stack begins here */
static char *tops[2];

static PD_ATTR(noinline) long switch_stack(struct eh_walk *walk, char **top)
{
	char *mine = *top;
	long ret;

	EH_ENTER(walk);
	*top -= STACK_STEP;
	ret = eh_on_stack(walk, mine);
	*top = mine;
	return ret;
}

static PD_ATTR(noinline) long to_low(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return switch_stack(walk, &tops[0]) + 1;
}

static PD_ATTR(noinline) long to_high(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return switch_stack(walk, &tops[1]) + 1;
}

static int map_stacks(bool in_one)
{
	char *memory = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	tops[0] = memory + STACK_SIZE / 2;
	tops[1] = memory + 2 * STACK_SIZE;
	if (!in_one)
		PD_CHECK(!mprotect(memory + STACK_SIZE, 4096, PROT_NONE), "mprotect: %s",
			 strerror(errno));
	return 0;
}

/* Walk twice for each number of switches: first without cached rules, then with them. */
static int switch_often(bool in_one)
{
	static struct eh_walk walk;
	eh_step steps[MAX_SWITCHES + 1];
	struct pd_event event;
	unsigned int nr, i;

	PD_TRY(eh_open(&event));
	PD_TRY(map_stacks(in_one));
	for (nr = 1; nr <= MAX_SWITCHES; nr += nr < 12 ? 1 : 28) {
		for (i = 0; i < nr; i++)
			steps[i] = (nr - i) & 1 ? to_high : to_low;
		steps[nr] = eh_leaf;
		for (i = 0; i < 2; i++)
			if (eh_run_and_check(&event, &walk, steps))
				return pd_fail("%u switches, walk %u", nr, i);
	}
	return PD_PASS;
}

static int in_one_mapping(void)
{
	return switch_often(true);
}

static int in_two_mappings(void)
{
	return switch_often(false);
}

/* Frames of which each is the caller of the next, and the first one that of the last. */
static unsigned long *ring;
static unsigned int ring_frames;

static PD_ATTR(noinline) long goes_round(struct eh_walk *walk)
{
	unsigned int i;

	EH_ENTER(walk);
	for (i = 0; i < ring_frames; i++) {
		ring[2 * i] = (unsigned long)(ring + 2 * ((i + 1) % ring_frames));
		ring[2 * i + 1] = (unsigned long)eh_with_frame_ra;
	}
	return eh_with_frame(walk, ring) + 1;
}

/* A program can make a stack that has no end. */
static int endless(void)
{
	const eh_step steps[] = { goes_round, eh_leaf };
	static struct eh_walk walk;
	const struct pd_rec *stack;
	struct pd_event event;
	struct pd_log log;

	PD_TRY(eh_open(&event));
	PD_TRY(map_stacks(true));
	ring = (void *)(tops[0] - STACK_STEP);
	for (ring_frames = 1; ring_frames <= 20; ring_frames++) {
		PD_TRY(eh_sample(&event, &log, &walk, steps, &stack));
		PD_CHECK(stack->nr_user >= ring_frames && stack->nr_user <= 3 * ring_frames + 3,
			 "%u frames of a ring of %u", stack->nr_user, ring_frames);
		pd_log_free(&log);
	}
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(in_one_mapping),
	PD_TEST(in_two_mappings),
	PD_TEST(endless),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

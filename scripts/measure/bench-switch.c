// SPDX-License-Identifier: GPL-2.0
/*
 * Two processes that wake each other up and wait, at a given depth of the stack:
 * like perf bench sched pipe, whose depth is fixed.
 *
 *	bench-switch DEPTH LOOPS	prints the duration in seconds
 *
 * To be built with frame pointers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int to[2], from[2], loops;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void take_turns(int first)
{
	char c = 0;
	int i;

	for (i = 0; i < loops; i++) {
		if (first && write(to[1], &c, 1) != 1)
			fail("write");
		if (read(first ? from[0] : to[0], &c, 1) != 1)
			fail("read");
		if (!first && write(from[1], &c, 1) != 1)
			fail("write");
	}
}

static __attribute__((noinline, noclone)) int at_depth(int depth, int first)
{
	if (depth <= 1)
		take_turns(first);
	else
		at_depth(depth - 1, first);
	/* not inlined: each call has a frame */
	__asm__ volatile("" ::: "memory");
	return depth;
}

int main(int argc, char **argv)
{
	struct timespec t[2];

	if (argc != 3 || pipe(to) || pipe(from))
		fail("bench-switch DEPTH LOOPS");
	loops = atoi(argv[2]);
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	if (!fork()) {
		at_depth(atoi(argv[1]), 0);
		_exit(0);
	}
	at_depth(atoi(argv[1]), 1);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	printf("%.9f\n", t[1].tv_sec - t[0].tv_sec + (t[1].tv_nsec - t[0].tv_nsec) / 1e9);
	return 0;
}

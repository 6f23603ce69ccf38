// SPDX-License-Identifier: GPL-2.0
/*
 * What do the user callchains of a program cost that is sampled by the clock?  To be run
 * in a VM with one CPU, whose clock advances by one nanosecond an instruction.
 *
 *	bench-stock CMD...
 *
 * Runs CMD in each way to have its stacks, and prints what that adds to a sample without,
 * the walk and the record included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-event.h"

#define PERIOD	200000	/* nanoseconds from sample to sample */
#define RUNS	3

static const struct {
	const char *name;
	enum mode mode;
} ways[] = {
	{ "fp", IN_PLACE },
	{ "defer", DEFERRED },
	{ "dwarf,8192", DUMP_8K },
	{ "dwarf,65528", DUMP_64K },
};

/* A child that waits for a byte before it runs @argv, the same each time. */
static pid_t start(char **argv, int *go)
{
	int to[2];
	pid_t pid;
	char c;

	if (pipe(to))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(to[1]);
		personality(ADDR_NO_RANDOMIZE);
		if (read(to[0], &c, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	*go = to[1];
	return pid;
}

static double microseconds(const struct timeval *t)
{
	return t->tv_sec * 1e6 + t->tv_usec;
}

/* The nanoseconds that @argv and its children take, sampled so. */
static double time_of(char **argv, enum mode mode)
{
	struct rusage usage;
	struct event event;
	int go, status;
	pid_t pid;

	pid = start(argv, &go);
	event_open_clock(&event, PERIOD, mode, pid);
	if (write(go, "", 1) != 1)
		die("write");
	if (wait4(pid, &status, 0, &usage) != pid || status)
		die(argv[0]);
	event_close(&event);
	close(go);
	return 1000 * (microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime));
}

static double least_time_of(char **argv, enum mode mode)
{
	double least = time_of(argv, mode), ns;
	int i;

	for (i = 1; i < RUNS; i++) {
		ns = time_of(argv, mode);
		if (ns < least)
			least = ns;
	}
	return least;
}

int main(int argc, char **argv)
{
	double without, with;
	size_t i;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-stock CMD...\n");
		return 2;
	}
	/* a sample each PERIOD of what it takes with all its samples */
	without = least_time_of(argv + 1, BARE);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		with = least_time_of(argv + 1, ways[i].mode);
		printf("%s %.0f %.0f\n", ways[i].name, with / PERIOD,
		       (with - without) / (with / PERIOD));
		fflush(stdout);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the walk of a program's stack with cached rules. To be run in a VM whose
 * clock advances by one nanosecond for each instruction.
 *
 *	bench-walk CMD...
 *
 * CMD calls getppid() many times from one place and prints how long a call took. CMD
 * runs twice, once with all unwind methods off, so that the walk has one frame. bench-walk
 * prints the number of frames, and the cost of all frames except the first.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-event.h"

#define METHODS	"/proc/sys/kernel/unwind_user_methods"

static void use_methods(int methods)
{
	FILE *f = fopen(METHODS, "w");

	if (!f || fprintf(f, "%d", methods) < 0 || fclose(f))
		die(METHODS);
}

/* Start a child that runs @argv after a byte was written to @go, with its output in @out. */
static pid_t start(char **argv, int *go, FILE **out)
{
	int to[2], from[2];
	pid_t pid;
	char c;

	if (pipe(to) || pipe(from))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		dup2(from[1], STDOUT_FILENO);
		close(from[0]);
		close(to[1]);
		if (read(to[0], &c, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*go = to[1];
	*out = fdopen(from[0], "r");
	return pid;
}

/* The cost of one getppid() call of @argv, in instructions. */
static double call_cost(char **argv, int methods, struct counts *counts)
{
	struct event event;
	double cost;
	FILE *out;
	pid_t pid;
	int go, status;

	use_methods(methods);
	pid = start(argv, &go, &out);
	event_open_on_exec(&event, "syscalls/sys_enter_getppid", DEFERRED, pid);
	if (write(go, "", 1) != 1 || fscanf(out, "%lf", &cost) != 1)
		die(argv[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		die(argv[0]);
	event_count(&event, counts);
	event_close(&event);
	fclose(out);
	close(go);
	if (!counts->records)
		die("no records");
	return cost;
}

int main(int argc, char **argv)
{
	struct counts counts;
	double with, without;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-walk CMD...\n");
		return 2;
	}
	without = call_cost(argv + 1, 0, &counts);
	if (counts.frames != 1)
		die("frames without a method");
	with = call_cost(argv + 1, 3, &counts);
	printf("%u %.0f\n", counts.frames, with - without);
	return 0;
}

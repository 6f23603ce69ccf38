// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of user callchains of a program that is sampled by the clock. To be run
 * in a VM whose clock advances by one nanosecond for each instruction of any of its CPUs.
 *
 *	bench-stock [-c] [-p NANOSECONDS] [-r RUNS] [-w WAY] CMD...
 *
 * Runs CMD sampled with user stacks of each kind, or of one kind. Prints how much more a sample
 * with its walk and its record costs than a sample without a user stack.
 *
 * With -c, the kernel forgets all unwind rules before each run, so each run begins cold.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench-event.h"

/* nanoseconds from sample to sample */
static unsigned long period = 200000;

/*
 * For each kind of stacks, run CMD for at least MIN_TIME ns of CPU time, but not more than MAX_RUNS
 * times, and at least MIN_RUNS times, or as often as -r says.
 */
#define MIN_RUNS	8
#define MAX_RUNS	64
#define MIN_TIME	4e9

#define MAX_CPUS	64

static const struct {
	const char *name;
	enum mode mode;
} ways[] = {
	{ "fp", IN_PLACE },
	{ "defer", DEFERRED },
	{ "dwarf,8192", DUMP_8K },
	{ "dwarf,65528", DUMP_64K },
};

/* Each write lets the shrinkers evict only a few caches and files. */
static void forget_rules(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		FILE *f = fopen("/proc/sys/vm/drop_caches", "w");

		if (!f || fputs("2", f) < 0 || fclose(f))
			die("drop_caches");
	}
}

/* Start a child that runs @argv after a byte was written to @go. */
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

/*
 * Sample @argv and its children with user stacks of kind @mode; return their CPU time in ns, and
 * store in @instructions how many instructions they took. With several CPUs, this is the elapsed
 * time, because the clock counts the instructions of all CPUs; one of them must always be busy.
 */
static double time_of(char **argv, enum mode mode, double *instructions)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct event events[MAX_CPUS];
	struct timespec begin, end;
	struct rusage usage;
	int go, status, i;
	double ns;
	pid_t pid;

	pid = start(argv, &go);
	if (nr_cpus > MAX_CPUS)
		nr_cpus = MAX_CPUS;
	for (i = 0; i < nr_cpus; i++)
		event_open_clock(&events[i], period, mode, pid, i);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (write(go, "", 1) != 1)
		die("write");
	if (wait4(pid, &status, 0, &usage) != pid || status)
		die(argv[0]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (i = 0; i < nr_cpus; i++)
		event_close(&events[i]);
	close(go);
	ns = 1000 * (microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime));
	*instructions = ns;
	if (nr_cpus > 1)
		*instructions = (end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec;
	return ns;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The mean of the middle half: outliers do not change it, and more runs make it more exact. */
static double middle_of(double *ns, int nr)
{
	double sum = 0;
	int i, skip = nr / 4;

	qsort(ns, nr, sizeof(*ns), compare);
	for (i = skip; i < nr - skip; i++)
		sum += ns[i];
	return sum / (nr - 2 * skip);
}

int main(int argc, char **argv)
{
	double bare, with, added[MAX_RUNS], ns[MAX_RUNS], sum, samples;
	const char *way = NULL;
	int min_runs = MIN_RUNS;
	bool cold = false;
	size_t i;
	int nr, opt;

	while ((opt = getopt(argc, argv, "+cp:r:w:")) != -1) {
		if (opt == 'c')
			cold = true;
		else if (opt == 'p')
			period = strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			min_runs = atoi(optarg);
		else if (opt == 'w')
			way = optarg;
		else
			return 2;
	}
	if (optind == argc || !period || min_runs < MIN_RUNS || min_runs > MAX_RUNS) {
		fprintf(stderr, "usage: bench-stock [-c] [-p NANOSECONDS] [-r RUNS] [-w WAY] CMD...\n");
		return 2;
	}
	argv += optind;
	/* CMD is sampled once in each period, so its time gives the number of samples */
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (way && strcmp(way, ways[i].name))
			continue;
		/*
		 * Compare with the run before: the state of the machine changes, and a busy host
		 * delays the VM's I/O.
		 */
		for (nr = 0, sum = 0; nr < min_runs || (nr < MAX_RUNS && sum < MIN_TIME); nr++) {
			if (cold)
				forget_rules();
			time_of(argv, BARE, &bare);
			if (cold)
				forget_rules();
			ns[nr] = time_of(argv, ways[i].mode, &with);
			added[nr] = with - bare;
			sum += ns[nr];
		}
		samples = middle_of(ns, nr) / period;
		printf("%s %.0f %.0f\n", ways[i].name, samples, middle_of(added, nr) / samples);
		fflush(stdout);
	}
	return 0;
}

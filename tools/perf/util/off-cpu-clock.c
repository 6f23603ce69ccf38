// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of the off-CPU BPF program, bpf_ktime_get_ns(), as perf record reads it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/limits.h>
#include <linux/time64.h>

#include "off-cpu-direct.h"

/* The offsets of a process are known where its children have the same ones. */
static bool has_offsets_of_children(void)
{
	char own[PATH_MAX] = "", children[PATH_MAX] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", children, sizeof(children) - 1) > 0 &&
	       !strcmp(own, children);
}

/* What the time namespace adds to the clock, see time_namespaces(7). */
static s64 added_by_namespace(void)
{
	long long sec = 0, nsec = 0;
	char line[128];
	FILE *offsets;

	offsets = has_offsets_of_children() ? fopen("/proc/self/timens_offsets", "r") : NULL;
	if (!offsets)
		return 0;
	while (fgets(line, sizeof(line), offsets)) {
		if (sscanf(line, "monotonic %lld %lld", &sec, &nsec) == 2)
			break;
	}
	fclose(offsets);
	return sec * NSEC_PER_SEC + nsec;
}

/**
 * off_cpu_clock - what bpf_ktime_get_ns() would say now
 *
 * Return: nanoseconds, in the initial time namespace whatever that of the process is.
 */
u64 off_cpu_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + t.tv_nsec - added_by_namespace();
}

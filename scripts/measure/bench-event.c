// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench-event.h"

/* the registers that perf record samples: all except ds, es, fs and gs; see asm/perf_regs.h */
#define USER_REGS	0xff0fffULL

void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int cycles = -1;

/* Let now() return cycles of this thread, if the machine counts them. */
bool count_cycles(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_hv = 1,
	};

	cycles = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	return cycles >= 0;
}

/* Nanoseconds, which are instructions in a VM with --icount; or cycles, after count_cycles(). */
uint64_t now(void)
{
	struct timespec ts;
	uint64_t value;

	if (cycles >= 0) {
		if (read(cycles, &value, sizeof(value)) != sizeof(value))
			die("reading the counter of cycles");
		return value;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static long tracepoint_id(const char *name)
{
	char path[256];
	long id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &id) != 1)
		die(path);
	fclose(f);
	return id;
}

static void set_mode(struct perf_event_attr *attr, enum mode mode)
{
	if (mode == IN_PLACE || mode == DEFERRED)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (mode == DEFERRED)
		attr->defer_callchain = attr->defer_output = 1;
	if (mode == DUMP_8K || mode == DUMP_64K) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = USER_REGS;
		attr->sample_stack_user = mode == DUMP_8K ? 8192 : 65528;
	}
}

static void open_on(struct event *event, const char *tracepoint, enum mode mode, pid_t pid,
		    bool on_exec)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = tracepoint_id(tracepoint),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_callchain_kernel = 1,
		.disabled = on_exec,
		.enable_on_exec = on_exec,
	};

	set_mode(&attr, mode);
	event->fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	if (event->fd < 0)
		die("perf_event_open");
	/* room for a thousand samples, and the control page */
	event->size = PAGE + (mode == DUMP_64K ? 16384 : mode == DUMP_8K ? 4096 : 1024) * PAGE;
	event->page = mmap(NULL, event->size, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);
	if (event->page == MAP_FAILED)
		die("mmap of the buffer");
}

/* Sample this process from now on. */
void event_open(struct event *event, const char *tracepoint, enum mode mode)
{
	open_on(event, tracepoint, mode, 0, false);
}

/* Sample another process from its next execve() on. */
void event_open_on_exec(struct event *event, const char *tracepoint, enum mode mode, pid_t pid)
{
	open_on(event, tracepoint, mode, pid, true);
}

/*
 * Sample another process and its children by the clock of @cpu, from its next execve() on. The
 * samples are not read, so the ring buffer overwrites the oldest ones.
 */
void event_open_clock(struct event *event, uint64_t period, enum mode mode, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_callchain_kernel = 1,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.write_backward = 1,
	};

	set_mode(&attr, mode);
	event->fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	if (event->fd < 0)
		die("perf_event_open");
	event->size = PAGE + 1024 * PAGE;
	event->page = mmap(NULL, event->size, PROT_READ, MAP_SHARED, event->fd, 0);
	if (event->page == MAP_FAILED)
		die("mmap of the buffer");
}

void event_stop(struct event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Count the samples and records in the ring buffer. Exit if some were lost. */
void event_count(const struct event *event, struct counts *counts)
{
	const struct perf_event_mmap_page *page = event->page;
	const char *data = (const char *)event->page + PAGE;
	uint64_t at = page->data_tail, nr;

	*counts = (struct counts){ 0 };
	while (at < page->data_head) {
		const struct perf_event_header *header = (const void *)(data + at);

		if (header->type == PERF_RECORD_LOST) {
			fprintf(stderr, "bench: the buffer is too small\n");
			exit(1);
		}
		counts->samples += header->type == PERF_RECORD_SAMPLE;
		if (header->type == PERF_RECORD_CALLCHAIN_DEFERRED) {
			/* nr follows the cookie */
			memcpy(&nr, (const char *)(header + 1) + sizeof(nr), sizeof(nr));
			counts->records++;
			counts->frames = nr;
		}
		at += header->size;
	}
}

void event_close(struct event *event)
{
	munmap(event->page, event->size);
	close(event->fd);
}

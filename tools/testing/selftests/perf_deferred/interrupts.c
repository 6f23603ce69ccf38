// SPDX-License-Identifier: GPL-2.0
/*
 * A request sends an interrupt to its own CPU only if the task will not check its
 * work flags again. Deep in the kernel the task will check them, even with interrupts off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	5
#define DEPTH	3

/* The number of irq_work interrupts on all CPUs, or -1. */
static long irq_works(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[4096], *at, *end;
	long sum = -1;

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "IWI:");
		if (!at)
			continue;
		sum = 0;
		for (at += 4; *at == ' '; at = end) {
			sum += strtol(at, &end, 10);
			if (end == at)
				break;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

static int to_partner[2], from_partner[2];

static int answer_partner(void *unused)
{
	char byte;

	(void)unused;
	while (read(to_partner[0], &byte, 1) == 1 && write(from_partner[1], &byte, 1) == 1)
		;
	return 0;
}

/* In each turn, start a timer, wake a task and sleep. */
static PD_LEAF long take_turns(void *turns)
{
	struct timespec wait = { .tv_nsec = 100000 };
	char byte = 0;
	long i;

	for (i = 0; i < (long)turns; i++) {
		pd_syscall2(SYS_nanosleep, &wait, NULL);
		pd_syscall3(SYS_write, to_partner[1], &byte, 1);
		pd_syscall3(SYS_read, from_partner[0], &byte, 1);
	}
	return 0;
}

static int run_turns(void *turns)
{
	struct pd_child partner;

	if (pipe(to_partner) || pipe(from_partner) ||
	    pd_child_start(&partner, answer_partner, NULL))
		return 1;
	pd_child_go(&partner);
	pd_pin(0, 0);
	pd_pin(partner.pid, 0);
	pd_call(NAME, DEPTH, take_turns, turns);
	return 0;
}

static int at_tracepoint(const char *system, const char *name)
{
	size_t deferred = 0, samples = 0;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	long before, after;

	before = irq_works();
	if (before < 0)
		return pd_skip("/proc/interrupts has no line for irq_work");
	PD_TRY(pd_attr_tracepoint(&attr, system, name));
	PD_TRY(pd_child_start(&child, run_turns, (void *)pd_scale(500)));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	before = irq_works();
	pd_child_go(&child);
	PD_CHECK(!pd_child_wait(&child, 60), "the child failed");
	after = irq_works();
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		deferred += sample->deferred;
	}
	pd_note("%s: %zu samples, %zu deferred, %ld interrupts", name, samples, deferred,
		after - before);
	/* the partner may be awake, and then the turn has no wakeup */
	PD_CHECK(2 * deferred >= pd_scale(500), "%s: %zu deferred samples of %lu turns",
		 name, deferred, pd_scale(500));
	/* other parts of the kernel may raise irq_work interrupts, too */
	PD_CHECK(after - before <= (long)deferred / 10 + 10, "%s: %ld interrupts", name,
		 after - before);
	return PD_PASS;
}

static int sched_switch(void)
{
	return at_tracepoint("sched", "sched_switch");
}

/* Sample in a wakeup, while a lock of the woken task is held. */
static int sched_waking(void)
{
	return at_tracepoint("sched", "sched_waking");
}

/* Sample in the start of a timer, while a lock of this CPU's timers is held. */
static int hrtimer_start(void)
{
	return at_tracepoint("timer", "hrtimer_start");
}

const struct pd_test pd_tests[] = {
	PD_TEST(sched_switch),
	PD_TEST(sched_waking),
	PD_TEST(hrtimer_start),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

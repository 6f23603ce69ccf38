// SPDX-License-Identifier: GPL-2.0
/* A sample taken in an NMI gets its record when the task returns to user mode. */
#include <signal.h>
#include <string.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	2
#define DEPTH	5

static int spin_or_call(void *in_kernel)
{
	pd_pin(0, 1);
	for (;;)
		pd_call(NAME, DEPTH, in_kernel ? pd_leaf_getppid : pd_leaf_spin, (void *)100L);
	return 0;
}

/* SysRq-l makes CPU 1 print its registers in an NMI. The event samples show_regs() there. */
static int record_nmis(struct pd_log *log, pid_t *pid, void *in_kernel, bool in_place)
{
	unsigned long rounds = pd_scale(10), i;
	struct perf_event_attr attr;
	struct pd_child child;
	struct pd_set set;
	int err = 0;

	if (pd_online_cpus() < 2)
		return pd_skip("needs two CPUs");
	PD_TRY(pd_attr_kprobe(&attr, "show_regs"));
	if (in_place)
		pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	PD_TRY(pd_child_start(&child, spin_or_call, in_kernel));
	*pid = child.pid;
	PD_TRY(pd_set_must_open(&set, &attr, -1));
	pd_pin(0, 0);
	pd_set_enable(&set);
	pd_child_go(&child);
	pd_sleep_ms(50);
	for (i = 0; i < rounds && !err; i++) {
		err = pd_write_str("/proc/sysrq-trigger", "l");
		pd_sleep_ms(20);
	}
	pd_set_disable(&set);
	pd_set_drain(&set, log);
	kill(child.pid, SIGKILL);
	pd_set_close(&set);
	if (err)
		return pd_skip("/proc/sysrq-trigger: %s", strerror(err));
	return pd_log_clean(log);
}

static int check_nmis(void *in_kernel)
{
	const struct pd_rec *sample = NULL, *stack;
	unsigned long long bare = 0;
	struct pd_log log = {};
	size_t samples = 0;
	pid_t pid = 0;

	PD_TRY(record_nmis(&log, &pid, in_kernel, false));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->tid != (__u32)pid)
			continue;
		PD_CHECK(sample->cpu == 1, "on CPU %u", sample->cpu);
		/* a sample that is taken after the record was sent has its stack in place */
		PD_CHECK(sample->deferred || sample->inplace, "no user half");
		/* if the events are disabled during the last NMI, its cookie may have no record */
		PD_CHECK(!bare || sample->cookie == bare, "cookie %llx has no record", bare);
		if (pd_user_half(&log, sample, &stack) == PD_BARE) {
			bare = sample->cookie;
			continue;
		}
		samples++;
		PD_CHECK(!pd_foreign_frame(stack, NAME), "a foreign frame");
		/* An NMI in spin_or_call() itself, between two calls, finds no frames of NAME. */
		if (pd_frames_of(stack, NAME) && !pd_has_outermost(stack, NAME)) {
			pd_note_stack("NMI", stack);
			return pd_fail("the outermost frame is missing");
		}
	}
	if (!samples)
		return pd_skip("no NMI reached the task");
	pd_note("%zu samples", samples);
	return PD_PASS;
}

static int over_user_mode(void)
{
	return check_nmis(NULL);
}

static int over_system_calls(void)
{
	return check_nmis((void *)1L);
}

/*
 * Unwound in the NMI itself: frames may be missing, but none is foreign.  An NMI that has
 * interrupted the kernel has a stack of its own; there show_regs() has no user stack.
 */
static int check_in_place(void *in_kernel)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	size_t samples = 0, whole = 0;
	pid_t pid = 0;

	PD_TRY(record_nmis(&log, &pid, in_kernel, true));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->tid != (__u32)pid)
			continue;
		samples++;
		PD_CHECK(!pd_foreign_frame(sample, NAME), "a foreign frame");
		whole += pd_has_outermost(sample, NAME);
	}
	if (!samples)
		return pd_skip("no NMI reached the task");
	pd_note("%zu of %zu samples are whole", whole, samples);
	PD_CHECK(in_kernel || 2 * whole >= samples, "few are whole");
	return PD_PASS;
}

static int in_place_over_user_mode(void)
{
	return check_in_place(NULL);
}

static int in_place_over_system_calls(void)
{
	return check_in_place((void *)1L);
}

const struct pd_test pd_tests[] = {
	PD_TEST(over_user_mode),
	PD_TEST(over_system_calls),
	PD_TEST(in_place_over_user_mode),
	PD_TEST(in_place_over_system_calls),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

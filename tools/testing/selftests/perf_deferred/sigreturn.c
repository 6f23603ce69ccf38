// SPDX-License-Identifier: GPL-2.0
/* rt_sigreturn closes the entry context before it restores the registers. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	4
#define DEPTH	3

static int handled;

static void count_signal(int sig)
{
	(void)sig;
	PD_WRITE(handled, handled + 1);
}

static PD_LEAF long raise_usr1(void *unused)
{
	long pid = pd_syscall0(SYS_getpid);

	(void)unused;
	return pd_syscall3(SYS_tgkill, pid, pd_syscall0(SYS_gettid), SIGUSR1);
}

static bool is_restorer_stack(const struct pd_rec *stack)
{
	return stack->nr_user == 1 && pd_in_restorer(stack->user[0]);
}

/* A sample at the entry of rt_sigreturn has the stack of the restorer, which is one frame. */
static int check_entry(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	PD_CHECK(sample->deferred || sample->inplace, "no user half");
	PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE, "cookie %llx has no record",
		 sample->cookie);
	if (is_restorer_stack(stack))
		return 0;
	pd_note_stack("rt_sigreturn", stack);
	return pd_fail("this is not the stack that called rt_sigreturn");
}

/* Later samples have the stack of the restorer, the restored stack, or no stack. */
static int check_later(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE, "cookie %llx has no record",
		 sample->cookie);
	if (!stack || is_restorer_stack(stack))
		return 0;
	PD_CHECK(!stack->nr_user || !pd_in_restorer(stack->user[0]),
		 "the restorer with a caller: %llx", stack->nr_user > 1 ? stack->user[1] : 0);
	return pd_check_stack(stack, NAME, DEPTH);
}

static int signals_with(const char *function, bool entry, bool on_altstack)
{
	unsigned long rounds = pd_scale(300), i;
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, function));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_altstack();
	pd_handle(SIGUSR1, count_signal, on_altstack);
	pd_enable(&event);
	for (i = 0; i < rounds; i++) {
		pd_call(NAME, DEPTH, raise_usr1, NULL);
		if (i % 64 == 0)
			pd_drain(&event, &log);
	}
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK((unsigned long)handled == rounds, "%d of %lu signals", handled, rounds);
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) >= rounds, "%zu samples of %lu signals",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), rounds);
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		PD_TRY(entry ? check_entry(&log, sample) : check_later(&log, sample));
	return PD_PASS;
}

static int at_entry(void)
{
	return signals_with("__x64_sys_rt_sigreturn", true, false);
}

static int at_entry_altstack(void)
{
	return signals_with("__x64_sys_rt_sigreturn", true, true);
}

static int restoring_fpu(void)
{
	return signals_with("fpu__restore_sig", false, false);
}

static int restoring_altstack(void)
{
	return signals_with("restore_altstack", false, true);
}

/* Two samples in one rt_sigreturn: each must have the stack of its own entry context. */
static int entry_and_later(void)
{
	unsigned long rounds = pd_scale(100), i;
	const struct pd_rec *first, *second;
	struct perf_event_attr attrs[2];
	struct pd_log logs[2] = {};
	struct pd_event events[2];

	PD_TRY(pd_attr_kprobe(&attrs[0], "__x64_sys_rt_sigreturn"));
	PD_TRY(pd_attr_kprobe(&attrs[1], "restore_altstack"));
	for (i = 0; i < 2; i++) {
		PD_TRY(pd_must_open(&events[i], &attrs[i], 0, -1));
		pd_enable(&events[i]);
	}
	pd_handle(SIGUSR1, count_signal, false);
	for (i = 0; i < rounds; i++)
		pd_call(NAME, DEPTH, raise_usr1, NULL);
	for (i = 0; i < 2; i++) {
		pd_disable(&events[i]);
		pd_drain(&events[i], &logs[i]);
		PD_TRY(pd_log_clean(&logs[i]));
	}
	for (i = 0; i < rounds; i++) {
		first = pd_log_nth(&logs[0], PERF_RECORD_SAMPLE, i);
		second = pd_log_nth(&logs[1], PERF_RECORD_SAMPLE, i);
		PD_CHECK(first && second, "only %lu pairs of samples", i);
		PD_TRY(check_entry(&logs[0], first));
		PD_TRY(check_later(&logs[1], second));
	}
	return PD_PASS;
}

/* Samples from the timer, anywhere in rt_sigreturn. */
static int from_timer(void)
{
	long long end = pd_now_ns() + 1500 * 1000000LL;
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t user = 0;

	pd_attr_clock(&attr, pd_hz(10000));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_handle(SIGUSR1, count_signal, false);
	pd_enable(&event);
	while (pd_now_ns() < end) {
		int i;

		for (i = 0; i < 100; i++)
			pd_call(NAME, DEPTH, raise_usr1, NULL);
		pd_drain(&event, &log);
	}
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		pd_user_half(&log, sample, &stack);
		if (!stack || !stack->nr_user)
			continue;
		/* The restorer's first instruction clears %rbp, which ends the stack. */
		if (pd_in_restorer(stack->user[0]) &&
		    stack->user[0] != (unsigned long)pd_restorer)
			PD_CHECK(stack->nr_user == 1, "the restorer at %llx with a caller",
				 stack->user[0]);
		if ((sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
			continue;
		user++;
		PD_CHECK(stack->user[0] == sample->ip, "sampled at %llx, innermost frame %llx",
			 sample->ip, stack->user[0]);
	}
	PD_CHECK(user || pd_slow(), "no sample from user mode");
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(at_entry),
	PD_TEST(at_entry_altstack),
	PD_TEST(restoring_fpu),
	PD_TEST(restoring_altstack),
	PD_TEST(entry_and_later),
	PD_TEST(from_timer),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * An aborted restartable sequence continues at its abort handler.  Samples that
 * were taken in the sequence still have the stack of the sequence.
 */
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME		5
#define DEPTH		3
#define MILLISECONDS	800
#define SIGNATURE	0x53053053	/* before each abort handler, as in glibc on x86 */
#define AREA_SIZE	32
#define TURNS		20000

/* The sequence, and its abort handler. */
extern const char section_begins[], section_ends[], section_aborted[];
static struct rseq_cs section PD_ATTR(aligned(32), used);

/* A thread has only one rseq area. A new enough C library registers its own. */
#pragma weak __rseq_offset
#pragma weak __rseq_size
extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;

static struct rseq *my_area(void)
{
	static char area[AREA_SIZE] PD_ATTR(aligned(32));
	char *thread;

	if (&__rseq_offset && __rseq_size) {
		asm("mov %%fs:0, %0" : "=r" (thread));
		return (struct rseq *)(thread + __rseq_offset);
	}
	return syscall(SYS_rseq, area, sizeof(area), 0, SIGNATURE) ? NULL : (struct rseq *)area;
}

/* Return true if the sequence was not aborted. */
static PD_LEAF long run_restartable(void *arg)
{
	struct rseq *area = arg;
	long turns = TURNS, ended;

	pd_frame();
	asm volatile("lea	section(%%rip), %[ended]\n\t"
		     "mov	%[ended], %[cs]\n"
		     "section_begins:\n\t"
		     "sub	$1, %[turns]\n\t"
		     "jnz	section_begins\n"
		     "section_ends:\n\t"
		     "mov	$1, %[ended]\n\t"
		     "jmp	1f\n\t"
		     ".byte	0x0f, 0xb9, 0x3d\n\t"
		     ".long	%c[signature]\n"
		     "section_aborted:\n\t"
		     "xor	%[ended], %[ended]\n"
		     "1:"
		     : [turns] "+r" (turns), [ended] "=&r" (ended), [cs] "=m" (area->rseq_cs)
		     : [signature] "i" (SIGNATURE)
		     : "cc", "memory");
	return ended;
}

/* Exits with 77 if the thread has no rseq area. */
static int restart_sections(void *unused)
{
	long long end = pd_now_ns() + pd_scale(MILLISECONDS) * 1000000LL;
	struct rseq *area = my_area();
	unsigned long aborts = 0;

	(void)unused;
	if (!area)
		return 77;
	section = (struct rseq_cs) {
		.start_ip = (unsigned long)section_begins,
		.post_commit_offset = section_ends - section_begins,
		.abort_ip = (unsigned long)section_aborted,
	};
	/* On a busy machine, the first abort may come late. */
	while (pd_now_ns() < end || !aborts)
		aborts += !pd_call(NAME, DEPTH, run_restartable, area);
	return 0;
}

/* Preempts the task that runs the sequence. */
static int compete_for_cpu(void *unused)
{
	(void)unused;
	return pd_leaf_spin((void *)60000L);
}

static bool in_section(__u64 ip)
{
	return ip >= (unsigned long)section_begins && ip < (unsigned long)section_ends;
}

/* A sample's innermost user frame, or 0. */
static __u64 innermost_frame(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	pd_user_half(log, sample, &stack);
	return stack && stack->nr_user ? stack->user[0] : 0;
}

static const struct pd_rec *next_of(const struct pd_log *log, const struct pd_event *event,
				    __u64 time)
{
	const struct pd_rec *sample = NULL, *next = NULL;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample))
		if (sample->event == event && sample->time > time &&
		    (!next || sample->time < next->time))
			next = sample;
	return next;
}

struct events {
	struct pd_event clock, fixup, update;
	bool sampled;		/* sampled by the clock, too */
};

/* A sample in the sequence has the stack of the sequence, wherever the thread continues. */
static int check_clock(struct pd_log *log, const struct pd_rec *sample, size_t *checked)
{
	if (!in_section(sample->ip))
		return 0;
	PD_TRY(pd_check_right(log, sample, NAME, DEPTH));
	PD_CHECK(innermost_frame(log, sample) == sample->ip,
		 "sampled at %llx, and the stack is of %llx", sample->ip,
		 innermost_frame(log, sample));
	(*checked)++;
	return 0;
}

/* @sample was taken before the abort, the next sample of the update event after the abort. */
static int check_abort(struct pd_log *log, const struct pd_rec *sample,
		       const struct events *events)
{
	const struct pd_rec *next = next_of(log, &events->update, sample->time);
	__u64 ip = innermost_frame(log, sample);

	PD_TRY(pd_check_right_or_none(log, sample, NAME, DEPTH));
	PD_CHECK(!ip || in_section(ip), "before the abort, and the stack is of %llx", ip);
	PD_CHECK(next, "no sample after the abort");
	PD_TRY(pd_check_right_or_none(log, next, NAME, DEPTH));
	ip = innermost_frame(log, next);
	PD_CHECK(!ip || ip == (unsigned long)section_aborted,
		 "after the abort, and the stack is of %llx", ip);
	return 0;
}

static int check_all(struct pd_log *log, const struct events *events)
{
	const struct pd_rec *sample = NULL;
	size_t clock = 0, aborts = 0;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		if (sample->event == &events->clock)
			PD_TRY(check_clock(log, sample, &clock));
		if (sample->event != &events->fixup)
			continue;
		PD_TRY(check_abort(log, sample, events));
		aborts++;
	}
	pd_note("%zu samples in the sequence, %zu aborts", clock, aborts);
	PD_CHECK(aborts, "no abort");
	PD_CHECK(clock || !events->sampled, "no sample in the sequence");
	return 0;
}

static int open_all(struct events *events, pid_t pid)
{
	struct perf_event_attr clock, fixup, update;

	pd_attr_clock(&clock, pd_hz(4000));
	PD_TRY(pd_attr_tracepoint(&fixup, "rseq", "rseq_ip_fixup"));
	PD_TRY(pd_attr_tracepoint(&update, "rseq", "rseq_update"));
	PD_TRY(pd_must_open(&events->clock, &clock, pid, -1));
	PD_TRY(pd_must_open(&events->fixup, &fixup, pid, -1));
	return pd_must_open(&events->update, &update, pid, -1);
}

static void drain_all(struct events *events, struct pd_log *log)
{
	pd_drain(&events->clock, log);
	pd_drain(&events->fixup, log);
	pd_drain(&events->update, log);
}

static int abort_many(bool sampled)
{
	long long end = pd_end_of_wait(60);
	struct events events = { .sampled = sampled };
	struct pd_child child, other;
	struct pd_log log = {};
	int status;

	PD_TRY(pd_child_start(&other, compete_for_cpu, NULL));
	pd_pin(other.pid, 0);
	pd_child_go(&other);
	PD_TRY(pd_child_start(&child, restart_sections, NULL));
	PD_TRY(open_all(&events, child.pid));
	pd_pin(child.pid, 0);
	if (sampled)
		pd_enable(&events.clock);
	pd_enable(&events.fixup);
	pd_enable(&events.update);
	pd_child_go(&child);
	while ((status = pd_child_wait(&child, 0)) == -1 && pd_now_ns() < end)
		drain_all(&events, &log);
	kill(other.pid, SIGKILL);
	if (status == 77 << 8)
		return pd_skip("no restartable sequences here");
	PD_CHECK(!status, "the task ended with %#x", status);
	pd_disable(&events.clock);
	pd_disable(&events.fixup);
	pd_disable(&events.update);
	drain_all(&events, &log);
	PD_TRY(pd_log_clean(&log));
	return check_all(&log, &events);
}

static int aborted(void)
{
	return abort_many(false);
}

static int sampled_and_aborted(void)
{
	return abort_many(true);
}

const struct pd_test pd_tests[] = {
	PD_TEST(aborted),
	PD_TEST(sampled_and_aborted),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

struct name {
	const char *low, *high;			/* bounds of the recursive function */
	const char *outer_low, *outer_high;	/* bounds of the outermost function */
	long (*outermost)(unsigned int depth, pd_leaf_fn leaf, void *arg);
};

/* The empty asm prevents tail calls. */
#define NAMED(n)								\
	static PD_IN("pd_rec_" #n)							\
	long recurse_##n(unsigned int depth, pd_leaf_fn leaf, void *arg)	\
	{									\
		long ret = depth ? recurse_##n(depth - 1, leaf, arg) : leaf(arg); \
										\
		asm volatile("" : "+r" (ret));					\
		return ret;							\
	}									\
	static PD_IN("pd_out_" #n)							\
	long outermost_##n(unsigned int depth, pd_leaf_fn leaf, void *arg)	\
	{									\
		long ret = recurse_##n(depth, leaf, arg);			\
										\
		asm volatile("" : "+r" (ret));					\
		return ret;							\
	}

#define ROW(n) {								\
		.low = __start_pd_rec_##n, .high = __stop_pd_rec_##n,		\
		.outer_low = __start_pd_out_##n, .outer_high = __stop_pd_out_##n, \
		.outermost = outermost_##n,					\
	}

NAMED(0)
NAMED(1)
NAMED(2)
NAMED(3)
NAMED(4)
NAMED(5)
NAMED(6)
NAMED(7)

static const struct name names[PD_NAMES] = {
	ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7),
};

long pd_call(unsigned int name, unsigned int depth, pd_leaf_fn leaf, void *arg)
{
	return names[name].outermost(depth, leaf, arg);
}

static bool is_within(__u64 ip, const char *low, const char *high)
{
	return ip >= (unsigned long)low && ip < (unsigned long)high;
}

static bool is_outermost(__u64 ip, int name)
{
	return is_within(ip, names[name].outer_low, names[name].outer_high);
}

int pd_frame_name(__u64 ip)
{
	int i;

	for (i = 0; i < PD_NAMES; i++)
		if (is_within(ip, names[i].low, names[i].high) || is_outermost(ip, i))
			return i;
	return -1;
}

/* Return the address after the direct call of a function in the code between @low and @high. */
static unsigned long after_call(const char *low, const char *high, const char *function)
{
	const char *at;
	int distance;

	for (at = low; at + 5 <= high; at++) {
		memcpy(&distance, at + 1, sizeof(distance));
		if (*at == '\xe8' && at + 5 + distance == function)
			break;
	}
	return (unsigned long)at + 5;
}

unsigned long pd_name_address(unsigned int name)
{
	return after_call(names[name].low, names[name].high, names[name].low);
}

unsigned int pd_frames_of(const struct pd_rec *stack, unsigned int name)
{
	unsigned int i, count = 0;

	for (i = 0; i < stack->nr_user; i++)
		count += pd_frame_name(stack->user[i]) == (int)name;
	return count;
}

bool pd_has_outermost(const struct pd_rec *stack, unsigned int name)
{
	unsigned int i;

	for (i = 0; i < stack->nr_user; i++)
		if (is_outermost(stack->user[i], name))
			return true;
	return false;
}

__u64 pd_foreign_frame(const struct pd_rec *stack, unsigned int name)
{
	unsigned int i;

	for (i = 0; i < stack->nr_user; i++) {
		int owner = pd_frame_name(stack->user[i]);

		if (owner >= 0 && owner != (int)name)
			return stack->user[i];
	}
	return 0;
}

int pd_check_stack(const struct pd_rec *stack, unsigned int name, unsigned int depth)
{
	unsigned int frames = pd_frames_of(stack, name);
	__u64 foreign = pd_foreign_frame(stack, name);

	if (!foreign && frames == depth + 2 && pd_has_outermost(stack, name))
		return 0;
	pd_note_stack("stack", stack);
	PD_CHECK(!foreign, "frame %llx belongs to another stack than %u", foreign, name);
	return pd_fail("%u of %u frames of stack %u, outermost %s", frames, depth + 2,
		       name, pd_has_outermost(stack, name) ? "there" : "missing");
}

int pd_check_stitched(struct pd_log *log, const struct pd_rec *sample,
		      unsigned int name, unsigned int depth)
{
	const struct pd_rec *stack;

	PD_CHECK(sample, "the sample is missing");
	PD_CHECK(sample->deferred, "the sample was not deferred (%s)",
		 sample->inplace ? "unwound in place" : "no user half");
	PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED,
		 "no record for tid %u, cookie %llx", sample->tid, sample->cookie);
	return pd_check_stack(stack, name, depth);
}

int pd_check_right_or_none(struct pd_log *log, const struct pd_rec *sample,
			   unsigned int name, unsigned int depth)
{
	const struct pd_rec *stack;

	switch (pd_user_half(log, sample, &stack)) {
	case PD_NONE:
		return 0;
	case PD_BARE:
		return pd_fail("tid %u: cookie %llx has no record", sample->tid, sample->cookie);
	default:
		return stack->nr_user ? pd_check_stack(stack, name, depth) : 0;
	}
}

int pd_check_right(struct pd_log *log, const struct pd_rec *sample,
		   unsigned int name, unsigned int depth)
{
	const struct pd_rec *stack;

	PD_CHECK(sample, "the sample is missing");
	PD_CHECK(sample->deferred || sample->inplace, "tid %u: no user half", sample->tid);
	PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE,
		 "tid %u: cookie %llx has no record", sample->tid, sample->cookie);
	return pd_check_stack(stack, name, depth);
}

int pd_check_no_bare(struct pd_log *log)
{
	const struct pd_rec *sample = NULL, *stack;
	size_t bare = 0, samples = 0;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		if (pd_user_half(log, sample, &stack) != PD_BARE)
			continue;
		/* A sample that is taken while the event is being disabled may have no record. */
		if (sample->event->disabled_at && sample->time >= sample->event->disabled_at)
			continue;
		if (bare++ < 3)
			pd_note("cookie %llx of tid %u, ip %llx, has no record",
				sample->cookie, sample->tid, sample->ip);
	}
	PD_CHECK(!bare, "%zu of %zu samples were left with a bare cookie", bare, samples);
	return 0;
}

PD_LEAF long pd_leaf_syscall(void *arg)
{
	const struct pd_syscall *call = arg;
	const long *a = call->args;

	return pd_syscall6(call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

PD_LEAF long pd_leaf_getppid(void *unused)
{
	(void)unused;
	return pd_syscall0(SYS_getppid);
}

PD_LEAF long pd_syscall_on(const void *stack, const void *frame, long nr)
{
	long ret = nr;

	asm volatile("mov	%%rsp, %%rbx\n\t"
		     "mov	%%rbp, %%r12\n\t"
		     "mov	%[stack], %%rsp\n\t"
		     "mov	%[frame], %%rbp\n\t"
		     "syscall\n\t"
		     "mov	%%rbx, %%rsp\n\t"
		     "mov	%%r12, %%rbp"
		     : "+a" (ret)
		     : [stack] "D" (stack), [frame] "S" (frame)
		     : "rbx", "r12", "rcx", "r11", "memory");
	return ret;
}

long pd_getppid_on(const void *stack, const void *frame)
{
	return pd_syscall_on(stack, frame, SYS_getppid);
}

unsigned long pd_getppid_on_address(void)
{
	const char *low = (const char *)pd_getppid_on;

	return after_call(low, low + 64, (const char *)pd_syscall_on);
}

static PD_LEAF long long milliseconds_now(void)
{
	struct timespec now;

	pd_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

PD_LEAF long pd_leaf_spin(void *milliseconds)
{
	long long end = milliseconds_now() + (long)milliseconds;
	long turns = 0;
	int i;

	while (milliseconds_now() < end)
		for (i = 0; i < 100000; i++)
			asm volatile("" : "+r" (turns));
	return turns;
}

PD_LEAF long pd_leaf_says_and_spins(void *milliseconds)
{
	pd_child_says();
	return pd_leaf_spin(milliseconds);
}

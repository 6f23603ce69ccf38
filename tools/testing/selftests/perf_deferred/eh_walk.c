// SPDX-License-Identifier: GPL-2.0
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_test.h"

#define COUNTERS	"/sys/kernel/debug/unwind_user"

int eh_usable(void)
{
	long methods = pd_read_long(EH_METHODS);

	if (methods < 0 || !(methods & 2))
		return pd_skip("no .eh_frame method here");
	return 0;
}

int eh_counted(void)
{
	PD_TRY(eh_usable());
	if (access(COUNTERS, R_OK))
		return pd_skip("no debugfs");
	return 0;
}

long eh_counter(const char *name)
{
	FILE *file = fopen(COUNTERS, "r");
	char line[128];
	long value = -1;

	while (file && value < 0 && fgets(line, sizeof(line), file)) {
		size_t len = strlen(name);

		if (!strncmp(line, name, len) && line[len] == ' ')
			sscanf(line + len, "%ld", &value);
	}
	if (file)
		fclose(file);
	return value;
}

int eh_deepen(struct perf_event_attr *attr)
{
	PD_TRY(eh_usable());
	pd_write_str("/proc/sys/kernel/perf_event_max_stack", "512");
	attr->sample_max_stack = EH_MAX_STACK;
	return 0;
}

int eh_attr(struct perf_event_attr *attr)
{
	PD_TRY(pd_attr_kprobe(attr, "__x64_sys_getppid"));
	return eh_deepen(attr);
}

int eh_open(struct pd_event *event)
{
	struct perf_event_attr attr;

	PD_TRY(eh_attr(&attr));
	return pd_must_open(event, &attr, 0, -1);
}

PD_ATTR(noinline) int eh_tail(void **tail)
{
	int nr = backtrace(tail, EH_MAX_TAIL);

	while (nr && !tail[nr - 1])
		nr--;
	/* drop the frame of this function */
	memmove(tail, tail + 1, (nr - 1) * sizeof(*tail));
	return nr - 1;
}

PD_ATTR(noinline) long eh_run(struct eh_walk *walk, const eh_step *steps)
{
	walk->steps = steps;
	walk->at = 0;
	walk->nr = 0;
	walk->nr_tail = eh_tail(walk->tail);
	return eh_next(walk);
}

static int wrong_frame(const struct pd_rec *stack, __u32 at, unsigned long want)
{
	pd_note_stack("stack", stack);
	return pd_fail("frame %u of %u is %#llx, should be %#lx", at, stack->nr_user,
		       at < stack->nr_user ? stack->user[at] : 0, want);
}

static bool is_within(const struct pd_rec *stack, __u32 at, const char *low, const char *high)
{
	return at < stack->nr_user && stack->user[at] >= (unsigned long)low &&
	       stack->user[at] < (unsigned long)high;
}

/* Skip up to EH_MAX_LIBRARY frames of a library; return the index of their caller's frame. */
static __u32 skip_library(const struct pd_rec *stack, __u32 at)
{
	__u32 most = at + EH_MAX_LIBRARY;

	while (at < most && !is_within(stack, at, __start_eh_text_library, __stop_eh_text_library))
		at++;
	return at;
}

int eh_check(const struct eh_walk *walk, const struct pd_rec *stack)
{
	unsigned int step;
	__u32 at = 1;
	int i;

	PD_CHECK(is_within(stack, 0, __start_eh_text_leaf, __stop_eh_text_leaf),
		 "the leaf is missing");
	for (step = walk->nr; step--; at++) {
		if (walk->ra[step] == EH_LIBRARY) {
			at = skip_library(stack, at);
			if (!is_within(stack, at, __start_eh_text_library, __stop_eh_text_library))
				return wrong_frame(stack, at, walk->ra[step]);
		} else if (at >= stack->nr_user || stack->user[at] != walk->ra[step]) {
			return wrong_frame(stack, at, walk->ra[step]);
		}
	}
	for (i = 1; i < walk->nr_tail; i++, at++)
		if (at >= stack->nr_user || stack->user[at] != (unsigned long)walk->tail[i])
			return wrong_frame(stack, at, (unsigned long)walk->tail[i]);
	PD_CHECK(at == stack->nr_user, "%u frames, %u are true", stack->nr_user, at);
	return 0;
}

bool eh_ends_in(void *const *tail, int nr_tail, const struct pd_rec *stack)
{
	int i;

	if ((int)stack->nr_user < nr_tail)
		return false;
	for (i = 1; i < nr_tail; i++)
		if (stack->user[stack->nr_user - i] != (unsigned long)tail[nr_tail - i])
			return false;
	return true;
}

int eh_sample(struct pd_event *event, struct pd_log *log, struct eh_walk *walk,
	      const eh_step *steps, const struct pd_rec **stack)
{
	const struct pd_rec *sample;

	memset(log, 0, sizeof(*log));
	pd_enable(event);
	eh_run(walk, steps);
	pd_disable(event);
	pd_drain(event, log);
	PD_TRY(pd_log_clean(log));
	PD_CHECK(pd_log_count(log, PERF_RECORD_SAMPLE) == 1, "%zu samples of 1 call",
		 pd_log_count(log, PERF_RECORD_SAMPLE));
	sample = pd_log_nth(log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(pd_user_half(log, sample, stack) == PD_STITCHED, "the sample has no record");
	return 0;
}

/* The first frame that is wrong, as far as the frames of libraries let us tell; or nr_user. */
static __u32 first_wrong(const struct eh_walk *walk, const struct pd_rec *stack)
{
	unsigned int step = walk->nr;
	__u32 at;

	for (at = 1; at < stack->nr_user && step; at++) {
		if (walk->ra[--step] == EH_LIBRARY)
			break;
		if (stack->user[at] != walk->ra[step])
			return at;
	}
	return stack->nr_user;
}

static bool is_whole(const struct eh_walk *walk, const struct pd_rec *stack)
{
	return stack->nr_user > (__u32)walk->nr && first_wrong(walk, stack) == stack->nr_user &&
	       eh_ends_in(walk->tail, walk->nr_tail, stack);
}

int eh_open_in_place(struct pd_event *event, const struct perf_event_attr *from)
{
	struct perf_event_attr attr = *from;

	if (pd_read_long(EH_IN_PLACE) < 0)
		return pd_skip("no walks in place here");
	PD_TRY(eh_deepen(&attr));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	return pd_must_open(event, &attr, 0, -1);
}

/* Take one sample in place; *stack points into the log. */
static int sample_in_place(struct pd_event *event, struct pd_log *log, struct eh_walk *walk,
			   const eh_step *steps, const struct pd_rec **stack)
{
	memset(log, 0, sizeof(*log));
	pd_enable(event);
	eh_run(walk, steps);
	pd_disable(event);
	pd_drain(event, log);
	PD_TRY(pd_log_clean(log));
	*stack = pd_log_nth(log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(*stack && (*stack)->inplace, "no sample in place");
	return 0;
}

static bool is_caller(const struct eh_walk *walk, __u64 addr)
{
	unsigned int i;

	for (i = 0; i < walk->nr; i++) {
		if (walk->ra[i] == addr)
			return true;
	}
	return false;
}

/*
 * Are the frames of @stack from @wrong on also in @by_fp, which has only frame pointers?  Behind
 * them, @by_fp can have values that are no return addresses.
 */
static bool goes_on_by_fp(const struct eh_walk *walk, const struct pd_rec *stack, __u32 wrong,
			  const struct pd_rec *by_fp)
{
	__u32 nr = stack->nr_user - wrong, at;

	for (at = 0; at + nr <= by_fp->nr_user; at++) {
		if (!memcmp(stack->user + wrong, by_fp->user + at, nr * sizeof(stack->user[0])) &&
		    (at + nr == by_fp->nr_user || !is_caller(walk, by_fp->user[at + nr])))
			return true;
	}
	return false;
}

/*
 * If a frame seems wrong, the steps are repeated without walks in place: where the rules end, the
 * frame pointers are followed, right or wrong.
 */
int eh_run_in_place(struct pd_event *event, struct eh_walk *walk, const eh_step *steps,
		    enum eh_found *found)
{
	bool enabled = pd_read_long(EH_IN_PLACE);
	const struct pd_rec *stack[2];
	struct pd_log log[2];
	__u32 wrong = 0;
	int run = 0;

	/* one call of the steps, so that both stacks have the same callers */
	do {
		if (run)
			pd_write_str(EH_IN_PLACE, "0");
		PD_TRY(sample_in_place(event, &log[run], walk, steps, &stack[run]));
		if (!run) {
			*found = is_whole(walk, stack[0]) ? EH_WHOLE : EH_PART;
			wrong = first_wrong(walk, stack[0]);
		}
	} while (!run++ && wrong < stack[0]->nr_user);
	if (enabled)
		pd_write_str(EH_IN_PLACE, "1");
	if (wrong < stack[0]->nr_user && !goes_on_by_fp(walk, stack[0], wrong, stack[1])) {
		*found = EH_WRONG;
		pd_note_stack("in place", stack[0]);
		pd_note_stack("by frame pointers", stack[1]);
	}
	while (run--)
		pd_log_free(&log[run]);
	return 0;
}

int eh_run_and_check(struct pd_event *event, struct eh_walk *walk, const eh_step *steps)
{
	const struct pd_rec *stack;
	struct pd_log log;

	PD_TRY(eh_sample(event, &log, walk, steps, &stack));
	PD_TRY(eh_check(walk, stack));
	pd_log_free(&log);
	return 0;
}

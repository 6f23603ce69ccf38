// SPDX-License-Identifier: GPL-2.0
/*
 * Random schedules of samples and deferred records, and the expected result of
 * reading them.  A schedule knows the entry context of every sample, even if
 * cookies are reused.  The model is:
 *
 *  - Every sample is delivered once, for its own event, with its kernel half.
 *  - A sample has the whole user half of its entry context if the file contains
 *    the record of that entry context.  Otherwise it has no user half and is
 *    marked as incomplete.
 *  - All samples come in time order.
 *  - The counts agree with the delivered samples.
 *  - At a limit, a sample may lose its user half, but never gets a wrong one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>

#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-load.h"
#include "deferred-callchain-model.h"
#include "event.h"
#include "events_stats.h"
#include "evsel.h"
#include "sample.h"
#include "tool.h"

#define MAX_STEPS	400
#define MAX_THREADS	8
#define MAX_CPUS	4
#define MAX_SERIAL	255	/* a user frame contains 8 bits of its cookie */
#define FIRST_TID	100

enum what { SAMPLE, RECORD, LOST_RECORD, EXIT, FORK, EXEC };

static const char * const what_names[] = {
	[SAMPLE] = "sample", [RECORD] = "record", [LOST_RECORD] = "lost record",
	[EXIT] = "exit", [FORK] = "fork", [EXEC] = "exec",
};

/* The time between two events: more than the clocks of two CPUs can differ. */
#define STEP_TIME	(25 * NSEC_PER_MSEC)

/* One event.  Its index in the schedule is its time, in units of STEP_TIME. */
struct step {
	enum what what;
	u32 tid;
	bool guest;
	bool user;		/* a sample in user space */
	bool second;		/* a sample of the second event */
	bool delivered;
	unsigned int cpu;
	unsigned int round;
	unsigned int context;
};

/* One entry context. */
struct context {
	const struct thread_state *owner;
	u64 cookie;
	unsigned int depth;
	bool recorded;
	unsigned int round;	/* flush round of its first record */
};

struct thread_state {
	u32 tid;
	bool guest;
	bool dead;
	bool in_kernel;
	unsigned int context;	/* the current one, if in_kernel */
	unsigned int counter;	/* counter for cookies */
};

struct model {
	struct perf_tool tool;
	u64 seed;
	u64 random;
	/* parameters of this schedule */
	unsigned int nr_threads, nr_cpus, nr_steps, round_steps, wrap;
	unsigned int lose, duplicate, records, sleepers;
	bool foreign, piped, prefixed;
	u64 limit;
	/* the schedule */
	struct thread_state threads[MAX_THREADS];
	struct context contexts[MAX_SERIAL + 1];
	struct step steps[MAX_STEPS + 1];
	unsigned int nr_contexts, now, round;
	/* the results of reading it */
	unsigned int complete, incomplete;
	u64 last;
	bool failed;
};

static unsigned int random_below(struct model *m, unsigned int limit)
{
	return synth_random__below(&m->random, limit);
}

static bool random_percent(struct model *m, unsigned int share)
{
	return synth_random__percent(&m->random, share);
}

static void choose_parameters(struct model *m)
{
	static const unsigned int shares[] = { 0, 0, 5, 30, 100 };
	static const unsigned int wraps[] = { 2, 3, 10, 1000000 };
	static const u64 limits[] = { 1, 2 << 10, 16 << 10 };

	m->nr_threads = 1 + random_below(m, MAX_THREADS);
	m->nr_cpus = 1 + random_below(m, MAX_CPUS);
	m->nr_steps = 20 + random_below(m, MAX_STEPS - 20);
	m->round_steps = 1 + random_below(m, random_percent(m, 30) ? MAX_STEPS : 30);
	m->wrap = wraps[random_below(m, ARRAY_SIZE(wraps))];
	m->lose = shares[random_below(m, ARRAY_SIZE(shares))];
	m->duplicate = shares[random_below(m, ARRAY_SIZE(shares))];
	m->records = 10 + random_below(m, 60);
	m->sleepers = shares[random_below(m, ARRAY_SIZE(shares) - 1)];
	m->foreign = random_below(m, 2);
	m->piped = !m->foreign && m->seed % 2;
	m->prefixed = m->seed % 7 == 0;
	m->limit = m->seed % 5 == 0 ? limits[random_below(m, ARRAY_SIZE(limits))] : 0;

	/* Two neighbours have the same tid: one is a thread of the host, the other of a guest. */
	for (unsigned int i = 0; i < m->nr_threads; i++) {
		m->threads[i].tid = FIRST_TID + i / 2;
		m->threads[i].guest = i % 2;
	}
}

static struct step *add_step(struct model *m, const struct thread_state *t, enum what what)
{
	struct step *step = &m->steps[++m->now];

	step->what = what;
	step->tid = t->tid;
	step->guest = t->guest;
	step->cpu = random_below(m, m->nr_cpus);
	step->round = m->now / m->round_steps;
	step->context = t->context;
	return step;
}

/*
 * May a thread reuse the cookie of an earlier entry context? The kernel does so
 * only when the events of that entry context have left the buffers.  A reader cannot tell
 * the two entry contexts apart if the record of the first one was lost and no other
 * record of the thread comes between them.  Records of two CPUs in one flush
 * round can be read in either order.  So the record that tells the entry contexts
 * apart must be in a round before that of the new entry context.
 */
static bool may_come_again(const struct model *m, const struct thread_state *t, u64 cookie)
{
	unsigned int now = (m->now + 1) / m->round_steps;
	bool told_apart = false;

	for (unsigned int i = m->nr_contexts; i; i--) {
		const struct context *context = &m->contexts[i];
		bool old = m->nr_cpus == 1 || context->round < now;

		if (context->owner != t)
			continue;
		if (context->cookie == cookie)
			return old && (told_apart || context->recorded);
		told_apart |= old && context->recorded;
	}
	return true;
}

static u64 next_cookie(struct model *m, struct thread_state *t)
{
	u64 cookie = 1 + t->counter++ % m->wrap;

	return may_come_again(m, t, cookie) ? cookie : 1000 + m->nr_contexts;
}

static void enter_kernel(struct model *m, struct thread_state *t)
{
	struct context *context = &m->contexts[m->nr_contexts + 1];

	context->owner = t;
	context->cookie = next_cookie(m, t);
	t->in_kernel = true;
	t->context = ++m->nr_contexts;
	context->depth = 1 + random_below(m, 20);
}

static void step_sample(struct model *m, struct thread_state *t)
{
	struct step *step;

	if (!t->in_kernel)
		enter_kernel(m, t);
	step = add_step(m, t, SAMPLE);
	step->second = random_below(m, 2);
	step->user = !t->guest && random_percent(m, 10);
}

static void step_record(struct model *m, struct thread_state *t)
{
	struct context *context = &m->contexts[t->context];
	bool lost = random_percent(m, m->lose);
	struct step *step = add_step(m, t, lost ? LOST_RECORD : RECORD);

	t->in_kernel = false;
	context->recorded = !lost;
	context->round = step->round;
	if (!lost && random_percent(m, m->duplicate) && m->now < m->nr_steps)
		add_step(m, t, RECORD);
}

/* End a thread or its program. First write the record of its open entry context. */
static void step_end(struct model *m, struct thread_state *t, enum what what)
{
	if (t->in_kernel)
		step_record(m, t);
	if (m->now < m->nr_steps)
		add_step(m, t, what);
}

static void step_thread(struct model *m, struct thread_state *t)
{
	if (t->dead) {
		add_step(m, t, FORK);
		t->dead = false;
	} else if (!t->guest && random_percent(m, 3)) {
		step_end(m, t, EXIT);
		t->dead = true;
	} else if (!t->guest && random_percent(m, 3)) {
		step_end(m, t, EXEC);
	} else if (t->in_kernel && random_percent(m, m->records)) {
		step_record(m, t);
	} else {
		step_sample(m, t);
	}
}

static void make_schedule(struct model *m)
{
	while (m->now < m->nr_steps && m->nr_contexts < MAX_SERIAL) {
		unsigned int i = random_below(m, m->nr_threads);
		struct thread_state *t = &m->threads[i];

		/* Some threads stay in the kernel for a long time. */
		if (t->in_kernel && (i + m->seed) % 3 == 0 && random_percent(m, m->sleepers) &&
		    !random_percent(m, 5))
			t = &m->threads[random_below(m, m->nr_threads)];
		step_thread(m, t);
	}
}

static void print_step(const struct model *m, unsigned int time)
{
	const struct step *step = &m->steps[time];

	pr_info("%4u round %u cpu %u: %s of %s thread %u", time, step->round, step->cpu,
		what_names[step->what], step->guest ? "guest" : "host", step->tid);
	if (step->what <= LOST_RECORD)
		pr_info(", context %u cookie %#llx%s%s", step->context,
			(unsigned long long)m->contexts[step->context].cookie,
			step->second ? ", second event" : "", step->user ? ", user" : "");
	pr_info("\n");
}

static void print_schedule(const struct model *m)
{
	pr_info("seed %llu: %s byte order%s\n", (unsigned long long)m->seed,
		m->foreign ? "other" : "this", m->prefixed ? ", contexts in records" : "");
	for (unsigned int time = 1; time <= m->now; time++)
		print_step(m, time);
}

static void report_failure(struct model *m, u64 time, const char *why)
{
	if (!m->failed)
		print_schedule(m);
	m->failed = true;
	pr_info("FAILED seed %llu: sample at %llu: %s\n", (unsigned long long)m->seed,
		(unsigned long long)time, why);
}

static void put_sample(const struct model *m, struct synth *s, const struct step *step, u64 time)
{
	u16 misc = step->guest ? PERF_RECORD_MISC_GUEST_KERNEL :
		   step->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;

	s->second = step->second;
	synth__deferred_at(s, step->tid, time, m->contexts[step->context].cookie, misc,
			   step->user ? 0 : 2);
}

static void put_record(const struct model *m, struct synth *s, const struct step *step, u64 time)
{
	const struct context *context = &m->contexts[step->context];
	u64 frames[64];

	for (unsigned int i = 0; i < context->depth; i++)
		frames[i] = synth__user_ip(step->tid, step->context, i);
	synth__record_of(s, step->tid, time, context->cookie,
			 step->guest ? PERF_RECORD_MISC_GUEST_USER : PERF_RECORD_MISC_USER,
			 frames, context->depth);
}

static void put_step(const struct model *m, struct synth *s, u64 time)
{
	const struct step *step = &m->steps[time];
	u64 stamp = time * STEP_TIME;

	s->cpu = step->cpu;
	switch (step->what) {
	case SAMPLE:
		put_sample(m, s, step, stamp);
		break;
	case RECORD:
		put_record(m, s, step, stamp);
		break;
	case LOST_RECORD:
		synth__lost(s, stamp);
		break;
	case EXIT:
		synth__exit(s, step->tid, stamp);
		break;
	case FORK:
		synth__fork(s, step->tid, stamp);
		break;
	case EXEC:
	default:
		synth__exec(s, step->tid, stamp);
		break;
	}
}

static void join_round(struct model *m, struct synth *file, struct synth *cpus)
{
	unsigned int order[MAX_CPUS];

	for (unsigned int i = 0; i < m->nr_cpus; i++)
		order[i] = i;
	synth_random__shuffle(&m->random, order, m->nr_cpus);
	for (unsigned int i = 0; i < m->nr_cpus; i++) {
		synth__append(file, &cpus[order[i]]);
		cpus[order[i]].size = 0;
	}
	synth__round(file);
}

static void write_schedule(struct model *m, struct synth *file)
{
	struct synth cpus[MAX_CPUS] = {};
	unsigned int time = 1;

	file->foreign = m->foreign;
	file->piped = m->piped;
	for (unsigned int i = 0; i < MAX_CPUS; i++) {
		cpus[i].foreign = m->foreign;
		cpus[i].prefixed = m->prefixed;
	}
	while (time <= m->now) {
		unsigned int round = m->steps[time].round;

		for (; time <= m->now && m->steps[time].round == round; time++)
			put_step(m, &cpus[m->steps[time].cpu], time);
		join_round(m, file, cpus);
	}
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		synth__free(&cpus[i]);
}

static bool has_kernel_half(const struct step *step, const struct ip_callchain *chain, size_t *nr)
{
	*nr = step->user ? 0 : 3;
	return chain->nr >= *nr && (step->user || (chain->ips[0] == PERF_CONTEXT_KERNEL &&
						   chain->ips[1] == SYNTH_KERNEL_IP &&
						   chain->ips[2] == SYNTH_KERNEL_IP + 1));
}

static bool has_user_half(const struct step *step, const struct context *context,
			  const struct ip_callchain *chain, size_t nr)
{
	if (chain->nr != nr + 1 + context->depth || chain->ips[nr] != PERF_CONTEXT_USER)
		return false;
	for (unsigned int i = 0; i < context->depth; i++) {
		if (chain->ips[nr + 1 + i] != synth__user_ip(step->tid, step->context, i))
			return false;
	}
	return true;
}

/* No user half, or only the ip of a sample in user space. */
static bool has_no_user_half(const struct step *step, const struct perf_sample *sample, size_t nr)
{
	const struct ip_callchain *chain = sample->callchain;

	if (!step->user)
		return chain->nr == nr;
	return chain->nr == 2 && chain->ips[0] == PERF_CONTEXT_USER && chain->ips[1] == sample->ip;
}

static void check_chain(struct model *m, const struct step *step, const struct perf_sample *sample,
			u64 time)
{
	const struct context *context = &m->contexts[step->context];
	size_t nr;

	if (!has_kernel_half(step, sample->callchain, &nr)) {
		report_failure(m, time, "has a wrong kernel half");
	} else if (context->recorded && !step->guest && !(m->limit && sample->deferred_callchain)) {
		m->complete++;
		if (sample->deferred_callchain)
			report_failure(m, time, "is incomplete although it has a record");
		else if (!has_user_half(step, context, sample->callchain, nr))
			report_failure(m, time, "has a wrong user half");
	} else {
		m->incomplete++;
		if (!sample->deferred_callchain)
			report_failure(m, time, "is complete although it has no record");
		else if (!has_no_user_half(step, sample, nr))
			report_failure(m, time, "is incomplete but has a user half");
	}
}

static int check_sample(SAMPLE_PARAMS)
{
	struct model *m = container_of(tool, struct model, tool);
	u64 time = sample->time / STEP_TIME;
	struct step *step = &m->steps[time <= m->now ? time : 0];

	if (step->what != SAMPLE || sample->tid != step->tid || step->delivered)
		report_failure(m, time, "was never taken, or is delivered twice");
	else if (SAMPLE_EVSEL->core.attr.config !=
		 (step->second ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK))
		report_failure(m, time, "is of the wrong event");
	else
		check_chain(m, step, sample, time);
	if (time < m->last)
		report_failure(m, time, "is out of order");
	m->last = time;
	step->delivered = true;
	return 0;
}

static void check_all_delivered(struct model *m)
{
	for (unsigned int time = 1; time <= m->now; time++) {
		if (m->steps[time].what == SAMPLE && !m->steps[time].delivered)
			report_failure(m, time, "is not delivered");
	}
}

static void check_stats(struct model *m, const struct deferred_callchain_stats *stats)
{
	if (stats->samples != m->complete + m->incomplete || stats->stitched != m->complete ||
	    deferred_callchain_stats__incomplete(stats) != m->incomplete || stats->malformed)
		report_failure(m, 0, "the counts are wrong");
}

static int read_schedule(struct model *m, const struct synth *s,
			 struct deferred_callchain_stats *stats)
{
	u64 usual = deferred_callchain_limit;
	int ret;

	deferred_callchain_limit = m->limit ?: usual;
	ret = synth__read(&m->tool, s, SIZE_MAX, stats);
	deferred_callchain_limit = usual;
	return ret;
}

/**
 * deferred_model__run - read a file with a random schedule
 * @seed: chooses the schedule
 *
 * Return: true if the result was right; otherwise the schedule is printed.
 */
bool deferred_model__run(u64 seed)
{
	struct model *m = calloc(1, sizeof(*m));
	struct deferred_callchain_stats stats = {};
	struct synth s = {};
	bool ok;

	if (!m)
		return false;

	m->seed = seed;
	m->random = seed;
	perf_tool__init(&m->tool, /*ordered_events=*/true);
	m->tool.sample = check_sample;
	m->tool.no_warn = true;
	choose_parameters(m);
	make_schedule(m);
	write_schedule(m, &s);
	if (read_schedule(m, &s, &stats))
		report_failure(m, 0, "the file cannot be read");
	check_all_delivered(m);
	check_stats(m, &stats);
	ok = !m->failed;
	synth__free(&s);
	free(m);
	return ok;
}

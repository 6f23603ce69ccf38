// SPDX-License-Identifier: GPL-2.0
/*
 * Processes enter and leave the kernel in many ways at random, while several sets of events, which
 * come and go, sample them.  Each stack is compared with the registers of its sample, which tell
 * what the stack must be: see torture.h.
 *
 * PERF_DEFERRED_SEED=N chooses the schedule, and PERF_DEFERRED_SAMPLES=N says how many stacks to
 * compare.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_test.h"
#include "torture.h"

#define SAMPLES		10000
/* chains of a round */
#define CHAINS		6000
/* sets of events of a round, each with a buffer of this many pages for each CPU */
#define SETS		6
#define PAGES		512
#define OFFS		4096
#define SHOW		5
#define CPU_1		"/sys/devices/system/cpu/cpu1/online"

/* bits of sample_regs_user, of which tests have no header; and their order in the sample */
#define X86_IP		8
#define X86_R12		20
#define X86_R13		21

enum { IP, IN_LEAF, CHAIN };

struct counts {
	size_t judged, whole, none, empty, cut, dying, bare, owed, wrong, in_place, skipped;
};

/* A set was switched off between these times. */
struct off {
	int set;
	__u64 begin, end;
};

#define MOST_CUTS	256

struct round {
	unsigned long seed;
	const struct pd_rec *cuts[MOST_CUTS];
	unsigned int nr_cuts;
	struct pd_log log;
	struct pd_set sets[SETS];
	bool enabled[SETS];
	struct off offs[OFFS];
	unsigned int nr_offs;
	struct counts *counts;
};

enum kind {
	OTHER,
	DIGIT,
	ENTER,
	LEAF,
	OP,
	ROOT,
	CLONE,
	HANDLER,
	RESTORER,
};

static const struct section {
	const char *begin, *end;
	enum kind kind;
} sections[] = {
	{ __start_in_digit, __stop_in_digit, DIGIT },
	{ __start_in_enter, __stop_in_enter, ENTER },
	{ __start_in_leaf, __stop_in_leaf, LEAF },
	{ __start_in_op, __stop_in_op, OP },
	{ __start_in_root, __stop_in_root, ROOT },
	{ __start_in_clone, __stop_in_clone, CLONE },
	{ __start_in_handler, __stop_in_handler, HANDLER },
};

/* A frame's address may be a return address, which can lie behind its function. */
static enum kind kind_of(__u64 ip, bool is_return)
{
	size_t i;

	ip -= is_return;
	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		if (ip >= (unsigned long)sections[i].begin && ip < (unsigned long)sections[i].end)
			return sections[i].kind;
	}
	ip += is_return;
	if (ip - (unsigned long)pd_known_restorer <= 16)
		return RESTORER;
	return OTHER;
}

/* The function with the highest address that is not above @ip. */
static int digit_of(__u64 ip)
{
	unsigned long best = 0, at;
	int i, digit = -1;

	for (i = 0; i < TORTURE_DIGITS; i++) {
		at = (unsigned long)torture_digits[i];
		if (at <= ip && at >= best) {
			best = at;
			digit = i;
		}
	}
	return digit;
}

/* Can a frame have this caller? A signal can interrupt any code. */
static bool may_call(enum kind frame, enum kind caller)
{
	switch (frame) {
	case OP:
		return caller == OP || caller == LEAF;
	case LEAF:
		return caller == DIGIT;
	case DIGIT:
		return caller == DIGIT || caller == ENTER;
	case ENTER:
		return caller == OP || caller == HANDLER || caller == ROOT;
	case HANDLER:
		return caller == RESTORER;
	case CLONE:
		return caller == OP;
	default:
		return true;
	}
}

/* A chain's frames in a stack, from the innermost one. */
struct chain {
	int digits[TORTURE_MAX_DEPTH];
	unsigned int nr;
	bool has_leaf;
	bool is_whole;		/* up to torture_enter() */
	bool too_long;
};

/* Is it a part of the chain with that name? */
static bool chain_fits(const struct chain *chain, unsigned long name)
{
	unsigned int depth = torture_depth(name), left, i;

	if (chain->too_long || chain->nr > depth || (chain->is_whole && chain->has_leaf &&
						     chain->nr != depth))
		return false;
	/* which frame of the chain is the innermost one that is here? */
	if (chain->has_leaf)
		left = 0;
	else if (chain->is_whole)
		left = depth - chain->nr;
	else
		return true;
	for (i = 0; i < chain->nr; i++) {
		if (chain->digits[i] != (int)torture_digit(name, left + i))
			return false;
	}
	return true;
}

/* How a part of a stack ends. */
enum end {
	END_CHAIN,
	END_ROOT,	/* torture_root(), which only the C library or clone() calls */
	END_CLONE,	/* a thread that begins */
	END_CUT,
};

/*
 * Find the next chain in the stack, from frame *at on. Returns what is wrong with it, or NULL.  By
 * frame pointers (@fp), any caller will do.  At a uprobe the base takes the word on top of the
 * stack for one.
 */
static const char *next_chain(const struct pd_rec *stack, __u32 *at, bool fp,
			      struct chain *chain, enum end *end)
{
	enum kind kind, last = RESTORER;
	bool is_return = *at > 0;
	__u64 ip;

	memset(chain, 0, sizeof(*chain));
	if (*at)
		last = ENTER;
	*end = END_CUT;
	for (; *at < stack->nr_user; last = kind) {
		ip = stack->user[(*at)++];
		kind = kind_of(ip, is_return);
		if (kind == OTHER)
			return fp ? NULL : "a frame of other code";
		if (!fp && !may_call(last, kind))
			return "a caller that it cannot have";
		switch (kind) {
		case DIGIT:
			if (chain->nr < TORTURE_MAX_DEPTH)
				chain->digits[chain->nr] = digit_of(ip - is_return);
			else
				chain->too_long = true;
			chain->nr++;
			break;
		case ENTER:
			*end = END_CHAIN;
			chain->is_whole = true;
			return NULL;
		case LEAF:
			chain->has_leaf = true;
			break;
		case ROOT:
			*end = END_ROOT;
			return NULL;
		case CLONE:
			if (*at == stack->nr_user)
				*end = END_CLONE;
			break;
		default:
			break;
		}
		is_return = kind != RESTORER;
	}
	return NULL;
}

static bool chain_has_name(const struct chain *chain, unsigned long name)
{
	return torture_is_name(name) && chain_fits(chain, name);
}

/*
 * Is it a part of the chain with the name *name, or of one that has begun up to *hops chains before
 * that?  Set *name to the name of the next one.  If that has the same functions, it may be this
 * chain: then leave the rest of *hops, else set it to 0.
 */
static bool chain_is(const struct chain *chain, unsigned long *name, unsigned int *hops)
{
	unsigned long outer = *name;

	for (; !chain_has_name(chain, outer); --*hops) {
		if (!*hops)
			return false;
		outer = *torture_outer(outer);
	}
	*name = *torture_outer(outer);
	if (!chain_has_name(chain, *name))
		*hops = 0;
	return true;
}

/* Is there no chain outside of the one that has begun up to @hops chains before that name? */
static bool is_outermost(unsigned long name, unsigned int hops)
{
	while (torture_is_name(name) && hops--)
		name = *torture_outer(name);
	return !torture_is_name(name);
}

/*
 * Compare a stack with the registers of its sample. Returns what is wrong, or NULL.  A chain that
 * begins or ends just now has no frames but that of torture_enter(), which may not have set its
 * name yet, or have set the one before again.
 */
static const char *judge(const struct pd_rec *sample, const struct pd_rec *stack, bool *is_whole)
{
	bool in_leaf = torture_is_name(sample->regs[IN_LEAF]);
	unsigned long name = sample->regs[CHAIN];
	unsigned int beginnings = 0;
	struct chain chain;
	const char *why;
	enum end end;
	__u32 at = 0;

	for (;;) {
		why = next_chain(stack, &at, false, &chain, &end);
		if (why)
			return why;
		*is_whole = end == END_ROOT || end == END_CLONE;
		if (end == END_ROOT && (chain.nr || chain.has_leaf))
			return "no beginning of a chain";
		/* a thread of clone() begins with the name of the chain that has called that */
		if (end == END_ROOT && at > 1 && !is_outermost(name, beginnings))
			return "a chain is missing";
		if (!chain.nr && !chain.has_leaf) {
			if (end != END_CHAIN)
				return NULL;
			beginnings++;
			continue;
		}
		if (in_leaf && !beginnings && !chain.has_leaf)
			return "no leaf";
		if (!chain_is(&chain, &name, &beginnings))
			return "another chain";
		in_leaf = false;
	}
}

/* Does one of the sets have a uprobe?  If so, it is in the function of *@digit. */
static bool has_uprobe(unsigned long dice, int *digit)
{
	*digit = (dice >> 8) % TORTURE_DIGITS;
	return dice % 16 == 6;
}

/* Is it the address of the first instruction of a function with a uprobe, or of its second byte? */
static bool is_at_uprobe(const struct round *round, __u64 ip)
{
	int digit, i;

	for (i = 1; i < SETS; i++) {
		if (has_uprobe(torture_mix(round->seed + i), &digit) &&
		    ip - (unsigned long)torture_digits[digit] <= 1)
			return true;
	}
	return false;
}

/*
 * In place, a stack may have only the frames that frame pointers lead to.  But these must be in
 * order.  At a uprobe there, and behind its breakpoint, the base skips the caller.  If that returns
 * to a uretprobe, the base gives later frames each other's return addresses.
 */
static const char *judge_in_place(const struct round *round, const struct pd_rec *sample,
				  const struct pd_rec *stack)
{
	unsigned long name = sample->regs[CHAIN];
	unsigned int left = 0, i;
	struct chain chain;
	const char *why;
	enum end end;
	__u32 at = 0;

	if (is_at_uprobe(round, stack->user[0]))
		return NULL;
	do {
		why = next_chain(stack, &at, true, &chain, &end);
		for (i = 0; !why && i < chain.nr && i < TORTURE_MAX_DEPTH; i++, left++) {
			while (torture_is_name(name) &&
			       (left >= torture_depth(name) ||
				chain.digits[i] != (int)torture_digit(name, left))) {
				if (++left >= torture_depth(name)) {
					name = *torture_outer(name);
					left = 0;
				}
			}
			if (!torture_is_name(name))
				return "a frame of another chain";
		}
	} while (!why && end == END_CHAIN);
	return why;
}

/* The functions of a chain and of those outside of it, innermost first, as hexadecimal digits. */
static void note_chains(unsigned long name)
{
	char digits[TORTURE_MAX_DEPTH + 1];
	unsigned int left;

	for (; torture_is_name(name); name = *torture_outer(name)) {
		for (left = 0; left < torture_depth(name) && left < TORTURE_MAX_DEPTH; left++)
			digits[left] = "0123456789abcdef"[torture_digit(name, left)];
		digits[left] = '\0';
		pd_note("  chain %lx: %s", name, digits);
	}
}

static void note_stack(const char *what, struct round *round, const struct pd_rec *sample,
		       const struct pd_rec *stack)
{
	pd_note("%s, seed %lu: tid %u, time %llu, ip %llx, user's ip %llx, r12 %llx, r13 %llx",
		what, round->seed, sample->tid, sample->time, sample->ip, sample->regs[IP],
		sample->regs[IN_LEAF], sample->regs[CHAIN]);
	pd_note_stack("with", stack);
	note_chains(sample->regs[CHAIN]);
}

static void note_wrong(struct round *round, const char *why, const struct pd_rec *sample,
		       const struct pd_rec *stack)
{
	if (round->counts->wrong++ < SHOW)
		note_stack(why, round, sample, stack);
}

/* The set whose event took the sample, into its own buffer or into that of another set. */
static int set_of(const struct round *round, const struct pd_rec *sample)
{
	int i, cpu;

	for (i = 0; i < SETS; i++) {
		for (cpu = 0; cpu < round->sets[i].nr; cpu++) {
			if (round->sets[i].events[cpu].id == sample->id)
				return i;
		}
	}
	return SETS;
}

/* When was the sample's set switched off after it? */
static const struct off *off_after(const struct round *round, const struct pd_rec *sample)
{
	int set = set_of(round, sample);
	unsigned int i;

	for (i = 0; i < round->nr_offs; i++) {
		if (round->offs[i].set == set && round->offs[i].end >= sample->time)
			return &round->offs[i];
	}
	return NULL;
}

/*
 * A sample without a record.  The events may have been switched off first.  But if the same events
 * have a sample of the task in a later entry context, the record is owed.
 */
static void judge_bare(struct round *round, const struct pd_rec *sample)
{
	const struct off *off = off_after(round, sample);
	const struct pd_rec *other = sample;

	round->counts->bare++;
	if (!off || sample->time >= off->begin || round->log.lost || round->log.dropped)
		return;
	while (pd_log_next(&round->log, PERF_RECORD_SAMPLE, &other)) {
		if (other->tid == sample->tid && other->time > sample->time &&
		    other->time < off->begin && other->deferred &&
		    other->cookie != sample->cookie &&
		    set_of(round, other) == set_of(round, sample))
			break;
	}
	if (other && round->counts->owed++ < SHOW)
		note_stack("owed", round, sample, other);
}

/*
 * Does a stack from @ip begin at @first?  At a uprobe, the instruction pointer is behind the
 * breakpoint, in a page for copies of instructions, or in the trampoline of uretprobes.
 */
static bool is_start(__u64 ip, __u64 first)
{
	enum kind kind = kind_of(first, false);

	if (ip == first + 1)
		return kind == DIGIT;
	return ip == first || (kind_of(ip, false) == OTHER && (kind == DIGIT || kind == ENTER));
}

/* Is this the last stack of its task?  A task that was killed takes no page faults. */
static bool is_last(const struct round *round, const struct pd_rec *stack)
{
	const struct pd_rec *other = NULL;

	while (pd_log_next(&round->log, PD_RECORD_DEFERRED, &other)) {
		if (other->tid == stack->tid && other->time > stack->time &&
		    other->cookie != stack->cookie)
			return false;
	}
	return true;
}

/* A cut stack counts once, and not for each of its samples. */
static void note_cut(struct round *round, const struct pd_rec *sample, const struct pd_rec *stack)
{
	unsigned int i;

	for (i = 0; i < round->nr_cuts; i++) {
		if (round->cuts[i] == stack)
			return;
	}
	if (i < MOST_CUTS)
		round->cuts[round->nr_cuts++] = stack;
	if (round->counts->cut++ < SHOW)
		note_stack("cut", round, sample, stack);
}

/* Stacks whose sample has no name in r13 are of torture_root() or of other code. */
static void judge_sample(struct round *round, const struct pd_rec *sample)
{
	struct counts *counts = round->counts;
	const struct pd_rec *stack;
	enum pd_half half = pd_user_half(&round->log, sample, &stack);
	const char *why;
	bool whole = false;

	if (!torture_is_name(sample->regs[CHAIN]))
		return;
	if (half == PD_BARE)
		judge_bare(round, sample);
	counts->none += half == PD_NONE;
	if (!stack)
		return;
	/* the registers are being stored, for a signal or by sigreturn */
	if (!stack->nr_user) {
		counts->empty++;
		return;
	}
	counts->judged++;
	counts->in_place += half == PD_INPLACE;
	if (!is_start(sample->regs[IP], stack->user[0]))
		return note_wrong(round, "not where it was sampled", sample, stack);
	why = judge(sample, stack, &whole);
	if (why && half == PD_INPLACE) {
		counts->skipped++;
		why = judge_in_place(round, sample, stack);
	}
	if (why)
		return note_wrong(round, why, sample, stack);
	if (half == PD_INPLACE)
		return;
	if (whole)
		counts->whole++;
	else if (is_last(round, stack))
		counts->dying++;
	else
		note_cut(round, sample, stack);
}

/* The same record in several buffers must be the same. */
static void compare_records(struct round *round)
{
	const struct pd_rec *rec = NULL, *first;

	while (pd_log_next(&round->log, PD_RECORD_DEFERRED, &rec)) {
		first = pd_log_record(&round->log, rec->tid, rec->cookie);
		if (first->nr_user != rec->nr_user ||
		    memcmp(first->user, rec->user, rec->nr_user * sizeof(*rec->user)))
			note_wrong(round, "two records of a cookie differ", first, rec);
	}
}

static void switch_off(struct round *round, int set)
{
	struct off off = { .set = set, .begin = pd_now_ns() };

	pd_set_disable(&round->sets[set]);
	off.end = pd_now_ns();
	round->offs[round->nr_offs++] = off;
}

static void judge_round(struct round *round)
{
	const struct pd_rec *sample = NULL;
	int i;

	for (i = 0; i < SETS; i++) {
		switch_off(round, i);
		pd_set_drain(&round->sets[i], &round->log);
	}
	while (pd_log_next(&round->log, PERF_RECORD_SAMPLE, &sample))
		judge_sample(round, sample);
	compare_records(round);
	for (i = 0; i < SETS; i++)
		pd_set_close(&round->sets[i]);
}

/* Attrs of one of the kinds of events; of the CPU clock if @dice is 15. */
static int make_attr(struct perf_event_attr *attr, unsigned long dice)
{
	int digit;

	pd_attr_clock(attr, pd_hz(2000 + dice % 8000));
	switch (dice % 16) {
	case 0:
		attr->config = PERF_COUNT_SW_PAGE_FAULTS;
		attr->sample_period = 1 + (dice >> 8) % 4;
		break;
	case 1:
		attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
		attr->sample_period = 1 + (dice >> 8) % 4;
		break;
	case 2:
		PD_TRY(pd_attr_tracepoint(attr, "raw_syscalls", "sys_enter"));
		attr->sample_period = 1 + (dice >> 8) % 8;
		break;
	case 3:
		PD_TRY(pd_attr_tracepoint(attr, "raw_syscalls", "sys_exit"));
		attr->sample_period = 1 + (dice >> 8) % 8;
		break;
	case 4:
		PD_TRY(pd_attr_kprobe(attr, "__x64_sys_getppid"));
		break;
	case 5:
		pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, 0);
		break;
	case 6:
		/* in the middle of the return from a function, too */
		has_uprobe(dice, &digit);
		PD_TRY(pd_attr_uprobe(attr, torture_digits[digit], (dice >> 16) % 2));
		break;
	case 7:
		/* in NMIs that shake() asks for */
		if ((dice >> 8) % 2)
			PD_TRY(pd_attr_kprobe(attr, "show_regs"));
		break;
	}
	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = 1ULL << X86_IP | 1ULL << X86_R12 |
				 1ULL << X86_R13;
	attr->inherit = 1;
	return 0;
}

/* Let the events of a set write to the buffers of another set. */
static int redirect(struct pd_set *set, const struct pd_set *to)
{
	int i;

	for (i = 0; i < set->nr && i < to->nr; i++) {
		if (ioctl(set->events[i].fd, PERF_EVENT_IOC_SET_OUTPUT, to->events[i].fd))
			return pd_fail("PERF_EVENT_IOC_SET_OUTPUT: %s", strerror(errno));
	}
	return 0;
}

/* The first set samples by the CPU clock, and stays on. The last one has no buffers of its own. */
static int open_sets(struct round *round, pid_t pid)
{
	struct perf_event_attr attr;
	int i, err;

	for (i = 0; i < SETS; i++) {
		PD_TRY(make_attr(&attr, i ? torture_mix(round->seed + i) : 15));
		err = pd_set_open(&round->sets[i], &attr, pid, i < SETS - 1 ? PAGES : 0);
		PD_CHECK(!err, "perf_event_open: %s", strerror(err));
		if (i == SETS - 1)
			PD_TRY(redirect(&round->sets[i], &round->sets[i - 1]));
		round->enabled[i] = i % 2 == 0;
		if (round->enabled[i])
			pd_set_enable(&round->sets[i]);
	}
	return 0;
}

/* Switch one of the other sets on or off. */
static void toggle(struct round *round, unsigned long dice)
{
	int i = 1 + dice % (SETS - 1);

	/* enough room for judge_round() */
	if (round->nr_offs + SETS == OFFS)
		return;
	round->enabled[i] = !round->enabled[i];
	if (round->enabled[i])
		pd_set_enable(&round->sets[i]);
	else
		switch_off(round, i);
}

/* Send NMIs to all CPUs, or take the second one off or bring it back. */
static void shake(unsigned long dice)
{
	if (dice % 8 == 0)
		pd_write_str("/proc/sysrq-trigger", "l");
	else if (dice % 64 == 1)
		pd_write_str(CPU_1, "0");
	else if (dice % 8 == 1)
		pd_write_str(CPU_1, "1");
}

static int run_process(void *unused)
{
	(void)unused;
	setpriority(PRIO_PROCESS, 0, 19);	/* so that the reader keeps up */
	torture->main_pid = getpid();
	setpgid(0, 0);
	return torture_process(2 + torture->seed % 3, -1UL);
}

static void new_round(struct round *round)
{
	memset(torture, 0, offsetof(struct torture_shared, program));
	torture->seed = round->seed;
	torture->end = pd_scale(CHAINS);
	torture->on_altstack = torture_mix(round->seed) % 2;
}

static int run_round(struct round *round)
{
	unsigned long dice = torture_mix(round->seed);
	long long end = pd_end_of_wait(120);
	struct perf_event_attr attr;
	struct pd_child child;
	int i, status;

	new_round(round);
	/* a thread that inherits such an event reads its attr again, with the path in its memory */
	PD_TRY(pd_attr_uprobe(&attr, torture_digits[0], false));
	PD_TRY(pd_child_start(&child, run_process, NULL));
	PD_TRY(open_sets(round, child.pid));
	pd_child_go(&child);
	do {
		dice = torture_mix(dice);
		status = pd_child_wait(&child, 0);
		pd_sleep_ms(1 + dice % 16);
		if (dice & 1 << 20)
			toggle(round, dice >> 8);
		shake(dice >> 24);
		for (i = 0; i < SETS; i++)
			pd_set_drain(&round->sets[i], &round->log);
	} while (status == -1 && pd_now_ns() < end);
	/* its children, too */
	kill(-child.pid, SIGKILL);
	pd_write_str(CPU_1, "1");
	judge_round(round);
	PD_CHECK(!status, "seed %lu: the process ended with %#x", round->seed, status);
	PD_CHECK(!round->log.malformed[0], "seed %lu: malformed: %s", round->seed,
		 round->log.malformed);
	return 0;
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static int make_shared(void)
{
	int fd = memfd_create("torture", 0);

	PD_CHECK(fd >= 0 && !ftruncate(fd, sizeof(*torture)) && dup2(fd, TORTURE_FD) >= 0 &&
		 torture_map(fd), "shared memory: %s", strerror(errno));
	close(fd);
	PD_CHECK(readlink("/proc/self/exe", torture->program, sizeof(torture->program) - 1) > 0,
		 "/proc/self/exe: %s", strerror(errno));
	return 0;
}

static void note_counts(const struct round *round)
{
	const struct counts *counts = round->counts;

	pd_note("seed %lu: %zu stacks, %zu whole, %zu cut, %zu more when their task died",
		round->seed, counts->judged, counts->whole, counts->cut, counts->dying);
	pd_note("  %zu are in place, of which %zu skip frames", counts->in_place, counts->skipped);
	pd_note("  %zu more have none; records: %llu lost, %zu empty, %zu missing, %zu owed",
		counts->none, round->log.lost + round->log.dropped, counts->empty, counts->bare,
		counts->owed);
}

/* The processes of eh_torture have no frame pointers, but tables. */
int PD_ATTR(weak) eh_usable(void);

static int rounds(void)
{
	unsigned long enough = number_from("PERF_DEFERRED_SAMPLES", pd_scale(SAMPLES));
	unsigned long first = number_from("PERF_DEFERRED_SEED", pd_now_ns() / 1000000), seed;
	struct counts counts = {};

	if (eh_usable)
		PD_TRY(eh_usable());
	PD_TRY(make_shared());
	pd_make_swap();
	pd_write_str(CPU_1, "1");
	for (seed = first; counts.judged < enough && !counts.wrong && !counts.owed; seed++) {
		static struct round round;
		int ret;

		memset(&round, 0, sizeof(round));
		round.seed = seed;
		round.counts = &counts;
		ret = run_round(&round);

		note_counts(&round);
		pd_log_free(&round.log);
		if (ret)
			return ret;
	}
	/*
	 * By frame pointers, of new threads whose parent has a uretprobe; or after a second, which
	 * is short on a busy machine.
	 */
	PD_CHECK(counts.cut <= 10 + counts.judged / 1000, "%zu of %zu stacks are cut", counts.cut,
		 counts.judged);
	/* execve, exit, and registers that are being stored */
	PD_CHECK((counts.none + counts.empty) * 10 <= counts.judged,
		 "%zu samples have no user stack, and %zu an empty record", counts.none,
		 counts.empty);
	PD_CHECK(!counts.owed, "%zu samples have no record", counts.owed);
	PD_CHECK(!counts.wrong, "%zu of %zu stacks are wrong", counts.wrong, counts.judged);
	return PD_PASS;
}

/* Programs that the processes execute: this one again. */
PD_ATTR(constructor) static void be_program(int argc, char **argv)
{
	struct perf_event_attr attr;

	if (argc != 2 || strcmp(argv[1], "--torture"))
		return;
	if (!torture_map(TORTURE_FD) || pd_attr_uprobe(&attr, torture_digits[0], false))
		_exit(1);
	_exit(torture_process(1, 8));
}

const struct pd_test pd_tests[] = {
	PD_TEST(rounds),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

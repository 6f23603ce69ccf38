// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a sample with a user callchain.  To be run in a VM whose clock
 * advances by one nanosecond for each instruction, so that times are instructions; or on
 * any machine that counts cycles.
 *
 * A tracepoint in a system call is sampled with a known number of user frames, either
 * once or many times in each system call.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench-event.h"

#define SAMPLES		1000
#define ROUNDS		5	/* enough, as the number of instructions varies little */
#define CYCLE_ROUNDS	200

struct work {
	const char *name;
	const char *tracepoint;
	void (*run)(void);
};

static uint64_t spent;		/* duration of the last measured run */
static unsigned int last_frames;	/* number of frames in the last deferred record, or 0 */
static const char *unit = "instructions";
static int rounds = ROUNDS;

/* One sample in each system call. */
static void many_stays(void)
{
	for (int i = 0; i < SAMPLES; i++)
		syscall(SYS_getppid);
}

/* All samples in one system call. */
static void one_stay(void)
{
	size_t size = SAMPLES * PAGE;
	char *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, size, MADV_NOHUGEPAGE);
	if (madvise(p, size, MADV_POPULATE_WRITE))
		die("madvise");
	munmap(p, size);
}

static const struct work works[] = {
	{ "one sample a stay", "syscalls/sys_enter_getppid", many_stays },
	{ "1000 samples a stay", "kmem/mm_page_alloc", one_stay },
};

static __attribute__((noinline)) void at_depth(int depth, void (*run)(void))
{
	if (depth > 1) {
		at_depth(depth - 1, run);
	} else {
		uint64_t start = now();

		run();
		spent = now() - start;
	}
	__asm__ volatile("" ::: "memory");	/* no tail call */
}

/* Like at_depth(), with frames of one kilobyte. */
static __attribute__((noinline)) void at_wide_depth(int depth, void (*run)(void))
{
	char room[1000];

	__asm__ volatile("" :: "r" (room) : "memory");
	if (depth > 1)
		at_wide_depth(depth - 1, run);
	else
		at_depth(1, run);
	__asm__ volatile("" :: "r" (room) : "memory");
}

static void (*descend)(int depth, void (*run)(void)) = at_depth;

/* Return the cost of a run of @work at @depth; store the number of samples in @samples. */
static uint64_t measure_once(const struct work *work, int depth, enum mode mode,
			     unsigned int *samples)
{
	struct counts counts;
	struct event event;

	*samples = 0;
	if (mode == OFF) {
		descend(depth, work->run);
		return spent;
	}

	event_open(&event, work->tracepoint, mode);
	descend(depth, work->run);
	event_stop(&event);
	event_count(&event, &counts);
	event_close(&event);
	*samples = counts.samples;
	last_frames = counts.frames;
	return spent;
}

static uint64_t measure(const struct work *work, int depth, enum mode mode, unsigned int *samples)
{
	uint64_t best = UINT64_MAX;

	*samples = 0;
	for (int i = 0; i < rounds; i++) {
		uint64_t t = measure_once(work, depth, mode, samples);

		if (t < best)
			best = t;
	}
	return best;
}

static double per_sample(const struct work *work, int depth, enum mode mode, uint64_t off)
{
	unsigned int samples;
	uint64_t t = measure(work, depth, mode, &samples);

	if (!samples) {
		fprintf(stderr, "bench-sample: no samples\n");
		exit(1);
	}
	return ((double)t - off) / samples;
}

/* The cost of a deferred sample with its walk, and the number of frames in its record. */
struct walked {
	double cost;
	unsigned int frames;
};

static void row(const struct work *work, int depth, struct walked *walked)
{
	unsigned int samples;
	uint64_t off = measure(work, depth, OFF, &samples);
	double cost;

	printf("%-20s %6d", work->name, depth);
	for (enum mode mode = BARE; mode <= DEFERRED; mode++) {
		cost = per_sample(work, depth, mode, off);
		printf(" %12.0f", cost);
	}
	printf("\n");
	*walked = (struct walked){ cost, last_frames };
}

/*
 * The cost that a deferred sample, its walk and its record would have if the stack had no frames.
 * The two depths give the cost of a frame, and the cost of all frames of @few is subtracted.
 */
static void row_without_frames(const struct walked *few, const struct walked *many)
{
	double frame = (many->cost - few->cost) / (many->frames - few->frames);

	printf("%-20s %6d %12s %12s %12.0f\n", "no frames", 0, "-", "-",
	       few->cost - few->frames * frame);
}

/*
 * Measure the cost of a frame. A hundred functions call one another, each from a
 * different address; there is one sample and one walk in each system call.
 */
#define METHODS		"/proc/sys/kernel/unwind_user_methods"
#define CALLS		100

#ifdef HAVE_FP
#define HAS_FP		true
#define FRAMES		"with fp"
#else
#define HAS_FP		false
#define FRAMES		"without"
#endif

enum { FP = 1, EH_FRAME = 2 };

static void (*at_the_end)(void);

static void link_end(void)
{
	uint64_t start = now();

	at_the_end();
	spent = now() - start;
}

#define LINK(n, next)							\
	static __attribute__((noinline)) void link_##n(void)		\
	{								\
		next();							\
		__asm__ volatile("" ::: "memory");			\
	}
#define TEN(t, next)							\
	LINK(t##9, next) LINK(t##8, link_##t##9) LINK(t##7, link_##t##8) \
	LINK(t##6, link_##t##7) LINK(t##5, link_##t##6) LINK(t##4, link_##t##5) \
	LINK(t##3, link_##t##4) LINK(t##2, link_##t##3) LINK(t##1, link_##t##2) \
	LINK(t##0, link_##t##1)

TEN(9, link_end) TEN(8, link_90) TEN(7, link_80) TEN(6, link_70) TEN(5, link_60)
TEN(4, link_50) TEN(3, link_40) TEN(2, link_30) TEN(1, link_20) TEN(0, link_10)

/* This function realigns the stack, and its frame has no fixed size: its rule is uncommon. */
static __attribute__((noinline)) void realigned(int depth)
{
	char fixed[64] __attribute__((aligned(64)));
	char *room = __builtin_alloca(100 + depth % 2);

	__asm__ volatile("" : : "r" (room), "r" (fixed) : "memory");
	if (depth > 1)
		realigned(depth - 1);
	else
		link_end();
	__asm__ volatile("" ::: "memory");
}

static void realigned_100(void)
{
	realigned(100);
}

static void realigned_10(void)
{
	realigned(10);
}

/* A chain of calls like link_00() to link_99(), in writable code made at run time. */
#ifdef HAVE_FP
#define PROLOGUE	0x55, 0x48, 0x89, 0xe5		/* push %rbp; mov %rsp, %rbp */
#define EPILOGUE	0x5d, 0xc3			/* pop %rbp; ret */
#else
#define PROLOGUE	0x48, 0x83, 0xec, 0x08		/* sub $8, %rsp */
#define EPILOGUE	0x48, 0x83, 0xc4, 0x08, 0xc3	/* add $8, %rsp; ret */
#endif
#define MADE_BYTES	32

static void (*made_code(int depth))(void)
{
	static const unsigned char first[] = { PROLOGUE }, last[] = { EPILOGUE };
	unsigned char *code = mmap(NULL, 100 * MADE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = code;
	void (*end)(void) = link_end;
	int32_t next;

	if (code == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < depth; i++) {
		to = mempcpy(code + i * MADE_BYTES, first, sizeof(first));
		if (i < depth - 1) {
			*to++ = 0xe8;				/* call the next one */
			next = code + (i + 1) * MADE_BYTES - (to + sizeof(next));
			to = mempcpy(to, &next, sizeof(next));
		} else {
			to = mempcpy(to, "\x48\xb8", 2);	/* movabs $end, %rax */
			to = mempcpy(to, &end, sizeof(end));
			to = mempcpy(to, "\xff\xd0", 2);	/* call *%rax */
		}
		memcpy(to, last, sizeof(last));
	}
	return (void (*)(void))code;
}

static int use_methods(int methods)
{
	FILE *f = fopen(METHODS, "w");

	if (!f)
		return -1;
	fprintf(f, "%d", methods);
	return fclose(f);
}

/* Drop the cached rules, as under memory pressure. */
static void forget_rules(void)
{
	FILE *f = fopen("/proc/sys/vm/drop_caches", "w");

	if (!f)
		die("drop_caches");
	fprintf(f, "2");
	fclose(f);
}

static void one_call(void)
{
	syscall(SYS_getppid);
}

static void many_calls(void)
{
	for (int i = 0; i < CALLS; i++)
		one_call();
}

/* Measure @run, called through the functions that begin at @first; @cold: without cached rules. */
static double walks(void (*first)(void), void (*run)(void), bool cold)
{
	uint64_t best = UINT64_MAX;

	at_the_end = run;
	for (int i = 0; i < rounds; i++) {
		struct counts counts;
		struct event event;

		event_open(&event, "syscalls/sys_enter_getppid", DEFERRED);
		first();
		if (cold) {
			forget_rules();
			first();
		}
		event_stop(&event);
		event_count(&event, &counts);
		event_close(&event);
		if (!counts.samples)
			die("no samples");
		if (spent < best)
			best = spent;
	}
	return best;
}

/* Return the cost of a frame. @deep has 90 frames more than @shallow. */
static double frame_cost_of(void (*deep)(void), void (*shallow)(void), int methods, bool cold)
{
	void (*run)(void) = cold ? one_call : many_calls;
	double more;

	use_methods(methods);
	more = walks(deep, run, cold) - walks(shallow, run, cold);
	use_methods(FP | EH_FRAME);
	return more / 90 / (cold ? 1 : CALLS);
}

static double frame_cost(int methods, bool cold)
{
	return frame_cost_of(link_00, link_90, methods, cold);
}

static void frames(void)
{
	if (use_methods(FP | EH_FRAME))
		return;
	printf("\n%s%-*s %13s\n", unit, (int)(32 - strlen(unit)), "/frame, " FRAMES, "deferred");
#ifdef HAVE_FP
	printf("%-32s %13.0f\n", "frame pointers", frame_cost(FP, false));
#endif
	printf("%-32s %13.0f\n", "tables, warm", frame_cost(FP | EH_FRAME, false));
	printf("%-32s %13.0f\n", "tables, warm, stack realigned",
	       frame_cost_of(realigned_100, realigned_10, FP | EH_FRAME, false));
	printf("%-32s %13.0f\n", "tables, cold", frame_cost(FP | EH_FRAME, true));
	/* drop the rules of the measurements above */
	forget_rules();
	printf("%-32s %13.0f\n", "no tables, warm",
	       frame_cost_of(made_code(100), made_code(10), FP | EH_FRAME, false));
}

static void samples(void)
{
	static const int depths[] = { 10, 100 };
	struct walked walked[2];

	printf("%s%-*s %6s %12s %12s %12s\n", unit, (int)(20 - strlen(unit)), "/sample",
	       "depth", "no callchain", "in place", "deferred");
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		for (size_t j = 0; j < sizeof(depths) / sizeof(depths[0]); j++)
			row(&works[i], depths[j], &walked[j]);
		if (works[i].run == many_stays)
			row_without_frames(&walked[0], &walked[1]);
	}
}

/*
 * Print the cost of taking a sample, and the total cost if each sample needs a walk.  For the
 * first, a thousand samples in one system call share one walk, so a sample's part of the walk
 * is negligible.
 */
static void ways_at(const char *name, int depth)
{
	static const struct {
		enum mode mode;
		const char *name;
		bool fp;
	} ways[] = {
		{ IN_PLACE, "fp", true }, { DEFERRED, "fp,defer", true },
		{ DEFERRED, "defer", false }, { DUMP_8K, "dwarf,8192", false },
		{ DUMP_64K, "dwarf,65528", false },
	};
	uint64_t off[2];
	unsigned int samples;

	for (int i = 0; i < 2; i++)
		off[i] = measure(&works[i], depth, OFF, &samples);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].fp != HAS_FP)
			continue;
		printf("%s %s %.0f %.0f\n", name, ways[i].name,
		       per_sample(&works[1], depth, ways[i].mode, off[1]),
		       per_sample(&works[0], depth, ways[i].mode, off[0]));
	}
}

/* Print lines: load, kind of user stacks, instructions of taking a sample, total instructions. */
static void stacks(void)
{
	if (HAS_FP)
		use_methods(FP);
	ways_at("30-frames", 30);
	descend = at_wide_depth;
	ways_at("200-KiB", 200);
	use_methods(FP | EH_FRAME);
}

/* If cycles are not counted, print a note; this is not a failure. */
static bool use_cycles(void)
{
	if (!count_cycles()) {
		printf("cycles are not counted here: %m\n");
		return false;
	}
	unit = "cycles";
	rounds = CYCLE_ROUNDS;
	return true;
}

/*
 * "frames": measure only a frame of each kind; "stacks": only each kind of user stack;
 * "cycles": samples and frames, in cycles
 */
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "stacks")) {
		stacks();
		return 0;
	}
	if (!strcmp(what, "cycles") && !use_cycles())
		return 0;
	if (strcmp(what, "frames") && HAS_FP)
		samples();
	frames();
	return 0;
}

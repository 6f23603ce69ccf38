// SPDX-License-Identifier: GPL-2.0
/*
 * Time walks of the process's own stack: by kernel/unwind/, with all rules in the cache, by
 * libunwind, by glibc, and by frame pointers.
 *
 *	walk_ratio [ROUNDS]	print a table; status 1 if a walk has found a wrong frame
 *
 * In each round, all unwinders walk in turn.  The numbers are medians of all rounds.
 *
 * What the kernel does besides the walk is not measured: kernel entry and task work, counters,
 * writing the record, stac and clac.  Its registers are saved for each walk.
 */

#define UNW_LOCAL_ONLY

#include <dlfcn.h>
#include <errno.h>
#include <libunwind.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_walk.h>
#include <asm/ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory_file.h"
#include "ratio_chain.h"
#include "replay_kernel.h"
#include "unwind.h"

#define MAX_ROUNDS	100000

unsigned int ratio_pagefaults_off;
unsigned long ratio_returns[RATIO_LINKS + 1];
unsigned int ratio_nr_returns;

static unsigned int rounds = 1001, round_nr, walk_nr;
static unsigned long returns_to_end;	/* the return address of the walks themselves */
static bool with_fp;
static bool failed;

/* memory: only the walks that find the rules call these functions */

int replay_read(unsigned long addr, void *to, size_t len)
{
	memcpy(to, (void *)addr, len);
	return 0;
}

int unwind_read(struct unwind_walk *state, unsigned long addr, void *to, size_t len)
{
	return replay_read(addr, to, len);
}

int __unwind_read_word(struct unwind_walk *state, unsigned long addr,
		       unsigned long *val)
{
	return addr % sizeof(*val) ? -EFAULT : replay_read(addr, val, sizeof(*val));
}

int unwind_read_file(struct unwind_walk *state, unsigned long addr, u64 pos,
		     void *to, size_t len)
{
	return -EOPNOTSUPP;
}

/* the walks: each finds its own frame, and then its callers */

static unsigned int walk_note(unsigned long *entries, unsigned int max)
{
	returns_to_end = (unsigned long)__builtin_return_address(0);
	return 0;
}

static unsigned int walk_fp(unsigned long *entries, unsigned int max)
{
	const unsigned long *fp = __builtin_frame_address(0), *next;
	unsigned int nr = 0;

	entries[nr++] = (unsigned long)walk_fp;
	while (nr < max) {
		entries[nr++] = fp[1];
		next = (const unsigned long *)fp[0];
		if (next <= fp || (unsigned long)next % sizeof(*next))
			break;
		fp = next;
	}
	return nr;
}

static __always_inline void save_regs(struct pt_regs *regs)
{
	unsigned long ip;

	asm volatile("mov %%rbx, %1\n\tmov %%rbp, %2\n\tmov %%rsp, %3\n\tmov %%r12, %4\n\t"
		     "mov %%r13, %5\n\tmov %%r14, %6\n\tmov %%r15, %7\n\tlea 0f(%%rip), %0\n0:"
		     : "=&r" (ip), "=m" (regs->bx), "=m" (regs->bp), "=m" (regs->sp),
		       "=m" (regs->r12), "=m" (regs->r13), "=m" (regs->r14), "=m" (regs->r15));
	regs->ip = ip;
}

static unsigned int walk_kernel(unsigned long *entries, unsigned int max)
{
	struct unwind_stacktrace trace = { .entries = entries };

	save_regs(&replay_regs);
	unwind_walk(&trace, max);
	return trace.nr;
}

/* The result is used here, so that the calls are not tail calls. */

static unsigned int walk_libunwind(unsigned long *entries, unsigned int max)
{
	int nr = unw_backtrace((void **)entries, max);

	OPTIMIZER_HIDE_VAR(nr);
	return nr;
}

static unsigned int walk_unw_step(unsigned long *entries, unsigned int max)
{
	unsigned int nr = 0;
	unw_context_t regs;
	unw_cursor_t cursor;

	unw_getcontext(&regs);
	unw_init_local(&cursor, &regs);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &entries[nr++]);
	} while (nr < max && unw_step(&cursor) > 0);
	return nr;
}

/* libunwind has a backtrace(), too */
static int (*glibc_backtrace)(void **entries, int max);

static unsigned int walk_glibc(unsigned long *entries, unsigned int max)
{
	int nr = glibc_backtrace((void **)entries, max);

	OPTIMIZER_HIDE_VAR(nr);
	return nr;
}

static const struct {
	const char	*name;
	ratio_walk_t	walk;
} unwinders[] = {
	{ NULL, walk_note },
	{ "frame pointers", walk_fp },
	{ "kernel/unwind", walk_kernel },
	{ "libunwind, unw_backtrace()", walk_libunwind },
	{ "libunwind, unw_step()", walk_unw_step },
	{ "glibc, backtrace()", walk_glibc },
};

static unsigned long *times[2][ARRAY_SIZE(unwinders)];

/* the end of the chain */

unsigned long ratio_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

ratio_walk_t ratio_next(void)
{
	do {
		if (++walk_nr == ARRAY_SIZE(unwinders)) {
			walk_nr = 0;
			round_nr++;
		}
	} while (unwinders[walk_nr].walk == walk_fp && !with_fp);
	return round_nr < rounds ? unwinders[walk_nr].walk : NULL;
}

/* The true return address of a frame. */
static unsigned long true_return(unsigned int frame)
{
	return frame == 1 ? returns_to_end : ratio_returns[ratio_nr_returns + 1 - frame];
}

static void check_frames(const unsigned long *entries, unsigned int nr)
{
	unsigned int i = nr == RATIO_FRAMES;

	while (i && i < nr && entries[i] == true_return(i))
		i++;
	if (i == nr)
		return;
	if (!failed)
		printf("# %s: %u frames, frame %u is wrong\n", unwinders[walk_nr].name, nr, i);
	failed = true;
}

void ratio_done(unsigned long ns, const unsigned long *entries, unsigned int nr)
{
	if (!unwinders[walk_nr].name)
		return;
	times[with_fp][walk_nr][round_nr] = ns;
	check_frames(entries, nr);
}

/* the table */

static int compare_times(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* a median of a walk, in tenths of a nanosecond */
static unsigned long median(bool fp, unsigned int i)
{
	return times[fp][i][rounds / 2] * 10 / RATIO_WALKS;
}

static void print_time(unsigned long time, unsigned long fp_loop)
{
	const unsigned long ratio = time * 10 / fp_loop;

	if (time)
		printf(" %10lu.%lu %8lu.%lu", time / 10, time % 10, ratio / 10, ratio % 10);
	else
		printf(" %12s %10s", "-", "-");
}

static void print_table(void)
{
	unsigned int i;

	printf("%-28s %23s %23s\n", "", "with frame pointers", "without");
	printf("%-28s %12s %10s %12s %10s\n", "a walk of 64 frames", "ns", "ratio", "ns", "ratio");
	for (i = 1; i < ARRAY_SIZE(unwinders); i++) {
		printf("%-28s", unwinders[i].name);
		print_time(median(true, i), median(true, 1));
		print_time(median(false, i), median(true, 1));
		putchar('\n');
	}
}

/* The first walk finds the rules; the quick steps know them from then on. */
static void run_chain(bool fp)
{
	with_fp = fp;
	walk_nr = -1;
	round_nr = 0;
	if (fp)
		ratio_chain_fp();
	else
		ratio_chain_plain();
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2 || !rounds || rounds > MAX_ROUNDS)
		exit_error("usage: walk_ratio [ROUNDS]");
	for (i = 0; i < 2 * ARRAY_SIZE(unwinders); i++) {
		times[i % 2][i / 2] = calloc(rounds, sizeof(times[0][0][0]));
		if (!times[i % 2][i / 2])
			exit_error("no memory");
	}
	glibc_backtrace = dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	if (!glibc_backtrace)
		exit_error("no backtrace() in glibc");
	read_maps(getpid());
	replay_regs = (struct pt_regs) { .orig_ax = -1, .cs = 0x33, .ss = 0x2b, .flags = 0x202 };
	has_cache = true;
	run_chain(true);
	run_chain(false);
	for (i = 0; i < 2 * ARRAY_SIZE(unwinders); i++)
		qsort(times[i % 2][i / 2], rounds, sizeof(times[0][0][0]), compare_times);
	print_table();
	return failed;
}

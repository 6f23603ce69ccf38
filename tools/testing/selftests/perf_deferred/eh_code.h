/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks made of steps: each step is a function that stores its return address
 * and calls the next one, so that the expected stack is known.
 */
#ifndef EH_CODE_H
#define EH_CODE_H

#include <stdbool.h>

#include "pd_compiler.h"

#define EH_MAX_STEPS	256
#define EH_MAX_TAIL	32

struct eh_walk;
typedef long (*eh_step)(struct eh_walk *walk);

struct eh_walk {
	const eh_step *steps;			/* from the outermost to a leaf */
	unsigned int at;
	unsigned long ra[EH_MAX_STEPS];		/* in the order of the calls */
	unsigned int nr;
	void *tail[EH_MAX_TAIL];		/* the callers of the first step */
	int nr_tail;
};

static inline PD_ATTR(always_inline) void eh_note(struct eh_walk *walk, unsigned long ip)
{
	walk->ra[walk->nr++] = ip;
}

/* An entry of ra[] that stands for up to EH_MAX_LIBRARY library frames and their caller. */
#define EH_LIBRARY	0UL
#define EH_MAX_LIBRARY	4

#define EH_ENTER(walk)	eh_note(walk, (unsigned long)__builtin_return_address(0))

static inline PD_ATTR(always_inline) long eh_next(struct eh_walk *walk)
{
	long ret = walk->steps[walk->at++](walk);

	asm volatile("" : "+r" (ret));
	return ret;
}

/* Like pd_syscall3(), but the caller need not set up a frame. */
static inline PD_ATTR(always_inline) long eh_syscall3(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "a" (nr), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return ret;
}

/*
 * The steps have no frame pointers. The leaf and the callers of libraries are in
 * sections of their own.
 */
PD_BOUNDS(eh_text_leaf);
PD_BOUNDS(eh_text_library);

long eh_leaf(struct eh_walk *walk);		/* getppid() */
long eh_deep(struct eh_walk *walk);		/* 1 KiB of locals */
long eh_plain(struct eh_walk *walk);
long eh_pushes(struct eh_walk *walk);		/* uses all callee-saved registers */
long eh_allocates(struct eh_walk *walk);	/* a frame of no fixed size */
long eh_aligned(struct eh_walk *walk);		/* a realigned stack */
long eh_aligned_call(struct eh_walk *walk);	/* a stack that is realigned at entry */
long eh_aligned_allocates(struct eh_walk *walk);
void eh_note_step(struct eh_walk *walk, unsigned long ip);	/* for steps in assembly */
long eh_based_on_rbx(struct eh_walk *walk);	/* calls eh_plain() */
long eh_based_on_r15(struct eh_walk *walk);
long eh_on_stack(struct eh_walk *walk, void *top);	/* calls eh_plain() with another sp */
long eh_with_frame(struct eh_walk *walk, void *frame);	/* calls eh_leaf() with another fp */
extern const char eh_with_frame_ra[];			/* the return address of that call */
long eh_sorts(struct eh_walk *walk);		/* qsort_r() calls the next step */
long eh_searches(struct eh_walk *walk);		/* bsearch() calls the next step */

/* Steps that continue in a handler of SIGUSR1 and SIGUSR2. */
long eh_raises_usr1(struct eh_walk *walk);
long eh_raises_usr2(struct eh_walk *walk);
int eh_handle(int sig, bool on_altstack);

/* Calls getppid(). The next instruction belongs to another function, with another frame. */
long eh_ends_in_syscall(void);
/* Loads from @from, then calls @to; each instruction can be probed. */
void eh_probed_leaf(void *from, const void *to);
void eh_probed_target(void);
extern const char eh_probed_load[], eh_probed_loaded[], eh_probed_call[], eh_probed_called[];

/* Spins in small functions, with a short system call now and then. */
void eh_spin(long milliseconds);

#endif /* EH_CODE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that name themselves, in registers and in frames. A chain is a call of torture_enter(),
 * which calls one of 16 functions, which calls another one, and so on, up to 12 of them.  The last
 * one calls torture_leaf(), which calls an operation.  The name of the chain chooses the functions,
 * and is in r13 while the chain exists.  While the leaf runs, the name is in r12, too.  So the user
 * registers of a sample tell which frames its stack must have, whatever the task does.
 *
 * A signal handler, or an operation, can begin another chain: torture_outer() is the name that was
 * in r13 before.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <linux/types.h>
#include <stdbool.h>

#include "pd_compiler.h"

#define TORTURE_MAGIC		0x70d5ULL
#define TORTURE_DIGITS		16
#define TORTURE_MAX_DEPTH	12
#define TORTURE_NAMES		(1UL << 21)
/* chains in a chain, at most */
#define TORTURE_LEVELS		4
/* the descriptor of the shared memory in programs that are executed */
#define TORTURE_FD		200

/* All processes of a round map this. */
struct torture_shared {
	unsigned long	seed;
	unsigned long	next;			/* number of chains, and of the next one */
	unsigned long	end;			/* end the round at this number of chains */
	unsigned long	kids;			/* children of the first process, now */
	unsigned long	processes;		/* that were started */
	int		main_pid;
	bool		on_altstack;
	char		program[512];
	unsigned long	outer[TORTURE_NAMES];
};

extern struct torture_shared *torture;

/* Frames are told by the section of their function, and those of the 16 functions by address. */
PD_BOUNDS(in_digit);
PD_BOUNDS(in_enter);
PD_BOUNDS(in_leaf);
PD_BOUNDS(in_op);
PD_BOUNDS(in_root);
PD_BOUNDS(in_clone);
PD_BOUNDS(in_handler);

/* addresses of the 16 functions, by digit */
extern long (* const torture_digits[TORTURE_DIGITS])(unsigned int left, unsigned long dice);

static inline bool torture_is_name(unsigned long name)
{
	return name >> 48 == TORTURE_MAGIC;
}

static inline unsigned int torture_depth(unsigned long name)
{
	return name >> 40 & 0xff;
}

static inline unsigned long torture_mix(unsigned long x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
	return x ^ x >> 33;
}

/* Which function is the chain's frame number @left, counted from the leaf? */
static inline unsigned int torture_digit(unsigned long name, unsigned int left)
{
	return torture_mix(name) >> 4 * left & (TORTURE_DIGITS - 1);
}

static inline unsigned long *torture_outer(unsigned long name)
{
	return &torture->outer[name & (TORTURE_NAMES - 1)];
}

/* Map the shared memory, made by the parent process. */
bool torture_map(int fd);
/* What a thread does: at most that many chains, until the round is over. */
long torture_root(unsigned long dice, unsigned long chains);
/* What a process does: threads, of which the first is its main thread. */
int torture_process(unsigned int threads, unsigned long chains);

#endif /* TORTURE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * A chain of 64 functions with different frames, and at its end the walks of walk_ratio.  The
 * Makefile compiles this twice: with frame pointers as ratio_chain_fp(), without as
 * ratio_chain_plain().  Every eighth function aligns its stack, and so always has a frame pointer.
 */

#include <stddef.h>

#include "ratio_chain.h"

typedef long (*link_t)(long a, long b);

static const link_t links[];

#define note_return()	\
	(ratio_returns[ratio_nr_returns++] = (unsigned long)__builtin_return_address(0))

static __attribute__((noinline)) long end_of_chain(long a, long b)
{
	unsigned long entries[RATIO_FRAMES], start = 0;
	unsigned int i, nr = 0;
	ratio_walk_t walk;

	note_return();
	while ((walk = ratio_next())) {
		/* all walks are called from the same place; the first is not timed */
		for (i = 0; i <= RATIO_WALKS; i++) {
			if (i == 1)
				start = ratio_now();
			/* the compiler must not make a second call for i == 1 */
			asm volatile("" : "+r" (i));
			nr = walk(entries, RATIO_FRAMES);
		}
		ratio_done(ratio_now() - start, entries, nr);
	}
	return a ^ b;
}

#define LINK(n)									\
static __attribute__((noinline)) long link_##n(long a, long b)			\
{										\
	enum { nr = (n) };							\
	char room[16 + nr * 40 % 176] __attribute__((aligned(nr % 8 ? 16 : 64)));	\
										\
	asm volatile("" : : "r" (room) : "memory", "rbx", "r12");		\
	note_return();								\
	return links[nr + 1](a + nr, b ^ nr) * a + b;				\
}

#define NAME(n)		link_##n,
#define EACH8(what, d)	what(d##0) what(d##1) what(d##2) what(d##3)		\
			what(d##4) what(d##5) what(d##6) what(d##7)
/* from 0 to 63, in octal numbers */
#define EACH64(what)	EACH8(what, 00) EACH8(what, 01) EACH8(what, 02) EACH8(what, 03)	\
			EACH8(what, 04) EACH8(what, 05) EACH8(what, 06) EACH8(what, 07)

EACH64(LINK)

static const link_t links[] = { EACH64(NAME) end_of_chain };

void RATIO_CHAIN(void)
{
	ratio_nr_returns = 0;
	links[0](1, 2);
}

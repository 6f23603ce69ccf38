/* SPDX-License-Identifier: GPL-2.0 */
/* A deep chain of calls, for walk_ratio. */
#ifndef _UNWIND_RATIO_CHAIN_H
#define _UNWIND_RATIO_CHAIN_H

#define RATIO_LINKS	64
#define RATIO_FRAMES	64	/* that each walk stores */
#define RATIO_WALKS	32	/* that are timed at once */

typedef unsigned int (*ratio_walk_t)(unsigned long *entries, unsigned int max);

/* the functions of the chain note their return addresses, outermost first */
extern unsigned long ratio_returns[RATIO_LINKS + 1];
extern unsigned int ratio_nr_returns;

void ratio_chain_fp(void);
void ratio_chain_plain(void);

/* At the end of the chain: which walk is next? NULL for the end. */
ratio_walk_t ratio_next(void);
unsigned long ratio_now(void);
/* The last of RATIO_WALKS walks has found @entries. */
void ratio_done(unsigned long ns, const unsigned long *entries, unsigned int nr);

#endif /* _UNWIND_RATIO_CHAIN_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_DEFERRED_TYPES_H
#define _LINUX_UNWIND_DEFERRED_TYPES_H

#include <linux/types.h>

/* the most clients at the same time */
#define UNWIND_MAX_CLIENTS	8

/**
 * struct unwind_user_start - the registers that an unwind starts from
 * @ip: instruction pointer
 * @sp: stack pointer
 * @fp: frame pointer register
 * @others: a checksum of the other registers that an unwind may start from; bit 0 is
 *	    set if it includes ax and r11, see note_start()
 */
struct unwind_user_start {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
	unsigned long	others;
};

/**
 * struct unwind_cpus - CPUs that requests were made on
 * @bits: for each of these CPUs, bit CPU % BITS_PER_LONG is set
 * @who: a bit for each number that the client passed with a request
 * @only: CPU + 1 if there is only one; 0 if none or unknown, -1 if several
 */
struct unwind_cpus {
	unsigned long	bits;
	unsigned long	who;
	int		only;
};

/**
 * struct unwind_task_info - a task's entry context
 * @context: cookie of the open entry context, and whether records are owed for
 *	     it; 0 when none is open; a bit that no cookie has, from just before
 *	     the point of no return of execve until the new program runs
 * @walked: cookie of the last entry context for which a walk was due
 * @start: user registers that were saved when the entry context was opened
 * @owed: for each client slot, the stamp of the client that is owed a record
 * @cpus: CPUs of requests that have not been served yet
 * @cpus_served: CPUs of requests that were served in the entry context @walked
 * @queued: @work is queued
 * @sending: records are being sent, so the entry context must stay; also set while the
 *	     stack is walked without a page for its frames
 * @refuse: 0, or the error with which every request fails
 * @passes: number of rounds of records since @passes_since; UNWIND_MAX_PASSES after a round
 *	    without @entries
 * @nr: frames in @entries
 * @late: how often unwind_deferred_leave() found a record still owed for the entry
 *	  context
 * @passes_since: in jiffies
 * @work: sends the records before the task returns to user space
 * @entries: a page of frames, allocated by the first walk that may allocate
 *
 * Only accessed by the task itself, in task context or in an interrupt or NMI on
 * top of it, and by the scheduler's tracepoint while it switches to the task.
 */
struct unwind_task_info {
	u64				context;
	u64				walked;
	struct unwind_user_start	start;
	u32				owed[UNWIND_MAX_CLIENTS];
	struct unwind_cpus		cpus;
	struct unwind_cpus		cpus_served;
	int				queued;
	int				sending;
	int				refuse;
	unsigned int			passes;
	unsigned int			nr;
	unsigned int			late;
	unsigned long			passes_since;
	struct callback_head		work;
	unsigned long			*entries;
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/** @replacing: the user registers may be half written */
	bool				replacing;
#endif
};

#endif /* _LINUX_UNWIND_DEFERRED_TYPES_H */

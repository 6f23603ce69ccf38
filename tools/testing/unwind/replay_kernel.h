/* SPDX-License-Identifier: GPL-2.0 */
/* What the walker of kernel/unwind/ needs of the kernel, in user space: see replay_kernel.c. */
#ifndef _UNWIND_REPLAY_KERNEL_H
#define _UNWIND_REPLAY_KERNEL_H

#include <linux/mm.h>
#include <linux/sched/task_stack.h>

#include "unwind.h"

#define MAX_MAPS	8192
#define MAX_RULES	16384
#define MAX_ENTRIES	512

struct unwind_stacktrace;

extern struct mm_struct mm;
extern unsigned int nr_rules;		/* rules that walks have found */
extern bool has_cache;			/* do the quick steps know these? */
extern enum unwind_result the_end;	/* how the last walk has ended */
extern unsigned long the_sp;		/* the stack pointer of its last frame */

void __attribute__((noreturn, format(printf, 1, 2))) exit_error(const char *format, ...);
bool add_map(const char *line);
void read_maps(int tid);
void forget_rules(void);
void forget_objects(void);
void walk_stack_to(struct unwind_stacktrace *trace, unsigned int max);
void walk_stack(struct unwind_stacktrace *trace);

#endif /* _UNWIND_REPLAY_KERNEL_H */

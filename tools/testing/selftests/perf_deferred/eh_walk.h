/* SPDX-License-Identifier: GPL-2.0 */
/* Known stacks, compared with the stacks that the kernel records. */
#ifndef EH_WALK_H
#define EH_WALK_H

#include "eh_code.h"
#include "pd_log.h"
#include "pd_ring.h"

#define EH_MAX_STACK		500
#define EH_METHODS		"/proc/sys/kernel/unwind_user_methods"
#define EH_IN_PLACE		"/proc/sys/kernel/unwind_user_in_place"

/* Return 0, or PD_SKIP with a message if there is no .eh_frame method. */
int eh_usable(void);
/* Like eh_usable(), but skip also if the counters are missing. */
int eh_counted(void);
/* Return the value of a counter, or -1. */
long eh_counter(const char *name);
/*
 * eh_deepen() lets an event take deep stacks; eh_attr() fills in the attr of such an event at
 * getppid(); eh_open() also opens the event. They return 0 or a reported result.
 */
int eh_deepen(struct perf_event_attr *attr);
int eh_attr(struct perf_event_attr *attr);
int eh_open(struct pd_event *event);

/* Store the stack of the caller, beginning with an address in the caller itself. */
int eh_tail(void **tail);
long eh_run(struct eh_walk *walk, const eh_step *steps);

/* Check that every frame of the stack is that of the walk, beginning in eh_leaf(). */
int eh_check(const struct eh_walk *walk, const struct pd_rec *stack);
bool eh_ends_in(void *const *tail, int nr_tail, const struct pd_rec *stack);
/* Run a walk with the event enabled; *stack points into the log. */
int eh_sample(struct pd_event *event, struct pd_log *log, struct eh_walk *walk,
	      const eh_step *steps, const struct pd_rec **stack);
int eh_run_and_check(struct pd_event *event, struct eh_walk *walk, const eh_step *steps);

/* Open an event like @from, whose callchains are not deferred. */
int eh_open_in_place(struct pd_event *event, const struct perf_event_attr *from);

/* A stack in place: of the walk, a part of it, or with a wrong frame. */
enum eh_found {
	EH_WHOLE,
	EH_PART,
	EH_WRONG,
};

/* Run a walk with an event of eh_open_in_place(). */
int eh_run_in_place(struct pd_event *event, struct eh_walk *walk, const eh_step *steps,
		    enum eh_found *found);

#endif /* EH_WALK_H */

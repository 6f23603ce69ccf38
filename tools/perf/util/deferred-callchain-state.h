/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_STATE_H
#define __PERF_DEFERRED_CALLCHAIN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/list.h>
#include <linux/types.h>

#include "deferred-callchain-pool.h"
#include "deferred-callchain-table.h"

struct comm;
struct deferred_maps;
struct machine;
struct maps;
struct namespaces;
struct perf_sample;
struct thread;

/**
 * struct deferred_states - what waiting samples of one stage rely on
 * @current: &struct deferred_maps that nothing has changed since, by their maps
 * @pool: memory for &struct deferred_maps
 * @bytes: what these take, and the copies of maps that were about to change
 * @credit: entries that may still be copied
 * @changes: events so far that may have changed a thread
 */
struct deferred_states {
	struct deferred_table current;
	struct deferred_pool pool;
	size_t bytes;
	size_t credit;
	u64 changes;
};

/**
 * struct deferred_state - a thread as it was when the turn of samples came
 * @changes: &deferred_states.changes when the thread was last seen in this state
 * @thread: the thread, which may have ended since, or NULL if the tool does not
 *	follow threads
 * @comm: the first of its names
 * @namespaces: the first of its namespaces, or NULL
 * @maps: its maps
 * @node: in &deferred_maps.users
 */
struct deferred_state {
	u64 changes;
	struct thread *thread;
	struct comm *comm;
	struct namespaces *namespaces;
	struct deferred_maps *maps;
	struct list_head node;
};

/**
 * struct deferred_scene - what is put back after a late sample was delivered
 * @machine: machine of the sample, or NULL if nothing was changed
 * @staged: thread that was put in the place of @displaced
 * @displaced: thread that has the tid by now, or NULL
 * @comms: names that the thread has got since
 * @namespaces: namespaces that the thread has got since
 * @maps: maps of the thread as they are by now, or NULL if unchanged
 */
struct deferred_scene {
	struct machine *machine;
	struct thread *staged;
	struct thread *displaced;
	struct list_head comms;
	struct list_head namespaces;
	struct maps *maps;
};

void deferred_states__init(struct deferred_states *states);
void deferred_states__exit(struct deferred_states *states);
void deferred_states__earn(struct deferred_states *states);
struct deferred_state *deferred_states__freeze(struct deferred_states *states,
					       struct machine *machine, pid_t tid);

int deferred_state__take_down(struct deferred_states *states, struct deferred_state *state,
			      struct machine *machine, const struct perf_sample *sample);
bool deferred_state__holds(const struct deferred_states *states, struct deferred_state *state,
			   struct machine *machine, const struct perf_sample *sample);
void deferred_state__drop(struct deferred_states *states, struct deferred_state *state);
int deferred_state__present(const struct deferred_states *states, struct deferred_state *state,
			    struct machine *machine, struct deferred_scene *scene);
void deferred_state__withdraw(const struct deferred_state *state, struct deferred_scene *scene);

/* An event that may change threads is about to have its effect. */
static inline void deferred_states__change(struct deferred_states *states)
{
	states->changes++;
}

#endif /* __PERF_DEFERRED_CALLCHAIN_STATE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * What a waiting sample is resolved against: the name, namespaces and maps that
 * its thread had when its turn came.
 *
 * To take that down is O(1): a reference to the thread, where its lists of names
 * and namespaces began (they only grow, at the front), and its maps, which are
 * shared with other waiting samples for as long as nothing changes them.  Just
 * before they change they are copied, once for all samples that rely on them.
 * So nothing is copied where nothing waits or nothing changes.
 *
 * When the sample is delivered, its thread is put back into this state for as
 * long as the tool looks at the sample.  It is the very thread of the machine,
 * so that what a tool keeps with it is there, and what a tool remembers of the
 * sample (thread, name, map) lives on with its own references.
 *
 * The first name of a thread that had none is one that was learnt late, not a
 * change.  Maps of the kernel are those of the time of delivery.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>

#include "comm.h"
#include "deferred-callchain-state.h"
#include "machine.h"
#include "map.h"
#include "maps.h"
#include "namespaces.h"
#include "sample.h"
#include "thread.h"
#include "threads.h"

/*
 * A copy takes time and memory by the number of maps.  A process that has many,
 * and changes them after each of many waiting samples, would make that quadratic.
 * So the entries that are copied are limited to a number for each sample that
 * ever waited, and a number to begin with.  Who cannot pay does not wait.
 */
#define CREDIT_PER_SAMPLE	256
#define CREDIT_TO_BEGIN_WITH	(4UL << 20)

/**
 * struct deferred_maps - maps of a process, for samples that wait
 * @maps: the maps of the process, or a copy once they were about to change
 * @hash: as maps_hash() had it when they were current
 * @users: the states that rely on them
 * @size: bytes of the copy, or 0
 */
struct deferred_maps {
	struct maps *maps;
	u64 hash;
	struct list_head users;
	size_t size;
};

/*
 * Threads that share maps are of one process.  While its number is not known, a
 * thread has maps of its own; it keeps them if it turns out to be the leader.
 */
static u64 maps_hash(struct thread *thread)
{
	pid_t pid = thread__pid(thread);

	return deferred_table__hash((u32)(pid == -1 ? thread__tid(thread) : pid));
}

static bool same_maps(const void *item, const void *key)
{
	const struct deferred_maps *dm = item;
	const struct thread *thread = key;

	return maps__equal(dm->maps, thread__maps((struct thread *)thread));
}

/**
 * deferred_states__init - nothing waits yet
 * @states: what to initialize
 */
void deferred_states__init(struct deferred_states *states)
{
	*states = (struct deferred_states){ .credit = CREDIT_TO_BEGIN_WITH };
	deferred_pool__init(&states->pool, sizeof(struct deferred_maps));
}

/**
 * deferred_states__exit - nothing waits any more
 * @states: what to clean up
 */
void deferred_states__exit(struct deferred_states *states)
{
	deferred_table__exit(&states->current);
	deferred_pool__exit(&states->pool);
}

static struct deferred_maps *current_maps(struct deferred_states *states, struct thread *thread)
{
	return deferred_table__find(&states->current, maps_hash(thread), thread, same_maps);
}

static struct deferred_maps *findnew_maps(struct deferred_states *states, struct thread *thread)
{
	struct deferred_maps *dm = current_maps(states, thread);

	if (dm)
		return dm;

	dm = deferred_pool__alloc(&states->pool);
	if (!dm)
		return NULL;

	INIT_LIST_HEAD(&dm->users);
	dm->size = 0;
	dm->hash = maps_hash(thread);
	dm->maps = maps__get(thread__maps(thread));
	if (deferred_table__add(&states->current, dm->hash, dm)) {
		maps__put(dm->maps);
		deferred_pool__free(&states->pool, dm);
		return NULL;
	}
	states->bytes += sizeof(*dm);
	return dm;
}

static void forget_current(struct deferred_states *states, struct deferred_maps *dm)
{
	deferred_table__remove(&states->current, dm->hash, dm);
}

static void put_maps(struct deferred_states *states, struct deferred_maps *dm)
{
	if (!list_empty(&dm->users))
		return;

	if (!dm->size)
		forget_current(states, dm);
	states->bytes -= sizeof(*dm) + dm->size;
	maps__put(dm->maps);
	deferred_pool__free(&states->pool, dm);
}

static int insert_map(struct map *map, void *copy)
{
	return maps__insert(copy, map);
}

/* A map of a process never changes, it is replaced: the copy can share it. */
static int copy_maps(struct deferred_states *states, struct deferred_maps *dm)
{
	struct maps *copy = maps__new(maps__machine(dm->maps));
	int ret = copy ? maps__for_each_map(dm->maps, insert_map, copy) : -ENOMEM;

	if (ret) {
		maps__put(copy);
		return ret;
	}

	forget_current(states, dm);
	dm->size = (1 + maps__nr_maps(copy)) * sizeof(struct map *);
	states->bytes += dm->size;
	maps__put(dm->maps);
	dm->maps = copy;
	return 0;
}

/* The maps of a thread, if a sample relies on them as they are. */
static struct deferred_maps *maps_in_use(struct deferred_states *states,
					 struct machine *machine, pid_t tid)
{
	struct thread *thread = threads__find(&machine->threads, tid);
	struct deferred_maps *dm = NULL;

	if (thread && thread__maps(thread))
		dm = current_maps(states, thread);
	thread__put(thread);
	return dm;
}

/**
 * deferred_states__freeze - maps are about to change
 * @states: what waiting samples rely on
 * @machine: machine of the maps
 * @tid: a thread that has them
 *
 * Return: NULL if they may change now; otherwise a state whose samples must be
 * delivered before, as there is no time or memory to keep it: the newest one.
 */
struct deferred_state *deferred_states__freeze(struct deferred_states *states,
					       struct machine *machine, pid_t tid)
{
	struct deferred_maps *dm = maps_in_use(states, machine, tid);
	size_t price;

	if (!dm)
		return NULL;

	price = maps__nr_maps(dm->maps);
	if (price > states->credit || copy_maps(states, dm))
		return list_last_entry(&dm->users, struct deferred_state, node);

	states->credit -= price;
	return NULL;
}

/**
 * deferred_states__earn - a sample is about to wait
 * @states: what waiting samples rely on
 */
void deferred_states__earn(struct deferred_states *states)
{
	states->credit += CREDIT_PER_SAMPLE;
}

static bool is_current(const struct deferred_state *state, struct thread *thread)
{
	return RC_CHK_EQUAL(thread, state->thread) && state->comm == thread__comm(thread) &&
	       state->namespaces == thread__namespaces(thread) && !state->maps->size &&
	       maps__equal(state->maps->maps, thread__maps(thread));
}

static int fill_in(struct deferred_states *states, struct deferred_state *state,
		   struct thread *thread)
{
	state->maps = findnew_maps(states, thread);
	if (!state->maps)
		return -ENOMEM;

	list_add_tail(&state->node, &state->maps->users);
	state->changes = states->changes;
	state->thread = thread__get(thread);
	state->comm = thread__comm(thread);
	state->namespaces = thread__namespaces(thread);
	return 0;
}

/**
 * deferred_state__take_down - take down the state of a thread
 * @states: what waiting samples rely on
 * @state: where it is written down
 * @machine: machine of the sample; NULL if the tool does not follow threads
 * @sample: the sample, whose turn it is
 *
 * Return: 0 or -ENOMEM.
 */
int deferred_state__take_down(struct deferred_states *states, struct deferred_state *state,
			      struct machine *machine, const struct perf_sample *sample)
{
	struct thread *thread;
	int ret;

	state->thread = NULL;
	if (!machine)
		return 0;

	thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	if (!thread)
		return -ENOMEM;

	ret = fill_in(states, state, thread);
	thread__put(thread);
	return ret;
}

/**
 * deferred_state__holds - is a thread still in the state that was taken down?
 * @states: what waiting samples rely on
 * @state: the state, taken down for a former sample
 * @machine: as when it was taken down
 * @sample: the sample, whose turn it is
 *
 * The thread need not be looked at if no event came that changes threads.
 *
 * Return: true if the sample may share the state.
 */
bool deferred_state__holds(const struct deferred_states *states, struct deferred_state *state,
			   struct machine *machine, const struct perf_sample *sample)
{
	struct thread *thread;
	bool ret;

	if (!state->thread || state->changes == states->changes)
		return true;

	thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	ret = thread && is_current(state, thread);
	thread__put(thread);
	if (ret)
		state->changes = states->changes;
	return ret;
}

/**
 * deferred_state__drop - no sample needs a state any more
 * @states: what waiting samples rely on
 * @state: the state
 */
void deferred_state__drop(struct deferred_states *states, struct deferred_state *state)
{
	if (!state->thread)
		return;

	list_del(&state->node);
	put_maps(states, state->maps);
	thread__put(state->thread);
}

static struct threads_table_entry *threads_table(struct machine *machine, pid_t tid)
{
	return &machine->threads.table[(unsigned int)tid % THREADS__TABLE_SIZE];
}

/* Put a thread in the table, or nothing, and return what was there. */
static int exchange_thread(struct machine *machine, pid_t tid, struct thread *thread,
			   struct thread **old)
{
	struct threads_table_entry *table = threads_table(machine, tid);
	int ret = 0;

	*old = NULL;
	down_write(&table->lock);
	thread__zput(table->last_match);
	if (thread)
		ret = hashmap__set(&table->shard, tid, thread, NULL, old);
	else
		hashmap__delete(&table->shard, tid, NULL, old);
	up_write(&table->lock);
	return ret;
}

/* The tid may have got another thread since, or none. */
static int stage_thread(const struct deferred_state *state, struct deferred_scene *scene)
{
	pid_t tid = thread__tid(state->thread);
	struct thread *now = threads__find(&scene->machine->threads, tid);
	bool same = now && RC_CHK_EQUAL(now, state->thread);
	int ret;

	thread__put(now);
	if (same)
		return 0;

	scene->staged = thread__get(state->thread);
	ret = exchange_thread(scene->machine, tid, scene->staged, &scene->displaced);
	if (ret)
		thread__zput(scene->staged);
	return ret;
}

static void unstage_thread(struct deferred_scene *scene)
{
	struct thread *staged;

	if (!scene->staged)
		return;

	exchange_thread(scene->machine, thread__tid(scene->staged), scene->displaced, &staged);
	thread__put(staged);
}

static void cut_comms(const struct deferred_state *state, struct list_head *newer)
{
	INIT_LIST_HEAD(newer);
	if (!state->comm)
		return;

	down_write(thread__comm_lock(state->thread));
	list_cut_position(newer, thread__comm_list(state->thread), state->comm->list.prev);
	up_write(thread__comm_lock(state->thread));
}

/* A thread that had no namespaces at all may have some now. */
static void cut_namespaces(const struct deferred_state *state, struct list_head *newer)
{
	struct list_head *list = thread__namespaces_list(state->thread);
	struct list_head *last = state->namespaces ? state->namespaces->list.prev : list->prev;

	INIT_LIST_HEAD(newer);
	down_write(thread__namespaces_lock(state->thread));
	list_cut_position(newer, list, last);
	up_write(thread__namespaces_lock(state->thread));
}

static void restore_lists(const struct deferred_state *state, struct deferred_scene *scene)
{
	down_write(thread__comm_lock(state->thread));
	list_splice(&scene->comms, thread__comm_list(state->thread));
	up_write(thread__comm_lock(state->thread));

	down_write(thread__namespaces_lock(state->thread));
	list_splice(&scene->namespaces, thread__namespaces_list(state->thread));
	up_write(thread__namespaces_lock(state->thread));
}

static bool is_unchanged(const struct deferred_scene *scene)
{
	return !scene->staged && !scene->maps && list_empty(&scene->comms) &&
	       list_empty(&scene->namespaces);
}

/**
 * deferred_state__present - put a thread back into an older state
 * @states: what waiting samples rely on
 * @state: the state
 * @machine: machine of the sample
 * @scene: what deferred_state__withdraw() needs
 *
 * Return: 0 or -ENOMEM.
 */
int deferred_state__present(const struct deferred_states *states, struct deferred_state *state,
			    struct machine *machine, struct deferred_scene *scene)
{
	int ret;

	scene->machine = NULL;
	if (!state->thread || state->changes == states->changes)
		return 0;

	*scene = (struct deferred_scene){ .machine = machine };
	ret = stage_thread(state, scene);
	if (ret)
		return ret;

	cut_comms(state, &scene->comms);
	cut_namespaces(state, &scene->namespaces);
	if (!maps__equal(state->maps->maps, thread__maps(state->thread))) {
		scene->maps = thread__maps(state->thread);
		thread__set_maps(state->thread, state->maps->maps);
	}
	if (is_unchanged(scene)) {
		state->changes = states->changes;
		scene->machine = NULL;
	}
	return 0;
}

/**
 * deferred_state__withdraw - undo deferred_state__present()
 * @state: the state
 * @scene: as it was filled in
 */
void deferred_state__withdraw(const struct deferred_state *state, struct deferred_scene *scene)
{
	if (!scene->machine)
		return;

	if (scene->maps)
		thread__set_maps(state->thread, scene->maps);
	restore_lists(state, scene);
	unstage_thread(scene);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Indexes of .eh_frame: choose the task that makes the index of an object; search in it.
 *
 * An index belongs to its object in the cache and is freed after a grace period.  Each search looks
 * the index up anew, under RCU.
 */

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "cache.h"
#include "cache_parts.h"
#include "eh_index.h"

/* the most rows (of 8 bytes) in all indexes of an mm */
#define MAX_INDEX_ROWS	(512 * 1024U)
/* how long walks make no index after an allocation has failed: each attempt may reclaim memory */
#define INDEX_PAUSE	HZ

/* Find the object at an address if its .eh_frame has no index. The caller holds the lock. */
static struct unwind_object *cache_unindexed_object(struct unwind_cache *cache, u64 gen,
						    unsigned long ip)
{
	struct unwind_object *object;

	if (!gen || cache->gen != gen)
		return NULL;
	object = unwind_cache_list_find(cache_list(cache), ip);
	return object && object->eh_frame_size && !object->index ? object : NULL;
}

/**
 * unwind_cache_claim_index - may this task make the index of an object?
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: address in the object
 *
 * If this returns true, unwind_cache_end_index() must follow.
 *
 * Context: Task context of a user task.
 * Return: false if another task makes or has made the index, the object is not known any
 *	   more, or a TLB flush is pending.
 */
bool unwind_cache_claim_index(const struct unwind_cache_state *state,
			      unsigned long ip)
{
	struct unwind_object *object = NULL;
	struct unwind_cache *cache;

	if (state->flush_pending)
		return false;
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		object = cache_unindexed_object(cache, state->gen, ip);
		if (object && object->indexing)
			object = NULL;
		if (object)
			WRITE_ONCE(object->indexing, true);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	return object;
}

static bool cache_has_index_room(struct unwind_cache *cache, const struct unwind_eh_index *index)
{
	struct unwind_object_list *list = cache_list(cache);
	unsigned int i, rows = index->nr;

	for (i = 0; i < list->nr; i++) {
		if (list->objects[i]->index)
			rows += list->objects[i]->nr;
	}
	return rows <= MAX_INDEX_ROWS;
}

/* Store the index in the object, or give up if it cannot be made. */
static void object_end_index(struct unwind_object *object, struct unwind_eh_index *index,
			     unsigned int tries)
{
	if (index) {
		/* pairs with unwind_cache_find_fde() */
		smp_store_release(&object->index, index);
		WRITE_ONCE(object->nr, index->nr);
	} else if (object->index_tries + tries >= UNWIND_INDEX_TRIES) {
		WRITE_ONCE(object->eh_frame_size, 0);
		WRITE_ONCE(object->table, 0);
	} else {
		object->index_tries += tries;
	}
	WRITE_ONCE(object->indexing, false);
}

/*
 * Release the claim on the index without storing it: some object was dropped while the
 * index was made, so let the next task make the index again.
 */
static void cache_unclaim_index(struct unwind_cache *cache, unsigned long ip)
{
	struct unwind_object *object = unwind_cache_object_at(cache, ip);

	if (object)
		WRITE_ONCE(object->indexing, false);
}

/**
 * unwind_cache_end_index - keep the index of an object
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: address in the object
 * @index: the index, which the cache takes over; NULL if it cannot be made
 * @tries: what a failure counts as: after UNWIND_INDEX_TRIES in all, treat the object as one
 *	   without tables; 0 without @index if there was no memory for it
 *
 * If the object was dropped while the index was being made, the generation has
 * changed.  So the index is valid if the generation is the same, whatever else was
 * unmapped meanwhile.
 *
 * Context: Task context of a user task.
 */
void unwind_cache_end_index(const struct unwind_cache_state *state,
			    unsigned long ip, struct unwind_eh_index *index,
			    unsigned int tries)
{
	struct unwind_object *object;
	struct unwind_cache *cache;
	bool kept = false;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		object = cache_unindexed_object(cache, state->gen, ip);
		kept = object && index && cache_has_index_room(cache, index);
		if (object)
			object_end_index(object, kept ? index : NULL,
					 index ? UNWIND_INDEX_TRIES : tries);
		else
			cache_unclaim_index(cache, ip);
		if (!index && !tries)
			WRITE_ONCE(cache->index_after, jiffies + INDEX_PAUSE);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	if (!kept)
		kvfree(index);
}

/**
 * unwind_cache_find_fde - the FDE of an address, by the index of its object
 * @ip: linear user address
 * @fde: set to the FDE's address
 *
 * Context: Task context of a user task.
 * Return: as unwind_eh_index_find(), or -EAGAIN if the index was dropped.
 */
int unwind_cache_find_fde(unsigned long ip, unsigned long *fde)
{
	struct unwind_eh_index *index = NULL;
	struct unwind_object *object = NULL;
	struct unwind_cache *cache;
	int ret = -EAGAIN;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache)
		object = unwind_cache_object_at(cache, ip);
	if (object)
		/* pairs with object_end_index() */
		index = smp_load_acquire(&object->index);
	if (index)
		ret = unwind_eh_index_find(index, ip, fde);
	rcu_read_unlock();
	return ret;
}

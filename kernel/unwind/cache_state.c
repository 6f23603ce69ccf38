// SPDX-License-Identifier: GPL-2.0
/*
 * The state that a search notes when it begins, and the check whether its result is still
 * valid: see cache.c.
 */

#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "cache.h"
#include "cache_parts.h"

static void cache_note_state(struct unwind_cache_state *state)
{
	struct unwind_cache *cache;

	*state = (struct unwind_cache_state) {};
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		state->gen = READ_ONCE(cache->gen);
		/* pairs with the release in __unwind_user_invalidate() */
		state->unmaps = smp_load_acquire(&cache->unmaps);
		state->flush_pending = mm_tlb_flush_pending(current->mm);
	}
	rcu_read_unlock();
}

#ifdef CONFIG_PER_VMA_LOCK
/* Without a cache: note the count of mmap lock writers; false if one holds or awaits the lock. */
static bool cache_note_writers(unsigned long *writers)
{
	struct mm_struct *mm = current->mm;

	if (!mmap_read_trylock(mm))
		return false;
	*writers = READ_ONCE(mm->mm_lock_seq.sequence);
	mmap_read_unlock(mm);
	return true;
}
#else
static bool cache_note_writers(unsigned long *writers)
{
	return false;
}
#endif
/**
 * unwind_cache_begin - note the state of the mm when a search begins
 * @state: filled in; the search passes it back with its result
 *
 * Makes the mm's cache if it has none and the task may allocate.
 *
 * Context: Task context of a user task, without the mmap lock; may sleep.
 * Return: false if there is no cache, and changes of the mm cannot be detected without
 *	   one.
 */
bool unwind_cache_begin(struct unwind_cache_state *state)
{
	cache_note_state(state);
	if (unlikely(!state->gen)) {
		unwind_cache_make();
		cache_note_state(state);
		if (!state->gen)
			return cache_note_writers(&state->unmaps);
	}
	/* taking the mmap lock later does not order these loads before those of the search */
	smp_rmb();
	return true;
}

/**
 * unwind_cache_knows - has no object with tables been dropped since a search began?
 * @state: as unwind_cache_begin() set it
 *
 * Use this for a search that has read no memory of the process.  The result of such a search
 * stays valid until an object with tables is dropped; unmaps of other memory do not matter.
 *
 * Context: Task context of a user task.
 * Return: false if an object with tables has been dropped, or if there is no cache.
 */
bool unwind_cache_knows(const struct unwind_cache_state *state)
{
	struct unwind_cache *cache;
	bool knows;

	/* order the reads of the search before the read of the generation */
	smp_rmb();
	rcu_read_lock();
	cache = unwind_cache_of_current();
	knows = cache && state->gen && READ_ONCE(cache->gen) == state->gen;
	rcu_read_unlock();
	return knows;
}

/**
 * unwind_cache_holds - is the result of a search still valid?
 * @state: as unwind_cache_begin() set it
 *
 * Context: Task context of a user task.
 * Return: false if memory that the search has read may have been unmapped.
 */
bool unwind_cache_holds(const struct unwind_cache_state *state)
{
	struct unwind_cache_state now;
	unsigned long writers;

	/* order the reads of the search before the reads of the state */
	smp_rmb();
	if (unlikely(!state->gen))
		return cache_note_writers(&writers) && writers == state->unmaps;
	cache_note_state(&now);
	return now.gen == state->gen && now.unmaps == state->unmaps;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The cache of an mm: unwind rules and objects that walks have found.
 *
 * It is made by the first walk that searches for a rule, and grows with use.  Unmapping a part of a
 * known object, making it writable, or changing the protection of its code, drops the object and
 * its rules, and starts a new generation.  Such a call is also counted for executable and file
 * mappings without a known object.  A search notes the generation and the count before it takes the
 * mmap lock to look for an object, and passes both back with its result, which is refused if they
 * have changed.  Documentation/core-api/unwind-tables.rst says why that is enough.
 *
 * Readers are under RCU.  Each entry of a rule table has a sequence count, and so has the list of
 * objects.  Objects do not change.  Writers hold the lock, and allocate before they take it.  The
 * shrinker detaches whole caches from their mm; readers of a detached cache find its rules, but no
 * objects.
 */

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/unwind_cache.h>

#include "cache.h"
#include "cache_parts.h"
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif
#include "rules.h"
#include "task.h"

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* how long learning waits at most if it finds nothing, in jiffies */
#define UNWIND_MAX_LEARN_WAIT	(HZ / 2)
/* how often a process may learn at once, and how long until once more, in jiffies */
#define UNWIND_LEARN_BURST	128
#define UNWIND_LEARN_PAUSE	(HZ / 100 + 1)
#endif

static LIST_HEAD(all_caches);
static DEFINE_SPINLOCK(all_caches_lock);
static unsigned long nr_caches;

static size_t cache_first_bytes(void)
{
	return sizeof(struct unwind_cache) + unwind_rules_bytes(UNWIND_FIRST_RULES_BITS) +
	       struct_size_t(struct unwind_object_list, objects, UNWIND_FIRST_OBJECTS);
}

/* Free the contents of a cache.  The caller makes sure that no reader can find them. */
static void cache_free_parts(struct unwind_cache *cache)
{
	kfree(rcu_dereference_raw(cache->list));
	unwind_rules_free_now(rcu_dereference_raw(cache->rules));
	unwind_cache_free_full_now(cache);
}

static void cache_free_now(struct unwind_cache *cache)
{
	cache_free_parts(cache);
	kfree(cache);
}

static struct unwind_cache *cache_new(void)
{
	struct unwind_cache *cache;

	/*
	 * Not charged to the memory cgroup: without a cache, a search fails if another thread
	 * changes a mapping meanwhile.
	 */
	cache = kzalloc_obj(*cache, UNWIND_GFP);
	if (!cache)
		return NULL;
	spin_lock_init(&cache->lock);
	seqcount_spinlock_init(&cache->list_seq, &cache->lock);
	RCU_INIT_POINTER(cache->list, unwind_cache_alloc_list(UNWIND_FIRST_OBJECTS, UNWIND_GFP));
	RCU_INIT_POINTER(cache->rules, unwind_rules_alloc(UNWIND_FIRST_RULES_BITS, UNWIND_GFP));
	if (!rcu_access_pointer(cache->list) || !rcu_access_pointer(cache->rules)) {
		cache_free_now(cache);
		return NULL;
	}
	cache->gen = unwind_cache_next_gen();
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	cache->learn_next = jiffies;
	cache->learn_paid = jiffies;
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	cache->files_seen = unwind_files_changes();
#endif
	return cache;
}

/* Publish the cache. If another thread of the mm was first, its cache is used. */
static void cache_install(struct unwind_cache *cache)
{
	struct mm_struct *mm = current->mm;

	spin_lock(&all_caches_lock);
	if (rcu_access_pointer(mm->unwind_cache)) {
		spin_unlock(&all_caches_lock);
		cache_free_now(cache);
		return;
	}
	cache->mm = mm;
	list_add_tail(&cache->node, &all_caches);
	WRITE_ONCE(nr_caches, nr_caches + 1);
	atomic_long_add(cache_first_bytes(), &unwind_caches_bytes);
	rcu_assign_pointer(mm->unwind_cache, cache);
	spin_unlock(&all_caches_lock);
}

/* Make a cache for the current task's mm, if the task may allocate. */
static void cache_make(void)
{
	struct unwind_cache *cache = unwind_task_may_allocate() ? cache_new() : NULL;

	if (!cache)
		return;
	cache_install(cache);
	/*
	 * Order the store of mm->unwind_cache before the load of mm->tlb_flush_pending in
	 * cache_note_state().  Pairs with an unmap, which raises tlb_flush_pending, takes the
	 * locks of page tables, which are full barriers on x86, and then loads
	 * mm->unwind_cache in unwind_user_invalidate().  So if an unmap sees no cache and is not
	 * counted, the search sees that a flush is pending, or begins after the flush.
	 */
	smp_mb();
}

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
		cache_make();
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

/**
 * unwind_cache_find_rule - the rule at an address, if it is known
 * @key: unwind_rule_key() of the frame
 * @missed: the quick steps have found no rule: look for a full one only
 * @rule: filled in
 * @full: filled in if @rule is of the kind UNWIND_RULE_FULL
 *
 * Context: Task context of a user task.
 * Return: UNWIND_FOUND or UNWIND_NONE.
 */
enum unwind_result unwind_cache_find_rule(u64 key, bool missed, struct unwind_user_rule *rule,
					  struct unwind_full_rule *full)
{
	struct unwind_cache *cache;
	bool found;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	found = cache && ((!missed &&
			   unwind_rules_find(rcu_dereference(cache->rules), key, rule)) ||
#ifdef CONFIG_UNWIND_USER_FILES
			  (!missed && unwind_cache_peek_file(cache, key, rule)) ||
#endif
			  unwind_cache_peek_full(cache, key, rule, full));
	rcu_read_unlock();
	return found ? UNWIND_FOUND : UNWIND_NONE;
}

/**
 * __unwind_user_invalidate - drop the rules and objects of a range
 * @mm: the mm
 * @start: first address
 * @end: first address after the range
 *
 * The out-of-line half of unwind_user_invalidate().
 *
 * Context: Any task; as unwind_user_invalidate().
 */
void __unwind_user_invalidate(struct mm_struct *mm, unsigned long start,
			      unsigned long end)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = rcu_dereference(mm->unwind_cache);
	if (cache) {
		spin_lock(&cache->lock);
		/* after the page table entries were cleared; pairs with cache_note_state() */
		smp_store_release(&cache->unmaps, cache->unmaps + 1);
		/* the list of a cache that was given up may be freed already */
		if (cache->gen)
			unwind_cache_forget_range(cache, start, end);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

static void cache_free_rcu(struct rcu_head *rcu)
{
	cache_free_now(container_of(rcu, struct unwind_cache, rcu));
}

static size_t cache_bytes(struct unwind_cache *cache)
{
	return sizeof(*cache) + unwind_cache_rules_bytes(cache) +
	       struct_size_t(struct unwind_object_list, objects, cache_list(cache)->max);
}

/* Detach a cache, so that no walk finds it any more. The caller holds all_caches_lock. */
static void cache_unlink(struct unwind_cache *cache)
{
	RCU_INIT_POINTER(cache->mm->unwind_cache, NULL);
	list_del(&cache->node);
	WRITE_ONCE(nr_caches, nr_caches - 1);
}

/* Make sure that walks which still use the cache add nothing to it. */
static void cache_give_up(struct unwind_cache *cache)
{
	lockdep_assert_held(&cache->lock);
	/* cache_state_holds() is false for generation 0 */
	WRITE_ONCE(cache->gen, 0);
	atomic_long_sub(cache_bytes(cache), &unwind_caches_bytes);
}

/* Detach and free a cache that walks may still use. The caller holds all_caches_lock. */
static void cache_take(struct unwind_cache *cache)
{
	cache_unlink(cache);
	spin_lock(&cache->lock);
	cache_give_up(cache);
	unwind_cache_free_objects(cache);
	spin_unlock(&cache->lock);
	call_rcu(&cache->rcu, cache_free_rcu);
}

static void cache_free_emptied_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct unwind_cache, rcu));
}

/**
 * __unwind_user_mm_exit - free the cache of an mm
 * @mm: the mm, which has no users any more
 *
 * The out-of-line half of unwind_user_mm_exit().  There are no more walks, so the memory is
 * freed at once, except for the struct that __unwind_user_invalidate() reads under RCU.
 *
 * Context: Task context.
 */
void __unwind_user_mm_exit(struct mm_struct *mm)
{
	struct unwind_cache *cache;

	spin_lock(&all_caches_lock);
	cache = rcu_dereference_protected(mm->unwind_cache,
					  lockdep_is_held(&all_caches_lock));
	if (cache)
		cache_unlink(cache);
	spin_unlock(&all_caches_lock);
	if (!cache)
		return;
	spin_lock(&cache->lock);
	cache_give_up(cache);
	spin_unlock(&cache->lock);
	unwind_cache_free_objects_now(cache);
	cache_free_parts(cache);
	call_rcu(&cache->rcu, cache_free_emptied_rcu);
}

/**
 * unwind_caches_stat - number of caches, and their memory
 * @nr: filled in
 * @bytes: filled in
 *
 * Context: Any.
 */
void unwind_caches_stat(unsigned long *nr, unsigned long *bytes)
{
	*nr = READ_ONCE(nr_caches);
	*bytes = atomic_long_read(&unwind_caches_bytes);
}

/**
 * unwind_cache_use - the cache of the current task's mm
 * @state: the walk; updated by what the cache knows of earlier walks
 * @table: set to the cache's table, for unwind_rules_find().  If the cache grows meanwhile,
 *	   the rules of this table are still valid for the frames of the current task.
 *
 * Context: Under RCU, task context of a user task; for a walk in place, any.
 * Return: the cache; or NULL if there is none, or a walk in place cannot use it.
 */
struct unwind_cache *unwind_cache_use(struct unwind_walk *state,
				      const struct unwind_rule_table **table)
{
	struct unwind_cache *cache = unwind_cache_of_current();
	unsigned long until;

	if (!cache)
		return NULL;
#ifdef CONFIG_UNWIND_USER_FILES
	/* files that died after the walk began are left to the next walk */
	if (unlikely(READ_ONCE(cache->files_seen) < state->changes)) {
		if (unwind_is_in_place(state))
			return NULL;
		unwind_cache_drop_dead_files(cache);
	}
#endif
	until = READ_ONCE(cache->all_regs_until);
	if (unlikely(until) && !state->fp_only && time_before(jiffies, until))
		state->all_regs = true;
	/* test first: threads of the mm share the cache line */
	if (!READ_ONCE(cache->used))
		WRITE_ONCE(cache->used, true);
	*table = rcu_dereference(cache->rules);
	state->crowded |= unwind_rules_is_crowded(*table);
	return cache;
}

/**
 * unwind_cache_need_all_regs - note that a walk had to be repeated with all registers
 *
 * For one second, walks in this mm follow all callee-saved registers from the start.
 *
 * Context: Any, in a user task.
 */
void unwind_cache_need_all_regs(void)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache)
		WRITE_ONCE(cache->all_regs_until, (jiffies + HZ) | 1);
	rcu_read_unlock();
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/*
 * Is it of no use to learn again?  After a walk that has found no rule, the next one waits, each
 * time twice as long as before.  But a walk is needed to look for dead files.
 */
static bool cache_learns_nothing(const struct unwind_cache *cache)
{
#ifdef CONFIG_UNWIND_USER_FILES
	if (READ_ONCE(cache->files_seen) < unwind_files_changes())
		return false;
#endif
	return READ_ONCE(cache->added) == READ_ONCE(cache->learned) &&
	       time_before(jiffies, READ_ONCE(cache->learn_next));
}

/**
 * unwind_cache_may_learn - may the current task be asked to learn?
 *
 * Context: Any, under RCU.
 * Return: false if that was of no use lately, or was done too often.
 */
bool unwind_cache_may_learn(void)
{
	struct unwind_cache *cache = unwind_cache_of_current();

	/* the first walk makes the cache */
	return !cache || (!cache_learns_nothing(cache) &&
			  time_before(READ_ONCE(cache->learn_paid),
				      jiffies + UNWIND_LEARN_BURST * UNWIND_LEARN_PAUSE));
}

/**
 * unwind_cache_note_learning - note that the current task was asked to learn
 *
 * Each time takes UNWIND_LEARN_PAUSE from a credit of UNWIND_LEARN_BURST times, which grows with
 * time: @learn_paid is the time until which the past requests have used it.
 *
 * Context: Any, under RCU.  If two callers interrupt each other, one of them may not be counted.
 */
void unwind_cache_note_learning(void)
{
	struct unwind_cache *cache = unwind_cache_of_current();
	unsigned long paid, wait = 0;
	u32 added;

	if (!cache)
		return;
	added = READ_ONCE(cache->added);
	if (added == READ_ONCE(cache->learned))
		wait = READ_ONCE(cache->learn_wait);
	wait = min_t(unsigned long, 2 * wait + 1, UNWIND_MAX_LEARN_WAIT);
	WRITE_ONCE(cache->learned, added);
	WRITE_ONCE(cache->learn_wait, wait);
	WRITE_ONCE(cache->learn_next, jiffies + wait);
	paid = READ_ONCE(cache->learn_paid);
	if (time_before(paid, jiffies))
		paid = jiffies;
	WRITE_ONCE(cache->learn_paid, paid + UNWIND_LEARN_PAUSE);
}
#endif

static unsigned long caches_count(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	return READ_ONCE(nr_caches) ?: SHRINK_EMPTY;
}

/*
 * A cache that was used since the last look gets a second chance, at the end of the list.  The
 * look counts as scanned, so the lock is not held for longer than @sc asks for.
 */
static unsigned long caches_shrink(struct shrinker *shrinker,
				   struct shrink_control *sc)
{
	unsigned long nr, freed = 0;
	struct unwind_cache *cache;

	spin_lock(&all_caches_lock);
	for (nr = sc->nr_to_scan; nr && !list_empty(&all_caches); nr--) {
		cache = list_first_entry(&all_caches, struct unwind_cache, node);
		if (READ_ONCE(cache->used)) {
			WRITE_ONCE(cache->used, false);
			list_move_tail(&cache->node, &all_caches);
		} else {
			cache_take(cache);
			freed++;
		}
	}
	spin_unlock(&all_caches_lock);
	return freed;
}

static int __init unwind_cache_setup(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "unwind_user");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = caches_count;
	shrinker->scan_objects = caches_shrink;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
subsys_initcall(unwind_cache_setup);

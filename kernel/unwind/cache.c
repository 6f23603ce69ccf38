// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules and objects that were found once, kept with the mm they are of.
 *
 * A cache belongs to one mm and is made by the first walk in it that has
 * something to find out.  All that it holds was found out in its present
 * generation: unmapping a part of an object that is or was known in it, or making
 * it writable, starts the next one, and what was found before is void.
 *
 * A search may be under way in an object that is not known yet, so each such change
 * of code or of a file is counted as well.  A search notes the generation and the
 * count before it takes the mmap lock to look for the object, and gives both back
 * with what it found.  A mapping that it saw then is unmapped only after that lock
 * is free; it is counted after that, when the pages are gone, and before anything
 * else is mapped there.  What becomes writable is counted before that, with the lock
 * held.  So what comes of reading tables that go away, or change
 * hands, is refused, and unwind_cache_holds() tells not to use it either.
 *
 * An unmap is counted after the page table entries are gone and before the TLB is
 * flushed.  With MADV_DONTNEED and truncation the mapping stays, so a search that begins
 * in between finds it, notes the new count, and may read the old page through a stale
 * TLB entry.  So a search also notes whether a flush is pending, and nothing that it finds
 * is kept if so.  mm->tlb_flush_pending is raised before the entries are cleared and
 * lowered after the flush.  The release of the count in __unwind_user_unmap() pairs with
 * the acquire in note_state(): a search that sees the count sees the flush pending, or
 * begins after it.
 *
 * Readers copy out under RCU.  Each entry has a sequence count for that; writers
 * hold the lock.  The shrinker takes whole caches from their mm, and the next
 * walk makes a new one; who still peeks into one that was taken sees it as it was
 * then.  An index of .eh_frame belongs to its object in the cache, and is freed after
 * a grace period: it is searched under RCU, and found again for each search.
 * Generations are of all caches together, so that one
 * noted from a cache that has gone is never that of its successor.
 */

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/unwind_cache.h>

#include "cache.h"
#include "cfi.h"
#include "eh_index.h"

#define RULE_SET_BITS	9
#define RULE_SETS	BIT(RULE_SET_BITS)
#define RULE_WAYS	2
#define FULL_RULE_BITS	5
#define FULL_RULES	BIT(FULL_RULE_BITS)
#define MAX_OBJECTS	128
/* how often the index of an .eh_frame that cannot be read is begun */
#define MAX_INDEX_TRIES	8
/* rows of 8 bytes that all indexes of an mm may have */
#define MAX_INDEX_ROWS	(512 * 1024U)

struct rule_entry {
	seqcount_spinlock_t	seq;
	unsigned long		ip;	/* 0: free */
	u64			gen;
	struct unwind_user_rule	rule;
};

/* of signal frames and procedure linkage tables: seldom many */
struct full_entry {
	seqcount_spinlock_t	seq;
	unsigned long		ip;
	u64			gen;
	struct unwind_cfi_rule	rule;
};

/**
 * struct unwind_cache - what is known of the code of one mm
 * @node: in all_caches
 * @mm: whose it is; only to be looked at under all_caches_lock
 * @rcu: frees it
 * @lock: held by writers
 * @gen: the generation
 * @unmaps: counts what unwind_user_unmap() told of
 * @objects_seq: for @objects and @nr_objects
 * @nr_objects: how many of @objects are known
 * @last_replaced: the one of @objects that had to make room last
 * @watch_start: first address of those that had to
 * @watch_end: first address after them; 0 if none had to
 * @objects: known objects
 * @rules: by address
 * @full_rules: rules that need a struct unwind_cfi_rule, by address
 */
struct unwind_cache {
	struct list_head	node;
	struct mm_struct	*mm;
	struct rcu_head		rcu;
	spinlock_t		lock;	/* for writers */
	u64			gen;
	unsigned long		unmaps;
	seqcount_spinlock_t	objects_seq;
	unsigned int		nr_objects;
	unsigned int		last_replaced;
	unsigned long		watch_start;
	unsigned long		watch_end;
	struct unwind_object	objects[MAX_OBJECTS];
	struct rule_entry	rules[RULE_SETS][RULE_WAYS];
	struct full_entry	full_rules[FULL_RULES];
};

static LIST_HEAD(all_caches);
static DEFINE_SPINLOCK(all_caches_lock);
static unsigned long nr_caches;
static atomic64_t last_gen = ATOMIC64_INIT(0);

static struct rule_entry *rule_set(struct unwind_cache *cache, unsigned long ip)
{
	return cache->rules[hash_long(ip, RULE_SET_BITS)];
}

static bool read_entry(struct rule_entry *entry, unsigned long ip, u64 gen,
		       struct unwind_user_rule *rule)
{
	unsigned int seq = raw_read_seqcount(&entry->seq);

	if (READ_ONCE(entry->ip) != ip || READ_ONCE(entry->gen) != gen)
		return false;
	/* thrown away if the count tells that it was written meanwhile */
	data_race((*rule = entry->rule, 0));
	return !read_seqcount_retry(&entry->seq, seq) && !(seq & 1);
}

/**
 * unwind_cache_of_current - the current task's cache, to peek into
 *
 * Context: Under RCU, of a user task.
 * Return: the cache or NULL.
 */
struct unwind_cache *unwind_cache_of_current(void)
{
	return rcu_dereference(current->mm->unwind_cache);
}

/**
 * unwind_cache_peek - the rule at an address, if it is known
 * @cache: as unwind_cache_of_current() gave it
 * @ip: unwind_rule_key() of the frame
 * @rule: filled in
 *
 * Context: Under RCU.
 * Return: false if it is not known.
 */
bool unwind_cache_peek(struct unwind_cache *cache, unsigned long ip,
		       struct unwind_user_rule *rule)
{
	struct rule_entry *set = rule_set(cache, ip);
	u64 gen = READ_ONCE(cache->gen);

	return read_entry(&set[0], ip, gen, rule) ||
	       read_entry(&set[1], ip, gen, rule);
}

static struct full_entry *full_entry_of(struct unwind_cache *cache,
					unsigned long ip)
{
	return &cache->full_rules[hash_long(ip, FULL_RULE_BITS)];
}

/* The same for full rules. */
static bool peek_full(struct unwind_cache *cache, unsigned long ip,
		      struct unwind_user_rule *rule, struct unwind_cfi_rule *full)
{
	struct full_entry *entry = full_entry_of(cache, ip);
	unsigned int seq = raw_read_seqcount(&entry->seq);

	if (READ_ONCE(entry->ip) != ip ||
	    READ_ONCE(entry->gen) != READ_ONCE(cache->gen))
		return false;
	rule->kind = UNWIND_RULE_FULL;
	/* thrown away if the count tells that it was written meanwhile */
	data_race((*full = entry->rule, 0));
	return !read_seqcount_retry(&entry->seq, seq) && !(seq & 1);
}

/**
 * unwind_cache_find_rule - the rule at an address, if it is known
 * @ip: unwind_rule_key() of the frame
 * @rule: filled in
 * @full: filled in if @rule says so
 *
 * Context: Task context of a user task.
 * Return: 0 or -ENOENT.
 */
int unwind_cache_find_rule(unsigned long ip, struct unwind_user_rule *rule,
			   struct unwind_cfi_rule *full)
{
	struct unwind_cache *cache;
	bool found;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	found = cache && (unwind_cache_peek(cache, ip, rule) ||
			  peek_full(cache, ip, rule, full));
	rcu_read_unlock();
	return found ? 0 : -ENOENT;
}

static bool covers(const struct unwind_object *object, unsigned long ip)
{
	return ip >= object->code_start && ip < object->code_end;
}

static bool find_object(struct unwind_cache *cache, unsigned long ip,
			struct unwind_object *object)
{
	unsigned int i, nr = min_t(unsigned int, READ_ONCE(cache->nr_objects),
				   MAX_OBJECTS);

	for (i = 0; i < nr; i++) {
		/* as with rules */
		if (!data_race(covers(&cache->objects[i], ip)))
			continue;
		/* and this, too */
		data_race((*object = cache->objects[i], 0));
		return true;
	}
	return false;
}

/**
 * unwind_cache_find_object - the object at an address, if it is known
 * @ip: linear user address
 * @object: filled in
 *
 * Context: Task context of a user task.
 * Return: 0 or -ENOENT.
 */
int unwind_cache_find_object(unsigned long ip, struct unwind_object *object)
{
	struct unwind_cache *cache;
	bool found = false;
	unsigned int seq;

	rcu_read_lock();
	cache = rcu_dereference(current->mm->unwind_cache);
	if (cache) {
		do {
			seq = read_seqcount_begin(&cache->objects_seq);
			found = find_object(cache, ip, object);
		} while (read_seqcount_retry(&cache->objects_seq, seq));
	}
	rcu_read_unlock();
	return found ? 0 : -ENOENT;
}

static struct unwind_cache *new_cache(void)
{
	struct unwind_cache *cache;
	unsigned int i;

	/* no reason to kill a process of the memcg */
	cache = kvzalloc(sizeof(*cache), GFP_KERNEL_ACCOUNT |
			 __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!cache)
		return NULL;

	spin_lock_init(&cache->lock);
	seqcount_spinlock_init(&cache->objects_seq, &cache->lock);
	for (i = 0; i < ARRAY_SIZE(cache->rules); i++) {
		seqcount_spinlock_init(&cache->rules[i][0].seq, &cache->lock);
		seqcount_spinlock_init(&cache->rules[i][1].seq, &cache->lock);
	}
	for (i = 0; i < ARRAY_SIZE(cache->full_rules); i++)
		seqcount_spinlock_init(&cache->full_rules[i].seq, &cache->lock);
	cache->gen = atomic64_inc_return(&last_gen);
	return cache;
}

/* The first of the mm's threads that comes here wins. */
static void install_cache(struct unwind_cache *cache)
{
	struct mm_struct *mm = current->mm;

	spin_lock(&all_caches_lock);
	if (rcu_access_pointer(mm->unwind_cache)) {
		spin_unlock(&all_caches_lock);
		kvfree(cache);
		return;
	}
	cache->mm = mm;
	list_add_tail(&cache->node, &all_caches);
	WRITE_ONCE(nr_caches, nr_caches + 1);
	rcu_assign_pointer(mm->unwind_cache, cache);
	spin_unlock(&all_caches_lock);
}

static void note_state(struct unwind_cache_state *state)
{
	struct unwind_cache *cache;

	*state = (struct unwind_cache_state) {};
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		state->gen = READ_ONCE(cache->gen);
		/* pairs with the release in __unwind_user_unmap() */
		state->unmaps = smp_load_acquire(&cache->unmaps);
		state->flush_pending = mm_tlb_flush_pending(current->mm);
	}
	rcu_read_unlock();
}

/**
 * unwind_cache_begin - a search begins
 * @state: set to what it must give back with what it finds
 *
 * Makes the mm's cache if it has none.
 *
 * Context: Task context of a user task, without the mmap lock; may sleep.
 * Return: false if there is no memory.
 */
bool unwind_cache_begin(struct unwind_cache_state *state)
{
	struct unwind_cache *cache;

	note_state(state);
	if (!state->gen) {
		cache = new_cache();
		if (cache)
			install_cache(cache);
		note_state(state);
	}
	/* before the mmap lock is taken, which orders no loads before it */
	smp_rmb();
	return state->gen;
}

/**
 * unwind_cache_holds - is what a search has found still so?
 * @state: as unwind_cache_begin() set it
 *
 * Context: Task context of a user task.
 * Return: false if some of what it was found from may have been unmapped.
 */
bool unwind_cache_holds(const struct unwind_cache_state *state)
{
	struct unwind_cache_state now;

	/* after the reads of the search */
	smp_rmb();
	note_state(&now);
	return now.gen == state->gen && now.unmaps == state->unmaps;
}

/* Under the lock: may the result of the search be kept? */
static bool still_so(const struct unwind_cache *cache,
		     const struct unwind_cache_state *state)
{
	return cache->gen == state->gen && cache->unmaps == state->unmaps &&
	       !state->flush_pending;
}

/* The new one is the first, and what was the first becomes the second. */
static struct rule_entry *make_room(struct rule_entry *set, unsigned long ip,
				    u64 gen)
{
	if (set[0].gen == gen && set[0].ip != ip) {
		write_seqcount_begin(&set[1].seq);
		set[1].ip = set[0].ip;
		set[1].gen = set[0].gen;
		set[1].rule = set[0].rule;
		write_seqcount_end(&set[1].seq);
	}
	return &set[0];
}

static void add_rule(struct unwind_cache *cache, unsigned long ip,
		     const struct unwind_user_rule *rule)
{
	struct rule_entry *entry = make_room(rule_set(cache, ip), ip, cache->gen);

	write_seqcount_begin(&entry->seq);
	entry->ip = ip;
	entry->gen = cache->gen;
	entry->rule = *rule;
	write_seqcount_end(&entry->seq);
}

static void add_full(struct unwind_cache *cache, unsigned long ip,
		     const struct unwind_cfi_rule *full)
{
	struct full_entry *entry = full_entry_of(cache, ip);

	write_seqcount_begin(&entry->seq);
	entry->ip = ip;
	entry->gen = cache->gen;
	entry->rule = *full;
	write_seqcount_end(&entry->seq);
}

/**
 * unwind_cache_add_rule - keep a rule
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: unwind_rule_key() of the frames that it is for
 * @rule: the rule
 * @full: the rule, if @rule says so
 *
 * Context: Task context of a user task.
 */
void unwind_cache_add_rule(const struct unwind_cache_state *state,
			   unsigned long ip,
			   const struct unwind_user_rule *rule,
			   const struct unwind_cfi_rule *full)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (still_so(cache, state)) {
			if (rule->kind == UNWIND_RULE_FULL)
				add_full(cache, ip, full);
			else
				add_rule(cache, ip, rule);
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

/* Of an object without tables there is no rule. */
static bool has_tables(const struct unwind_object *object)
{
	return object->nr || object->eh_frame_size;
}

/* The object is about to be known no more. */
static void free_index(struct unwind_object *object)
{
	if (object->index)
		kvfree_rcu(object->index, rcu);
}

/* All that is known is void. */
static void start_over(struct unwind_cache *cache)
{
	unsigned int i;

	for (i = 0; i < cache->nr_objects; i++)
		free_index(&cache->objects[i]);
	WRITE_ONCE(cache->gen, atomic64_inc_return(&last_gen));
	cache->watch_end = 0;
	write_seqcount_begin(&cache->objects_seq);
	cache->nr_objects = 0;
	write_seqcount_end(&cache->objects_seq);
}

/* No rule is of an object without tables, such as code that was made at run time. */
static bool drop_one_without_tables(struct unwind_cache *cache)
{
	unsigned int i;

	for (i = 0; i < cache->nr_objects; i++) {
		if (has_tables(&cache->objects[i]))
			continue;
		write_seqcount_begin(&cache->objects_seq);
		cache->objects[i] = cache->objects[--cache->nr_objects];
		write_seqcount_end(&cache->objects_seq);
		return true;
	}
	return false;
}

/*
 * Rules of an object that is to be known no more may stay, if what becomes of its
 * memory still tells.  One range for all of them may hold much else as well, so that
 * more is void than need be.
 */
static void watch(struct unwind_cache *cache, const struct unwind_object *object)
{
	if (!cache->watch_end || object->start < cache->watch_start)
		cache->watch_start = object->start;
	cache->watch_end = max(cache->watch_end, object->end);
}

/* Where there are too many to know them all, they take turns. */
static unsigned int place_for_one(struct unwind_cache *cache)
{
	if (cache->nr_objects < MAX_OBJECTS || drop_one_without_tables(cache))
		return cache->nr_objects;

	cache->last_replaced = (cache->last_replaced + 1) % MAX_OBJECTS;
	watch(cache, &cache->objects[cache->last_replaced]);
	free_index(&cache->objects[cache->last_replaced]);
	return cache->last_replaced;
}

static void add_object(struct unwind_cache *cache,
		       const struct unwind_object *object)
{
	unsigned int place = place_for_one(cache);

	write_seqcount_begin(&cache->objects_seq);
	cache->objects[place] = *object;
	cache->nr_objects = max(cache->nr_objects, place + 1);
	write_seqcount_end(&cache->objects_seq);
}

/**
 * unwind_cache_add_object - keep an object
 * @state: as unwind_cache_begin() set it when the search began
 * @object: the object
 *
 * Context: Task context of a user task.
 */
void unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (still_so(cache, state))
			add_object(cache, object);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

/* Under the lock: the object at an address, if its .eh_frame is not indexed. */
static struct unwind_object *unindexed_object(struct unwind_cache *cache, u64 gen,
					      unsigned long ip)
{
	unsigned int i;

	if (cache->gen != gen)
		return NULL;
	for (i = 0; i < cache->nr_objects; i++) {
		struct unwind_object *object = &cache->objects[i];

		if (covers(object, ip) && object->eh_frame_size && !object->index)
			return object;
	}
	return NULL;
}

/**
 * unwind_cache_claim_index - is it for this task to make an object's index?
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: address in the object
 *
 * If so, unwind_cache_end_index() must follow.
 *
 * Context: Task context of a user task.
 * Return: false if another does, has done it, the object is not known any more, or a
 *	   TLB flush is pending.
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
		object = unindexed_object(cache, state->gen, ip);
		if (object && object->indexing)
			object = NULL;
		if (object) {
			write_seqcount_begin(&cache->objects_seq);
			object->indexing = true;
			object->index_tries++;
			write_seqcount_end(&cache->objects_seq);
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	return object;
}

static bool has_room(struct unwind_cache *cache, const struct unwind_eh_index *index)
{
	unsigned int i, rows = index->nr;

	for (i = 0; i < cache->nr_objects; i++) {
		if (cache->objects[i].index)
			rows += cache->objects[i].nr;
	}
	return rows <= MAX_INDEX_ROWS;
}

static void end_index(struct unwind_cache *cache, struct unwind_object *object,
		      struct unwind_eh_index *index, bool hopeless)
{
	write_seqcount_begin(&cache->objects_seq);
	object->indexing = false;
	if (index) {
		object->index = index;
		object->nr = index->nr;
	} else if (hopeless || object->index_tries >= MAX_INDEX_TRIES) {
		object->eh_frame_size = 0;
		object->table = 0;
	}
	write_seqcount_end(&cache->objects_seq);
}

/**
 * unwind_cache_end_index - keep the index of an object
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: address in the object
 * @index: the index, which is given away; NULL if it cannot be made
 * @hopeless: nor will it be the next time: the object has no tables
 *
 * The object was known all the time that the index was being made, or watched like
 * one that is.  So the index is right if the generation is still the same, whatever
 * else was unmapped meanwhile.
 *
 * Context: Task context of a user task.
 */
void unwind_cache_end_index(const struct unwind_cache_state *state,
			    unsigned long ip, struct unwind_eh_index *index,
			    bool hopeless)
{
	struct unwind_object *object;
	struct unwind_cache *cache;
	bool kept = false;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		object = unindexed_object(cache, state->gen, ip);
		kept = object && index && has_room(cache, index);
		if (object)
			end_index(cache, object, kept ? index : NULL,
				  hopeless || (index && !kept));
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
 * Return: as unwind_eh_index_find(), or -EAGAIN if the index has gone.
 */
int unwind_cache_find_fde(unsigned long ip, unsigned long *fde)
{
	struct unwind_object object;
	struct unwind_cache *cache;
	bool found = false;
	unsigned int seq;
	int ret = -EAGAIN;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		do {
			seq = read_seqcount_begin(&cache->objects_seq);
			found = find_object(cache, ip, &object);
		} while (read_seqcount_retry(&cache->objects_seq, seq));
	}
	if (found && object.index)
		ret = unwind_eh_index_find(object.index, ip, fde);
	rcu_read_unlock();
	return ret;
}

/*
 * Of an object with tables there may be rules.  One without is just no longer
 * known: programs that make code at run time unmap it often.
 */
static void forget_range(struct unwind_cache *cache, unsigned long start,
			 unsigned long end)
{
	unsigned int i = 0;

	if (start < cache->watch_end && cache->watch_start < end) {
		start_over(cache);
		return;
	}
	while (i < cache->nr_objects) {
		struct unwind_object *object = &cache->objects[i];

		if (object->start >= end || start >= object->end) {
			i++;
			continue;
		}
		if (has_tables(object)) {
			start_over(cache);
			return;
		}
		write_seqcount_begin(&cache->objects_seq);
		*object = cache->objects[--cache->nr_objects];
		write_seqcount_end(&cache->objects_seq);
	}
}

/**
 * __unwind_user_unmap - forget what a range of addresses had
 * @mm: the mm
 * @start: first address that is unmapped
 * @end: first address that is not
 *
 * The out-of-line half of unwind_user_unmap().
 *
 * Context: Any task; as unwind_user_unmap().
 */
void __unwind_user_unmap(struct mm_struct *mm, unsigned long start,
			 unsigned long end)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = rcu_dereference(mm->unwind_cache);
	if (cache) {
		spin_lock(&cache->lock);
		/* after the page table entries were cleared; pairs with note_state() */
		smp_store_release(&cache->unmaps, cache->unmaps + 1);
		forget_range(cache, start, end);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

/* Under all_caches_lock: nobody finds it any more. */
static void take_cache(struct unwind_cache *cache)
{
	RCU_INIT_POINTER(cache->mm->unwind_cache, NULL);
	/* a walk that still has it must not leave an index in it */
	spin_lock(&cache->lock);
	start_over(cache);
	spin_unlock(&cache->lock);
	list_del(&cache->node);
	WRITE_ONCE(nr_caches, nr_caches - 1);
	kvfree_rcu(cache, rcu);
}

/**
 * __unwind_user_mm_exit - give back what was kept of an mm
 * @mm: the mm; it has no users any more
 *
 * The out-of-line half of unwind_user_mm_exit().
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
		take_cache(cache);
	spin_unlock(&all_caches_lock);
}

/**
 * unwind_nr_caches - how many mms have a cache
 *
 * Context: Any.
 * Return: the number.
 */
unsigned long unwind_nr_caches(void)
{
	return READ_ONCE(nr_caches);
}

static unsigned long count_caches(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	return unwind_nr_caches() ?: SHRINK_EMPTY;
}

static unsigned long shrink_caches(struct shrinker *shrinker,
				   struct shrink_control *sc)
{
	unsigned long freed = 0;

	spin_lock(&all_caches_lock);
	while (freed < sc->nr_to_scan && !list_empty(&all_caches)) {
		take_cache(list_first_entry(&all_caches, struct unwind_cache,
					    node));
		freed++;
	}
	spin_unlock(&all_caches_lock);
	return freed ?: SHRINK_STOP;
}

static int __init unwind_cache_setup(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "unwind_user");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_caches;
	shrinker->scan_objects = shrink_caches;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
subsys_initcall(unwind_cache_setup);

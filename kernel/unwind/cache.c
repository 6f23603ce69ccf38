// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules and objects that were found once, kept with the mm they are of.
 *
 * A cache belongs to one mm and is made by the first walk in it that has
 * something to find out.  It is small at first and grows by use: rules lie in pages that
 * a hash leads to, objects in a list sorted by the addresses of their code.
 *
 * Unmapping a part of a known object, or making it writable, drops the object and the
 * rules of its code.  If it has tables, that also starts a new generation, which tells
 * searches that are under way that what they found may be void.
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
 * the acquire in cache_note_state(): a search that sees the count sees the flush pending, or
 * begins after it.
 *
 * Rules of files (file.c) are copied from there.  An object whose file has died is dropped
 * when the next walk begins: the cache remembers up to which death it has looked at its
 * objects (unwind_cache_begin_walk()).  No object of a dead file is added: the look and the
 * addition hold the lock, and a file is dead before its death is counted.
 *
 * A task that is dying or short of memory makes no cache.  What it finds without one is
 * valid if no writer has held the mmap lock meanwhile.
 *
 * Readers are under RCU.  Entries have a sequence count each, and so has the list of
 * objects; objects do not change but for what unwind_cache_end_index() adds.  Writers
 * hold the lock, and allocate before they take it.  The shrinker takes whole caches from
 * their mm, and the next walk makes a new one; readers of one that was taken see its last
 * contents.
 * An index of .eh_frame belongs to its object in the cache, and is freed after
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
#include <linux/mmap_lock.h>
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
#include "file.h"
#include "rules.h"
#include "task.h"

/* at most 16 pages: 2048 rules */
#define MAX_RULES_BITS	11
#define FULL_RULE_BITS	4
#define FULL_RULES	BIT(FULL_RULE_BITS)
#define FIRST_OBJECTS	12
/* pointers in a page, less what is in front of them */
#define MAX_OBJECTS	500
/* how often the index of an .eh_frame that cannot be read is begun */
#define MAX_INDEX_TRIES	8
/* rows of 8 bytes that all indexes of an mm may have */
#define MAX_INDEX_ROWS	(512 * 1024U)

/* no reason to kill a process of the memcg */
#define CACHE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* of signal frames and procedure linkage tables: seldom many */
struct full_entry {
	u64			key;
	u32			seq;
	struct unwind_cfi_rule	rule;
};

struct full_table {
	struct rcu_head		rcu;
	struct full_entry	entries[FULL_RULES];
};

/* known objects, sorted by where their code begins; no two have the same code */
struct object_list {
	struct rcu_head		rcu;
	unsigned int		nr;
	unsigned int		max;
	struct unwind_object	*objects[];
};

/**
 * struct unwind_cache - what is known of the code of one mm
 * @rules: by address
 * @list: known objects
 * @lock: held by writers
 * @list_seq: for @list
 * @gen: the generation
 * @unmaps: counts what unwind_user_unmap() told of
 * @files_seen: unwind_files_changes() when the objects were looked at last
 * @full: rules that need a struct unwind_cfi_rule; NULL if there are none
 * @last_replaced: the object that had to make room last
 * @node: in all_caches
 * @mm: whose it is; only to be looked at under all_caches_lock
 * @rcu: frees it
 */
struct unwind_cache {
	struct unwind_rule_table __rcu	*rules;
	struct object_list __rcu	*list;
	spinlock_t			lock;	/* for writers */
	seqcount_spinlock_t		list_seq;
	u64				gen;
	unsigned long			unmaps;
	u64				files_seen;
	struct full_table __rcu		*full;
	unsigned int			last_replaced;
	struct list_head		node;
	struct mm_struct		*mm;
	struct rcu_head			rcu;
};

static LIST_HEAD(all_caches);
static DEFINE_SPINLOCK(all_caches_lock);
static unsigned long nr_caches;
static atomic_long_t caches_bytes;
static atomic64_t last_gen = ATOMIC64_INIT(0);

static unsigned long unwind_cache_key_addr(u64 key)
{
	return key & (BIT_ULL(UNWIND_KEY_WORD) - 1);
}

static __always_inline bool cache_read_entry(const struct unwind_rule_entry *entry, u64 key,
					     struct unwind_user_rule *rule)
{
	/* pairs with the release in write_entry() */
	u32 seq = smp_load_acquire(&entry->seq);

	return READ_ONCE(entry->key) == key && unwind_rules_read(entry, seq, rule);
}

static struct unwind_object *unwind_cache_list_find(const struct object_list *list,
						    unsigned long addr)
{
	/* pairs with cache_insert_object(): all of them have been written */
	unsigned int low = 0, high = smp_load_acquire(&list->nr);
	struct unwind_object *object;

	/* those below low begin at or before it, those from high on after it */
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		object = READ_ONCE(list->objects[mid]);
		if (object->code_start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	object = READ_ONCE(list->objects[low - 1]);
	return addr < object->code_end ? object : NULL;
}

/* Under RCU: the object at an address, which changes no more but for its index. */
static struct unwind_object *unwind_cache_object_at(struct unwind_cache *cache, unsigned long addr)
{
	struct unwind_object *object;
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&cache->list_seq);
		object = unwind_cache_list_find(rcu_dereference(cache->list), addr);
	} while (read_seqcount_retry(&cache->list_seq, seq));
	return object;
}

/* Under RCU: the rule that the file of an address has there, which is copied. */
static noinline bool cache_peek_file(struct unwind_cache *cache, u64 key,
				     struct unwind_user_rule *rule)
{
	u64 gen = READ_ONCE(cache->gen);
	struct unwind_object *object;
	unsigned long addr = unwind_cache_key_addr(key);

	/* the generation is that of the object, or an older one */
	smp_rmb();
	object = unwind_cache_object_at(cache, addr);
	if (!object || !object->file || (key >> UNWIND_KEY_WORD) != (object->word & 4) >> 2 ||
	    !unwind_file_peek(object->file, addr - object->bias, rule))
		return false;

	spin_lock(&cache->lock);
	if (cache->gen == gen)
		unwind_rules_add(rcu_dereference_protected(cache->rules,
							   lockdep_is_held(&cache->lock)),
				 unwind_rules_hash(key), key, rule);
	spin_unlock(&cache->lock);
	return true;
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
 * @key: unwind_rule_key() of the frame
 * @rule: filled in
 *
 * Context: Under RCU.
 * Return: false if it is not known.
 */
bool unwind_cache_peek(struct unwind_cache *cache, u64 key,
		       struct unwind_user_rule *rule)
{
	const struct unwind_rule_table *table = rcu_dereference(cache->rules);
	const struct unwind_rule_entry *set = unwind_rules_set(table, unwind_rules_hash(key));

	return cache_read_entry(&set[0], key, rule) || cache_read_entry(&set[1], key, rule) ||
	       cache_peek_file(cache, key, rule);
}

static struct full_entry *cache_full_entry(struct full_table *table, u64 key)
{
	return &table->entries[unwind_rules_hash(key) >> (64 - FULL_RULE_BITS)];
}

/* The same for full rules. */
static bool cache_peek_full(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule,
			    struct unwind_cfi_rule *full)
{
	struct full_table *table = rcu_dereference(cache->full);
	struct full_entry *entry;
	u32 seq;

	if (!table)
		return false;
	entry = cache_full_entry(table, key);
	/* pairs with the release in cache_add_full() */
	seq = smp_load_acquire(&entry->seq);
	if (!seq || (seq & 1) || READ_ONCE(entry->key) != key)
		return false;
	rule->kind = UNWIND_RULE_FULL;
	/* thrown away if the count tells that it was written meanwhile */
	data_race((*full = entry->rule, 0));
	/* pairs with the barriers of cache_add_full() */
	smp_rmb();
	return READ_ONCE(entry->seq) == seq;
}

/**
 * unwind_cache_find_rule - the rule at an address, if it is known
 * @key: unwind_rule_key() of the frame
 * @rule: filled in
 * @full: filled in if @rule says so
 *
 * Context: Task context of a user task.
 * Return: 0 or -ENOENT.
 */
int unwind_cache_find_rule(u64 key, struct unwind_user_rule *rule,
			   struct unwind_cfi_rule *full)
{
	struct unwind_cache *cache;
	bool found;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	found = cache && (unwind_cache_peek(cache, key, rule) ||
			  cache_peek_full(cache, key, rule, full));
	rcu_read_unlock();
	return found ? 0 : -ENOENT;
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
	struct unwind_object *found = NULL;
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache)
		found = unwind_cache_object_at(cache, ip);
	if (found)
		/* what may change meanwhile is looked at under the lock */
		data_race((*object = *found, 0));
	rcu_read_unlock();
	return found ? 0 : -ENOENT;
}

/**
 * unwind_cache_find_file - the file of the object at an address, if it is known
 * @ip: linear user address
 * @bias: set to what addresses in the file are below those in memory
 *
 * Context: Under RCU.
 * Return: the file or NULL.
 */
struct unwind_file *unwind_cache_find_file(unsigned long ip, unsigned long *bias)
{
	struct unwind_cache *cache = unwind_cache_of_current();
	struct unwind_object *object = cache ? unwind_cache_object_at(cache, ip) : NULL;

	if (!object)
		return NULL;
	*bias = object->bias;
	return object->file;
}

static struct object_list *cache_alloc_list(unsigned int max)
{
	struct object_list *list;

	list = kzalloc(struct_size(list, objects, max), CACHE_GFP);
	if (list)
		list->max = max;
	return list;
}

static size_t cache_first_bytes(void)
{
	return sizeof(struct unwind_cache) + unwind_rules_bytes(UNWIND_RULES_FIRST) +
	       struct_size_t(struct object_list, objects, FIRST_OBJECTS);
}

static void cache_free_now(struct unwind_cache *cache)
{
	kfree(rcu_dereference_raw(cache->list));
	unwind_rules_free(rcu_dereference_raw(cache->rules));
	kfree(rcu_dereference_raw(cache->full));
	kfree(cache);
}

static struct unwind_cache *cache_new(void)
{
	struct unwind_cache *cache;

	cache = kzalloc(sizeof(*cache), CACHE_GFP);
	if (!cache)
		return NULL;
	spin_lock_init(&cache->lock);
	seqcount_spinlock_init(&cache->list_seq, &cache->lock);
	RCU_INIT_POINTER(cache->list, cache_alloc_list(FIRST_OBJECTS));
	RCU_INIT_POINTER(cache->rules, unwind_rules_alloc(UNWIND_RULES_FIRST, CACHE_GFP));
	if (!rcu_access_pointer(cache->list) || !rcu_access_pointer(cache->rules)) {
		cache_free_now(cache);
		return NULL;
	}
	cache->gen = atomic64_inc_return(&last_gen);
	cache->files_seen = unwind_files_changes();
	return cache;
}

/* The first of the mm's threads that comes here wins. */
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
	atomic_long_add(cache_first_bytes(), &caches_bytes);
	rcu_assign_pointer(mm->unwind_cache, cache);
	spin_unlock(&all_caches_lock);
}

static void cache_note_state(struct unwind_cache_state *state)
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

#ifdef CONFIG_PER_VMA_LOCK
/* Without a cache: how often a writer has released the mmap lock; false while one has it. */
static bool cache_note_writers(unsigned long *writers)
{
	struct mm_struct *mm = current->mm;

	if (!mmap_read_trylock(mm))
		return false;
	/* a number, or a sequence count that begins with one */
	*writers = READ_ONCE(*(unsigned int *)&mm->mm_lock_seq);
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
 * unwind_cache_begin - a search begins
 * @state: set to what it must give back with what it finds
 *
 * Makes the mm's cache if it has none and the task may allocate.
 *
 * Context: Task context of a user task, without the mmap lock; may sleep.
 * Return: false if there is no memory, and no other way to tell what the search may keep.
 */
bool unwind_cache_begin(struct unwind_cache_state *state)
{
	struct unwind_cache *cache;

	cache_note_state(state);
	if (unlikely(!state->gen)) {
		cache = unwind_task_may_allocate() ? cache_new() : NULL;
		if (cache)
			cache_install(cache);
		cache_note_state(state);
		if (!state->gen)
			return cache_note_writers(&state->unmaps);
	}
	/* before the mmap lock is taken, which orders no loads before it */
	smp_rmb();
	return true;
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
	unsigned long writers;

	/* after the reads of the search */
	smp_rmb();
	if (unlikely(!state->gen))
		return cache_note_writers(&writers) && writers == state->unmaps;
	cache_note_state(&now);
	return now.gen == state->gen && now.unmaps == state->unmaps;
}

/* Under the lock: may the result of the search be kept? */
static bool cache_state_holds(const struct unwind_cache *cache,
			      const struct unwind_cache_state *state)
{
	return state->gen && cache->gen == state->gen &&
	       cache->unmaps == state->unmaps && !state->flush_pending;
}

static struct unwind_rule_table *cache_rules(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->rules, lockdep_is_held(&cache->lock));
}

static struct object_list *cache_list(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->list, lockdep_is_held(&cache->lock));
}

static struct full_table *cache_full_table(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->full, lockdep_is_held(&cache->lock));
}

static void cache_add_full(struct full_table *table, u64 key, const struct unwind_cfi_rule *full)
{
	struct full_entry *entry = cache_full_entry(table, key);
	u32 seq = entry->seq | 1;

	WRITE_ONCE(entry->seq, seq);
	/* the count is odd before anything is written; pairs with cache_peek_full() */
	smp_wmb();
	WRITE_ONCE(entry->key, key);
	entry->rule = *full;
	/* and even after it */
	smp_store_release(&entry->seq, seq + 1);
}

/* The first full rule needs a table to be in. */
static void cache_make_full_table(void)
{
	struct full_table *table;
	struct unwind_cache *cache;

	if (!unwind_task_may_allocate())
		return;
	table = kzalloc(sizeof(*table), CACHE_GFP);
	if (!table)
		return;
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache->gen && !cache_full_table(cache)) {
			rcu_assign_pointer(cache->full, table);
			atomic_long_add(sizeof(*table), &caches_bytes);
			table = NULL;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	kfree(table);
}

static bool cache_has_full_table(void)
{
	struct unwind_cache *cache;
	bool has;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	has = cache && rcu_access_pointer(cache->full);
	rcu_read_unlock();
	return has;
}

/**
 * unwind_cache_add_rule - keep a rule
 * @state: as unwind_cache_begin() set it when the search began
 * @key: unwind_rule_key() of the frames that it is for
 * @rule: the rule
 * @full: the rule, if @rule says so
 *
 * Context: Task context of a user task; may sleep for a full rule.
 */
void unwind_cache_add_rule(const struct unwind_cache_state *state, u64 key,
			   const struct unwind_user_rule *rule,
			   const struct unwind_cfi_rule *full)
{
	struct unwind_cache *cache;
	bool is_full = rule->kind == UNWIND_RULE_FULL;

	if (is_full && !cache_has_full_table())
		cache_make_full_table();
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache_state_holds(cache, state)) {
			if (!is_full)
				unwind_rules_add(cache_rules(cache), unwind_rules_hash(key), key,
						 rule);
			else if (cache_full_table(cache))
				cache_add_full(cache_full_table(cache), key, full);
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

/**
 * unwind_cache_add_file_rule - keep a rule that was decoded from a file
 * @state: as unwind_cache_begin() set it when the search began
 * @key: unwind_rule_key() of the frames that it is for
 * @rule: the rule
 *
 * It was found in no memory of the process, so a TLB flush that is pending does not matter.
 * The object was known during the search, or the generation is another.
 *
 * Context: Task context of a user task.
 */
void unwind_cache_add_file_rule(const struct unwind_cache_state *state, u64 key,
				const struct unwind_user_rule *rule)
{
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (state->gen && cache->gen == state->gen)
			unwind_rules_add(cache_rules(cache), unwind_rules_hash(key), key, rule);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

/* Of an object without tables there is no rule. */
static bool object_has_tables(const struct unwind_object *object)
{
	return object->nr || object->eh_frame_size;
}

/* An object that nobody finds any more. */
static void unwind_cache_free_object(struct unwind_object *object)
{
	if (object->index)
		kvfree_rcu(object->index, rcu);
	unwind_file_put(object->file);
	atomic_long_sub(sizeof(*object), &caches_bytes);
	kfree_rcu(object, rcu);
}

static bool cache_key_is_in_range(u64 key, unsigned long start, unsigned long end)
{
	return unwind_cache_key_addr(key) >= start && unwind_cache_key_addr(key) < end;
}

static void unwind_cache_drop_rules(struct unwind_cache *cache, unsigned long start,
				    unsigned long end)
{
	struct full_table *full = cache_full_table(cache);
	unsigned int i;

	unwind_rules_drop(cache_rules(cache), cache_key_is_in_range, start, end);
	for (i = 0; full && i < FULL_RULES; i++) {
		struct full_entry *entry = &full->entries[i];

		if (!(entry->seq & 1) && cache_key_is_in_range(entry->key, start, end))
			WRITE_ONCE(entry->seq, entry->seq + 1);
	}
}

/*
 * Take an object out of the list, and the rules that were found in its tables.  Rules of
 * code without tables have a checksum, and code made at run time is unmapped often.
 */
static void unwind_cache_drop_object(struct unwind_cache *cache, unsigned int i)
{
	struct object_list *list = cache_list(cache);
	struct unwind_object *object = list->objects[i];

	write_seqcount_begin(&cache->list_seq);
	WRITE_ONCE(list->nr, list->nr - 1);
	for (; i < list->nr; i++)
		WRITE_ONCE(list->objects[i], list->objects[i + 1]);
	write_seqcount_end(&cache->list_seq);
	/* who sees it finds the object no more; pairs with cache_note_state() and cache_peek_file() */
	smp_wmb();
	if (object_has_tables(object)) {
		WRITE_ONCE(cache->gen, atomic64_inc_return(&last_gen));
		unwind_cache_drop_rules(cache, object->code_start, object->code_end);
	}
	unwind_cache_free_object(object);
}

static void cache_insert_object(struct unwind_cache *cache, struct unwind_object *object)
{
	struct object_list *list = cache_list(cache);
	unsigned int i;

	write_seqcount_begin(&cache->list_seq);
	for (i = list->nr; i && list->objects[i - 1]->code_start > object->code_start; i--)
		WRITE_ONCE(list->objects[i], list->objects[i - 1]);
	WRITE_ONCE(list->objects[i], object);
	/* readers that see the number see the objects, whatever the order */
	smp_store_release(&list->nr, list->nr + 1);
	write_seqcount_end(&cache->list_seq);
}

/* Those without tables go first, as they have no rules. */
static void cache_make_room(struct unwind_cache *cache)
{
	struct object_list *list = cache_list(cache);
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		if (!object_has_tables(list->objects[i])) {
			unwind_cache_drop_object(cache, i);
			return;
		}
	}
	cache->last_replaced = (cache->last_replaced + 1) % list->nr;
	unwind_cache_drop_object(cache, cache->last_replaced);
}

static bool object_is_same(const struct unwind_object *a, const struct unwind_object *b)
{
	return a->start == b->start && a->end == b->end && a->table == b->table &&
	       a->code_start == b->code_start && a->code_end == b->code_end &&
	       a->file == b->file;
}

/*
 * Another thread may have found the same object.  Where a known one has some of its code
 * in another form, as part of a mapping that has grown, that one goes.
 */
static bool cache_drop_overlapping(struct unwind_cache *cache, const struct unwind_object *object)
{
	struct object_list *list = cache_list(cache);
	unsigned int i = 0;

	while (i < list->nr) {
		struct unwind_object *known = list->objects[i];

		if (known->code_start >= object->code_end ||
		    object->code_start >= known->code_end) {
			i++;
			continue;
		}
		if (object_is_same(known, object))
			return true;
		unwind_cache_drop_object(cache, i);
	}
	return false;
}

/* A list with more room, if there is none; which takes the place of the old one. */
static void cache_grow_list(struct unwind_cache *cache, struct object_list **larger)
{
	struct object_list *list = cache_list(cache);

	if (list->nr < list->max || !*larger || (*larger)->max <= list->max)
		return;
	memcpy((*larger)->objects, list->objects, list->nr * sizeof(list->objects[0]));
	(*larger)->nr = list->nr;
	write_seqcount_begin(&cache->list_seq);
	rcu_assign_pointer(cache->list, *larger);
	write_seqcount_end(&cache->list_seq);
	atomic_long_add((long)((*larger)->max - list->max) * sizeof(void *), &caches_bytes);
	*larger = NULL;
	kfree_rcu(list, rcu);
}

/* Does the list need to grow for one more? */
static unsigned int cache_next_list_max(void)
{
	const struct object_list *list;
	struct unwind_cache *cache;
	unsigned int max = 0;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	list = cache ? rcu_dereference(cache->list) : NULL;
	if (list && READ_ONCE(list->nr) == list->max && list->max < MAX_OBJECTS)
		max = min(list->max * 3, MAX_OBJECTS);
	rcu_read_unlock();
	return max;
}

/* What it was found from may be void, or have changed. */
static bool cache_object_is_void(const struct unwind_cache *cache,
				 const struct unwind_cache_state *state,
				 const struct unwind_object *object)
{
	return !cache_state_holds(cache, state) || (object->file && unwind_file_is_dead(object->file));
}

/**
 * unwind_cache_add_object - keep an object
 * @state: as unwind_cache_begin() set it when the search began
 * @object: the object; its reference to a file is taken over
 *
 * Context: Task context of a user task; may sleep.
 */
void unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object)
{
	struct object_list *larger = NULL;
	struct unwind_object *copy = NULL;
	struct unwind_cache *cache;
	unsigned int max;

	if (unwind_task_may_allocate()) {
		max = cache_next_list_max();
		if (max)
			larger = cache_alloc_list(max);
		copy = kmalloc(sizeof(*copy), CACHE_GFP);
	}
	if (!copy) {
		kfree(larger);
		unwind_file_put(object->file);
		return;
	}
	*copy = *object;
	atomic_long_add(sizeof(*copy), &caches_bytes);

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (!cache_object_is_void(cache, state, copy) && !cache_drop_overlapping(cache, copy)) {
			cache_grow_list(cache, &larger);
			if (cache_list(cache)->nr == cache_list(cache)->max)
				cache_make_room(cache);
			cache_insert_object(cache, copy);
			copy = NULL;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	kfree(larger);
	if (copy)
		unwind_cache_free_object(copy);
}

/* Under the lock: the object at an address, if its .eh_frame is not indexed. */
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
		object = cache_unindexed_object(cache, state->gen, ip);
		if (object && object->indexing)
			object = NULL;
		if (object) {
			WRITE_ONCE(object->indexing, true);
			object->index_tries++;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	return object;
}

static bool cache_has_index_room(struct unwind_cache *cache, const struct unwind_eh_index *index)
{
	struct object_list *list = cache_list(cache);
	unsigned int i, rows = index->nr;

	for (i = 0; i < list->nr; i++) {
		if (list->objects[i]->index)
			rows += list->objects[i]->nr;
	}
	return rows <= MAX_INDEX_ROWS;
}

/* Readers that see the number of rows see the index. */
static void object_end_index(struct unwind_object *object, struct unwind_eh_index *index,
			     bool hopeless)
{
	if (index) {
		/* pairs with unwind_cache_find_fde() */
		smp_store_release(&object->index, index);
		WRITE_ONCE(object->nr, index->nr);
	} else if (hopeless || object->index_tries >= MAX_INDEX_TRIES) {
		WRITE_ONCE(object->eh_frame_size, 0);
		WRITE_ONCE(object->table, 0);
	}
	WRITE_ONCE(object->indexing, false);
}

/**
 * unwind_cache_end_index - keep the index of an object
 * @state: as unwind_cache_begin() set it when the search began
 * @ip: address in the object
 * @index: the index, which is given away; NULL if it cannot be made
 * @hopeless: nor will it be the next time: the object has no tables
 *
 * The object was known all the time that the index was being made, or the generation is
 * another.  So the index is right if that is still the same, whatever
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
		object = cache_unindexed_object(cache, state->gen, ip);
		kept = object && index && cache_has_index_room(cache, index);
		if (object)
			object_end_index(object, kept ? index : NULL,
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

/* The object of any part of the range is known no more. */
static void cache_forget_range(struct unwind_cache *cache, unsigned long start,
			       unsigned long end)
{
	struct object_list *list = cache_list(cache);
	unsigned int i = 0;

	while (i < list->nr) {
		struct unwind_object *object = list->objects[i];

		if (object->start >= end || start >= object->end)
			i++;
		else
			unwind_cache_drop_object(cache, i);
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
		/* after the page table entries were cleared; pairs with cache_note_state() */
		smp_store_release(&cache->unmaps, cache->unmaps + 1);
		cache_forget_range(cache, start, end);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

static void cache_free_rcu(struct rcu_head *rcu)
{
	cache_free_now(container_of(rcu, struct unwind_cache, rcu));
}

static size_t cache_tables_bytes(struct unwind_cache *cache)
{
	struct full_table *full = cache_full_table(cache);

	return unwind_rules_bytes(cache_rules(cache)->bits) + (full ? sizeof(*full) : 0) +
	       struct_size_t(struct object_list, objects, cache_list(cache)->max);
}

/* Under all_caches_lock: nobody finds it any more. */
static void cache_take(struct unwind_cache *cache)
{
	struct object_list *list;
	unsigned int i;

	RCU_INIT_POINTER(cache->mm->unwind_cache, NULL);
	spin_lock(&cache->lock);
	/* nothing that a walk found which still has it fits a generation of 0 */
	WRITE_ONCE(cache->gen, 0);
	list = cache_list(cache);
	for (i = 0; i < list->nr; i++)
		unwind_cache_free_object(list->objects[i]);
	write_seqcount_begin(&cache->list_seq);
	WRITE_ONCE(list->nr, 0);
	write_seqcount_end(&cache->list_seq);
	atomic_long_sub(sizeof(*cache) + cache_tables_bytes(cache), &caches_bytes);
	spin_unlock(&cache->lock);
	list_del(&cache->node);
	WRITE_ONCE(nr_caches, nr_caches - 1);
	call_rcu(&cache->rcu, cache_free_rcu);
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
		cache_take(cache);
	spin_unlock(&all_caches_lock);
}

/**
 * unwind_caches_stat - how many mms have a cache, and what they take
 * @nr: filled in
 * @bytes: filled in
 *
 * Context: Any.
 */
void unwind_caches_stat(unsigned long *nr, unsigned long *bytes)
{
	*nr = READ_ONCE(nr_caches);
	*bytes = atomic_long_read(&caches_bytes);
}

/* Rules displace each other: have more room for them. */
static void unwind_cache_grow_rules(void)
{
	struct unwind_rule_table *table = NULL, *old = NULL;
	unsigned int bits = 0;
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache)
		bits = rcu_dereference(cache->rules)->bits;
	rcu_read_unlock();
	if (!bits || bits >= MAX_RULES_BITS || !unwind_task_may_allocate())
		return;
	bits = min_t(unsigned int, bits < 7 ? 7 : bits + 1, MAX_RULES_BITS);
	table = unwind_rules_alloc(bits, CACHE_GFP);
	if (!table)
		return;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache->gen && cache_rules(cache)->bits < bits) {
			old = cache_rules(cache);
			unwind_rules_copy(table, old, unwind_rules_hash);
			rcu_assign_pointer(cache->rules, table);
			atomic_long_add(unwind_rules_bytes(bits) - unwind_rules_bytes(old->bits),
					&caches_bytes);
			table = NULL;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	unwind_rules_free(old);
	unwind_rules_free(table);
}

/* Drop the objects of dead files. */
static void cache_drop_dead_files(struct unwind_cache *cache)
{
	struct object_list *list;
	unsigned int i = 0;
	u64 changes;

	spin_lock(&cache->lock);
	/* who dies from here on is counted later */
	changes = unwind_files_changes();
	list = cache_list(cache);
	while (i < list->nr) {
		struct unwind_object *object = list->objects[i];

		if (object->file && unwind_file_is_dead(object->file))
			unwind_cache_drop_object(cache, i);
		else
			i++;
	}
	WRITE_ONCE(cache->files_seen, changes);
	spin_unlock(&cache->lock);
}

/**
 * unwind_cache_begin_walk - a walk begins: go by no rules of files that have changed
 *
 * Also gives a cache that has become too small more room.
 *
 * Context: Task context of a user task; may sleep.
 * Return: the number of changes of files so far, for unwind_files_changes().
 */
u64 unwind_cache_begin_walk(void)
{
	struct unwind_cache *cache;
	bool crowded = false;
	u64 changes;

	changes = unwind_files_changes();
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		if (unlikely(READ_ONCE(cache->files_seen) != changes))
			cache_drop_dead_files(cache);
		crowded = unwind_rules_is_crowded(rcu_dereference(cache->rules));
	}
	rcu_read_unlock();
	if (unlikely(crowded))
		unwind_cache_grow_rules();
	return changes;
}

static unsigned long caches_count(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	return READ_ONCE(nr_caches) ?: SHRINK_EMPTY;
}

static unsigned long caches_shrink(struct shrinker *shrinker,
				   struct shrink_control *sc)
{
	unsigned long freed = 0;

	spin_lock(&all_caches_lock);
	while (freed < sc->nr_to_scan && !list_empty(&all_caches)) {
		cache_take(list_first_entry(&all_caches, struct unwind_cache,
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
	shrinker->count_objects = caches_count;
	shrinker->scan_objects = caches_shrink;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
subsys_initcall(unwind_cache_setup);

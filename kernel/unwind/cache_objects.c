// SPDX-License-Identifier: GPL-2.0
/*
 * The objects of a cache, in a list sorted by the addresses of their code.
 */

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "cache.h"
#include "cache_parts.h"
#ifdef CONFIG_UNWIND_USER_EH_INDEX
#include "eh_index.h"
#endif
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif
#include "task.h"

/* the size of an object, as kmalloc() rounds it up */
#define OBJECT_BYTES	kmalloc_size_roundup(sizeof(struct unwind_object))
static_assert(sizeof(struct unwind_object) <= 128);

/* about as many pointers as fit in a page after the header */
#define MAX_OBJECTS	500

/* Find the object of a list whose code contains @addr. Under RCU or the lock. */
struct unwind_object *unwind_cache_list_find(const struct unwind_object_list *list,
					     unsigned long addr)
{
	/* pairs with cache_insert_object(): this number of pointers has been written */
	unsigned int low = 0, high = smp_load_acquire(&list->nr);
	struct unwind_object *object;

	/* Objects below low begin at or before @addr, objects from high on after it. */
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

/* Find the object at an address, under RCU. */
struct unwind_object *unwind_cache_object_at(struct unwind_cache *cache, unsigned long addr)
{
	struct unwind_object *object;
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&cache->list_seq);
		object = unwind_cache_list_find(rcu_dereference(cache->list), addr);
	} while (read_seqcount_retry(&cache->list_seq, seq));
	return object;
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/*
 * As unwind_cache_object_at(), but NULL if the list is being written: the caller may have
 * interrupted the writer, so it must not wait as read_seqcount_begin() does.
 */
struct unwind_object *unwind_cache_peek_object(struct unwind_cache *cache, unsigned long addr)
{
	/* pairs with write_seqcount_end() */
	unsigned int seq = smp_load_acquire(&cache->list_seq.seqcount.sequence);
	struct unwind_object *object;

	if (seq & 1)
		return NULL;
	object = unwind_cache_list_find(rcu_dereference(cache->list), addr);
	return read_seqcount_retry(&cache->list_seq, seq) ? NULL : object;
}
#endif

/**
 * unwind_cache_find_object - the object at an address, if it is known
 * @ip: linear user address
 * @object: filled in
 *
 * Context: Task context of a user task.
 * Return: UNWIND_FOUND or UNWIND_NONE.
 */
enum unwind_result unwind_cache_find_object(unsigned long ip, struct unwind_object *object)
{
	struct unwind_object *found = NULL;
	struct unwind_cache *cache;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache)
		found = unwind_cache_object_at(cache, ip);
	if (found) {
		/* members for its index may change: unwind_cache_claim_index() checks them again */
		data_race((*object = *found, 0));
#ifdef CONFIG_UNWIND_USER_EH_INDEX
		object->no_index = time_before(jiffies, READ_ONCE(cache->index_after));
#endif
	}
	rcu_read_unlock();
	return found ? UNWIND_FOUND : UNWIND_NONE;
}

/* Allocate a list for @max objects, or NULL. */
struct unwind_object_list *unwind_cache_alloc_list(unsigned int max, gfp_t gfp)
{
	struct unwind_object_list *list;

	list = kzalloc(struct_size(list, objects, max), gfp);
	if (list)
		list->max = max;
	return list;
}

static void cache_uncharge_object(struct unwind_object *object)
{
#ifdef CONFIG_UNWIND_USER_FILES
	unwind_file_put(object->file);
#endif
	atomic_long_sub(OBJECT_BYTES, &unwind_caches_bytes);
}

/* Free an object that was removed from the list, after a grace period. */
static void cache_free_object(struct unwind_object *object)
{
	cache_uncharge_object(object);
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (object->index)
		kvfree_rcu(object->index, rcu);
#endif
	kfree_rcu(object, rcu);
}

/* Free an object that has no more readers. */
static void cache_free_object_now(struct unwind_object *object)
{
	cache_uncharge_object(object);
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	kvfree(object->index);
#endif
	kfree(object);
}

static atomic64_t last_gen = ATOMIC64_INIT(0);

/* Return a generation that no cache has had. */
u64 unwind_cache_next_gen(void)
{
	return atomic64_inc_return(&last_gen);
}

/* a range that contains the code of all dropped objects with tables */
struct dropped {
	unsigned long	start;
	unsigned long	end;
};

#define NONE_DROPPED	{ .start = ULONG_MAX }

/*
 * Remove an object from the list.  Under the same lock, the caller then drops the rules of all
 * removed objects by one call of cache_drop_rules_of(), which looks through the whole table.
 */
static void cache_drop_object(struct unwind_cache *cache, unsigned int i,
			      struct dropped *dropped)
{
	struct unwind_object_list *list = cache_list(cache);
	struct unwind_object *object = list->objects[i];

	write_seqcount_begin(&cache->list_seq);
	WRITE_ONCE(list->nr, list->nr - 1);
	for (; i < list->nr; i++)
		WRITE_ONCE(list->objects[i], list->objects[i + 1]);
	write_seqcount_end(&cache->list_seq);
	/*
	 * A reader that sees the new generation does not find the object.  Pairs with
	 * unwind_cache_begin() and unwind_cache_peek_file().
	 */
	smp_wmb();
	if (unwind_object_has_tables(object)) {
		WRITE_ONCE(cache->gen, unwind_cache_next_gen());
		dropped->start = min(dropped->start, object->code_start);
		dropped->end = max(dropped->end, object->code_end);
	}
	cache_free_object(object);
}

/*
 * The dropped objects that have tables span an address range.  Drop all rules in this range, also
 * rules of code between these objects.  Outside the range, rules of code without tables stay: code
 * made at run time is unmapped often, and the checksum of a rule shows whether its code has
 * changed.
 */
static void cache_drop_rules_of(struct unwind_cache *cache, const struct dropped *dropped)
{
	if (dropped->start < dropped->end)
		unwind_cache_drop_rules(cache, dropped->start, dropped->end);
}

#ifdef CONFIG_UNWIND_USER_CODE
static bool cache_may_have_code(const struct unwind_cache *cache,
				const struct unwind_object *object)
{
	return cache->code_start < object->code_end && cache->code_end >= object->code_start;
}
#endif

static void cache_insert_object(struct unwind_cache *cache, struct unwind_object *object)
{
	struct unwind_object_list *list = cache_list(cache);
	unsigned int i;

#ifdef CONFIG_UNWIND_USER_CODE
	/* drop rules of earlier code without tables: they would be used instead of the tables */
	if (unwind_object_has_tables(object) && cache_may_have_code(cache, object))
		unwind_cache_drop_rules(cache, object->code_start, object->code_end);
#endif
	write_seqcount_begin(&cache->list_seq);
	for (i = list->nr; i && list->objects[i - 1]->code_start > object->code_start; i--)
		WRITE_ONCE(list->objects[i], list->objects[i - 1]);
	WRITE_ONCE(list->objects[i], object);
	/* readers that see the new number see all objects */
	smp_store_release(&list->nr, list->nr + 1);
	write_seqcount_end(&cache->list_seq);
}

/* Drop an object to make room: preferably one without tables, because it has no rules. */
static void cache_make_room(struct unwind_cache *cache, struct dropped *dropped)
{
	struct unwind_object_list *list = cache_list(cache);
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		if (!unwind_object_has_tables(list->objects[i])) {
			cache_drop_object(cache, i, dropped);
			return;
		}
	}
	cache->last_replaced = (cache->last_replaced + 1) % list->nr;
	cache_drop_object(cache, cache->last_replaced, dropped);
}

static bool object_is_same(const struct unwind_object *a, const struct unwind_object *b)
{
#ifdef CONFIG_UNWIND_USER_FILES
	if (a->file != b->file || a->by_file != b->by_file)
		return false;
#endif
	return a->start == b->start && a->end == b->end && a->table == b->table &&
	       a->code_start == b->code_start && a->code_end == b->code_end;
}

/*
 * Drop known objects that overlap the new one, for instance because their mapping has
 * grown.  Return true if another thread has already added the same object.
 */
static bool cache_drop_overlapping(struct unwind_cache *cache, const struct unwind_object *object,
				   struct dropped *dropped)
{
	struct unwind_object_list *list = cache_list(cache);
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
		cache_drop_object(cache, i, dropped);
	}
	return false;
}

/* Replace the list by a larger one if it is full. */
static void cache_grow_list(struct unwind_cache *cache, struct unwind_object_list **larger)
{
	struct unwind_object_list *list = cache_list(cache);

	if (list->nr < list->max || !*larger || (*larger)->max <= list->max)
		return;
	memcpy((*larger)->objects, list->objects, list->nr * sizeof(list->objects[0]));
	(*larger)->nr = list->nr;
	write_seqcount_begin(&cache->list_seq);
	rcu_assign_pointer(cache->list, *larger);
	write_seqcount_end(&cache->list_seq);
	atomic_long_add((long)((*larger)->max - list->max) * sizeof(void *), &unwind_caches_bytes);
	*larger = NULL;
	kfree_rcu(list, rcu);
}

/* The wanted size of a larger list, or 0 if the list is not full or cannot grow. */
static unsigned int cache_next_list_max(void)
{
	const struct unwind_object_list *list;
	struct unwind_cache *cache;
	unsigned int max = 0;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	list = cache ? rcu_dereference(cache->list) : NULL;
	if (list && READ_ONCE(list->nr) == list->max && list->max < MAX_OBJECTS)
		/* twice the bytes */
		max = min(list->max * 2 + 3, MAX_OBJECTS);
	rcu_read_unlock();
	return max;
}

/* Is the result of the search invalid? */
static bool cache_object_is_void(const struct unwind_cache *cache,
				 const struct unwind_cache_state *state,
				 const struct unwind_object *object)
{
#ifdef CONFIG_UNWIND_USER_FILES
	if (object->file && unwind_file_is_dead(object->file))
		return true;
#endif
	return !cache_state_holds(cache, state);
}

/**
 * unwind_cache_add_object - keep an object
 * @state: as unwind_cache_begin() set it when the search began
 * @object: the object
 *
 * Rules may be added only for objects in the cache: an unmap drops rules object by object.
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if the object is in the cache now.
 */
bool unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object)
{
	struct unwind_object_list *larger = NULL;
	struct dropped dropped = NONE_DROPPED;
	struct unwind_object *copy = NULL;
	struct unwind_cache *cache;
	bool known = false;
	unsigned int max;

	if (unwind_task_may_allocate()) {
		max = cache_next_list_max();
		if (max)
			larger = unwind_cache_alloc_list(max, UNWIND_CACHE_GFP);
		copy = kmalloc_obj(*copy, UNWIND_CACHE_GFP);
	}
	if (!copy) {
		kfree(larger);
#ifdef CONFIG_UNWIND_USER_FILES
		unwind_file_put(object->file);
#endif
		return false;
	}
	*copy = *object;
	atomic_long_add(OBJECT_BYTES, &unwind_caches_bytes);

	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		known = !cache_object_is_void(cache, state, copy);
		if (known && !cache_drop_overlapping(cache, copy, &dropped)) {
			cache_grow_list(cache, &larger);
			/* still full: no memory, too many objects, or just filled by others */
			if (cache_list(cache)->nr == cache_list(cache)->max)
				cache_make_room(cache, &dropped);
			cache_insert_object(cache, copy);
			copy = NULL;
		}
		cache_drop_rules_of(cache, &dropped);
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	kfree(larger);
	if (copy)
		cache_free_object_now(copy);
	return known;
}

/* Drop all objects for which @is_void is true. The caller holds the lock of the cache. */
void unwind_cache_forget(struct unwind_cache *cache,
			 bool (*is_void)(const struct unwind_object *object, unsigned long start,
					 unsigned long end),
			 unsigned long start, unsigned long end)
{
	struct unwind_object_list *list = cache_list(cache);
	struct dropped dropped = NONE_DROPPED;
	unsigned int i = 0;

	while (i < list->nr) {
		if (is_void(list->objects[i], start, end))
			cache_drop_object(cache, i, &dropped);
		else
			i++;
	}
	cache_drop_rules_of(cache, &dropped);
}

static bool object_overlaps(const struct unwind_object *object, unsigned long start,
			    unsigned long end)
{
	return object->start < end && start < object->end;
}

/* Drop all objects that overlap the range. The caller holds the lock of the cache. */
void unwind_cache_forget_range(struct unwind_cache *cache, unsigned long start,
			       unsigned long end)
{
	unwind_cache_forget(cache, object_overlaps, start, end);
}

/* After a grace period, free the objects of a cache that was given up. Under the lock. */
void unwind_cache_free_objects(struct unwind_cache *cache)
{
	struct unwind_object_list *list = cache_list(cache);
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		cache_free_object(list->objects[i]);
	write_seqcount_begin(&cache->list_seq);
	WRITE_ONCE(list->nr, 0);
	write_seqcount_end(&cache->list_seq);
}

/* Free the objects of a cache that was given up and has no more readers. */
void unwind_cache_free_objects_now(struct unwind_cache *cache)
{
	struct unwind_object_list *list = rcu_dereference_raw(cache->list);
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		cache_free_object_now(list->objects[i]);
}

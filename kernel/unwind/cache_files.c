// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of files in the cache of an mm.
 *
 * Rules of files are copied from the tables of file.c.  A file that is opened for writing becomes
 * dead.  Objects of dead files are dropped when the next walk uses the cache: the cache remembers
 * the count of deaths at its last check of all objects (unwind_cache_use()).  Once a check
 * has read a count that includes the death of a file, no object of that file is added: a file is
 * marked as dead before its death is counted, the check reads the count under the lock of the
 * cache, and an addition tests the mark under the same lock.
 */

#include <linux/compiler.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "cache.h"
#include "cache_parts.h"
#include "file.h"
#include "rules.h"

static struct unwind_object *cache_current_object(unsigned long ip)
{
	struct unwind_cache *cache = unwind_cache_of_current();

	return cache ? unwind_cache_object_at(cache, ip) : NULL;
}

/**
 * unwind_cache_file_is_dead - is the file of the object at an address dead?
 * @ip: linear user address
 *
 * Context: Task context of a user task.
 * Return: true if so; false also if no object or no file is known there.
 */
bool unwind_cache_file_is_dead(unsigned long ip)
{
	struct unwind_object *object;
	bool dead;

	rcu_read_lock();
	object = cache_current_object(ip);
	dead = object && object->file && unwind_file_is_dead(object->file);
	rcu_read_unlock();
	return dead;
}

/**
 * unwind_cache_find_file - the file whose rules are used for an address
 * @ip: linear user address
 * @bias: set to the difference: address in memory less address in the file
 *
 * Context: Under RCU.
 * Return: the file or NULL.
 */
struct unwind_file *unwind_cache_find_file(unsigned long ip, unsigned long *bias)
{
	struct unwind_object *object = cache_current_object(ip);

	if (!object || !object->by_file)
		return NULL;
	*bias = object->bias;
	return object->file;
}

/* Is there an object for a key, whose rules are those of a file? */
static bool cache_has_file(const struct unwind_object *object, u64 key)
{
	return object && object->by_file && (key >> UNWIND_KEY_WORD) == (object->word & 4) >> 2;
}

/* The rule of a key in the file of an object, if both are known. Under RCU. */
static bool cache_rule_in_file(const struct unwind_object *object, u64 key,
			       struct unwind_user_rule *rule)
{
	return cache_has_file(object, key) &&
	       unwind_file_peek(object->file, unwind_key_addr(key) - object->bias, rule);
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/**
 * unwind_cache_look_in_file - as unwind_cache_peek_file(), but for walks in place
 * @cache: as unwind_cache_use() returned it
 * @key: unwind_rule_key() of the frame
 * @rule: filled in
 *
 * Context: Any, under RCU.
 * Return: false if it is not known.
 */
bool unwind_cache_look_in_file(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule)
{
	const struct unwind_object *object = unwind_cache_peek_object(cache, unwind_key_addr(key));

	return cache_has_file(object, key) &&
	       unwind_file_look(object->file, unwind_key_addr(key) - object->bias, rule);
}

/**
 * unwind_cache_without_rows - objects of files whose rows should be decoded
 * @addrs: filled in with an address of the code of each
 * @max: the most addresses
 *
 * Context: Task context of a user task.
 * Return: the number of addresses.
 */
unsigned int unwind_cache_without_rows(unsigned long *addrs, unsigned int max)
{
	const struct unwind_object_list *list;
	struct unwind_object *object;
	struct unwind_cache *cache;
	unsigned int i, nr = 0;

	rcu_read_lock();
	cache = unwind_cache_of_current();
	list = cache ? rcu_dereference(cache->list) : NULL;
	/* objects may move meanwhile: then one is missed, or found twice */
	for (i = 0; list && nr < max && i < smp_load_acquire(&list->nr); i++) {
		object = READ_ONCE(list->objects[i]);
		if (object->by_file && unwind_file_wants_rows(object->file))
			addrs[nr++] = object->code_start;
	}
	rcu_read_unlock();
	return nr;
}
#endif

/**
 * unwind_cache_peek_file - the rule at an address, if the file that is mapped there has it
 * @cache: as unwind_cache_use() returned it
 * @key: unwind_rule_key() of the frame
 * @rule: filled in
 *
 * Copies the rule to the table of the cache.
 *
 * Context: Under RCU.
 * Return: false if it is not known.
 */
bool unwind_cache_peek_file(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule)
{
	u64 gen = READ_ONCE(cache->gen);

	/* read the generation first: it must not be newer than the object */
	smp_rmb();
	if (!cache_rule_in_file(unwind_cache_object_at(cache, unwind_key_addr(key)), key, rule))
		return false;

	/* if the lock is busy, do not copy: the next walk finds the rule in the file again */
	if (!spin_trylock(&cache->lock))
		return true;
	if (gen && cache->gen == gen)
		unwind_cache_add_compact(cache, key, rule);
	spin_unlock(&cache->lock);
	return true;
}

/**
 * unwind_cache_add_file_rule - keep a rule that was decoded from a file
 * @state: as unwind_cache_begin() set it when the search began
 * @key: unwind_rule_key() of the frames that it is for
 * @rule: the rule
 *
 * The rule was not read from memory of the process, so a pending TLB flush does not matter.
 * If the object was dropped during the search, the generation has changed, and the rule is
 * not kept.
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
		if (state->gen && cache->gen == state->gen) {
			unwind_cache_add_compact(cache, key, rule);
			unwind_cache_count_found(cache, rule->kind);
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

static bool object_is_dead(const struct unwind_object *object, unsigned long start,
			   unsigned long end)
{
	return object->file && unwind_file_is_dead(object->file);
}

/* Drop the objects of dead files. */
void unwind_cache_drop_dead_files(struct unwind_cache *cache)
{
	u64 changes;

	spin_lock(&cache->lock);
	/* later deaths are not in this count */
	changes = unwind_files_changes();
	/* another thread may have done this already */
	if (cache->files_seen != changes)
		unwind_cache_forget(cache, object_is_dead, 0, 0);
	WRITE_ONCE(cache->files_seen, changes);
	spin_unlock(&cache->lock);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of a cache, by address.  Compact rules are in a table that grows (rules.c).  The few
 * rules that need a struct unwind_full_rule are allocated one by one: most are those of signal
 * frames, and of functions that keep the CFA in memory.
 */

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cache.h"
#include "cache_parts.h"
#include "full_rule.h"
#include "rules.h"
#include "task.h"

/* at most 16 pages: 2048 rules */
#define MAX_RULES_BITS	11
/* most displaced rules are found again soon, so do not grow too soon */
#define RULES_SPILL	32

struct unwind_full_entry {
	struct rcu_head		rcu;
	u64			key;
	struct unwind_full_rule	rule;
};

#define FULL_BYTES	kmalloc_size_roundup(sizeof(struct unwind_full_entry))

/* memory of all caches */
atomic_long_t unwind_caches_bytes;

/* Count a rule that a search has found, if it is of use. Under the lock. */
void unwind_cache_count_found(struct unwind_cache *cache, u8 kind)
{
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	if (kind == UNWIND_RULE_END || kind >= UNWIND_RULE_FULL)
		WRITE_ONCE(cache->added, cache->added + 1);
#endif
}

/* Add a rule that is not a full one. Under the lock. */
void unwind_cache_add_compact(struct unwind_cache *cache, u64 key,
			      const struct unwind_user_rule *rule)
{
	struct unwind_rule_table *table = cache_rules(cache);
	bool displaced = unwind_rules_add(table, unwind_rules_hash(key), key, rule);

	unwind_rules_count_displaced(table, &cache->displaced, displaced, RULES_SPILL);
}

static unsigned int cache_full_slot(u64 key)
{
	return unwind_rules_hash(key) >> (64 - UNWIND_FULL_RULES_BITS);
}

/* Find the full rule of a key. Under RCU. */
bool unwind_cache_peek_full(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule,
			    struct unwind_full_rule *full)
{
	struct unwind_full_entry *entry = rcu_dereference(cache->full[cache_full_slot(key)]);

	if (!entry || entry->key != key)
		return false;
	rule->kind = UNWIND_RULE_FULL;
	*full = entry->rule;
	return true;
}

static struct unwind_full_entry *cache_new_full(u64 key, const struct unwind_full_rule *full)
{
	struct unwind_full_entry *entry = NULL;

	if (unwind_task_may_allocate())
		entry = kmalloc_obj(*entry, UNWIND_CACHE_GFP);
	if (entry) {
		entry->key = key;
		entry->rule = *full;
	}
	return entry;
}

static struct unwind_full_entry *cache_full(const struct unwind_cache *cache, unsigned int slot)
{
	return rcu_dereference_protected(cache->full[slot], lockdep_is_held(&cache->lock));
}

/* Put a full rule, or NULL, into a slot. Under the lock. */
static void cache_set_full(struct unwind_cache *cache, unsigned int slot,
			   struct unwind_full_entry *entry)
{
	struct unwind_full_entry *old = cache_full(cache, slot);

	rcu_assign_pointer(cache->full[slot], entry);
	atomic_long_add(((long)!!entry - !!old) * FULL_BYTES, &unwind_caches_bytes);
	kfree_rcu(old, rcu);
}

/* Free the full rules of a cache that has no readers. */
void unwind_cache_free_full_now(struct unwind_cache *cache)
{
	unsigned int i;

	for (i = 0; i < UNWIND_FULL_RULES; i++)
		kfree(rcu_dereference_raw(cache->full[i]));
}

#ifdef CONFIG_UNWIND_USER_CODE
/*
 * Record the range of addresses with rules that were not copied from a file: code in this range
 * may have no tables.  Called with the cache's lock held.
 */
static void cache_note_code(struct unwind_cache *cache, unsigned long addr)
{
	if (!cache->code_end || addr < cache->code_start)
		cache->code_start = addr;
	cache->code_end = max(cache->code_end, addr);
}
#endif

/**
 * unwind_cache_add_rule - keep a rule
 * @state: as unwind_cache_begin() set it when the search began
 * @key: unwind_rule_key() of the frames that it is for
 * @rule: the rule
 * @full: the rule, if @rule is of the kind UNWIND_RULE_FULL
 *
 * Context: Task context of a user task; may sleep for a full rule.
 */
void unwind_cache_add_rule(const struct unwind_cache_state *state, u64 key,
			   const struct unwind_user_rule *rule,
			   const struct unwind_full_rule *full)
{
	bool is_full = rule->kind == UNWIND_RULE_FULL;
	struct unwind_full_entry *entry = NULL;
	struct unwind_cache *cache;

	if (is_full) {
		entry = cache_new_full(key, full);
		if (!entry)
			return;
	}
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache_state_holds(cache, state)) {
#ifdef CONFIG_UNWIND_USER_CODE
			cache_note_code(cache, unwind_key_addr(key));
#endif
			if (is_full)
				cache_set_full(cache, cache_full_slot(key), entry);
			else
				unwind_cache_add_compact(cache, key, rule);
			unwind_cache_count_found(cache, rule->kind);
			entry = NULL;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	kfree(entry);
}

static bool cache_key_is_in_range(u64 key, unsigned long start, unsigned long end)
{
	return unwind_key_addr(key) >= start && unwind_key_addr(key) < end;
}

/* Drop the rules of a range of addresses. Under the lock. */
void unwind_cache_drop_rules(struct unwind_cache *cache, unsigned long start,
			     unsigned long end)
{
	struct unwind_full_entry *entry;
	unsigned int i;

	unwind_rules_drop(cache_rules(cache), cache_key_is_in_range, start, end);
	for (i = 0; i < UNWIND_FULL_RULES; i++) {
		entry = cache_full(cache, i);
		if (entry && cache_key_is_in_range(entry->key, start, end))
			cache_set_full(cache, i, NULL);
	}
}

static void cache_copy_rule(struct unwind_rule_table *table, u64 key,
			    const struct unwind_user_rule *rule)
{
	unwind_rules_add(table, unwind_rules_hash(key), key, rule);
}

/*
 * Enlarge the table by a factor of four, if rules displace each other or if it has less than
 * 1 << @least entries.
 */
void unwind_cache_grow_rules(unsigned int least)
{
	struct unwind_rule_table *table, *old;
	struct unwind_cache *cache;
	unsigned int bits = 0;

	/* the mark remains, for a task that may */
	if (!unwind_task_may_allocate())
		return;
	rcu_read_lock();
	cache = unwind_cache_of_current();
	old = cache ? rcu_dereference(cache->rules) : NULL;
	/* another thread may have done this meanwhile */
	if (old && (unwind_rules_is_crowded(old) || old->bits < least)) {
		unwind_rules_begin_growth(old);
		bits = old->bits;
	}
	rcu_read_unlock();
	if (!bits || bits >= MAX_RULES_BITS)
		return;
	bits = min_t(unsigned int, bits + 2, MAX_RULES_BITS);
	table = unwind_rules_alloc(bits, UNWIND_CACHE_GFP);
	if (!table)
		return;

	old = NULL;
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache->gen && cache_rules(cache)->bits < bits) {
			old = cache_rules(cache);
			unwind_rules_copy(table, old, cache_copy_rule);
			rcu_assign_pointer(cache->rules, table);
			atomic_long_add(unwind_rules_bytes(bits) - unwind_rules_bytes(old->bits),
					&unwind_caches_bytes);
			table = NULL;
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
	unwind_rules_free(old);
	unwind_rules_free_now(table);
}

/* Memory of the rules. Under the lock. */
size_t unwind_cache_rules_bytes(struct unwind_cache *cache)
{
	size_t bytes = unwind_rules_bytes(cache_rules(cache)->bits);
	unsigned int i;

	for (i = 0; i < UNWIND_FULL_RULES; i++)
		bytes += cache_full(cache, i) ? FULL_BYTES : 0;
	return bytes;
}

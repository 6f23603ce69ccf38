// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of a cache, by address.  Compact rules are in a table that grows (rules.c).  The
 * few rules that need a struct unwind_full_rule are in a small second table.
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
#define FULL_RULE_BITS	4
#define FULL_RULES	BIT(FULL_RULE_BITS)

/* A full rule; most full rules are those of signal frames and procedure linkage tables. */
struct unwind_full_entry {
	u64			key;
	u32			seq;
	struct unwind_full_rule	rule;
};

struct unwind_full_table {
	struct rcu_head			rcu;
	struct unwind_full_entry	entries[FULL_RULES];
};

/* memory of all caches */
atomic_long_t unwind_caches_bytes;

/* Add a rule that is not a full one. Under the lock. */
void unwind_cache_add_compact(struct unwind_cache *cache, u64 key,
			      const struct unwind_user_rule *rule)
{
	struct unwind_rule_table *table = cache_rules(cache);
	bool displaced = unwind_rules_add(table, unwind_rules_hash(key), key, rule);

	unwind_rules_count_displaced(table, &cache->displaced, displaced, RULES_SPILL);
}

static struct unwind_full_entry *cache_full_entry(struct unwind_full_table *table, u64 key)
{
	return &table->entries[unwind_rules_hash(key) >> (64 - FULL_RULE_BITS)];
}

/* Find the full rule of @key in the second table. Under RCU. */
bool unwind_cache_peek_full(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule,
			    struct unwind_full_rule *full)
{
	struct unwind_full_table *table = rcu_dereference(cache->full);
	struct unwind_full_entry *entry;
	u32 seq;

	if (!table)
		return false;
	entry = cache_full_entry(table, key);
	/* pairs with the release in cache_add_full() */
	seq = smp_load_acquire(&entry->seq);
	if (!seq || (seq & 1) || READ_ONCE(entry->key) != key)
		return false;
	rule->kind = UNWIND_RULE_FULL;
	/* if the entry is written meanwhile, its count changes, and the copy is not used */
	data_race((*full = entry->rule, 0));
	/* pairs with the barriers of cache_add_full() */
	smp_rmb();
	return READ_ONCE(entry->seq) == seq;
}

static struct unwind_full_table *cache_full_table(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->full, lockdep_is_held(&cache->lock));
}

static void cache_add_full(struct unwind_full_table *table, u64 key,
			   const struct unwind_full_rule *full)
{
	struct unwind_full_entry *entry = cache_full_entry(table, key);
	u32 seq = entry->seq | 1;

	WRITE_ONCE(entry->seq, seq);
	/* make the count odd before the write; pairs with cache_peek_full() */
	smp_wmb();
	WRITE_ONCE(entry->key, key);
	entry->rule = *full;
	/* make the count even after the write */
	smp_store_release(&entry->seq, seq + 1);
}

/* Allocate the table for the first full rule. */
static void cache_make_full_table(void)
{
	struct unwind_full_table *table;
	struct unwind_cache *cache;

	if (!unwind_task_may_allocate())
		return;
	table = kzalloc(sizeof(*table), UNWIND_CACHE_GFP);
	if (!table)
		return;
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache->gen && !cache_full_table(cache)) {
			rcu_assign_pointer(cache->full, table);
			atomic_long_add(sizeof(*table), &unwind_caches_bytes);
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
	struct unwind_cache *cache;
	bool is_full = rule->kind == UNWIND_RULE_FULL;

	if (is_full && !cache_has_full_table())
		cache_make_full_table();
	rcu_read_lock();
	cache = unwind_cache_of_current();
	if (cache) {
		spin_lock(&cache->lock);
		if (cache_state_holds(cache, state)) {
#ifdef CONFIG_UNWIND_USER_CODE
			cache_note_code(cache, unwind_key_addr(key));
#endif
			if (!is_full)
				unwind_cache_add_compact(cache, key, rule);
			else if (cache_full_table(cache))
				cache_add_full(cache_full_table(cache), key, full);
		}
		spin_unlock(&cache->lock);
	}
	rcu_read_unlock();
}

static bool cache_key_is_in_range(u64 key, unsigned long start, unsigned long end)
{
	return unwind_key_addr(key) >= start && unwind_key_addr(key) < end;
}

/* Drop the rules of a range of addresses. Under the lock. */
void unwind_cache_drop_rules(struct unwind_cache *cache, unsigned long start,
			     unsigned long end)
{
	struct unwind_full_table *full = cache_full_table(cache);
	unsigned int i;

	unwind_rules_drop(cache_rules(cache), cache_key_is_in_range, start, end);
	for (i = 0; full && i < FULL_RULES; i++) {
		struct unwind_full_entry *entry = &full->entries[i];

		if (!(entry->seq & 1) && cache_key_is_in_range(entry->key, start, end))
			WRITE_ONCE(entry->seq, entry->seq + 1);
	}
}

static void cache_copy_rule(struct unwind_rule_table *table, u64 key,
			    const struct unwind_user_rule *rule)
{
	unwind_rules_add(table, unwind_rules_hash(key), key, rule);
}

/* Enlarge the table when rules displace each other. */
void unwind_cache_grow_rules(void)
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
	if (old && unwind_rules_is_crowded(old)) {
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

/* Memory of the tables of rules. Under the lock. */
size_t unwind_cache_rules_bytes(struct unwind_cache *cache)
{
	return unwind_rules_bytes(cache_rules(cache)->bits) +
	       (cache_full_table(cache) ? sizeof(struct unwind_full_table) : 0);
}

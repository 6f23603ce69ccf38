/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the cache: cache.c makes and frees caches, and tells whether the result of a search
 * is still valid.  It calls cache_files.c, which calls cache_objects.c, which calls cache_rules.c.
 */
#ifndef _KERNEL_UNWIND_CACHE_PARTS_H
#define _KERNEL_UNWIND_CACHE_PARTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "task.h"
#include "unwind.h"

struct mm_struct;
struct unwind_full_entry;
struct unwind_full_rule;
struct unwind_object;
struct unwind_rule_table;

#define UNWIND_CACHE_GFP	(UNWIND_GFP | __GFP_ACCOUNT)

#define UNWIND_FIRST_OBJECTS	5	/* 64 bytes */
#define UNWIND_FIRST_RULES_BITS	3	/* 256 bytes */

#define UNWIND_FULL_RULES_BITS	4
#define UNWIND_FULL_RULES	BIT(UNWIND_FULL_RULES_BITS)

/* objects, sorted by @code_start; their code does not overlap */
struct unwind_object_list {
	struct rcu_head		rcu;
	unsigned int		nr;
	unsigned int		max;
	struct unwind_object	*objects[];
};

/**
 * struct unwind_cache - unwind rules and objects of one mm
 * @rules: by address
 * @list: objects
 * @all_regs_until: until this time, in jiffies, walks follow all registers; 0 for never
 * @used: a walk has used it since the shrinker last looked at it
 * @mm: its mm; valid under all_caches_lock only
 * @rcu: frees it
 * @lock: held by writers
 * @list_seq: sequence count of @list
 * @gen: the generation
 * @unmaps: number of calls of __unwind_user_invalidate()
 * @last_replaced: index of the object that was last dropped to make room
 * @displaced: for unwind_rules_count_displaced()
 * @full: rules that need a struct unwind_full_rule, by a hash of the key
 * @node: in all_caches
 *
 * A step whose rule is in @rules reads only the first cache line.  The fields that each
 * insertion or unmap writes are in another cache line.
 */
struct unwind_cache {
	struct unwind_rule_table __rcu	*rules;
	struct unwind_object_list __rcu	*list;
#ifdef CONFIG_UNWIND_USER_FILES
	/** @files_seen: unwind_files_changes() at the last check of the objects for dead files */
	u64				files_seen;
#endif
	unsigned long			all_regs_until;
	bool				used;
	struct mm_struct		*mm;
	struct rcu_head			rcu;
	/* for writers */
	spinlock_t			lock ____cacheline_aligned_in_smp;
	seqcount_spinlock_t		list_seq;
	u64				gen;
	unsigned long			unmaps;
	unsigned int			last_replaced;
	u32				displaced;
	struct unwind_full_entry __rcu	*full[UNWIND_FULL_RULES];
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	/** @index_after: after a failed allocation, make no index until this time, in jiffies */
	unsigned long			index_after;
#endif
#ifdef CONFIG_UNWIND_USER_CODE
	/** @code_start: lowest address that has a rule and whose code may have no tables */
	unsigned long			code_start;
	/** @code_end: highest such address */
	unsigned long			code_end;
#endif
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/** @added: number of rules that searches have added with which a walk can go on or end */
	u32				added;
	/** @learned: @added when a task was last asked to learn */
	u32				learned;
	/** @learn_wait: if nothing is added, how long to wait after that, in jiffies */
	unsigned long			learn_wait;
	/** @learn_next: and until when */
	unsigned long			learn_next;
	/** @learn_paid: see unwind_cache_note_learning() */
	unsigned long			learn_paid;
#endif
	struct list_head		node;
};

extern atomic_long_t unwind_caches_bytes;

/* The cache of the current user task's mm, or NULL. Under RCU. */
static inline struct unwind_cache *unwind_cache_of_current(void)
{
	return rcu_dereference(current->mm->unwind_cache);
}

/* the part of a key that is the address */
static inline unsigned long unwind_key_addr(u64 key)
{
	return key & (BIT_ULL(UNWIND_KEY_WORD) - 1);
}

static inline struct unwind_rule_table *cache_rules(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->rules, lockdep_is_held(&cache->lock));
}

static inline struct unwind_object_list *cache_list(struct unwind_cache *cache)
{
	return rcu_dereference_protected(cache->list, lockdep_is_held(&cache->lock));
}

/* Under the lock: may the result of the search be cached? */
static inline bool cache_state_holds(const struct unwind_cache *cache,
				     const struct unwind_cache_state *state)
{
	return state->gen && cache->gen == state->gen &&
	       cache->unmaps == state->unmaps && !state->flush_pending;
}

void unwind_cache_drop_rules(struct unwind_cache *cache, unsigned long start,
			     unsigned long end);
bool unwind_cache_peek_full(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule,
			    struct unwind_full_rule *full);
void unwind_cache_add_compact(struct unwind_cache *cache, u64 key,
			      const struct unwind_user_rule *rule);
void unwind_cache_count_found(struct unwind_cache *cache, u8 kind);
void unwind_cache_free_full_now(struct unwind_cache *cache);
size_t unwind_cache_rules_bytes(struct unwind_cache *cache);

u64 unwind_cache_next_gen(void);
struct unwind_object_list *unwind_cache_alloc_list(unsigned int max, gfp_t gfp);
struct unwind_object *unwind_cache_list_find(const struct unwind_object_list *list,
					     unsigned long addr);
struct unwind_object *unwind_cache_object_at(struct unwind_cache *cache, unsigned long addr);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
struct unwind_object *unwind_cache_peek_object(struct unwind_cache *cache, unsigned long addr);
#endif
void unwind_cache_forget(struct unwind_cache *cache,
			 bool (*is_void)(const struct unwind_object *object, unsigned long start,
					 unsigned long end),
			 unsigned long start, unsigned long end);
void unwind_cache_forget_range(struct unwind_cache *cache, unsigned long start,
			       unsigned long end);
#ifdef CONFIG_UNWIND_USER_FILES
void unwind_cache_drop_dead_files(struct unwind_cache *cache);
#endif
void unwind_cache_free_objects(struct unwind_cache *cache);
void unwind_cache_free_objects_now(struct unwind_cache *cache);

#endif /* _KERNEL_UNWIND_CACHE_PARTS_H */

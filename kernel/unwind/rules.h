/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hash tables of compact unwind rules.  Each set of two entries shares a cache line.
 * Readers are under RCU, and each entry has a sequence count.  Writers hold a lock of the
 * table's owner.
 */
#ifndef _KERNEL_UNWIND_RULES_H
#define _KERNEL_UNWIND_RULES_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "unwind.h"

/**
 * struct unwind_rule_entry - an entry of a table
 * @key: key of the rule, in a form that the owner defines
 * @seq: odd while the entry is written, and if it has no rule
 * @rule: the rule
 */
struct unwind_rule_entry {
	u64			key;
	u32			seq;
	struct unwind_user_rule	rule;
};

/* the members @kept, @lost, @cfa_reg and @kind of a rule, read at once */
static __always_inline u32 unwind_rule_how(const struct unwind_user_rule *rule)
{
	static_assert(offsetof(struct unwind_user_rule, kept) % sizeof(u32) == 0);
	static_assert(offsetof(struct unwind_user_rule, kind) + 1 ==
		      offsetof(struct unwind_user_rule, kept) + sizeof(u32));

	return READ_ONCE(*(const u32 *)&rule->kept);
}

/* log2 of the size of an entry in bytes */
#define UNWIND_RULE_SHIFT	5

static_assert(sizeof(struct unwind_rule_entry) == 1 << UNWIND_RULE_SHIFT, "a set is a cache line");

/* the most entries of one allocation, which is a page at most */
#define UNWIND_RULE_PAGE	(PAGE_SIZE / sizeof(struct unwind_rule_entry))

/**
 * struct unwind_rule_table - rules by hash
 * @rcu: frees it
 * @shift: unwind_rules_shift() of @bits
 * @bits: number of bits of the hash that are used
 * @crowded: it has displaced so many rules that it should grow
 * @pages: blocks of UNWIND_RULE_PAGE entries; a small table has one smaller block
 *
 * Adding a rule does not write to the struct, which all readers read, except to set @crowded.
 */
struct unwind_rule_table {
	struct rcu_head			rcu;
	u8				shift;
	u8				bits;
	bool				crowded;
	struct unwind_rule_entry	*pages[];
};

static inline u64 unwind_rules_hash(u64 val)
{
	return val * GOLDEN_RATIO_64;
}

/*
 * How far to shift a hash right to get an offset in the table, in bytes: @bits bits for the
 * entry, and below them UNWIND_RULE_SHIFT bits for the byte in the entry, which are not used.
 */
static inline u8 unwind_rules_shift(unsigned int bits)
{
	return 64 - bits - UNWIND_RULE_SHIFT;
}

static __always_inline struct unwind_rule_entry *
unwind_rules_set(const struct unwind_rule_table *table, u64 hash)
{
	u64 place = hash >> table->shift;

	/* the page, and the offset of the set in it: a multiple of two entries */
	return (void *)table->pages[place >> PAGE_SHIFT] +
	       (place & ~PAGE_MASK & -2 * sizeof(struct unwind_rule_entry));
}

static inline struct unwind_rule_entry *unwind_rules_entry(const struct unwind_rule_table *table,
							   unsigned long i)
{
	return &table->pages[i / UNWIND_RULE_PAGE][i % UNWIND_RULE_PAGE];
}

/* Is the entry unchanged since its count was @seq? Then what was read from it can be used. */
static __always_inline bool unwind_rules_holds(const struct unwind_rule_entry *entry, u32 seq)
{
	/* pairs with the barriers of write_entry() */
	smp_rmb();
	/* An odd @seq never matches: the count has passed the even number below it. */
	return READ_ONCE(entry->seq) == (seq & ~1U);
}

/* Copy the rule of an entry. @seq is the entry's count, read before the key was compared. */
static __always_inline bool unwind_rules_read(const struct unwind_rule_entry *entry,
					      u32 seq, struct unwind_user_rule *rule)
{
	/* if the entry is written meanwhile, its count changes, and the copy is not used */
	data_race((*rule = entry->rule, 0));
	return unwind_rules_holds(entry, seq);
}

static __always_inline bool unwind_rules_read_if(const struct unwind_rule_entry *entry, u64 key,
						 struct unwind_user_rule *rule)
{
	/* pairs with the release in write_entry() */
	u32 seq = smp_load_acquire(&entry->seq);

	return READ_ONCE(entry->key) == key && unwind_rules_read(entry, seq, rule);
}

/* Find the rule of a key in a table that is hashed by keys. Under RCU. */
static __always_inline bool unwind_rules_find(const struct unwind_rule_table *table, u64 key,
					      struct unwind_user_rule *rule)
{
	const struct unwind_rule_entry *set = unwind_rules_set(table, unwind_rules_hash(key));

	return unwind_rules_read_if(&set[0], key, rule) || unwind_rules_read_if(&set[1], key, rule);
}

struct unwind_rule_table *unwind_rules_alloc(unsigned int bits, gfp_t gfp);
void unwind_rules_free(struct unwind_rule_table *table);
void unwind_rules_free_now(struct unwind_rule_table *table);
size_t unwind_rules_bytes(unsigned int bits);
bool unwind_rules_add(struct unwind_rule_table *table, u64 hash, u64 key,
		      const struct unwind_user_rule *rule);
void unwind_rules_count_displaced(struct unwind_rule_table *table, u32 *displaced, u32 nr,
				  u32 spill);
void unwind_rules_drop(struct unwind_rule_table *table,
		       bool (*is_dropped)(u64 key, unsigned long start, unsigned long end),
		       unsigned long start, unsigned long end);
void unwind_rules_copy(struct unwind_rule_table *to, struct unwind_rule_table *from,
		       void (*add)(struct unwind_rule_table *table, u64 key,
				   const struct unwind_user_rule *rule));

/* Should the table grow?  A displaced rule has to be searched for again. */
static inline bool unwind_rules_is_crowded(const struct unwind_rule_table *table)
{
	return READ_ONCE(table->crowded);
}

/*
 * Clear the mark before making a larger table, so that other tasks do not make one too.  If two
 * tasks see the mark before it is cleared, both make one, and one of the two is freed.  If no table
 * can be made, the mark is set again after as many displaced rules.  The caller need not hold the
 * lock: if this overwrites a concurrent mark, the table only grows later.
 */
static inline void unwind_rules_begin_growth(struct unwind_rule_table *table)
{
	WRITE_ONCE(table->crowded, false);
}

#endif /* _KERNEL_UNWIND_RULES_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of compact unwind rules: see rules.h.
 */

#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rules.h"

static unsigned int nr_pages(unsigned int bits)
{
	return max_t(unsigned int, BIT(bits) / UNWIND_RULE_PAGE, 1);
}

static size_t page_bytes(unsigned int bits)
{
	return min_t(size_t, PAGE_SIZE, sizeof(struct unwind_rule_entry) << bits);
}

/* Memory of a table with @bits bits of the hash, as kmalloc() rounds it up. */
size_t unwind_rules_bytes(unsigned int bits)
{
	size_t table = struct_size_t(struct unwind_rule_table, pages, nr_pages(bits));

	return kmalloc_size_roundup(table) + nr_pages(bits) * page_bytes(bits);
}

/* Free a table, or NULL, that has no readers. */
void unwind_rules_free_now(struct unwind_rule_table *table)
{
	unsigned int i;

	if (!table)
		return;

	for (i = 0; i < nr_pages(table->bits); i++)
		kfree(table->pages[i]);
	kfree(table);
}

static void free_rcu_callback(struct rcu_head *rcu)
{
	unwind_rules_free_now(container_of(rcu, struct unwind_rule_table, rcu));
}

/* Make a table without rules, with @bits bits of the hash, at least one; or return NULL. */
struct unwind_rule_table *unwind_rules_alloc(unsigned int bits, gfp_t gfp)
{
	struct unwind_rule_table *table;
	unsigned int i;

	table = kzalloc(struct_size(table, pages, nr_pages(bits)), gfp);
	if (!table)
		return NULL;
	table->bits = bits;
	table->shift = unwind_rules_shift(bits);
	for (i = 0; i < nr_pages(bits); i++) {
		table->pages[i] = kmalloc(page_bytes(bits), gfp);
		if (!table->pages[i]) {
			unwind_rules_free_now(table);
			return NULL;
		}
		/* an odd count marks an entry without a rule */
		memset(table->pages[i], 0xff, page_bytes(bits));
	}
	return table;
}

/* Free a table, or NULL, that new readers cannot find, after a grace period. */
void unwind_rules_free(struct unwind_rule_table *table)
{
	if (table)
		call_rcu(&table->rcu, free_rcu_callback);
}

static bool has_rule(const struct unwind_rule_entry *entry)
{
	return !(entry->seq & 1);
}

static void write_entry(struct unwind_rule_entry *entry, u64 key,
			const struct unwind_user_rule *rule)
{
	u32 seq = entry->seq | 1;

	WRITE_ONCE(entry->seq, seq);
	/* make the count odd before the write; pairs with unwind_rules_holds() */
	smp_wmb();
	WRITE_ONCE(entry->key, key);
	entry->rule = *rule;
	/* make the count even after the write */
	smp_store_release(&entry->seq, seq + 1);
}

/*
 * Put a rule into a table, under the owner's lock.  It becomes the first of its set.  A previous
 * first rule of another key becomes the second.  Returns true if that displaced a third key's rule.
 */
bool unwind_rules_add(struct unwind_rule_table *table, u64 hash, u64 key,
		      const struct unwind_user_rule *rule)
{
	struct unwind_rule_entry *set = unwind_rules_set(table, hash);
	bool displaced = false;

	if (has_rule(&set[0]) && set[0].key != key) {
		displaced = has_rule(&set[1]) && set[1].key != key;
		write_entry(&set[1], set[0].key, &set[0].rule);
	}
	write_entry(&set[0], key, rule);
	return displaced;
}

/*
 * Add @nr displaced rules to the owner's count, which is outside of the cache lines that readers
 * read, and mark the table as crowded after @spill of them for each 32 entries.  With a @spill of
 * 1, some 40 % of the entries are in use then.  Under the owner's lock.
 */
void unwind_rules_count_displaced(struct unwind_rule_table *table, u32 *displaced, u32 nr,
				  u32 spill)
{
	if (!nr || unwind_rules_is_crowded(table))
		return;
	*displaced += nr;
	/* eight more, because the first term is small or 0 for small tables */
	if (*displaced < (spill << table->bits >> 5) + 8)
		return;
	*displaced = 0;
	WRITE_ONCE(table->crowded, true);
}

/* Take the rules out of a table for whose keys @is_dropped is true, under the owner's lock. */
void unwind_rules_drop(struct unwind_rule_table *table,
		       bool (*is_dropped)(u64 key, unsigned long start, unsigned long end),
		       unsigned long start, unsigned long end)
{
	unsigned long i;

	for (i = 0; i < BIT(table->bits); i++) {
		struct unwind_rule_entry *entry = unwind_rules_entry(table, i);

		if (has_rule(entry) && is_dropped(entry->key, start, end))
			WRITE_ONCE(entry->seq, entry->seq + 1);
	}
}

/*
 * Copy all rules of a table into another, under the owner's lock.  @add adds a rule under all
 * hashes by which readers look for it.
 */
void unwind_rules_copy(struct unwind_rule_table *to, struct unwind_rule_table *from,
		       void (*add)(struct unwind_rule_table *table, u64 key,
				   const struct unwind_user_rule *rule))
{
	unsigned long i = BIT(from->bits);

	/* the first rule of a set, which is the newest, must be copied last */
	while (i--) {
		struct unwind_rule_entry *entry = unwind_rules_entry(from, i);

		if (has_rule(entry))
			add(to, entry->key, &entry->rule);
	}
}

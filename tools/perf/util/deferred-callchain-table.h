/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_TABLE_H
#define __PERF_DEFERRED_CALLCHAIN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct deferred_slot {
	u64 hash;
	void *item;		/* NULL if the slot is free */
};

/**
 * struct deferred_table - a hash table of pointers
 * @slots: the slots, a power of two of them, or NULL
 * @bits: log2 of their number
 * @nr: number of items
 */
struct deferred_table {
	struct deferred_slot *slots;
	unsigned int bits;
	size_t nr;
};

typedef bool (*deferred_table_equal)(const void *item, const void *key);

void *deferred_table__find(const struct deferred_table *table, u64 hash, const void *key,
			   deferred_table_equal equal);
int deferred_table__add(struct deferred_table *table, u64 hash, void *item);
void deferred_table__remove(struct deferred_table *table, u64 hash, const void *item);
void *deferred_table__next(const struct deferred_table *table, size_t *pos);
void deferred_table__exit(struct deferred_table *table);

extern u64 deferred_table__factor;

void deferred_table__choose_factor(void);

/**
 * deferred_table__hash - hash a number
 * @number: the number
 *
 * Numbers that differ in their last four bits only have slots side by side: threads
 * with neighbouring numbers are often seen one after the other.
 *
 * Return: the hash.
 */
static inline u64 deferred_table__hash(u64 number)
{
	/* Multiplicative hashing: the upper bits are the good ones. */
	return ((number >> 4) * deferred_table__factor & ~15ULL) | (number & 15);
}

#endif /* __PERF_DEFERRED_CALLCHAIN_TABLE_H */

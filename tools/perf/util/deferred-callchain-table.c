// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table with open addressing.  With very many threads, the time of a
 * look-up is that of its cache misses: here one for the slot and one for the
 * item.  The hashes in the slots make growing a pass over the slots alone.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <sys/random.h>

#include "deferred-callchain-pages.h"
#include "deferred-callchain-table.h"

/* A page of them. */
#define MIN_BITS	8
/* These bits of a hash keep items together. */
#define NEAR		15ULL

/* The golden ratio's: it parts numbers that follow each other. */
u64 deferred_table__factor = 0x9e3779b97f4a7c15ULL;

/**
 * deferred_table__choose_factor - have hashes that no file was made for
 *
 * With an odd factor taken at random, two keys have the same upper bits no more often
 * than chance has it, whatever keys a file holds.  The first table's factor stays.
 */
void deferred_table__choose_factor(void)
{
	static bool chosen;
	u64 number;

	if (chosen)
		return;
	chosen = true;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (u64)time(NULL) << 32 ^ getpid();
	deferred_table__factor *= number | 1;
}

static size_t nr_slots(const struct deferred_table *table)
{
	return table->slots ? (size_t)1 << table->bits : 0;
}

static size_t home(const struct deferred_table *table, u64 hash)
{
	return (hash >> (64 - table->bits) & ~NEAR) | (hash & NEAR);
}

static size_t next_slot(const struct deferred_table *table, size_t pos)
{
	return (pos + 1) & (nr_slots(table) - 1);
}

static void put(struct deferred_table *table, u64 hash, void *item)
{
	size_t pos = home(table, hash);

	while (table->slots[pos].item)
		pos = next_slot(table, pos);
	table->slots[pos].hash = hash;
	table->slots[pos].item = item;
}

static void free_slots(struct deferred_table *table)
{
	deferred_pages__unmap(table->slots, nr_slots(table) * sizeof(*table->slots));
}

static int grow(struct deferred_table *table)
{
	struct deferred_table bigger = {
		.bits = table->slots ? table->bits + 1 : MIN_BITS,
		.nr = table->nr,
	};

	bigger.slots = deferred_pages__map(sizeof(*bigger.slots) << bigger.bits);
	if (!bigger.slots)
		return -ENOMEM;

	for (size_t i = 0; i < nr_slots(table); i++) {
		if (table->slots[i].item)
			put(&bigger, table->slots[i].hash, table->slots[i].item);
	}
	free_slots(table);
	*table = bigger;
	return 0;
}

/**
 * deferred_table__find - look for an item
 * @table: the table
 * @hash: hash of the key, see deferred_table__hash()
 * @key: the key
 * @equal: does an item have that key?
 *
 * Return: the item or NULL.
 */
void *deferred_table__find(const struct deferred_table *table, u64 hash, const void *key,
			   deferred_table_equal equal)
{
	if (!table->slots)
		return NULL;

	for (size_t pos = home(table, hash); table->slots[pos].item; pos = next_slot(table, pos)) {
		const struct deferred_slot *slot = &table->slots[pos];

		if (slot->hash == hash && equal(slot->item, key))
			return slot->item;
	}
	return NULL;
}

/**
 * deferred_table__add - add an item
 * @table: the table
 * @hash: hash of its key, which is not in the table
 * @item: the item
 *
 * Return: 0 or -ENOMEM.
 */
int deferred_table__add(struct deferred_table *table, u64 hash, void *item)
{
	/* Half of the slots at most, so that the way to a free slot is short. */
	if ((table->nr + 1) * 2 > nr_slots(table) && grow(table))
		return -ENOMEM;

	put(table, hash, item);
	table->nr++;
	return 0;
}

/* Close the gap: what may not be found any more behind a free slot moves into it. */
static void close_gap(struct deferred_table *table, size_t gap)
{
	size_t mask = nr_slots(table) - 1;

	for (size_t pos = next_slot(table, gap); table->slots[pos].item;
	     pos = next_slot(table, pos)) {
		size_t from_home = (pos - home(table, table->slots[pos].hash)) & mask;

		if (from_home < ((pos - gap) & mask))
			continue;
		table->slots[gap] = table->slots[pos];
		gap = pos;
	}
	table->slots[gap].item = NULL;
}

/**
 * deferred_table__remove - remove an item
 * @table: the table
 * @hash: hash of its key
 * @item: the item, which is in the table
 */
void deferred_table__remove(struct deferred_table *table, u64 hash, const void *item)
{
	size_t pos = home(table, hash);

	while (table->slots[pos].item != item)
		pos = next_slot(table, pos);
	close_gap(table, pos);
	table->nr--;
}

/**
 * deferred_table__next - go through all items of a table that does not change
 * @table: the table
 * @pos: where to go on; begin with zero
 *
 * Return: the next item or NULL.
 */
void *deferred_table__next(const struct deferred_table *table, size_t *pos)
{
	while (*pos < nr_slots(table)) {
		void *item = table->slots[(*pos)++].item;

		if (item)
			return item;
	}
	return NULL;
}

/**
 * deferred_table__exit - free the slots, but not the items
 * @table: the table, empty then
 */
void deferred_table__exit(struct deferred_table *table)
{
	free_slots(table);
	*table = (struct deferred_table){ .slots = NULL };
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for very many items of one size.  Items that are made one after the
 * other lie side by side, each in as few cache lines as can be, so that what goes
 * through them in about that order has most of them fetched ahead.
 */
#include <stdlib.h>
#include <linux/compiler.h>
#include <linux/kernel.h>

#include "deferred-callchain-pages.h"
#include "deferred-callchain-pool.h"

#define CACHE_LINE	64
#define CACHE_LINE_PAIR	(2 * CACHE_LINE)	/* what is fetched together */
#define FIRST_CHUNK	(64UL << 10)

/* In the first cache lines of each chunk; items follow. */
struct deferred_chunk {
	struct deferred_chunk *next;
	size_t bytes;
};

/**
 * deferred_pool__init - no items yet
 * @pool: the pool
 * @size: of an item; cache lines are not shared by items of such a size or more
 */
void deferred_pool__init(struct deferred_pool *pool, size_t size)
{
	size_t align = size < CACHE_LINE ? sizeof(void *) : CACHE_LINE;

	*pool = (struct deferred_pool){ .size = round_up(size, align) };
}

/**
 * deferred_pool__exit - free all memory
 * @pool: the pool, all items of which were freed
 */
void deferred_pool__exit(struct deferred_pool *pool)
{
	while (pool->chunks) {
		struct deferred_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		deferred_pages__unmap(chunk, chunk->bytes);
	}
	deferred_pool__init(pool, pool->size);
}

#ifdef __SANITIZE_ADDRESS__

void *deferred_pool__alloc(struct deferred_pool *pool)
{
	return malloc(pool->size);
}

void deferred_pool__free(struct deferred_pool *pool __maybe_unused, void *item)
{
	free(item);
}

#else

/* Each chunk is as large as all before it together, up to the size of a huge page. */
static int add_chunk(struct deferred_pool *pool)
{
	size_t bytes = pool->chunks ?
		       min_t(size_t, 2 * pool->chunks->bytes, DEFERRED_HUGE_PAGE) : FIRST_CHUNK;
	struct deferred_chunk *chunk = deferred_pages__map(bytes);

	if (!chunk)
		return -1;

	chunk->next = pool->chunks;
	chunk->bytes = bytes;
	pool->chunks = chunk;
	pool->next = (char *)chunk + CACHE_LINE_PAIR;
	pool->left = (bytes - CACHE_LINE_PAIR) / pool->size;
	return 0;
}

/**
 * deferred_pool__alloc - get an item
 * @pool: the pool
 *
 * Return: the item, with anything in it, or NULL.
 */
void *deferred_pool__alloc(struct deferred_pool *pool)
{
	void *item = pool->unused;

	if (item) {
		pool->unused = *(void **)item;
		return item;
	}
	if (!pool->left && add_chunk(pool))
		return NULL;

	item = pool->next;
	pool->next += pool->size;
	pool->left--;
	return item;
}

/**
 * deferred_pool__free - give an item back
 * @pool: the pool
 * @item: the item
 */
void deferred_pool__free(struct deferred_pool *pool, void *item)
{
	*(void **)item = pool->unused;
	pool->unused = item;
}

#endif

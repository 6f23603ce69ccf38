/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_POOL_H
#define __PERF_DEFERRED_CALLCHAIN_POOL_H

#include <stddef.h>

struct deferred_chunk;

/**
 * struct deferred_pool - memory for items of one size
 * @size: of an item
 * @unused: items that were freed, each with a pointer to the next
 * @next: the next item in the newest chunk that was never used
 * @left: number of these
 * @chunks: all chunks, the newest first
 */
struct deferred_pool {
	size_t size;
	void *unused;
	char *next;
	size_t left;
	struct deferred_chunk *chunks;
};

void deferred_pool__init(struct deferred_pool *pool, size_t size);
void deferred_pool__exit(struct deferred_pool *pool);
void *deferred_pool__alloc(struct deferred_pool *pool);
void deferred_pool__free(struct deferred_pool *pool, void *item);

#endif /* __PERF_DEFERRED_CALLCHAIN_POOL_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Zeroed memory straight from the kernel.  Large blocks that come and go among
 * the small ones of the heap leave holes there, and glibc merges all small ones
 * that are freed with such a hole: that takes longer than freeing them.
 */
#include <sys/mman.h>
#include <linux/kernel.h>

#include "deferred-callchain-pages.h"

static void *map(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* Where huge pages can lie. */
static void *map_aligned(size_t bytes)
{
	char *pages = map(bytes + DEFERRED_HUGE_PAGE);
	size_t before = -(unsigned long)pages % DEFERRED_HUGE_PAGE;

	if (!pages)
		return NULL;

	if (before)
		munmap(pages, before);
	munmap(pages + before + bytes, DEFERRED_HUGE_PAGE - before);
	madvise(pages + before, bytes, MADV_HUGEPAGE);
	return pages + before;
}

/**
 * deferred_pages__map - get pages
 * @bytes: how much, a power of two and a page at least
 *
 * Return: the pages, with zeroes in them, or NULL.
 */
void *deferred_pages__map(size_t bytes)
{
	return bytes < DEFERRED_HUGE_PAGE ? map(bytes) : map_aligned(bytes);
}

/**
 * deferred_pages__unmap - give pages back
 * @pages: the pages, may be NULL
 * @bytes: as they were asked for
 */
void deferred_pages__unmap(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}

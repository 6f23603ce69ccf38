/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_PAGES_H
#define __PERF_DEFERRED_CALLCHAIN_PAGES_H

#include <stddef.h>

#define DEFERRED_HUGE_PAGE	(2UL << 20)

void *deferred_pages__map(size_t bytes);
void deferred_pages__unmap(void *pages, size_t bytes);

#endif /* __PERF_DEFERRED_CALLCHAIN_PAGES_H */

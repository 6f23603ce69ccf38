/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_LOST_H
#define __PERF_DEFERRED_CALLCHAIN_LOST_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct deferred_losses - when buffers last lost records
 * @last: the last time by CPU, 0 if never
 * @nr_cpus: entries in @last
 * @elsewhere: the last time on a CPU that is not known
 * @anywhere: the last time on any CPU
 */
struct deferred_losses {
	u64 *last;
	u32 nr_cpus;
	u64 elsewhere;
	u64 anywhere;
};

void deferred_losses__exit(struct deferred_losses *losses);
void deferred_losses__add(struct deferred_losses *losses, u32 cpu, u64 time);
bool deferred_losses__since(const struct deferred_losses *losses, u32 cpu, u64 time);

#endif /* __PERF_DEFERRED_CALLCHAIN_LOST_H */

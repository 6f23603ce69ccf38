// SPDX-License-Identifier: GPL-2.0
/*
 * Where and when records were lost.  A buffer that was full says so, with
 * PERF_RECORD_LOST, in front of the next record that fits.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "deferred-callchain-lost.h"

/* The number comes from a file; what is above has no entry of its own. */
#define MAX_CPUS	65536

/**
 * deferred_losses__exit - forget all losses
 * @losses: the losses
 */
void deferred_losses__exit(struct deferred_losses *losses)
{
	free(losses->last);
}

static bool has_entry(struct deferred_losses *losses, u32 cpu)
{
	u32 nr = max_t(u32, cpu + 1, 2 * losses->nr_cpus);
	u64 *last;

	if (cpu < losses->nr_cpus)
		return true;
	if (cpu >= MAX_CPUS)
		return false;

	last = realloc(losses->last, nr * sizeof(*last));
	if (!last)
		return false;

	memset(&last[losses->nr_cpus], 0, (nr - losses->nr_cpus) * sizeof(*last));
	losses->last = last;
	losses->nr_cpus = nr;
	return true;
}

/**
 * deferred_losses__add - the turn of a PERF_RECORD_LOST has come
 * @losses: the losses
 * @cpu: CPU of the buffer, -1 if not known
 * @time: its time
 */
void deferred_losses__add(struct deferred_losses *losses, u32 cpu, u64 time)
{
	u64 *last = has_entry(losses, cpu) ? &losses->last[cpu] : &losses->elsewhere;

	*last = max(*last, time);
	losses->anywhere = max(losses->anywhere, time);
}

static bool is_since(u64 loss, u64 time)
{
	return loss && loss >= time;
}

/**
 * deferred_losses__since - may a record of a CPU have been lost?
 * @losses: the losses
 * @cpu: the CPU, -1 if not known
 * @time: the beginning of the time in question, which ends now
 *
 * Return: true if there was a loss on that CPU, or on one that may be that CPU.
 */
bool deferred_losses__since(const struct deferred_losses *losses, u32 cpu, u64 time)
{
	if (cpu == (u32)-1)
		return is_since(losses->anywhere, time);
	if (cpu < losses->nr_cpus && is_since(losses->last[cpu], time))
		return true;
	return is_since(losses->elsewhere, time);
}

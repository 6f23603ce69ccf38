// SPDX-License-Identifier: GPL-2.0
/*
 * Which DSOs the user half of a deferred callchain hits, so that their build
 * ids are kept.  A program that is always sampled in the kernel shows in no
 * other place.
 */
#include <linux/perf_event.h>

#include "addr_location.h"
#include "deferred-callchain.h"
#include "dso.h"
#include "event.h"
#include "map.h"
#include "sample.h"
#include "thread.h"

static void mark_hit(struct thread *thread, u64 ip)
{
	struct addr_location al;

	addr_location__init(&al);
	if (thread__find_map(thread, PERF_RECORD_MISC_USER, ip, &al))
		dso__set_hit(map__dso(al.map));
	addr_location__exit(&al);
}

/**
 * deferred_sample__mark_hits - mark the DSOs that a stitched user half hits
 * @sample: any sample; nothing is done for one that was not deferred
 * @thread: its thread
 */
void deferred_sample__mark_hits(const struct perf_sample *sample, struct thread *thread)
{
	const struct ip_callchain *chain = sample->callchain;
	bool user = false;

	if (!sample->deferred_cookie || !chain)
		return;

	for (u64 i = 0; i < chain->nr; i++) {
		if (chain->ips[i] >= PERF_CONTEXT_MAX)
			user = chain->ips[i] == PERF_CONTEXT_USER;
		else if (user)
			mark_hit(thread, chain->ips[i]);
	}
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_H
#define __PERF_DEFERRED_CALLCHAIN_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

struct deferred_callchains;
struct evlist;
struct evsel;
struct ip_callchain;
struct perf_sample;
struct perf_session;
union perf_event;

/* Why a deferred sample was delivered without its user half. */
enum deferred_incomplete {
	DEFERRED_INCOMPLETE__NO_RECORD,	/* no record before the next kernel entry */
	DEFERRED_INCOMPLETE__LOST,	/* no record, and the buffer was full */
	DEFERRED_INCOMPLETE__END,	/* end of data */
	DEFERRED_INCOMPLETE__EXIT,	/* the thread ended first */
	DEFERRED_INCOMPLETE__EXPIRED,	/* the time limit was reached */
	DEFERRED_INCOMPLETE__LIMIT,	/* the memory limit was reached */
	DEFERRED_INCOMPLETE__UNORDERED,	/* record not yet read; events are not sorted */
	DEFERRED_INCOMPLETE__EMPTY,	/* the record has no frames */
	DEFERRED_INCOMPLETE__COOKIE,	/* the callchain has no valid cookie */
	DEFERRED_INCOMPLETE__GUEST,	/* a guest's sample, which gets no record */
	DEFERRED_INCOMPLETE__MAX,
};

struct deferred_callchain_stats {
	u64 samples;		/* deferred samples */
	u64 stitched;		/* of these, delivered with their user half */
	u64 incomplete[DEFERRED_INCOMPLETE__MAX];
	u64 records;		/* deferred records */
	u64 duplicates;		/* duplicates of the thread's previous record */
	u64 orphans;		/* records that were stitched to no sample */
	u64 malformed;		/* ignored: invalid size or contents */
};

/* Memory limit of a session, in bytes; perf config call-graph.defer-limit */
extern u64 deferred_callchain_limit;
#define DEFERRED_TOP_WAIT	1000000000ULL	/* how long perf top holds a sample, in ns */

/* The stage of a session that stitches samples and records together. */
int deferred_callchains__index(struct perf_session *session, union perf_event *event);
int deferred_callchains__stitch(struct perf_session *session, union perf_event *event,
				struct perf_sample *sample);
void deferred_callchains__finish(struct perf_session *session);
void deferred_callchains__set_live(struct perf_session *session, u64 now, u64 max_wait);

/* Layout of samples and records. */
u64 ip_callchain__marker_nr(const struct ip_callchain *chain);
u64 ip_callchain__nr_frames(const u64 *ips, size_t nr);
struct evsel *evlist__deferring_evsel(struct evlist *evlist);
const struct ip_callchain *deferred_record__callchain(struct evlist *evlist,
						      const union perf_event *event);
size_t deferred_record__fprintf(struct evlist *evlist, const union perf_event *event,
				const struct perf_sample *sample, FILE *fp);

#endif /* __PERF_DEFERRED_CALLCHAIN_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_H
#define __PERF_DEFERRED_CALLCHAIN_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

struct callchain_param;
struct deferred_callchains;
struct evlist;
struct evsel;
struct ip_callchain;
struct machine;
struct option;
struct perf_sample;
struct perf_session;
struct perf_tool;
struct thread;
union perf_event;

/* Why a deferred sample was delivered without its user half. */
enum deferred_incomplete {
	DEFERRED_INCOMPLETE__NO_RECORD,	/* the thread went on without a record */
	DEFERRED_INCOMPLETE__LOST,	/* the same, and records were lost meanwhile */
	DEFERRED_INCOMPLETE__END,	/* end of data */
	DEFERRED_INCOMPLETE__EXIT,	/* the thread ended first */
	DEFERRED_INCOMPLETE__EXPIRED,	/* waited too long, in a live session */
	DEFERRED_INCOMPLETE__LIMIT,	/* too much was waiting */
	DEFERRED_INCOMPLETE__IN_TURN,	/* no record yet, for a tool that cannot wait */
	DEFERRED_INCOMPLETE__ABSENT,	/* no record in all of the data, for such a tool */
	DEFERRED_INCOMPLETE__COOKIE,	/* the cookie is zero */
	DEFERRED_INCOMPLETE__MAX,
};

struct deferred_callchain_stats {
	u64 samples;		/* deferred samples */
	u64 stitched;		/* of these, delivered with their user half */
	u64 late;		/* of the stitched ones, delivered after their turn */
	u64 incomplete[DEFERRED_INCOMPLETE__MAX];
	u64 records;		/* deferred records */
	u64 duplicates;		/* of these, same thread and cookie as the one before */
	u64 orphans;		/* of these, stitched to no sample, nor a duplicate */
	u64 malformed;		/* of these, ignored as their contents make no sense */
};

/* deferred-callchain.c: the stage that stitches samples and records together */
struct deferred_callchains *deferred_callchains__new(void);
void deferred_callchains__delete(struct deferred_callchains *dc);
void deferred_callchains__map(struct deferred_callchains *dc, const void *file, size_t size);
int deferred_callchains__announce(struct deferred_callchains *dc, const struct perf_tool *tool,
				  struct evlist *evlist, union perf_event *event);
const struct perf_tool *deferred_callchains__tool(struct deferred_callchains *dc,
						  const struct perf_tool *tool,
						  const struct perf_sample *sample);
int deferred_callchains__record(struct deferred_callchains *dc, const struct perf_tool *tool,
				struct evlist *evlist, union perf_event *event,
				struct perf_sample *sample, struct machine *machine);
int deferred_callchains__exit(struct deferred_callchains *dc, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample);
int deferred_callchains__exec(struct deferred_callchains *dc, const struct perf_tool *tool,
			      union perf_event *event, struct perf_sample *sample);
int deferred_callchains__side_band(struct deferred_callchains *dc, const struct perf_tool *tool,
				   union perf_event *event, struct perf_sample *sample,
				   struct machine *machine);
int deferred_callchains__round(struct deferred_callchains *dc, u64 now);
int deferred_callchains__expire(struct deferred_callchains *dc, u64 now);
int deferred_callchains__idle(struct deferred_callchains *dc, u64 clock);
void deferred_callchains__all_read(struct deferred_callchains *dc);
int deferred_callchains__flush(struct deferred_callchains *dc);
bool deferred_callchains__is_far_ahead(const struct deferred_callchains *dc);
const struct deferred_callchain_stats *
deferred_callchains__stats(const struct deferred_callchains *dc);

/* deferred-callchain-event.c: what samples and records look like */
bool ip_callchain__is_deferred(const struct ip_callchain *chain);
int ip_callchain__marker_nr(const struct ip_callchain *chain);
u64 ip_callchain__cookie(const struct ip_callchain *chain);
size_t ip_callchain__kernel_nr(const struct ip_callchain *chain);
u64 ip_callchain__nr_frames(const u64 *ips, size_t nr);
struct evsel *evlist__deferring_evsel(struct evlist *evlist);
bool evlist__has_deferred_callchains(struct evlist *evlist);
bool deferred_record__too_short(struct evlist *evlist, const union perf_event *event);
const struct ip_callchain *deferred_record__callchain(struct evlist *evlist,
						      const union perf_event *event);
const u64 *deferred_record__frames(const struct ip_callchain *user, u64 *nr);
size_t deferred_record__fprintf(struct evlist *evlist, const union perf_event *event,
				const struct perf_sample *sample, FILE *fp);
size_t deferred_sample__fprintf(const struct perf_sample *sample, FILE *fp);

/* deferred-callchain-hits.c: DSOs that only user halves hit */
void deferred_sample__mark_hits(const struct perf_sample *sample, struct thread *thread);

/* deferred-callchain-order.c: every record ahead of its samples */
int perf_session__hold_round(struct perf_session *session);

/* deferred-callchain-stats.c: what to tell the user */
size_t deferred_callchain_stats__fprintf(const struct deferred_callchain_stats *stats, FILE *fp);
void deferred_callchain_stats__warn(const struct deferred_callchain_stats *stats);
u64 deferred_callchain_stats__incomplete(const struct deferred_callchain_stats *stats);

/* deferred-callchain-limit.c: how much may wait */
size_t deferred_callchain_limit(void);
int deferred_callchain__set_limit(const char *value, const char *where);
int deferred_callchain__limit_option(const struct option *opt, const char *arg, int unset);

/* deferred-callchain-record.c: how to ask the kernel for it */
bool deferred_callchain__take_option(char *options);
int deferred_callchain__check_mode(const struct callchain_param *param);
void evlist__config_deferred_callchains(struct evlist *evlist);
void evlist__drop_deferred_callchains(struct evlist *evlist, const char *who);

#endif /* __PERF_DEFERRED_CALLCHAIN_H */

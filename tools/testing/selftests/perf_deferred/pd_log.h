/* SPDX-License-Identifier: GPL-2.0 */
/* The parsed contents of the buffers, with samples matched to their records. */
#ifndef PD_LOG_H
#define PD_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "pd_compiler.h"
#include "pd_uapi.h"

struct pd_event;

#define PD_MAX_REGS	4

struct pd_rec {
	__u32 type;
	__u16 misc, size;
	__u32 pid, tid, cpu;
	__u32 parent_tid;		/* FORK */
	__u64 time, id, stream_id, identifier;
	__u64 ip;
	__u64 cookie;			/* cookie of a record or of a sample's marker */
	bool kernel;			/* the sample has a kernel half */
	bool deferred;			/* the sample has the marker and a cookie */
	bool inplace;			/* the sample has PERF_CONTEXT_USER */
	__u32 nr_kernel, nr_user;
	__u64 *frames;			/* kernel and user frames, no PERF_CONTEXT_* */
	__u64 *user;			/* the user frames in @frames */
	void *raw;			/* PERF_SAMPLE_RAW, or NULL */
	__u32 raw_size;
	__u64 regs[PD_MAX_REGS];	/* PERF_SAMPLE_REGS_USER, or zeros */
	const struct pd_event *event;	/* event whose buffer had this record */
};

struct pd_log {
	struct pd_rec *recs;
	size_t nr, room;
	__u64 lost;			/* lost records, as counted by LOST records */
	__u64 dropped;			/* lost records, as counted by disabled events */
	char malformed[240];		/* the first parse error, or empty */
	const struct pd_rec **index;	/* deferred records by tid and cookie */
	size_t indexed, indexed_at;
};

enum pd_half {
	PD_NONE,	/* no user half */
	PD_INPLACE,	/* unwound in place */
	PD_STITCHED,	/* its frames are in a record */
	PD_BARE,	/* a marker without a record */
};

void pd_log_add(struct pd_log *log, const struct perf_event_header *header,
		const struct pd_event *event);
void pd_log_malformed(struct pd_log *log, const char *fmt, ...)
	PD_ATTR(format(printf, 2, 3));
void pd_log_free(struct pd_log *log);

const struct pd_rec *pd_log_record(struct pd_log *log, __u32 tid, __u64 cookie);
size_t pd_log_records(struct pd_log *log, __u32 tid, __u64 cookie);
size_t pd_log_count(const struct pd_log *log, __u32 type);
/*
 * Set *rec to the next record of a type, or to the first one if *rec is NULL. At
 * the end set it to NULL, and return false.
 */
bool pd_log_next(const struct pd_log *log, __u32 type, const struct pd_rec **rec);
/* The nth record of a type, counted from 0, or NULL. */
const struct pd_rec *pd_log_nth(const struct pd_log *log, __u32 type, size_t n);

/* Find the user frames of a sample. Set *stack to its record, to the sample itself, or to NULL. */
enum pd_half pd_user_half(struct pd_log *log, const struct pd_rec *sample,
			  const struct pd_rec **stack);

/* Check that the log is well-formed and nothing was lost: 0, or a reported failure. */
int pd_log_clean(const struct pd_log *log);
void pd_note_stack(const char *what, const struct pd_rec *rec);

#endif /* PD_LOG_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_FILE_H
#define __TESTS_DEFERRED_CALLCHAIN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct deferred_callchain_stats;
struct perf_session;
struct perf_tool;

/* "PERFILE2" */
#define SYNTH_MAGIC		0x32454c4946524550ULL
#define SYNTH_KERNEL_IP		0xffffffff81000000ULL
#define SYNTH_SAMPLING_ID	11
#define SYNTH_TRACKING_ID	22
#define SYNTH_SECOND_ID		33
#define SYNTH_SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
				 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
				 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
/* The raw data of every sample. */
#define SYNTH_RAW		"twelve bytes"
#define SYNTH_RAW_SIZE		12
/* Size of the tracing data behind a TRACING_DATA event. */
#define SYNTH_TRACING_SIZE	24

/* bytes behind the header of a synth__hole() event; in the file, they are a hole */
#define SYNTH_HOLE	65520

/**
 * struct synth - a perf.data file under construction
 * @foreign: the byte order of the file is not that of this machine
 * @max_stack: sample_max_stack of the sampling event
 * @no_cpu: the sample_id trailers have no CPU
 * @pairs: threads 2n and 2n + 1 are one process; else each thread is a process
 * @mmap2: maps are written as PERF_RECORD_MMAP2
 * @second: samples belong to the second sampling event
 * @whose: id of the event in sample_id trailers; 0: the event with side-band records
 * @undeferred: no event defers callchains
 * @single: there is only the first sampling event
 * @branch_callchains: the sampling events have PERF_SAMPLE_BRANCH_CALL_STACK
 * @branches: number of branches that each sample claims to have, but does not have
 * @claims: PERF_SAMPLE_* fields at the end that each sample claims to have, but does not have
 * @no_id: the samples of the first event have no id
 * @no_attr_size: the attrs in a pipe have a size of zero
 * @no_attrs: no attrs at all, which a pipe allows
 * @plain_second: the samples of the second event have only an address and an id
 * @gap: bytes between the header and the events, where a file can have ids
 * @holes: number of events of synth__hole(); must be 0 if @foreign or @piped
 * @piped: the file has the form that perf writes into a pipe
 * @compressed: compressed by zstd in pieces, which can end inside an event; not with @foreign
 * @failed: writing the events failed, for instance because of too little memory
 * @prefixed: records have PERF_CONTEXT_USER in front of their frames
 * @cpu: CPU of the events that are added next
 * @size: bytes of @data
 * @room: bytes allocated for @data
 * @data: the events
 */
struct synth {
	bool foreign;
	u16 max_stack;
	bool no_cpu;
	bool pairs;
	bool mmap2;
	bool second;
	u64 whose;
	bool undeferred;
	bool single;
	bool branch_callchains;
	u64 branches;
	u64 claims;
	bool no_id;
	bool no_attr_size;
	bool no_attrs;
	bool plain_second;
	size_t gap;
	size_t holes;
	bool piped;
	bool compressed;
	bool failed;
	bool prefixed;
	u32 cpu;
	size_t size;
	size_t room;
	char *data;
};

u64 synth__user_ip(u32 tid, u64 cookie, unsigned int depth);
void synth__name(struct synth *s, u32 tid, u64 time, u16 misc, const char *name);
void synth__comm(struct synth *s, u32 tid, u64 time);
void synth__exec(struct synth *s, u32 tid, u64 time);
void synth__exit(struct synth *s, u32 tid, u64 time);
void synth__fork(struct synth *s, u32 tid, u64 time);
void synth__fork_by(struct synth *s, u32 parent, u32 tid, u64 time);
void synth__clone(struct synth *s, u32 tid, u64 time);
void synth__map(struct synth *s, u32 who, u64 time, u16 misc, u64 start, u64 len,
		const char *name);
void synth__mmap(struct synth *s, u32 tid, u64 time, u64 cookie, unsigned int pages,
		 const char *name);
void synth__mmap_by(struct synth *s, u32 who, u32 tid, u64 time, u64 cookie, unsigned int pages,
		    const char *name);
void synth__namespace(struct synth *s, u32 tid, u64 time, u64 inode);
void synth__lost(struct synth *s, u64 time);
void synth__round(struct synth *s);
void synth__sample(struct synth *s, u32 tid, u64 time, u16 misc, const u64 *ips, size_t nr);
void synth__pass_time(struct synth *s, u64 time);
void synth__in_place(struct synth *s, u32 tid, u64 time, u64 context, unsigned int depth);
void synth__deferred(struct synth *s, u32 tid, u64 time, u64 cookie);
void synth__deferred_at(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc,
			unsigned int kernel);
void synth__record(struct synth *s, u32 tid, u64 time, u64 cookie, unsigned int depth);
void synth__record_at(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc, u64 nr,
		      const u64 *ips, size_t nr_ips);
void synth__record_of(struct synth *s, u32 tid, u64 time, u64 cookie, u16 misc,
		      const u64 *frames, size_t nr);
void synth__empty(struct synth *s, u32 type);
void synth__unknown(struct synth *s, u32 type);
void synth__words(struct synth *s, u32 type, u64 time, const u64 *words, size_t nr);
void synth__attr(struct synth *s, u64 id, u64 sample_type);
void synth__hole(struct synth *s);
void synth__tracing_data(struct synth *s, size_t size);
void synth__inflate_raw(struct synth *s);
void synth__raw_record(struct synth *s, const void *body, size_t size);
void synth__append(struct synth *s, const struct synth *from);
size_t synth__file_size(const struct synth *s);
int synth__write(const struct synth *s, int fd, size_t limit);
int synth__read(struct perf_tool *tool, const struct synth *s, size_t limit,
		struct deferred_callchain_stats *stats);
int synth__read_session(struct perf_tool *tool, const struct synth *s,
			struct perf_session **where, struct deferred_callchain_stats *stats);
void synth__free(struct synth *s);

#endif /* __TESTS_DEFERRED_CALLCHAIN_FILE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_INDEX_H
#define __PERF_DEFERRED_CALLCHAIN_INDEX_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "deferred-callchain-pool.h"
#include "deferred-callchain-table.h"
#include "event.h"

struct deferred_thread;
struct perf_sample;

/**
 * struct deferred_record - the user callchain of one entry context
 * @by_time: in &deferred_context.records, until its turn comes
 * @by_thread: in &deferred_thread.records, as long
 * @node: in the list of kept records, after that
 * @thread: whose last record it is, once it is kept
 * @cookie: the entry context it belongs to
 * @time: when the record was written
 * @cpu: where, or -1
 * @chain: the frames, see deferred_record__frames(); NULL for a stub, if there was no
 *	room for them
 * @copy: memory of @chain, or NULL if that is in the file
 * @used: was it stitched to a sample?
 */
struct deferred_record {
	union {
		struct rb_node by_time;
		struct {
			struct list_head node;
			struct deferred_thread *thread;
		};
	};
	struct rb_node by_thread;
	u64 cookie;
	u64 time;
	const struct ip_callchain *chain;
	void *copy;
	u32 cpu;
	bool used;
};

/* The end of one life of a tid; it was read and its turn has not come. */
struct deferred_exit {
	struct rb_node by_time;
	u64 time;
};

/**
 * struct deferred_context - one entry context of one thread
 * @node: in &deferred_thread.contexts
 * @thread: the thread, or NULL for an unused &deferred_thread.first
 * @cookie: names it
 * @records: records that were read and whose turn has not come, by time
 * @runs: samples whose turn has come and whose record was not read yet
 */
struct deferred_context {
	struct deferred_thread *thread;
	u64 cookie;
	struct rb_root_cached records;
	struct list_head runs;
	struct list_head node;
};

/**
 * struct deferred_thread - a thread of one machine, as samples and records name it
 * @machine_pid: which machine, see deferred_index__machine_pid()
 * @tid: thread in that machine
 * @last: the last record that was delivered, or NULL
 * @runs: its samples that wait for their record, oldest first
 * @exits: ends of the thread, and of later ones with its tid, by time
 * @records: its records that were read and whose turn has not come, by time
 * @newest: the last of @records, or NULL
 * @contexts: its entry contexts that have something waiting
 * @first: room for one of its entry contexts; most threads have no more at a time
 */
struct deferred_thread {
	u32 machine_pid;
	u32 tid;
	struct deferred_record *last;
	struct list_head runs;
	struct rb_root_cached exits;
	struct rb_root records;
	struct deferred_record *newest;
	struct list_head contexts;
	struct deferred_context first;
};

/**
 * struct deferred_index - all threads, and their entry contexts
 * @threads: the threads by machine and tid
 * @contexts: entry contexts by thread and cookie, but for &deferred_thread.first
 * @thread_pool: memory for threads
 * @record_pool: memory for records
 * @records: number of these
 */
struct deferred_index {
	struct deferred_table threads;
	struct deferred_table contexts;
	struct deferred_pool thread_pool;
	struct deferred_pool record_pool;
	size_t records;
};

void deferred_index__init(struct deferred_index *index);
void deferred_index__exit(struct deferred_index *index);
size_t deferred_index__bytes(const struct deferred_index *index);
u32 deferred_index__machine_pid(const struct perf_sample *sample);
struct deferred_thread *deferred_index__find_thread(struct deferred_index *index,
						    u32 machine_pid, u32 tid);
struct deferred_thread *deferred_index__findnew_thread(struct deferred_index *index,
						       u32 machine_pid, u32 tid);
struct deferred_context *deferred_index__find(struct deferred_index *index,
					      struct deferred_thread *thread, u64 cookie);
struct deferred_context *deferred_index__findnew(struct deferred_index *index,
						 struct deferred_thread *thread, u64 cookie);
void deferred_index__put(struct deferred_index *index, struct deferred_context *context);
void deferred_index__put_thread(struct deferred_index *index, struct deferred_thread *thread);

int deferred_thread__add_exit(struct deferred_thread *thread, u64 time);
void deferred_thread__take_exit(struct deferred_thread *thread);
bool deferred_thread__lives_at(const struct deferred_thread *thread, u64 time);

struct deferred_record *deferred_record__new(struct deferred_index *index, u64 cookie,
					     const struct perf_sample *sample,
					     const struct ip_callchain *chain, bool stays);
void deferred_record__delete(struct deferred_index *index, struct deferred_record *record);
void deferred_context__add_record(struct deferred_context *context,
				  struct deferred_record *record);
struct deferred_record *deferred_context__next_record(struct deferred_context *context);
struct deferred_record *deferred_context__take_record(struct deferred_context *context);
const struct deferred_record *
deferred_context__record_between(struct deferred_context *context, u64 time);

static inline size_t deferred_record__size(const struct deferred_record *record)
{
	return sizeof(*record) + (record->copy ? record->chain->nr * sizeof(u64) : 0);
}

#endif /* __PERF_DEFERRED_CALLCHAIN_INDEX_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Where a deferred sample and its record meet: entry contexts by machine,
 * thread and cookie.  Every look-up is one hash probe, however many threads
 * and contexts there are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include "deferred-callchain-index.h"
#include "machine.h"
#include "sample.h"

static u64 thread_hash(const struct deferred_thread *thread)
{
	return deferred_table__hash(thread->tid | (u64)thread->machine_pid << 32);
}

static bool thread_equal(const void *item, const void *key)
{
	const struct deferred_thread *a = item, *b = key;

	return a->machine_pid == b->machine_pid && a->tid == b->tid;
}

static u64 context_hash(const struct deferred_context *context)
{
	u64 cookie = deferred_table__hash(context->cookie);

	return deferred_table__hash((cookie ^ cookie >> 32) + (uintptr_t)context->thread);
}

static bool context_equal(const void *item, const void *key)
{
	const struct deferred_context *a = item, *b = key;

	return a->thread == b->thread && a->cookie == b->cookie;
}

static void context__free(struct deferred_index *index, struct deferred_context *context)
{
	struct deferred_record *record;

	while ((record = deferred_context__take_record(context)))
		deferred_record__delete(index, record);
	if (context != &context->thread->first)
		free(context);
}

static struct deferred_exit *next_exit(const struct deferred_thread *thread)
{
	return rb_entry_safe(rb_first_cached(&thread->exits), struct deferred_exit, by_time);
}

static void thread__free(struct deferred_index *index, struct deferred_thread *thread)
{
	struct deferred_context *context, *tmp;

	list_for_each_entry_safe(context, tmp, &thread->contexts, node)
		context__free(index, context);
	while (next_exit(thread))
		deferred_thread__take_exit(thread);
	if (thread->last)
		deferred_record__delete(index, thread->last);
	deferred_pool__free(&index->thread_pool, thread);
}

/**
 * deferred_index__init - nothing was read yet
 * @index: the index
 */
void deferred_index__init(struct deferred_index *index)
{
	deferred_table__choose_factor();
	*index = (struct deferred_index){ .threads = { .nr = 0 } };
	deferred_pool__init(&index->thread_pool, sizeof(struct deferred_thread));
	deferred_pool__init(&index->record_pool, sizeof(struct deferred_record));
}

/**
 * deferred_index__exit - free all threads, contexts and records
 * @index: the index; no sample may be waiting in it
 */
void deferred_index__exit(struct deferred_index *index)
{
	struct deferred_thread *thread;
	size_t pos = 0;

	while ((thread = deferred_table__next(&index->threads, &pos)))
		thread__free(index, thread);
	deferred_table__exit(&index->contexts);
	deferred_table__exit(&index->threads);
	deferred_pool__exit(&index->thread_pool);
	deferred_pool__exit(&index->record_pool);
}

/**
 * deferred_index__bytes - what records and their entry contexts take
 * @index: the index
 *
 * Return: about so many bytes; copies of callchains are not among them.
 */
size_t deferred_index__bytes(const struct deferred_index *index)
{
	return index->records * sizeof(struct deferred_record) +
	       index->contexts.nr * (sizeof(struct deferred_context) +
				     2 * sizeof(struct deferred_slot));
}

/**
 * deferred_index__machine_pid - which machine a sample or record comes from
 * @sample: the parsed sample, or the parsed sample_id of another event
 *
 * A guest's thread may have the tid of a host's.  This does not ask for the
 * struct machine, which may not exist yet when a record is read ahead.
 *
 * Return: the pid of the guest's machine or HOST_KERNEL_ID.
 */
u32 deferred_index__machine_pid(const struct perf_sample *sample)
{
	if (sample->machine_pid)
		return sample->machine_pid;
	if (sample->cpumode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    sample->cpumode == PERF_RECORD_MISC_GUEST_USER)
		return sample->pid;
	return HOST_KERNEL_ID;
}

struct deferred_thread *deferred_index__find_thread(struct deferred_index *index,
						    u32 machine_pid, u32 tid)
{
	const struct deferred_thread key = { .machine_pid = machine_pid, .tid = tid };

	return deferred_table__find(&index->threads, thread_hash(&key), &key, thread_equal);
}

struct deferred_thread *deferred_index__findnew_thread(struct deferred_index *index,
						       u32 machine_pid, u32 tid)
{
	struct deferred_thread *thread = deferred_index__find_thread(index, machine_pid, tid);

	if (thread)
		return thread;

	thread = deferred_pool__alloc(&index->thread_pool);
	if (!thread)
		return NULL;

	thread->machine_pid = machine_pid;
	thread->tid = tid;
	thread->last = NULL;
	thread->first.thread = NULL;
	INIT_LIST_HEAD(&thread->contexts);
	INIT_LIST_HEAD(&thread->runs);
	thread->exits = RB_ROOT_CACHED;
	thread->records = RB_ROOT;
	thread->newest = NULL;
	if (deferred_table__add(&index->threads, thread_hash(thread), thread)) {
		deferred_pool__free(&index->thread_pool, thread);
		return NULL;
	}
	return thread;
}

struct deferred_context *deferred_index__find(struct deferred_index *index,
					      struct deferred_thread *thread, u64 cookie)
{
	const struct deferred_context key = { .thread = thread, .cookie = cookie };

	if (thread->first.thread && thread->first.cookie == cookie)
		return &thread->first;
	return deferred_table__find(&index->contexts, context_hash(&key), &key, context_equal);
}

static void context__init(struct deferred_context *context, struct deferred_thread *thread,
			  u64 cookie)
{
	context->thread = thread;
	context->cookie = cookie;
	context->records = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&context->runs);
	list_add_tail(&context->node, &thread->contexts);
}

static struct deferred_context *context__new(struct deferred_index *index,
					     struct deferred_thread *thread, u64 cookie)
{
	struct deferred_context *context = malloc(sizeof(*context));

	if (!context)
		return NULL;

	context__init(context, thread, cookie);
	if (deferred_table__add(&index->contexts, context_hash(context), context)) {
		list_del(&context->node);
		free(context);
		return NULL;
	}
	return context;
}

struct deferred_context *deferred_index__findnew(struct deferred_index *index,
						 struct deferred_thread *thread, u64 cookie)
{
	struct deferred_context *context = deferred_index__find(index, thread, cookie);

	if (context)
		return context;
	if (thread->first.thread)
		return context__new(index, thread, cookie);

	context__init(&thread->first, thread, cookie);
	return &thread->first;
}

/**
 * deferred_index__put - forget an entry context in which nothing waits
 * @index: the index
 * @context: the entry context; stays if a record or a sample waits in it
 */
void deferred_index__put(struct deferred_index *index, struct deferred_context *context)
{
	if (deferred_context__next_record(context) || !list_empty(&context->runs))
		return;

	list_del(&context->node);
	if (context == &context->thread->first) {
		context->thread = NULL;
		return;
	}
	deferred_table__remove(&index->contexts, context_hash(context), context);
	free(context);
}

/**
 * deferred_index__put_thread - forget a thread that ended
 * @index: the index
 * @thread: the thread; stays if there is still something to know about its tid
 */
void deferred_index__put_thread(struct deferred_index *index, struct deferred_thread *thread)
{
	if (!list_empty(&thread->contexts) || next_exit(thread) || thread->last)
		return;

	deferred_table__remove(&index->threads, thread_hash(thread), thread);
	thread__free(index, thread);
}

static bool exit_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct deferred_exit, by_time)->time <
	       rb_entry(b, struct deferred_exit, by_time)->time;
}

/**
 * deferred_thread__add_exit - the end of a thread was read ahead of its turn
 * @thread: the thread
 * @time: when it ends
 *
 * Return: 0 or -ENOMEM.
 */
int deferred_thread__add_exit(struct deferred_thread *thread, u64 time)
{
	struct deferred_exit *end = malloc(sizeof(*end));

	if (!end)
		return -ENOMEM;

	end->time = time;
	rb_add_cached(&end->by_time, &thread->exits, exit_before);
	return 0;
}

/**
 * deferred_thread__take_exit - the turn of the next end of a thread has come
 * @thread: the thread
 */
void deferred_thread__take_exit(struct deferred_thread *thread)
{
	struct deferred_exit *end = next_exit(thread);

	if (end) {
		rb_erase_cached(&end->by_time, &thread->exits);
		free(end);
	}
}

/**
 * deferred_thread__lives_at - is it still the thread whose turn it is now?
 * @thread: the thread
 * @time: a time to come
 *
 * Return: false if @time belongs to a later thread with the same tid.
 */
bool deferred_thread__lives_at(const struct deferred_thread *thread, u64 time)
{
	const struct deferred_exit *end = next_exit(thread);

	return !end || time <= end->time;
}

static int keep_chain(struct deferred_record *record, const struct ip_callchain *chain, bool stays)
{
	size_t size;

	record->copy = NULL;
	record->chain = chain;
	if (!chain || stays)
		return 0;

	size = sizeof(*chain) + chain->nr * sizeof(u64);
	record->copy = memdup(chain, size);
	if (!record->copy)
		return -ENOMEM;

	record->chain = record->copy;
	return 0;
}

/**
 * deferred_record__new - keep a deferred record
 * @index: where
 * @cookie: its cookie
 * @sample: its parsed sample_id
 * @chain: its callchain, checked by deferred_record__callchain(), or NULL for a stub
 * @stays: is @chain there for as long as the record?
 *
 * Return: the record, or NULL.
 */
struct deferred_record *deferred_record__new(struct deferred_index *index, u64 cookie,
					     const struct perf_sample *sample,
					     const struct ip_callchain *chain, bool stays)
{
	struct deferred_record *record = deferred_pool__alloc(&index->record_pool);

	if (!record)
		return NULL;

	if (keep_chain(record, chain, stays)) {
		deferred_pool__free(&index->record_pool, record);
		return NULL;
	}
	record->cookie = cookie;
	record->time = sample->time;
	record->cpu = sample->cpu;
	record->used = false;
	index->records++;
	return record;
}

/**
 * deferred_record__delete - free a record
 * @index: where it is
 * @record: the record, in no queue or list
 */
void deferred_record__delete(struct deferred_index *index, struct deferred_record *record)
{
	free(record->copy);
	deferred_pool__free(&index->record_pool, record);
	index->records--;
}

static bool record_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct deferred_record, by_time)->time <
	       rb_entry(b, struct deferred_record, by_time)->time;
}

static bool written_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct deferred_record, by_thread)->time <
	       rb_entry(b, struct deferred_record, by_thread)->time;
}

/*
 * A thread's records are mostly read as they were written, and then there is nothing to
 * look for.  Buffers of several CPUs, read one after the other, may bring older ones.
 */
static void add_by_thread(struct deferred_thread *thread, struct deferred_record *record)
{
	struct deferred_record *newest = thread->newest;

	if (newest && record->time < newest->time) {
		rb_add(&record->by_thread, &thread->records, written_before);
		return;
	}
	rb_link_node(&record->by_thread, newest ? &newest->by_thread : NULL,
		     newest ? &newest->by_thread.rb_right : &thread->records.rb_node);
	rb_insert_color(&record->by_thread, &thread->records);
	thread->newest = record;
}

static void remove_by_thread(struct deferred_thread *thread, struct deferred_record *record)
{
	if (thread->newest == record)
		thread->newest = rb_entry_safe(rb_prev(&record->by_thread),
					       struct deferred_record, by_thread);
	rb_erase(&record->by_thread, &thread->records);
}

/**
 * deferred_context__add_record - queue a record that was read ahead of its turn
 * @context: its entry context
 * @record: the record
 */
void deferred_context__add_record(struct deferred_context *context,
				  struct deferred_record *record)
{
	rb_add_cached(&record->by_time, &context->records, record_before);
	add_by_thread(context->thread, record);
}

/**
 * deferred_context__next_record - the queued record whose turn comes first
 * @context: an entry context
 *
 * Return: the record, which stays queued, or NULL.
 */
struct deferred_record *deferred_context__next_record(struct deferred_context *context)
{
	return rb_entry_safe(rb_first_cached(&context->records), struct deferred_record, by_time);
}

/**
 * deferred_context__take_record - take the queued record whose turn comes first
 * @context: an entry context
 *
 * Return: the record, which is the caller's now, or NULL.
 */
struct deferred_record *deferred_context__take_record(struct deferred_context *context)
{
	struct deferred_record *record = deferred_context__next_record(context);

	if (record) {
		rb_erase_cached(&record->by_time, &context->records);
		remove_by_thread(context->thread, record);
	}
	return record;
}

/**
 * deferred_context__record_between - does its thread write another record first?
 * @context: an entry context with a queued record
 * @time: of one of its samples
 *
 * Return: the last record of another entry context between @time and the next record
 * of @context, or NULL.
 */
const struct deferred_record *
deferred_context__record_between(struct deferred_context *context, u64 time)
{
	struct deferred_record *next = deferred_context__next_record(context);
	const struct deferred_record *other;

	other = rb_entry_safe(rb_prev(&next->by_thread), struct deferred_record, by_thread);
	return other && other->time > time ? other : NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Stitching of deferred user callchains.
 *
 * A deferred sample has a cookie in place of its user callchain.  The callchain follows later, in
 * a PERF_RECORD_CALLCHAIN_DEFERRED of the same thread with the same cookie.  The ordered queue of
 * the session delivers events in time order.  Just before the queue delivers a sample,
 * deferred_callchains__stitch() copies the callchain of the record into the sample.  By then the
 * record must be in the index, which is filled by the reader and by a scan of the file:
 *
 *  perf.data ---> reader ---> ordered queue ---> deferred_callchains__stitch() ---> tool
 *      |            |              ^                    |   ^   |
 *      |            |              +-- hold, not final -+   |   | scan on
 *      |            |                          look up      |   v
 *      |            +-- deferred_callchains__index() --> index: thread -> items by time
 *      +--------------- scan_file() ----------------------^
 *
 * session.c calls index() for each valid event, stitch() before each delivery (again if the event
 * was held), and finish() at the end.  perf top and perf trace, which read the buffers themselves,
 * call these functions for the session's queue, and set_live() between index() and stitch().  perf
 * top sorts events in queues of its own first.
 *
 * A file that is mapped as a whole is scanned ahead of the reader, in steps: a look-up scans until
 * its result is final, and the reader scans a step when it gets to an event that has not been
 * scanned.  The scan pauses at events that only the reader understands: attr, id index, AUX and
 * tracing data, compressed data.  All other input is a stream, also what is decompressed, and a
 * file of the other byte order: its records enter the index when they are read.  In a stream, or
 * while the scan pauses, the queue holds a sample until its look-up is final, and all events
 * behind it, but only up to a limit of memory or time.  Time is limited only in live pipes and
 * live commands.  A sample without a record is delivered without its user half, and counted.  Data
 * without flush rounds (record --threads) are read to their end before anything is delivered, so
 * nothing is held.  Events without a time are delivered when they are read.
 *
 * For each thread, the index has its records, and the ends of the thread or its program (exit, fork
 * of another thread with the same tid, exec).  The record with a sample's cookie is its record,
 * unless another item in between proves that the cookie was reused.  A delivered item stays until
 * the thread has a later one.  The index also has each PERF_RECORD_LOST, without a thread.
 *
 * If an evsel defers callchains, the tool gets stitched samples and no records.  But a tool that
 * clears merge_deferred_callchains, such as perf inject, gets both, unstitched.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "ordered-events.h"
#include "sample.h"
#include "session.h"
#include "tool.h"
#include "ui/progress.h"

/* Bytes of a file that are scanned in one step. */
#define SCAN_STEP		(1024 * 1024)
/* How long events of a pipe are held, in recorded time: somebody may be reading the output. */
#define MAX_PIPE_WAIT		(2ULL * NSEC_PER_SEC)
/*
 * The clocks of two CPUs differ by at most this: every tick corrects them.  If a thread has an item
 * that long before a record, earlier samples do not get that record, even if it has their cookie:
 * they must not wait for it.  A file that is scanned ahead would have it, but a pipe would not.
 */
#define MAX_CLOCK_SKEW		(20ULL * NSEC_PER_MSEC)
/* The most items within MAX_CLOCK_SKEW that a search visits, or losses. */
#define MAX_SKEWED		1024
/* Memory limit for items whose events were delivered. */
#define MAX_KEPT_BYTES		(16UL << 20)
/* Number of trees of threads. The tid chooses the tree. */
#define NR_TREES		65536UL

/* Memory limit of a session for held events and the index. */
u64 deferred_callchain_limit = 512 << 20;

/* The machine and thread of an index item. */
struct key {
	u32 machine_pid;
	u32 tid;
	u64 cookie;		/* if many tasks share this tid, else 0 */
};

/* An index item: a deferred record, the end of a thread or its program, or lost records. */
struct entry {
	struct rb_node node;		/* in &indexed_thread.entries */
	u64 time;
	u64 cookie;			/* of a deferred record, else 0 */
	const union perf_event *event;	/* the record, in the mapped file or a copy */
	u32 cpu;			/* CPU that wrote the event, or -1 */
	u16 nr;				/* length of its callchain, 0 if it has no frames */
	bool copied : 1;		/* @event is a copy, stored right behind this struct */
	bool used : 1;			/* this record or a duplicate was stitched */
	bool kept : 1;			/* the event was delivered */
	bool exec : 1;			/* the item is an exec: ends a program, not a thread */
};

/* What is known of a thread. */
struct indexed_thread {
	struct rb_node node;		/* in a tree of threads */
	struct key key;
	struct rb_root_cached entries;	/* items by time and cookie, ends behind records */
	struct entry *newest;		/* the last item in @entries, or NULL */
	unsigned int nr_kept;		/* number of items whose events were delivered */
	struct list_head kept;		/* in &deferred_callchains.kept, if @nr_kept is not 0 */
};

/* The stitching stage of a session.  Data without deferral have none. */
struct deferred_callchains {
	struct deferred_callchain_stats *stats;
	struct ip_callchain *chain;	/* the callchain of the current sample */
	size_t max_chain;		/* addresses and contexts that fit into @chain */
	struct rb_root threads[NR_TREES]; /* the index */
	struct indexed_thread losses;	/* lost records of all threads, not yet delivered */
	u64 copy[PERF_SAMPLE_MAX_SIZE / sizeof(u64)]; /* holds a foreign-endian sample */

	size_t bytes;			/* memory used by the index */
	struct list_head kept;		/* threads with kept items, the oldest first */
	size_t kept_bytes;		/* the part of @bytes that kept items use */

	const char *map, *scan, *end;	/* the file, the next event to scan, end of events */
	struct ui_progress progress;	/* of the scan, updated when a sample waits for it */
	u64 newest, newest_before;	/* time of the newest item: now, at start of the round */
	u64 indexed_until;		/* all items up to this time are indexed */

	size_t queued_bytes;		/* memory used by events in the ordered queue */
	u64 max_wait;			/* how long the queue may be held; 0: no limit */
	u64 now;			/* the time in a live session */
	u64 last_read;			/* when the last event was read; 0: just now */
};

/* Layout of samples and records.  Every count and size is checked before it is used. */

/**
 * ip_callchain__marker_nr - number of entries from the first marker on
 * @chain: callchain of a sample, may be NULL
 *
 * Behind PERF_CONTEXT_USER, a value that equals a marker is from the program's stack.
 *
 * Return: 2 for a deferred callchain (marker and cookie), 0 if there is no marker. With any other
 * value, the callchain is damaged.
 */
u64 ip_callchain__marker_nr(const struct ip_callchain *chain)
{
	u64 nr = chain ? chain->nr : 0;

	for (u64 i = 0; i < nr && chain->ips[i] != PERF_CONTEXT_USER; i++) {
		if (chain->ips[i] == PERF_CONTEXT_USER_DEFERRED)
			return nr - i;
	}
	return 0;
}

/* Return the cookie at the end of a callchain, or 0 if it has none: no valid cookie is 0. */
static u64 chain_cookie(const struct ip_callchain *chain)
{
	return ip_callchain__marker_nr(chain) == 2 ? chain->ips[chain->nr - 1] : 0;
}

/**
 * ip_callchain__nr_frames - count the frames among callchain entries
 * @ips: entries of a callchain
 * @nr: number of entries
 *
 * Return: the number of entries that are addresses, not contexts.
 */
u64 ip_callchain__nr_frames(const u64 *ips, size_t nr)
{
	u64 frames = 0;

	for (size_t i = 0; i < nr; i++)
		frames += ips[i] < PERF_CONTEXT_MAX;
	return frames;
}

/**
 * evlist__deferring_evsel - find an event that defers callchains
 * @evlist: the events of a session
 *
 * A deferred record can belong to an event without callchains.  Print it as a record of the
 * returned event instead.
 *
 * Return: the first event that defers the user half of its callchains, or NULL.
 */
struct evsel *evlist__deferring_evsel(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.defer_callchain)
			return evsel;
	}
	return NULL;
}

/* The size of the sample_id trailer depends on the event that the record was written for. */
static size_t record_fixed_size(struct evlist *evlist, const union perf_event *event)
{
	struct evsel *evsel = evlist__event2evsel(evlist, (union perf_event *)event);

	return sizeof(struct perf_record_callchain_deferred) +
	       (evsel && evsel->core.attr.sample_id_all ? evsel__id_hdr_size(evsel) : 0);
}

/**
 * deferred_record__callchain - check a deferred record
 * @evlist: the events of the session, for the size of the sample_id trailer
 * @event: a PERF_RECORD_CALLCHAIN_DEFERRED
 *
 * Released kernels write addresses only.  Early kernels with deferred callchains wrote
 * PERF_CONTEXT_USER in front of them.  No other context is allowed.
 *
 * Return: the callchain inside @event, or NULL if sizes or contents are wrong.
 */
const struct ip_callchain *deferred_record__callchain(struct evlist *evlist,
						      const union perf_event *event)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	size_t fixed = record_fixed_size(evlist, event), size = event->header.size;
	bool prefixed;

	if (size < fixed || (size - fixed) % sizeof(u64) ||
	    record->nr != (size - fixed) / sizeof(u64) || !record->cookie)
		return NULL;
	prefixed = record->nr && record->ips[0] == PERF_CONTEXT_USER;
	if (ip_callchain__nr_frames((const u64 *)record->ips, record->nr) + prefixed != record->nr)
		return NULL;
	return (const struct ip_callchain *)&record->nr;
}

/**
 * deferred_record__fprintf - print a deferred record for a raw dump
 * @evlist: the events of the session
 * @event: a PERF_RECORD_CALLCHAIN_DEFERRED
 * @sample: its parsed sample_id, or NULL if that cannot be parsed
 * @fp: where to print to
 *
 * Return: the number of characters printed.
 */
size_t deferred_record__fprintf(struct evlist *evlist, const union perf_event *event,
				const struct perf_sample *sample, FILE *fp)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	const struct ip_callchain *chain = deferred_record__callchain(evlist, event);
	size_t printed = fprintf(fp, "(IP, 0x%x)", event->header.misc);

	if (sample)
		printed += fprintf(fp, ": %d/%d", sample->pid, sample->tid);
	if (!chain || !sample) {
		if (event->header.size >= sizeof(*record))
			printed += fprintf(fp, ": %#llx nr:%llu", record->cookie, record->nr);
		return printed + fprintf(fp, " size:%u: malformed, ignored\n", event->header.size);
	}

	printed += fprintf(fp, ": %#llx\n... FP chain: nr:%llu\n", record->cookie,
			   (unsigned long long)chain->nr);
	for (u64 i = 0; i < chain->nr; i++)
		printed += fprintf(fp, "..... %2llu: %016llx\n", (unsigned long long)i,
				   (unsigned long long)chain->ips[i]);
	return printed;
}

/* The index. */

static struct rb_root *thread_tree(struct deferred_callchains *dc, const struct key *key)
{
	return &dc->threads[(key->tid ^ key->cookie) % NR_TREES];
}

static int thread_cmp(const void *key, const struct rb_node *node)
{
	return memcmp(key, &rb_entry(node, struct indexed_thread, node)->key, sizeof(struct key));
}

static bool thread_before(struct rb_node *a, const struct rb_node *b)
{
	return thread_cmp(&rb_entry(a, struct indexed_thread, node)->key, b) < 0;
}

static struct indexed_thread *thread_find(struct deferred_callchains *dc, const struct key *key)
{
	return rb_entry_safe(rb_find(key, thread_tree(dc, key), thread_cmp),
			     struct indexed_thread, node);
}

static struct indexed_thread *thread_findnew(struct deferred_callchains *dc, const struct key *key)
{
	struct indexed_thread *thread = thread_find(dc, key);

	if (thread)
		return thread;
	thread = zalloc(sizeof(*thread));
	if (!thread)
		return NULL;

	thread->key = *key;
	INIT_LIST_HEAD(&thread->kept);
	rb_add(&thread->node, thread_tree(dc, key), thread_before);
	dc->bytes += sizeof(*thread);
	return thread;
}

static size_t entry_size(const struct entry *entry)
{
	if (entry->copied) /* in one expression, gcc 14.2 would always read the event */
		return sizeof(*entry) + entry->event->header.size;
	return sizeof(*entry);
}

static bool is_time(u64 time)
{
	return time && time != -1ULL;
}

/* Is @entry before @time, whatever the clocks of the CPUs? */
static bool is_past(const struct entry *entry, u64 time)
{
	return is_time(time) && entry->time < time && time - entry->time > MAX_CLOCK_SKEW;
}

static struct entry *entry_next(struct entry *entry)
{
	return rb_entry_safe(rb_next(&entry->node), struct entry, node);
}

static struct entry *entry_prev(struct entry *entry)
{
	return rb_entry_safe(rb_prev(&entry->node), struct entry, node);
}

/* Among items of the same time, records sort by cookie, and ends (cookie 0) behind them. */
static bool is_before(const struct entry *entry, u64 time, u64 cookie)
{
	return entry->time < time || (entry->time == time && entry->cookie - 1 < cookie - 1);
}

static bool entry_before(struct rb_node *a, const struct rb_node *b)
{
	const struct entry *entry = rb_entry(b, struct entry, node);

	return is_before(rb_entry(a, struct entry, node), entry->time, entry->cookie);
}

/* Items mostly come in time order.  Append such an item without a search for its place. */
static void thread_add(struct indexed_thread *thread, struct entry *entry)
{
	struct entry *newest = thread->newest;

	if (newest && entry_before(&entry->node, &newest->node)) {
		rb_add_cached(&entry->node, &thread->entries, entry_before);
		return;
	}
	rb_link_node(&entry->node, newest ? &newest->node : NULL,
		     newest ? &newest->node.rb_right : &thread->entries.rb_root.rb_node);
	rb_insert_color_cached(&entry->node, &thread->entries, !newest);
	thread->newest = entry;
}

static struct entry *thread_first(struct indexed_thread *thread)
{
	return rb_entry_safe(rb_first_cached(&thread->entries), struct entry, node);
}

/* Find the first item at or after @time.  Skip items of this time with smaller cookies. */
static struct entry *thread_first_since(struct indexed_thread *thread, u64 time, u64 cookie)
{
	struct entry *first = thread_first(thread);
	struct rb_node *node = thread->entries.rb_root.rb_node;

	if (!first || !is_before(first, time, cookie))
		return first;

	for (first = NULL; node;) {
		struct entry *entry = rb_entry(node, struct entry, node);
		bool before = is_before(entry, time, cookie);

		first = before ? first : entry;
		node = before ? node->rb_right : node->rb_left;
	}
	return first;
}

/* A record is an orphan if neither it nor a duplicate of it was stitched. */
static void entry_free(struct deferred_callchains *dc, struct entry *entry)
{
	size_t size = entry_size(entry);

	dc->bytes -= size;
	if (entry->kept) {
		dc->kept_bytes -= size;
		dc->stats->orphans += entry->cookie && !entry->used;
	}
	free(entry);
}

static void thread_remove(struct deferred_callchains *dc, struct indexed_thread *thread,
			  struct entry *entry)
{
	if (thread->newest == entry)
		thread->newest = entry_prev(entry);
	rb_erase_cached(&entry->node, &thread->entries);
	if (entry->kept && !--thread->nr_kept) {
		list_del_init(&thread->kept);
		dc->kept_bytes -= sizeof(*thread);
	}
	entry_free(dc, entry);
}

/* Free a thread that has no items. */
static void thread_put(struct deferred_callchains *dc, struct indexed_thread *thread)
{
	if (!RB_EMPTY_ROOT(&thread->entries.rb_root))
		return;

	rb_erase(&thread->node, thread_tree(dc, &thread->key));
	free(thread);
	dc->bytes -= sizeof(*thread);
}

/* Free a thread's kept items, and the thread if it has no others. */
static void thread_forget(struct deferred_callchains *dc, struct indexed_thread *thread)
{
	struct entry *entry, *next;

	for (entry = thread_first(thread); entry && thread->nr_kept; entry = next) {
		next = entry_next(entry);
		if (entry->kept)
			thread_remove(dc, thread, entry);
	}
	thread_put(dc, thread);
}

/* At @time, the thread is in the entry context of @cookie: earlier ones get no more samples. */
static void thread_advance(struct deferred_callchains *dc, struct indexed_thread *thread,
			   u64 time, u64 cookie)
{
	struct entry *first;

	while ((first = thread_first(thread)) && first->kept && is_past(first, time) &&
	       (!first->cookie || first->cookie != cookie))
		thread_remove(dc, thread, first);
	thread_put(dc, thread);
}

/* The event of @entry was delivered.  This may free other threads, but not @thread. */
static void thread_keep(struct deferred_callchains *dc, struct indexed_thread *thread,
			struct entry *entry)
{
	struct entry *prev = entry_prev(entry);

	if (prev && prev->kept && prev->cookie == entry->cookie) {
		dc->stats->duplicates += !!entry->cookie;
		entry->used |= prev->used;
		prev->used = true;
		thread_remove(dc, thread, prev);
	}
	entry->kept = true;
	dc->kept_bytes += entry_size(entry);
	if (!thread->nr_kept++)
		dc->kept_bytes += sizeof(*thread);
	list_move_tail(&thread->kept, &dc->kept);
	while (dc->kept_bytes > MAX_KEPT_BYTES && dc->kept.next != &thread->kept)
		thread_forget(dc, list_first_entry(&dc->kept, struct indexed_thread, kept));
	/* without times, thread_advance() removes nothing */
	while (dc->kept_bytes > MAX_KEPT_BYTES && (prev = thread_first(thread)) != entry &&
	       prev->kept)
		thread_remove(dc, thread, prev);
}

static void losses_delivered(struct deferred_callchains *dc, u64 time)
{
	struct entry *first;

	while ((first = thread_first(&dc->losses)) && first->time <= time)
		thread_remove(dc, &dc->losses, first);
}

static void index_clear(struct deferred_callchains *dc)
{
	struct indexed_thread *thread, *next;
	struct entry *entry, *behind;

	losses_delivered(dc, -1ULL);
	/* end with the last thread: do not touch the unused rest of the table */
	for (size_t i = 0; dc->bytes && i < NR_TREES; i++) {
		rbtree_postorder_for_each_entry_safe(thread, next, &dc->threads[i], node) {
			rbtree_postorder_for_each_entry_safe(entry, behind,
							     &thread->entries.rb_root, node)
				entry_free(dc, entry);
			free(thread);
			dc->bytes -= sizeof(*thread);
		}
	}
}

/*
 * Identify the machine of an event, as threads of host and guest can have the same tid.  Do not
 * look up a struct machine: it may not exist yet.  If the host has sampled a guest, the event does
 * not tell which guest.
 */
static u32 machine_pid(const struct perf_sample *sample)
{
	if (sample->machine_pid)
		return sample->machine_pid;
	if (sample->cpumode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    sample->cpumode == PERF_RECORD_MISC_GUEST_USER)
		return DEFAULT_GUEST_KERNEL_ID;
	return HOST_KERNEL_ID;
}

/* Tasks outside perf's PID namespace all have tid 0 or -1. */
static bool is_one_thread(u32 tid)
{
	return tid && tid != (u32)-1;
}

static struct key make_key(const struct perf_sample *sample, u32 tid, u64 cookie)
{
	return (struct key){
		.machine_pid = machine_pid(sample), .tid = tid,
		.cookie = is_one_thread(tid) ? 0 : cookie,
	};
}

/*
 * The tid of the thread that the event ends, or whose program it ends, or 0.  A fork ends
 * an earlier thread with the same tid.  But PERF_RECORD_MISC_FORK_EXEC marks a fork that
 * perf synthesized for a running thread: such a fork ends nothing.
 */
static u32 ended_tid(const union perf_event *event)
{
	const struct perf_event_header *header = &event->header;
	u32 tid = 0;

	if (header->type == PERF_RECORD_EXIT ||
	    (header->type == PERF_RECORD_FORK && !(header->misc & PERF_RECORD_MISC_FORK_EXEC)))
		tid = event->fork.tid;
	else if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC)
		tid = event->comm.tid;
	return is_one_thread(tid) ? tid : 0;
}

static int index_add(struct deferred_callchains *dc, struct indexed_thread *thread,
		     const struct entry *what)
{
	size_t size = entry_size(what);
	struct entry *entry = thread ? malloc(size) : NULL;

	if (!entry)
		return -ENOMEM;
	*entry = *what;
	if (what->copied)
		entry->event = memcpy(entry + 1, what->event, what->event->header.size);
	thread_add(thread, entry);
	dc->bytes += size;
	if (is_time(entry->time))
		dc->newest = max(dc->newest, entry->time);
	return 0;
}

/*
 * Add @event to the index if it is a deferred record, the end of a thread or program, or a loss.
 * Set @copy if @event is valid only during this call: the index then stores a copy.
 */
static int index_event(struct perf_session *session, union perf_event *event, bool copy)
{
	struct deferred_callchains *dc = session->deferred;
	struct entry entry = { .event = event };
	struct evlist *evlist = session->evlist;
	const struct ip_callchain *chain;
	u32 tid = ended_tid(event);
	struct perf_sample sample;
	struct key key;

	if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED) {
		chain = deferred_record__callchain(evlist, event);
		if (!chain)
			return 0;
		entry.cookie = event->callchain_deferred.cookie;
		entry.nr = chain->nr == 1 && chain->ips[0] == PERF_CONTEXT_USER ? 0 : chain->nr;
		entry.copied = copy;
	} else if (!session->defers || (!tid && event->header.type != PERF_RECORD_LOST)) {
		/* index ends and losses only if an evsel defers callchains, other events never */
		return 0;
	}
	if (parse_numbers(evlist, event, &sample))
		return 0;
	/* ends and losses need a time; without sorting, ends would never be removed */
	if (!entry.cookie && (!is_time(sample.time) || (tid && !session->tool->ordered_events)))
		return 0;

	entry.exec = event->header.type == PERF_RECORD_COMM;
	entry.time = sample.time;
	entry.cpu = sample.cpu;
	key = make_key(&sample, tid ?: sample.tid, entry.cookie);
	return index_add(dc, event->header.type == PERF_RECORD_LOST ? &dc->losses :
			     thread_findnew(dc, &key), &entry);
}

/* Buffers are read in turn, so older events may come until the end of the next flush round. */
static void index_end_round(struct deferred_callchains *dc)
{
	dc->indexed_until = dc->newest_before;
	dc->newest_before = dc->newest;
}

/* The scan. */

/* Index the next event. Return: 0, 1 to stop the scan before this event, or an error. */
static int scan_event(struct perf_session *session)
{
	struct deferred_callchains *dc = session->deferred;
	union perf_event *event = (void *)dc->scan;
	struct perf_event_header header = { .size = 0 };
	size_t left = dc->end - dc->scan;
	int ret = 0;

	if (left >= sizeof(header))
		header = event->header;
	if (header.size < sizeof(header) || header.size > left) {
		/* the reader stops here, too */
		dc->end = dc->scan;
		return 1;
	}
	if (is_compressed(header.type))
		return 1;

	switch (header.type) {
	case PERF_RECORD_CALLCHAIN_DEFERRED:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_LOST:
		if (perf_event__fits(event, /*swapped=*/false))
			ret = index_event(session, event, /*copy=*/false);
		break;
	case PERF_RECORD_FINISHED_ROUND:
		index_end_round(dc);
		break;
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_ID_INDEX:
		/* later events can be parsed only when the reader has processed this one */
	case PERF_RECORD_AUXTRACE:
	case PERF_RECORD_HEADER_TRACING_DATA:
		/* only the reader knows what data are inside or behind this event */
		return 1;
	default:
		break;
	}
	dc->scan += header.size;
	return ret;
}

/* Return: 1 if something was scanned, 0 if the scan can go no further, or an error. */
static int scan_file(struct perf_session *session)
{
	struct deferred_callchains *dc = session->deferred;
	const char *from = dc->scan;
	int ret = 0;

	while (!ret && dc->scan < dc->end && (size_t)(dc->scan - from) < SCAN_STEP)
		ret = scan_event(session);
	return ret < 0 ? ret : dc->scan > from;
}

/*
 * Scan a file only if it is mapped as a whole, has deferred callchains, and has this machine's byte
 * order: the reader swaps foreign events in place, when it gets to them.
 */
static void start_scan(struct perf_session *session)
{
	struct deferred_callchains *dc = session->deferred;
	const struct perf_header *header = &session->header;

	if (!session->one_mmap || header->needs_swap ||
	    !session->tool->merge_deferred_callchains || !evlist__deferring_evsel(session->evlist))
		return;

	dc->map = session->one_mmap_addr;
	dc->scan = dc->map + (header->data_offset - session->one_mmap_offset);
	dc->end = dc->scan + header->data_size;
	ui_progress__init_size(&dc->progress, header->data_size, "Looking ahead...");
}

static int stage_start(struct perf_session *session)
{
	struct deferred_callchains *dc = zalloc(sizeof(*dc));
	struct stat st;

	if (!dc)
		return -ENOMEM;

	INIT_LIST_HEAD(&dc->kept);
	/* a pipe that was saved in a file has an end: no limit of time */
	if (session->data && perf_data__is_pipe(session->data) &&
	    (fstat(perf_data__fd(session->data), &st) || !S_ISREG(st.st_mode)))
		dc->max_wait = MAX_PIPE_WAIT;
	dc->stats = &evlist__stats(session->evlist)->deferred;
	memset(dc->stats, 0, sizeof(*dc->stats));
	session->deferred = dc;
	start_scan(session);
	return 0;
}

static bool is_between(const void *event, const char *start, const char *end)
{
	return (const char *)event >= start && (const char *)event < end;
}

/* Memory that the queue takes for an event. Mapped files and decompressed data do not count. */
static size_t queued_size(const struct perf_session *session, const union perf_event *event)
{
	return sizeof(struct ordered_event) +
	       (session->ordered_events.copy_on_queue ? event->header.size : 0);
}

/**
 * deferred_callchains__index - index an event that was read
 * @session: the session
 * @event: any event, in this machine's byte order
 *
 * Called before an event is queued, delivered or processed.  Starts the stage at the first event of
 * data with a deferring evsel, or at the first deferred record.
 *
 * Return: 0, a positive number if the event must be skipped, or a negative error code.
 */
int deferred_callchains__index(struct perf_session *session, union perf_event *event)
{
	struct deferred_callchains *dc = session->deferred;

	/* a pipe can add evsels while it is read */
	if (session->defers_nr_evsels != evlist__nr_entries(session->evlist)) {
		session->defers_nr_evsels = evlist__nr_entries(session->evlist);
		session->defers = evlist__deferring_evsel(session->evlist);
	}
	if (!dc && !session->defers && event->header.type != PERF_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	if (!dc && stage_start(session))
		return -ENOMEM;
	dc = session->deferred;
	if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED &&
	    event->header.size < record_fixed_size(session->evlist, event)) {
		/* this record is not delivered, so dump it here */
		if (dump_trace) {
			trace_event(event);
			printf(" PERF_RECORD_CALLCHAIN_DEFERRED");
			deferred_record__fprintf(session->evlist, event, NULL, stdout);
		}
		dc->stats->records++;
		dc->stats->malformed++;
		return 1;
	}
	if (!session->tool->merge_deferred_callchains)
		return 0;

	if (event->header.type < PERF_RECORD_USER_TYPE_START)
		dc->queued_bytes += queued_size(session, event);
	if (is_between(event, dc->map, dc->scan))
		return 0;
	if (is_between(event, dc->scan, dc->end)) {
		/* the reader has passed the event that stopped the scan */
		dc->scan = (const char *)event;
		return min(scan_file(session), 0);
	}

	dc->last_read = 0;
	if (event->header.type == PERF_RECORD_FINISHED_ROUND)
		index_end_round(dc);
	return index_event(session, event, session->ordered_events.copy_on_queue);
}

/**
 * deferred_callchains__set_live - hold events for a short time only: the session is live
 * @session: the session
 * @now: the time of a monotonic clock, in nanoseconds, not 0
 * @max_wait: how long, in nanoseconds: the user waits for the events
 *
 * To be called after the buffers were read, before events are delivered.  While no event comes,
 * perf top may leave its last events in its own queues: these can wait longer than the time limit.
 */
void deferred_callchains__set_live(struct perf_session *session, u64 now, u64 max_wait)
{
	struct deferred_callchains *dc = session->deferred;

	if (!dc)
		return;

	dc->max_wait = max_wait;
	index_end_round(dc);
	if (!dc->last_read)
		dc->last_read = now;
	dc->now = now;
}

/* Delivery of a sample. */

/* Result of a look-up in the index. */
struct match {
	struct entry *record;			/* the sample's record, or NULL */
	enum deferred_incomplete reason;	/* why there is no record */
};

/*
 * Can the record of @sample have been lost?  The kernel writes it on the CPU of the sample or, if
 * the thread has migrated, on another CPU.  Assume that this is the CPU of the thread's next item.
 * If a buffer was full, a PERF_RECORD_LOST is written in front of the next event that fits.
 */
static bool was_lost(struct deferred_callchains *dc, const struct perf_sample *sample,
		     const struct entry *next)
{
	struct entry *loss = thread_first_since(&dc->losses, sample->time, 0);
	const u32 unknown = -1;

	for (int i = 0; i < MAX_SKEWED && loss && loss->time <= next->time; i++) {
		if (sample->cpu == unknown || next->cpu == unknown || loss->cpu == unknown ||
		    loss->cpu == sample->cpu || loss->cpu == next->cpu)
			return true;
		loss = entry_next(loss);
	}
	return false;
}

/*
 * Find the record in @next and the items after it, or in @prev and the items before it.  Mainline's
 * kernels keep the cookie across an exec: a record behind an exec, by the clock of one CPU, has the
 * stack of the new program.
 */
static struct entry *find_cookie(struct entry *next, struct entry *prev, u64 cookie, u64 time)
{
	struct entry *entry = next, *exec = NULL;

	for (int i = 0; i < MAX_SKEWED && entry; i++, entry = entry_next(entry)) {
		if (is_time(time) && is_past(next, entry->time))
			break;
		if (entry->cookie == cookie) {
			if (exec && exec->cpu == entry->cpu)
				break;
			return entry;
		}
		if (entry->exec && is_time(time) && entry->time > time)
			exec = entry;
	}
	for (int i = 0; i < MAX_SKEWED && prev; i++, prev = entry_prev(prev)) {
		if (prev->cookie == cookie)
			return prev;
		if (is_past(prev, time))
			break;
	}
	return NULL;
}

/* Look up the record of @sample. Return: is the result final, whatever events are read later? */
static bool look_up(struct deferred_callchains *dc, struct indexed_thread *thread, u64 cookie,
		    const struct perf_sample *sample, struct match *match)
{
	bool timed = is_time(sample->time);
	struct entry *next = NULL, *prev = NULL;

	if (thread) {
		next = thread_first_since(thread, sample->time, timed ? 1 : cookie);
		if (!next && !timed)
			next = thread_first(thread);
		prev = next ? entry_prev(next) : thread->newest;
	}
	match->record = find_cookie(next, prev, cookie, sample->time);
	match->reason = DEFERRED_INCOMPLETE__END;
	if (!match->record && next)
		match->reason = was_lost(dc, sample, next) ? DEFERRED_INCOMPLETE__LOST :
				next->cookie || next->exec ? DEFERRED_INCOMPLETE__NO_RECORD :
							     DEFERRED_INCOMPLETE__EXIT;
	/* a record long before the sample may be that of a reused cookie */
	if (match->record && !is_past(match->record, sample->time))
		return true;
	/* is everything indexed up to the last record that find_cookie() would take? */
	return (dc->map && dc->scan == dc->end) || (next && is_past(next, dc->indexed_until));
}

/*
 * A callchain that was not deferred has at most sample_max_stack frames in both halves together:
 * apply this limit to stitched callchains, too.  If the event has no limit, a sysctl of the
 * recording system was the limit, but its value is not known: keep all frames.
 */
static void append_user(struct ip_callchain *chain, u64 max_stack, const u64 *ips, u64 nr)
{
	u64 kernel = ip_callchain__nr_frames(chain->ips, chain->nr);

	if (nr && ips[0] == PERF_CONTEXT_USER) {
		ips++;
		nr--;
	}
	if (max_stack)
		nr = min(nr, max_stack > kernel ? max_stack - kernel : 0);
	if (!nr)
		return;

	chain->ips[chain->nr++] = PERF_CONTEXT_USER;
	memcpy(chain->ips + chain->nr, ips, nr * sizeof(u64));
	chain->nr += nr;
}

/*
 * Replace marker and cookie by the frames of @record.  If @record is NULL, use the sample's ip if
 * that is in user space.
 */
static int build_callchain(struct perf_session *session, struct perf_sample *sample,
			   const struct entry *record)
{
	struct deferred_callchains *dc = session->deferred;
	const struct evsel *evsel = evlist__id2evsel(session->evlist, sample->id);
	const struct perf_event_attr none = { .size = 0 };
	const struct perf_event_attr *attr = evsel ? &evsel->core.attr : &none;
	struct ip_callchain *raw = sample->callchain;
	size_t kernel_nr = raw->nr - ip_callchain__marker_nr(raw);
	size_t max = kernel_nr + 2 + (record ? record->nr : 0);
	struct ip_callchain *chain = dc->chain;

	if (max > dc->max_chain) {
		chain = realloc(chain, sizeof(*chain) + max * sizeof(u64));
		if (!chain)
			return -ENOMEM;
		dc->chain = chain;
		dc->max_chain = max;
	}

	chain->nr = kernel_nr;
	memcpy(chain->ips, raw->ips, kernel_nr * sizeof(u64));
	if (record)
		append_user(chain, attr->sample_max_stack,
			    (const u64 *)record->event->callchain_deferred.ips, record->nr);
	else if (!sample->deferred_unmerged && sample->cpumode == PERF_RECORD_MISC_USER &&
		 attr->sample_type & PERF_SAMPLE_IP)
		/* a sample in user space has its innermost frame in ip */
		append_user(chain, attr->sample_max_stack, &sample->ip, 1);

	sample->callchain = chain;
	sample->deferred_raw = raw;
	sample->deferred_cookie = chain_cookie(raw);
	return 0;
}

/*
 * The record may still come: index more of the file, or hold the queue.  If both fail, set @reason.
 *
 * Return: 0 to look up again, ORDERED_EVENTS__HOLD, 1 with a reason, or an error.
 */
static int wait_for_record(struct perf_session *session, const struct perf_sample *sample,
			   enum deferred_incomplete *reason)
{
	struct deferred_callchains *dc = session->deferred;
	const struct ordered_events *oe = &session->ordered_events;
	const u64 idle = dc->last_read ? dc->now - dc->last_read : 0;
	u64 age = is_time(sample->time) ? oe->max_timestamp + idle - sample->time : 0;
	const size_t indexed = dc->bytes - dc->kept_bytes;
	struct ui_progress *progress = &dc->progress;
	int ret = 0;

	/* after ^C, nothing more is delivered */
	if (indexed <= deferred_callchain_limit && !session_done())
		ret = scan_file(session);
	if (ret > 0)
		ui_progress__update(progress, progress->total - progress->curr -
				    (dc->end - dc->scan));
	if (ret)
		return min(ret, 0);

	if (oe->next_flush == ULLONG_MAX)	/* end of the data */
		*reason = DEFERRED_INCOMPLETE__END;
	else if (indexed + dc->queued_bytes > deferred_callchain_limit ||
		 oe->last_flush_type == OE_FLUSH__HALF)
		*reason = DEFERRED_INCOMPLETE__LIMIT;
	else if (!session->tool->ordered_events || !is_time(sample->time))
		*reason = DEFERRED_INCOMPLETE__UNORDERED;
	else if (dc->max_wait && age > dc->max_wait)
		*reason = DEFERRED_INCOMPLETE__EXPIRED;
	else
		return ORDERED_EVENTS__HOLD;
	return 1;
}

/* Find the record of a sample. Return: 0 with a match, ORDERED_EVENTS__HOLD, or an error. */
static int find_record(struct perf_session *session, const struct perf_sample *sample,
		       u64 cookie, struct match *match)
{
	struct deferred_callchains *dc = session->deferred;
	const struct key key = make_key(sample, sample->tid, cookie);
	enum deferred_incomplete reason = DEFERRED_INCOMPLETE__END;
	struct indexed_thread *thread;
	int ret;

	do {
		thread = thread_find(dc, &key);
		ret = look_up(dc, thread, cookie, sample, match) ? 1 :
		      wait_for_record(session, sample, &reason);
	} while (!ret);
	if (ret < 0)
		return ret;

	/* a reason from the index is more precise than DEFERRED_INCOMPLETE__END */
	if (match->reason == DEFERRED_INCOMPLETE__END || reason != DEFERRED_INCOMPLETE__END)
		match->reason = reason;
	if (match->record)
		match->record->used = true;
	if (match->record && !match->record->nr)
		*match = (struct match){ .reason = DEFERRED_INCOMPLETE__EMPTY };
	if (thread && session->tool->ordered_events)
		thread_advance(dc, thread, sample->time, cookie);
	return 0;
}

static int stitch_sample(struct perf_session *session, struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	u64 cookie = chain_cookie(sample->callchain);
	bool guest = machine_pid(sample) == DEFAULT_GUEST_KERNEL_ID;
	struct match match = {
		.reason = guest ? DEFERRED_INCOMPLETE__GUEST : DEFERRED_INCOMPLETE__COOKIE,
	};
	bool merge = session->tool->merge_deferred_callchains;
	int ret = merge && cookie && !guest ? find_record(session, sample, cookie, &match) : 0;

	if (ret)
		return ret;

	dc->stats->samples++;
	sample->deferred_unmerged = !merge;
	sample->deferred_callchain = match.record ? 0 : 1 + match.reason;
	if (match.record)
		dc->stats->stitched++;
	else if (merge)
		dc->stats->incomplete[match.reason]++;
	return build_callchain(session, sample, match.record);
}

/* The event of an item is delivered. */
static void item_delivered(struct perf_session *session, const struct perf_sample *sample, u32 tid,
			   u64 cookie)
{
	struct deferred_callchains *dc = session->deferred;
	const struct key key = make_key(sample, tid, cookie);
	struct indexed_thread *thread = thread_find(dc, &key);
	struct entry *entry = thread ? thread_first_since(thread, sample->time, cookie) : NULL;

	while (entry && entry->kept && entry->time == sample->time && entry->cookie == cookie)
		entry = entry_next(entry);
	if (!entry || entry->time != sample->time || entry->cookie != cookie)
		return;
	thread_keep(dc, thread, entry);
	if (session->tool->ordered_events)
		thread_advance(dc, thread, sample->time, cookie);
}

static void record_delivered(struct perf_session *session, union perf_event *event,
			     const struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;

	dc->stats->records++;
	if (!deferred_record__callchain(session->evlist, event))
		dc->stats->malformed++;
	else if (session->tool->merge_deferred_callchains)
		item_delivered(session, sample, sample->tid, event->callchain_deferred.cookie);
}

/* Parsing swaps some fields in place. A held event is parsed again, so parse a copy. */
static int parse_sample(struct perf_session *session, union perf_event *event,
			struct perf_sample *sample)
{
	int ret;

	if (session->deferred && session->header.needs_swap &&
	    event->header.type == PERF_RECORD_SAMPLE && session->tool->merge_deferred_callchains)
		event = memcpy(session->deferred->copy, event, event->header.size);
	ret = evlist__parse_sample(session->evlist, event, sample);
	if (ret)
		report_unparsed(ret);
	return ret;
}

static int stitch_event(struct perf_session *session, union perf_event *event,
			struct perf_sample *sample)
{
	const struct evsel *evsel;

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		/* without defer_callchain, a marker is a value from the program's stack */
		evsel = evlist__id2evsel(session->evlist, sample->id);
		return evsel && evsel->core.attr.defer_callchain &&
		       ip_callchain__marker_nr(sample->callchain) ?
		       stitch_sample(session, sample) : 0;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		record_delivered(session, event, sample);
		return 0;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
		item_delivered(session, sample, ended_tid(event), /*cookie=*/0);
		return 0;
	case PERF_RECORD_LOST:
		losses_delivered(session->deferred, sample->time);
		return 0;
	default:
		return 0;
	}
}

/**
 * deferred_callchains__stitch - parse an event that is about to be delivered, and stitch it
 * @session: the session
 * @event: any event
 * @sample: set to the parsed event. A stitched callchain is valid until the next call
 *
 * Only a deferred sample is stitched.  A sample whose record never comes is counted.
 *
 * Return: 0, ORDERED_EVENTS__HOLD to keep the event queued until more is read, or an error.
 */
int deferred_callchains__stitch(struct perf_session *session, union perf_event *event,
				struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	int ret = parse_sample(session, event, sample);

	if (!dc)	/* no event defers, or index() was never called: kvm stat live */
		return ret;

	ret = ret ?: stitch_event(session, event, sample);
	if (ret != ORDERED_EVENTS__HOLD)
		dc->queued_bytes -= min(dc->queued_bytes, queued_size(session, event));
	return ret;
}

/**
 * deferred_callchains__finish - end reading, maybe after an error
 * @session: the session
 *
 * Delivers events that are still held, but not after ^C, and not in perf top.  Frees the stage.
 * The counts stay in &session->evlist->stats.
 */
void deferred_callchains__finish(struct perf_session *session)
{
	struct deferred_callchains *dc = session->deferred;

	if (!dc)
		return;

	if (session->ordered_events.holding)
		ordered_events__flush(&session->ordered_events, OE_FLUSH__FINAL);
	session->deferred = NULL;
	index_clear(dc);
	free(dc->chain);
	free(dc);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Stitching of deferred user callchains.
 *
 * A deferred sample has a cookie in the place of its user callchain.  The callchain
 * comes later, in a PERF_RECORD_CALLCHAIN_DEFERRED of the same thread with the same
 * cookie.  This stage of a session puts it into the sample when that has its turn, in
 * the order of time.  So the record must be known by then:
 *
 *  perf.data ---> reader ---> ordered queue ---> deferred_callchains__turn() ---> tool
 *      |            |              ^                    |   ^
 *      |            |              +-- hold, no record -+   | look up
 *      |            |                                       |
 *      |            +-- deferred_callchains__read() ---> index: thread -> records by time
 *      |                (pipe, compressed, folder)          ^
 *      +--------------- scan_file(), ahead of the reader ---+
 *
 * A file that is mapped as a whole is scanned ahead of the reader, event header by event
 * header, as far as the record of the sample at hand.  All else is a stream: there records
 * enter the index when they are read, and the ordered queue holds the sample and all events
 * behind it until its record is read.  If too much is held, or for too long, the sample
 * goes out without its user half, and is counted.
 *
 * The index has, of each thread, the records whose turn has not come and the ends of the
 * thread's life (exit, fork of another thread with its number, exec).  The next one at or
 * after a sample decides: it is the sample's record, or there is none.  Nothing of this
 * is kept once its turn has come, but for the last record of a thread.
 */
#include <byteswap.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/random.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "addr_location.h"
#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "dso.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "map.h"
#include "ordered-events.h"
#include "sample.h"
#include "session.h"
#include "thread.h"
#include "tool.h"
#include "units.h"

/* How far a file is scanned at a time. */
#define SCAN_STEP		(1024 * 1024)
/* How long a pipe is held; a thread that sleeps writes its record when it wakes. */
#define MAX_PIPE_WAIT		(60ULL * NSEC_PER_SEC)
/* The same for a live session, whose user waits. */
#define MAX_LIVE_WAIT		(5ULL * NSEC_PER_SEC)
/* How much the clocks of two CPUs may differ: they are set anew with every tick. */
#define MAX_CLOCK_SKEW		(20ULL * NSEC_PER_MSEC)
/* So many records of other entry contexts are passed over in that time. */
#define MAX_SKEWED		1024
/* What the last records of threads may take. */
#define MAX_KEPT_BYTES		(16UL << 20)
/* So many threads with consecutive numbers have chains side by side. */
#define NEIGHBOUR_BITS		4
#define NEIGHBOURS		((size_t)1 << NEIGHBOUR_BITS)
/* Below this share of all deferred samples nobody needs to be told of incomplete ones. */
#define WARN_PERCENT		2

/* The machine and thread of an entry. */
struct key {
	u32 machine_pid;
	u32 tid;
	u64 cookie;		/* of a number that many tasks go by, or 0 */
};

/* In the place of a machine, for losses: the thread is a CPU. */
#define LOSSES			((u32)-3)
#define ANY_CPU			((u32)-2)

/* An event of the index: a deferred record, the end of a life, or a loss. */
struct entry {
	struct rb_node node;		/* in &indexed_thread.entries, until its turn has come */
	u64 time;
	u64 cookie;			/* of the record, otherwise 0 */
	const union perf_event *event;	/* the record, in the file as it lies there, or a copy */
	u32 cpu;			/* where it was written, or -1 */
	u16 nr;				/* entries of its callchain */
	bool copied : 1;		/* is @event a copy? */
	bool used : 1;			/* is it stitched to a sample, or its duplicate is? */
	bool exec : 1;			/* does it end a program, not a thread? */
};

/* What is known of a thread. */
struct indexed_thread {
	struct key key;
	struct indexed_thread *next;	/* in the same chain */
	struct rb_root_cached entries;	/* events whose turn has not come, by time */
	struct entry *newest;		/* of these, the last one or NULL */
	struct entry *last;		/* the last record that had its turn, or NULL */
	struct list_head kept;		/* in &deferred_callchains.kept, if there is @last */
};

/* The stage of a session; from @bytes on, what begins anew with other data. */
struct deferred_callchains {
	u64 factors[2];			/* of the hash, random: no file can be made for them */
	struct ip_callchain *chain;	/* the callchain of the sample at hand */
	size_t max_chain;		/* entries that fit in it */

	size_t bytes;			/* what the index takes */
	struct indexed_thread **chains;	/* of the threads, by a hash */
	unsigned int chain_bits;	/* log2 of their number, without that of neighbours */
	size_t nr_threads;
	struct list_head kept;		/* threads with a last record, the oldest first */
	size_t kept_bytes;

	bool started;			/* the first event was read */
	bool streamed;			/* records may come that the scan does not find */
	bool barrier;			/* what comes next in the scan cannot be parsed yet */
	bool all;			/* everything was indexed */
	const char *map, *scan, *end;	/* the file, how far it is scanned, how far it can be */
	u64 newest, newest_before;	/* times of the newest entry: now, at the round's start */
	u64 certain;			/* no entry up to this time is still to come */

	size_t queued_bytes;		/* what events in the ordered queue take */
	u64 max_wait;			/* how long the queue may be held, or 0 for any time */
	u64 idle;			/* the time since the last event of a live session */
	union perf_event *held;		/* the event that holds the queue, or NULL */
	struct perf_sample held_sample;	/* it, parsed: twice would swap some fields twice */

	struct deferred_callchain_stats stats;
};

/*
 * What samples and records look like.  Nothing here trusts a count or a size before it
 * is checked.
 */

/**
 * ip_callchain__marker_nr - how many entries at the end are no frames
 * @chain: callchain of a sample, may be NULL
 *
 * Return: 2 for a deferred callchain, 1 if its cookie is missing, otherwise 0.
 */
int ip_callchain__marker_nr(const struct ip_callchain *chain)
{
	u64 nr = chain ? chain->nr : 0;

	if (nr >= 2 && chain->ips[nr - 2] == PERF_CONTEXT_USER_DEFERRED)
		return 2;
	return nr >= 1 && chain->ips[nr - 1] == PERF_CONTEXT_USER_DEFERRED;
}

/* Of a callchain that ends in a marker; zero is never a valid cookie. */
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
 * evlist__deferring_evsel - an event to show deferred records for
 * @evlist: the events of a session
 *
 * The event that a record is written for need not have callchains itself.
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

/* The sample_id trailer is that of the event that a record was written for. */
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

/**
 * deferred_sample__fprintf - mark a deferred sample in a raw dump
 * @sample: the sample
 * @fp: where to print to
 *
 * Return: the number of characters printed.
 */
size_t deferred_sample__fprintf(const struct perf_sample *sample, FILE *fp)
{
	if (!sample->deferred_raw)
		return 0;
	return fprintf(fp, "...... (deferred), cookie: %#llx\n",
		       (unsigned long long)sample->deferred_cookie);
}

/**
 * deferred_sample__mark_hits - mark the DSOs that a stitched user half hits
 * @sample: any sample; nothing is done for one that was not deferred
 * @thread: its thread
 *
 * So that their build ids are kept: a program that is always sampled in the kernel shows
 * in no other place.
 */
void deferred_sample__mark_hits(const struct perf_sample *sample, struct thread *thread)
{
	const struct ip_callchain *chain = sample->callchain;
	struct addr_location al;
	bool user = false;

	for (u64 i = 0; sample->deferred_raw && i < chain->nr; i++) {
		if (chain->ips[i] >= PERF_CONTEXT_MAX) {
			user = chain->ips[i] == PERF_CONTEXT_USER;
			continue;
		}
		addr_location__init(&al);
		if (user && thread__find_map(thread, PERF_RECORD_MISC_USER, chain->ips[i], &al))
			dso__set_hit(map__dso(al.map));
		addr_location__exit(&al);
	}
}

/* The index. */

/**
 * deferred_callchains__new - make a stage
 *
 * Return: the stage, or NULL if there is no memory.
 */
struct deferred_callchains *deferred_callchains__new(void)
{
	struct deferred_callchains *dc = zalloc(sizeof(*dc));

	if (!dc)
		return NULL;

	if (getrandom(dc->factors, sizeof(dc->factors), GRND_NONBLOCK) != sizeof(dc->factors)) {
		dc->factors[0] = (u64)time(NULL) << 32 ^ getpid();
		dc->factors[1] = dc->factors[0] * 0x9e3779b97f4a7c15ULL;
	}
	dc->factors[0] |= 1;
	dc->factors[1] |= 1;
	INIT_LIST_HEAD(&dc->kept);
	return dc;
}

/*
 * Where the chain of a thread begins.  Threads with neighbouring numbers, which are often
 * seen one after the other, begin side by side.  With very many threads, the time of a
 * look-up is that of its cache misses: here of the thread, and sometimes one more.
 */
static struct indexed_thread **thread_chain(const struct deferred_callchains *dc,
					    const struct key *key)
{
	u64 near = (key->tid ^ key->cookie) % NEIGHBOURS;
	u64 far = (key->tid / NEIGHBOURS | (u64)key->machine_pid << 32) * dc->factors[0] +
		  key->cookie * dc->factors[1];

	/* multiplicative hashing: the upper bits are the good ones */
	return &dc->chains[far >> (64 - dc->chain_bits) << NEIGHBOUR_BITS | near];
}

static struct indexed_thread *thread_find(const struct deferred_callchains *dc,
					  const struct key *key)
{
	struct indexed_thread *thread = dc->chains ? *thread_chain(dc, key) : NULL;

	while (thread && memcmp(&thread->key, key, sizeof(*key)))
		thread = thread->next;
	return thread;
}

static size_t nr_chains(const struct deferred_callchains *dc)
{
	return dc->chains ? NEIGHBOURS << dc->chain_bits : 0;
}

static int grow_chains(struct deferred_callchains *dc)
{
	struct deferred_callchains more = *dc;

	more.chain_bits += 2;
	more.chains = calloc(NEIGHBOURS << more.chain_bits, sizeof(*more.chains));
	if (!more.chains)
		return -ENOMEM;

	for (size_t i = 0; i < nr_chains(dc); i++) {
		while (dc->chains[i]) {
			struct indexed_thread *thread = dc->chains[i];
			struct indexed_thread **chain = thread_chain(&more, &thread->key);

			dc->chains[i] = thread->next;
			thread->next = *chain;
			*chain = thread;
		}
	}
	free(dc->chains);
	dc->chains = more.chains;
	dc->chain_bits = more.chain_bits;
	return 0;
}

static struct indexed_thread *thread_findnew(struct deferred_callchains *dc,
					     const struct key *key)
{
	struct indexed_thread *thread = thread_find(dc, key), **chain;

	if (thread)
		return thread;
	if (dc->nr_threads >= nr_chains(dc) && grow_chains(dc))
		return NULL;

	thread = zalloc(sizeof(*thread));
	if (!thread)
		return NULL;

	chain = thread_chain(dc, key);
	thread->key = *key;
	thread->next = *chain;
	*chain = thread;
	dc->nr_threads++;
	dc->bytes += sizeof(*thread) + sizeof(*chain);
	return thread;
}

/* Forget a thread of which there is nothing to know. */
static void thread_put(struct deferred_callchains *dc, struct indexed_thread *thread)
{
	struct indexed_thread **chain = thread_chain(dc, &thread->key);

	if (thread->last || !RB_EMPTY_ROOT(&thread->entries.rb_root))
		return;

	while (*chain != thread)
		chain = &(*chain)->next;
	*chain = thread->next;
	free(thread);
	dc->nr_threads--;
	dc->bytes -= sizeof(*thread) + sizeof(*chain);
}

static size_t entry_size(const struct entry *entry)
{
	return sizeof(*entry) + (entry->copied ? entry->event->header.size : 0);
}

static void entry_free(struct deferred_callchains *dc, struct entry *entry)
{
	dc->bytes -= entry_size(entry);
	if (entry->copied)
		free((void *)entry->event);
	free(entry);
}

/* A thread's last record is written before it ends. */
static bool entry_before(struct rb_node *a, const struct rb_node *b)
{
	const struct entry *x = rb_entry(a, struct entry, node);
	const struct entry *y = rb_entry(b, struct entry, node);

	return x->time < y->time || (x->time == y->time && x->cookie && !y->cookie);
}

/* Events of a thread are mostly read as they were written: then there is nothing to look for. */
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

static void thread_remove(struct indexed_thread *thread, struct entry *entry)
{
	if (thread->newest == entry)
		thread->newest = rb_entry_safe(rb_prev(&entry->node), struct entry, node);
	rb_erase_cached(&entry->node, &thread->entries);
}

static struct entry *entry_next(struct entry *entry)
{
	return rb_entry_safe(rb_next(&entry->node), struct entry, node);
}

/* The first entry at or after @time: in the order of time the first of all. */
static struct entry *thread_first_since(struct indexed_thread *thread, u64 time)
{
	struct entry *first = rb_entry_safe(rb_first_cached(&thread->entries), struct entry, node);
	struct rb_node *node = thread->entries.rb_root.rb_node;

	if (!first || first->time >= time)
		return first;

	for (first = NULL; node;) {
		struct entry *entry = rb_entry(node, struct entry, node);

		if (entry->time >= time)
			first = entry;
		node = entry->time >= time ? node->rb_left : node->rb_right;
	}
	return first;
}

static struct entry *thread_find_entry(struct indexed_thread *thread, u64 time, u64 cookie)
{
	struct entry *entry = thread_first_since(thread, time);

	while (entry && entry->time == time && entry->cookie != cookie)
		entry = entry_next(entry);
	return entry && entry->time == time ? entry : NULL;
}

/* No sample to come can be of the last record of a thread. */
static void thread_forget_last(struct deferred_callchains *dc, struct indexed_thread *thread)
{
	struct entry *last = thread->last;

	if (!last)
		return;

	dc->kept_bytes -= entry_size(last) + sizeof(*thread);
	list_del(&thread->kept);
	thread->last = NULL;
	entry_free(dc, last);
}

static void forget_oldest_last(struct deferred_callchains *dc)
{
	struct indexed_thread *thread = list_first_entry(&dc->kept, struct indexed_thread, kept);

	thread_forget_last(dc, thread);
	thread_put(dc, thread);
}

/*
 * May free other threads, but not this one.  A record is an orphan until a sample is of it
 * or of its duplicate.
 */
static void thread_keep_last(struct deferred_callchains *dc, struct indexed_thread *thread,
			     struct entry *record)
{
	const struct entry *last = thread->last;

	if (last && last->cookie == record->cookie) {
		dc->stats.duplicates++;
		dc->stats.orphans -= record->used && !last->used;
		record->used |= last->used;
	} else {
		dc->stats.orphans += !record->used;
	}
	thread_forget_last(dc, thread);
	thread->last = record;
	list_add_tail(&thread->kept, &dc->kept);
	dc->kept_bytes += entry_size(record) + sizeof(*thread);
	while (dc->kept_bytes > MAX_KEPT_BYTES && dc->kept.next != &thread->kept)
		forget_oldest_last(dc);
}

static void thread_clear(struct deferred_callchains *dc, struct indexed_thread *thread)
{
	struct entry *entry, *next;

	rbtree_postorder_for_each_entry_safe(entry, next, &thread->entries.rb_root, node)
		entry_free(dc, entry);
	thread->entries = RB_ROOT_CACHED;
	thread_forget_last(dc, thread);
}

static void index_clear(struct deferred_callchains *dc)
{
	for (size_t i = 0; i < nr_chains(dc); i++) {
		while (dc->chains[i]) {
			thread_clear(dc, dc->chains[i]);
			thread_put(dc, dc->chains[i]);
		}
	}
	zfree(&dc->chains);
}

/**
 * deferred_callchains__delete - free a stage
 * @dc: the stage, may be NULL
 */
void deferred_callchains__delete(struct deferred_callchains *dc)
{
	if (!dc)
		return;

	index_clear(dc);
	free(dc->chain);
	free(dc);
}

static bool is_time(u64 time)
{
	return time && time != -1ULL;
}

/*
 * Which machine an event comes from: a guest's thread may have the number of a host's.
 * This does not ask for the struct machine, which may not exist yet.
 */
static u32 machine_pid(const struct perf_sample *sample)
{
	if (sample->machine_pid)
		return sample->machine_pid;
	if (sample->cpumode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    sample->cpumode == PERF_RECORD_MISC_GUEST_USER)
		return sample->pid;
	return HOST_KERNEL_ID;
}

/* Tasks of PID namespaces beside perf's all go by the same number. */
static bool is_one_thread(u32 tid)
{
	return tid && tid != (u32)-1;
}

static struct key make_key(const struct perf_sample *sample, u32 tid, u64 cookie)
{
	return (struct key){
		.machine_pid = machine_pid(sample),
		.tid = tid,
		.cookie = is_one_thread(tid) ? 0 : cookie,
	};
}

static struct key loss_key(u32 cpu)
{
	return (struct key){ .machine_pid = LOSSES, .tid = cpu };
}

/*
 * Which thread or program an event ends, or 0.  A fork ends the life of a former thread
 * with the number.  One may be synthesized for a thread that was there before, whatever
 * happened to it since.
 */
static u32 ended_tid(const union perf_event *event)
{
	u32 tid;

	switch (event->header.type) {
	case PERF_RECORD_FORK:
		if (event->header.misc & PERF_RECORD_MISC_FORK_EXEC)
			return 0;
		fallthrough;
	case PERF_RECORD_EXIT:
		if (event->header.size < sizeof(event->fork))
			return 0;
		tid = event->fork.tid;
		break;
	case PERF_RECORD_COMM:
		if (!(event->header.misc & PERF_RECORD_MISC_COMM_EXEC) ||
		    event->header.size < offsetof(struct perf_record_comm, comm))
			return 0;
		tid = event->comm.tid;
		break;
	default:
		return 0;
	}
	return is_one_thread(tid) ? tid : 0;
}

static int index_add(struct deferred_callchains *dc, const struct key *key,
		     const struct entry *what)
{
	struct indexed_thread *thread = thread_findnew(dc, key);
	struct entry *entry = thread ? memdup(what, sizeof(*what)) : NULL;

	if (entry && what->copied) {
		entry->event = memdup(what->event, what->event->header.size);
		if (!entry->event)
			zfree(&entry);
	}
	if (!entry) {
		if (thread)
			thread_put(dc, thread);
		return -ENOMEM;
	}
	dc->bytes += entry_size(entry);
	dc->newest = max(dc->newest, entry->time);
	thread_add(thread, entry);
	return 0;
}

/* A buffer that was full says so in front of the next event that fits. */
static int index_add_loss(struct deferred_callchains *dc, const struct entry *loss)
{
	const struct key cpu = loss_key(loss->cpu), any = loss_key(ANY_CPU);

	return index_add(dc, &cpu, loss) ?: index_add(dc, &any, loss);
}

/*
 * @event is in this machine's byte order, and so is @place, unless that is in a foreign
 * file and was not read yet.  @copy if it will not stay there.
 */
static int index_event(struct perf_session *session, union perf_event *event,
		       const union perf_event *place, bool copy)
{
	struct entry entry = { .event = place };
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
		entry.nr = chain->nr;
		entry.copied = copy;
	} else if (!evlist__deferring_evsel(evlist) ||
		   (!tid && event->header.type != PERF_RECORD_LOST)) {
		/* what ends where nothing is deferred does not matter */
		return 0;
	}
	if (evlist__parse_sample(evlist, event, &sample))
		return 0;

	entry.exec = event->header.type == PERF_RECORD_COMM;
	entry.time = sample.time;
	entry.cpu = sample.cpu;
	if (event->header.type == PERF_RECORD_LOST)
		return index_add_loss(session->deferred, &entry);
	key = make_key(&sample, tid ?: sample.tid, entry.cookie);
	return index_add(session->deferred, &key, &entry);
}

/*
 * When a flush round ends, all events were read that are as old as the newest one of the
 * round before.
 */
static void index_end_round(struct deferred_callchains *dc)
{
	dc->certain = dc->newest_before;
	dc->newest_before = dc->newest;
}

/* The scan. */

/* Types are small numbers.  The reader swaps an event in its place when it gets there. */
static bool is_foreign(const union perf_event *event)
{
	return event->header.type > 0xffff;
}

static int scan_foreign(struct perf_session *session, const union perf_event *event,
			const struct perf_event_header *header)
{
	union perf_event *swapped = memdup(event, header->size);
	int ret;

	if (!swapped)
		return -ENOMEM;

	swapped->header = *header;
	event_swap(swapped, evlist__sample_id_all(session->evlist));
	ret = index_event(session, swapped, event, /*copy=*/false);
	free(swapped);
	return ret;
}

/* Bytes that are no events, but trace data of hardware. */
static u64 auxtrace_size(const union perf_event *event, u16 event_size)
{
	if (event_size < sizeof(event->auxtrace))
		return 0;
	return is_foreign(event) ? bswap_64(event->auxtrace.size) : event->auxtrace.size;
}

/* @reading is the event that the reader is about to process, or NULL. */
static int scan_event(struct perf_session *session, const union perf_event *reading)
{
	struct deferred_callchains *dc = session->deferred;
	union perf_event *event = (void *)dc->scan;
	struct perf_event_header header = { .size = 0 };
	size_t left = dc->end - dc->scan;

	if (left >= sizeof(header))
		header = event->header;
	if (session->header.needs_swap && header.type > 0xffff)
		perf_event_header__bswap(&header);
	if (header.size < sizeof(header) || header.size > left ||
	    header.type >= PERF_RECORD_HEADER_MAX) {
		/* here the reader ends, too */
		dc->scan = dc->end;
		return 0;
	}

	switch (header.type) {
	case PERF_RECORD_CALLCHAIN_DEFERRED:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_LOST:
		dc->scan += header.size;
		return is_foreign(event) ? scan_foreign(session, event, &header) :
					   index_event(session, event, event, /*copy=*/false);
	case PERF_RECORD_FINISHED_ROUND:
		index_end_round(dc);
		break;
	case PERF_RECORD_AUXTRACE:
		dc->scan += min_t(u64, auxtrace_size(event, header.size), left - header.size);
		break;
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_ID_INDEX:
		/* says how to parse what follows, once it is processed */
		dc->barrier = !reading || event >= reading;
		if (!reading || event > reading)
			return 0;
		break;
	case PERF_RECORD_COMPRESSED:
	case PERF_RECORD_HEADER_TRACING_DATA:
		/* what is in there or behind it only the reader finds out */
		dc->streamed = true;
		dc->end = dc->scan;
		return 0;
	default:
		break;
	}
	dc->scan += header.size;
	return 0;
}

static int scan_file(struct perf_session *session, const union perf_event *reading)
{
	struct deferred_callchains *dc = session->deferred;
	const char *from = dc->scan;
	int ret = 0;

	dc->barrier = false;
	while (!ret && !dc->barrier && dc->scan < dc->end &&
	       (size_t)(dc->scan - from) < SCAN_STEP)
		ret = scan_event(session, reading);
	dc->all = dc->scan == dc->end && !dc->streamed;
	return ret;
}

/**
 * deferred_callchains__start - a session begins to read its data
 * @session: the session; it may have read other data before
 */
void deferred_callchains__start(struct perf_session *session)
{
	const size_t kept = offsetof(struct deferred_callchains, bytes);
	struct deferred_callchains *dc = session->deferred;

	index_clear(dc);
	memset((void *)dc + kept, 0, sizeof(*dc) - kept);
	INIT_LIST_HEAD(&dc->kept);
	if (session->data && perf_data__is_pipe(session->data))
		dc->max_wait = MAX_PIPE_WAIT;
}

/* A file that is mapped as a whole, in which callchains are deferred, is scanned. */
static void start_scan(struct perf_session *session)
{
	struct deferred_callchains *dc = session->deferred;
	const struct perf_header *header = &session->header;

	dc->started = true;
	if (!session->one_mmap || !evlist__deferring_evsel(session->evlist))
		return;

	dc->map = session->one_mmap_addr;
	dc->scan = dc->map + (header->data_offset - session->one_mmap_offset);
	dc->end = dc->scan + header->data_size;
}

static bool is_between(const void *event, const char *start, const char *end)
{
	return (const char *)event >= start && (const char *)event < end;
}

/* What is queued is freed when its turn has come. */
static size_t queued_size(const struct perf_session *session, const union perf_event *event)
{
	return sizeof(struct ordered_event) +
	       (session->ordered_events.copy_on_queue ? event->header.size : 0);
}

/* It never has its turn, when other events are dumped. */
static void dump_short_record(struct evlist *evlist, union perf_event *event)
{
	if (!dump_trace)
		return;

	trace_event(event);
	printf(" PERF_RECORD_CALLCHAIN_DEFERRED");
	deferred_record__fprintf(evlist, event, NULL, stdout);
}

/**
 * deferred_callchains__read - an event was read; its turn comes later
 * @session: the session
 * @event: any event, in this machine's byte order
 *
 * Return: 0, a positive number if the event must be skipped, or a negative error code.
 */
int deferred_callchains__read(struct perf_session *session, union perf_event *event)
{
	struct deferred_callchains *dc = session->deferred;

	if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED &&
	    event->header.size < record_fixed_size(session->evlist, event)) {
		dump_short_record(session->evlist, event);
		dc->stats.records++;
		dc->stats.malformed++;
		return 1;
	}
	if (!session->tool->merge_deferred_callchains)
		return 0;
	if (!dc->started)
		start_scan(session);
	if (is_between(event, dc->map, dc->scan))
		return 0;
	if (is_between(event, dc->scan, dc->end))
		return scan_file(session, event);

	dc->idle = 0;
	switch (event->header.type) {
	case PERF_RECORD_FINISHED_ROUND:
		index_end_round(dc);
		return 0;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_LOST:
		dc->queued_bytes += queued_size(session, event);
		return index_event(session, event, event, session->ordered_events.copy_on_queue);
	default:
		if (event->header.type < PERF_RECORD_USER_TYPE_START)
			dc->queued_bytes += queued_size(session, event);
		return 0;
	}
}

/**
 * deferred_callchains__queue_time - when an event is to have its turn
 * @session: the session
 * @event: an event that was read
 * @time: its time; without one, 0 or -1, it is delivered when it is read
 *
 * What cannot be scanned ahead waits in the queue, with or without a time.
 *
 * Return: the time to queue the event with.
 */
u64 deferred_callchains__queue_time(struct perf_session *session, const union perf_event *event,
				    u64 time)
{
	const struct deferred_callchains *dc = session->deferred;

	if (is_time(time) || is_between(event, dc->map, dc->scan) ||
	    !session->tool->merge_deferred_callchains || !evlist__deferring_evsel(session->evlist))
		return time;
	return session->ordered_events.max_timestamp ?: 1;
}

/**
 * deferred_callchains__set_live - a live session goes on
 * @dc: the stage
 * @idle: nanoseconds since the last event was read
 */
void deferred_callchains__set_live(struct deferred_callchains *dc, u64 idle)
{
	dc->max_wait = MAX_LIVE_WAIT;
	dc->certain = -1ULL;	/* events come about as they are written */
	dc->idle = idle;
}

/* The turn of a sample. */

/* What the index says of a sample. */
struct verdict {
	struct entry *record;			/* its record, or NULL */
	enum deferred_incomplete reason;	/* why there is none */
	bool certain;				/* nothing that is still to be read changes that */
};

static bool was_lost_on(struct deferred_callchains *dc, u32 cpu, u64 since, u64 until)
{
	const struct key key = loss_key(cpu);
	struct indexed_thread *losses = thread_find(dc, &key);
	struct entry *loss = losses ? thread_first_since(losses, since) : NULL;

	return loss && loss->time <= until;
}

/* The record may have been written where either of two events of its thread was. */
static enum deferred_incomplete why_missing(struct deferred_callchains *dc,
					    const struct perf_sample *sample,
					    const struct entry *next)
{
	const u64 since = sample->time, until = next->time;
	const u32 unknown = -1;
	bool lost;

	if (sample->cpu == unknown || next->cpu == unknown)
		lost = was_lost_on(dc, ANY_CPU, since, until);
	else
		lost = was_lost_on(dc, sample->cpu, since, until) ||
		       was_lost_on(dc, next->cpu, since, until) ||
		       was_lost_on(dc, unknown, since, until);
	if (lost)
		return DEFERRED_INCOMPLETE__LOST;
	return next->cookie || next->exec ? DEFERRED_INCOMPLETE__NO_RECORD :
					    DEFERRED_INCOMPLETE__EXIT;
}

/*
 * A thread has one entry context after the other.  If a record of another one lies between
 * a sample and the record with its cookie, then that record is of a later entry context
 * for which the cookie came up again, and the one of the sample was lost.  An entry context
 * with samples before this one does not lie between.  As the clocks of two CPUs may differ,
 * what is near in time counts only on one CPU; so soon, a cookie does not come up again.
 */
static bool tells_apart(const struct entry *other, const struct perf_sample *sample)
{
	if (other->used || other->time <= sample->time)
		return false;
	return other->time - sample->time > MAX_CLOCK_SKEW ||
	       (other->cpu == sample->cpu && other->cpu != (u32)-1);
}

/* The entry that decides: the record, or what shows that there is none. */
static struct entry *deciding_entry(struct indexed_thread *thread, u64 cookie,
				    const struct perf_sample *sample)
{
	struct entry *entry = thread_first_since(thread, is_time(sample->time) ? sample->time : 0);

	for (int i = 0; entry && i < MAX_SKEWED; i++) {
		if ((!entry->cookie && is_time(sample->time)) || entry->cookie == cookie ||
		    tells_apart(entry, sample))
			return entry;
		entry = entry_next(entry);
	}
	return NULL;
}

static struct verdict look_up(struct deferred_callchains *dc, struct indexed_thread *thread,
			      u64 cookie, const struct perf_sample *sample)
{
	struct verdict verdict = { .reason = DEFERRED_INCOMPLETE__END, .certain = dc->all };
	struct entry *entry = thread ? deciding_entry(thread, cookie, sample) : NULL;

	if (entry)
		verdict.certain |= entry->time <= dc->certain;
	if (entry && entry->cookie == cookie) {
		verdict.record = entry;
	} else if (thread && thread->last && thread->last->cookie == cookie) {
		verdict.record = thread->last;
		verdict.certain = true;
	} else {
		entry = entry ?: thread ? thread_first_since(thread, sample->time) : NULL;
		if (entry)
			verdict.reason = why_missing(dc, sample, entry);
	}
	return verdict;
}

/* In time order, no sample of an entry context comes after one of another. */
static void thread_go_on(struct deferred_callchains *dc, struct indexed_thread *thread,
			 u64 cookie, u64 time)
{
	const struct entry *last = thread->last;

	if (last && last->cookie != cookie && last->time < time) {
		thread_forget_last(dc, thread);
		thread_put(dc, thread);
	}
}

/*
 * In place, the frames of both halves never exceed what the event asked for.  An event that
 * did not ask gets the limit of the system it was recorded on; that is the default, unless
 * the record proves that it was higher: then nobody knows how much, and all is shown.
 */
static u64 user_room(u64 max_stack, u64 kernel_frames, u64 user_frames)
{
	if (!max_stack && user_frames > PERF_MAX_STACK_DEPTH)
		return user_frames;
	if (!max_stack)
		max_stack = PERF_MAX_STACK_DEPTH;
	return max_stack > kernel_frames ? max_stack - kernel_frames : 0;
}

static void append_user(struct ip_callchain *chain, u64 max_stack, const u64 *ips, u64 nr,
			bool swap)
{
	u64 kernel = ip_callchain__nr_frames(chain->ips, chain->nr);

	if (nr && (swap ? bswap_64(ips[0]) : ips[0]) == PERF_CONTEXT_USER) {
		ips++;
		nr--;
	}
	nr = min(nr, user_room(max_stack, kernel, nr));
	if (!nr)
		return;

	chain->ips[chain->nr++] = PERF_CONTEXT_USER;
	for (u64 i = 0; i < nr; i++)
		chain->ips[chain->nr++] = swap ? bswap_64(ips[i]) : ips[i];
}

/* Put @record, or without one what is known of the user half, where marker and cookie are. */
static int stitch(struct perf_session *session, struct perf_sample *sample,
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
			    (const u64 *)record->event->callchain_deferred.ips, record->nr,
			    is_foreign(record->event));
	else if (!sample->deferred_unmerged && sample->cpumode == PERF_RECORD_MISC_USER &&
		 attr->sample_type & PERF_SAMPLE_IP)
		/* in user space the innermost frame is known: it is where the sample hit */
		append_user(chain, attr->sample_max_stack, &sample->ip, 1, /*swap=*/false);

	sample->callchain = chain;
	sample->deferred_raw = raw;
	sample->deferred_cookie = chain_cookie(raw);
	sample->deferred_callchain = !record;
	return 0;
}

static bool is_queued(const struct perf_session *session, const struct perf_sample *sample)
{
	const struct deferred_callchains *dc = session->deferred;

	return session->tool->ordered_events &&
	       (!dc->map || dc->streamed || is_time(sample->time));
}

/*
 * The record may still come.  Index more of the file, or hold the queue; or else say why
 * neither can be done.
 *
 * Return: 0 if there is more in the index, ORDERED_EVENTS__HOLD, 1 with a reason, or an error.
 */
static int wait_for_record(struct perf_session *session, const struct perf_sample *sample,
			   enum deferred_incomplete *reason)
{
	struct deferred_callchains *dc = session->deferred;
	const struct ordered_events *oe = &session->ordered_events;
	bool scanning = dc->scan < dc->end && !dc->barrier;
	u64 age = is_time(sample->time) ? oe->max_timestamp + dc->idle - sample->time : 0;

	if (scanning && dc->bytes <= deferred_callchain_limit())
		return scan_file(session, NULL);

	if (!scanning && oe->next_flush == ULLONG_MAX)	/* nothing more will be read */
		*reason = DEFERRED_INCOMPLETE__END;
	else if (scanning || dc->bytes + dc->queued_bytes > deferred_callchain_limit() ||
		 oe->flush_type == OE_FLUSH__HALF)
		*reason = DEFERRED_INCOMPLETE__LIMIT;
	else if (!is_queued(session, sample))
		*reason = DEFERRED_INCOMPLETE__UNORDERED;
	else if (dc->max_wait && age > dc->max_wait)
		*reason = DEFERRED_INCOMPLETE__EXPIRED;
	else
		return ORDERED_EVENTS__HOLD;
	return 1;
}

/* What is known of a sample's record, now or when it has come; or the queue must be held. */
static int find_record(struct perf_session *session, const struct perf_sample *sample,
		       u64 cookie, struct verdict *verdict)
{
	struct deferred_callchains *dc = session->deferred;
	struct key key = make_key(sample, sample->tid, cookie);
	enum deferred_incomplete reason = DEFERRED_INCOMPLETE__END;
	struct indexed_thread *thread;
	int ret;

	do {
		thread = thread_find(dc, &key);
		*verdict = look_up(dc, thread, cookie, sample);
		ret = verdict->certain ? 1 : wait_for_record(session, sample, &reason);
		if (ret < 0)
			return ret;
	} while (!ret);

	/* what is known, though not certain, is still the better reason */
	if (verdict->reason == DEFERRED_INCOMPLETE__END && !verdict->certain)
		verdict->reason = reason;
	if (verdict->record && !verdict->record->used) {
		dc->stats.orphans -= verdict->record == thread->last;
		verdict->record->used = true;
	}
	if (thread && session->tool->ordered_events)
		thread_go_on(dc, thread, cookie, sample->time);
	return 0;
}

static int sample_turn(struct perf_session *session, struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	u64 cookie = chain_cookie(sample->callchain);
	struct verdict verdict = { .reason = DEFERRED_INCOMPLETE__COOKIE };
	bool merge = session->tool->merge_deferred_callchains;
	int ret = merge && cookie ? find_record(session, sample, cookie, &verdict) : 0;

	if (ret)
		return ret;

	dc->stats.samples++;
	if (!merge)
		sample->deferred_unmerged = true;
	else if (verdict.record)
		dc->stats.stitched++;
	else
		dc->stats.incomplete[verdict.reason]++;
	return stitch(session, sample, verdict.record);
}

static int record_turn(struct perf_session *session, union perf_event *event,
		       const struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	u64 cookie = event->callchain_deferred.cookie;
	struct key key = make_key(sample, sample->tid, cookie);
	struct indexed_thread *thread;
	struct entry *record;

	dc->stats.records++;
	if (!session->tool->merge_deferred_callchains)
		return 0;
	thread = thread_find(dc, &key);
	record = thread ? thread_find_entry(thread, sample->time, cookie) : NULL;
	if (record && cookie) {
		thread_remove(thread, record);
		thread_keep_last(dc, thread, record);
	} else if (!deferred_record__callchain(session->evlist, event)) {
		dc->stats.malformed++;
	}
	return 0;
}

/* The end of a life or a loss: it is not needed any more, nor is what was before it. */
static void end_turn(struct deferred_callchains *dc, struct key key, u64 time)
{
	struct indexed_thread *thread = thread_find(dc, &key);
	struct entry *end = thread ? thread_find_entry(thread, time, 0) : NULL;

	if (!thread)
		return;
	if (end) {
		thread_remove(thread, end);
		entry_free(dc, end);
	}
	thread_forget_last(dc, thread);
	thread_put(dc, thread);
}

static int parse_once(struct perf_session *session, union perf_event *event,
		      struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	int ret;

	if (event == dc->held) {
		*sample = dc->held_sample;
		return 0;
	}
	ret = evlist__parse_sample(session->evlist, event, sample);
	if (ret)
		pr_err("Can't parse sample, err = %d\n", ret);
	return ret;
}

static int take_turn(struct perf_session *session, union perf_event *event,
		     struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		return ip_callchain__marker_nr(sample->callchain) ?
		       sample_turn(session, sample) : 0;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return record_turn(session, event, sample);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
		if (session->tool->ordered_events)
			end_turn(dc, make_key(sample, ended_tid(event), 0), sample->time);
		return 0;
	case PERF_RECORD_LOST:
		end_turn(dc, loss_key(sample->cpu), sample->time);
		end_turn(dc, loss_key(ANY_CPU), sample->time);
		return 0;
	default:
		return 0;
	}
}

/**
 * deferred_callchains__turn - the turn of an event has come
 * @session: the session
 * @event: any event
 * @sample: gets @event, parsed; with its whole callchain, if that was deferred, until the
 *	turn of the next sample
 *
 * A sample whose record never comes has no user half; it is marked and counted.
 *
 * Return: 0, ORDERED_EVENTS__HOLD if the event must have its turn again when more has been
 * read, or a negative error code.
 */
int deferred_callchains__turn(struct perf_session *session, union perf_event *event,
			      struct perf_sample *sample)
{
	struct deferred_callchains *dc = session->deferred;
	int ret = parse_once(session, event, sample);

	if (ret)
		return ret;

	ret = take_turn(session, event, sample);
	if (ret == ORDERED_EVENTS__HOLD) {
		dc->held = event;
		dc->held_sample = *sample;
		return ret;
	}
	if (event == dc->held)
		dc->held = NULL;
	dc->queued_bytes -= min(dc->queued_bytes, queued_size(session, event));
	return ret;
}

/* What is told to the user. */

/**
 * deferred_callchains__stats - what happened to deferred samples so far
 * @dc: the stage
 *
 * Return: the counts.
 */
const struct deferred_callchain_stats *deferred_callchains__stats(struct deferred_callchains *dc)
{
	return &dc->stats;
}

static const struct {
	const char *label;
	const char *text;
	const char *advice;
} reasons[DEFERRED_INCOMPLETE__MAX] = {
	[DEFERRED_INCOMPLETE__NO_RECORD] = {
		"no record", "have no record in the data although their thread went on",
		"Records may be lost when the buffer is full: try a larger 'perf record -m'."
	},
	[DEFERRED_INCOMPLETE__LOST] = {
		"lost record", "lost it as the buffer was full",
		"Try a larger 'perf record -m', or a lower frequency."
	},
	[DEFERRED_INCOMPLETE__END] = {
		"end of data", "were still waiting for it when the data ended",
		"Their threads did not return to user space: record for longer.  With\n"
		"--switch-output, their records may be in the next file."
	},
	[DEFERRED_INCOMPLETE__EXIT] = {
		"thread exit", "have none when their thread exits",
		"Records may be lost when the buffer is full: try a larger 'perf record -m'."
	},
	[DEFERRED_INCOMPLETE__EXPIRED] = {
		"expired", "waited too long for it",
		"Read a file instead of live data to have them wait."
	},
	[DEFERRED_INCOMPLETE__LIMIT] = {
		"limit", "did not fit the memory limit",
		"Try a larger 'perf config call-graph.defer-limit', or a larger\n"
		"'perf config report.queue-size' if that is set."
	},
	[DEFERRED_INCOMPLETE__UNORDERED] = {
		"not at hand", "came before it, in data without timestamps",
		"Record with timestamps, or read a file that is not compressed."
	},
	[DEFERRED_INCOMPLETE__COOKIE] = {
		"bad cookie", "carry a cookie of zero",
		"The data is damaged."
	},
};

/**
 * deferred_callchain_stats__incomplete - count samples without their user half
 * @stats: the counts of a session
 *
 * Return: their number, for whatever reason.
 */
u64 deferred_callchain_stats__incomplete(const struct deferred_callchain_stats *stats)
{
	u64 sum = 0;

	for (int i = 0; i < DEFERRED_INCOMPLETE__MAX; i++)
		sum += stats->incomplete[i];
	return sum;
}

static size_t stats_row(FILE *fp, const char *label, u64 value, bool always)
{
	if (!value && !always)
		return 0;
	return fprintf(fp, "%20s: %10llu\n", label, (unsigned long long)value);
}

/**
 * deferred_callchain_stats__fprintf - print the counts of a session
 * @stats: the counts
 * @fp: where to print to
 *
 * Prints nothing for data without deferred callchains.
 *
 * Return: the number of characters printed.
 */
size_t deferred_callchain_stats__fprintf(const struct deferred_callchain_stats *stats, FILE *fp)
{
	size_t printed;

	if (!stats->samples && !stats->records)
		return 0;

	printed = fprintf(fp, "\nDeferred callchains:\n");
	printed += stats_row(fp, "deferred samples", stats->samples, true);
	printed += stats_row(fp, "stitched", stats->stitched, true);
	printed += stats_row(fp, "incomplete", deferred_callchain_stats__incomplete(stats), true);
	for (int i = 0; i < DEFERRED_INCOMPLETE__MAX; i++)
		printed += stats_row(fp, reasons[i].label, stats->incomplete[i], false);
	printed += stats_row(fp, "deferred records", stats->records, true);
	printed += stats_row(fp, "duplicate records", stats->duplicates, false);
	printed += stats_row(fp, "orphan records", stats->orphans, false);
	printed += stats_row(fp, "malformed records", stats->malformed, false);
	return printed;
}

/**
 * deferred_callchain_stats__warn - say at the end if user callchains are missing
 * @stats: the counts of a session
 */
void deferred_callchain_stats__warn(const struct deferred_callchain_stats *stats)
{
	u64 incomplete = deferred_callchain_stats__incomplete(stats);
	int worst = 0;

	if (!stats->samples && !stats->records)
		return;

	pr_debug("deferred callchains: %llu samples, %llu stitched, %llu incomplete\n",
		 (unsigned long long)stats->samples, (unsigned long long)stats->stitched,
		 (unsigned long long)incomplete);
	if (stats->malformed)
		ui__warning("%llu deferred callchain records make no sense and were ignored.\n",
			    (unsigned long long)stats->malformed);
	if (incomplete * 100 <= stats->samples * WARN_PERCENT)
		return;

	for (int i = 1; i < DEFERRED_INCOMPLETE__MAX; i++) {
		if (stats->incomplete[i] > stats->incomplete[worst])
			worst = i;
	}
	ui__warning("%llu of %llu samples miss their deferred user callchain.\n\n"
		    "Most of them (%llu) %s.\n%s\n\n",
		    (unsigned long long)incomplete, (unsigned long long)stats->samples,
		    (unsigned long long)stats->incomplete[worst], reasons[worst].text,
		    reasons[worst].advice);
}

/* What may be held. */

static size_t limit = 512UL << 20;

/**
 * deferred_callchain_limit - how much may be held
 *
 * Return: the number of bytes for each session.
 */
size_t deferred_callchain_limit(void)
{
	return limit;
}

/**
 * deferred_callchain__set_limit - set how much may be held
 * @value: a number of bytes in full, kilobytes, megabytes or gigabytes, with B, K, M or G
 *	behind it
 * @where: name of the setting, for the message
 *
 * Return: 0 or, after a message, -EINVAL.
 */
int deferred_callchain__set_limit(const char *value, const char *where)
{
	struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	size_t digits = value ? strspn(value, "0123456789") : 0;
	unsigned long size = -1UL;

	if (digits && value[digits] && !value[digits + 1])
		size = parse_tag_value(value, tags);
	if (!size || size == -1UL) {
		pr_err("%s: invalid size '%s': expected a non-zero number with suffix B, K, M or G\n",
		       where, value ?: "");
		return -EINVAL;
	}

	limit = size;
	return 0;
}

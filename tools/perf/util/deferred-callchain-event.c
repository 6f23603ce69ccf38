// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred samples and deferred records as they lie in a perf.data file or in
 * a ring buffer.  Nothing here trusts a count or a size before checking it.
 */
#include <linux/perf_event.h>

#include "deferred-callchain.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "sample.h"

/**
 * ip_callchain__kernel_nr - length of a callchain without marker and cookie
 * @chain: callchain of a sample
 *
 * Return: the number of entries before the marker, or all of them if the
 * callchain is not deferred.
 */
size_t ip_callchain__kernel_nr(const struct ip_callchain *chain)
{
	u64 nr = chain->nr;

	if (nr >= 2 && chain->ips[nr - 2] == PERF_CONTEXT_USER_DEFERRED)
		return nr - 2;
	if (nr >= 1 && chain->ips[nr - 1] == PERF_CONTEXT_USER_DEFERRED)
		return nr - 1;
	return nr;
}

/**
 * ip_callchain__is_deferred - does the user half of a callchain come later?
 * @chain: callchain of a sample, may be NULL
 *
 * Return: true if @chain ends in PERF_CONTEXT_USER_DEFERRED and a cookie, or
 * in the marker alone, as if it had a cookie of zero.
 */
bool ip_callchain__is_deferred(const struct ip_callchain *chain)
{
	return ip_callchain__marker_nr(chain) > 0;
}

/**
 * ip_callchain__marker_nr - how many entries at the end are no frames
 * @chain: callchain of a sample, may be NULL
 *
 * Return: 2 for a deferred callchain, 1 if its cookie is missing, otherwise 0.
 */
int ip_callchain__marker_nr(const struct ip_callchain *chain)
{
	return chain ? chain->nr - ip_callchain__kernel_nr(chain) : 0;
}

/**
 * ip_callchain__cookie - the cookie of a deferred callchain
 * @chain: callchain for which ip_callchain__is_deferred() is true
 *
 * Return: the cookie; zero is never a valid one.
 */
u64 ip_callchain__cookie(const struct ip_callchain *chain)
{
	return ip_callchain__kernel_nr(chain) + 2 == chain->nr ? chain->ips[chain->nr - 1] : 0;
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
 * deferred_record__frames - the frames of a deferred record
 * @user: callchain inside a record
 * @nr: how many frames there are
 *
 * Released kernels write addresses only.  Early kernels with deferred callchains wrote
 * PERF_CONTEXT_USER in front of them.
 *
 * Return: the first frame.
 */
const u64 *deferred_record__frames(const struct ip_callchain *user, u64 *nr)
{
	bool prefixed = user->nr && user->ips[0] == PERF_CONTEXT_USER;

	*nr = user->nr - prefixed;
	return user->ips + prefixed;
}

/* No context is allowed among the frames. */
static bool deferred_record__is_valid(const struct ip_callchain *user)
{
	u64 nr;
	const u64 *frames = deferred_record__frames(user, &nr);

	return ip_callchain__nr_frames(frames, nr) == nr;
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

/**
 * evlist__has_deferred_callchains - may there be deferred samples and records?
 * @evlist: the events of a session
 *
 * Return: true if an event defers the user half of its callchains.
 */
bool evlist__has_deferred_callchains(struct evlist *evlist)
{
	return evlist__deferring_evsel(evlist);
}

/* The sample_id trailer is that of the event that a record was written for. */
static size_t trailer_size(struct evlist *evlist, const union perf_event *event)
{
	struct evsel *evsel = evlist__event2evsel(evlist, (union perf_event *)event);

	return evsel && evsel->core.attr.sample_id_all ? evsel__id_hdr_size(evsel) : 0;
}

static size_t fixed_size(struct evlist *evlist, const union perf_event *event)
{
	return sizeof(struct perf_record_callchain_deferred) + trailer_size(evlist, event);
}

/**
 * deferred_record__too_short - is a record too short to have its parts?
 * @evlist: the events of the session, for the size of the sample_id trailer
 * @event: any event
 *
 * Return: true for a PERF_RECORD_CALLCHAIN_DEFERRED that must not be parsed.
 */
bool deferred_record__too_short(struct evlist *evlist, const union perf_event *event)
{
	return event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED &&
	       event->header.size < fixed_size(evlist, event);
}

/**
 * deferred_record__callchain - check a deferred record
 * @evlist: the events of the session, for the size of the sample_id trailer
 * @event: a PERF_RECORD_CALLCHAIN_DEFERRED
 *
 * Return: the callchain inside @event, or NULL if sizes or contents are wrong.  It need not
 * begin with PERF_CONTEXT_USER, see deferred_record__frames().
 */
const struct ip_callchain *deferred_record__callchain(struct evlist *evlist,
						      const union perf_event *event)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	const struct ip_callchain *user = (const struct ip_callchain *)&record->nr;
	size_t fixed = fixed_size(evlist, event);
	size_t size = event->header.size;

	if (size < fixed || (size - fixed) % sizeof(u64) ||
	    record->nr != (size - fixed) / sizeof(u64) || !record->cookie)
		return NULL;
	return deferred_record__is_valid(user) ? user : NULL;
}

/* The counts are shown as they are, as that is what is wrong with them. */
static size_t malformed__fprintf(const union perf_event *event,
				 const struct perf_sample *sample, FILE *fp)
{
	const struct perf_record_callchain_deferred *record = &event->callchain_deferred;
	size_t printed = fprintf(fp, "(IP, 0x%x)", event->header.misc);

	if (sample)
		printed += fprintf(fp, ": %d/%d", sample->pid, sample->tid);
	if (event->header.size >= sizeof(*record))
		printed += fprintf(fp, ": %#llx nr:%llu", record->cookie, record->nr);
	return printed + fprintf(fp, " size:%u: malformed, ignored\n", event->header.size);
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
	const struct ip_callchain *chain = deferred_record__callchain(evlist, event);
	size_t printed, nr;

	if (!chain || !sample)
		return malformed__fprintf(event, sample, fp);

	nr = chain->nr;
	printed = fprintf(fp, "(IP, 0x%x): %d/%d: %#llx\n", event->header.misc, sample->pid,
			  sample->tid, event->callchain_deferred.cookie);
	printed += fprintf(fp, "... FP chain: nr:%zu\n", nr);
	for (size_t i = 0; i < nr; i++)
		printed += fprintf(fp, "..... %2zu: %016llx\n", i,
				   (unsigned long long)chain->ips[i]);
	return printed;
}

/**
 * deferred_sample__fprintf - mark a deferred sample in a raw dump
 * @sample: the sample as it was parsed
 * @fp: where to print to
 *
 * Return: the number of characters printed.
 */
size_t deferred_sample__fprintf(const struct perf_sample *sample, FILE *fp)
{
	if (!ip_callchain__is_deferred(sample->callchain))
		return 0;
	return fprintf(fp, "...... (deferred), cookie: %#llx\n",
		       (unsigned long long)ip_callchain__cookie(sample->callchain));
}

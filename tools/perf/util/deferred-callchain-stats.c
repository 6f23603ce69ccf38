// SPDX-License-Identifier: GPL-2.0
/* Counts of deferred callchains, and a warning if some are missing. */
#include <stdio.h>

#include "debug.h"
#include "events_stats.h"

/* Warn above this percentage of incomplete samples: data always end before some records. */
#define WARN_PERCENT		2

static const struct {
	const char *label;
	const char *text;
	const char *advice;
} reasons[DEFERRED_INCOMPLETE__MAX] = {
	[DEFERRED_INCOMPLETE__NO_RECORD] = {
		"no record", "no record before the thread's next kernel entry or execve",
		"Records may be lost when the buffer is full: try a larger 'perf record -m'."
	},
	[DEFERRED_INCOMPLETE__LOST] = {
		"lost record", "the record was lost because the buffer was full",
		"Try a larger 'perf record -m', or a lower frequency."
	},
	[DEFERRED_INCOMPLETE__END] = {
		"end of data", "no record before the end of the data",
		"Threads did not return to user space before the end: record for longer.  With\n"
		"--switch-output, their records may be in the next file."
	},
	[DEFERRED_INCOMPLETE__EXIT] = {
		"thread exit", "no record before the thread's exit",
		"Records may be lost when the buffer is full: try a larger 'perf record -m'."
	},
	[DEFERRED_INCOMPLETE__EXPIRED] = {
		"expired", "no record within the time limit",
		"Save the data in a file and read that: then only memory limits the wait."
	},
	[DEFERRED_INCOMPLETE__LIMIT] = {
		"limit", "the memory limit was reached before the record was read",
		"Try a larger 'perf config call-graph.defer-limit', or a larger\n"
		"'perf config report.queue-size' if that is set."
	},
	[DEFERRED_INCOMPLETE__UNORDERED] = {
		"not read yet", "the sample was delivered before its record was read",
		"Record with timestamps, read an uncompressed file, or let perf sort events."
	},
	[DEFERRED_INCOMPLETE__EMPTY] = {
		"empty record", "the record has no frames: the stack was gone or could not be read",
		"Such samples keep the user frame in which they were taken, if there is one."
	},
	[DEFERRED_INCOMPLETE__COOKIE] = {
		"bad cookie", "the sample has no valid cookie",
		"The data is damaged."
	},
	[DEFERRED_INCOMPLETE__GUEST] = {
		"guest", "the sample was taken in a guest, and the host cannot unwind its stack",
		"Record in the guest to get its user callchains."
	},
};

/**
 * deferred_callchain_stats__incomplete - count samples without their user half
 * @stats: the counts of a session
 *
 * Return: their number, for all reasons together.
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
 * Return: the number of characters printed: 0 for data without deferred callchains.
 */
size_t deferred_callchain_stats__fprintf(const struct deferred_callchain_stats *stats, FILE *fp)
{
	u64 incomplete = deferred_callchain_stats__incomplete(stats);
	size_t printed;

	if (!stats->samples && !stats->records)
		return 0;

	printed = fprintf(fp, "\nDeferred callchains:\n");
	printed += stats_row(fp, "deferred samples", stats->samples, true);
	printed += stats_row(fp, "stitched", stats->stitched, true);
	printed += stats_row(fp, "incomplete", incomplete, true);
	printed += stats_row(fp, "not merged", stats->samples - stats->stitched - incomplete,
			     false);
	for (int i = 0; i < DEFERRED_INCOMPLETE__MAX; i++)
		printed += stats_row(fp, reasons[i].label, stats->incomplete[i], false);
	printed += stats_row(fp, "deferred records", stats->records, true);
	printed += stats_row(fp, "duplicate records", stats->duplicates, false);
	printed += stats_row(fp, "orphan records", stats->orphans, false);
	printed += stats_row(fp, "malformed records", stats->malformed, false);
	return printed;
}

/**
 * deferred_callchain_stats__warn - warn at the end of a session if user callchains are missing
 * @stats: the counts of the session
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
		ui__warning("Ignored %llu deferred callchain records: size or contents invalid.\n",
			    (unsigned long long)stats->malformed);
	if (incomplete * 100 <= stats->samples * WARN_PERCENT)
		return;

	for (int i = 1; i < DEFERRED_INCOMPLETE__MAX; i++) {
		if (stats->incomplete[i] > stats->incomplete[worst])
			worst = i;
	}
	ui__warning("%llu of %llu samples lack their deferred user callchain.\n\n"
		    "The most frequent reason (%llu samples): %s.\n%s\n\n",
		    (unsigned long long)incomplete, (unsigned long long)stats->samples,
		    (unsigned long long)stats->incomplete[worst], reasons[worst].text,
		    reasons[worst].advice);
}

// SPDX-License-Identifier: GPL-2.0
#include "debug.h"
#include "deferred-callchain.h"

/* Below this share of all deferred samples nobody needs to be told. */
#define WARN_PERCENT	2

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
		"Their threads did not return to user space: record for longer."
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
		"limit", "did not fit the limit of what may wait",
		"Try a larger '--defer-limit', or 'perf config call-graph.defer-limit'."
	},
	[DEFERRED_INCOMPLETE__IN_TURN] = {
		"not at hand", "could not be kept, as this command takes samples in their turn",
		"Their records lie too far behind them to be read ahead."
	},
	[DEFERRED_INCOMPLETE__ABSENT] = {
		"not in the data", "have no record in the data",
		"Try a larger 'perf record -m', or record for longer."
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

static size_t row(FILE *fp, const char *label, u64 value)
{
	return fprintf(fp, "%20s: %10llu\n", label, (unsigned long long)value);
}

static size_t optional_row(FILE *fp, const char *label, u64 value)
{
	return value ? row(fp, label, value) : 0;
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
	printed += row(fp, "deferred samples", stats->samples);
	printed += row(fp, "stitched", stats->stitched);
	printed += row(fp, "stitched in order", stats->stitched - stats->late);
	printed += row(fp, "stitched late", stats->late);
	printed += row(fp, "incomplete", deferred_callchain_stats__incomplete(stats));
	for (int i = 0; i < DEFERRED_INCOMPLETE__MAX; i++)
		printed += optional_row(fp, reasons[i].label, stats->incomplete[i]);
	printed += row(fp, "deferred records", stats->records);
	printed += optional_row(fp, "duplicate records", stats->duplicates);
	printed += optional_row(fp, "orphan records", stats->orphans);
	printed += optional_row(fp, "malformed records", stats->malformed);
	return printed;
}

static void debug_stats(const struct deferred_callchain_stats *stats, u64 incomplete)
{
	pr_debug("deferred callchains: %llu samples, %llu stitched (%llu late), %llu incomplete\n",
		 (unsigned long long)stats->samples, (unsigned long long)stats->stitched,
		 (unsigned long long)stats->late, (unsigned long long)incomplete);
}

static enum deferred_incomplete main_reason(const struct deferred_callchain_stats *stats)
{
	int worst = 0;

	for (int i = 1; i < DEFERRED_INCOMPLETE__MAX; i++) {
		if (stats->incomplete[i] > stats->incomplete[worst])
			worst = i;
	}
	return worst;
}

/**
 * deferred_callchain_stats__warn - say at the end if user callchains are missing
 * @stats: the counts of a session
 */
void deferred_callchain_stats__warn(const struct deferred_callchain_stats *stats)
{
	u64 incomplete = deferred_callchain_stats__incomplete(stats);
	enum deferred_incomplete reason = main_reason(stats);

	if (!stats->samples && !stats->records)
		return;

	debug_stats(stats, incomplete);
	if (stats->malformed)
		ui__warning("%llu deferred callchain records make no sense and were ignored.\n",
			    (unsigned long long)stats->malformed);
	if (incomplete * 100 <= stats->samples * WARN_PERCENT)
		return;

	ui__warning("%llu of %llu samples miss their deferred user callchain.\n\n"
		    "Most of them (%llu) %s.\n%s\n\n",
		    (unsigned long long)incomplete, (unsigned long long)stats->samples,
		    (unsigned long long)stats->incomplete[reason], reasons[reason].text,
		    reasons[reason].advice);
}

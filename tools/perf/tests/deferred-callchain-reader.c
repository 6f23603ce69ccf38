// SPDX-License-Identifier: GPL-2.0
/*
 * A tool that writes down, as text, the samples and records that it gets.  A sample becomes
 *
 *	tid@time kN tid/cookie*M
 *
 * for N kernel frames and M user frames of that thread and entry context.  A '-'
 * at the end of the line marks a sample without its user half.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-reader.h"
#include "event.h"
#include "sample.h"
#include "session.h"
#include "tool.h"

void read_text__init(struct read_text *text)
{
	text->len = 0;
	text->buf[0] = '\0';
}

void read_text__add(struct read_text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text->len += vscnprintf(text->buf + text->len, sizeof(text->buf) - text->len, fmt, args);
	va_end(args);
}

bool read_text__is(const struct read_text *text, const char *expect, const char *name)
{
	if (!strcmp(expect, text->buf))
		return true;

	pr_debug("FAILED %s:\nexpected:\n%sgot:\n%s", name, expect, text->buf);
	return false;
}

/* Consecutive frames of one entry context, from the innermost one on, become one word. */
static void add_user_half(struct read_text *text, const u64 *ips, u64 nr)
{
	size_t i = 0;

	while (i < nr) {
		u32 tid = ips[i] >> 20 & 0xfffff;
		u32 cookie = ips[i] >> 12 & 0xff;
		size_t first = i;

		while (i < nr && ips[i] == synth__user_ip(tid, cookie, i - first))
			i++;
		if (i > first)
			read_text__add(text, " %u/%u*%zu", tid, cookie, i - first);
		else
			read_text__add(text, " %#llx", (unsigned long long)ips[i++]);
	}
}

static void add_callchain(struct read_text *text, const struct ip_callchain *chain)
{
	u64 kernel = 0;

	while (kernel < chain->nr && chain->ips[kernel] != PERF_CONTEXT_USER)
		kernel++;
	read_text__add(text, " k%u", (unsigned int)ip_callchain__nr_frames(chain->ips, kernel));
	if (kernel < chain->nr)
		add_user_half(text, &chain->ips[kernel + 1], chain->nr - kernel - 1);
}

static int read_sample(SAMPLE_PARAMS)
{
	struct read_text *text = &container_of(tool, struct reader_tool, tool)->text;

	read_text__add(text, "%u@%llu", sample->tid, (unsigned long long)sample->time);
	if (sample->callchain)
		add_callchain(text, sample->callchain);
	if (sample->raw_size != SYNTH_RAW_SIZE ||
	    memcmp(sample->raw_data, SYNTH_RAW, SYNTH_RAW_SIZE))
		read_text__add(text, " wrong raw data");
	read_text__add(text, "%s\n", sample->deferred_callchain ? " -" : "");
	return 0;
}

static int read_record(const struct perf_tool *tool, union perf_event *event,
		       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct read_text *text = &container_of(tool, struct reader_tool, tool)->text;

	read_text__add(text, "%u@%llu record %llu\n", sample->tid,
		       (unsigned long long)sample->time, event->callchain_deferred.cookie);
	return 0;
}

void reader_tool__init(struct reader_tool *reader, bool merge)
{
	read_text__init(&reader->text);
	perf_tool__init(&reader->tool, /*ordered_events=*/true);
	reader->tool.sample = read_sample;
	reader->tool.callchain_deferred = read_record;
	reader->tool.id_index = perf_event__process_id_index;
	reader->tool.merge_deferred_callchains = merge;
	reader->tool.no_warn = true;
}

/* Read a file without printing messages about its errors. */
int reader_tool__read_quietly(struct reader_tool *reader, const struct synth *s, size_t limit)
{
	int save_verbose = verbose;
	int ret;

	verbose = -1;
	ret = synth__read(&reader->tool, s, limit, &reader->stats);
	verbose = save_verbose;
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_READER_H
#define __TESTS_DEFERRED_CALLCHAIN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/compiler.h>

#include "deferred-callchain.h"
#include "tool.h"

struct synth;

/* The events that a tool got, one line for each event. */
struct read_text {
	size_t len;
	char buf[128 << 10];
};

/**
 * struct reader_tool - a tool that writes down samples and deferred records
 * @tool: the tool
 * @stats: counts of the session
 * @text: the delivered events as text
 */
struct reader_tool {
	struct perf_tool tool;
	struct deferred_callchain_stats stats;
	struct read_text text;
};

void read_text__init(struct read_text *text);
void read_text__add(struct read_text *text, const char *fmt, ...) __printf(2, 3);
bool read_text__is(const struct read_text *text, const char *expect, const char *name);
void reader_tool__init(struct reader_tool *reader, bool merge);
int reader_tool__read_quietly(struct reader_tool *reader, const struct synth *s, size_t limit);

#endif /* __TESTS_DEFERRED_CALLCHAIN_READER_H */

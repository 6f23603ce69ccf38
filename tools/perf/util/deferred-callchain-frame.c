// SPDX-License-Identifier: GPL-2.0
/*
 * The outermost frame of a deferred sample without its user callchain: "[user stack: REASON]".
 *
 * The frame has a symbol and a DSO of its own, so tools show and count it like any other frame.
 */
#include <stdio.h>
#include <linux/kernel.h>

#include "deferred-callchain.h"
#include "deferred-callchain-frame.h"
#include "dso.h"
#include "map.h"
#include "map_symbol.h"
#include "sample.h"
#include "symbol.h"

/* Add the frame to callchains. */
bool deferred_callchain_frames = true;

static const char *const reasons[DEFERRED_INCOMPLETE__MAX] = {
	[DEFERRED_INCOMPLETE__NO_RECORD] = "not recorded",
	[DEFERRED_INCOMPLETE__LOST] = "lost",
	[DEFERRED_INCOMPLETE__END] = "end of data",
	[DEFERRED_INCOMPLETE__EXIT] = "thread exited",
	[DEFERRED_INCOMPLETE__EXPIRED] = "time limit",
	[DEFERRED_INCOMPLETE__LIMIT] = "memory limit",
	[DEFERRED_INCOMPLETE__UNORDERED] = "not read yet",
	[DEFERRED_INCOMPLETE__COOKIE] = "bad cookie",
	[DEFERRED_INCOMPLETE__GUEST] = "guest",
	[DEFERRED_INCOMPLETE__EMPTY] = "empty record",
};

/* Make a DSO with a symbol for each reason, at the address 1 + reason, and map it. */
static struct map *make_map(struct symbol **symbols)
{
	struct dso *dso = dso__new("[incomplete]");
	struct map *map;
	char name[64];

	if (!dso)
		return NULL;

	for (int i = 0; i < DEFERRED_INCOMPLETE__MAX; i++) {
		snprintf(name, sizeof(name), "[user stack: %s]", reasons[i] ?: "missing");
		symbols[i] = symbol__new(1 + i, 1, STB_LOCAL, STT_FUNC, name);
		if (symbols[i])
			symbols__insert(dso__symbols(dso), symbols[i]);
	}
	dso__set_loaded(dso);
	map = map__new2(0, dso);
	if (map)
		map__set_end(map, 1 + DEFERRED_INCOMPLETE__MAX);
	dso__put(dso);
	return map;
}

/**
 * perf_sample__incomplete_frame - get the frame that stands for a missing user callchain
 * @sample: a sample that was delivered
 * @ms: set to its map and symbol, which exist until perf ends
 *
 * The address of the frame is the start of the symbol.
 *
 * Return: true if the user callchain of @sample is missing, and its frame is shown.
 */
bool perf_sample__incomplete_frame(const struct perf_sample *sample, struct map_symbol *ms)
{
	static struct symbol *symbols[DEFERRED_INCOMPLETE__MAX];
	static struct map *map;

	if (!sample->deferred_callchain || sample->deferred_unmerged || !deferred_callchain_frames)
		return false;

	if (!map)
		map = make_map(symbols);
	ms->map = map;
	ms->sym = symbols[sample->deferred_callchain - 1];
	return ms->map && ms->sym;
}

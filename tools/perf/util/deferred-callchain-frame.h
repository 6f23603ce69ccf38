/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_CALLCHAIN_FRAME_H
#define __PERF_DEFERRED_CALLCHAIN_FRAME_H

#include <stdbool.h>

struct map_symbol;
struct perf_sample;

/* perf config call-graph.incomplete-frames */
extern bool deferred_callchain_frames;

bool perf_sample__incomplete_frame(const struct perf_sample *sample, struct map_symbol *ms);

#endif /* __PERF_DEFERRED_CALLCHAIN_FRAME_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_EVENT_LAYOUT_H
#define __PERF_EVENT_LAYOUT_H

#include <stdbool.h>
#include <linux/types.h>

union perf_event;

bool perf_event__fits(const union perf_event *event, bool swapped);

#endif /* __PERF_EVENT_LAYOUT_H */

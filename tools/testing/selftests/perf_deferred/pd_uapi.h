/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions for perf_event_open() that installed headers may lack. */
#ifndef PD_UAPI_H
#define PD_UAPI_H

#include <linux/types.h>
#include <linux/perf_event.h>

/* Plain numbers, so that the tests build with any <linux/perf_event.h>. */
#define PD_RECORD_DEFERRED	22
#define PD_CONTEXT_DEFERRED	((__u64)-640)
#define PD_FORMAT_LOST		16
#define PD_FLAG_DEFER_CALLCHAIN	38
#define PD_FLAG_DEFER_OUTPUT	39

/* The flag bits of struct perf_event_attr are the u64 after read_format. */
static inline __u64 *pd_attr_flags(struct perf_event_attr *attr)
{
	return (__u64 *)((char *)&attr->read_format + sizeof(attr->read_format));
}

static inline void pd_attr_flag(struct perf_event_attr *attr, int bit, int on)
{
	if (on)
		*pd_attr_flags(attr) |= 1ULL << bit;
	else
		*pd_attr_flags(attr) &= ~(1ULL << bit);
}

static inline int pd_attr_has(const struct perf_event_attr *attr, int bit)
{
	return *pd_attr_flags((struct perf_event_attr *)attr) >> bit & 1;
}

#endif /* PD_UAPI_H */

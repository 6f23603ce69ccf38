/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_EVENTS_CALLCHAIN_DEFERRED_H
#define _KERNEL_EVENTS_CALLCHAIN_DEFERRED_H

#include <linux/bits.h>
#include <linux/perf_event.h>

/* in perf_event::attach_state: perf_deferred_attach() has counted the event */
#define PERF_ATTACH_DEFERRING	0x10000
/* in perf_event::attach_state: the bits from here up are the number of the event's reader */
#define PERF_DEFERRED_READER_SHIFT	20
/* reader numbers are below this; 0 stands for events without a reader number */
#define PERF_DEFERRED_READERS	BITS_PER_LONG

/* functions of core.c that are used to write a record */
void __perf_event_header__init_id(struct perf_sample_data *data,
				  struct perf_event *event, u64 sample_type);
typedef void (perf_iterate_f)(struct perf_event *event, void *data);
void perf_iterate_sb(perf_iterate_f output, void *data,
		     struct perf_event_context *task_ctx);

#ifdef CONFIG_UNWIND_USER

static inline bool perf_deferred_supported(const struct perf_event_attr *attr)
{
	return true;
}

int perf_deferred_attach(struct perf_event *event);
void perf_deferred_detach(struct perf_event *event);
struct perf_callchain_entry *perf_callchain_deferred(struct perf_event *event,
						     struct pt_regs *regs);
u64 perf_deferred_request_next(struct task_struct *task);

/**
 * perf_deferred_reader - the number of the reader of an event
 * @event: the event
 *
 * Context: Any.
 * Return: the number, or 0 if it has none.
 */
static inline unsigned int perf_deferred_reader(struct perf_event *event)
{
	if (event->parent)
		event = event->parent;
	return READ_ONCE(event->attach_state) >> PERF_DEFERRED_READER_SHIFT &
	       (PERF_DEFERRED_READERS - 1);
}

void perf_deferred_join(struct perf_event *event);
void perf_deferred_leave(struct perf_event *event);
unsigned long perf_deferred_served(unsigned long asked, unsigned long reached);

/* for BPF programs; declared here because sparse wants that */
u64 bpf_perf_defer_callchain(struct task_struct *task);

#else /* !CONFIG_UNWIND_USER */

/* Refuse both flags, as perf does with unknown flags. */
static inline bool perf_deferred_supported(const struct perf_event_attr *attr)
{
	return !attr->defer_callchain && !attr->defer_output;
}

/* Events that the kernel creates do not go through perf_copy_attr(), so check them here. */
static inline int perf_deferred_attach(struct perf_event *event)
{
	return perf_deferred_supported(&event->attr) ? 0 : -EINVAL;
}

static inline void perf_deferred_detach(struct perf_event *event) {}

/* not called: no event has attr.defer_callchain */
static inline struct perf_callchain_entry *
perf_callchain_deferred(struct perf_event *event, struct pt_regs *regs)
{
	return NULL;
}

#endif /* !CONFIG_UNWIND_USER */

#endif /* _KERNEL_EVENTS_CALLCHAIN_DEFERRED_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Track which reader has buffers on which CPUs.
 *
 * The samples of an event that is bound to a CPU are in that CPU's buffer.  When the
 * deferred record is written, the task may be on another CPU.  A reader that has a
 * buffer there finds the record in it; any other reader needs the record in the buffer
 * with the samples, which costs a cross call.
 *
 * A *reader* is a thread with the events that it has opened for CPUs.  Events for
 * single tasks belong to a separate reader.  A reader has the buffers of all CPUs if
 * it has opened equal defer_output events on all of them, the same number on each.  If
 * its events differ, they may be sets that are read separately, so the reader is
 * assumed not to have all buffers.  An event counts for the CPU for which it was opened, even
 * after perf_pmu_migrate_context() has moved it to another CPU.
 */

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/limits.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "callchain_deferred.h"

/**
 * struct deferred_reader - a thread that has opened events for CPUs
 * @thread: the thread
 * @of_tasks: this reader has the thread's events for single tasks; else those for all tasks
 * @nr_events: number of its events
 * @mixed: its defer_output events differ
 * @attr: attributes of its first defer_output event
 * @cgrp: cgroup of that event, or NULL
 * @most: the largest of @nr_outputs
 * @cpus: the CPUs for which it has opened @most of these events
 * @rcu: frees it
 * @nr_outputs: number of its defer_output events that were opened for each CPU
 *
 * Written under readers_mutex; @mixed, @most and @cpus are read under RCU.
 */
struct deferred_reader {
	struct pid		*thread;
	bool			of_tasks;
	unsigned int		nr_events;
	bool			mixed;
	struct perf_event_attr	attr;
	void			*cgrp;
	unsigned int		most;
	struct cpumask		cpus;
	struct rcu_head		rcu;
	unsigned int		nr_outputs[];
};

static DEFINE_MUTEX(readers_mutex);
/* by number; entry 0 stays empty */
static struct deferred_reader __rcu *readers[PERF_DEFERRED_READERS];

static struct deferred_reader *reader_at(unsigned int nr)
{
	return rcu_dereference_protected(readers[nr], lockdep_is_held(&readers_mutex));
}

static void *cgroup_of(struct perf_event *event)
{
#ifdef CONFIG_CGROUP_PERF
	return event->cgrp;
#else
	return NULL;
#endif
}

static bool is_of_task(struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_TASK;
}

/*
 * Return the number of the current thread's reader.  If the thread has none,
 * return a free number, or 0 if the thread may use none.  A thread without privileges may use
 * the lower half of the numbers only, so that it cannot take those of privileged readers.
 */
static unsigned int find_number(bool of_tasks)
{
	struct deferred_reader *reader;
	unsigned int nr, unused = 0;

	for (nr = PERF_DEFERRED_READERS - 1; nr; nr--) {
		reader = reader_at(nr);
		if (!reader)
			unused = nr;
		else if (reader->thread == task_pid(current) &&
			 reader->of_tasks == of_tasks)
			return nr;
	}
	return unused < PERF_DEFERRED_READERS / 2 || perfmon_capable() ? unused : 0;
}

static struct deferred_reader *make_reader(unsigned int nr, bool of_tasks)
{
	struct deferred_reader *reader;

	reader = kvzalloc(struct_size(reader, nr_outputs, nr_cpu_ids), GFP_KERNEL);
	if (!reader)
		return NULL;
	reader->thread = get_pid(task_pid(current));
	reader->of_tasks = of_tasks;
	rcu_assign_pointer(readers[nr], reader);
	return reader;
}

static void free_reader(unsigned int nr, struct deferred_reader *reader)
{
	RCU_INIT_POINTER(readers[nr], NULL);
	put_pid(reader->thread);
	kvfree_rcu(reader, rcu);
}

static bool is_first_output(const struct deferred_reader *reader)
{
	return !reader->most && !reader->mixed;
}

static void add_output(struct deferred_reader *reader, struct perf_event *event)
{
	unsigned int nr = ++reader->nr_outputs[event->deferred_cpu];

	if (is_first_output(reader)) {
		reader->attr = event->attr;
		reader->cgrp = cgroup_of(event);
	} else if (reader->cgrp != cgroup_of(event) ||
		   memcmp(&reader->attr, &event->attr, sizeof(event->attr))) {
		WRITE_ONCE(reader->mixed, true);
	}
	if (nr > reader->most) {
		WRITE_ONCE(reader->most, nr);
		cpumask_clear(&reader->cpus);
	}
	if (nr == reader->most)
		cpumask_set_cpu(event->deferred_cpu, &reader->cpus);
}

static void find_most(struct deferred_reader *reader)
{
	unsigned int cpu, most = 0;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		most = max(most, reader->nr_outputs[cpu]);
	for (cpu = 0; most && cpu < nr_cpu_ids; cpu++) {
		if (reader->nr_outputs[cpu] == most)
			cpumask_set_cpu(cpu, &reader->cpus);
	}
	WRITE_ONCE(reader->most, most);
}

static void remove_output(struct deferred_reader *reader, struct perf_event *event)
{
	if (reader->nr_outputs[event->deferred_cpu]-- != reader->most)
		return;
	cpumask_clear_cpu(event->deferred_cpu, &reader->cpus);
	if (cpumask_empty(&reader->cpus))
		find_most(reader);
}

/**
 * perf_deferred_join - add an event to its reader
 * @event: the event, not inherited, and not yet visible to others
 *
 * If the event is bound to a CPU, this stores the number of its reader in it, see
 * perf_deferred_reader().  If no number is free for the thread or there is no memory, the
 * event gets no number.
 *
 * Context: Task context of the thread that opens the event; may sleep.
 */
void perf_deferred_join(struct perf_event *event)
{
	struct deferred_reader *reader;
	unsigned int nr;

	if (event->cpu < 0)
		return;
	mutex_lock(&readers_mutex);
	nr = find_number(is_of_task(event));
	if (!nr)
		goto unlock;
	reader = reader_at(nr) ?: make_reader(nr, is_of_task(event));
	if (!reader)
		goto unlock;
	reader->nr_events++;
	BUILD_BUG_ON(CONFIG_NR_CPUS > U16_MAX);
	event->deferred_cpu = event->cpu;
	if (event->attr.defer_output)
		add_output(reader, event);
	event->attach_state |= nr << PERF_DEFERRED_READER_SHIFT;
unlock:
	mutex_unlock(&readers_mutex);
}

/**
 * perf_deferred_leave - remove an event from its reader
 * @event: the event, not inherited
 *
 * Context: Task context; may sleep.
 */
void perf_deferred_leave(struct perf_event *event)
{
	unsigned int nr = perf_deferred_reader(event);
	struct deferred_reader *reader;

	if (!nr)
		return;
	mutex_lock(&readers_mutex);
	reader = reader_at(nr);
	if (event->attr.defer_output)
		remove_output(reader, event);
	if (!--reader->nr_events)
		free_reader(nr, reader);
	mutex_unlock(&readers_mutex);
}

/*
 * Does the reader have the buffers of all CPUs?  If it has two events for all tasks on one
 * CPU, they may belong to two sets, one of them disabled: then the answer is no.
 */
static bool reads_all(const struct deferred_reader *reader)
{
	return reader && !READ_ONCE(reader->mixed) &&
	       (reader->of_tasks || READ_ONCE(reader->most) == 1) &&
	       cpumask_subset(cpu_online_mask, &reader->cpus);
}

static bool has_outputs(const struct deferred_reader *reader)
{
	return reader && READ_ONCE(reader->most);
}

/**
 * perf_deferred_served - which readers need a record on no other CPU
 * @asked: readers with a request by an event that is bound to a CPU, a bit for each
 *	   number
 * @reached: readers into whose buffers of this CPU the record was written
 *
 * CPUs go online and offline, so the CPUs of a reader are compared with the online CPUs
 * each time.  A reader without a defer_output event gets the record only through such an
 * event of another reader that writes to the same buffer.  So if a reader without a
 * defer_output event has made a request, no reader counts as served.
 *
 * Context: Task context.
 * Return: those of @reached that have the buffers of all CPUs; 0 if a reader without a number or
 *	   without a defer_output event has asked.
 */
unsigned long perf_deferred_served(unsigned long asked, unsigned long reached)
{
	unsigned long served = 0;
	unsigned int nr;

	rcu_read_lock();
	for_each_set_bit(nr, &reached, PERF_DEFERRED_READERS) {
		if (reads_all(rcu_dereference(readers[nr])))
			served |= BIT(nr);
	}
	asked &= ~served;
	for_each_set_bit(nr, &asked, PERF_DEFERRED_READERS) {
		if (!has_outputs(rcu_dereference(readers[nr])))
			served = 0;
	}
	rcu_read_unlock();
	return served;
}

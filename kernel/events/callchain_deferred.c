// SPDX-License-Identifier: GPL-2.0
/*
 * perf as a client of deferred unwinding: a sample requests the user stack instead of
 * containing it, and a later record contains the stack.
 *
 * One client serves all events.  Its records go to every defer_output event that covers
 * the task at that moment, whichever event made the request.
 */

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/unwind_deferred.h>

#include "internal.h"
#include "callchain_deferred.h"

/*
 * Context entries of a deferred callchain: PERF_CONTEXT_KERNEL,
 * PERF_CONTEXT_USER_DEFERRED and the cookie.
 */
#define DEFERRED_CONTEXTS	3

struct deferred_record {
	struct perf_event_header	header;
	u64				cookie;
	u64				nr;
};

/**
 * struct deferred_output - a record to be sent
 * @record: the record; its header differs by event
 * @trace: the frames
 * @task: the task of the frames
 * @reached: readers into whose buffers the record was written, a bit for each reader number
 * @served: readers that do not need the record on other CPUs
 * @away: the sender runs on another CPU than @task, and writes to events bound to its own CPU
 */
struct deferred_output {
	struct deferred_record		record;
	struct unwind_stacktrace	*trace;
	struct task_struct		*task;
	unsigned long			reached;
	unsigned long			served;
	bool				away;
};

static DEFINE_MUTEX(deferring_mutex);
static struct unwind_work deferring;
static unsigned int nr_deferring;

static u32 id_in_ns(struct perf_event *event, struct task_struct *task,
		    enum pid_type type)
{
	u32 nr;

	/* Only the parent of an inherited event has the pid namespace of the reader. */
	if (event->parent)
		event = event->parent;
	nr = __task_pid_nr_ns(task, type, event->ns);

	/* the same values as perf_event_pid(): 0 outside the namespace, -1 for a dead task */
	return nr || pid_alive(task) ? nr : -1;
}

static void init_id(struct perf_event *event, struct deferred_output *out,
		    struct perf_sample_data *sample)
{
	if (!event->attr.sample_id_all)
		return;

	out->record.header.size += event->id_header_size;
	sample->sample_flags = 0;
	__perf_event_header__init_id(sample, event, event->attr.sample_type);
}

/*
 * On another CPU than the task's, perf fills in the ids of the task that runs there.
 * perf_output_begin() fills them in again if it writes a LOST record.  So set the ids of
 * the record's task after that call.
 */
static void set_task_id(struct perf_event *event, struct deferred_output *out,
			struct perf_sample_data *sample)
{
	sample->tid_entry.pid = id_in_ns(event, out->task, PIDTYPE_TGID);
	sample->tid_entry.tid = id_in_ns(event, out->task, PIDTYPE_PID);
}

#ifdef CONFIG_CGROUP_PERF
static bool is_of_cgroup(struct perf_event *event, struct task_struct *task)
{
	struct perf_cgroup *cgrp;

	if (!event->cgrp)
		return true;
	cgrp = perf_cgroup_from_task(task, NULL);
	return cgroup_is_descendant(cgrp->css.cgroup, event->cgrp->css.cgroup);
}
#else
static bool is_of_cgroup(struct perf_event *event, struct task_struct *task)
{
	return true;
}
#endif

/*
 * On a CPU that is not the task's, write only to events bound to this CPU: all other events
 * get the record on the task's own CPU.  perf has already skipped events that do not cover the
 * task running here.  Of the rest, take those that also cover the record's task.
 */
static bool wants_away(struct perf_event *event, struct deferred_output *out)
{
	if (event->cpu < 0 || !is_of_cgroup(event, out->task))
		return false;
	if (out->served & BIT(perf_deferred_reader(event)))
		return false;
	return !(event->attach_state & PERF_ATTACH_TASK) ||
	       event->ctx->task == out->task;
}

/* Does the event have a buffer?  It may be full: then the record is counted as lost. */
static bool event_has_buffer(struct perf_event *event)
{
	struct perf_buffer *rb;

	if (event->parent)
		event = event->parent;
	/* the caller holds the RCU read lock; the member is not marked as __rcu */
	rb = READ_ONCE(event->rb);
	return rb && rb->nr_pages;
}

static noinline void write_record(struct perf_event *event, struct deferred_output *out)
{
	struct deferred_record *record = &out->record;
	unsigned int bytes = out->trace->nr * sizeof(u64);
	/* perf_output_begin() and init_id() set all members that are used */
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data sample __uninitialized;

	out->reached |= BIT(perf_deferred_reader(event));

	record->header = (struct perf_event_header) {
		.type = PERF_RECORD_CALLCHAIN_DEFERRED,
		.misc = PERF_RECORD_MISC_USER,
		.size = sizeof(*record) + bytes,
	};
	init_id(event, out, &sample);

	/* counts the record as lost if there is no room */
	if (perf_output_begin(&handle, &sample, event, record->header.size))
		return;

	if (out->away)
		set_task_id(event, out, &sample);
	__output_copy(&handle, record, sizeof(*record));
	if (bytes)
		__output_copy(&handle, out->trace->entries, bytes);
	perf_event__output_id_sample(event, &handle, &sample);
	perf_output_end(&handle);
}

static void output_record(struct perf_event *event, void *data)
{
	struct deferred_output *out = data;

	if (!event->attr.defer_output || (out->away && !wants_away(event, out)))
		return;
	if (event_has_buffer(event))
		write_record(event, out);
}

/* The record's task waits for this function, so its perf_event_context stays. */
static void send_away(void *data)
{
	struct deferred_output *out = data;
	struct perf_event_context *ctx;

	perf_iterate_sb(output_record, out, NULL);

	if (current == out->task)
		return;
	rcu_read_lock();
	ctx = READ_ONCE(out->task->perf_event_ctxp);
	if (ctx)
		perf_iterate_sb(output_record, out, ctx);
	rcu_read_unlock();
}

/*
 * The samples of an event bound to a CPU are in that CPU's buffer, and a reader may
 * read the buffers of some CPUs only.  If the task has left that CPU, the record must be written
 * on that CPU, because no other CPU may write to its buffer.  A reader of the buffers of
 * all CPUs does not need that: send_record() has written the record to a buffer that it reads.
 */
static void send_to_cpus(struct deferred_output *out, unsigned int here)
{
	unsigned long asked = unwind_deferred_noted();
	unsigned int cpu;

	for (cpu = unwind_deferred_next_cpu(0); cpu < nr_cpu_ids;
	     cpu = unwind_deferred_next_cpu(cpu + 1)) {
		if (cpu == here)
			continue;
		if (!out->away) {
			out->served = perf_deferred_served(asked, out->reached);
			if (!(asked & ~out->served))
				return;
			out->away = true;
		}
		/* Fails for a CPU that is offline: it has no events. */
		smp_call_function_single(cpu, send_away, out, 1);
	}
}

/*
 * Send the stack of the current task's entry context.  An empty stack is sent too, so
 * that the reader does not wait for it any longer.
 */
static void send_record(struct unwind_work *work,
			struct unwind_stacktrace *trace, u64 cookie)
{
	struct deferred_output out __uninitialized;
	unsigned int here;

	BUILD_BUG_ON(sizeof(*trace->entries) != sizeof(u64));
	out.record.cookie = cookie;
	out.record.nr = trace->nr;
	out.trace = trace;
	out.task = current;
	out.reached = 0;
	out.served = 0;
	out.away = false;
	here = get_cpu();
	perf_iterate_sb(output_record, &out, NULL);
	put_cpu();
	send_to_cpus(&out, here);
}

static int attach_deferring(struct perf_event *event)
{
	/* perf limits sample_max_stack to the sysctl only for events with callchains */
	unsigned int max_stack = min_t(unsigned int, event->attr.sample_max_stack,
				       READ_ONCE(sysctl_perf_event_max_stack));
	int ret;

	/* no frames wanted: do not request, as 0 in unwind_work::max_entries means no limit */
	if (!max_stack)
		return 0;
	if (!nr_deferring) {
		deferring.max_entries = max_stack;
		ret = unwind_deferred_init(&deferring, send_record);
		if (ret)
			return ret;
	} else if (max_stack > deferring.max_entries) {
		unwind_deferred_set_max_entries(&deferring, max_stack);
	}
	nr_deferring++;
	event->attach_state |= PERF_ATTACH_DEFERRING;
	return 0;
}

/*
 * Does the event have callchains whose user half is deferred? A BPF output event need not sample
 * callchains: the BPF program that writes to it requests stacks by bpf_perf_defer_callchain().
 */
static bool event_defers_callchain(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return attr->defer_callchain &&
	       ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) ||
		(attr->type == PERF_TYPE_SOFTWARE &&
		 attr->config == PERF_COUNT_SW_BPF_OUTPUT));
}

/**
 * perf_deferred_attach - attach a new event
 * @event: the event
 *
 * The first deferring event registers perf as a client.  The client requests as many
 * frames as the deferring event with the largest limit.
 *
 * Context: Task context; may sleep.
 * Return: 0, or -EBUSY if there are too many clients.
 */
int perf_deferred_attach(struct perf_event *event)
{
	int ret;

	/* an inherited event needs nothing: its parent is attached, and lives longer */
	if (event->parent)
		return 0;
	if (event_defers_callchain(event)) {
		mutex_lock(&deferring_mutex);
		ret = attach_deferring(event);
		mutex_unlock(&deferring_mutex);
		if (ret)
			return ret;
	}
	if (event->attr.defer_callchain || event->attr.defer_output)
		perf_deferred_join(event);
	return 0;
}

/**
 * perf_deferred_detach - detach an event that is being freed
 * @event: the event, attached or not
 *
 * Context: Task context; may sleep.
 */
void perf_deferred_detach(struct perf_event *event)
{
	if (event->parent)
		return;
	perf_deferred_leave(event);
	if (!(event->attach_state & PERF_ATTACH_DEFERRING))
		return;

	mutex_lock(&deferring_mutex);
	if (!--nr_deferring)
		unwind_deferred_cancel(&deferring);
	mutex_unlock(&deferring_mutex);
}

/*
 * Do not defer if a BPF program on the event may read the callchain: it does not know the marker
 * of a deferred user half.  Do not defer for a guest: its sample is unrelated to the stack of the
 * task that runs the guest.  Do not defer if the markers and the cookie of a deferred callchain are
 * more entries than the sysctl perf_event_max_contexts_per_stack allows.
 */
static bool event_may_defer(struct perf_event *event)
{
#ifdef CONFIG_BPF_SYSCALL
	if (event->prog)
		return false;
#endif
	return !perf_guest_state() &&
	       sysctl_perf_event_max_contexts_per_stack >= DEFERRED_CONTEXTS;
}

/* Returns false if the user half is to be unwound in place; @cookie is 0 if there is none. */
static bool request_user_half(struct perf_event *event, u64 *cookie)
{
	int ret = unwind_deferred_request(&deferring, cookie);

	if (ret >= 0 && event->cpu >= 0)
		unwind_deferred_note_cpu(perf_deferred_reader(event));
	return ret >= 0 || ret == -EINVAL;
}

/* How many more frames the event wants. Its limit does not count context markers. */
static unsigned int frames_left(struct perf_event *event, const struct perf_callchain_entry *entry)
{
	unsigned int most = event->attr.sample_max_stack;

	return most - min(most, entry->nr ? entry->nr - 1 : 0);
}

/*
 * Add a user half that was unwound already: the task was sampled while its record was sent, or
 * after that on its way to user space.  A second record would contain the same stack.
 */
static void add_known(struct perf_event *event, struct perf_callchain_entry *entry,
		      const struct unwind_stacktrace *known)
{
	unsigned int nr = min(known->nr, frames_left(event, entry));

	if (!nr)
		return;
	entry->ip[entry->nr++] = PERF_CONTEXT_USER;
	memcpy(entry->ip + entry->nr, known->entries, nr * sizeof(u64));
	entry->nr += nr;
}

/* Get the kernel half and, if @user, the user half, unwound in place. */
static __always_inline struct perf_callchain_entry *
callchain_in_place(struct perf_event *event, struct pt_regs *regs, bool user)
{
	return get_perf_callchain(regs, !event->attr.exclude_callchain_kernel, user,
				  event->attr.sample_max_stack, false, true);
}

/**
 * perf_callchain_deferred - the callchain of an event that defers, if it can
 * @event: the sampling event, with attr.defer_callchain
 * @regs: the registers at the sample
 *
 * The user half is normally a marker and the cookie of the record that will follow.  If the
 * stack is known already, or must be unwound in place, it is the stack itself.  If there is no
 * user stack, it is empty.  If both halves together exceed the event's limit, a record is requested
 * instead; if that request is refused, the stack is cut.
 *
 * perf_callchain() returns what this returns, so the compiler turns the call into a jump.  That
 * saves a frame: for tracepoints the kernel's unwinder steps through all frames from itself to
 * the tracepoint.
 *
 * The entry may be used by another sample as soon as get_perf_callchain() has returned, for
 * instance by a sample of a probe.  So nothing that can be sampled is called after that, until
 * the callchain is complete.
 *
 * Context: Any, NMI included, with preemption disabled.
 * Return: the callchain; an empty one if no callchain entry is free.
 */
struct perf_callchain_entry *perf_callchain_deferred(struct perf_event *event,
						     struct pt_regs *regs)
{
	static struct perf_callchain_entry empty;
	struct unwind_stacktrace known = {};
	struct perf_callchain_entry *entry;
	bool in_place;
	u64 cookie = 0;

	in_place = !event_may_defer(event) ||
		   (!unwind_deferred_known(&known) && !request_user_half(event, &cookie));
	entry = callchain_in_place(event, regs, in_place);
	if (entry && unlikely(known.nr) && known.nr > frames_left(event, entry)) {
		if (request_user_half(event, &cookie))
			known.nr = 0;
		entry = callchain_in_place(event, regs, false);
	}
	if (!entry)
		return &empty;

	if (unlikely(known.nr))
		add_known(event, entry, &known);
	if (cookie) {
		entry->ip[entry->nr++] = PERF_CONTEXT_USER_DEFERRED;
		entry->ip[entry->nr++] = cookie;
	}
	return entry;
}

/**
 * perf_deferred_request_next - defer the user stack of the next task
 * @task: the task that this CPU is switching to
 *
 * This is for samples that are taken of a task before it runs again.  No CPU is noted: a wait
 * may end on any CPU, so a reader has to read the buffers of all of them.  If the last
 * deferring event is freed meanwhile, there is no reader for the record.
 *
 * Context: The run queue of this CPU locked, interrupts off.
 * Return: the cookie of the record that will be written, or 0 if there will be none.
 */
u64 perf_deferred_request_next(struct task_struct *task)
{
	u64 cookie;

	unwind_deferred_request_next(&deferring, task, &cookie);
	return cookie;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_DEFERRED_H
#define _LINUX_UNWIND_DEFERRED_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/unwind_compat.h>
#include <linux/unwind_deferred_types.h>
#include <linux/unwind_user_types.h>

struct unwind_work;

/**
 * typedef unwind_callback_t - callback that gets the user stack of an entry context
 * @work: the client
 * @trace: the stack; no entries if it is gone or could not be read; valid during the call
 * @cookie: cookie of the entry context, as set by unwind_deferred_request()
 *
 * Called in the context of the task that owns the stack, once for all requests of the
 * client in that task since the last call.  It may sleep, and must not cancel @work.
 */
typedef void (*unwind_callback_t)(struct unwind_work *work,
				  struct unwind_stacktrace *trace, u64 cookie);

#define UNWIND_ENTRIES_OF_OTHERS	UINT_MAX

/**
 * struct unwind_work - a client of deferred unwinding
 * @func: called with each requested stack
 * @max_entries: the most frames that this client needs; 0 for as many as fit;
 *		 UNWIND_ENTRIES_OF_OTHERS for as many as the other clients need.  To be set
 *		 before unwind_deferred_init(), or by unwind_deferred_set_max_entries().
 * @stamp: unique number of this registration; 0 if not registered
 * @slot: index of the client in the table
 */
struct unwind_work {
	unwind_callback_t	func;
	unsigned int		max_entries;
	u32			stamp;
	unsigned int		slot;
};

#ifdef CONFIG_UNWIND_USER

int unwind_deferred_init(struct unwind_work *work, unwind_callback_t func);
int unwind_deferred_request(struct unwind_work *work, u64 *cookie);
int unwind_deferred_request_next(struct unwind_work *work,
				 struct task_struct *task, u64 *cookie);
void unwind_deferred_set_max_entries(struct unwind_work *work, unsigned int max_entries);
void unwind_deferred_cancel(struct unwind_work *work);
int unwind_user_faultable(struct unwind_stacktrace *trace);

bool __unwind_deferred_known(struct unwind_stacktrace *trace);
void __unwind_deferred_close(void);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
bool unwind_deferred_keeps_regs(void);
#endif
void __unwind_deferred_leave(void);
void __unwind_deferred_exiting(void);
void unwind_deferred_exec(void);
void unwind_deferred_exit(void);

/**
 * unwind_deferred_fork - initialize the state of a new task
 * @task: the child, not yet visible
 */
static inline void unwind_deferred_fork(struct task_struct *task)
{
	memset(&task->unwind_info, 0, sizeof(task->unwind_info));
}

/**
 * unwind_deferred_known - the current task's user stack, if it was unwound already
 * @trace: set to the stack; its entries belong to the task and are valid until the
 *	   interrupted code continues
 *
 * For samples that are taken while the record is being sent, or later: these samples need no
 * second record.  User memory is not accessed.
 *
 * Context: Any, NMI included.
 * Return: true if the stack of this entry context has been unwound.
 */
static inline bool unwind_deferred_known(struct unwind_stacktrace *trace)
{
	return READ_ONCE(current->unwind_info.context) && __unwind_deferred_known(trace);
}

/**
 * unwind_deferred_note_cpu - note the CPU and the origin of a request
 * @who: the origin, a number below BITS_PER_LONG that the client defines
 *
 * For a client that writes records to the CPUs of its samples.  The task may run on
 * several CPUs in one entry context.
 *
 * Context: Any, NMI included, with preemption disabled; after a request that
 *	    returned 0 or 1.
 */
static inline void unwind_deferred_note_cpu(unsigned int who)
{
	struct unwind_cpus *cpus = &current->unwind_info.cpus;
	unsigned int cpu = smp_processor_id();
	unsigned int bit = cpu % BITS_PER_LONG;
	int only = READ_ONCE(cpus->only);

	if (!test_bit(bit, &cpus->bits))
		set_bit(bit, &cpus->bits);
	/* a request by an NMI between the read and the write notes the same CPU */
	if (only != cpu + 1 && only != -1)
		WRITE_ONCE(cpus->only, only ? -1 : cpu + 1);
	if (!test_bit(who, &cpus->who))
		set_bit(who, &cpus->who);
}

/* The first CPU from @cpu on that may be in the set, or @nr. */
static inline unsigned int unwind_cpus_next(const struct unwind_cpus *cpus,
					    unsigned int cpu, unsigned int nr)
{
	unsigned long bits;

	if (cpus->only > 0)
		return cpu < cpus->only ? cpus->only - 1 : nr;

	while (cpu < nr) {
		bits = cpus->bits >> cpu % BITS_PER_LONG;
		if (bits)
			return min_t(unsigned int, cpu + __ffs(bits), nr);
		cpu = round_up(cpu + 1, BITS_PER_LONG);
	}
	return nr;
}

/**
 * unwind_deferred_next_cpu - the next CPU that may have been noted
 * @cpu: the first CPU to look at
 *
 * Context: The client's function.
 * Return: the first CPU, starting with @cpu, that may have been noted for a request of
 *	   this entry context, or nr_cpu_ids if there is none.  It need not be online.
 */
static inline unsigned int unwind_deferred_next_cpu(unsigned int cpu)
{
	return unwind_cpus_next(&current->unwind_info.cpus_served, cpu,
				nr_cpu_ids);
}

/**
 * unwind_deferred_noted - who has noted a CPU?
 *
 * Context: The client's function.
 * Return: a bit for each @who of unwind_deferred_note_cpu() in this entry context.
 */
static inline unsigned long unwind_deferred_noted(void)
{
	return current->unwind_info.cpus_served.who;
}

/**
 * unwind_deferred_close - end the entry context before registers change
 *
 * To be called before the current task's user registers are rewritten.  It sends the
 * records that are owed.  Later requests open a new entry context.
 *
 * Context: Task context; may sleep.
 */
static inline void unwind_deferred_close(void)
{
	if (unlikely(READ_ONCE(current->unwind_info.context)))
		__unwind_deferred_close();
}

/**
 * unwind_deferred_exiting - send the records that a task owes when it begins to exit
 *
 * The entry context stays open until unwind_deferred_exit().  Here the walk of a thread that exits
 * by itself may still take page faults, and no tracer has delayed the exit yet: other threads may
 * use the stack of an exiting thread again.
 *
 * Context: Task context; may sleep.
 */
static inline void unwind_deferred_exiting(void)
{
	if (unlikely(READ_ONCE(current->unwind_info.context)))
		__unwind_deferred_exiting();
}

/**
 * unwind_deferred_leave - end the entry context when the task leaves the kernel
 *
 * Context: Task context, interrupts off, after the last code on the way to user
 *	    space that can be traced or probed, except the tracepoint of context
 *	    tracking.
 */
static __always_inline void unwind_deferred_leave(void)
{
	if (unlikely(READ_ONCE(current->unwind_info.context)))
		__unwind_deferred_leave();
}

#else /* !CONFIG_UNWIND_USER */

static inline int unwind_deferred_init(struct unwind_work *work,
				       unwind_callback_t func)
{
	return -EOPNOTSUPP;
}

static inline int unwind_deferred_request(struct unwind_work *work,
					  u64 *cookie)
{
	return -EOPNOTSUPP;
}

static inline void unwind_deferred_cancel(struct unwind_work *work) {}

static inline int unwind_user_faultable(struct unwind_stacktrace *trace)
{
	return -EOPNOTSUPP;
}

static inline void unwind_deferred_fork(struct task_struct *task) {}
static inline void unwind_deferred_close(void) {}
static __always_inline void unwind_deferred_leave(void) {}
static inline void unwind_deferred_exec(void) {}
static inline void unwind_deferred_exiting(void) {}
static inline void unwind_deferred_exit(void) {}

#endif /* !CONFIG_UNWIND_USER */

#endif /* _LINUX_UNWIND_DEFERRED_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_DEFERRED_H
#define _LINUX_UNWIND_DEFERRED_H

#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
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

/**
 * struct unwind_work - a client of deferred unwinding
 * @func: called with each requested stack
 * @max_entries: the most frames that this client needs; 0 for as many as fit.  To be set
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
void __unwind_deferred_leave(void);
void __unwind_deferred_exiting(void);
void unwind_deferred_exec(void);
void unwind_deferred_exit(void);

/* Initialize the state of a new task, which is not yet visible. */
static inline void unwind_deferred_fork(struct task_struct *task)
{
	memset(&task->unwind_info, 0, sizeof(task->unwind_info));
}

/**
 * unwind_deferred_known - the current task's user stack, if it was unwound already
 * @trace: set to the stack; its entries belong to the task and are valid until the
 *	   interrupted code continues
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
 * For a client that writes records to the CPUs of its samples.
 *
 * Context: Any, NMI included, with preemption disabled; after a request that returned 0 or 1.
 */
static inline void unwind_deferred_note_cpu(unsigned int who)
{
	struct unwind_cpus *cpus = &current->unwind_info.cpus;
	unsigned int bit = smp_processor_id() % BITS_PER_LONG;

	if (!test_bit(bit, &cpus->bits))
		set_bit(bit, &cpus->bits);
	if (!test_bit(who, &cpus->who))
		set_bit(who, &cpus->who);
}

/* The CPUs that were noted for requests of this entry context, in the client's function. */
static inline const struct unwind_cpus *unwind_deferred_cpus(void)
{
	return &current->unwind_info.cpus_served;
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
 * Here the walk of a thread that exits by itself may still take page faults, and no other thread
 * uses its stack again.  The entry context stays open until unwind_deferred_exit().
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

static inline void unwind_deferred_fork(struct task_struct *task) {}
static inline void unwind_deferred_close(void) {}
static __always_inline void unwind_deferred_leave(void) {}
static inline void unwind_deferred_exec(void) {}
static inline void unwind_deferred_exiting(void) {}
static inline void unwind_deferred_exit(void) {}

#endif /* !CONFIG_UNWIND_USER */

#endif /* _LINUX_UNWIND_DEFERRED_H */

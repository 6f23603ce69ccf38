// SPDX-License-Identifier: GPL-2.0
/*
 * Entry contexts: requests for a user stack in contexts that cannot unwind it, and the
 * walk just before the task returns to user space.
 *
 * The first request opens an entry context: it takes a cookie and saves the user
 * registers.  The entry context is closed when the task leaves for user space, and before
 * anything replaces the user registers (signals, sigreturn, uprobes) or the mm (execve),
 * or ends the task (exit).
 *
 * The state belongs to the current task, and to the scheduler while it switches to the
 * task.  It is never accessed by two CPUs at the same time.  A request may come in an
 * interrupt or NMI on top of any other code here, another request included, but the new
 * request runs to its end before that code continues.  So there are no locks and no memory
 * barriers, only compiler barriers, and a cmpxchg without lock prefix where the value that
 * led to a decision must be unchanged when the decision is stored.
 *
 * The saved registers decide whether a stack belongs to the entry context.  Some code, such
 * as ptrace, restartable sequences and emulated instructions, changes the registers without
 * closing the entry context.  Then the registers differ from the saved ones, and the clients
 * get an empty stack.
 */

#include <linux/context_tracking.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/instrumentation.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/task_work.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_user.h>

#include <asm/unwind_walk.h>

#include "task.h"

/*
 * How many requests after the last check of the work flags may extend one entry context.
 * Each such request raises an interrupt, and the exit from the interrupt can bring the next
 * request.  The limit is a number, not a rate, so it also works on slow machines.
 */
#define UNWIND_MAX_LATE		64

/* set in unwind_task_info::context while records are owed */
#define CONTEXT_OWED		BIT_ULL(63)
/* unwind_task_info::context from execve to the first return to user space, or to a signal */
#define CONTEXT_EXEC		BIT_ULL(62)

#define UNWIND_MAX_ENTRIES	(PAGE_SIZE / sizeof(unsigned long))
/* entries on the kernel stack, at most 1 KiB */
#define UNWIND_STACK_ENTRIES	128

/*
 * Sending records may itself be sampled, which requests another round.  So the rounds in
 * a period are limited: further requests are refused, so that the task can return to user
 * space.
 */
#define UNWIND_MAX_PASSES	8
#define UNWIND_PASSES_WHILE	(HZ / 10 + 1)

/*
 * Slots are written under the mutex and read under SRCU.  A task saves the stamp of a
 * client, not a pointer to it.  The stamp of a removed client matches no client any
 * more.
 */
static DEFINE_MUTEX(clients_mutex);
DEFINE_STATIC_SRCU(clients_srcu);
static struct unwind_work __rcu *clients[UNWIND_MAX_CLIENTS];
/* slots at this index and above were never used */
static unsigned int nr_slots __read_mostly;
/* the most entries that a client needs */
static unsigned int most_entries __read_mostly = UNWIND_MAX_ENTRIES;
static u32 last_stamp;

/*
 * Each CPU counts in its own residue class modulo nr_cpu_ids, so no two CPUs use the same
 * cookie.  62 bits do not wrap in the lifetime of a machine.
 */
static DEFINE_PER_CPU(u64, last_cookie);

static int __init unwind_deferred_setup(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(last_cookie, cpu) = cpu + 1;
	return 0;
}
early_initcall(unwind_deferred_setup);

static u64 next_cookie(void)
{
	return this_cpu_add_return(last_cookie, nr_cpu_ids);
}

static struct task_struct *deferred_task_of(struct unwind_task_info *info)
{
	return container_of(info, struct task_struct, unwind_info);
}

/*
 * Save the registers that an unwind starts from.  In a system call, the user's ax and r11 are not
 * known, so the checksum is made without them.  An interrupt on the return to user space, where
 * both are known, may still serve that entry context.  So bit 0 of the checksum tells whether ax
 * and r11 are included.
 */
static void note_start(struct pt_regs *regs, bool all, struct unwind_user_start *start)
{
	start->ip = instruction_pointer(regs);
	start->sp = user_stack_pointer(regs);
	start->fp = frame_pointer(regs);
	start->others = arch_unwind_others(regs, all) << 1 | all;
}

static bool start_holds(struct unwind_task_info *info)
{
	struct pt_regs *regs = task_pt_regs(deferred_task_of(info));
	struct unwind_user_start now;

	note_start(regs, info->start.others & 1, &now);
	return now.ip == info->start.ip && now.sp == info->start.sp &&
	       now.fp == info->start.fp && now.others == info->start.others;
}

/*
 * A request may interrupt another one here.  Both save the same registers, so the
 * order of their stores does not matter.  The first cookie stays.
 */
static u64 open_context(struct unwind_task_info *info)
{
	struct pt_regs *regs = task_pt_regs(deferred_task_of(info));
	u64 cookie, old;

	note_start(regs, !arch_unwind_in_syscall(regs), &info->start);
	info->late = 0;
	barrier();
	cookie = next_cookie();
	old = cmpxchg_local(&info->context, 0, cookie);
	return old ?: cookie;
}

/*
 * End the entry context, unless a record is owed or being sent.  Returns true if no
 * entry context is open after this.
 */
static __always_inline bool end_context(struct unwind_task_info *info)
{
	u64 context = READ_ONCE(info->context);

	if (!context)
		return true;
	if ((context & CONTEXT_OWED) || READ_ONCE(info->sending))
		return false;
	/* raw: __unwind_deferred_leave() is noinstr */
	return raw_cmpxchg_local(&info->context, context, 0) == context;
}

/*
 * Return the open entry context, or open one.  If the registers have changed since the open
 * entry context began, a new one replaces it.  But if a record is owed for the old one or is
 * being sent, this returns 0.  A request by an NMI may also replace it, and the saved registers
 * with it: then look again.
 */
static u64 current_context(struct unwind_task_info *info)
{
	u64 context;
	bool holds;

	do {
		context = READ_ONCE(info->context);
		barrier();
		holds = start_holds(info);
		barrier();
	} while ((READ_ONCE(info->context) ^ context) & ~CONTEXT_OWED);

	if (context && !holds) {
		if (!end_context(info))
			return 0;
		context = 0;
	}
	return context ?: open_context(info);
}

/* Return an error if there is no user stack, or if the task takes no more requests; else 0. */
static int deferred_refused(const struct unwind_task_info *info)
{
	if (READ_ONCE(info->context) == CONTEXT_EXEC)
		return -EINVAL;
	return READ_ONCE(info->refuse);
}

/*
 * Walk the stack, once for each entry context.  Without a page for the frames, do not walk.  The
 * page is not charged to the memory cgroup: no stack is lost because the cgroup is at its limit.
 */
static void deferred_walk(struct unwind_task_info *info, u64 cookie)
{
	struct unwind_stacktrace trace;

	if (info->walked == cookie)
		return;
	/* an interrupt must not see nr before all entries are written */
	WRITE_ONCE(info->nr, 0);
	barrier();
	info->walked = cookie;
	info->cpus_served = (struct unwind_cpus) {};
	info->passes = 0;
	info->passes_since = jiffies;

	if (!start_holds(info))
		return;
	if (!info->entries && unwind_task_may_allocate())
		info->entries = kmalloc(PAGE_SIZE, UNWIND_GFP);
	if (!info->entries)
		return;

	trace.entries = info->entries;
	unwind_user(&trace, READ_ONCE(most_entries));
	barrier();
	WRITE_ONCE(info->nr, trace.nr);
}

static void count_pass(struct unwind_task_info *info)
{
	if (time_after(jiffies, info->passes_since + UNWIND_PASSES_WHILE)) {
		info->passes_since = jiffies;
		info->passes = 0;
	}
	info->passes++;
}

static bool too_many_passes(struct unwind_task_info *info, u64 cookie)
{
	if (info->late >= UNWIND_MAX_LATE)
		return true;
	return info->walked == cookie && info->passes >= UNWIND_MAX_PASSES &&
	       (!info->entries ||
		!time_after(jiffies, info->passes_since + UNWIND_PASSES_WHILE));
}

/*
 * Take the CPUs that requests have noted.  If an NMI makes a request between the first two
 * xchg(), this round may take cpus.only of that request, but not the bit of its CPU.  Then the
 * next round takes that bit, but has no valid @only, and may visit more CPUs than needed.
 */
static void serve_cpus(struct unwind_task_info *info)
{
	struct unwind_cpus *served = &info->cpus_served;
	unsigned long bits;
	int only;

	if (!READ_ONCE(info->cpus.bits) && !READ_ONCE(info->cpus.only))
		return;
	bits = xchg(&info->cpus.bits, 0);
	only = xchg(&info->cpus.only, 0);
	served->who |= xchg(&info->cpus.who, 0);
	served->only = !served->bits || served->only == only ? only : -1;
	served->bits |= bits;
}

static void call_client(struct unwind_task_info *info, unsigned int slot,
			struct unwind_stacktrace trace, u64 cookie)
{
	struct unwind_work *work;
	u32 stamp;

	if (!READ_ONCE(info->owed[slot]))
		return;
	stamp = xchg(&info->owed[slot], 0);
	/*
	 * Take the CPUs after the stamp.  Otherwise this could take the stamp of a request that
	 * comes between the two steps, but not its CPU, and the record would miss that CPU.
	 */
	serve_cpus(info);
	work = srcu_dereference(clients[slot], &clients_srcu);
	if (work && work->stamp == stamp)
		work->func(work, &trace, cookie);
}

static void send_stack(struct unwind_task_info *info, struct unwind_stacktrace trace, u64 cookie)
{
	unsigned int slot;
	int idx;

	WRITE_ONCE(info->sending, 1);
	barrier();
	WRITE_ONCE(info->context, cookie);
	barrier();

	idx = srcu_read_lock(&clients_srcu);
	for (slot = 0; slot < READ_ONCE(nr_slots); slot++)
		call_client(info, slot, trace, cookie);
	srcu_read_unlock(&clients_srcu, idx);

	barrier();
	WRITE_ONCE(info->sending, 0);
}

/*
 * Without a page for the frames, the kernel stack holds the innermost frames, for one round.  After
 * the walk, further requests of the entry context are refused.  If info->sending is set, an oops
 * has ended this walk before: do not repeat it.
 */
static noinline_for_stack void send_from_kernel_stack(struct unwind_task_info *info, u64 cookie)
{
	unsigned long entries[UNWIND_STACK_ENTRIES] __uninitialized;
	struct unwind_stacktrace trace = { .entries = entries };

	if (!info->sending && start_holds(info)) {
		WRITE_ONCE(info->sending, 1);
		barrier();
		unwind_user(&trace, min_t(unsigned int, READ_ONCE(most_entries),
					  UNWIND_STACK_ENTRIES));
	}
	WRITE_ONCE(info->passes, UNWIND_MAX_PASSES);
	barrier();
	send_stack(info, trace, cookie);
}

/*
 * Send the records that are owed.  A request during the walk is served by this round.  A
 * request after CONTEXT_OWED was cleared sets CONTEXT_OWED and queues the work again, even
 * if this round has yet to call that client: a round with nothing owed is harmless, but a
 * record that is owed needs a round.  The request belongs to the same entry context, which
 * cannot end before the round does.
 */
static void send_records(struct unwind_task_info *info)
{
	u64 context = READ_ONCE(info->context);
	u64 cookie = context & ~CONTEXT_OWED;
	struct unwind_stacktrace trace;

	if (!(context & CONTEXT_OWED))
		return;

	deferred_walk(info, cookie);
	count_pass(info);
	if (!info->entries) {
		send_from_kernel_stack(info, cookie);
		return;
	}
	trace.nr = info->nr;
	trace.entries = info->entries;
	send_stack(info, trace, cookie);
}

static void unwind_deferred_work(struct callback_head *head)
{
	struct unwind_task_info *info = &current->unwind_info;

	/* clear this first, so that later requests queue the work again */
	WRITE_ONCE(info->queued, 0);
	barrier();
	send_records(info);
}

/*
 * A request by an NMI may come after unwind_deferred_leave(), so it has to raise an
 * interrupt, whose exit sends the record.  The interrupt normally comes before the next user
 * instruction, but neither x2APIC nor a hypervisor promises that.  If it comes later and the
 * user registers have changed, start_holds() is false, and the record is empty.  Other requests
 * with interrupts off come before unwind_deferred_leave(), which raises that interrupt
 * if a record is owed.  Two kinds of requests are refused, because they may come too late:
 *
 * - by an NMI, or in task context with interrupts off, if the CPU cannot interrupt itself
 * - in task context with interrupts off, if context tracking is enabled: it has a tracepoint
 *   after unwind_deferred_leave()
 *
 * Neither case applies to the sched_switch tracepoint: the scheduler has chosen another
 * task, and the current task checks its work flags after it runs again.
 */
static bool is_too_late(enum task_work_notify_mode notify)
{
	if (notify == TWA_NMI_CURRENT)
		return !arch_irq_work_has_interrupt();
	return in_task() && irqs_disabled() &&
	       (!arch_irq_work_has_interrupt() ||
		context_tracking_enabled_this_cpu()) && task_curr(current);
}

static int queue_work_once(struct unwind_task_info *info,
			   enum task_work_notify_mode notify)
{
	int ret;

	if (READ_ONCE(info->queued) || cmpxchg_local(&info->queued, 0, 1))
		return 0;

	info->work.func = unwind_deferred_work;
	ret = task_work_add(deferred_task_of(info), &info->work, notify);
	if (ret)
		WRITE_ONCE(info->queued, 0);
	return ret;
}

static int deferred_queue_request(struct unwind_work *work, struct unwind_task_info *info,
				  enum task_work_notify_mode notify, u64 *cookie)
{
	/* pairs with the release in unwind_deferred_init() */
	u32 stamp = smp_load_acquire(&work->stamp);
	u64 context;
	int ret;

	*cookie = 0;
	if (!stamp || !unwind_user_exists(deferred_task_of(info)))
		return -EINVAL;
	ret = deferred_refused(info);
	if (ret)
		return ret;
	if (is_too_late(notify))
		return -EBUSY;
	if (unwind_user_left_out(deferred_task_of(info), UNWIND_REALTIME_IN_PLACE))
		return -EPERM;

	context = current_context(info) & ~CONTEXT_OWED;
	if (!context)
		return -EINVAL;
	if (too_many_passes(info, context))
		return -EBUSY;
	if (READ_ONCE(info->owed[work->slot]) == stamp) {
		*cookie = context;
		return 1;
	}

	WRITE_ONCE(info->owed[work->slot], stamp);
	barrier();
	WRITE_ONCE(info->context, context | CONTEXT_OWED);
	barrier();
	ret = queue_work_once(info, notify);
	if (!ret)
		*cookie = context;
	return ret;
}

/**
 * unwind_deferred_request - request the current task's user stack
 * @work: the client, registered, and not cancelled before this returns
 * @cookie: set to the cookie of the entry context
 *
 * The client's function is called with the stack and @cookie before the task returns
 * to user space, or before its entry context is closed for another reason.  This
 * takes constant time: it does not access user memory, allocate, or take locks.
 *
 * Context: Any, NMI included.
 * Return: 0; 1 if a call for this entry context is already owed to @work: that call
 *	   serves both requests; -EINVAL if the task has no user stack, or the
 *	   stack is being replaced, or the registers have changed since an earlier
 *	   request and may be half written, or @work is not registered; another
 *	   negative error if there is a stack that cannot be deferred and should be
 *	   unwound in place: -EAGAIN if the task is about to replace its mm, -EBUSY
 *	   if there are too many rounds of records, or there was one without a page for
 *	   the frames, or the task may be past the point where it can be stopped,
 *	   -EPERM if it is a real-time task and these are excluded, -ESRCH if it is exiting.
 */
int unwind_deferred_request(struct unwind_work *work, u64 *cookie)
{
	return deferred_queue_request(work, &current->unwind_info,
				      in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME | TWAF_NO_ALLOC,
				      cookie);
}

/* The out-of-line half of unwind_deferred_known(). */
bool __unwind_deferred_known(struct unwind_stacktrace *trace)
{
	struct unwind_task_info *info = &current->unwind_info;
	u64 cookie = READ_ONCE(info->context) & ~CONTEXT_OWED;
	/* the walk sets nr last */
	unsigned int nr = READ_ONCE(info->nr);

	if (!cookie || info->walked != cookie || !nr || !start_holds(info))
		return false;
	barrier();
	/* as in current_context() */
	if ((READ_ONCE(info->context) & ~CONTEXT_OWED) != cookie)
		return false;
	trace->nr = nr;
	trace->entries = info->entries;
	return true;
}

/**
 * unwind_deferred_request_next - ask for the user stack of the task that this
 *				  CPU is switching to
 * @work: the client, registered, and not cancelled before this returns
 * @task: the task
 * @cookie: set to the cookie of its entry context
 *
 * As unwind_deferred_request(), for the sched_switch tracepoint.  There the scheduler has
 * chosen @task, which is not yet current.  No other code uses its entry context: @task no
 * longer runs on another CPU, and on this CPU current is still the previous task.  No
 * interrupt is needed to send its record: @task will check its work flags again, because
 * no task is switched out between its last check and user mode, where interrupts are off.
 * Queueing the work kicks no CPU, because @task is on this one.
 *
 * Context: The run queue of this CPU locked, interrupts off.
 * Return: as unwind_deferred_request(), and -EINVAL if this CPU is not switching to @task.
 */
int unwind_deferred_request_next(struct unwind_work *work,
				 struct task_struct *task, u64 *cookie)
{
	*cookie = 0;
	if (task == current || task_cpu(task) != raw_smp_processor_id() ||
	    !task_curr(task))
		return -EINVAL;
	return deferred_queue_request(work, &task->unwind_info, TWA_RESUME | TWAF_NO_ALLOC,
				      cookie);
}

/**
 * unwind_user_faultable - the current task's user stack, unwound at most once
 * @trace: set to the stack; its entries belong to the task and are valid until
 *	   it returns to user space
 *
 * Context: Task context; may sleep.
 * Return: 0, or -EINVAL or another negative error as unwind_deferred_request().  If the
 *	   task has no page for the frames, there are no entries.
 */
int unwind_user_faultable(struct unwind_stacktrace *trace)
{
	struct unwind_task_info *info = &current->unwind_info;
	u64 cookie;
	int ret;

	trace->nr = 0;
	if (!unwind_user_exists(current))
		return -EINVAL;
	ret = deferred_refused(info);
	if (ret)
		return ret;
	cookie = current_context(info) & ~CONTEXT_OWED;
	if (!cookie)
		return -EINVAL;

	deferred_walk(info, cookie);
	trace->nr = info->nr;
	trace->entries = info->entries;
	return 0;
}

/* The out-of-line half of unwind_deferred_close(). */
void __unwind_deferred_close(void)
{
	struct unwind_task_info *info = &current->unwind_info;
	int i;

	for (i = 0; i < UNWIND_MAX_PASSES && !end_context(info); i++)
		send_records(info);
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/**
 * unwind_deferred_keeps_regs - are the current task's user registers whole?
 *
 * Context: Any, NMI included.
 * Return: false from execve to the return to user space, or to a signal; and from
 *	   unwind_user_regs_begin() to unwind_user_regs_end().
 */
bool unwind_deferred_keeps_regs(void)
{
	const struct unwind_task_info *info = &current->unwind_info;

	return READ_ONCE(info->context) != CONTEXT_EXEC && !READ_ONCE(info->replacing);
}
#endif

static void deferred_do_nothing(struct irq_work *work)
{
}

static DEFINE_PER_CPU(struct irq_work, look_again) =
	IRQ_WORK_INIT_HARD(deferred_do_nothing);

/*
 * The out-of-line half of unwind_deferred_leave().  A record is still owed if a
 * request came after the last check of the work flags.  Then raise an interrupt, whose exit
 * sends the record; is_too_late() says what happens if the interrupt comes late.
 *
 * noinstr: this function is neither traced nor probed, so after end_context() only an NMI can
 * make a request.  Such a request raises an interrupt itself.
 */
noinstr void __unwind_deferred_leave(void)
{
	struct unwind_task_info *info = &current->unwind_info;

	if (end_context(info))
		return;

	info->late++;
	instrumentation_begin();
	irq_work_queue(this_cpu_ptr(&look_again));
	instrumentation_end();
}

/* Refuse further requests, so that one round sends all owed records. */
static void deferred_close_for_good(struct unwind_task_info *info, int error, u64 context)
{
	WRITE_ONCE(info->refuse, error);
	barrier();
	send_records(info);
	WRITE_ONCE(info->context, context);
}

/**
 * unwind_deferred_exec - close the old program's entry context in execve
 *
 * To be called before the point of no return of execve, while thread id, mm and
 * registers are still the old program's.  From here to the first return to user space, or
 * to the first unwind_deferred_close(), there is no user stack.  If execve fails after this,
 * the task is killed, so nothing has to be restored.
 *
 * Context: Task context; may sleep.
 */
void unwind_deferred_exec(void)
{
	struct unwind_task_info *info = &current->unwind_info;

	deferred_close_for_good(info, -EAGAIN, CONTEXT_EXEC);
	barrier();
	WRITE_ONCE(info->refuse, 0);
}

/* The out-of-line half of unwind_deferred_exiting(). */
void __unwind_deferred_exiting(void)
{
	send_records(&current->unwind_info);
}

/**
 * unwind_deferred_exit - close the last entry context of a task that exits
 *
 * To be called as late as possible while the mm and the perf events are still there.  With
 * PF_EXITING set, the walk takes no page faults and allocates nothing.  Later requests fail with
 * -ESRCH, or with -EINVAL if the task has not returned to user space since execve: then there is
 * no user stack.
 *
 * Context: Task context; may sleep.
 */
void unwind_deferred_exit(void)
{
	struct unwind_task_info *info = &current->unwind_info;

	/* accept requests during this walk: they get its stack */
	send_records(info);
	deferred_close_for_good(info, deferred_refused(info) ?: -ESRCH, 0);
	kfree(info->entries);
	info->entries = NULL;
	info->walked = 0;
	info->nr = 0;
}

/* The caller holds the mutex. */
static struct unwind_work *client_at(unsigned int slot)
{
	return rcu_dereference_protected(clients[slot], lockdep_is_held(&clients_mutex));
}

/* Note how many entries the clients need. The caller holds the mutex. */
static void update_most_entries(void)
{
	unsigned int slot, most = 0;

	for (slot = 0; slot < nr_slots; slot++) {
		const struct unwind_work *work = client_at(slot);

		if (work && work->max_entries != UNWIND_ENTRIES_OF_OTHERS)
			most = max(most, work->max_entries ?: (unsigned int)UNWIND_MAX_ENTRIES);
	}
	WRITE_ONCE(most_entries, min_t(unsigned int, most ?: UNWIND_MAX_ENTRIES,
				       UNWIND_MAX_ENTRIES));
}

static int find_free_slot(struct unwind_work *work)
{
	int slot, found = -EBUSY;

	for (slot = UNWIND_MAX_CLIENTS - 1; slot >= 0; slot--) {
		struct unwind_work *other = client_at(slot);

		if (other == work)
			return -EEXIST;
		if (!other)
			found = slot;
	}
	return found;
}

/**
 * unwind_deferred_init - register a client
 * @work: the client; zeroed, or cancelled before
 * @func: called with each stack that the client requests
 *
 * Context: Task context; may sleep.  Must not be called from a client's function: that
 *	    would deadlock with unwind_deferred_cancel(), which holds the mutex while it
 *	    waits for the clients' functions.
 * Return: 0, -EEXIST if @work is registered already, or -EBUSY if there are
 *	   UNWIND_MAX_CLIENTS clients.
 */
int unwind_deferred_init(struct unwind_work *work, unwind_callback_t func)
{
	int slot;

	mutex_lock(&clients_mutex);
	slot = find_free_slot(work);
	if (slot >= 0) {
		if (!++last_stamp)
			++last_stamp;
		work->func = func;
		work->slot = slot;
		if (slot >= nr_slots)
			WRITE_ONCE(nr_slots, slot + 1);
		rcu_assign_pointer(clients[slot], work);
		update_most_entries();
		/*
		 * If a request sees the stamp, the round after it must see the client,
		 * nr_slots and most_entries.  Pairs with the acquire in
		 * deferred_queue_request().
		 */
		smp_store_release(&work->stamp, last_stamp);
	}
	mutex_unlock(&clients_mutex);
	return slot < 0 ? slot : 0;
}

/**
 * unwind_deferred_set_max_entries - change how many entries a client needs
 * @work: the client, registered
 * @max_entries: the most frames, or 0 for as many as fit
 *
 * Context: Task context; may sleep.  Must not be called from a client's function.
 */
void unwind_deferred_set_max_entries(struct unwind_work *work, unsigned int max_entries)
{
	mutex_lock(&clients_mutex);
	work->max_entries = max_entries;
	update_most_entries();
	mutex_unlock(&clients_mutex);
}

/**
 * unwind_deferred_cancel - remove a client
 * @work: the client; nothing happens if it is not registered
 *
 * When this returns, the client's function is not running and will not be called
 * again.  Records that were owed to it are dropped.
 *
 * Context: Task context; may sleep.  Must not be called from the client's function.
 */
void unwind_deferred_cancel(struct unwind_work *work)
{
	mutex_lock(&clients_mutex);
	if (work->stamp &&
	    rcu_access_pointer(clients[work->slot]) == work) {
		RCU_INIT_POINTER(clients[work->slot], NULL);
		synchronize_srcu(&clients_srcu);
		work->stamp = 0;
		update_most_entries();
	}
	mutex_unlock(&clients_mutex);
}

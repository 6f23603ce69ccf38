// SPDX-License-Identifier: GPL-2.0
/* Requests from many kernel contexts, among them interrupts and code that holds locks. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	7
#define DEPTH	3
#define PAGES	32

static PD_LEAF void fault_in(void)
{
	char *memory;
	int i;

	memory = (char *)pd_syscall6(SYS_mmap, 0, PAGES * 4096L, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < PAGES; i++)
		PD_WRITE(memory[i * 4096], 1);
	pd_syscall2(SYS_munmap, memory, PAGES * 4096L);
}

static int partner[2];

/* The child sets 1 when it is in its named functions. The parent sets 2 to let it go on. */
static int *phase;

static PD_LEAF void spin_turns(int turns)
{
	while (turns--)
		asm volatile("" : "+r" (turns));
}

/* Wakes a task, and drops the last reference to a file by unmapping it. */
static PD_LEAF void wake_and_unmap(void)
{
	void *memory;
	int fd;

	pd_syscall3(SYS_write, partner[1], "x", 1);
	fd = pd_syscall2(SYS_open, "/proc/self/exe", O_RDONLY);
	memory = (void *)pd_syscall6(SYS_mmap, 0, 4096L, PROT_READ, MAP_PRIVATE, fd, 0);
	pd_syscall1(SYS_close, fd);
	pd_syscall2(SYS_munmap, memory, 4096L);
	spin_turns(100000);
}

/* Run for 200 ms of CPU time, so that timer ticks interrupt this task. */
static PD_LEAF void let_ticks_pass(void)
{
	struct timespec ran;

	do {
		spin_turns(2000000);
		pd_syscall2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ran);
	} while (!PD_READ(ran.tv_sec) && PD_READ(ran.tv_nsec) < 200000000);
}

static PD_LEAF long mix_contexts(void *turns)
{
	struct timespec wait = { .tv_nsec = 500000 };
	long i;

	PD_WRITE(*phase, 1);
	while (PD_READ(*phase) < 2)
		pd_syscall2(SYS_nanosleep, &wait, NULL);

	for (i = 0; i < (long)turns; i++) {
		pd_syscall0(SYS_getppid);
		pd_syscall2(SYS_nanosleep, &wait, NULL);
		pd_syscall0(SYS_sched_yield);
		fault_in();
		wake_and_unmap();
	}
	let_ticks_pass();
	return 0;
}

static int read_for_ever(void *unused)
{
	char byte;

	(void)unused;
	while (read(partner[0], &byte, 1) == 1)
		;
	return 0;
}

static int busy_child(void *turns)
{
	struct pd_child child;

	/* stay on one CPU: another CPU would sample the wakeup in the context of another task */
	pd_pin(0, 0);
	if (pipe(partner) || pd_child_start(&child, read_for_ever, NULL))
		return 1;
	pd_child_go(&child);
	pd_call(NAME, DEPTH, mix_contexts, turns);
	return 0;
}

static int check_samples(struct pd_log *log, const char *where)
{
	size_t samples = 0, complete = 0;
	const struct pd_rec *sample = NULL, *stack;

	PD_TRY(pd_check_no_bare(log));
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		pd_user_half(log, sample, &stack);
		PD_CHECK(!stack || !pd_foreign_frame(stack, NAME), "%s: a foreign frame", where);
		complete += stack && pd_has_outermost(stack, NAME) &&
			    pd_frames_of(stack, NAME) == DEPTH + 2;
	}
	pd_note("%s: %zu samples, %zu complete", where, samples, complete);
	if (!samples)
		return pd_skip("%s was not reached", where);
	/* The exit of the child has some samples with another stack. */
	PD_CHECK((complete + 20) * 100 >= samples * 98, "%s: only %zu of %zu complete",
		 where, complete, samples);
	return PD_PASS;
}

static int sample_there(struct perf_event_attr *attr, const char *where)
{
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	int err, ret, status;

	phase = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	PD_CHECK(phase != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(pd_child_start(&child, busy_child, (void *)pd_scale(100)));
	pd_child_go(&child);
	while (PD_READ(*phase) < 1)
		pd_sleep_ms(1);
	err = pd_event_open(&event, attr, child.pid, -1, 8 * PD_PAGES);
	PD_CHECK(!err, "%s: %s", where, strerror(err));
	pd_enable(&event);
	PD_WRITE(*phase, 2);
	status = pd_child_wait(&child, 100);
	PD_CHECK(!status, "%s: the child ended with %#x", where, status);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	ret = check_samples(&log, where);
	pd_event_close(&event);
	pd_log_free(&log);
	return ret;
}

static int at_tracepoint(const char *system, const char *name)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_tracepoint(&attr, system, name));
	return sample_there(&attr, name);
}

static int at_kprobe(const char *function)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, function));
	return sample_there(&attr, function);
}

static int sched_switch(void)
{
	return at_tracepoint("sched", "sched_switch");
}

static int sched_waking(void)
{
	return at_tracepoint("sched", "sched_waking");
}

static int sched_wakeup(void)
{
	return at_tracepoint("sched", "sched_wakeup");
}

static int softirq_entry(void)
{
	return at_tracepoint("irq", "softirq_entry");
}

static int hrtimer_expire(void)
{
	return at_tracepoint("timer", "hrtimer_expire_entry");
}

static int sys_enter(void)
{
	return at_tracepoint("raw_syscalls", "sys_enter");
}

static int sys_exit(void)
{
	return at_tracepoint("raw_syscalls", "sys_exit");
}

static int page_fault(void)
{
	return at_tracepoint("exceptions", "page_fault_user");
}

static int page_alloc(void)
{
	return at_tracepoint("kmem", "mm_page_alloc");
}

static int rcu_quiescent(void)
{
	return at_tracepoint("rcu", "rcu_utilization");
}

static int task_work(void)
{
	return at_kprobe("task_work_run");
}

static int task_work_add_itself(void)
{
	return at_kprobe("task_work_add");
}

static int timer_tick(void)
{
	return at_kprobe("update_process_times");
}

/* switch_fpu_return() runs with interrupts off, after the last check of the work flags. */
static int fpu_restore(void)
{
	return at_kprobe("switch_fpu_return");
}

/*
 * The event also fires after the last check of the work flags.  The request
 * then raises an interrupt, and the event fires again on the return from that
 * interrupt.  The task must still return to user mode, and every sample must
 * have its stack.
 */
static int on_each_way_out(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	unsigned long i;

	PD_TRY(pd_attr_tracepoint(&attr, "preemptirq", "irq_enable"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < 10; i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_CHECK(pd_log_next(&log, PERF_RECORD_SAMPLE, &sample), "no sample");
	PD_TRY(pd_check_no_bare(&log));
	pd_log_free(&log);
	return PD_PASS;
}

/*
 * ret_from_fork() returns after the last check for owed records, so its return
 * must not be probed.
 */
static int return_of_fork(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	attr.config |= 1; /* on return */
	attr.kprobe_func = (__u64)(unsigned long)"schedule_tail";
	PD_CHECK(!pd_try_open(&attr), "the return of schedule_tail() cannot be probed");
	attr.kprobe_func = (__u64)(unsigned long)"ret_from_fork";
	PD_CHECK(pd_try_open(&attr), "a probe is allowed");
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(sched_switch),
	PD_TEST(sched_waking),
	PD_TEST(sched_wakeup),
	PD_TEST(softirq_entry),
	PD_TEST(hrtimer_expire),
	PD_TEST(sys_enter),
	PD_TEST(sys_exit),
	PD_TEST(page_fault),
	PD_TEST(page_alloc),
	PD_TEST(rcu_quiescent),
	PD_TEST(task_work),
	PD_TEST(task_work_add_itself),
	PD_TEST(timer_tick),
	PD_TEST(fpu_restore),
	PD_TEST(on_each_way_out),
	PD_TEST(return_of_fork),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * Threads whose stacks identify them compute, sleep, take page faults and signals, and
 * execute programs. They are sampled at 10 kHz, at 2 kHz if all CPUs are sampled, or less on
 * a slow kernel. No sample may have the stack of another thread, and nearly all stacks must
 * be complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define THREADS		PD_NAMES
#define PAGES_FAULTED	16
#define ZEROS		(1024 * 1024)
/*
 * How many percent of the samples must be complete. Less if fewer samples are
 * requested, because a burst of incomplete samples then counts more.
 */
#define COMPLETE	(pd_slow() ? 85 : 98)
/* Samples to wait for, and how many percent of them must be usable. */
#define ENOUGH		25000
#define USABLE		80
/* A slow machine takes long for so many samples. After some seconds, wait for fewer. */
#define PATIENCE	40
#define ENOUGH_IF_SLOW	6000
/* Addresses of exec_prog. */
#define PROGRAM_LOW	0x70000000ULL
#define PROGRAM_HIGH	0x78000000ULL

/* What the threads tell the process that reads their samples. */
struct shared {
	int stop;
	struct {
		__u32 tid;
		__u64 begin, end;	/* times between which its stack is the named one */
	} threads[THREADS];
};

static struct shared *shared;
static char program[512], *const program_argv[] = { program, NULL };

static unsigned int depth_of(unsigned int name)
{
	return 2 + name;
}

/* The work of the threads: one leaf function for each kind, without the C library. */
static PD_LEAF void spin_turns(unsigned int turns)
{
	unsigned int i;

	pd_frame();
	for (i = 0; i < turns; i++)
		asm volatile("" : "+r" (i));
}

static PD_LEAF void short_calls(void)
{
	int i;

	for (i = 0; i < 20; i++)
		pd_syscall0(SYS_getppid);
}

static PD_LEAF void long_call(int zero_fd, char *buffer)
{
	pd_syscall3(SYS_read, zero_fd, buffer, ZEROS);
}

static PD_LEAF void sleep_call(long ns)
{
	struct timespec wait = { .tv_nsec = ns };

	pd_syscall2(SYS_nanosleep, &wait, NULL);
}

static PD_LEAF void page_faults(void)
{
	char *memory;
	int i;

	memory = (char *)pd_syscall6(SYS_mmap, 0, PAGES_FAULTED * 4096L,
				     PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < PAGES_FAULTED; i++)
		PD_WRITE(memory[i * 4096], 1);
	pd_syscall2(SYS_munmap, memory, PAGES_FAULTED * 4096L);
}

static PD_LEAF void raise_signal(void)
{
	long pid = pd_syscall0(SYS_getpid);

	pd_syscall3(SYS_tgkill, pid, pd_syscall0(SYS_gettid), SIGUSR1);
}

/* The child of vfork() shares this frame, so it must not write to it. */
static PD_LEAF void vfork_and_exec(void)
{
	long pid = pd_syscall0(SYS_vfork);

	if (!pid) {
		pd_syscall3(SYS_execve, program, program_argv, NULL);
		pd_syscall1(SYS_exit_group, 127);
	}
	pd_syscall4(SYS_wait4, pid, NULL, 0, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
	spin_turns(200);
}

static PD_LEAF __u64 now_ns(void)
{
	struct timespec time;

	pd_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static PD_LEAF void one_of_these(unsigned int dice, int zero_fd, char *buffer)
{
	if (dice % 61 == 0)
		return vfork_and_exec();
	switch (dice % 7) {
	case 0:
		return long_call(zero_fd, buffer);
	case 1:
		return sleep_call(dice % 1000 * 2000L);
	case 2:
		return page_faults();
	case 3:
		return raise_signal();
	case 4:
	case 5:
		return short_calls();
	default:
		return spin_turns(dice % 20000);
	}
}

static PD_LEAF long thread_life(void *arg)
{
	unsigned int name = (unsigned long)arg, dice = name + 1;
	int zero_fd = pd_syscall2(SYS_open, "/dev/zero", O_RDONLY | O_CLOEXEC);
	char *buffer = (char *)pd_syscall6(SYS_mmap, 0, ZEROS, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	PD_WRITE(shared->threads[name].begin, now_ns());
	while (!PD_READ(shared->stop)) {
		dice = dice * 1103515245 + 12345;
		one_of_these(dice >> 8, zero_fd, buffer);
	}
	PD_WRITE(shared->threads[name].end, now_ns());
	return 0;
}

static void *run_thread(void *name)
{
	unsigned long n = (unsigned long)name;

	if (n % 2)
		pd_altstack();
	shared->threads[n].tid = gettid();
	pd_call(n, depth_of(n), thread_life, name);
	return NULL;
}

static int run_workload(void *unused)
{
	pthread_t threads[THREADS];
	unsigned long i;

	(void)unused;
	setpriority(PRIO_PROCESS, 0, 19);	/* so that the reader keeps up */
	pd_handle_known(SIGUSR1, on_signal, true);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)i))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* A forked child, with its parent, and the times of its fork and its execve (0: none). */
struct kid {
	__u32 tid, parent;
	__u64 born, changed;
};

struct kids {
	struct kid *of;
	size_t nr;
};

static int compare_kids(const void *a, const void *b)
{
	const struct kid *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->born < y->born ? -1 : x->born > y->born;
}

static struct kid *find_kid(struct kids *kids, __u32 tid, __u64 time)
{
	size_t low = 0, high = kids->nr;

	/* Find the last child with @tid that was born at @time or before. */
	while (low < high) {
		size_t mid = (low + high) / 2;
		struct kid *kid = &kids->of[mid];

		if (kid->tid < tid || (kid->tid == tid && kid->born <= time))
			low = mid + 1;
		else
			high = mid;
	}
	return low && kids->of[low - 1].tid == tid ? &kids->of[low - 1] : NULL;
}

static void collect_kids(struct pd_log *log, struct kids *kids)
{
	const struct pd_rec *rec = NULL;

	kids->of = calloc(pd_log_count(log, PERF_RECORD_FORK) + 1, sizeof(*kids->of));
	kids->nr = 0;
	while (pd_log_next(log, PERF_RECORD_FORK, &rec))
		kids->of[kids->nr++] = (struct kid){ rec->tid, rec->parent_tid, rec->time, 0 };
	qsort(kids->of, kids->nr, sizeof(*kids->of), compare_kids);
	while (pd_log_next(log, PERF_RECORD_COMM, &rec)) {
		struct kid *kid = find_kid(kids, rec->tid, rec->time);

		if (kid && rec->misc & PERF_RECORD_MISC_COMM_EXEC)
			kid->changed = rec->time;
	}
}

static int name_of(__u32 tid)
{
	int i;

	for (i = 0; i < THREADS; i++)
		if (tid && shared->threads[i].tid == tid)
			return i;
	return -1;
}

struct count {
	size_t samples, complete, cut, empty, bare, of_kids, of_programs, wrong;
	size_t in_order, of_changing;
};

static void note_wrong(struct count *count, const char *why, const struct pd_rec *sample,
		       const struct pd_rec *stack)
{
	if (count->wrong++ < 5) {
		pd_note("wrong: %s: tid %u, time %llu, ip %llx, misc %#x", why, sample->tid,
			sample->time, sample->ip, sample->misc);
		pd_note_stack("with", stack);
	}
}

static bool has_program(const struct pd_rec *stack)
{
	__u32 i;

	for (i = 0; i < stack->nr_user; i++)
		if (stack->user[i] >= PROGRAM_LOW && stack->user[i] < PROGRAM_HIGH)
			return true;
	return false;
}

static bool has_name(const struct pd_rec *stack)
{
	__u32 i;

	for (i = 0; i < stack->nr_user; i++)
		if (pd_frame_name(stack->user[i]) >= 0)
			return true;
	return false;
}

/*
 * True if no frame belongs to another thread, and frames of the executed program are not mixed
 * with named frames.
 */
static bool is_right(struct count *count, const struct pd_rec *sample,
		     const struct pd_rec *stack, int name)
{
	if (pd_foreign_frame(stack, name)) {
		note_wrong(count, "a foreign frame", sample, stack);
		return false;
	}
	if (has_program(stack) && has_name(stack)) {
		note_wrong(count, "frames of two programs", sample, stack);
		return false;
	}
	return true;
}

/* A sample of a thread with named frames: check that the frames are the thread's, and count it. */
static void count_named(struct count *count, const struct pd_rec *sample,
			const struct pd_rec *stack, int name)
{
	count->samples++;
	count->empty += !stack || !stack->nr_user;
	if (!stack || !is_right(count, sample, stack, name))
		return;
	if (pd_frames_of(stack, name) > depth_of(name) + 2)
		note_wrong(count, "more frames than there are", sample, stack);
	else if (pd_frames_of(stack, name) == depth_of(name) + 2 &&
		 pd_has_outermost(stack, name))
		count->complete++;
	else if (stack->nr_user && count->cut++ < 3)
		pd_note_stack("cut", stack);
}

/* A sample of a child before execve is over: its named frames must be those of its parent. */
static void count_changing(struct count *count, const struct pd_rec *sample,
			   const struct pd_rec *stack, int name)
{
	count->of_changing++;
	if (stack)
		is_right(count, sample, stack, name);
}

/* A sample of the program that was executed. */
static void count_program(struct count *count, const struct pd_rec *sample,
			  const struct pd_rec *stack)
{
	count->of_programs++;
	if (stack && has_name(stack))
		note_wrong(count, "the stack before execve", sample, stack);
}

static void count_sample(struct pd_log *log, const struct pd_rec *sample, struct kids *kids,
			 struct count *count)
{
	int name = name_of(sample->tid);
	const struct pd_rec *stack;
	struct kid *kid = NULL;
	enum pd_half half;

	if (name < 0) {
		kid = find_kid(kids, sample->tid, sample->time);
		name = kid ? name_of(kid->parent) : -1;
	} else if (sample->time < shared->threads[name].begin ||
		   sample->time > shared->threads[name].end) {
		return;
	}
	if (name < 0)
		return;
	half = pd_user_half(log, sample, &stack);
	if (half == PD_BARE && count->bare++ < 3)
		pd_note("bare: tid %u of thread %d%s, ip %llx, cookie %llx", sample->tid, name,
			kid ? " (a child)" : "", sample->ip, sample->cookie);
	if (stack && stack->nr_user && stack->user[0] != sample->ip &&
	    (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		note_wrong(count, "not where it was sampled", sample, stack);
	if (!kid)
		return count_named(count, sample, stack, name);
	count->of_kids++;
	if (kid->changed && sample->time > kid->changed)
		return count_program(count, sample, stack);
	if (kid->changed)
		return count_changing(count, sample, stack, name);
	count_named(count, sample, stack, name);
}

static int compare_recs(const void *a, const void *b)
{
	const struct pd_rec *x = *(const struct pd_rec *const *)a;
	const struct pd_rec *y = *(const struct pd_rec *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Deferred samples and records of the threads, each thread's in time order. */
static const struct pd_rec **in_time_order(struct pd_log *log, size_t *nr)
{
	const struct pd_rec *rec = NULL, **recs;

	recs = calloc(pd_log_count(log, PERF_RECORD_SAMPLE) +
		      pd_log_count(log, PD_RECORD_DEFERRED) + 1, sizeof(*recs));
	*nr = 0;
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &rec))
		if (rec->deferred && name_of(rec->tid) >= 0)
			recs[(*nr)++] = rec;
	while (pd_log_next(log, PD_RECORD_DEFERRED, &rec))
		if (name_of(rec->tid) >= 0)
			recs[(*nr)++] = rec;
	qsort(recs, *nr, sizeof(*recs), compare_recs);
	return recs;
}

/*
 * The record of an entry context is written before the thread has a sample in another entry
 * context. The clocks of two CPUs may differ, so only samples on one CPU are compared.
 */
static void check_order(struct pd_log *log, struct count *count)
{
	const struct pd_rec **recs, *last = NULL;
	size_t nr, i;

	recs = in_time_order(log, &nr);
	for (i = 0; i < nr; i++) {
		if (last && (recs[i]->tid != last->tid || recs[i]->cpu != last->cpu))
			last = NULL;
		if (recs[i]->type == PERF_RECORD_SAMPLE) {
			last = recs[i];
			continue;
		}
		count->in_order += last && recs[i]->cookie == last->cookie;
		if (last && recs[i]->cookie != last->cookie)
			note_wrong(count, "a later record", last, recs[i]);
	}
	free(recs);
}

static int check_counts(struct pd_log *log, size_t waited_for)
{
	struct count count = {};
	const struct pd_rec *sample = NULL;
	struct kids kids;

	PD_TRY(pd_log_clean(log));
	collect_kids(log, &kids);
	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample))
		count_sample(log, sample, &kids, &count);
	check_order(log, &count);
	pd_note("%zu samples, %zu complete, %zu empty, %zu bare, %zu wrong; %zu records",
		count.samples, count.complete, count.empty, count.bare, count.wrong,
		pd_log_count(log, PD_RECORD_DEFERRED));
	pd_note("%zu samples of children, %zu of these before execve, %zu after",
		count.of_kids, count.of_changing, count.of_programs);
	free(kids.of);
	PD_CHECK(!count.wrong, "%zu samples have a stack that is not theirs", count.wrong);
	PD_CHECK(count.in_order, "no record came right after its sample");
	PD_CHECK(count.samples * 100 >= waited_for * USABLE, "only %zu of %zu samples",
		 count.samples, waited_for);
	PD_CHECK(count.complete * 100 >= count.samples * COMPLETE,
		 "only %zu of %zu samples are complete", count.complete, count.samples);
	PD_CHECK(count.bare * 100 <= count.samples, "%zu samples have no record", count.bare);
	return PD_PASS;
}

/* How many samples of threads are among the records from number @from on. */
static size_t count_of_threads(const struct pd_log *log, size_t from)
{
	size_t count = 0;

	for (; from < log->nr; from++)
		count += log->recs[from].type == PERF_RECORD_SAMPLE &&
			 name_of(log->recs[from].tid) >= 0;
	return count;
}

/* Read until there are enough samples. Returns how many it has waited for. */
static size_t read_until_enough(struct pd_set *set, struct pd_log *log)
{
	long long begin = pd_now_ns(), end = begin + PATIENCE * 1000000000LL;
	size_t count = 0, counted = 0, enough = pd_scale(ENOUGH);

	while (count < enough) {
		if (pd_now_ns() > end)
			enough = pd_scale(ENOUGH_IF_SLOW);
		pd_set_drain(set, log);
		count += count_of_threads(log, counted);
		counted = log->nr;
		pd_sleep_ms(50);
	}
	pd_note("%zu samples after %lld ms", count, (pd_now_ns() - begin) / 1000000);
	return enough;
}

/* Read until the child ends: else the buffers could fill up before slow threads have ended. */
static int read_until_end(struct pd_set *set, struct pd_log *log, struct pd_child *child)
{
	long long end = pd_end_of_wait(60);
	int status;

	do {
		pd_set_drain(set, log);
		status = pd_child_wait(child, 0);
	} while (status == -1 && pd_now_ns() < end);
	return status;
}

static int record_workload(bool everything)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	size_t waited_for;
	int err, status;

	snprintf(program, sizeof(program), "%s", pd_beside("exec_prog"));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(shared != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(pd_child_start(&child, run_workload, NULL));
	/* If the reader is sampled, too, the longer it reads the more it has to read. */
	pd_attr_clock(&attr, pd_hz(everything ? 2000 : 10000));
	attr.inherit = !everything;
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	err = pd_set_open(&set, &attr, everything ? -1 : child.pid, 2048);
	PD_CHECK(!err, "perf_event_open: %s", strerror(err));
	pd_set_enable(&set);
	pd_child_go(&child);
	waited_for = read_until_enough(&set, &log);
	PD_WRITE(shared->stop, 1);
	status = read_until_end(&set, &log, &child);
	PD_CHECK(!status, "the threads ended with %#x", status);
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	return check_counts(&log, waited_for);
}

static int per_task(void)
{
	return record_workload(false);
}

static int all_cpus(void)
{
	return record_workload(true);
}

const struct pd_test pd_tests[] = {
	PD_TEST(per_task),
	PD_TEST(all_cpus),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks in place, of events that are not deferred: unwound by known rules, and learned by the task
 * on its return to user space.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_bpf.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define COUNTERS	"/sys/kernel/debug/unwind_user_in_place"
#define STEPS		12
#define NAME		3
#define DEPTH		4

static long counter(const char *name)
{
	FILE *file = fopen(COUNTERS, "r");
	char word[64];
	long value, found = -1;

	while (file && found < 0 && fscanf(file, "%63s %ld", word, &value) == 2) {
		if (!strcmp(word, name))
			found = value;
	}
	if (file)
		fclose(file);
	return found;
}

static int open_getppid(struct pd_event *event)
{
	struct perf_event_attr attr;

	PD_TRY(eh_attr(&attr));
	return eh_open_in_place(event, &attr);
}

/* Random sequences of all kinds of frames: no frame is wrong, and most stacks are whole. */
static int shuffled(void)
{
	static const eh_step kinds[] = {
		eh_deep, eh_plain, eh_pushes, eh_allocates, eh_aligned, eh_aligned_call,
		eh_aligned_allocates, eh_sorts, eh_searches, eh_based_on_rbx, eh_based_on_r15,
	};
	unsigned long rounds = pd_scale(600), i, whole = 0;
	eh_step steps[STEPS + 1];
	static struct eh_walk walk;
	struct pd_event event;
	enum eh_found found;
	unsigned int seed = 1;

	PD_TRY(open_getppid(&event));
	steps[STEPS] = eh_leaf;
	for (i = 0; i < rounds; i++) {
		for (int k = 0; k < STEPS; k++)
			steps[k] = kinds[rand_r(&seed) % ARRAY_SIZE(kinds)];
		PD_TRY(eh_run_in_place(&event, &walk, steps, &found));
		PD_CHECK(found != EH_WRONG, "a wrong frame in round %lu", i);
		whole += found == EH_WHOLE;
	}
	pd_note("%lu of %lu stacks are whole", whole, rounds);
	/* with few rounds, most steps are still to be learned */
	PD_CHECK(10 * whole >= 3 * rounds, "few stacks are whole");
	return PD_PASS;
}

/* Run the steps until the stack is whole.  A process may learn only once in 10 to 20 ms. */
static int until_whole(struct pd_event *event, struct eh_walk *walk, const eh_step *steps)
{
	enum eh_found found = EH_PART;

	for (int i = 0; i < 500 && found != EH_WHOLE; i++) {
		PD_TRY(eh_run_in_place(event, walk, steps, &found));
		PD_CHECK(found != EH_WRONG, "a wrong frame");
		if (found != EH_WHOLE)
			usleep(10000);
	}
	PD_CHECK(found == EH_WHOLE, "the stack is not learned");
	return 0;
}

static const eh_step few_steps[] = { eh_plain, eh_pushes, eh_deep, eh_plain, eh_leaf };

/* With the switch off, there are only frame pointers, which this code does not have. */
static int switched_off(void)
{
	static struct eh_walk walk;
	struct pd_event event;
	enum eh_found found;

	PD_TRY(open_getppid(&event));
	PD_TRY(until_whole(&event, &walk, few_steps));
	PD_CHECK(!pd_write_str(EH_IN_PLACE, "0"), "%s", strerror(errno));
	PD_TRY(eh_run_in_place(&event, &walk, few_steps, &found));
	pd_write_str(EH_IN_PLACE, "1");
	PD_CHECK(found != EH_WHOLE, "the stack is whole");
	return until_whole(&event, &walk, few_steps);
}

static int in_a_handler(void)
{
	static const eh_step steps[] = {
		eh_plain, eh_deep, eh_raises_usr1, eh_pushes, eh_aligned, eh_leaf,
	};
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(open_getppid(&event));
	PD_CHECK(!eh_handle(SIGUSR1, false), "sigaction: %s", strerror(errno));
	return until_whole(&event, &walk, steps);
}

/* In a uprobe's handler, where BPF programs take user stacks. */
static int at_a_uprobe(void)
{
	static struct eh_walk walk;
	struct perf_event_attr attr;
	struct pd_event event;

	PD_TRY(pd_attr_uprobe(&attr, eh_leaf, false));
	PD_TRY(eh_open_in_place(&event, &attr));
	return until_whole(&event, &walk, few_steps);
}

/* This code has a frame pointer, and calls %rsi with the same argument. */
static const unsigned char with_fp[] = {
	0x55, 0x48, 0x89, 0xe5,			/* push %rbp; mov %rsp, %rbp */
	0xff, 0xd6, 0x5d, 0xc3,			/* call *%rsi; pop %rbp; ret */
};

/* Call steps from code that is new each time. */
static long run_from_new_code(struct eh_walk *walk, const eh_step *steps)
{
	long (*made)(struct eh_walk *walk, eh_step step);
	void *code = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return -1;
	memcpy(code, with_fp, sizeof(with_fp));
	memcpy(&made, &code, sizeof(made));
	walk->steps = steps + 1;
	walk->at = 0;
	walk->nr = 0;
	walk->nr_tail = eh_tail(walk->tail);
	made(walk, steps[0]);
	return 0;
}

/*
 * The rules of the innermost frames are known, and the one of new code is not: the frame pointers
 * lead on from there.
 */
static int goes_on_by_fp(void)
{
	static const eh_step steps[] = { eh_plain, eh_deep, eh_leaf };
	const struct pd_rec *sample;
	static struct eh_walk walk;
	struct pd_log log = {};
	struct pd_event event;
	size_t known = 0;

	PD_TRY(open_getppid(&event));
	PD_TRY(until_whole(&event, &walk, steps));
	for (int i = 0; i < 5; i++) {
		pd_enable(&event);
		PD_CHECK(!run_from_new_code(&walk, steps), "mmap: %s", strerror(errno));
		pd_disable(&event);
		memset(&log, 0, sizeof(log));
		pd_drain(&event, &log);
		sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
		PD_CHECK(sample, "no sample");
		PD_CHECK(sample->nr_user > walk.nr, "%u frames", sample->nr_user);
		for (unsigned int k = 0; k < walk.nr; k++)
			PD_CHECK(sample->user[k + 1] == walk.ra[walk.nr - 1 - k],
				 "stack %d: frame %u of %u is %#llx, should be %#lx", i, k + 1,
				 sample->nr_user, sample->user[k + 1], walk.ra[walk.nr - 1 - k]);
		known += sample->nr_user > walk.nr + 2;
		pd_log_free(&log);
	}
	PD_CHECK(known == 5, "%zu of 5 stacks go on", known);
	return PD_PASS;
}

#define FRAMES	64

/* what the BPF program writes into its map */
struct result {
	__s64 bytes;
	__u64 frames[FRAMES];
};

static int load_sleepable(int results)
{
	struct bpf_insn code[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		STORE_IMM(BPF_REG_10, -8, 0),
		MAP_FD(BPF_REG_1, results),
		UPPER_HALF(),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_IF_NOT_0(BPF_REG_0, 2),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
		MOV_REG(BPF_REG_7, BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD_IMM(BPF_REG_2, offsetof(struct result, frames)),
		MOV_IMM(BPF_REG_3, FRAMES * 8),
		MOV_IMM(BPF_REG_4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
		STORE_REG(BPF_REG_7, BPF_REG_0, offsetof(struct result, bytes)),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.prog_flags = BPF_F_SLEEPABLE,
	};

	return load_program(&attr, code, ARRAY_SIZE(code), "sleepable BPF program");
}

/* A BPF program that may sleep gets the whole stack already when it is first called. */
static int first_of_a_sleepable_program(void)
{
	int results = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct result), 1);
	static struct result result;
	struct perf_event_attr attr;
	static struct eh_walk walk;
	struct pd_event event;
	struct pd_rec stack;
	int program;

	if (results < 0)
		return pd_skip("no BPF maps: %s", strerror(errno));
	PD_TRY(pd_attr_uprobe(&attr, eh_leaf, false));
	PD_TRY(eh_open_in_place(&event, &attr));
	program = load_sleepable(results);
	PD_CHECK(program >= 0, "the program is refused");
	PD_CHECK(!ioctl(event.fd, PERF_EVENT_IOC_SET_BPF, program), "SET_BPF: %s", strerror(errno));
	for (int i = 0; i < 3; i++) {
		pd_write_str("/proc/sys/vm/drop_caches", "2");
		pd_enable(&event);
		eh_run(&walk, few_steps);
		pd_disable(&event);
		PD_CHECK(!look_up(results, 0, &result), "%s", strerror(errno));
		PD_CHECK(result.bytes > 0, "bpf_get_stack: %lld", result.bytes);
		stack = (struct pd_rec) { .user = result.frames, .nr_user = result.bytes / 8 };
		PD_TRY(eh_check(&walk, &stack));
	}
	pd_event_close(&event);
	close(program);
	close(results);
	return PD_PASS;
}

#define TRACING	"/sys/kernel/tracing/"
#define USER_STACK	8	/* frames of a user stack in ftrace */

/* Read the last user stack of the trace. */
static unsigned int read_user_stack(unsigned long *frames)
{
	FILE *trace = fopen(TRACING "trace", "r");
	unsigned int nr = 0;
	char line[256];

	while (trace && fgets(line, sizeof(line), trace)) {
		if (strstr(line, "<user stack trace>"))
			nr = 0;
		else if (nr < USER_STACK && sscanf(line, " => <%lx>", &frames[nr]) == 1)
			nr++;
	}
	if (trace)
		fclose(trace);
	return nr;
}

static bool traced(const struct eh_walk *walk, const unsigned long *frames, unsigned int nr)
{
	if (nr <= walk->nr)
		return false;
	for (unsigned int i = 1; i <= walk->nr; i++)
		if (frames[i] != walk->ra[walk->nr - i])
			return false;
	return true;
}

/* ftrace's option userstacktrace */
static int in_ftrace(void)
{
	unsigned long frames[USER_STACK];
	static struct eh_walk walk;
	bool found = false;
	char tid[16];

	if (pd_read_long(EH_IN_PLACE) < 0)
		return pd_skip("no walks in place here");
	snprintf(tid, sizeof(tid), "%ld", (long)syscall(SYS_gettid));
	if (pd_write_str(TRACING "set_event_pid", tid))
		return pd_skip("no tracefs");
	PD_CHECK(!pd_write_str(TRACING "options/userstacktrace", "1"), "%s", strerror(errno));
	pd_write_str(TRACING "events/syscalls/sys_enter_getppid/enable", "1");
	for (int i = 0; i < 500 && !found; i++) {
		eh_run(&walk, few_steps);
		found = traced(&walk, frames, read_user_stack(frames));
		if (!found)
			usleep(10000);
	}
	pd_write_str(TRACING "events/syscalls/sys_enter_getppid/enable", "0");
	pd_write_str(TRACING "options/userstacktrace", "0");
	pd_write_str(TRACING "set_event_pid", "");
	PD_CHECK(found, "no trace of the stack");
	return PD_PASS;
}

/* The first samples of a cache that was freed are learned again. */
static int caches_dropped(void)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(open_getppid(&event));
	for (int i = 0; i < 5; i++) {
		PD_TRY(until_whole(&event, &walk, few_steps));
		pd_write_str("/proc/sys/vm/drop_caches", "2");
	}
	return PD_PASS;
}

/*
 * This code calls getppid() as often as %edi says.  It multiplies its stack pointer by 1, so no
 * walk can go on to its caller.
 */
static const unsigned char no_caller[] = {
	0x53, 0x89, 0xfb,			/* push %rbx; mov %edi, %ebx */
	0xb8, SYS_getppid, 0, 0, 0,		/* mov $SYS_getppid, %eax */
	0x0f, 0x05, 0xff, 0xcb, 0x75, 0xf5,	/* syscall; dec %ebx; jne to the mov */
	0x48, 0x89, 0xe1, 0x48, 0x6b, 0xc9, 1,	/* mov %rsp, %rcx; imul $1, %rcx, %rcx */
	0x48, 0x89, 0xcc, 0x5b, 0xc3,		/* mov %rcx, %rsp; pop %rbx; ret */
};

/* If nothing can be learned, the task is rarely asked to. */
static int learns_rarely(void)
{
	unsigned long calls = pd_scale(3000);
	void (*made)(unsigned int calls);
	struct pd_event event;
	long before, learned;
	void *code;

	PD_TRY(open_getppid(&event));
	before = counter("learn");
	if (before < 0)
		return pd_skip("no debugfs");
	code = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(code != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(code, no_caller, sizeof(no_caller));
	memcpy(&made, &code, sizeof(made));
	pd_enable(&event);
	made(calls);
	pd_disable(&event);
	learned = counter("learn") - before;
	pd_note("%ld walks for %lu samples", learned, calls);
	PD_CHECK(learned > 0 && (unsigned long)learned <= 10 + calls / 20, "too many or none");
	return PD_PASS;
}

static size_t outside, inside;	/* samples with a stack, and without */

/*
 * Run pd_call() with a sample at an instruction of a kernel function.  Its user half is the named
 * stack, perhaps below a handler, or empty.  Returns -1 if there is no instruction at the offset.
 */
static int at_instruction(const char *function, unsigned long offset, pd_leaf_fn leaf)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, function));
	PD_TRY(eh_deepen(&attr));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	attr.probe_offset = offset;
	if (pd_event_open(&event, &attr, 0, -1, PD_PAGES))
		return -1;
	pd_enable(&event);
	pd_call(NAME, DEPTH, leaf, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(!pd_foreign_frame(sample, NAME), "%s+%lu: a foreign frame", function,
			 offset);
		if (sample->nr_user > 3 && !pd_frames_of(sample, NAME)) {
			pd_note_stack(function, sample);
			return pd_fail("%s+%lu: a wrong stack", function, offset);
		}
		outside += sample->nr_user > 0;
		inside += !sample->nr_user;
	}
	pd_log_free(&log);
	return 0;
}

static int at_each_instruction(const char *function, pd_leaf_fn leaf)
{
	unsigned long offset, probes = 0;
	int ret;

	if (pd_read_long(EH_IN_PLACE) < 0)
		return pd_skip("no walks in place here");
	outside = 0;
	inside = 0;
	/* on a slow kernel, each probe takes a second */
	for (offset = 0; offset < 2048; offset += pd_slow() ? 7 : 1) {
		ret = at_instruction(function, offset, leaf);
		if (ret > 0)
			return ret;
		probes += !ret;
	}
	pd_note("%s: %lu instructions, %zu samples with a stack, %zu without", function, probes,
		outside, inside);
	PD_CHECK(probes > 10 && outside && (inside || pd_slow()), "not enough of these");
	return 0;
}

static void do_nothing(int sig)
{
	(void)sig;
}

static PD_LEAF long raise_usr2(void *unused)
{
	(void)unused;
	return syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2);
}

/* While a signal replaces the registers, they may be half written. */
static int while_a_signal_is_delivered(void)
{
	signal(SIGUSR2, do_nothing);
	return at_each_instruction("x64_setup_rt_frame", raise_usr2);
}

static int while_sigreturn_restores(void)
{
	signal(SIGUSR2, do_nothing);
	return at_each_instruction("restore_sigcontext", raise_usr2);
}

static int exec_program(void *unused)
{
	char *const argv[] = { (char *)pd_beside("exec_prog"), NULL };

	(void)unused;
	execv(argv[0], argv);
	return 1;
}

/* From execve to the return to user space, the registers are those of the old program. */
static int in_execve(void)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_child child;
	struct pd_log log = {};
	struct pd_event event;
	size_t samples = 0;

	PD_TRY(pd_attr_kprobe(&attr, "setup_new_exec"));
	PD_TRY(pd_child_start(&child, exec_program, NULL));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	pd_child_wait(&child, 10);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_CHECK(!sample->nr_user, "%u user frames", sample->nr_user);
	}
	PD_CHECK(samples, "no sample");
	return PD_PASS;
}

/*
 * Interrupt the cache's own writers at each of their instructions: the walk in place must neither
 * wait for the writer nor take what is half written.
 */
static int interrupts_writer(const char *function)
{
	static struct eh_walk walk;
	struct perf_event_attr attr;
	struct pd_event event, writer;
	enum eh_found found;
	size_t probes = 0, samples = 0;

	PD_TRY(open_getppid(&event));
	PD_TRY(pd_attr_kprobe(&attr, function));
	PD_TRY(eh_deepen(&attr));
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(&attr, PD_FLAG_DEFER_OUTPUT, 0);
	for (unsigned long offset = 0; offset < 512; offset += pd_slow() ? 3 : 1) {
		const struct pd_rec *sample = NULL;
		struct pd_log log = {};

		attr.probe_offset = offset;
		/* fails between the instructions, and behind the end */
		if (pd_event_open(&writer, &attr, 0, -1, PD_PAGES))
			continue;
		probes++;
		pd_write_str("/proc/sys/vm/drop_caches", "2");
		pd_enable(&writer);
		for (int i = 0; i < 3; i++) {
			PD_TRY(eh_run_in_place(&event, &walk, few_steps, &found));
			PD_CHECK(found != EH_WRONG, "a wrong frame");
		}
		pd_disable(&writer);
		pd_drain(&writer, &log);
		while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
			samples++;
			PD_CHECK(!sample->nr_user ||
				 eh_ends_in(walk.tail, walk.nr_tail, sample) ||
				 sample->nr_user <= STEPS, "%u frames", sample->nr_user);
		}
		pd_log_free(&log);
		pd_event_close(&writer);
	}
	pd_event_close(&event);
	pd_note("%s: %zu instructions, %zu samples", function, probes, samples);
	PD_CHECK(probes > 3, "no probes in %s", function);
	return 0;
}

static int writer_of_objects(void)
{
	PD_TRY(interrupts_writer("unwind_cache_add_object"));
	return interrupts_writer("unwind_rules_add");
}

const struct pd_test pd_tests[] = {
	PD_TEST(shuffled),
	PD_TEST(switched_off),
	PD_TEST(in_a_handler),
	PD_TEST(at_a_uprobe),
	PD_TEST(goes_on_by_fp),
	PD_TEST(first_of_a_sleepable_program),
	PD_TEST(in_ftrace),
	PD_TEST(caches_dropped),
	PD_TEST(learns_rarely),
	PD_TEST(while_a_signal_is_delivered),
	PD_TEST(while_sigreturn_restores),
	PD_TEST(in_execve),
	PD_TEST(writer_of_objects),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * Programs whose code has no unwind tables (no_tables_progs.S).  A stack may end early, but all its
 * frames must be true, and it must not count as complete unless it is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_test.h"

#define MARK		"!stack: "
#define MAX_FRAMES	8

/* The true stack is in the program's file, behind a mark, and ends with 0. */
static int read_true(const char *program, __u64 *frames, struct pd_rec *true_stack)
{
	static char file[1 << 16];
	int fd = open(pd_beside(program), O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, file, sizeof(file) - MAX_FRAMES * sizeof(*frames));
	const char *at = len > 0 ? memmem(file, len, MARK, strlen(MARK)) : NULL;

	close(fd);
	PD_CHECK(at, "no true stack in %s", program);
	memcpy(frames, at + strlen(MARK), MAX_FRAMES * sizeof(*frames));
	true_stack->user = frames;
	while (true_stack->nr_user < MAX_FRAMES && frames[true_stack->nr_user])
		true_stack->nr_user++;
	return 0;
}

static int execute_program(void *program)
{
	execl(pd_beside(program), program, "1", "2", "3", "4", "5", "6", "7", "8", NULL);
	return 1;
}

/* Run a program that calls a kernel function once or twice, and get the stack of the last call. */
static int sample_program(const char *program, const char *function, struct pd_event *allocs,
			  struct pd_log *log, const struct pd_rec **stack)
{
	struct perf_event_attr attr, alloc_attr;
	struct pd_event event;
	struct pd_child child;
	size_t samples;
	int status;

	PD_TRY(pd_attr_kprobe(&attr, function));
	PD_TRY(eh_deepen(&attr));
	attr.enable_on_exec = 1;
	PD_TRY(pd_attr_tracepoint(&alloc_attr, "kmem", "kmalloc"));
	alloc_attr.enable_on_exec = 1;
	PD_TRY(pd_child_start(&child, execute_program, (void *)program));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	if (allocs)
		PD_TRY(pd_watch_open(allocs, &alloc_attr, child.pid, -1));
	pd_child_go(&child);
	status = pd_child_wait(&child, 10);
	PD_CHECK(!status, "%s ended with %#x", program, status);
	pd_drain(&event, log);
	pd_event_close(&event);
	PD_TRY(pd_log_clean(log));
	samples = pd_log_count(log, PERF_RECORD_SAMPLE);
	PD_CHECK(samples == 1 || samples == 2, "%zu samples of %s", samples, program);
	pd_user_half(log, pd_log_nth(log, PERF_RECORD_SAMPLE, samples - 1), stack);
	PD_CHECK(*stack, "no stack of %s", program);
	return 0;
}

/* Check that all frames of the stack are true, and that there are at least @least of them. */
static int check_frames(const struct pd_rec *stack, const struct pd_rec *true_stack, __u32 least)
{
	if (stack->nr_user >= least && stack->nr_user <= true_stack->nr_user &&
	    !memcmp(stack->user, true_stack->user, stack->nr_user * sizeof(*stack->user)))
		return 0;
	pd_note_stack("true", true_stack);
	pd_note_stack("found", stack);
	return pd_fail("%u frames, %u are true", stack->nr_user, true_stack->nr_user);
}

static int check_sample(const char *program, const char *function, struct pd_event *allocs,
			__u32 least)
{
	struct pd_rec true_stack = {};
	const struct pd_rec *stack;
	__u64 frames[MAX_FRAMES];
	struct pd_log log = {};
	long complete;

	PD_TRY(eh_counted());
	PD_TRY(read_true(program, frames, &true_stack));
	complete = eh_counter("ends complete");
	PD_TRY(sample_program(program, function, allocs, &log, &stack));
	complete = eh_counter("ends complete") - complete;
	PD_TRY(check_frames(stack, &true_stack, least));
	PD_CHECK(stack->nr_user == true_stack.nr_user || !complete,
		 "a stack of %u frames is complete, %u are true", stack->nr_user,
		 true_stack.nr_user);
	pd_log_free(&log);
	return PD_PASS;
}

static int check_program(const char *program, __u32 least)
{
	return check_sample(program, "__x64_sys_getppid", NULL, least);
}

static int recurse(void)
{
	return check_program("no_tables_recurse", 7);
}

static int endless(void)
{
	return check_program("no_tables_endless", 3);
}

static int doubt(void)
{
	return check_program("no_tables_doubt", 1);
}

static int drop(void)
{
	return check_program("no_tables_drop", 2);
}

static int again(void)
{
	/* the frame of the second of three functions is not known */
	return check_program("no_tables_again", 2);
}

static int room(void)
{
	/* two stack pointers are possible in the third function */
	return check_program("no_tables_room", 3);
}

static int tail_call(void)
{
	return check_program("no_tables_tail_call", 1);
}

static int switch_stacks(void)
{
	return check_program("no_tables_switch_stacks", 1);
}

static int link_register(void)
{
	return check_program("no_tables_link_register", 1);
}

static int link_frame_pointer(void)
{
	return check_program("no_tables_link_frame_pointer", 1);
}

static int link_memory(void)
{
	return check_program("no_tables_link_memory", 1);
}

static int link_signal(void)
{
	return check_program("no_tables_link_signal", 1);
}

static int operands(void)
{
	return check_program("no_tables_operands", 1);
}

static int operand_stack(void)
{
	return check_program("no_tables_operand_stack", 1);
}

static int accumulator(void)
{
	return check_program("no_tables_accumulator", 1);
}

static int argument(void)
{
	return check_program("no_tables_argument", 1);
}

static int callbacks(void)
{
	return check_program("no_tables_callbacks", 1);
}

/*
 * A dying task must not allocate memory to search code.  It uses memory that the kernel has kept
 * from the searches of the tests above.
 */
static int exit_group(void)
{
	struct pd_event allocs;

	PD_TRY(check_sample("no_tables_exit_group", "do_exit", &allocs, 3));
	return pd_watch_exit(&allocs, "allocates memory");
}

/* The only thread of a process exits, by exit() instead of exit_group(). */
static int exit_thread(void)
{
	return check_sample("no_tables_exit_thread", "do_exit", NULL, 3);
}

/* The task is sampled while it exits. */
static int exiting(void)
{
	return check_sample("no_tables_exit_group", "exit_signals", NULL, 3);
}

const struct pd_test pd_tests[] = {
	PD_TEST(recurse),
	PD_TEST(endless),
	PD_TEST(doubt),
	PD_TEST(drop),
	PD_TEST(again),
	PD_TEST(room),
	PD_TEST(tail_call),
	PD_TEST(switch_stacks),
	PD_TEST(link_register),
	PD_TEST(link_frame_pointer),
	PD_TEST(link_memory),
	PD_TEST(link_signal),
	PD_TEST(operands),
	PD_TEST(operand_stack),
	PD_TEST(accumulator),
	PD_TEST(argument),
	PD_TEST(callbacks),
	PD_TEST(exit_group),
	PD_TEST(exit_thread),
	PD_TEST(exiting),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

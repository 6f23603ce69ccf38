// SPDX-License-Identifier: GPL-2.0
/* 32-bit tasks on a 64-bit kernel have user stacks, too. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_log.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_test.h"

#define FRAMES		3	/* the innermost frames, whose functions the test knows */
#define HANDLER		3
#define RESTORER	4
#define FUNCTIONS	5

typedef __u64 functions_t[FUNCTIONS][2];

struct run {
	unsigned long turns;
	const char *signal;	/* argument of the program: how signals are handled, or NULL */
};

static int output[2];

static int run_ia32(void *arg)
{
	const struct run *run = arg;
	char count[16];

	snprintf(count, sizeof(count), "%lu", run->turns);
	dup2(output[1], 1);
	execl(pd_beside("ia32_prog"), "ia32_prog", count, run->signal, NULL);
	return errno == ENOEXEC ? 77 : 78;
}

static int read_functions(functions_t functions)
{
	FILE *file;
	int i;

	close(output[1]);
	file = fdopen(output[0], "r");
	for (i = 0; i < FUNCTIONS; i++)
		PD_CHECK(fscanf(file, "%llx %llx", &functions[i][0], &functions[i][1]) == 2,
			 "the program did not print its functions");
	fclose(file);
	return 0;
}

/* Does the stack have a frame with number @frame, and is the frame in @function? */
static bool frame_in(const struct pd_rec *stack, __u32 frame, const __u64 *function)
{
	return frame < stack->nr_user && stack->user[frame] >= function[0] &&
	       stack->user[frame] < function[1];
}

/* Check that the innermost frames are in the program's functions, and that more follow. */
static int check_frames(const struct pd_rec *stack, functions_t functions)
{
	int i;

	for (i = 0; i < FRAMES; i++)
		PD_CHECK(frame_in(stack, i, functions[i]), "frame %d is not in %llx-%llx", i,
			 functions[i][0], functions[i][1]);
	PD_CHECK(stack->nr_user > FRAMES, "main() is missing");
	return 0;
}

/* Check a sample in sigreturn: its stack is one frame, in the restorer. */
static int check_restorer(const struct pd_rec *stack, functions_t functions)
{
	PD_CHECK(stack->nr_user == 1 && frame_in(stack, 0, functions[RESTORER]),
		 "this is not the stack that called sigreturn");
	return 0;
}

/*
 * Check a sample at the first instruction of the handler. No call led to the handler, so the
 * frame pointer does not lead to a caller.
 */
static int check_handler(const struct pd_rec *stack, functions_t functions)
{
	PD_CHECK(stack->nr_user > 1 && stack->user[0] == functions[HANDLER][0],
		 "this is not the handler's stack");
	return 0;
}

typedef int (*check_fn)(const struct pd_rec *stack, functions_t functions);

static int check_sample(struct pd_log *log, const struct pd_rec *sample, check_fn check,
			functions_t functions)
{
	const struct pd_rec *stack;

	PD_CHECK(sample->deferred || sample->inplace, "no user half");
	PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE, "cookie %llx has no record",
		 sample->cookie);
	if (!check(stack, functions))
		return 0;
	pd_note_stack("32-bit", stack);
	return PD_FAIL;
}

static int run_and_check(struct perf_event_attr *attr, struct run *run, check_fn check)
{
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};
	functions_t functions;
	struct pd_child child;
	struct pd_event event;
	size_t samples = 0;
	int status;

	if (access(pd_beside("ia32_prog"), X_OK))
		return pd_skip("the 32-bit program was not built");
	PD_CHECK(!pipe(output), "pipe failed");
	PD_TRY(pd_child_start(&child, run_ia32, run));
	PD_TRY(pd_must_open(&event, attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	status = pd_child_wait(&child, 60);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return pd_skip("this kernel runs no 32-bit programs");
	PD_CHECK(!status, "the 32-bit program ended with %#x", status);
	PD_TRY(read_functions(functions));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_TRY(check_sample(&log, sample, check, functions));
	}
	PD_CHECK(samples == run->turns, "%zu samples of %lu calls", samples, run->turns);
	return PD_PASS;
}

static int system_calls(void)
{
	struct run run = { .turns = pd_scale(50) };
	struct perf_event_attr attr;

	if (pd_attr_kprobe(&attr, "__ia32_sys_getppid"))
		PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	return run_and_check(&attr, &run, check_frames);
}

/* Sample at a function of signal delivery, and check the stack that the task has there. */
static int signals_with(const char *how, const char *function, check_fn check)
{
	struct run run = { .turns = pd_scale(100), .signal = how };
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, function));
	return run_and_check(&attr, &run, check);
}

static int sigreturn_entry(void)
{
	return signals_with("plain", "__ia32_compat_sys_sigreturn", check_restorer);
}

static int rt_sigreturn_entry(void)
{
	return signals_with("siginfo", "__ia32_compat_sys_rt_sigreturn", check_restorer);
}

static int sigreturn_restored(void)
{
	return signals_with("plain", "fpu__restore_sig", check_frames);
}

static int rt_sigreturn_restored(void)
{
	return signals_with("siginfo", "compat_restore_altstack", check_frames);
}

static int raising_call(void)
{
	return signals_with("plain", "__ia32_sys_kill", check_frames);
}

static int before_the_frame(void)
{
	return signals_with("plain", "ia32_setup_frame", check_frames);
}

static int before_the_rt_frame(void)
{
	return signals_with("siginfo", "ia32_setup_rt_frame", check_frames);
}

static int behind_the_frame(void)
{
	return signals_with("plain", "signal_setup_done", check_handler);
}

static int behind_the_rt_frame(void)
{
	return signals_with("siginfo", "signal_setup_done", check_handler);
}

const struct pd_test pd_tests[] = {
	PD_TEST(system_calls),
	PD_TEST(raising_call),
	PD_TEST(before_the_frame),
	PD_TEST(before_the_rt_frame),
	PD_TEST(behind_the_frame),
	PD_TEST(behind_the_rt_frame),
	PD_TEST(sigreturn_entry),
	PD_TEST(rt_sigreturn_entry),
	PD_TEST(sigreturn_restored),
	PD_TEST(rt_sigreturn_restored),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

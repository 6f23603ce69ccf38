// SPDX-License-Identifier: GPL-2.0
/* A tracer rewrites the registers while a sample waits for its record. */
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	3
#define FOREIGN	6
#define DEPTH	4

/* Made-up frames of another stack, for the frame pointer that the tracer sets. */
static unsigned long fake_frames[4];

static unsigned long nr_calls(void)
{
	return pd_scale(40);
}

static int run_tracee(void *unused)
{
	unsigned long i;

	(void)unused;
	fake_frames[0] = (unsigned long)&fake_frames[2];
	fake_frames[1] = pd_name_address(FOREIGN);
	fake_frames[3] = pd_name_address(FOREIGN);
	raise(SIGSTOP);
	for (i = 0; i < nr_calls(); i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	return 0;
}

static int set_all(pid_t pid, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_SETREGS, pid, NULL, regs);
}

static int set_one(pid_t pid, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.rbp), regs->rbp);
}

static int set_regset(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}

static int wait_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 0;
	return WSTOPSIG(status);
}

static int set_frame_pointer(pid_t pid, int (*set)(pid_t, struct user_regs_struct *),
			     unsigned long value, unsigned long *old)
{
	struct user_regs_struct regs;

	PD_CHECK(!ptrace(PTRACE_GETREGS, pid, NULL, &regs), "PTRACE_GETREGS failed");
	if (old)
		*old = regs.rbp;
	regs.rbp = value;
	PD_CHECK(!set(pid, &regs), "registers not set");
	return 0;
}

static int one_step(pid_t pid)
{
	PD_CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), "PTRACE_SINGLESTEP failed");
	PD_CHECK(wait_stop(pid) == SIGTRAP, "no stop after a step");
	return 0;
}

/*
 * At the stop after the system call, set a made-up frame pointer. One
 * instruction later, in user mode, restore the true one.
 */
static int swap_frame_pointer(pid_t pid, int (*set)(pid_t, struct user_regs_struct *))
{
	unsigned long rbp;

	PD_TRY(set_frame_pointer(pid, set, (unsigned long)fake_frames, &rbp));
	PD_TRY(one_step(pid));
	return set_frame_pointer(pid, set_all, rbp, NULL);
}

static int trace_calls(pid_t pid, int (*set)(pid_t, struct user_regs_struct *))
{
	struct user_regs_struct regs;
	bool entry = true;
	int sig;

	for (;;) {
		PD_CHECK(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL), "PTRACE_SYSCALL failed");
		sig = wait_stop(pid);
		if (!sig)
			return 0;
		PD_CHECK(sig == (SIGTRAP | 0x80), "an unexpected stop by signal %d", sig);
		PD_CHECK(!ptrace(PTRACE_GETREGS, pid, NULL, &regs), "PTRACE_GETREGS failed");
		if (!entry && set && regs.orig_rax == SYS_getppid)
			PD_TRY(swap_frame_pointer(pid, set));
		entry = !entry;
	}
}

static int traced_calls(int (*set)(pid_t, struct user_regs_struct *), bool complete)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	size_t samples = 0;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_child_start(&child, run_tracee, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	PD_CHECK(!ptrace(PTRACE_SEIZE, child.pid, NULL, PTRACE_O_TRACESYSGOOD),
		 "PTRACE_SEIZE failed");
	pd_child_go(&child);
	PD_CHECK(wait_stop(child.pid) == SIGSTOP, "the tracee did not stop");
	PD_TRY(trace_calls(child.pid, set));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		PD_TRY(complete ? pd_check_right(&log, sample, NAME, DEPTH) :
				  pd_check_right_or_none(&log, sample, NAME, DEPTH));
	}
	PD_CHECK(samples == nr_calls(), "%zu samples of %lu calls", samples, nr_calls());
	return PD_PASS;
}

/* Set a made-up frame pointer at the stop before getppid(), and the true one at the stop after. */
static int trace_from_entry(pid_t pid)
{
	struct user_regs_struct regs;
	unsigned long rbp = 0;
	bool entry = true;
	int sig;

	for (;; entry = !entry) {
		PD_CHECK(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL), "PTRACE_SYSCALL failed");
		sig = wait_stop(pid);
		if (!sig)
			return 0;
		PD_CHECK(sig == (SIGTRAP | 0x80), "an unexpected stop by signal %d", sig);
		PD_CHECK(!ptrace(PTRACE_GETREGS, pid, NULL, &regs), "PTRACE_GETREGS failed");
		if (regs.orig_rax != SYS_getppid)
			continue;
		if (entry)
			PD_TRY(set_frame_pointer(pid, set_all, (unsigned long)fake_frames, &rbp));
		else
			PD_TRY(set_frame_pointer(pid, set_all, rbp, NULL));
	}
}

/*
 * Samples in the ptrace stop. Their stacks are walked only after the stop. By then, the tracer
 * has set the saved frame pointer to a made-up frame (stop at entry) or restored it (at exit).
 */
static int asked_in_stop(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	size_t samples = 0, without = 0;
	enum pd_half half;

	PD_TRY(pd_attr_kprobe(&attr, "cgroup_enter_frozen"));
	PD_TRY(pd_child_start(&child, run_tracee, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	PD_CHECK(!ptrace(PTRACE_SEIZE, child.pid, NULL, PTRACE_O_TRACESYSGOOD),
		 "PTRACE_SEIZE failed");
	pd_child_go(&child);
	PD_CHECK(wait_stop(child.pid) == SIGSTOP, "the tracee did not stop");
	pd_enable(&event);
	PD_TRY(trace_from_entry(child.pid));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		samples++;
		half = pd_user_half(&log, sample, &stack);
		PD_CHECK(half != PD_BARE, "cookie %llx has no record", sample->cookie);
		if (!stack || !stack->nr_user) {
			without += half == PD_STITCHED;
			continue;
		}
		PD_CHECK(!pd_foreign_frame(stack, NAME), "the tracer's frame: %llx",
			 pd_foreign_frame(stack, NAME));
		PD_CHECK(!pd_frames_of(stack, NAME), "unwound with changed registers");
	}
	PD_CHECK(samples >= 2 * nr_calls(), "%zu samples at the stops of %lu calls", samples,
		 nr_calls());
	PD_CHECK(without >= nr_calls(), "%zu of %lu calls have a record without a stack", without,
		 nr_calls());
	return PD_PASS;
}

static int only_watched(void)
{
	return traced_calls(NULL, true);
}

static int setregs(void)
{
	return traced_calls(set_all, false);
}

static int pokeuser(void)
{
	return traced_calls(set_one, false);
}

static int setregset(void)
{
	return traced_calls(set_regset, false);
}

const struct pd_test pd_tests[] = {
	PD_TEST(only_watched),
	PD_TEST(setregs),
	PD_TEST(pokeuser),
	PD_TEST(setregset),
	PD_TEST(asked_in_stop),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

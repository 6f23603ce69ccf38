// SPDX-License-Identifier: GPL-2.0
/* System calls for which a seccomp filter returns an error, traps or kills. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_signal.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	5
#define DEPTH	4

static int install_filter(unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void on_sigsys(int sig)
{
	(void)sig;
}

/* Exits with 77 if the filter cannot be installed. */
static int call_filtered(void *action)
{
	struct rlimit no_core = {};
	int i;

	setrlimit(RLIMIT_CORE, &no_core);
	pd_handle(SIGSYS, on_sigsys, false);
	if (install_filter((unsigned int)(unsigned long)action))
		return 77;
	for (i = 0; i < 20; i++)
		pd_call(NAME, DEPTH, pd_leaf_getppid, NULL);
	return 0;
}

static bool is_named(struct pd_log *log, const struct pd_rec *sample)
{
	const struct pd_rec *stack;

	pd_user_half(log, sample, &stack);
	return stack && pd_frames_of(stack, NAME);
}

static int with_action(unsigned long action, int expected_status, size_t expected)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	size_t named = 0;
	int status;

	PD_TRY(pd_attr_kprobe(&attr, "__secure_computing"));
	PD_TRY(pd_child_start(&child, call_filtered, (void *)action));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	status = pd_child_wait(&child, 60);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return pd_skip("no seccomp filters here");
	PD_CHECK(status == expected_status, "ended with %#x instead of %#x", status,
		 expected_status);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(pd_check_no_bare(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		if (!is_named(&log, sample))
			continue;
		named++;
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	}
	PD_CHECK(named == expected, "%zu samples with the stack instead of %zu", named, expected);
	return PD_PASS;
}

static int allow(void)
{
	return with_action(SECCOMP_RET_ALLOW, 0, 20);
}

static int answer_errno(void)
{
	return with_action(SECCOMP_RET_ERRNO | EPERM, 0, 20);
}

static int trap(void)
{
	return with_action(SECCOMP_RET_TRAP, 0, 20);
}

static int kill_thread(void)
{
	return with_action(SECCOMP_RET_KILL_THREAD, SIGSYS, 1);
}

static int kill_process(void)
{
	return with_action(SECCOMP_RET_KILL_PROCESS, SIGSYS, 1);
}

const struct pd_test pd_tests[] = {
	PD_TEST(allow),
	PD_TEST(answer_errno),
	PD_TEST(trap),
	PD_TEST(kill_thread),
	PD_TEST(kill_process),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

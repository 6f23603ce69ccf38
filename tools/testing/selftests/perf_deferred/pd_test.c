// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_test.h"

/* Time limit of a test: even on a busy machine, only a test that hangs reaches it. */
#define TEST_SECONDS 1800

#define SLOW_HZ 400

static void print_comment(const char *fmt, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, args);
	printf("# %s\n", line);
	fflush(stdout);
}

int pd_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_comment(fmt, args);
	va_end(args);
	return PD_FAIL;
}

int pd_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_comment(fmt, args);
	va_end(args);
	return PD_SKIP;
}

void pd_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_comment(fmt, args);
	va_end(args);
}

unsigned long pd_scale(unsigned long count)
{
	const char *env = getenv("PERF_DEFERRED_SCALE");
	double scaled = count * (env ? atof(env) : 1.0);

	return scaled < 1 ? 1 : (unsigned long)scaled;
}

bool pd_slow(void)
{
	return pd_scale(100) < 25;
}

unsigned int pd_hz(unsigned int hz)
{
	return pd_slow() && hz > SLOW_HZ ? SLOW_HZ : hz;
}

/* A test that hangs is killed with all its children, and fails. */
static int wait_for_test(pid_t pid)
{
	const struct timespec tick = { .tv_nsec = 20 * 1000 * 1000 };
	time_t end = time(NULL) + TEST_SECONDS;
	int status;

	while (time(NULL) < end) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			kill(-pid, SIGKILL);
			if (WIFEXITED(status))
				return WEXITSTATUS(status);
			return pd_fail("killed by signal %d", WTERMSIG(status));
		}
		nanosleep(&tick, NULL);
	}
	kill(-pid, SIGKILL);
	return pd_fail("still running after %d s", TEST_SECONDS);
}

static int run_one(const struct pd_test *test)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return pd_fail("fork: %s", strerror(errno));
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(test->run());
	}
	setpgid(pid, pid);
	return wait_for_test(pid);
}

#define TIME_PERCENT "/proc/sys/kernel/perf_cpu_time_max_percent"

/* Do not let the kernel lower sampling rates on a slow machine. Return the old setting. */
static long set_time_percent(long percent)
{
	long before = pd_read_long(TIME_PERCENT);
	char text[16];

	snprintf(text, sizeof(text), "%ld", percent);
	if (before >= 0)
		pd_write_str(TIME_PERCENT, text);
	return before;
}

PD_ATTR(weak) const char *pd_unmet(void)
{
	return pd_supported() ? NULL : "this kernel does not defer user callchains";
}

int main(void)
{
	const char *unmet = pd_unmet();
	long time_percent;
	size_t i;

	ksft_print_header();
	if (unmet)
		ksft_exit_skip("%s\n", unmet);
	ksft_set_plan(pd_nr_tests);
	time_percent = set_time_percent(0);
	for (i = 0; i < pd_nr_tests; i++) {
		int ret = run_one(&pd_tests[i]);

		if (ret == PD_SKIP)
			ksft_test_result_skip("%s\n", pd_tests[i].name);
		else
			ksft_test_result(ret == PD_PASS, "%s\n", pd_tests[i].name);
	}
	if (time_percent >= 0)
		set_time_percent(time_percent);
	ksft_finished();
}

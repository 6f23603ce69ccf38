// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pd_compiler.h"
#include "pd_proc.h"
#include "pd_test.h"

static int *my_words;

int pd_child_start(struct pd_child *child, int (*fn)(void *arg), void *arg)
{
	int pipe_fds[2];
	char byte;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return pd_fail("pipe2: %s", strerror(errno));
	child->said = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(child->said != MAP_FAILED, "mmap: %s", strerror(errno));
	fflush(stdout);
	child->pid = fork();
	if (child->pid < 0)
		return pd_fail("fork: %s", strerror(errno));
	if (!child->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipe_fds[1]);
		my_words = child->said;
		while (read(pipe_fds[0], &byte, 1) < 0 && errno == EINTR)
			;
		_exit(fn(arg));
	}
	close(pipe_fds[0]);
	child->go = pipe_fds[1];
	return 0;
}

void pd_child_go(struct pd_child *child)
{
	close(child->go);
}

long long pd_end_of_wait(int seconds)
{
	return pd_now_ns() + seconds * 10 * 1000000000LL;
}

int pd_child_wait(struct pd_child *child, int seconds)
{
	long long end = pd_end_of_wait(seconds);
	int status;

	do {
		if (waitpid(child->pid, &status, WNOHANG) == child->pid)
			return status;
		pd_sleep_ms(5);
	} while (pd_now_ns() < end);
	return -1;
}

const char *pd_beside(const char *name)
{
	static char path[512];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return name;
	path[len] = 0;
	slash = strrchr(path, '/');
	snprintf(slash + 1, sizeof(path) - (slash + 1 - path), "%s", name);
	return path;
}

static char state_of(pid_t tid)
{
	char path[64], line[512], *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	at = fgets(line, sizeof(line), file);
	fclose(file);
	at = at ? strrchr(line, ')') : NULL;
	return at ? at[2] : 0;
}

void pd_child_says(void)
{
	PD_WRITE(*my_words, *my_words + 1);
}

static bool wait_for(struct pd_child *child, int n, int seconds, bool asleep)
{
	long long end = pd_end_of_wait(seconds);

	do {
		if (PD_READ(*child->said) >= n && (!asleep || state_of(child->pid) == 'S'))
			return true;
		pd_sleep_ms(2);
	} while (pd_now_ns() < end);
	return false;
}

bool pd_child_wait_said(struct pd_child *child, int n, int seconds)
{
	return wait_for(child, n, seconds, false);
}

bool pd_child_wait_sleep(struct pd_child *child, int n, int seconds)
{
	return wait_for(child, n, seconds, true);
}

bool pd_wait_asleep(const pid_t *tid, int seconds)
{
	long long end = pd_end_of_wait(seconds);

	while (!PD_READ(*tid) || state_of(*tid) != 'S') {
		if (pd_now_ns() >= end)
			return false;
		pd_sleep_ms(2);
	}
	return true;
}

void pd_pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

int pd_online_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

long long pd_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void pd_sleep_ms(unsigned int ms)
{
	struct timespec wait = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	nanosleep(&wait, NULL);
}

static bool have_swap(void)
{
	char line[256];
	FILE *file = fopen("/proc/swaps", "r");
	int lines = 0;

	while (file && fgets(line, sizeof(line), file))
		lines++;
	if (file)
		fclose(file);
	return lines > 1;
}

bool pd_make_swap(void)
{
	static const char * const commands[] = {
		"echo 64M >/sys/block/zram0/disksize; mkswap /dev/zram0 && swapon /dev/zram0",
		"mkswap /dev/ram0 && swapon /dev/ram0",
	};
	char command[160];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands) && !have_swap(); i++) {
		snprintf(command, sizeof(command), "{ %s; } >/dev/null 2>&1", commands[i]);
		if (system(command))
			continue;
	}
	return have_swap();
}

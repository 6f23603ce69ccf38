// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the operations to which the series adds code, while nothing defers. Prints the
 * instructions of each operation. Run it in a VM whose clock advances by one nanosecond for
 * each instruction, once on a kernel with the options and once on a kernel without them.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096
#define ROUNDS	7

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void system_calls(int nr)
{
	while (nr--)
		syscall(SYS_getppid);
}

/* Two processes that wait for each other in turn. */
static void switches(int nr)
{
	int to[2], from[2];
	char c = 0;

	if (pipe(to) || pipe(from))
		die("pipe");
	if (!fork()) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1)
			if (write(from[1], &c, 1) != 1)
				break;
		_exit(0);
	}
	for (nr /= 2; nr--;)
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			die("pipe");
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(from[1]);
	wait(NULL);
}

static void page_faults(int nr)
{
	char *p = mmap(NULL, (size_t)nr * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, (size_t)nr * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < nr; i++)
		p[(size_t)i * PAGE] = 1;
	munmap(p, (size_t)nr * PAGE);
}

static void handler(int sig)
{
	(void)sig;
}

static void signals(int nr)
{
	signal(SIGUSR1, handler);
	while (nr--)
		raise(SIGUSR1);
}

static void mappings(int nr)
{
	while (nr--) {
		void *p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || mprotect(p, PAGE, PROT_READ) || munmap(p, PAGE))
			die("mmap");
	}
}

static void processes(int nr)
{
	while (nr--) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			die("fork");
	}
}

static void programs(int nr)
{
	while (nr--) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/proc/self/exe", "bench-idle", "nothing", NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			die("vfork");
	}
}

static const struct work {
	const char *name;
	void (*run)(int nr);
	int nr;
} works[] = {
	{ "system call", system_calls, 2000 },
	{ "switch", switches, 2000 },
	{ "page fault", page_faults, 1000 },
	{ "signal", signals, 1000 },
	{ "mmap, mprotect, munmap", mappings, 1000 },
	{ "fork, exit", processes, 100 },
	{ "vfork, execve, exit", programs, 50 },
};

/* Take the shortest of ROUNDS rounds: it has the fewest timer interrupts. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		uint64_t best = UINT64_MAX;

		for (int round = 0; round < ROUNDS; round++) {
			uint64_t start = now(), took;

			works[i].run(works[i].nr);
			took = now() - start;
			if (took < best)
				best = took;
		}
		printf("%s|%llu\n", works[i].name,
		       (unsigned long long)best / works[i].nr);
	}
	return 0;
}

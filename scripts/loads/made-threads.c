// SPDX-License-Identifier: GPL-2.0
/*
 * made-threads THREADS SECONDS: THREADS threads compute, each 20 calls deep in
 * writable code that was generated at run time.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	20
#define BYTES	32

/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; movabs $next,%rax; call *%rax; leave; ret */
static const unsigned char made[BYTES] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
	0xff, 0xd0, 0xc9, 0xc3,
};

#define NEXT	10	/* offset of the address of the next function */

static unsigned char *code;
static time_t end;
static pthread_barrier_t done;

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void compute(void)
{
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
	} while (now() < end);
}

static void make_code(void)
{
	uintptr_t next = (uintptr_t)compute;
	int i;

	code = mmap(NULL, DEPTH * BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	for (i = DEPTH - 1; i >= 0; i--) {
		memcpy(code + i * BYTES, made, sizeof(made));
		memcpy(code + i * BYTES + NEXT, &next, sizeof(next));
		next = (uintptr_t)code + i * BYTES;
	}
}

static void *run(void *unused)
{
	void (*first)(void);

	memcpy(&first, &code, sizeof(first));
	first();
	/* a thread that exits gives back its stack, so it would be sampled without one */
	pthread_barrier_wait(&done);
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	int i, nr = argc == 3 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (nr <= 0 || pthread_barrier_init(&done, NULL, nr + 1))
		errx(1, "usage: made-threads THREADS SECONDS");
	end = now() + atoi(argv[2]);
	make_code();
	for (i = 0; i < nr; i++) {
		if (pthread_create(&thread, NULL, run, NULL))
			err(1, "pthread_create");
	}
	pthread_barrier_wait(&done);
	return 0;
}

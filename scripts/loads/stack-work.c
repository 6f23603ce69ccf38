// SPDX-License-Identifier: GPL-2.0
/*
 * A load to sample: threads with deep stacks that run their own code and the C library,
 * in user space and in the kernel.
 *
 *	stack-work THREADS FRAMES BYTES MILLISECONDS [alone]
 *
 * Each thread calls through FRAMES functions. Their frames are larger than 1000 bytes if BYTES is
 * at least 1000, and small otherwise.
 * With "alone" the threads run only their own code and the kernel, not the library, because
 * the library has no frame pointers.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS	512

static int zeros, frames, bytes;
static bool alone;
static volatile bool stop;

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) unsigned int mix(unsigned int *numbers, unsigned int seed)
{
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] ^= seed = seed * 1103515245 + 12345;
	return seed + numbers[seed % NUMBERS];
}

static long read_zeros(unsigned int *numbers, unsigned long bytes)
{
	long ret;

#ifdef __x86_64__
	__asm__ volatile("syscall" : "=a" (ret) : "0" (0), "D" (zeros), "S" (numbers), "d" (bytes)
			 : "rcx", "r11", "memory");
#else
	__asm__ volatile("int $0x80" : "=a" (ret) : "0" (3), "b" (zeros), "c" (numbers),
			 "d" (bytes) : "memory");
#endif
	return ret;
}

static __attribute__((noinline)) unsigned int work_alone(unsigned int seed)
{
	unsigned int numbers[NUMBERS];

	while (!stop) {
		for (int i = 0; i < 20; i++)
			seed = mix(numbers, seed);
		if (read_zeros(numbers, sizeof(numbers)) < 0)
			break;
	}
	return seed;
}

static __attribute__((noinline)) unsigned int work(unsigned int seed)
{
	int numbers[NUMBERS];
	char text[64];

	if (alone)
		return work_alone(seed);
	while (!stop) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = seed = seed * 1103515245 + 12345;
		qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
		seed += snprintf(text, sizeof(text), "%f", numbers[0] / 3.0);
		if (read(zeros, numbers, sizeof(numbers)) < 0)
			break;
	}
	return seed;
}

static unsigned int even(int depth, unsigned int seed);
static unsigned int wide(int depth, unsigned int seed);

/* The empty asm statements keep the frame's size, and prevent a tail call. */
#define FUNCTION(name, bytes, next)							\
	static __attribute__((noinline)) unsigned int name(int depth, unsigned int seed)	\
	{										\
		char room[bytes];							\
		unsigned int ret;							\
											\
		memset(room, seed, sizeof(room));					\
		__asm__ volatile("" : : "r" (room) : "memory");			\
		ret = depth > 1 ? next(depth - 1, seed) : work(seed);			\
		__asm__ volatile("" : : "r" (room) : "memory");			\
		return ret + room[0];							\
	}

FUNCTION(odd, 24, even)
FUNCTION(even, 8, odd)
FUNCTION(wide, 1000, wide)

static void *thread(void *seed)
{
	unsigned int ret = (bytes < 1000 ? odd : wide)(frames, (uintptr_t)seed);

	return (void *)(uintptr_t)ret;
}

int main(int argc, char **argv)
{
	int threads = argc >= 5 ? atoi(argv[1]) : 0;
	struct timespec span;
	pthread_t *ids;

	if (threads <= 0) {
		fprintf(stderr, "usage: stack-work THREADS FRAMES BYTES MILLISECONDS [alone]\n");
		return 2;
	}
	frames = atoi(argv[2]);
	bytes = atoi(argv[3]);
	span.tv_sec = atoi(argv[4]) / 1000;
	span.tv_nsec = atoi(argv[4]) % 1000 * 1000000L;
	alone = argc > 5;
	zeros = open("/dev/zero", O_RDONLY);
	ids = calloc(threads, sizeof(*ids));
	if (zeros < 0 || !ids)
		return 1;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)(i + 1)))
			return 1;
	nanosleep(&span, NULL);
	stop = true;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

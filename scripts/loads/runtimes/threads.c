// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads at the bottom of deep stacks, two of them busy at a time: something to sample.
 *
 *	threads THREADS FRAMES MILLISECONDS
 *
 * Each begins in thread(), and calls odd() and even() in turn, FRAMES functions in all, then
 * work(), which sorts with compare().
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NUMBERS	200
#define BUSY	2

static int threads, frames;
static sem_t *turns;
static volatile bool stop;

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) unsigned int work(int id)
{
	int numbers[NUMBERS], seed = id;

	do {
		sem_wait(&turns[id]);
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = seed = seed * 1103515245u + 12345;
		qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
		sem_post(&turns[(id + BUSY) % threads]);
	} while (!stop);
	return seed;
}

static unsigned int even(int depth, int id);

/* The empty asm statements keep the array, and prevent a tail call. */
#define FUNCTION(name, bytes, next)								\
	static __attribute__((noinline)) unsigned int name(int depth, int id)		\
	{										\
		char room[bytes];								\
		unsigned int ret;							\
											\
		memset(room, id, sizeof(room));					\
		__asm__ volatile("" : : "r" (room) : "memory");			\
		ret = depth > 1 ? next(depth - 1, id) : work(id);			\
		__asm__ volatile("" : : "r" (room) : "memory");			\
		return ret + room[0];							\
	}

FUNCTION(odd, 24, even)
FUNCTION(even, 8, odd)

static void *thread(void *id)
{
	unsigned int ret = odd(frames, (uintptr_t)id);

	return (void *)(uintptr_t)ret;
}

int main(int argc, char **argv)
{
	struct timespec span;
	pthread_t *ids;

	threads = argc > 3 ? atoi(argv[1]) : 0;
	if (threads < BUSY)
		return 2;
	frames = atoi(argv[2]);
	span.tv_sec = atoi(argv[3]) / 1000;
	span.tv_nsec = atoi(argv[3]) % 1000 * 1000000L;
	ids = calloc(threads, sizeof(*ids));
	turns = calloc(threads, sizeof(*turns));
	if (!ids || !turns)
		return 1;
	for (int i = 0; i < threads; i++) {
		sem_init(&turns[i], 0, 0);
		if (pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)i))
			return 1;
	}
	for (int i = 0; i < BUSY; i++)
		sem_post(&turns[i]);
	nanosleep(&span, NULL);
	stop = true;
	for (int i = 0; i < threads; i++)
		sem_post(&turns[i]);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

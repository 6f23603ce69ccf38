// SPDX-License-Identifier: GPL-2.0
/*
 * A program with many threads or many shared objects. Sorts at the end of 10 to 19 nested calls.
 *
 *	many threads NUMBER	in each thread
 *	many objects FILE...	in one thread, through functions of these objects (many-object.c)
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WORDS	200
#define ROUNDS	30000	/* of all threads together */

typedef int work_fn(int depth, unsigned int seed);
typedef int through_fn(work_fn *work, int depth, unsigned int seed);

static through_fn **through;	/* a function of each object */
static unsigned int nr_objects, rounds;

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int sort(unsigned int seed)
{
	int words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = (seed * 7919 + i * 104729) % 1009;
	qsort(words, WORDS, sizeof(*words), compare);
	return words[seed % WORDS];
}

static int work(int depth, unsigned int seed)
{
	if (!depth)
		return sort(seed);
	if (nr_objects)
		return through[(seed * 19 + depth) % nr_objects](work, depth - 1, seed) + depth;
	return work(depth - 1, seed) + depth;
}

static void *run(void *arg)
{
	unsigned int first = (unsigned long)arg, sum = 0;

	for (unsigned int i = 0; i < rounds; i++)
		sum += work(10 + i % 10, first + i);
	return (void *)(unsigned long)sum;
}

static void run_threads(unsigned int nr)
{
	pthread_t threads[nr];

	rounds = ROUNDS / nr;
	for (unsigned long i = 0; i < nr; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			errx(1, "pthread_create");
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void run_objects(char **files, unsigned int nr)
{
	through = calloc(nr, sizeof(*through));
	for (unsigned int i = 0; i < nr; i++) {
		void *object = dlopen(files[i], RTLD_NOW);
		void *function = object ? dlsym(object, "through") : NULL;

		if (!function)
			errx(1, "%s", dlerror());
		memcpy(&through[i], &function, sizeof(function));
	}
	nr_objects = nr;
	rounds = ROUNDS;
	run(NULL);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "threads") && atoi(argv[2]) > 0)
		run_threads(atoi(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "objects"))
		run_objects(argv + 2, argc - 2);
	else
		errx(1, "usage: many threads NUMBER | many objects FILE...");
	return 0;
}

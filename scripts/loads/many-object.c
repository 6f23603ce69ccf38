// SPDX-License-Identifier: GPL-2.0
/* A shared object whose function calls back. many.c loads many copies of it. */

typedef int work_fn(int depth, unsigned int seed);

int through(work_fn *work, int depth, unsigned int seed);

int through(work_fn *work, int depth, unsigned int seed)
{
	return work(depth, seed) + 1;
}

// SPDX-License-Identifier: GPL-2.0
/* wine64 work-wine.exe MILLISECONDS: a Windows program, busy at the bottom of a recursion. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#define NUMBERS	500

static volatile unsigned int sink;

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) unsigned int work(unsigned int seed)
{
	int numbers[NUMBERS];
	char text[64];

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = seed = seed * 1103515245 + 12345;
	qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
	sprintf(text, "%f", numbers[0] / 3.0);
	return seed + text[0];
}

static __attribute__((noinline)) unsigned int walk(int n, unsigned int seed)
{
	unsigned int ret = n ? walk(n - 1, seed) : work(seed);

	sink = ret;
	return ret + 1;
}

int main(int argc, char **argv)
{
	DWORD end = GetTickCount() + (argc > 1 ? atoi(argv[1]) : 1000);
	unsigned int seed = 1;

	while ((int)(end - GetTickCount()) > 0)
		seed = walk(10, seed);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A Windows program that is busy at the bottom of a recursion: something to sample in Wine.
 *
 *	work-wine.exe FRAMES MILLISECONDS
 *
 * main() calls thread(), which calls odd() and even() in turn, FRAMES functions in all, then
 * work(). WriteFile() enters the Unix side of Wine, which has a stack of its own.
 */
#include <windows.h>
#include <stdlib.h>

#define FUNCTION	__attribute__((noinline)) int
#define NUMBERS		200

static ULONGLONG stop;
static HANDLE file;
static volatile int kept;

FUNCTION even(int depth, int seed);

FUNCTION mix(int *numbers, int seed)
{
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] ^= seed = seed * 1103515245u + 12345;
	return seed;
}

FUNCTION work(int seed)
{
	int numbers[NUMBERS] = { 0 };
	DWORD done;

	while (GetTickCount64() < stop) {
		for (int i = 0; i < 200; i++)
			seed = mix(numbers, seed);
		for (int i = 0; i < 10; i++)
			WriteFile(file, numbers, sizeof(numbers), &done, NULL);
	}
	return seed;
}

FUNCTION odd(int depth, int seed)
{
	return (depth > 1 ? even(depth - 1, seed) : work(seed)) + 1;
}

FUNCTION even(int depth, int seed)
{
	return (depth > 1 ? odd(depth - 1, seed) : work(seed)) + 2;
}

FUNCTION thread(int depth)
{
	return odd(depth, 1) + 1;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	file = CreateFileA("NUL", GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
	stop = GetTickCount64() + atoi(argv[2]);
	kept = thread(atoi(argv[1]));
	return 0;
}

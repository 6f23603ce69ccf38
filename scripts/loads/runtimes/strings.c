// SPDX-License-Identifier: GPL-2.0
/*
 * The C library's functions written in assembly, each called in a loop: something to sample.
 *
 *	strings MILLISECONDS
 *
 * For each function of the library, this program has a function that calls it. main() calls
 * work(), which calls these functions. So a stack has the library's function, its caller in
 * this program, work() and main().
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define SIZE	20000

static char *from, *to;
static wchar_t *wide;

/* The empty asm statement keeps the call, and prevents a tail call. */
#define CALL(name, call)					\
	static __attribute__((noinline)) void use_##name(size_t n)	\
	{							\
		(void)n;						\
		__asm__ volatile("" : : "r" (call) : "memory");	\
	}

CALL(memcpy, memcpy(to, from, n))
CALL(memmove, memmove(from + 1, from, n))
CALL(memmove_back, memmove(from, from + 1, n))
CALL(memset, memset(to, n, n))
CALL(memchr, memchr(from, 1, n))
CALL(memrchr, memrchr(from, 1, n))
CALL(rawmemchr, rawmemchr(from, 0))
CALL(memcmp, (long)memcmp(from, from + SIZE, n))
CALL(strlen, strlen(from))
CALL(strnlen, strnlen(from, n))
CALL(strchr, strchr(from, 1))
CALL(strrchr, strrchr(from, 1))
CALL(strcmp, (long)strcmp(from, from + SIZE))
CALL(strncmp, (long)strncmp(from, from + SIZE, n))
CALL(strcasecmp, (long)strcasecmp(from, from + SIZE))
CALL(strcpy, strcpy(to, from))
CALL(strncpy, strncpy(to, from, n))
CALL(strcat, (to[0] = 0, strcat(to, from)))
CALL(strstr, strstr(from, "xyzq"))
CALL(strspn, strspn(from, "xyz"))
CALL(wcslen, wcslen(wide))
CALL(wmemset, wmemset(wide, 'w', n / 4))

#define EACH(name)	use_##name,
static void (*const calls[])(size_t n) = {
	EACH(memcpy) EACH(memmove) EACH(memmove_back) EACH(memset) EACH(memchr) EACH(memrchr)
	EACH(rawmemchr) EACH(memcmp) EACH(strlen) EACH(strnlen) EACH(strchr) EACH(strrchr)
	EACH(strcmp) EACH(strncmp) EACH(strcasecmp) EACH(strcpy) EACH(strncpy) EACH(strcat)
	EACH(strstr) EACH(strspn) EACH(wcslen) EACH(wmemset)
};

static const size_t sizes[] = { 0, 1, 7, 15, 31, 40, 100, 200, 300, 1000, 4000, SIZE - 2 };

static long long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static __attribute__((noinline)) void work(long long until)
{
	do {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			size_t n = sizes[s];
			int times = 1 + 400 / (n + 1);

			memset(from, 'x', SIZE * 2);
			from[n] = 0;
			from[SIZE + n] = 0;
			wmemset(wide, 'w', SIZE / 4);
			wide[n / 4] = 0;
			for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
				for (int t = 0; t < times; t++)
					calls[i](n);
		}
	} while (milliseconds() < until);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	from = calloc(2, SIZE + 64);
	to = calloc(2, SIZE + 64);
	wide = calloc(2, SIZE + 64);
	if (!from || !to || !wide)
		return 1;
	work(milliseconds() + atoi(argv[1]));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a user callchain in place. To be run in a VM whose clock advances by one
 * nanosecond for each instruction. Build it without frame pointers.
 *
 *	bench-place
 *
 * A system call is sampled at several depths of calls. Prints for each depth what a sample costs
 * more than one without a user stack: with kernel.unwind_user_in_place off, on, and on with code
 * that has no unwind tables and no frame pointers, whose stacks can never be unwound. The last line
 * is the cost of a frame.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench-event.h"

#define SWITCH	"/proc/sys/kernel/unwind_user_in_place"
#define CALLS	1000
#define ROUNDS	7

static uint64_t spent;

static void set(int on)
{
	FILE *f = fopen(SWITCH, "w");

	if (!f || fprintf(f, "%d", on) < 0 || fclose(f))
		die(SWITCH);
}

static void many_calls(void)
{
	uint64_t start = now();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	spent = now() - start;
}

/*
 * This code calls getppid() CALLS times. It multiplies its stack pointer by 1, so nobody can tell
 * where its return address is.
 */
static void no_caller(void)
{
	static const unsigned char code[] = {
		0x53, 0x89, 0xfb,			/* push %rbx; mov %edi, %ebx */
		0xb8, SYS_getppid, 0, 0, 0,		/* mov $SYS_getppid, %eax */
		0x0f, 0x05, 0xff, 0xcb, 0x75, 0xf5,	/* syscall; dec %ebx; jne to the mov */
		0x48, 0x89, 0xe1, 0x48, 0x6b, 0xc9, 1,	/* mov %rsp, %rcx; imul $1, %rcx, %rcx */
		0x48, 0x89, 0xcc, 0x5b, 0xc3,		/* mov %rcx, %rsp; pop %rbx; ret */
	};
	static void (*made)(int calls);
	uint64_t start;

	if (!made) {
		made = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (made == MAP_FAILED)
			die("mmap");
		memcpy(made, code, sizeof(code));
	}
	start = now();
	made(CALLS);
	spent = now() - start;
}

static __attribute__((noinline)) void at_depth(int depth)
{
	if (depth > 1)
		at_depth(depth - 1);
	else
		many_calls();
	__asm__ volatile("" ::: "memory");	/* no tail call */
}

static double cost(int depth, enum mode mode)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		struct event event;

		if (mode != OFF)
			event_open(&event, "syscalls/sys_enter_getppid", mode);
		if (depth)
			at_depth(depth);
		else
			no_caller();
		if (mode != OFF) {
			event_stop(&event);
			event_close(&event);
		}
		if (spent < best)
			best = spent;
	}
	return (double)best / CALLS;
}

int main(void)
{
	static const int depths[] = { 1, 10, 30, 100, 0 };
	double bare, off, on, first = 0, last = 0;

	printf("%-24s %12s %12s\n", "instructions a sample", "in_place=0", "in_place=1");
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		set(0);
		bare = cost(depths[i], BARE);
		off = cost(depths[i], IN_PLACE) - bare;
		set(1);
		on = cost(depths[i], IN_PLACE) - bare;
		if (depths[i])
			printf("depth %-18d", depths[i]);
		else
			printf("%-24s", "code without rules");
		printf(" %12.0f %12.0f\n", off, on);
		if (depths[i] == 1)
			first = on;
		if (depths[i] == 100)
			last = on;
	}
	printf("%-24s %12s %12.1f\n", "a frame", "", (last - first) / 99);
	return 0;
}

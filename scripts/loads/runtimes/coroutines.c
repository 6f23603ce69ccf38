// SPDX-License-Identifier: GPL-2.0
/*
 * Coroutines that are busy at the bottom of deep stacks: something to sample.
 *
 *	coroutines FRAMES MILLISECONDS [libc]
 *
 * Each has a stack of its own in memory of malloc(). They are switched by switch_stack(), which is
 * assembly without unwind tables, or by the C library's swapcontext(). Each begins in
 * coroutine(), which has no caller, and calls odd() and even() in turn, FRAMES functions in
 * all, then work(), which sorts with compare().
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define COROUTINES	8
#define STACK		65536
#define NUMBERS		200

struct coroutine {
	void *sp;
	ucontext_t context;
	char *stack;
};

static struct coroutine coroutines[COROUTINES], back;
static int current, frames;
static bool by_libc, stop;

/* switch_stack(from, to): store the stack pointer in *from and load it from *to. */
void switch_stack(void **from, void **to);
__asm__(".pushsection .text\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n	mov (%rsi), %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n"
	"	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size switch_stack, . - switch_stack\n"
	".popsection\n");

static void leave(void)
{
	struct coroutine *from = &coroutines[current];

	if (by_libc)
		swapcontext(&from->context, &back.context);
	else
		switch_stack(&from->sp, &back.sp);
}

static void enter(int next)
{
	struct coroutine *to = &coroutines[next];

	current = next;
	if (by_libc)
		swapcontext(&back.context, &to->context);
	else
		switch_stack(&back.sp, &to->sp);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) unsigned int work(unsigned int seed)
{
	int numbers[NUMBERS];

	while (!stop) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = seed = seed * 1103515245 + 12345;
		qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
		leave();
	}
	return seed;
}

static unsigned int even(int depth, unsigned int seed);

/* The empty asm statements keep the array, and prevent a tail call. */
#define FUNCTION(name, bytes, next)								\
	static __attribute__((noinline)) unsigned int name(int depth, unsigned int seed)	\
	{										\
		char room[bytes];								\
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

static __attribute__((noinline)) void coroutine(void)
{
	for (;;) {
		odd(frames, current);
		leave();
	}
}

static void make_coroutine(struct coroutine *c)
{
	uint64_t *sp;

	c->stack = malloc(STACK);
	if (!c->stack)
		exit(1);
	if (by_libc) {
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->stack;
		c->context.uc_stack.ss_size = STACK;
		c->context.uc_link = NULL;
		makecontext(&c->context, coroutine, 0);
		return;
	}
	/* for switch_stack(): six registers of 0, the address to start at, a return address of 0 */
	sp = (uint64_t *)(((uintptr_t)c->stack + STACK) & ~15UL) - 8;
	memset(sp, 0, 64);
	sp[6] = (uintptr_t)coroutine;
	c->sp = sp;
}

static long long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long long until;

	if (argc < 3)
		return 2;
	frames = atoi(argv[1]);
	by_libc = argc > 3;
	until = milliseconds() + atoi(argv[2]);
	for (int i = 0; i < COROUTINES; i++)
		make_coroutine(&coroutines[i]);
	do {
		for (int i = 0; i < COROUTINES; i++)
			enter(i);
	} while (milliseconds() < until);
	stop = true;
	for (int i = 0; i < COROUTINES; i++)
		enter(i);
	return 0;
}

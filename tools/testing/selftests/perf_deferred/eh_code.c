// SPDX-License-Identifier: GPL-2.0
/* Code without frame pointers, as in programs of distributions. */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "eh_code.h"

/* All calls are inlined, so the system call is made in the frame of this function. */
PD_IN("eh_text_leaf") long eh_leaf(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return eh_syscall3(SYS_getppid, 0, 0, 0);
}

asm(".pushsection eh_text_leaf, \"ax\", @progbits\n"
	".globl eh_ends_in_syscall\n"
	"eh_ends_in_syscall:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov $110, %eax\n"		/* getppid */
	"	syscall\n"
	".cfi_endproc\n"
	".cfi_startproc\n"
	"	pop %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".globl eh_probed_leaf, eh_probed_load, eh_probed_loaded, eh_probed_call\n"
	".globl eh_probed_called, eh_probed_target\n"
	"eh_probed_leaf:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"eh_probed_load:\n"
	"	mov (%rdi), %rax\n"
	"eh_probed_loaded:\n"
	"	xor %ebx, %ebx\n"
	"eh_probed_call:\n"
	"	call *%rsi\n"
	"eh_probed_called:\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	"eh_probed_target:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n");

PD_ATTR(noinline) void eh_note_step(struct eh_walk *walk, unsigned long ip)
{
	eh_note(walk, ip);
}

/* A step whose canonical frame address is found from a callee-saved register. */
#define STEP_BASED_ON(name, reg)					\
	asm(".pushsection .text\n"					\
		".globl " #name "\n"					\
		#name ":\n"						\
		".cfi_startproc\n"					\
		"	push %" #reg "\n"				\
		"	.cfi_adjust_cfa_offset 8\n"			\
		"	.cfi_rel_offset %" #reg ", 0\n"		\
		"	mov %rsp, %" #reg "\n"				\
		"	.cfi_def_cfa_register %" #reg "\n"		\
		"	sub $80, %rsp\n"				\
		"	mov %rdi, (%rsp)\n"				\
		"	mov 8(%" #reg "), %rsi\n"			\
		"	call eh_note_step\n"				\
		"	mov (%rsp), %rdi\n"				\
		"	call eh_plain\n"				\
		"	mov %" #reg ", %rsp\n"				\
		"	.cfi_def_cfa_register %rsp\n"			\
		"	pop %" #reg "\n"				\
		"	.cfi_adjust_cfa_offset -8\n"			\
		"	.cfi_restore %" #reg "\n"			\
		"	ret\n"						\
		".cfi_endproc\n"					\
		".popsection\n")

STEP_BASED_ON(eh_based_on_rbx, rbx);
STEP_BASED_ON(eh_based_on_r15, r15);

asm(".pushsection .text\n"
	".globl eh_on_stack, eh_with_frame, eh_with_frame_ra\n"
	"eh_on_stack:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push %rbx\n"
	"	.cfi_offset %rbx, -24\n"
	"	push %rsi\n"
	"	mov %rdi, %rbx\n"
	"	mov 8(%rbp), %rsi\n"
	"	call eh_note_step\n"
	"	pop %rsp\n"
	"	mov %rbx, %rdi\n"
	"	call eh_plain\n"
	"	lea -8(%rbp), %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"eh_with_frame:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsi, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	call eh_leaf\n"
	"eh_with_frame_ra:\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n");

PD_ATTR(noinline) long eh_deep(struct eh_walk *walk)
{
	char room[1024];

	EH_ENTER(walk);
	asm volatile("" : : "r" (room) : "memory");
	return eh_next(walk);
}

PD_ATTR(noinline) long eh_plain(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return eh_next(walk);
}

PD_ATTR(noinline) long eh_pushes(struct eh_walk *walk)
{
	unsigned long a = walk->nr, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;

	EH_ENTER(walk);
	asm volatile("" : "+r" (a), "+r" (b), "+r" (c), "+r" (d), "+r" (e), "+r" (f));
	a += eh_next(walk);
	asm volatile("" : "+r" (a), "+r" (b), "+r" (c), "+r" (d), "+r" (e), "+r" (f));
	return a;
}

PD_ATTR(noinline) long eh_allocates(struct eh_walk *walk)
{
	char *room = alloca(100 + walk->nr * 16);

	EH_ENTER(walk);
	asm volatile("" : : "r" (room) : "memory");
	return eh_next(walk);
}

PD_ATTR(noinline) long eh_aligned(struct eh_walk *walk)
{
	char room[128] PD_ATTR(aligned(128));

	EH_ENTER(walk);
	asm volatile("" : : "r" (room) : "memory");
	return eh_next(walk);
}

PD_ATTR(noinline, force_align_arg_pointer) long eh_aligned_call(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return eh_next(walk);
}

PD_ATTR(noinline) long eh_aligned_allocates(struct eh_walk *walk)
{
	char fixed[64] PD_ATTR(aligned(64));
	char *room = alloca(100 + walk->nr * 16);

	EH_ENTER(walk);
	asm volatile("" : : "r" (room), "r" (fixed) : "memory");
	return eh_next(walk);
}

static int compare_r(const void *a, const void *b, void *arg)
{
	struct eh_walk *walk = arg;

	(void)a;
	(void)b;
	EH_ENTER(walk);
	return !!eh_next(walk);
}

PD_IN("eh_text_library") long eh_sorts(struct eh_walk *walk)
{
	long pair[2] = { 1, 2 };

	EH_ENTER(walk);
	eh_note(walk, EH_LIBRARY);
	qsort_r(pair, 2, sizeof(pair[0]), compare_r, walk);
	return pair[0];
}

static int walk_in_compare(const void *key, const void *unused)
{
	struct eh_walk *walk = (void *)key;

	(void)unused;
	EH_ENTER(walk);
	return !!eh_next(walk);
}

PD_IN("eh_text_library") long eh_searches(struct eh_walk *walk)
{
	void *(*search)(const void *key, const void *base, size_t nr, size_t size,
			int (*compare)(const void *a, const void *b)) = bsearch;
	long one = 1;

	EH_ENTER(walk);
	/* Hide the function from the compiler: the header also has an inline bsearch(). */
	asm volatile("" : "+r" (search));
	eh_note(walk, EH_LIBRARY);
	return !!search(walk, &one, 1, sizeof(one), walk_in_compare);
}

static __thread struct eh_walk *raised;

static PD_ATTR(noinline) long raise_signal(struct eh_walk *walk, int sig)
{
	EH_ENTER(walk);
	raised = walk;
	return eh_syscall3(SYS_tgkill, getpid(), eh_syscall3(SYS_gettid, 0, 0, 0), sig);
}

PD_ATTR(noinline) long eh_raises_usr1(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return raise_signal(walk, SIGUSR1);
}

PD_ATTR(noinline) long eh_raises_usr2(struct eh_walk *walk)
{
	EH_ENTER(walk);
	return raise_signal(walk, SIGUSR2);
}

static void walk_in_handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	(void)sig;
	(void)info;
	eh_note(raised, uc->uc_mcontext.gregs[REG_RIP]);
	EH_ENTER(raised);
	eh_next(raised);
}

int eh_handle(int sig, bool on_altstack)
{
	struct sigaction action = {
		.sa_sigaction = walk_in_handler,
		.sa_flags = SA_SIGINFO | (on_altstack ? SA_ONSTACK : 0),
	};

	return sigaction(sig, &action, NULL);
}

static PD_ATTR(noinline) unsigned long mix_values(unsigned long value, unsigned int depth)
{
	unsigned long room[4] = { value, value + 1, value + 2, value + 3 };

	asm volatile("" : : "r" (room) : "memory");
	if (depth)
		room[0] += mix_values(room[1], depth - 1);
	return room[0] * 31 + room[depth & 3];
}

static PD_ATTR(noinline) long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

PD_ATTR(noinline) void eh_spin(long milliseconds)
{
	long long end = now_ms() + milliseconds;
	unsigned long value = 1, turn;

	while (now_ms() < end) {
		for (turn = 0; turn < 300; turn++)
			value += mix_values(value, turn & 7);
		eh_syscall3(SYS_getppid, 0, 0, 0);
	}
	asm volatile("" : : "r" (value));
}

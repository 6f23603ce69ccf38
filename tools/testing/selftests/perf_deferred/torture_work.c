// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that torture.c samples: see torture.h for their stacks.  This file is compiled with
 * frame pointers, and once more without.  torture_root() calls nothing of the C library, which uses
 * r12 and r13 for itself.
 */
#define _GNU_SOURCE

/* before any function */
register unsigned long in_leaf asm("r12");
register unsigned long chain asm("r13");

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pd_signal.h"
#include "pd_syscall.h"
#include "torture.h"

struct torture_shared *torture;

#define OP	PD_IN("in_op")
#define PAGE	4096L

static PD_IN("in_enter") long torture_enter(unsigned long dice);

/* Do something after a call, so that the call is not the last thing that its function does. */
static inline PD_ATTR(always_inline) long keep(long ret)
{
	asm volatile("" : "+r" (ret));
	return ret;
}

static inline PD_ATTR(always_inline) void use(void *memory)
{
	asm volatile("" : : "r" (memory) : "memory");
}

static inline PD_ATTR(always_inline) bool is_over(void)
{
	return PD_READ(torture->next) >= PD_READ(torture->end);
}

static inline PD_ATTR(always_inline) unsigned int level_of(unsigned long name)
{
	unsigned int level = 0;

	for (; torture_is_name(name) && level < TORTURE_LEVELS; level++)
		name = *torture_outer(name);
	return level;
}

static OP long op_spin(unsigned long dice)
{
	unsigned long i;

	pd_frame();
	for (i = 0; i < dice % 4000; i++)
		asm volatile("" : "+r" (i));
	return i;
}

static OP long op_calls(unsigned long dice)
{
	long ret = 0;
	unsigned long i;

	for (i = 0; i < 1 + dice % 20; i++)
		ret += pd_syscall0(SYS_getppid);
	return ret;
}

static OP long op_sleep(unsigned long dice)
{
	struct timespec wait = { .tv_nsec = dice % 300 * 1000 };

	return pd_syscall2(SYS_nanosleep, &wait, NULL);
}

static OP long op_yield(unsigned long dice)
{
	unsigned long mask = 1 + dice % 3;

	pd_syscall3(SYS_sched_setaffinity, 0, sizeof(mask), &mask);
	return pd_syscall0(SYS_sched_yield);
}

static OP long op_faults(unsigned long dice)
{
	long size = (1 + dice % 16) * PAGE, i;
	char *memory = (char *)pd_syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (i = 0; i < size; i += PAGE)
		PD_WRITE(memory[i], 1);
	pd_syscall3(SYS_madvise, memory, size, MADV_DONTNEED);
	for (i = 0; i < size; i += 2 * PAGE)
		PD_WRITE(memory[i], 2);
	return pd_syscall2(SYS_munmap, memory, size);
}

/* Let the stack grow, and touch it. */
static OP long op_stack(unsigned long dice)
{
	unsigned long size = level_of(chain) > 1 ? 256 : dice % 16 * PAGE + 16, i;
	volatile char *memory = __builtin_alloca(size);

	for (i = size; i > 16; i -= 16)
		memory[i - 1] = 1;
	return memory[size - 1];
}

static OP long op_raise(unsigned long dice)
{
	long pid = pd_syscall0(SYS_getpid);

	return pd_syscall3(SYS_tgkill, pid, pd_syscall0(SYS_gettid), dice % 2 ? SIGUSR1 : SIGUSR2);
}

/* A signal in the near future, at any instruction of this thread. */
static OP long op_timer(unsigned long dice)
{
	struct itimerspec when = { .it_value.tv_nsec = 1 + dice % 200 * 1000 };
	struct {
		long value;
		int sig, notify, tid;
		char rest[44];
	} event = { .sig = SIGUSR1, .notify = SIGEV_THREAD_ID };
	int timer;

	event.tid = pd_syscall0(SYS_gettid);
	if (pd_syscall3(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer))
		return 0;
	pd_syscall4(SYS_timer_settime, timer, 0, &when, NULL);
	if (dice & 1 << 20)
		op_sleep(dice >> 7);
	else
		op_spin(dice >> 7);
	return pd_syscall1(SYS_timer_delete, timer);
}

/* Make the code writable and read-only again, which splits and joins its mapping. */
static OP long op_protect(unsigned long dice)
{
	char *start = (char *)((unsigned long)__start_in_digit & -PAGE);

	pd_frame();
	if (dice % 4)
		return 0;
	pd_syscall3(SYS_mprotect, start, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	return pd_syscall3(SYS_mprotect, start, PAGE, PROT_READ | PROT_EXEC);
}

/* Let the pages of the callers' frames, or those of the code, be brought in again. */
static OP long op_page_out(unsigned long dice)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0) & -PAGE;

	if (dice % 2)
		return pd_syscall3(SYS_madvise, here, 3 * PAGE, MADV_PAGEOUT);
	here = (unsigned long)__start_in_digit & -PAGE;
	return pd_syscall3(SYS_madvise, here, 2 * PAGE, MADV_PAGEOUT);
}

/* A chain in this chain. */
static OP long op_nest(unsigned long dice)
{
	long ret;

	pd_frame();
	if (level_of(chain) >= TORTURE_LEVELS)
		return 0;
	ret = keep(torture_enter(dice));
	return ret;
}

/* A chain on another stack. The frame pointer leads back. */
long torture_on_stack(unsigned long dice, long (*fn)(unsigned long dice), void *stack);
asm(".pushsection in_op, \"ax\", @progbits\n"
	".type torture_on_stack, @function\n"
	"torture_on_stack:\n"
	"	.cfi_startproc\n"
	"	push	%rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 6, -16\n"
	"	mov	%rsp, %rbp\n"
	"	.cfi_def_cfa_register 6\n"
	"	mov	%rdx, %rsp\n"
	"	call	*%rsi\n"
	"	leave\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size torture_on_stack, . - torture_on_stack\n"
	".popsection\n");

static OP long op_switch(unsigned long dice)
{
	const long size = 16 * PAGE;
	char *stack;
	long ret;

	if (level_of(chain) >= 2)
		return 0;
	stack = (char *)pd_syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ret = keep(torture_on_stack(dice, torture_enter, stack + size));
	pd_syscall2(SYS_munmap, stack, size);
	return ret;
}

/* Only the threads of the first process have children; these may have threads. */
static OP bool may_have_kid(void)
{
	__atomic_add_fetch(&torture->kids, 1, __ATOMIC_RELAXED);
	return pd_syscall0(SYS_getpid) == torture->main_pid && level_of(chain) < 2 &&
	       PD_READ(torture->kids) <= 4;
}

static OP void kid_is_gone(long pid)
{
	if (pid > 0)
		pd_syscall4(SYS_wait4, pid, NULL, __WALL, NULL);
	__atomic_sub_fetch(&torture->kids, 1, __ATOMIC_RELAXED);
}

/* The child's stack is a copy, with the parent's chain. It returns from nothing. */
static OP void be_kid(unsigned long dice)
{
	unsigned long i;

	for (i = 0; i < 1 + dice % 8; i++)
		torture_enter(torture_mix(dice + i));
	pd_syscall1(SYS_exit_group, 0);
	__builtin_unreachable();
}

static OP long op_fork(unsigned long dice)
{
	long pid = 0;

	if (may_have_kid()) {
		pid = pd_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
		if (!pid)
			be_kid(dice);
		if (dice & 1 << 20)
			op_spin(dice >> 7);
		if (pid > 0 && dice % 8 == 0)
			pd_syscall2(SYS_kill, pid, SIGKILL);
	}
	kid_is_gone(pid);
	return pid;
}

/* The child of vfork() shares this frame, so it must not write to it. */
static OP long op_exec(unsigned long dice)
{
	char *const argv[] = { torture->program, "--torture", NULL };
	long pid = 0;

	if (may_have_kid()) {
		pid = dice % 2 ? pd_syscall0(SYS_vfork) :
				 pd_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
		if (!pid) {
			pd_syscall3(SYS_execve, torture->program, argv, NULL);
			pd_syscall1(SYS_exit_group, 127);
		}
	}
	kid_is_gone(pid);
	return pid;
}

/* A thread of a child ends, or ends all, or executes the program. */
static OP long op_end(unsigned long dice)
{
	char *const argv[] = { torture->program, "--torture", NULL };

	if (pd_syscall0(SYS_getpid) == torture->main_pid)
		return 0;
	switch (dice % 8) {
	case 0:
		return pd_syscall3(SYS_execve, torture->program, argv, NULL);
	case 1:
		return pd_syscall1(SYS_exit, 0);
	case 2:
		return pd_syscall1(SYS_exit_group, 0);
	}
	return 0;
}

/* A thread, whose outermost frame is torture_root(); it ends, or ends with its process. */
long torture_clone(unsigned long flags, void *stack, unsigned long dice);
asm(".pushsection in_clone, \"ax\", @progbits\n"
	".type torture_clone, @function\n"
	"torture_clone:\n"
	"	.cfi_startproc\n"
	"	mov	%rdx, %r9\n"
	"	mov	$56, %eax\n"		/* SYS_clone */
	"	syscall\n"
	"	test	%eax, %eax\n"
	"	jz	1f\n"
	"	ret\n"
	"1:	.cfi_undefined rip\n"
	"	xor	%ebp, %ebp\n"
	"	mov	%r9, %rdi\n"
	"	mov	$8, %esi\n"
	"	call	torture_root\n"
	"	xor	%edi, %edi\n"
	"	mov	$60, %eax\n"		/* SYS_exit */
	"	syscall\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size torture_clone, . - torture_clone\n"
	".popsection\n");

static OP void be_threads(unsigned long dice)
{
	const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				    CLONE_THREAD | CLONE_SYSVSEM;
	const long size = 64 * PAGE;
	unsigned long i;
	char *stack;

	for (i = 0; i < 1 + dice % 3; i++) {
		stack = (char *)pd_syscall6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		torture_clone(flags, stack + size, torture_mix(dice + i));
	}
	be_kid(dice >> 3);
}

static OP long op_threads(unsigned long dice)
{
	long pid = 0;

	if (may_have_kid()) {
		pid = pd_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
		if (!pid)
			be_threads(dice);
	}
	kid_is_gone(pid);
	return pid;
}

static OP long op_seccomp(unsigned long dice)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { .len = 1, .filter = all };
	long pid = 0;

	if (may_have_kid()) {
		pid = pd_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
		if (!pid) {
			pd_syscall6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
			pd_syscall3(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
			be_kid(dice);
		}
	}
	kid_is_gone(pid);
	return pid;
}

/* Trace a child: stop it at system calls and signals, step, and set its registers. */
static OP void trace(long pid, unsigned long dice)
{
	struct user_regs_struct regs;
	int status, sig;
	long how;

	for (;; dice = torture_mix(dice)) {
		if (pd_syscall4(SYS_wait4, pid, &status, __WALL, NULL) != pid ||
		    !WIFSTOPPED(status))
			return;
		sig = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP ?
		      0 : WSTOPSIG(status);
		if (dice % 3 == 0 && !pd_syscall4(SYS_ptrace, PTRACE_GETREGS, pid, 0, &regs))
			pd_syscall4(SYS_ptrace, PTRACE_SETREGS, pid, 0, &regs);
		how = dice % 16 < 8 ? PTRACE_SINGLESTEP : dice % 16 < 14 ? PTRACE_SYSCALL :
								      PTRACE_CONT;
		pd_syscall4(SYS_ptrace, how, pid, 0, (long)sig);
	}
}

static OP long op_ptrace(unsigned long dice)
{
	long pid = 0;

	if (may_have_kid()) {
		pid = pd_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
		if (!pid) {
			pd_syscall4(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
			pd_syscall2(SYS_kill, pd_syscall0(SYS_getpid), SIGSTOP);
			be_kid(dice % 2);
		}
		trace(pid, dice);
	}
	kid_is_gone(-1);
	return pid;
}

static long (* const ops[])(unsigned long dice) = {
	op_spin, op_spin, op_spin, op_calls, op_calls, op_sleep, op_sleep, op_yield, op_faults,
	op_faults, op_stack, op_raise, op_raise, op_timer, op_timer, op_protect, op_nest, op_nest,
	op_switch, op_fork, op_exec, op_threads, op_seccomp, op_ptrace, op_page_out, op_end,
};

static PD_IN("in_leaf") long torture_leaf(unsigned long dice)
{
	long ret;

	in_leaf = chain;
	ret = keep(ops[dice % ARRAY_SIZE(ops)](torture_mix(dice)));
	in_leaf = 0;
	return ret;
}

static inline PD_ATTR(always_inline) long call_next(unsigned int left, unsigned long dice)
{
	if (left--)
		return keep(torture_digits[torture_digit(chain, left)](left, dice));
	return keep(torture_leaf(dice));
}

/* Frames of many forms: large, of a size that is not known, aligned, with saved registers. */
#define PLAIN	do { } while (0)
#define LARGE	do { char large[500]; use(large); } while (0)
#define UNKNOWN	use(__builtin_alloca(16 + dice % 100))
#define ALIGNED	do { char PD_ATTR(aligned(64)) line[64]; use(line); } while (0)
#define SAVES	do { asm volatile("" : : : "rbx", "r14", "r15"); } while (0)

#define DIGIT(n, form)								\
static PD_IN("in_digit") long digit_##n(unsigned int left, unsigned long dice)	\
{										\
	form;									\
	return call_next(left, dice) + (n);					\
}

DIGIT(0, PLAIN)
DIGIT(1, LARGE)
DIGIT(2, UNKNOWN)
DIGIT(3, SAVES)
DIGIT(4, ALIGNED)
DIGIT(5, PLAIN)
DIGIT(6, SAVES)
DIGIT(7, UNKNOWN)
DIGIT(8, LARGE)
DIGIT(9, PLAIN)
DIGIT(10, ALIGNED)
DIGIT(11, SAVES)
DIGIT(12, PLAIN)
DIGIT(13, LARGE)
DIGIT(14, UNKNOWN)
DIGIT(15, PLAIN)

long (* const torture_digits[TORTURE_DIGITS])(unsigned int left, unsigned long dice) = {
	digit_0, digit_1, digit_2, digit_3, digit_4, digit_5, digit_6, digit_7,
	digit_8, digit_9, digit_10, digit_11, digit_12, digit_13, digit_14, digit_15,
};

static PD_IN("in_enter") long torture_enter(unsigned long dice)
{
	unsigned long nr = __atomic_fetch_add(&torture->next, 1, __ATOMIC_RELAXED);
	unsigned long saved = chain, saved_leaf = in_leaf;
	unsigned long depth = 1 + dice % TORTURE_MAX_DEPTH;
	unsigned long name = TORTURE_MAGIC << 48 | depth << 40 | nr;
	long ret;

	PD_WRITE(*torture_outer(name), saved);
	/* not before that, as a signal or the end of the process can come in between */
	asm volatile("" : "+r" (name) : : "memory");
	in_leaf = 0;
	chain = name;
	ret = keep(call_next(depth, torture_mix(dice ^ torture->seed)));
	chain = saved;
	in_leaf = saved_leaf;
	return ret;
}

static PD_IN("in_handler") void torture_handler(int sig)
{
	pd_frame();
	if (level_of(chain) >= TORTURE_LEVELS || is_over())
		return;
	keep(torture_enter(torture_mix(PD_READ(torture->next) + sig)));
}

PD_IN("in_root") long torture_root(unsigned long dice, unsigned long chains)
{
	unsigned long saved = chain, saved_leaf = in_leaf;
	long ret = 0;

	in_leaf = 0;
	chain = 0;
	while (chains-- && !is_over()) {
		dice = torture_mix(dice + 1);
		ret += keep(torture_enter(dice));
	}
	chain = saved;
	in_leaf = saved_leaf;
	return ret;
}

bool torture_map(int fd)
{
	torture = mmap(NULL, sizeof(*torture), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return torture != MAP_FAILED;
}

static unsigned long chains_of_thread;

static void *run_thread(void *dice)
{
	if (torture->on_altstack)
		pd_altstack();
	torture_root((unsigned long)dice, chains_of_thread);
	return NULL;
}

int torture_process(unsigned int threads, unsigned long chains)
{
	unsigned long nr = __atomic_fetch_add(&torture->processes, 1, __ATOMIC_RELAXED);
	unsigned long dice = torture_mix(torture->seed + nr);
	pthread_t thread;

	chains_of_thread = chains;

	pd_handle_known(SIGUSR1, torture_handler, torture->on_altstack);
	pd_handle_known(SIGUSR2, torture_handler, false);
	while (--threads)
		if (pthread_create(&thread, NULL, run_thread, (void *)(dice + threads)))
			return 1;
	run_thread((void *)dice);
	/* threads that are still in a chain end with the process */
	return 0;
}

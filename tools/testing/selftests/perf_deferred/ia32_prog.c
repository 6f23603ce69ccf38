// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit task that prints the addresses of its functions and then makes calls
 * from them. Each line has the start and the end address of a function: first
 * the functions that make the calls, from the innermost to the outermost, then
 * the signal handler, then the restorer.
 *
 *	ia32_prog TURNS [plain|siginfo]
 *
 * With the second argument each call raises a signal.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_compiler.h"

PD_BOUNDS(pd_one);
PD_BOUNDS(pd_two);
PD_BOUNDS(pd_three);
PD_BOUNDS(pd_handler);
PD_BOUNDS(pd_restorer);
PD_BOUNDS(pd_rt_restorer);

/*
 * Restorers that clear the frame pointer, and whose code is not that of a known restorer:
 * the stack of their sigreturn is one frame.
 */
asm(".pushsection pd_restorer, \"ax\", @progbits\n"
	"	xor	%ebp, %ebp\n"
	"	pop	%eax\n"
	"	mov	$119, %eax\n"	/* sigreturn */
	"	nop\n"
	"	int	$0x80\n"
	"	ud2\n"
	".popsection\n");
asm(".pushsection pd_rt_restorer, \"ax\", @progbits\n"
	"	xor	%ebp, %ebp\n"
	"	mov	$173, %eax\n"	/* rt_sigreturn */
	"	nop\n"
	"	int	$0x80\n"
	"	ud2\n"
	".popsection\n");

/* The argument of rt_sigaction(). */
struct kernel_sigaction {
	void (*handler)(int sig);
	unsigned long flags;
	const char *restorer;
	unsigned long mask[2];
};

#define SA_RESTORER	0x04000000

static long handled;

static PD_IN("pd_handler") void count_signal(int sig)
{
	pd_frame();
	(void)sig;
	PD_WRITE(handled, handled + 1);
}

static PD_IN("pd_one") long call_one(long nr, long a, long b)
{
	long ret;

	pd_frame();
	asm volatile("int $0x80" : "=a" (ret) : "a" (nr), "b" (a), "c" (b) : "memory");
	return ret;
}

static PD_IN("pd_two") long call_two(long nr, long a, long b)
{
	long ret = call_one(nr, a, b);

	asm volatile("" : "+r" (ret));
	return ret;
}

static PD_IN("pd_three") long call_three(long nr, long a, long b)
{
	long ret = call_two(nr, a, b);

	asm volatile("" : "+r" (ret));
	return ret;
}

static void print_bounds(const char *start, const char *stop)
{
	printf("%lx %lx\n", (unsigned long)start, (unsigned long)stop);
}

static int raise_signals(long turns, bool siginfo)
{
	struct kernel_sigaction action = {
		.handler = count_signal,
		.flags = SA_RESTORER | (siginfo ? SA_SIGINFO : 0),
		.restorer = siginfo ? __start_pd_rt_restorer : __start_pd_restorer,
	};
	long i;

	if (syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof(action.mask)))
		return 2;
	for (i = 0; i < turns; i++)
		call_three(SYS_kill, getpid(), SIGUSR1);
	return PD_READ(handled) == turns ? 0 : 3;
}

int main(int argc, char **argv)
{
	bool siginfo = argc > 2 && !strcmp(argv[2], "siginfo");
	long turns = argc > 1 ? atol(argv[1]) : 10;

	print_bounds(__start_pd_one, __stop_pd_one);
	print_bounds(__start_pd_two, __stop_pd_two);
	print_bounds(__start_pd_three, __stop_pd_three);
	print_bounds(__start_pd_handler, __stop_pd_handler);
	if (siginfo)
		print_bounds(__start_pd_rt_restorer, __stop_pd_rt_restorer);
	else
		print_bounds(__start_pd_restorer, __stop_pd_restorer);
	fflush(stdout);
	if (argc > 2)
		return raise_signals(turns, siginfo);
	while (turns--)
		call_three(SYS_getppid, 0, 0);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_signal.h"
#include "pd_syscall.h"

/* The kernel's struct sigaction, which differs from that of the C library. */
struct kernel_sigaction {
	void (*handler)(int sig);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define SA_RESTORER 0x04000000

/*
 * pd_restorer() clears the frame pointer, and the walk does not know its code as that
 * of a restorer.  So a sample in this rt_sigreturn has a stack of only one frame.
 */
asm(".pushsection .text\n"
	".globl pd_restorer, pd_restorer_end\n"
	".type pd_restorer, @function\n"
	"pd_restorer:\n"
	"	xor	%ebp, %ebp\n"
	"	mov	$15, %eax\n"
	"	nop\n"
	"	syscall\n"
	"	ud2\n"
	"pd_restorer_end:\n"
	".popsection\n");

/* A restorer with the usual instructions, by which the walk recognizes it and goes on. */
asm(".pushsection .text\n"
	".globl pd_known_restorer\n"
	".type pd_known_restorer, @function\n"
	"pd_known_restorer:\n"
	"	mov	$15, %rax\n"
	"	syscall\n"
	"	ud2\n"
	".popsection\n");

static void set_handler(int sig, void (*handler)(int sig), bool on_altstack,
			void (*restorer)(void))
{
	struct kernel_sigaction action = {
		.handler = handler,
		.flags = SA_RESTORER | SA_RESTART | (on_altstack ? SA_ONSTACK : 0),
		.restorer = restorer,
	};

	pd_syscall4(SYS_rt_sigaction, sig, &action, NULL, 8);
}

void pd_handle(int sig, void (*handler)(int sig), bool on_altstack)
{
	set_handler(sig, handler, on_altstack, pd_restorer);
}

void pd_handle_known(int sig, void (*handler)(int sig), bool on_altstack)
{
	set_handler(sig, handler, on_altstack, pd_known_restorer);
}

void pd_altstack(void)
{
	stack_t stack = { .ss_size = 64 * 1024 };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
}

bool pd_in_restorer(unsigned long long ip)
{
	return ip >= (unsigned long)pd_restorer && ip < (unsigned long)pd_restorer_end;
}

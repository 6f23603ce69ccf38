// SPDX-License-Identifier: GPL-2.0
/*
 * The program that the tests execute: at a fixed address, without libraries, it
 * makes some calls and exits. The stack ends at its first frame.
 */
#include <sys/syscall.h>

#include "pd_syscall.h"

#define CALLS 20

static PD_ATTR(noinline, used) void run(void)
{
	int i;

	for (i = 0; i < CALLS; i++)
		pd_syscall0(SYS_getppid);
	pd_syscall1(SYS_exit_group, 0);
}

asm(".globl _start\n"
	"_start:\n"
	"	xor	%ebp, %ebp\n"
	"	and	$-16, %rsp\n"
	"	call	run\n"
	"	hlt\n");

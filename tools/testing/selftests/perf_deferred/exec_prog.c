// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests execute: it stands at a fixed address, without any library,
 * makes some calls and ends. The stack ends at its first frame.
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

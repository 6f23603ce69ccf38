/* SPDX-License-Identifier: GPL-2.0 */
/* System calls without the C library, because its functions have no frame pointers. */
#ifndef PD_SYSCALL_H
#define PD_SYSCALL_H

#include "pd_compiler.h"

static inline PD_ATTR(always_inline)
long pd_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ret;

	pd_frame();
	asm volatile("syscall" : "=a" (ret)
		     : "a" (nr), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8), "r" (r9)
		     : "rcx", "r11", "memory");
	return ret;
}

#define pd_syscall0(nr)			pd_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define pd_syscall1(nr, a)		pd_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define pd_syscall2(nr, a, b)		pd_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define pd_syscall3(nr, a, b, c)	\
	pd_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define pd_syscall4(nr, a, b, c, d)	\
	pd_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#endif /* PD_SYSCALL_H */

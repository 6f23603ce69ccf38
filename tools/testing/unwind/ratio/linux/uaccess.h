/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read the memory of this process, with the instructions and the checks of the kernel, except
 * that user mode has no stac and clac.  All that is read must be mapped.
 */
#ifndef _UNWIND_RATIO_LINUX_UACCESS_H
#define _UNWIND_RATIO_LINUX_UACCESS_H

#include "../../replay/linux/uaccess.h"

#undef get_user
#undef unsafe_get_user
#undef access_ok
#undef user_read_access_begin
#undef pagefault_disable
#undef pagefault_enable

extern unsigned int ratio_pagefaults_off;

#define get_user(val, from)	((val) = READ_ONCE(*(from)), 0)
#define unsafe_get_user(val, from, fault) do {				\
	unsigned long _val;						\
	asm volatile goto("mov %1, %0"					\
			  : "=r" (_val) : "m" (*(from)) : : fault);	\
	(val) = _val;							\
} while (0)
#define access_ok(from, len)	((unsigned long)(from) + (len) <= TASK_SIZE_MAX)
#define user_read_access_begin(from, len)	\
	(access_ok(from, len) && ({ asm volatile("lfence" : : : "memory"); true; }))
#define pagefault_disable()	do { ratio_pagefaults_off++; barrier(); } while (0)
#define pagefault_enable()	do { barrier(); ratio_pagefaults_off--; } while (0)

#endif /* _UNWIND_RATIO_LINUX_UACCESS_H */

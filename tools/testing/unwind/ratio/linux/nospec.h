/* SPDX-License-Identifier: GPL-2.0 */
/* The mask of x86, as in the kernel. */
#ifndef _UNWIND_RATIO_LINUX_NOSPEC_H
#define _UNWIND_RATIO_LINUX_NOSPEC_H

#include <linux/compiler.h>

static __always_inline unsigned long array_index_nospec(unsigned long index, unsigned long size)
{
	unsigned long mask;

	asm volatile("cmp %1, %2; sbb %0, %0" : "=r" (mask) : "r" (size), "r" (index) : "cc");
	return index & mask;
}

#endif /* _UNWIND_RATIO_LINUX_NOSPEC_H */

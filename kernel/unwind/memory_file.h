/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading files that the current task maps, from the page cache.
 */
#ifndef _KERNEL_UNWIND_MEMORY_FILE_H
#define _KERNEL_UNWIND_MEMORY_FILE_H

#include <linux/types.h>

struct unwind_walk;

int unwind_read_file(struct unwind_walk *state, unsigned long addr, u64 pos,
		     void *to, size_t len);

#endif /* _KERNEL_UNWIND_MEMORY_FILE_H */

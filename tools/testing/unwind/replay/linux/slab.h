/* SPDX-License-Identifier: GPL-2.0 */
/* malloc() allocates kernel memory. The unwind_task_*() of task.h are replaced here. */
#ifndef _UNWIND_REPLAY_LINUX_SLAB_H
#define _UNWIND_REPLAY_LINUX_SLAB_H

#include <stdbool.h>
#include <stdlib.h>

#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NORETRY		0
#define __GFP_NOWARN		0
#define UNWIND_GFP		0

#define kmalloc(size, flags)	malloc(size)
#define kfree(ptr)		free(ptr)
#define __vmalloc(size, flags)	malloc(size)
#define kvfree(ptr)		free(ptr)
#define unwind_task_may_allocate()	has_memory
#define unwind_task_is_dying()	false

extern bool has_memory;

#endif /* _UNWIND_REPLAY_LINUX_SLAB_H */

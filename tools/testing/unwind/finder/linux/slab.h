/* SPDX-License-Identifier: GPL-2.0 */
/* malloc() allocates kernel memory. The task may always allocate, so task.h is not used. */
#ifndef _UNWIND_FINDER_LINUX_SLAB_H
#define _UNWIND_FINDER_LINUX_SLAB_H

#include <stdlib.h>

#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NORETRY		0
#define __GFP_NOWARN		0
#define __GFP_NOMEMALLOC	0

#define kmalloc(size, flags)	malloc(size)
#define __vmalloc(size, flags)	malloc(size)
#define kvfree(ptr)		free(ptr)
#define unwind_task_may_allocate()	true

#endif /* _UNWIND_FINDER_LINUX_SLAB_H */

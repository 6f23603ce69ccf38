/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel memory is allocated by malloc(). */
#ifndef _UNWIND_FINDER_LINUX_SLAB_H
#define _UNWIND_FINDER_LINUX_SLAB_H

#include <stdlib.h>

#define GFP_KERNEL_ACCOUNT	0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0

#define kvmalloc(size, flags)	malloc(size)
#define kvfree(ptr)		free(ptr)

#endif /* _UNWIND_FINDER_LINUX_SLAB_H */

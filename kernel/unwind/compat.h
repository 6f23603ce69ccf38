/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the base kernels.
 */
#ifndef _KERNEL_UNWIND_COMPAT_H
#define _KERNEL_UNWIND_COMPAT_H

#include <linux/unwind_deferred_types.h>

#ifdef UNWIND_MAX_CLIENTS	/* the base has no deferral of its own: 6.12 */
/* walks are limited to the frames that the clients need */
#define UNWIND_ANY_DEPTH	.any_depth = true
#define UNWIND_NO_VMA_FLAGS	0
#else
#define UNWIND_ANY_DEPTH
#define UNWIND_NO_VMA_FLAGS	((vma_flags_t) {})
#endif

#endif /* _KERNEL_UNWIND_COMPAT_H */

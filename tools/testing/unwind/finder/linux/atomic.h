/* SPDX-License-Identifier: GPL-2.0 */
/* One task: nobody else writes. */
#ifndef _UNWIND_FINDER_LINUX_ATOMIC_H
#define _UNWIND_FINDER_LINUX_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64	counter;
} atomic64_t;

#define atomic64_read_acquire(v)	((v)->counter)
#define smp_load_acquire(ptr)		(*(ptr))
#define smp_rmb()			((void)0)
#define data_race(expr)			((void)(expr))

#endif /* _UNWIND_FINDER_LINUX_ATOMIC_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task, so there are no other writers. */
#ifndef _UNWIND_FINDER_LINUX_ATOMIC_H
#define _UNWIND_FINDER_LINUX_ATOMIC_H

#include <linux/types.h>

struct finder_atomic64 {
	s64	counter;
};

#define atomic64_t			struct finder_atomic64
#define atomic64_read_acquire(v)	((v)->counter)
#define smp_load_acquire(ptr)		(*(ptr))		/* one task */
#define smp_rmb()			((void)0)		/* one task */
#define data_race(expr)			({ (expr); })		/* one task */

#endif /* _UNWIND_FINDER_LINUX_ATOMIC_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* One task. */
#ifndef _UNWIND_FINDER_LINUX_REFCOUNT_H
#define _UNWIND_FINDER_LINUX_REFCOUNT_H

typedef struct {
	int	refs;
} refcount_t;

#define refcount_inc(r)	((void)(r)->refs++)

#endif /* _UNWIND_FINDER_LINUX_REFCOUNT_H */

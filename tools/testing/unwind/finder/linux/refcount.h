/* SPDX-License-Identifier: GPL-2.0 */
/* There is only one task. */
#ifndef _UNWIND_FINDER_LINUX_REFCOUNT_H
#define _UNWIND_FINDER_LINUX_REFCOUNT_H

struct finder_refcount {
	int	refs;
};

#define refcount_t	struct finder_refcount
#define refcount_inc(r)	((void)(r)->refs++)

#endif /* _UNWIND_FINDER_LINUX_REFCOUNT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* Sort with the C library. */
#ifndef _UNWIND_FINDER_LINUX_SORT_H
#define _UNWIND_FINDER_LINUX_SORT_H

#include <stdlib.h>

#define sort(base, nr, size, compare, swap)	qsort(base, nr, size, compare)

#endif /* _UNWIND_FINDER_LINUX_SORT_H */

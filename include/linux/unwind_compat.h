/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What our files use of Linux 7.3 and the base 6.12 does not have.
 */
#ifndef _LINUX_UNWIND_COMPAT_H
#define _LINUX_UNWIND_COMPAT_H

#define EMPTY_VMA_FLAGS		0

#endif /* _LINUX_UNWIND_COMPAT_H */

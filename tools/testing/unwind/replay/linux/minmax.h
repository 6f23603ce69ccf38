/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_MINMAX_H
#define _UNWIND_REPLAY_LINUX_MINMAX_H

#include <linux/kernel.h>

#ifndef swap
#define swap(a, b)	do { __typeof__(a) _a = (a); (a) = (b); (b) = _a; } while (0)
#endif
#define __ffs(val)	((unsigned int)__builtin_ctzl(val))

#endif /* _UNWIND_REPLAY_LINUX_MINMAX_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_ATOMIC_H
#define _UNWIND_REPLAY_LINUX_ATOMIC_H

#include "../../finder/linux/atomic.h"

/* There is one thread. */
#define xchg(ptr, new)						\
	({ __typeof__(*(ptr)) was = *(ptr); *(ptr) = (new); was; })
#define cmpxchg(ptr, old, new)					\
	({ __typeof__(*(ptr)) was = *(ptr); *(ptr) = was == (old) ? (new) : was; was; })

#endif /* _UNWIND_REPLAY_LINUX_ATOMIC_H */

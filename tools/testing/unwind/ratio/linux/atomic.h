/* SPDX-License-Identifier: GPL-2.0 */
/* The barriers are real. */
#ifndef _UNWIND_RATIO_LINUX_ATOMIC_H
#define _UNWIND_RATIO_LINUX_ATOMIC_H

#include "../../replay/linux/atomic.h"

#undef smp_load_acquire
#undef smp_rmb
#include <asm/barrier.h>

#endif /* _UNWIND_RATIO_LINUX_ATOMIC_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_ATOMIC_H
#define _UNWIND_REPLAY_LINUX_ATOMIC_H

#include "../../finder/linux/atomic.h"

#endif /* _UNWIND_REPLAY_LINUX_ATOMIC_H */

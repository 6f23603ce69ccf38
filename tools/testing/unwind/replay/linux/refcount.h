/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_REFCOUNT_H
#define _UNWIND_REPLAY_LINUX_REFCOUNT_H

#include "../../finder/linux/refcount.h"

#endif /* _UNWIND_REPLAY_LINUX_REFCOUNT_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_LINUX_HASH_H
#define _UNWIND_REPLAY_LINUX_HASH_H

/* for the barriers of rules.h */
#include <linux/atomic.h>

#define GOLDEN_RATIO_64	0x61C8864680B583EBull

#endif /* _UNWIND_REPLAY_LINUX_HASH_H */

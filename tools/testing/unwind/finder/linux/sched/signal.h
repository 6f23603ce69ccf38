/* SPDX-License-Identifier: GPL-2.0 */
/* No fatal signal is ever pending, and sleeping takes no time. */
#ifndef _UNWIND_FINDER_LINUX_SCHED_SIGNAL_H
#define _UNWIND_FINDER_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

#define fatal_signal_pending(task)	((void)(task), false)
#define schedule_timeout_killable(ticks)	((void)(ticks))

#endif /* _UNWIND_FINDER_LINUX_SCHED_SIGNAL_H */

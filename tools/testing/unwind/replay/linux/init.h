/* SPDX-License-Identifier: GPL-2.0 */
/* There is no boot, so what is made at boot is missing. */
#ifndef _UNWIND_REPLAY_LINUX_INIT_H
#define _UNWIND_REPLAY_LINUX_INIT_H

#define __init			__attribute__((unused))
#define core_initcall(fn)

#endif /* _UNWIND_REPLAY_LINUX_INIT_H */

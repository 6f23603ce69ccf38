/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_ASM_SEGMENT_H
#define _UNWIND_REPLAY_ASM_SEGMENT_H

#define __USER32_CS	0x23
#define __USER_DS	0x2b

#endif /* _UNWIND_REPLAY_ASM_SEGMENT_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNWIND_REPLAY_ASM_INSN_EVAL_H
#define _UNWIND_REPLAY_ASM_INSN_EVAL_H

#define insn_get_seg_base(regs, seg)	((void)(regs), (void)(seg), 0UL)

#endif /* _UNWIND_REPLAY_ASM_INSN_EVAL_H */

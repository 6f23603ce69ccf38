/* SPDX-License-Identifier: GPL-2.0 */
/* Registers of 64-bit code. */
#ifndef _UNWIND_REPLAY_ASM_PTRACE_H
#define _UNWIND_REPLAY_ASM_PTRACE_H

#include <linux/types.h>

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#define X86_VM_MASK			0
#define user_64bit_mode(regs)		((void)(regs), true)
#define user_mode(regs)			((void)(regs), true)
#define instruction_pointer(regs)	((regs)->ip)
#define user_stack_pointer(regs)	((regs)->sp)

#endif /* _UNWIND_REPLAY_ASM_PTRACE_H */

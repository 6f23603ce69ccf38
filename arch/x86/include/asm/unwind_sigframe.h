/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwinding signal frames without tables: the layout of the kernel's frames, and
 * the instructions of restorers, by which the unwinder recognizes such a frame.
 */
#ifndef _ASM_X86_UNWIND_SIGFRAME_H
#define _ASM_X86_UNWIND_SIGFRAME_H

#include <linux/signal_types.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include <asm/sigframe.h>
#include <asm/unwind_regs.h>

/* bytes of the longest restorer, the code that a signal handler returns to */
#define UNWIND_ARCH_RESTORER_BYTES	9
#define UNWIND_ARCH_RESTORER_STEPS	4

/**
 * struct arch_unwind_sigframe - offsets of the interrupted registers
 * @ip: offset of the instruction pointer from the restorer's stack pointer
 * @sp: offset of the stack pointer
 * @nr: number of callee-saved registers
 * @kept: their offsets, by slot
 */
struct arch_unwind_sigframe {
	u16	ip;
	u16	sp;
	u16	nr;
	u16	kept[UNWIND_NR_KEPT];
};

/**
 * struct arch_unwind_restorer - code that ends a signal handler
 * @word: bytes of a stack word of this code
 * @popped: bytes that its first instruction takes from the stack
 * @nr: bytes of @code
 * @steps: offsets of its instructions, and of the end of the last one, to which
 *	   its system call returns
 * @code: the code
 * @frame: layout of the stack at its first instruction
 */
struct arch_unwind_restorer {
	u8	word;
	u8	popped;
	u8	nr;
	u8	steps[UNWIND_ARCH_RESTORER_STEPS];
	u8	code[UNWIND_ARCH_RESTORER_BYTES];
	struct arch_unwind_sigframe	frame;
};

/* Offsets from the frame's second word: the handler's return has popped the first one. */
#define UNWIND_FRAME_64(reg)						\
	(offsetof(struct rt_sigframe, uc.uc_mcontext.reg) - sizeof(u64))
#define UNWIND_FRAME_RT32(reg)						\
	(offsetof(struct rt_sigframe_ia32, uc.uc_mcontext.reg) - sizeof(u32))
#define UNWIND_FRAME_32(reg)						\
	(offsetof(struct sigframe_ia32, sc.reg) - sizeof(u32))

#define UNWIND_SIGFRAME_64 {						\
	.ip = UNWIND_FRAME_64(ip), .sp = UNWIND_FRAME_64(sp), .nr = 6,	\
	.kept = {							\
		UNWIND_FRAME_64(bp), UNWIND_FRAME_64(bx),		\
		UNWIND_FRAME_64(r12), UNWIND_FRAME_64(r13),		\
		UNWIND_FRAME_64(r14), UNWIND_FRAME_64(r15),		\
	},								\
}

#define UNWIND_SIGFRAME_RT32 {						\
	.ip = UNWIND_FRAME_RT32(ip), .sp = UNWIND_FRAME_RT32(sp),	\
	.nr = 4,							\
	.kept = {							\
		UNWIND_FRAME_RT32(bp), UNWIND_FRAME_RT32(bx),		\
		UNWIND_FRAME_RT32(si), UNWIND_FRAME_RT32(di),		\
	},								\
}

#define UNWIND_SIGFRAME_32 {						\
	.ip = UNWIND_FRAME_32(ip), .sp = UNWIND_FRAME_32(sp),		\
	.nr = 4,							\
	.kept = {							\
		UNWIND_FRAME_32(bp), UNWIND_FRAME_32(bx),		\
		UNWIND_FRAME_32(si), UNWIND_FRAME_32(di),		\
	},								\
}

static const struct arch_unwind_restorer arch_unwind_restorers[] = {
	{	/* mov $__NR_rt_sigreturn,%rax; syscall */
		.word = 8, .nr = 9, .steps = { 0, 7, 9 },
		.code = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 },
		.frame = UNWIND_SIGFRAME_64,
	},
	{	/* mov $__NR_rt_sigreturn,%eax; syscall */
		.word = 8, .nr = 7, .steps = { 0, 5, 7 },
		.code = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 },
		.frame = UNWIND_SIGFRAME_64,
	},
#ifdef CONFIG_IA32_EMULATION
	{	/* pop %eax; mov $__NR_sigreturn,%eax; int $0x80 */
		.word = 4, .popped = 4, .nr = 8, .steps = { 0, 1, 6, 8 },
		.code = { 0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80 },
		.frame = UNWIND_SIGFRAME_32,
	},
	{	/* mov $__NR_rt_sigreturn,%eax; int $0x80 */
		.word = 4, .nr = 7, .steps = { 0, 5, 7 },
		.code = { 0xb8, 173, 0, 0, 0, 0xcd, 0x80 },
		.frame = UNWIND_SIGFRAME_RT32,
	},
#endif
};

#endif /* _ASM_X86_UNWIND_SIGFRAME_H */

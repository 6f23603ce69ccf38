/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_REGS_H
#define _ASM_X86_UNWIND_REGS_H

#include <linux/nospec.h>
#include <linux/types.h>

/*
 * Unwind rules use the register numbers of 64-bit DWARF (System V ABI, AMD64
 * supplement, figure 3.36), also for 32-bit code.
 */
#define UNWIND_REG_AX	0
#define UNWIND_REG_BX	3
#define UNWIND_REG_SI	4
#define UNWIND_REG_DI	5
#define UNWIND_REG_FP	6
#define UNWIND_REG_SP	7
#define UNWIND_REG_R12	12
#define UNWIND_REG_R13	13
#define UNWIND_REG_R14	14
#define UNWIND_REG_R15	15
#define UNWIND_REG_RA	16
#define UNWIND_REG_NR	17

/*
 * The slots of registers that a row of a table restores: the callee-saved
 * registers, the frame pointer first; then the return address and the stack
 * pointer.
 */
#define UNWIND_SLOT_FP	0
#define UNWIND_SLOT_BX	1
#define UNWIND_NR_KEPT	6
#define UNWIND_SLOT_RA	6
#define UNWIND_SLOT_SP	7
#define UNWIND_NR_SLOTS	8

/* __builtin_eh_return_data_regno(0) of gcc */
#define UNWIND_REG_EH_DATA	UNWIND_REG_AX

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/**
 * arch_unwind_reg - convert a register number of DWARF tables to that of rules
 * @dwarf: the number in the tables
 * @word: bytes of a stack word of the code, 4 or 8
 *
 * 32-bit numbers: System V ABI, i386 supplement, table 2.14.
 *
 * Return: UNWIND_REG_*, or -1 if rules do not support the register.
 */
static inline int arch_unwind_reg(u64 dwarf, unsigned int word)
{
	/* eax, ecx, edx, ebx, esp, ebp, esi, edi, return address */
	static const s8 regs_32[] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };

	if (word == 8)
		return dwarf < UNWIND_REG_NR ?
		       (int)array_index_nospec(dwarf, UNWIND_REG_NR) : -1;
	return dwarf < sizeof(regs_32) ?
	       regs_32[array_index_nospec(dwarf, sizeof(regs_32))] : -1;
}
#endif

/**
 * arch_unwind_slot - the slot of a register
 * @reg: UNWIND_REG_*
 * @word: bytes of a stack word of the code, 4 or 8
 *
 * Return: the slot, or -1 for a caller-saved register.
 */
static inline int arch_unwind_slot(unsigned int reg, unsigned int word)
{
	static const s8 slots_64[UNWIND_REG_NR] = {
		-1, -1, -1, 1, -1, -1, 0, 7, -1, -1, -1, -1, 2, 3, 4, 5, 6,
	};
	static const s8 slots_32[UNWIND_REG_NR] = {
		-1, -1, -1, 1, 2, 3, 0, 7, -1, -1, -1, -1, -1, -1, -1, -1, 6,
	};

	return word == 8 ? slots_64[reg] : slots_32[reg];
}

#endif /* _ASM_X86_UNWIND_REGS_H */

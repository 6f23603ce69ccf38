/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_UNWIND_WALK_H
#define _ASM_X86_UNWIND_WALK_H

#include <linux/bits.h>
#include <linux/types.h>
#include <asm/insn-eval.h>
#include <asm/inat.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#ifdef CONFIG_UNWIND_USER_IN_PLACE
#include <asm/sections.h>
#include <asm/stacktrace.h>
#endif
#include <asm/unwind_regs.h>

/* bytes of an instruction that are needed to tell the state of the frame */
#define UNWIND_ARCH_INSN_BYTES	4
/* bytes in front of a return address that are needed to recognize a call */
#define UNWIND_ARCH_CALL_BYTES	7

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* e_machine of objects whose tables are for 64-bit and 32-bit code */
#define UNWIND_ARCH_MACHINE_64	EM_X86_64
#define UNWIND_ARCH_MACHINE_32	EM_386
#endif

enum unwind_arch_frame {
	UNWIND_FRAME_NONE,	/* the return address is on top of the stack */
	UNWIND_FRAME_PUSHED,	/* the frame pointer is on top, then the return address */
	UNWIND_FRAME_SET_UP,	/* the frame pointer register points to both */
};

static inline unsigned int arch_unwind_word(struct pt_regs *regs)
{
	return user_64bit_mode(regs) ? 8 : 4;
}

/* Virtual 8086 mode is not unwound: its stack has 16-bit words. */
static inline bool arch_unwind_possible(struct pt_regs *regs)
{
	return user_mode(regs) && !(regs->flags & X86_VM_MASK);
}

static inline unsigned long arch_unwind_seg_base(struct pt_regs *regs, int seg)
{
	unsigned long base = insn_get_seg_base(regs, seg);

	return base == -1UL ? 0 : base;
}

static inline unsigned long arch_unwind_cs_base(struct pt_regs *regs)
{
	if (user_64bit_mode(regs) || regs->cs == __USER32_CS)
		return 0;
	return arch_unwind_seg_base(regs, INAT_SEG_REG_CS);
}

static inline unsigned long arch_unwind_ss_base(struct pt_regs *regs)
{
	if (user_64bit_mode(regs) || regs->ss == __USER_DS)
		return 0;
	return arch_unwind_seg_base(regs, INAT_SEG_REG_SS);
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* Are both segment bases 0?  A base in the LDT is read under a mutex. */
static inline bool arch_unwind_is_flat(struct pt_regs *regs)
{
	return user_64bit_mode(regs) || (regs->cs == __USER32_CS && regs->ss == __USER_DS);
}

/*
 * Has the entry from user space saved all registers in task_pt_regs()?  @regs are those of a sample
 * in the kernel.  An entry begins on the user's stack, the entry stack or the task's, and pushes
 * the registers on the latter; a return to user space does this in reverse.  So on the task's
 * stack all are saved below the pushed registers, and on the stacks of interrupts, which C code
 * switches to.
 * On an exception's own stack this is not known: it may have come at any point.  Nor is it while a
 * return pops the registers, although their copies are still there then.
 */
static inline bool arch_unwind_regs_are_saved(const struct pt_regs *regs)
{
	unsigned long saved = (unsigned long)task_pt_regs(current);
	struct stack_info info;

	if (saved - regs->sp < THREAD_SIZE)
		return true;
	if (regs->ip >= (unsigned long)__entry_text_start &&
	    regs->ip < (unsigned long)__entry_text_end)
		return false;
	if (!get_stack_info_noinstr((unsigned long *)regs->sp, current, &info))
		return regs->sp >= TASK_SIZE_MAX;
	return info.type == STACK_TYPE_IRQ || info.type == STACK_TYPE_SOFTIRQ;
}
#endif

static inline bool arch_unwind_in_syscall(struct pt_regs *regs)
{
	return (long)regs->orig_ax >= 0;
}

/* Add a value to a checksum, in two instructions. If only one value changes, the sum changes. */
static inline unsigned long arch_unwind_mix(unsigned long sum, unsigned long val)
{
	return 9 * sum + val;
}

/*
 * A checksum of the registers, other than ip, sp and fp, from which an unwind may
 * start.  It changes if one of these registers changes.  A system call changes ax, and
 * during it the user's r11 is unknown, so ax and r11 are included only with @all.
 */
static inline unsigned long arch_unwind_others(struct pt_regs *regs, bool all)
{
	unsigned long sum = regs->bx;

	sum = arch_unwind_mix(sum, regs->r12);
	sum = arch_unwind_mix(sum, regs->r13);
	sum = arch_unwind_mix(sum, regs->r14);
	sum = arch_unwind_mix(sum, regs->r15);
	sum = arch_unwind_mix(sum, regs->r10);
	sum = arch_unwind_mix(sum, regs->si);
	sum = arch_unwind_mix(sum, regs->di);
	sum = arch_unwind_mix(sum, regs->dx);
	sum = arch_unwind_mix(sum, regs->cx);
	sum = arch_unwind_mix(sum, regs->r8);
	sum = arch_unwind_mix(sum, regs->r9);
	if (all)
		sum = arch_unwind_mix(arch_unwind_mix(sum, regs->ax), regs->r11);
	return sum;
}

/* The callee-saved registers, by slot; see <asm/unwind_regs.h>. */
static inline void arch_unwind_kept(struct pt_regs *regs, unsigned long *kept)
{
	kept[UNWIND_SLOT_FP] = regs->bp;
	kept[UNWIND_SLOT_BX] = regs->bx;
	if (user_64bit_mode(regs)) {
		kept[2] = regs->r12;
		kept[3] = regs->r13;
		kept[4] = regs->r14;
		kept[5] = regs->r15;
	} else {
		kept[2] = regs->si;
		kept[3] = regs->di;
		kept[4] = 0;
		kept[5] = 0;
	}
}

#ifdef CONFIG_UNWIND_USER_CODE
#define UNWIND_ARCH_NR_GENERAL	16

/* Convert the DWARF number of a register, which rules use, to its number in instructions. */
static inline unsigned int arch_unwind_insn_reg(unsigned int reg)
{
	static const u8 numbers[] = { 0, 2, 1, 3, 6, 7, 5, 4 };

	return reg < sizeof(numbers) ? numbers[array_index_nospec(reg, sizeof(numbers))] :
				       reg;
}

/*
 * All general registers but the stack pointer, by their numbers in instructions.
 * If cx has the address of the next instruction, the syscall instruction has put it there:
 * then use 0 for cx.
 */
static inline void arch_unwind_general(struct pt_regs *regs, unsigned long *vals)
{
	const unsigned long all[UNWIND_ARCH_NR_GENERAL] = {
		regs->ax, regs->cx == regs->ip ? 0 : regs->cx, regs->dx, regs->bx,
		0, regs->bp, regs->si, regs->di,
		regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
		regs->r14, regs->r15,
	};

	__builtin_memcpy(vals, all, sizeof(all));
}
#endif

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/*
 * Is the user's value of a caller-saved register known?  A system call changes ax, and the
 * syscall instruction changes cx and r11 as well.  System calls of 32-bit code preserve cx,
 * in which vfork() has its return address.  Interrupts and exceptions change no register.
 */
static inline bool arch_unwind_has_reg(struct pt_regs *regs, unsigned int reg)
{
	if (reg == 0 || reg == 11)
		return !arch_unwind_in_syscall(regs);
	if (reg == 2)
		return !arch_unwind_in_syscall(regs) || !user_64bit_mode(regs);
	return reg == 1 || reg == 4 || reg == 5 || (reg >= 8 && reg <= 10);
}

/* The value of a register for which arch_unwind_has_reg() is true. */
static inline unsigned long arch_unwind_reg_val(struct pt_regs *regs,
						unsigned int reg)
{
	switch (reg) {
	case 0: return regs->ax;
	case 1: return regs->dx;
	case 2: return regs->cx;
	case 4: return regs->si;
	case 5: return regs->di;
	case 8: return regs->r8;
	case 9: return regs->r9;
	case 11: return regs->r11;
	default: return regs->r10;
	}
}
#endif

/* ret, ret imm16, rep ret */
static inline bool arch_unwind_is_return(const u8 *insn)
{
	return insn[0] == 0xc3 || insn[0] == 0xc2 || (insn[0] == 0xf3 && insn[1] == 0xc3);
}

/* The state of a frame-pointer frame just before the instruction @insn runs. */
static inline enum unwind_arch_frame arch_unwind_frame(const u8 *insn,
						       unsigned int word)
{
	const u8 *mov = insn;

	/* endbr64, endbr32 */
	if (insn[0] == 0xf3 && insn[1] == 0x0f && insn[2] == 0x1e &&
	    insn[3] == (word == 8 ? 0xfa : 0xfb))
		return UNWIND_FRAME_NONE;

	/* int3: a breakpoint, which is mostly set at the beginning of a function */
	if (insn[0] == 0xcc)
		return UNWIND_FRAME_NONE;

	/* push %rbp */
	if (insn[0] == 0x55 || arch_unwind_is_return(insn))
		return UNWIND_FRAME_NONE;

	/* mov %rsp,%rbp in both encodings */
	if (word == 8 && *mov++ != 0x48)
		return UNWIND_FRAME_SET_UP;
	if ((mov[0] == 0x89 && mov[1] == 0xe5) ||
	    (mov[0] == 0x8b && mov[1] == 0xec))
		return UNWIND_FRAME_PUSHED;

	return UNWIND_FRAME_SET_UP;
}

#ifdef CONFIG_UNWIND_USER_EH_INDEX
/* jmp *disp32(%rip), jmp *disp32: a stub of the procedure linkage table */
#define UNWIND_ARCH_STUB_BYTES	2

static inline bool arch_unwind_is_stub(const u8 *insn)
{
	return insn[0] == 0xff && insn[1] == 0x25;
}
#endif

/* syscall, sysenter, int $0x80 */
static inline bool arch_unwind_is_syscall(const u8 *insn)
{
	return (insn[0] == 0x0f && (insn[1] == 0x05 || insn[1] == 0x34)) ||
	       (insn[0] == 0xcd && insn[1] == 0x80);
}

/* The offset after the system call in uretprobe_trampoline_entry. */
#define UNWIND_ARCH_TRAMPOLINE_ASKED	13

/*
 * Number of bytes that uretprobe_trampoline_entry has pushed before its instruction at
 * @offset, or -1 if no instruction begins there.  The 32-bit trampoline is a breakpoint.
 */
static inline int arch_unwind_trampoline_pushed(unsigned long offset,
						unsigned int word)
{
	if (word != 8)
		return offset ? -1 : 0;

	switch (offset) {
	case 0:		/* push %rax */
		return 0;
	case 1:		/* push %rcx */
		return 8;
	case 2:		/* push %r11 */
		return 16;
	case 4:		/* mov $__NR_uretprobe,%rax */
	case 11:	/* syscall */
	case UNWIND_ARCH_TRAMPOLINE_ASKED:	/* pop %r11 */
		return 24;
	case 15:	/* pop %rcx */
		return 16;
	case 16:	/* ret */
		return 8;
	default:
		return -1;
	}
}

/*
 * Is this offset after the trampoline's system call?  The system call puts the original
 * return address on the stack.
 */
static inline bool arch_unwind_trampoline_asked(unsigned long offset,
						unsigned int word)
{
	return word == 8 && offset >= UNWIND_ARCH_TRAMPOLINE_ASKED;
}

/*
 * Slots of registers that uprobes may use instead of %rip when a copy of a probed
 * instruction runs.  Only 64-bit code uses %rip.  The other registers that uprobes may use,
 * si and di, have no slot in 64-bit code.
 */
static inline u8 arch_unwind_xol_scratch(unsigned int word)
{
	return word == 8 ? BIT(UNWIND_SLOT_BX) : 0;
}

/* Length of an instruction with opcode ff and this ModR/M byte; Intel SDM vol. 2, 2.1.5. */
static inline int arch_unwind_ff_length(u8 modrm, u8 sib)
{
	u8 mod = modrm >> 6, rm = modrm & 7;
	int len = 2 + (mod == 1) + 4 * (mod == 2);

	if (mod == 3)
		return len;
	if (rm == 4)
		return len + 1 + 4 * (!mod && (sib & 7) == 5);
	return len + 4 * (!mod && rm == 5);
}

#ifdef CONFIG_UNWIND_USER_CODE
#define UNWIND_ARCH_BREAKPOINT	0xcc

/* The target of the direct call in these bytes, or 0 if they are not a direct call. */
#define UNWIND_ARCH_DIRECT_BYTES	5

static inline unsigned long arch_unwind_call_target(const u8 *insn, unsigned long end)
{
	s32 distance;

	if (insn[0] != 0xe8)
		return 0;
	__builtin_memcpy(&distance, insn + 1, sizeof(distance));
	return end + distance;
}
#endif

/* Do these bytes end in a near call: e8 rel32, or ff /2 in any length? */
static inline bool arch_unwind_is_call(const u8 *before)
{
	const u8 *end = before + UNWIND_ARCH_CALL_BYTES;
	int len;

	if (end[-5] == 0xe8)
		return true;
	for (len = 2; len <= 7; len++) {
		if (end[-len] == 0xff && (end[1 - len] & 0x38) == 0x10 &&
		    arch_unwind_ff_length(end[1 - len], len > 2 ? end[2 - len] : 0) == len)
			return true;
	}
	return false;
}

/* Is this goexit() of a Go program: nop; call goexit1; nop? */
static inline bool arch_unwind_is_goexit(const u8 *code)
{
	return code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90;
}

#endif /* _ASM_X86_UNWIND_WALK_H */

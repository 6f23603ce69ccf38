/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind rules from machine code: what one instruction does to the registers that
 * lead to the return address, and the rule that follows from a path through them.
 * Knows no tasks and no allocation, and compiles in user space.
 */
#ifndef _KERNEL_UNWIND_CODE_H
#define _KERNEL_UNWIND_CODE_H

#include <linux/types.h>

/* the longest instruction, in bytes */
#define UNWIND_CODE_INSN_BYTES	15
#define UNWIND_CODE_NR_REGS	16
/* no register, or one whose value is not followed */
#define UNWIND_CODE_NO_REG	0xff

/**
 * enum unwind_code_op - what an instruction does
 * @UNWIND_CODE_NOP: nothing
 * @UNWIND_CODE_OTHER: nothing but write to the registers in @clobbers
 * @UNWIND_CODE_MOVE: @reg = @base + @off
 * @UNWIND_CODE_LOAD: @reg = the word at @base + @off
 * @UNWIND_CODE_STORE: write @width bytes at @base + @off; all of a word is @reg
 * @UNWIND_CODE_PUSH: push @reg
 * @UNWIND_CODE_PUSH_MEM: push the word at @base + @off
 * @UNWIND_CODE_POP: pop @reg
 * @UNWIND_CODE_POP_MEM: pop the word at @base + @off
 * @UNWIND_CODE_LEAVE: sp = fp, pop fp
 * @UNWIND_CODE_RETURN: pop the return address and go there
 * @UNWIND_CODE_JUMP: go to the end of this instruction plus @off
 * @UNWIND_CODE_BRANCH: go there or to the next instruction
 * @UNWIND_CODE_JUMP_REG: go to the address in @reg
 * @UNWIND_CODE_CALL: call a function at the end of this instruction plus @off
 * @UNWIND_CODE_CALL_OTHER: call a function at an address that is not in the code
 * @UNWIND_CODE_END: the path cannot be followed further; with @off it is a return that takes
 *		     so many bytes of arguments off the stack
 */
enum unwind_code_op {
	UNWIND_CODE_NOP,
	UNWIND_CODE_OTHER,
	UNWIND_CODE_MOVE,
	UNWIND_CODE_LOAD,
	UNWIND_CODE_STORE,
	UNWIND_CODE_PUSH,
	UNWIND_CODE_PUSH_MEM,
	UNWIND_CODE_POP,
	UNWIND_CODE_POP_MEM,
	UNWIND_CODE_LEAVE,
	UNWIND_CODE_RETURN,
	UNWIND_CODE_JUMP,
	UNWIND_CODE_BRANCH,
	UNWIND_CODE_JUMP_REG,
	UNWIND_CODE_CALL,
	UNWIND_CODE_CALL_OTHER,
	UNWIND_CODE_END,
};

/**
 * struct unwind_code_insn - one instruction
 * @off: an offset in bytes, as @op says
 * @clobbers: bit mask of the registers that it writes to in other ways
 * @op: enum unwind_code_op
 * @len: its length in bytes
 * @reg: a register by the number that instructions have for it
 * @base: another one
 * @width: bytes that UNWIND_CODE_STORE writes
 * @writes: it may write to memory in other ways
 * @uses_flags: it goes by the flags that an instruction before it has set
 */
struct unwind_code_insn {
	s32	off;
	u16	clobbers;
	u8	op;
	u8	len;
	u8	reg;
	u8	base;
	u8	width;
	bool	writes;
	bool	uses_flags;
};

/**
 * struct unwind_code - code, and the rule that was found in it
 * @read: reads @len bytes of code at an address; returns how many of them there are
 * @ctx: for @read
 * @known: optional: fills in the rule of an address that is known; for long paths
 * @note: for unwind_code_tell(): told of an address on a path whose rule has been
 *	  found by that
 * @word: bytes of a stack word of the code, 4 or 8
 * @fp_above_sp: distance of the frame pointer from the stack pointer, in bytes, to
 *		 check what follows from both; 0 if it is not known
 * @returned: it has called a function, which may have taken arguments off the stack
 * @memory: unwind_code_memory bytes to search in, from the first call to the last
 *
 * @cfa_off: offset of the CFA from the base register, in bytes; or from the word in
 *	     memory that it leads to, if @by_mem
 * @fp_off: offset of the caller's frame pointer from the CFA, if @fp_saved; or from
 *	    the frame pointer, if @fp_at_fp as well
 * @by_fp: the base register is the frame pointer, not the stack pointer
 * @by_mem: the base register is @mem_reg, and the CFA is the word at it plus @mem_off,
 *	    plus @cfa_off: the frame lies on another stack
 * @mem_off: offset of a word from @mem_reg, in bytes
 * @mem_reg: the stack pointer or another register that functions keep, by the number that
 *	     instructions have for it
 * @fp_saved: the caller's frame pointer lies on the stack
 * @fp_at_fp: it is found by the frame pointer, though the CFA is not
 * @fp_lost: it is not known where it is
 * @extends: the caller's stack pointer may lie higher than the CFA
 * @end: address of the end of the last instruction of the path
 * @live: bit mask of the registers that may hold a return address; valid even if
 *	  there is no rule
 * @left_at: offset from the stack pointer, in bytes, of where it was when the path left
 *	     for an address that is not known; -1 if none did; valid even if there is
 *	     no rule
 * @is_doubtful: it was found behind a call, which may not return, or by a jump that may
 *		 be one within the function
 * @fp_is_base: what lies below the frame pointer is used, so that it is the frame's
 *		own; valid even if there is no rule
 * @prologue: where the frame pointer is set, see unwind_code_has_frame()
 *
 * The caller fills in what is above.  The return address is the word below the
 * CFA.  If not @fp_saved nor @fp_lost, the register has the caller's value.
 */
struct unwind_code {
	unsigned int	(*read)(void *ctx, unsigned long addr, u8 *to,
				unsigned int len);
	bool		(*known)(void *ctx, unsigned long ip, struct unwind_code *rule);
	void		(*note)(void *ctx, unsigned long ip,
				const struct unwind_code *rule);
	void		*ctx;
	unsigned int	word;
	s64		fp_above_sp;
	bool		returned;
	void		*memory;

	s32		cfa_off;
	s32		fp_off;
	s32		mem_off;
	u8		mem_reg;
	bool		by_fp;
	bool		by_mem;
	bool		fp_saved;
	bool		fp_at_fp;
	bool		fp_lost;
	bool		extends;
	unsigned long	end;
	u16		live;
	s32		left_at;
	bool		is_doubtful;
	bool		fp_is_base;
	unsigned long	prologue;
};

/**
 * enum unwind_code_frame - whose frame is where the frame pointer leads to?
 * @UNWIND_CODE_FRAME_OTHER: not known
 * @UNWIND_CODE_FRAME_OWN: that of the code, unless it has not set it up yet
 * @UNWIND_CODE_FRAME_IN_FRONT: of the function in front of the code, whose frame is as
 *				large; whether the code belongs to it does not show
 */
enum unwind_code_frame {
	UNWIND_CODE_FRAME_OTHER,
	UNWIND_CODE_FRAME_OWN,
	UNWIND_CODE_FRAME_IN_FRONT,
};

extern const unsigned int unwind_code_memory;

/* 0, or -ENOENT if no path that was followed tells */
int unwind_code_find(struct unwind_code *code, unsigned long ip);
void unwind_code_tell(const struct unwind_code *code);
bool unwind_code_goes_on(struct unwind_code *code, unsigned long ip, unsigned long *to);
bool unwind_code_is_one(struct unwind_code *code, unsigned long from, unsigned long to);
unsigned long unwind_code_prologue(struct unwind_code *code, unsigned long start);
s64 unwind_code_depth(struct unwind_code *code, unsigned long start, unsigned long ip);
enum unwind_code_frame unwind_code_has_frame(struct unwind_code *code, unsigned long ip,
					     unsigned long size);
u16 unwind_code_keeps(struct unwind_code *code, unsigned long start, unsigned long ip);

/* by architecture: false if this is no instruction that is known */
bool unwind_code_decode(const u8 *bytes, unsigned int nr, unsigned int word,
			struct unwind_code_insn *insn);
/* bytes that tell whether an instruction sets the frame pointer from the stack pointer */
#define UNWIND_CODE_FRAME_BYTES	4
bool unwind_code_sets_frame(const u8 *bytes, unsigned int word);
unsigned int unwind_code_length(const u8 *bytes, unsigned int nr, unsigned int word);
u16 unwind_code_scratch(unsigned int word);
extern const u8 unwind_code_sp;
extern const u8 unwind_code_fp;

#endif /* _KERNEL_UNWIND_CODE_H */

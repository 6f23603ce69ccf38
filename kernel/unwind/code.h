/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind rules from machine code: what one instruction does to the registers that
 * lead to the return address, and the rule that follows from a path of instructions.
 * This code does not depend on tasks or allocation, so it also compiles in user space.
 */
#ifndef _KERNEL_UNWIND_CODE_H
#define _KERNEL_UNWIND_CODE_H

#include <linux/types.h>

/* the longest instruction, in bytes */
#define UNWIND_CODE_INSN_BYTES	15
#define UNWIND_CODE_NR_REGS	16
/* no register, or one whose value is not tracked */
#define UNWIND_CODE_NO_REG	0xff

/**
 * enum unwind_code_op - what an instruction does
 * @UNWIND_CODE_NOP: nothing
 * @UNWIND_CODE_OTHER: change only the registers in @clobbers and, if @writes, memory
 * @UNWIND_CODE_MOVE: @reg = @base + @off
 * @UNWIND_CODE_LOAD: @reg = the word at @base + @off
 * @UNWIND_CODE_STORE: write @width bytes at @base + @off: if @width is a word, the value of @reg,
 *		       else an unknown value
 * @UNWIND_CODE_PUSH: push @reg
 * @UNWIND_CODE_PUSH_MEM: push the word at @base + @off
 * @UNWIND_CODE_POP: pop @reg
 * @UNWIND_CODE_POP_MEM: pop to the word at @base + @off
 * @UNWIND_CODE_LEAVE: sp = fp, pop fp
 * @UNWIND_CODE_RETURN: pop the return address and go there
 * @UNWIND_CODE_JUMP: go to the end of this instruction plus @off
 * @UNWIND_CODE_BRANCH: go to the end of this instruction plus @off, or to the next instruction
 * @UNWIND_CODE_JUMP_REG: go to the address in @reg
 * @UNWIND_CODE_CALL: call a function at the end of this instruction plus @off
 * @UNWIND_CODE_CALL_OTHER: call a function whose address is in a register or in memory
 * @UNWIND_CODE_END: the path cannot be followed further
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
 * @clobbers: bit mask of the registers that it changes, besides those that @op changes
 * @op: enum unwind_code_op
 * @len: its length in bytes
 * @reg: a register, by its number in instructions
 * @base: another register
 * @width: bytes that UNWIND_CODE_STORE writes
 * @writes: if @op is UNWIND_CODE_OTHER: it may write to memory
 * @uses_flags: it depends on the flags that an earlier instruction has set
 * @aligns_sp: it aligns the stack pointer to 16 bytes
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
	bool	aligns_sp;
};

#define UNWIND_CODE_PARTS	4

/**
 * struct unwind_code - code, and the rule that was found in it
 * @read: reads up to @len bytes of code at an address; returns how many it has read
 * @ctx: for @read
 * @word: bytes of a stack word of the code, 4 or 8
 * @fp_above_sp: distance of the frame pointer from the stack pointer, in bytes, to check
 *		 rules that use both; 0 if it is not known
 * @returned: @ip is a return address: the called function may remove its arguments on return
 * @memory: scratch memory, of the sizes in unwind_code_parts, for unwind_code_find()
 *
 * @cfa_off: offset of the CFA from the base register, in bytes; if @by_mem, the number to add
 *	     to the word in memory
 * @fp_off: if @fp_saved: offset of the word that holds the caller's frame pointer, from the
 *	    frame pointer if @fp_at_fp is set, else from the CFA
 * @by_fp: the base register is the frame pointer, not the stack pointer
 * @by_mem: the frame is on another stack: the CFA is @cfa_off plus the word in memory at
 *	    @mem_reg + @mem_off
 * @mem_off: if @by_mem: offset of the word in memory from @mem_reg, in bytes
 * @mem_reg: if @by_mem: the stack pointer or another callee-saved register, by its number in
 *	     instructions
 * @fp_saved: the caller's frame pointer lies on the stack
 * @fp_at_fp: @fp_off is relative to the frame pointer, but @cfa_off to the stack pointer
 * @fp_lost: the caller's frame pointer cannot be found
 * @extends: the caller's stack pointer may lie higher than the CFA
 * @end: address of the end of the last instruction of the path
 * @live: bit mask of the registers that may hold a return address; valid even if
 *	  there is no rule
 * @is_doubtful: the rule was found after a call that may not return, or by a jump that
 *		 may stay within the function
 * @fp_is_base: before any call, the code uses memory below the frame pointer; valid even if
 *		there is no rule
 * @prologue: address of the instruction that sets the frame pointer, see
 *	      unwind_code_has_frame()
 *
 * The caller fills in the members above the blank line.  @ip is the argument of the functions
 * that read the code.  The return address is the word below the CFA.  If neither @fp_saved nor
 * @fp_lost is set, the frame pointer is still the caller's.
 */
struct unwind_code {
	unsigned int	(*read)(void *ctx, unsigned long addr, u8 *to,
				unsigned int len);
	void		*ctx;
	unsigned int	word;
	s64		fp_above_sp;
	bool		returned;
	void		*memory[UNWIND_CODE_PARTS];

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
	bool		is_doubtful;
	bool		fp_is_base;
	unsigned long	prologue;
};

/* bytes of each part of unwind_code::memory; each part has at most a page */
extern const unsigned int unwind_code_parts[UNWIND_CODE_PARTS];

bool unwind_code_find(struct unwind_code *code, unsigned long ip);
bool unwind_code_goes_on(struct unwind_code *code, unsigned long ip, unsigned long *to);
bool unwind_code_may_land(struct unwind_code *code, unsigned long ip);
bool unwind_code_is_one(struct unwind_code *code, unsigned long at, unsigned long ip);
bool unwind_code_is_straight(struct unwind_code *code, unsigned long at, unsigned long ip,
			     unsigned long *sp, unsigned long *high);
unsigned long unwind_code_prologue(struct unwind_code *code, unsigned long start, bool *saves_fp);
bool unwind_code_has_frame(struct unwind_code *code, unsigned long ip, unsigned long size);
u16 unwind_code_keeps(struct unwind_code *code, unsigned long start, unsigned long ip);

/* The architecture implements all that follows. */
bool unwind_code_decode(const u8 *bytes, unsigned int nr, unsigned int word,
			struct unwind_code_insn *insn);
/* unwind_code_saves_fp() needs this many bytes before an instruction, and as many from it on */
#define UNWIND_CODE_SAVE_BYTES	8
bool unwind_code_saves_fp(const u8 *bytes, unsigned int word);
/* how many bytes unwind_code_pushes_itself() needs */
#define UNWIND_CODE_SELF_BYTES	12
bool unwind_code_pushes_itself(const u8 *bytes, u64 ip);
/* how many bytes before an instruction unwind_code_enters() needs */
#define UNWIND_CODE_ENTER_BYTES	3
bool unwind_code_enters(const u8 *bytes);
/* how many bytes of an instruction unwind_code_sets_frame() needs */
#define UNWIND_CODE_FRAME_BYTES	4
bool unwind_code_sets_frame(const u8 *bytes, unsigned int word);
u16 unwind_code_scratch(unsigned int word);
extern const u8 unwind_code_sp;
extern const u8 unwind_code_fp;

#endif /* _KERNEL_UNWIND_CODE_H */

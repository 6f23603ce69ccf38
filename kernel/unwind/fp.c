// SPDX-License-Identifier: GPL-2.0
/*
 * The frame pointer method.
 *
 * A function with a frame pointer pushes its caller's frame pointer and sets the register
 * to the address of the pushed word, so the frame pointers form a list (System V ABI, AMD64
 * supplement, section 3.2.2; i386 supplement, section 2.2.2).  Only the innermost function,
 * and one that a signal interrupted, may not have set its frame pointer yet, or may have popped
 * the caller's already.  The next instruction shows in which state the frame is.
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

#include <asm/unwind_user.h>

#include "unwind.h"

/*
 * Read the next instruction of the frame, as the compiler wrote it.  While the handlers of a
 * uprobe run, memory holds the breakpoint, and the uprobe holds the instruction.  *@probed is
 * set in that case.
 */
static int read_insn(struct unwind_user_state *state, u8 *insn, bool *probed)
{
#ifdef CONFIG_UPROBES
	struct uprobe_task *utask = current->utask;

	if (state->regs && utask && utask->auprobe) {
		memcpy(insn, utask->auprobe->insn, UNWIND_ARCH_INSN_BYTES);
		*probed = true;
		return 0;
	}
#endif
	*probed = false;
	return unwind_read(state, state->insn, insn, UNWIND_ARCH_INSN_BYTES);
}

/**
 * unwind_is_after_call - is there a call instruction in front of an address?
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if the bytes look like a call.
 */
bool unwind_is_after_call(struct unwind_user_state *state, unsigned long addr)
{
	u8 before[UNWIND_ARCH_CALL_BYTES];

	if (addr < sizeof(before) ||
	    unwind_read(state, addr - sizeof(before), before, sizeof(before)))
		return false;
	return arch_unwind_is_call(before);
}

/**
 * unwind_is_return_address - does a word on the stack look like a return address?
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address of the word on the stack, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it does.
 */
bool unwind_is_return_address(struct unwind_user_state *state, unsigned long addr)
{
	struct return_instance *ri = state->ri;
	unsigned long ra;

	if (unwind_read_word(state, addr, &ra))
		return false;
	if (unlikely(state->probed))
		ra = unwind_uprobe_return(&ri, addr, ra);
	return unwind_is_after_call(state, ra + state->cs_base);
}

/*
 * Is the frame in a call or a system call? Then is_nowhere() does not check its code: a system
 * call may have unmapped the code.
 */
static bool has_made_call(struct unwind_user_state *state)
{
	return state->back ||
	       (state->regs && arch_unwind_in_syscall(state->regs));
}

/*
 * Has the program called an address without code?  The code of a frame that a signal interrupted
 * may have been made non-executable since then.  So in such a frame the address must be unmapped.
 */
static bool is_nowhere(struct unwind_user_state *state)
{
	u8 byte;

	if (!state->exact || has_made_call(state))
		return false;
	if (state->regs && state->nowhere)
		return true;
	return unwind_read(state, state->ip, &byte, sizeof(byte)) &&
	       !unwind_is_mapped(state->ip);
}

/* Is the task at a breakpoint of a uprobe? */
static bool is_probed(const struct unwind_user_state *state)
{
#ifdef CONFIG_UPROBES
	return state->regs && current->utask && current->utask->auprobe;
#else
	return false;
#endif
}

/* With @nowhere, an address without code was called: the return address is on top of the stack. */
static enum unwind_arch_frame innermost_frame(struct unwind_user_state *state,
					      bool nowhere)
{
	u8 insn[UNWIND_ARCH_INSN_BYTES];
	enum unwind_arch_frame frame;
	unsigned long ra_addr;
	bool probed;

	if (unlikely(nowhere))
		return unwind_is_return_address(state, state->sp) ?
		       UNWIND_FRAME_NONE : UNWIND_FRAME_SET_UP;
	if (read_insn(state, insn, &probed))
		return UNWIND_FRAME_SET_UP;

	frame = arch_unwind_frame(insn, state->word);
	if (frame == UNWIND_FRAME_SET_UP)
		return frame;

	/*
	 * In code without frame pointers these instructions have other meanings,
	 * so require a return address in the right place.  A uprobe on such an
	 * instruction is assumed to be at the beginning of a function.
	 */
	ra_addr = state->sp + (frame == UNWIND_FRAME_PUSHED ? state->word : 0);
	if (!probed && !unwind_is_return_address(state, ra_addr))
		return UNWIND_FRAME_SET_UP;
	return frame;
}

/**
 * unwind_fp_rule - find a frame's caller by the frame pointer
 * @state: the frame
 * @rule: filled in
 * @full: filled in if @rule is UNWIND_RULE_FULL
 *
 * Signal frames are found only if another method is enabled, too.  Alone, this method
 * skips them, because it reads code in the innermost frame only.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0 and the rule, which may be wrong; -ENOENT if the frame pointer cannot be that
 *	   of the frame; -EFAULT or -ENOMEM if code or stack could not be read.
 */
int unwind_fp_rule(struct unwind_user_state *state,
		   struct unwind_user_rule *rule, struct unwind_cfi_rule *full)
{
	enum unwind_arch_frame frame = UNWIND_FRAME_SET_UP;
	bool by_tables = state->methods != BIT(UNWIND_METHOD_FP);
	bool nowhere = is_nowhere(state);
	s32 word = state->word;
	int ret;

	if (by_tables && !nowhere) {
		ret = unwind_sigframe(state, full);
		rule->kind = UNWIND_RULE_FULL;
		if (ret != -ENOENT)
			return ret;
	}
	if (state->exact && (!by_tables || nowhere || is_probed(state)))
		frame = innermost_frame(state, nowhere);
	if (by_tables && frame == UNWIND_FRAME_SET_UP)
		return unwind_no_tables_rule(state, rule, full);
	if (state->lost & BIT(UNWIND_SLOT_FP))
		return -ENOENT;

	*rule = unwind_fp_set_up(word);
	if (frame == UNWIND_FRAME_SET_UP)
		return 0;
	rule->lost = 0;
	rule->cfa_reg = UNWIND_REG_SP;
	if (frame == UNWIND_FRAME_NONE) {
		rule->cfa_off = word;
		rule->kept = 0;
	}
	return 0;
}

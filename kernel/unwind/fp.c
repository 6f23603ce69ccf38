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
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include <asm/unwind_user.h>

#ifdef CONFIG_UNWIND_USER_CODE
#include "no_tables.h"
#endif
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
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (state->regs && state->nowhere)
		return true;
#endif
	return unwind_read(state, state->ip, &byte, sizeof(byte)) &&
	       !unwind_is_mapped(state->ip);
}

#ifdef CONFIG_UNWIND_USER_CODE
/* Is the task at a breakpoint of a uprobe? */
static bool is_probed(const struct unwind_user_state *state)
{
#ifdef CONFIG_UPROBES
	return state->regs && current->utask && current->utask->auprobe;
#else
	return false;
#endif
}
#endif

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

/* As unwind_is_after_call(), but quicker if the code is resident. */
static bool is_after_call(struct unwind_user_state *state, unsigned long addr)
{
	u8 before[sizeof(u64)];
	u64 bytes;
	int ret;

	pagefault_disable();
	ret = get_user(bytes, (u64 __user *)(addr - sizeof(bytes)));
	pagefault_enable();
	if (ret)
		return unwind_is_after_call(state, addr);
	memcpy(before, &bytes, sizeof(before));
	return arch_unwind_is_call(before + sizeof(before) - UNWIND_ARCH_CALL_BYTES);
}

/*
 * Is the address in code of a file?  The mapping of the last answer is tried first, as most
 * frames of a stack are in few mappings.  If it has been unmapped meanwhile, no harm is done.
 */
static bool is_code_of_file(struct unwind_user_state *state, unsigned long addr)
{
	unsigned long start = 0, end = 0;

	if (addr >= state->code_start && addr < state->code_end)
		return true;
	if (!unwind_is_executable_file(addr, &start, &end))
		return false;
	state->code_start = start;
	state->code_end = end;
	return true;
}

/*
 * May an address be the return address of the frame at @fp?  A call precedes it, or it is that of a
 * signal restorer.  Interpreters, which have no file, may push any address in their code.  The
 * outermost function of a stack may be called by a jump: its saved frame pointer is 0.
 */
static bool may_return_to(struct unwind_user_state *state, unsigned long addr, unsigned long fp)
{
	unsigned long saved;

	if (addr < PAGE_SIZE || addr >= TASK_SIZE_MAX)
		return false;
	if (!is_code_of_file(state, addr))
		return unwind_is_executable(addr);
	return is_after_call(state, addr) || unwind_is_restorer(state, addr) ||
	       (!unwind_read_word(state, fp, &saved) && !saved &&
		fp >= state->sp && !unwind_other_mapping(state->sp, fp));
}

/*
 * Does the frame pointer point to a frame?  Code without frame pointers may use the register for
 * anything.  That the frame lies above the stack pointer is checked when the rule is used.
 */
static bool points_to_frame(struct unwind_user_state *state)
{
	struct return_instance *ri = state->ri;
	unsigned long fp, ra;

	if (unwind_user_reg(state, UNWIND_REG_FP, &fp))
		return false;
	/* if there is no frame, or it cannot be read, the step ends the walk and says why */
	if (!fp || unwind_read_word(state, fp + state->word, &ra))
		return true;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/* where tables are used, unwind_check_cfa() relies on a certain caller */
	if ((state->methods & BIT(UNWIND_METHOD_EH_FRAME)) && fp < state->sp &&
	    !unwind_other_mapping(state->sp - 1, fp))
		return false;
#endif
	if (unlikely(state->probed))
		ra = unwind_uprobe_return(&ri, fp + state->word, ra);
	return !ra || may_return_to(state, ra + state->cs_base, fp);
}

/**
 * unwind_fp_rule - find a frame's caller by the frame pointer
 * @state: the frame
 * @rule: filled in
 * @full: filled in if @rule is UNWIND_RULE_FULL
 *
 * If the frame's function does not set the frame pointer, but its callers do, the frame of
 * one caller is skipped.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0 and the rule; -ENOENT if the frame pointer cannot be that of the frame; -EFAULT or
 *	   -ENOMEM if code or stack could not be read.
 */
int unwind_fp_rule(struct unwind_user_state *state,
		   struct unwind_user_rule *rule, struct unwind_full_rule *full)
{
	enum unwind_arch_frame frame = UNWIND_FRAME_SET_UP;
	bool nowhere = is_nowhere(state);
	s32 word = state->word;
	int ret;

	if (!nowhere) {
		ret = unwind_sigframe(state, full);
		rule->kind = UNWIND_RULE_FULL;
		if (ret != -ENOENT)
			return ret;
	}
#ifdef CONFIG_UNWIND_USER_CODE
	if (unwind_reads_code(state) && !(state->exact && (nowhere || is_probed(state))))
		return unwind_no_tables_rule(state, rule, full);
#endif
	if (state->exact)
		frame = innermost_frame(state, nowhere);
#ifdef CONFIG_UNWIND_USER_CODE
	if (unwind_reads_code(state) && frame == UNWIND_FRAME_SET_UP)
		return unwind_no_tables_rule(state, rule, full);
#endif
	if (state->lost & BIT(UNWIND_SLOT_FP))
		return -ENOENT;

	*rule = unwind_fp_set_up(word);
	if (frame == UNWIND_FRAME_SET_UP)
		return points_to_frame(state) ? 0 : -ENOENT;
	rule->lost = 0;
	rule->cfa_reg = UNWIND_REG_SP;
	if (frame == UNWIND_FRAME_NONE) {
		rule->cfa_off = word;
		rule->kept = 0;
	}
	return 0;
}

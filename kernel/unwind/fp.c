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

#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/uprobes.h>

#include <asm/unwind_walk.h>

#ifdef CONFIG_UNWIND_USER_CODE
#include "no_tables.h"
#endif
#include "step.h"
#include "unwind.h"

/*
 * Has the program called an address without code?  Do not check the code of a frame in a call or a
 * system call: a system call may have unmapped it.  The code of a frame that a signal interrupted
 * may have been made non-executable since then.  So in such a frame the address must be unmapped.
 */
static noinline bool is_nowhere(struct unwind_walk *state)
{
	struct unwind_mapping mapping;
	u8 byte;

	if (state->back || (state->regs && arch_unwind_in_syscall(state->regs)))
		return false;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (state->regs && state->nowhere)
		return true;
#endif
	return unwind_read_int(state, state->ip, &byte) &&
	       !unwind_find_mapping(state->ip, &mapping);
}

/* Is an address in executable memory?  Most frames of a stack are in few mappings. */
static __always_inline bool is_executable(struct unwind_walk *state, unsigned long addr)
{
	struct unwind_mapping *code = &state->code;

	if (addr < PAGE_SIZE || addr >= TASK_SIZE_MAX)
		return false;
	/* if the last mapping has been unmapped meanwhile, no harm is done */
	if ((addr >= code->end || addr < code->start) && !unwind_find_mapping(addr, code))
		return false;
	return code->exec;
}

/*
 * Is there a return address at @addr?  A signal handler returns to the restorer, which follows no
 * call.
 */
static bool fp_is_return_address(struct unwind_walk *state, unsigned long addr)
{
	struct return_instance *ri __uninitialized;
	unsigned long ra;

	if (unwind_read_return_address(state, addr, &ra, &ri))
		return false;
	ra += state->cs_base;
	return is_executable(state, ra) &&
	       (unwind_is_after_call(state, ra) || unwind_is_restorer(state, ra));
}

/*
 * The state of a frame by its next instruction.  With @nowhere, an address without code was
 * called: the return address is on top of the stack.  With @probed, memory holds a breakpoint, and
 * the uprobe whose handlers run holds the instruction.
 */
static enum unwind_arch_frame innermost_frame(struct unwind_walk *state, bool nowhere,
					      bool probed)
{
	u8 insn[UNWIND_ARCH_INSN_BYTES];
	enum unwind_arch_frame frame;
	unsigned long ra_addr;

	if (unlikely(nowhere))
		return fp_is_return_address(state, state->sp) ?
		       UNWIND_FRAME_NONE : UNWIND_FRAME_SET_UP;
	if (unlikely(probed))
		memcpy(insn, current->utask->auprobe->insn, sizeof(insn));
	else if (unwind_read(state, state->insn, insn, sizeof(insn)))
		return UNWIND_FRAME_SET_UP;

	/* behind a system call that does not return, another function may begin */
	if (state->back && state->regs && !arch_unwind_is_return(insn))
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
	if (!probed && !fp_is_return_address(state, ra_addr))
		return UNWIND_FRAME_SET_UP;
	return frame;
}

/*
 * Is an address that of Go's goexit() after its first instruction?  The first function of a
 * goroutine returns there, but no call precedes it.
 */
static bool is_goexit(struct unwind_walk *state, unsigned long addr)
{
	u64 code;

	return !unwind_read_int(state, addr - 1, &code) && arch_unwind_is_goexit((const u8 *)&code);
}

/*
 * May an address be a return address?  A call precedes it, or code returns there without a call.
 * Interpreters, which have no file, may push any address in their code.  A new thread can have the
 * frame pointer of its parent, whose uretprobes are not known here.
 */
static bool fp_may_return_to(struct unwind_walk *state, unsigned long addr)
{
	if (!is_executable(state, addr))
		return false;
	if (!state->code.of_file)
		return addr != uprobe_get_trampoline_vaddr();
	return unwind_is_after_call(state, addr) || unwind_is_restorer(state, addr) ||
	       is_goexit(state, addr);
}

/*
 * Step to the caller of a frame whose frame pointer is set up.  Code without frame pointers may use
 * the register for anything: then this returns UNWIND_NONE.
 */
static enum unwind_result step_by_fp(struct unwind_walk *state)
{
	const struct unwind_user_rule rule = unwind_fp_set_up(state->word);
	struct return_instance *ri __uninitialized;
	unsigned long cfa, ra;
	enum unwind_result ret;

	ret = unwind_find_cfa(state, &rule, &cfa) ?:
	      unwind_read_return_address(state, cfa - state->word, &ra, &ri);
	if (ret)
		return ret == UNWIND_STOP ? UNWIND_NONE : ret;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/* where tables are used, unwind_check_cfa() relies on a certain caller */
	if ((state->methods & BIT(UNWIND_METHOD_EH_FRAME)) && cfa <= state->sp &&
	    !unwind_other_mapping(state->sp - 1, cfa - 1))
		return UNWIND_NONE;
#endif
	ra += state->cs_base;
	if (!fp_may_return_to(state, ra))
		return UNWIND_NONE;
	return unwind_step_by(state, &rule, cfa, cfa, ra, ri);
}

/*
 * Find a frame's caller by the frame pointer.  If the frame's function does not set the frame
 * pointer, but its callers do, the frame of one caller is skipped.  UNWIND_NONE: the frame pointer
 * cannot be that of the frame.
 */
enum unwind_result unwind_fp_rule(struct unwind_walk *state, struct unwind_user_rule *rule,
				  struct unwind_full_rule *full)
{
	bool probed = state->regs && unwind_in_uprobe_handler();
	enum unwind_arch_frame frame = UNWIND_FRAME_SET_UP;
	bool nowhere = state->exact && is_nowhere(state);
	enum unwind_result ret;
	s32 word = state->word;

	if (!nowhere) {
		ret = unwind_sigframe(state, full);
		rule->kind = UNWIND_RULE_FULL;
		if (ret != UNWIND_NONE)
			return ret;
	}
#ifdef CONFIG_UNWIND_USER_CODE
	if (unwind_reads_code(state)) {
		if (state->exact && (nowhere || probed))
			frame = innermost_frame(state, nowhere, probed);
		if (frame == UNWIND_FRAME_SET_UP)
			return unwind_no_tables_rule(state, rule, full);
	}
#endif
	if (state->exact && frame == UNWIND_FRAME_SET_UP)
		frame = innermost_frame(state, nowhere, probed);
	if (frame == UNWIND_FRAME_SET_UP)
		return step_by_fp(state) ?: UNWIND_TAKEN;
	if (state->lost & BIT(UNWIND_SLOT_FP))
		return UNWIND_NONE;
	*rule = unwind_fp_set_up(word);
	rule->lost = 0;
	rule->cfa_reg = UNWIND_REG_SP;
	if (frame == UNWIND_FRAME_NONE) {
		rule->cfa_off = word;
		rule->kept = 0;
	}
	return UNWIND_FOUND;
}

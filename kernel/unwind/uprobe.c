// SPDX-License-Identifier: GPL-2.0
/*
 * Undo what uprobes change in a program's code and stack.
 *
 * A pending uretprobe has replaced a return address with the address of the trampoline.  A copy of
 * a probed instruction is single-stepped in a slot of a page that the kernel maps.  When the
 * task has hit a breakpoint, the instruction pointer is behind the breakpoint.  No tables
 * describe these states, so the walk uses the frame that the task would have without uprobes: in
 * the trampoline the caller's frame, elsewhere the frame of the probed instruction.
 */

#include <linux/bits.h>
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <linux/uprobes.h>

#include <asm/unwind_walk.h>

#include "unwind.h"

static bool in_slot(const struct uprobe_task *utask, unsigned long addr)
{
	return utask && utask->active_uprobe &&
	       addr - utask->xol_vaddr < UPROBE_XOL_SLOT_BYTES;
}

static unsigned long probed_address(const struct uprobe_task *utask,
				    unsigned long addr)
{
	return utask->vaddr + (addr - utask->xol_vaddr);
}

/*
 * The address of the trampoline.  A forked child has its parent's return instances, but maps the
 * trampoline only in task work of its first return to user space, which may come after the walk.
 */
static unsigned long trampoline(void)
{
	unsigned long entry = uprobe_get_trampoline_vaddr();

	if (entry == UPROBE_NO_TRAMPOLINE_VADDR && current->utask &&
	    current->utask->return_instances && current->utask->dup_xol_addr)
		return current->utask->dup_xol_addr;
	return entry;
}

/*
 * The original return address of the word @ra on the stack at @slot; @ra if no uprobe has replaced
 * it.  @next is the innermost uretprobe whose trampoline the walk has not reached yet, and is
 * moved past the one that is found.  Return instances of functions that longjmp() has left are for
 * words below @slot, and are skipped.
 */
unsigned long unwind_uprobe_return(struct return_instance **next,
				   unsigned long slot, unsigned long ra)
{
	struct return_instance *ri;

	/* a call that was single-stepped has pushed the address after its copy */
	if (in_slot(current->utask, ra))
		return probed_address(current->utask, ra);
	if (ra != trampoline())
		return ra;

	for (ri = *next; ri; ri = ri->next) {
		if (ri->stack == slot) {
			*next = ri->next;
			return ri->orig_ret_vaddr;
		}
	}
	return ra;
}

/*
 * The function has returned to the trampoline at @entry.  The original return address is in the
 * pending return instance, and after the trampoline's system call on the stack.
 */
static void leave_trampoline(struct unwind_walk *state, unsigned long entry)
{
	unsigned long offset = state->ip - entry, slot, ra;
	int pushed = arch_unwind_trampoline_pushed(offset, state->word);
	struct return_instance *ri = state->ri;

	if (pushed < 0)
		return;
	slot = state->sp + pushed - state->word;

	if (!arch_unwind_trampoline_asked(offset, state->word) ||
	    (state->regs && arch_unwind_in_syscall(state->regs))) {
		ra = unwind_uprobe_return(&ri, slot, entry);
		if (ra == entry)
			return;
	} else if (unwind_read_word(state, slot, &ra)) {
		return;
	}
	if (!ra || ra >= TASK_SIZE_MAX)
		return;
	state->ip = ra;
	state->insn = ra;
	state->sp = slot + state->word;
	state->ri = ri;
	state->regs = NULL;
}

/* Change a frame, whose next instruction is @state->ip, to what it would be without uprobes. */
void unwind_uprobe_undo(struct unwind_walk *state)
{
	unsigned long entry = trampoline();

	/* uprobes do not support segment bases */
	if (!state->cs_base && !state->ss_base &&
	    entry != UPROBE_NO_TRAMPOLINE_VADDR &&
	    state->ip - entry < UPROBE_XOL_SLOT_BYTES)
		leave_trampoline(state, entry);
}

/* As unwind_uprobe_undo(), for the innermost frame. */
void unwind_uprobe_begin(struct unwind_walk *state)
{
	struct uprobe_task *utask = current->utask;

	if (utask && utask->active_uprobe) {
		state->probed = true;
		if (in_slot(utask, state->ip)) {
			state->insn = state->ip;
			state->ip = probed_address(utask, state->ip);
		}
		/* the copy may use another register than the original */
		state->lost |= arch_unwind_xol_scratch(state->word);
		state->regs = NULL;
	} else if (test_thread_flag(TIF_UPROBE)) {
		/* at a breakpoint that uprobes have not handled yet */
		state->ip -= UPROBE_SWBP_INSN_SIZE;
		state->insn = state->ip;
	}

	if (!utask)
		return;
	state->ri = utask->return_instances;
	state->probed |= !!state->ri;
	unwind_uprobe_undo(state);
}

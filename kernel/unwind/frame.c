// SPDX-License-Identifier: GPL-2.0
/*
 * Stepping from a frame to its caller's by a rule, and questions about a frame.
 *
 * User memory is not trusted.  The CFA must increase with each frame, so the walk ends.  It may
 * decrease only where the walk moves to another stack; a walk that comes to a frame
 * again in this way ends, too.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include <asm/unwind_walk.h>

#ifdef CONFIG_UNWIND_USER_CODE
#include "code.h"
#endif
#include "full_rule.h"
#include "step.h"
#include "unwind.h"

#ifdef CONFIG_UNWIND_USER_CODE
/* Read up to @len bytes of code: fewer if the next page is missing.  @ctx is the walk. */
unsigned int unwind_read_code(void *ctx, unsigned long addr, u8 *to, unsigned int len)
{
	struct unwind_walk *state = ctx;
	unsigned int here = min_t(unsigned long, len, PAGE_SIZE - offset_in_page(addr));

	/* Charge an average instruction's length to the budget, not the window that is read. */
	if (!unwind_may_read(state, sizeof(u32)))
		return 0;
	if (!unwind_read(state, addr, to, len))
		return len;
	return here < len && !unwind_read(state, addr, to, here) ? here : 0;
}
#endif

/* Do the bytes in front of an address look like a call?  False if they cannot be read. */
bool unwind_is_after_call(struct unwind_walk *state, unsigned long addr)
{
	u8 before[sizeof(u64)] __aligned(sizeof(u64)) __uninitialized;
	u8 *call = before + sizeof(before) - UNWIND_ARCH_CALL_BYTES;

	/* the first byte is not needed, and may not be mapped */
	if (unwind_read_int(state, addr - sizeof(before), (u64 *)before) &&
	    unwind_read(state, addr - UNWIND_ARCH_CALL_BYTES, call, UNWIND_ARCH_CALL_BYTES))
		return false;
	return arch_unwind_is_call(call);
}

/*
 * Is the ip of a frame behind a system call instruction?
 *
 * In a system call, and in a frame whose system call a signal has interrupted, ip is the
 * address of the next instruction, which may belong to another function.  A restarted
 * system call has not completed: its ip is at the instruction itself.
 */
bool unwind_is_after_syscall(struct unwind_walk *state)
{
	u16 insn;

	return !unwind_read_int(state, state->ip - sizeof(insn), &insn) &&
	       arch_unwind_is_syscall((const u8 *)&insn);
}

/*
 * Has the walk been in this frame before? Only steps down are looked at, because without one the
 * CFA increases.  Brent's algorithm: compare with one earlier frame, and after each power of two of
 * steps down take the current one instead.  So a loop is found after at most three times as many
 * steps down as lead to different frames.
 */
static bool is_loop(struct unwind_walk *state, unsigned long sp, unsigned long ip)
{
	if (state->downs && sp == state->down_sp && ip == state->down_ip)
		return true;
	if (is_power_of_2(++state->downs)) {
		state->down_sp = sp;
		state->down_ip = ip;
	}
	return false;
}

/*
 * May the CFA be at or below sp?  Only if the caller runs on another stack, such as that of the
 * code which resumed a coroutine.  For signal frames see check_signal_sp().
 */
bool unwind_switch_stack(struct unwind_walk *state, unsigned long cfa, unsigned long ip)
{
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (state->quick && !unwind_is_in_place(state))
		return false;
	/*
	 * Rules from tables and from code are certain of the caller, so its stack may be in the
	 * same mapping, as two stacks from malloc() are.
	 */
	if ((state->methods & BIT(UNWIND_METHOD_EH_FRAME)) && unwind_is_after_call(state, ip))
		return !is_loop(state, cfa, ip);
	if (unwind_is_in_place(state))
		return false;
#endif
	/* sp may be the end of a stack, if nothing is left on it */
	return unwind_other_mapping(state->sp - 1, cfa - 1) && !is_loop(state, cfa, ip);
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* A caller-saved register of a frame.  It is known in the innermost frame. */
enum unwind_result unwind_volatile_reg(struct unwind_walk *state, unsigned int reg,
				       unsigned long *val)
{
	struct pt_regs *regs = state->regs;

#ifdef CONFIG_UNWIND_USER_CODE
	/* the innermost function does not change it */
	if (!regs && (state->left_alone & BIT(arch_unwind_insn_reg(reg))))
		regs = state->start;
#endif
	if (!regs || !arch_unwind_has_reg(regs, reg))
		return UNWIND_STOP;
	*val = arch_unwind_reg_val(regs, reg) + state->ss_base;
	return UNWIND_FOUND;
}
#endif

#if defined(CONFIG_UNWIND_USER_EH_FRAME) || defined(CONFIG_UNWIND_USER_CODE)
/* A register of a frame, UNWIND_REG_*, but not the return address. */
enum unwind_result unwind_user_reg(struct unwind_walk *state, unsigned int reg,
				   unsigned long *val)
{
	return unwind_read_reg(state, reg, val);
}
#endif

/* The interrupted stack may be anywhere, even below the handler's stack in the same mapping. */
static enum unwind_result check_signal_sp(struct unwind_walk *state, unsigned long sp,
					  unsigned long ip)
{
	if (sp > state->sp)
		return unwind_check_cfa(state, sp, ip);
	return is_loop(state, sp, ip) ? UNWIND_BAD : UNWIND_FOUND;
}

static enum unwind_result full_cfa(struct unwind_walk *state,
				   const struct unwind_full_rule *full, unsigned long *cfa)
{
	enum unwind_result ret;

	ret = unwind_read_reg(state, full->cfa_reg, cfa);
	if (ret)
		return ret;
	*cfa += full->cfa_off;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (full->cfa_scale) {
		unsigned long index;

		ret = unwind_read_reg(state, full->cfa_index, &index);
		if (ret)
			return ret;
		index = (index - state->ss_base) * full->cfa_scale;
		/* in 32-bit code the index may be negative */
		*cfa += state->word == sizeof(u32) ? (s32)index : index;
	}
#endif
	if (full->cfa_deref) {
		if (unwind_read_word(state, *cfa, cfa))
			return UNWIND_FAULT;
		*cfa += full->cfa_add + state->ss_base;
	}
	return UNWIND_FOUND;
}

/* Does full_place() return the value itself, rather than its address in memory? */
static bool is_value(u8 where)
{
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (where == UNWIND_IS_SP)
		return true;
#endif
	return where == UNWIND_IN_REG || where == UNWIND_IS_CFA;
}

/* Get a value of the caller's frame, or its address in memory: is_value() tells which. */
static enum unwind_result full_place(struct unwind_walk *state, u8 where, s32 off,
				     unsigned long cfa, unsigned long *val)
{
	enum unwind_result ret = UNWIND_FOUND;

	switch (where) {
	case UNWIND_AT_CFA:
	case UNWIND_IS_CFA:
		*val = cfa;
		break;
	case UNWIND_AT_SP:
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	case UNWIND_IS_SP:
#endif
		*val = state->sp;
		break;
	case UNWIND_AT_FP:
		ret = unwind_read_reg(state, UNWIND_REG_FP, val);
		break;
	case UNWIND_IN_REG:
		return unwind_read_reg(state, off, val);
	default:
		return UNWIND_STOP;
	}
	*val += off;
	return ret;
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* The caller's stack pointer. */
static enum unwind_result full_sp(struct unwind_walk *state,
				  const struct unwind_full_rule *full, unsigned long cfa,
				  unsigned long *sp)
{
	enum unwind_result ret;

	if (full->sp_where == UNWIND_SAME)
		return UNWIND_FOUND;
	ret = full_place(state, full->sp_where, full->sp_off, cfa, sp);
	if (ret || is_value(full->sp_where))
		return ret;
	if (unwind_read_word(state, *sp, sp))
		return UNWIND_FAULT;
	*sp += state->ss_base;
	return UNWIND_FOUND;
}
#endif

/* May the caller's stack pointer be @sp, and its next instruction be at @ip? */
static enum unwind_result check_full_sp(struct unwind_walk *state,
					const struct unwind_full_rule *full,
					unsigned long sp, unsigned long ip)
{
	if (full->signal)
		return check_signal_sp(state, sp, ip);
	/* CFA == sp in the innermost frame only: vfork() has popped its return address */
	if (full->ra_where == UNWIND_IN_REG && state->regs && sp == state->sp)
		return UNWIND_FOUND;
	return unwind_check_cfa(state, sp, ip);
}

/*
 * A signal can interrupt a program that has jumped to NULL or to a kernel address.  Reading
 * the CFA from the kernel's signal frame proves that there was a signal, so any
 * interrupted address is then accepted.
 */
static bool may_be_anywhere(const struct unwind_full_rule *full, enum unwind_result ret)
{
	return (ret == UNWIND_END || ret == UNWIND_BAD) && full->signal && full->cfa_deref;
}

static enum unwind_result full_return_address(struct unwind_walk *state,
					      const struct unwind_full_rule *full,
					      unsigned long cfa, unsigned long *ra,
					      struct return_instance **ri)
{
	enum unwind_result ret;
	unsigned long place;

	ret = full_place(state, full->ra_where, full->ra_off, cfa, &place);
	if (ret)
		return ret;
	if (!is_value(full->ra_where)) {
		ret = unwind_read_return_address(state, place, ra, ri);
		if (unlikely(ret) && may_be_anywhere(full, ret))
			ret = UNWIND_FOUND;
		return ret;
	}

	*ra = place;
	*ri = state->ri;
	if (unlikely(state->probed))
		*ra = unwind_uprobe_return(ri, cfa - state->word, *ra);
	return unwind_check_return_address(*ra);
}

/* Find one callee-saved register of the caller: note its place or value, or that it is lost. */
static void full_kept(struct unwind_walk *state,
		      const struct unwind_full_rule *full, unsigned int slot,
		      unsigned long cfa, struct unwind_frame *next)
{
	u8 where = full->kept_where[slot], bit = BIT(slot);
	enum unwind_result ret;
	unsigned long val = 0;

	if (where == UNWIND_SAME)
		return;
	ret = full_place(state, where, full->kept_off[slot], cfa, &val);
	next->kept[slot] = val;
	next->lost &= ~bit;
	next->in_memory &= ~bit;
	if (ret)
		next->lost |= bit;
	else if (!is_value(where))
		next->in_memory |= bit;
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* May libgcc have changed this frame?  See unwind_apply_landing(). */
static bool may_land(struct unwind_walk *state)
{
#ifdef CONFIG_UNWIND_USER_CODE
	struct unwind_code code = { .read = unwind_read_code, .ctx = state, .word = state->word };

	return unwind_code_may_land(&code, state->exact ? state->insn : state->ip);
#else
	return true;	/* not known */
#endif
}

/* The frame has no certain caller, not even by the frame pointer. */
static enum unwind_result stop_at_landing(struct unwind_walk *state)
{
	state->lost = BIT(UNWIND_NR_KEPT) - 1;
	return UNWIND_STOP;
}

/*
 * Step by a rule of the kind UNWIND_RULE_LANDING, of a function of libgcc that throws.
 *
 * Before such a function lands where the exception is caught, it overwrites the registers that it
 * has saved with those of the frame there, and possibly its return address.  It then restores the
 * registers.  The tables tell nothing of this.  After that, the function calls only
 * _Unwind_DebugHook(), and ends in a jump.
 */
enum unwind_result unwind_apply_landing(struct unwind_walk *state,
					const struct unwind_user_rule *rule)
{
	return may_land(state) ? stop_at_landing(state) : unwind_apply_frame(state, rule);
}
#endif

/* As unwind_apply_frame(), for uncommon rules, such as those of signal frames and of the PLT. */
static noinline enum unwind_result apply_full_rule(struct unwind_walk *state,
						   const struct unwind_full_rule *full)
{
	unsigned long cfa, sp, ra;
	struct return_instance *ri;
	struct unwind_frame next;
	enum unwind_result ret;
	unsigned int slot;

#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/* at the jump */
	if (full->lands)
		return stop_at_landing(state);
#endif
	ret = full_cfa(state, full, &cfa);
	if (ret)
		return ret;
	sp = cfa;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	ret = full_sp(state, full, cfa, &sp);
	if (ret)
		return ret;
#endif
	ret = full_return_address(state, full, cfa, &ra, &ri);
	if (ret)
		return ret;
	ra += state->cs_base;
	ret = check_full_sp(state, full, sp, ra);
	if (ret)
		return ret;

	/* after check_full_sp(), which may change state->downs */
	next = state->frame;
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		full_kept(state, full, slot, cfa, &next);
	state->frame = next;
	state->ip = ra;
	state->sp = sp;
	state->ri = ri;
	state->exact = full->signal;
#ifdef CONFIG_UNWIND_USER_CODE
	state->sp_is_low = false;
#endif
	state->back = full->signal ? unwind_is_after_syscall(state) : 1;
	state->insn = state->ip;
	state->regs = NULL;
	if (full->signal)
		unwind_uprobe_undo(state);
	return UNWIND_FOUND;
}

/*
 * Step from a frame to its caller's by a rule; @full is valid if @rule is of the kind
 * UNWIND_RULE_FULL.
 */
enum unwind_result unwind_apply_rule(struct unwind_walk *state,
				     const struct unwind_user_rule *rule,
				     const struct unwind_full_rule *full)
{
	switch (rule->kind) {
	case UNWIND_RULE_FRAME:
		return unwind_apply_frame(state, rule);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	case UNWIND_RULE_REALIGNED:
		return unwind_apply_realigned(state, rule);
	case UNWIND_RULE_LANDING:
		return unwind_apply_landing(state, rule);
#endif
	case UNWIND_RULE_FULL:
		return apply_full_rule(state, full);
	case UNWIND_RULE_END:
		return UNWIND_END;
	default:
		return UNWIND_STOP;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames without tables: those of a C library that has no tables, and of a
 * program with its own restorer.
 *
 * A signal handler returns to the restorer.  The restorer makes a system call, in which
 * the kernel restores the registers from the frame on the stack.  The restorer is
 * recognized by its bytes, and the layout of the frame is the kernel's own.
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <asm/unwind_sigframe.h>
#include <asm/unwind_user.h>

#include "full_rule.h"
#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "tables.h"
#endif
#include "unwind.h"

static int match_bytes(struct unwind_user_state *state, unsigned long addr,
		       const u8 *want, unsigned int nr)
{
	u8 code[UNWIND_ARCH_RESTORER_BYTES];

	if (unwind_read(state, addr, code, nr))
		return -EFAULT;
	return memcmp(code, want, nr) ? -ENOENT : 0;
}

/* Do not read the next page if the bytes in this page do not match. */
static int match_code(struct unwind_user_state *state, unsigned long addr,
		      const struct arch_unwind_restorer *restorer)
{
	unsigned int nr = min_t(unsigned long, restorer->nr,
				PAGE_SIZE - offset_in_page(addr));
	int ret = match_bytes(state, addr, restorer->code, nr);

	if (ret || nr == restorer->nr)
		return ret;
	return match_bytes(state, addr + nr, restorer->code + nr, restorer->nr - nr);
}

/* Bytes popped by the restorer up to @state->ip, or an error if this is not the restorer. */
static int popped_in(struct unwind_user_state *state,
		     const struct arch_unwind_restorer *restorer)
{
	unsigned int i;
	int ret;

	if (restorer->word != state->word)
		return -ENOENT;
	ret = match_code(state, state->ip, restorer);
	/* a return address can only be the beginning of the restorer: the handler returns there */
	if (!ret || !state->exact)
		return ret;

	for (i = 1; i < ARRAY_SIZE(restorer->steps) && restorer->steps[i]; i++) {
		if (!match_code(state, state->ip - restorer->steps[i], restorer))
			return restorer->popped;
	}
	return ret;
}

/* May a restorer begin at a return address?  In most frames, the first two bytes deny it. */
static bool may_begin_restorer(struct unwind_user_state *state)
{
	u8 insn[2];
	unsigned int i;

	/* do not read the next page for this */
	if (offset_in_page(state->ip) == PAGE_SIZE - 1 ||
	    unwind_read_insn(state, state->ip, insn))
		return true;
	for (i = 0; i < ARRAY_SIZE(arch_unwind_restorers); i++) {
		if (!memcmp(insn, arch_unwind_restorers[i].code, sizeof(insn)))
			return true;
	}
	return false;
}

/**
 * unwind_sigframe - the rule of a signal frame that no table describes
 * @state: the frame
 * @full: filled in if the frame is a restorer's
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0 if the frame is a restorer's; -ENOENT if not; -EFAULT if the code could not be
 *	   read.
 */
int unwind_sigframe(struct unwind_user_state *state, struct unwind_full_rule *full)
{
	const struct arch_unwind_restorer *restorer = arch_unwind_restorers;
	int popped = -ENOENT, ret = -ENOENT;
	unsigned int i, slot;

	if (!state->exact && !may_begin_restorer(state))
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(arch_unwind_restorers); i++) {
		restorer = &arch_unwind_restorers[i];
		popped = popped_in(state, restorer);
		if (popped >= 0)
			break;
		if (popped == -EFAULT)
			ret = popped;
	}
	if (popped < 0)
		return ret;

	*full = (struct unwind_full_rule) {
		.cfa_reg	= UNWIND_REG_SP,
		.cfa_off	= restorer->frame.sp - popped,
		.cfa_deref	= true,
		.ra_where	= UNWIND_AT_SP,
		.ra_off		= restorer->frame.ip - popped,
		.signal		= true,
	};
	for (slot = 0; slot < restorer->frame.nr; slot++) {
		full->kept_where[slot] = UNWIND_AT_SP;
		full->kept_off[slot] = restorer->frame.kept[slot] - popped;
	}
	return 0;
}

/**
 * unwind_is_restorer - is an address that of a signal restorer?
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address, any value
 *
 * Handlers return to the restorer, but no call precedes it.
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is.
 */
bool unwind_is_restorer(struct unwind_user_state *state, unsigned long addr)
{
	struct unwind_full_rule full __uninitialized;
	const unsigned long at = state->ip;
	const bool exact = state->exact;
	int ret;

	state->ip = addr;
	state->exact = false;
	ret = unwind_sigframe(state, &full);
	state->ip = at;
	state->exact = exact;
	return !ret;
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* Do the bytes in front of @addr look like a call? */
static int is_call_before(struct unwind_user_state *state, unsigned long addr)
{
	u8 before[UNWIND_ARCH_CALL_BYTES];

	if (unwind_read(state, addr - sizeof(before), before, sizeof(before)))
		return -EFAULT;
	return arch_unwind_is_call(before);
}

/**
 * unwind_sigframe_behind - does a restorer begin where a function ends?
 * @state: a frame in the function
 * @ip: the function's last byte
 * @full: filled in if it does
 *
 * A handler returns to the beginning of the restorer.  This address is also the first
 * one after the function.  So if the function ends with a call of a function that does not
 * return, this address may be the return address of that call.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0 if a restorer begins there; -ENOENT if not; -EOPNOTSUPP if the address may
 *	   also be the return address of the last call; -EFAULT if the code could not be
 *	   read.
 */
int unwind_sigframe_behind(struct unwind_user_state *state, unsigned long ip,
			   struct unwind_full_rule *full)
{
	const unsigned long at = state->ip;
	const bool exact = state->exact;
	int ret;

	state->ip = ip + 1;
	state->exact = false;
	ret = unwind_sigframe(state, full);
	state->ip = at;
	state->exact = exact;
	if (ret)
		return ret;

	ret = is_call_before(state, ip + 1);
	return ret > 0 ? -EOPNOTSUPP : ret;
}
#endif

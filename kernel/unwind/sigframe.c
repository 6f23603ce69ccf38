// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames without tables: those of a C library that has no tables, and of a
 * program with its own restorer.
 *
 * A signal handler returns to the restorer.  The restorer makes a system call, in which
 * the kernel restores the registers from the frame on the stack.  The restorer is
 * recognized by its bytes, and the layout of the frame is the kernel's own.
 */

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <asm/unwind_sigframe.h>
#include <asm/unwind_walk.h>

#include "full_rule.h"
#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "tables.h"
#endif
#include "unwind.h"

static enum unwind_result match_bytes(struct unwind_walk *state, unsigned long addr,
				      const u8 *want, unsigned int nr)
{
	u8 code[UNWIND_ARCH_RESTORER_BYTES];

	if (unwind_read(state, addr, code, nr))
		return UNWIND_FAULT;
	return memcmp(code, want, nr) ? UNWIND_NONE : UNWIND_FOUND;
}

/* Do not read the next page if the bytes in this page do not match. */
static enum unwind_result match_code(struct unwind_walk *state, unsigned long addr,
				     const struct arch_unwind_restorer *restorer)
{
	unsigned int nr = min_t(unsigned long, restorer->nr,
				PAGE_SIZE - offset_in_page(addr));
	enum unwind_result ret = match_bytes(state, addr, restorer->code, nr);

	if (ret || nr == restorer->nr)
		return ret;
	return match_bytes(state, addr + nr, restorer->code + nr, restorer->nr - nr);
}

/* Read the first two bytes at @ip, but not from two pages. */
static __always_inline bool read_first(struct unwind_walk *state, unsigned long ip, u16 *insn)
{
	return offset_in_page(ip) != PAGE_SIZE - 1 && !unwind_read_int(state, ip, insn);
}

/* May a restorer begin at a return address?  In most frames, the first two bytes deny it. */
static bool may_begin_restorer(struct unwind_walk *state, unsigned long ip)
{
	u16 insn __uninitialized;
	unsigned int i;

	if (!read_first(state, ip, &insn))
		return true;
#pragma GCC unroll 4
	for (i = 0; i < ARRAY_SIZE(arch_unwind_restorers); i++) {
		if (!memcmp(&insn, arch_unwind_restorers[i].code, sizeof(insn)))
			return true;
	}
	return false;
}

/*
 * Find the restorer that has its first instruction at @ip, or with @exact, another one, or whose
 * system call ends there.  A return address can only be the beginning: the handler returns there.
 * @popped is set to the number of bytes that the restorer has popped before @ip.
 */
static enum unwind_result find_restorer(struct unwind_walk *state, unsigned long ip,
					bool exact, const struct arch_unwind_restorer **found,
					unsigned int *popped)
{
	const struct arch_unwind_restorer *restorer = arch_unwind_restorers;
	enum unwind_result match, ret = UNWIND_NONE;
	bool is_known;
	u16 insn;
	int i;

	is_known = read_first(state, ip, &insn);
	for (; restorer < arch_unwind_restorers + ARRAY_SIZE(arch_unwind_restorers); restorer++) {
		if (restorer->word != state->word)
			continue;
		for (i = 0; i < ARRAY_SIZE(restorer->steps); i++) {
			u8 step = restorer->steps[i];

			if (i && (!exact || !step))
				break;
			if (step == restorer->nr ? !state->back :
			    is_known && memcmp(&insn, restorer->code + step, sizeof(insn)))
				continue;
			match = match_code(state, ip - step, restorer);
			if (!match) {
				*found = restorer;
				*popped = i ? restorer->popped : 0;
				return match;
			}
			if (!i && match == UNWIND_FAULT)
				ret = match;
		}
	}
	return ret;
}

/* The rule of the frame if a restorer is at @ip, see find_restorer(). */
static enum unwind_result sigframe_at(struct unwind_walk *state, unsigned long ip, bool exact,
				      struct unwind_full_rule *full)
{
	const struct arch_unwind_restorer *restorer;
	unsigned int slot, popped;
	enum unwind_result ret;

	ret = find_restorer(state, ip, exact, &restorer, &popped);
	if (ret)
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
	return UNWIND_FOUND;
}

/* The rule of a signal frame that no table describes. */
enum unwind_result unwind_sigframe(struct unwind_walk *state, struct unwind_full_rule *full)
{
	if (!state->exact && !may_begin_restorer(state, state->ip))
		return UNWIND_NONE;
	return sigframe_at(state, state->ip, state->exact, full);
}

/* Is an address that of a restorer?  Handlers return to it, but no call precedes it. */
bool unwind_is_restorer(struct unwind_walk *state, unsigned long addr)
{
	const struct arch_unwind_restorer *restorer;
	unsigned int popped;

	return !find_restorer(state, addr, false, &restorer, &popped);
}

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/*
 * Does a restorer begin behind @ip, the last byte of the frame's function?  A handler returns to
 * the beginning of the restorer.  If the function ends with a call of a function that does not
 * return, this address may be the return address of that call: then this returns UNWIND_STOP, else
 * as unwind_sigframe().
 */
enum unwind_result unwind_sigframe_behind(struct unwind_walk *state, unsigned long ip,
					  struct unwind_full_rule *full)
{
	enum unwind_result ret = sigframe_at(state, ip + 1, false, full);

	return !ret && unwind_is_after_call(state, ip + 1) ? UNWIND_STOP : ret;
}
#endif

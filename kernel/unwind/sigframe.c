// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames where no tables tell of them: that of a C library without tables,
 * or of a program that brings its own restorer.
 *
 * A signal handler returns to the restorer, code that makes a system call by which
 * the kernel restores the registers from the frame on the stack.  It is known by
 * its bytes, and the frame by the kernel's own layout.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include <asm/unwind_sigframe.h>

#include "cfi.h"
#include "unwind.h"

static bool is_code_at(struct unwind_user_state *state, unsigned long addr,
		       const struct arch_unwind_restorer *restorer)
{
	u8 code[UNWIND_ARCH_RESTORER_BYTES];

	return !unwind_read(state, addr, code, restorer->nr) &&
	       !memcmp(code, restorer->code, restorer->nr);
}

/* What its instructions up to here have popped, or -1 if this is not the restorer. */
static int popped_in(struct unwind_user_state *state,
		     const struct arch_unwind_restorer *restorer)
{
	unsigned int i;

	if (restorer->word != state->word)
		return -1;
	if (is_code_at(state, state->ip, restorer))
		return 0;
	/* a handler returns to its beginning */
	if (!state->exact)
		return -1;

	for (i = 1; i < ARRAY_SIZE(restorer->steps) && restorer->steps[i]; i++) {
		if (is_code_at(state, state->ip - restorer->steps[i], restorer))
			return restorer->popped;
	}
	return -1;
}

/**
 * unwind_sigframe - the rule of a signal frame of which no tables tell
 * @state: the frame
 * @full: filled in if it is a restorer's
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is.
 */
bool unwind_sigframe(struct unwind_user_state *state,
		     struct unwind_cfi_rule *full)
{
	const struct arch_unwind_restorer *restorer = arch_unwind_restorers;
	unsigned int i, slot;
	int popped = -1;

	for (i = 0; i < ARRAY_SIZE(arch_unwind_restorers); i++) {
		restorer = &arch_unwind_restorers[i];
		popped = popped_in(state, restorer);
		if (popped >= 0)
			break;
	}
	if (popped < 0)
		return false;

	*full = (struct unwind_cfi_rule) {
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
	return true;
}

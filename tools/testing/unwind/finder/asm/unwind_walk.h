/* SPDX-License-Identifier: GPL-2.0 */
/* The part of arch/x86's header that the finder needs. The rest is about registers. */
#ifndef _UNWIND_FINDER_ASM_UNWIND_WALK_H
#define _UNWIND_FINDER_ASM_UNWIND_WALK_H

#include <linux/types.h>

#define UNWIND_ARCH_MACHINE_64	EM_X86_64
#define UNWIND_ARCH_MACHINE_32	EM_386

#define UNWIND_ARCH_STUB_BYTES	2

static inline bool arch_unwind_is_stub(const u8 *insn)
{
	return insn[0] == 0xff && insn[1] == 0x25;
}

#endif /* _UNWIND_FINDER_ASM_UNWIND_WALK_H */

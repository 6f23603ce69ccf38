/* SPDX-License-Identifier: GPL-2.0 */
/* There are no uprobes. */
#ifndef _REPLAY_LINUX_UPROBES_H
#define _REPLAY_LINUX_UPROBES_H

struct arch_uprobe {
	unsigned char	insn[16];
};

struct uprobe_task {
	struct arch_uprobe	*auprobe;
};

static inline unsigned long uprobe_get_trampoline_vaddr(void)
{
	return -1UL;
}

#endif

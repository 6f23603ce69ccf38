/* SPDX-License-Identifier: GPL-2.0 */
/* Cases of code for code_rules.c. */
#ifndef _CODE_RULES_H
#define _CODE_RULES_H

/*
 * The code of a case lies between the labels NAME and NAME_end.  The search
 * begins at the label NAME_mark, see MARK().  Bytes after the end cannot be
 * read.
 */
#define CODE(name, insns)						\
	extern const u8 name[], name##_mark[], name##_end[];		\
	asm(".pushsection .rodata\n .balign 64\n" #name ":\n" insns "\n" #name "_end:\n" \
	    ".popsection")
#define MARK(name)	#name "_mark:\n"
#define PAD		".balign 16, 0x90\n nop\n"

#endif /* _CODE_RULES_H */

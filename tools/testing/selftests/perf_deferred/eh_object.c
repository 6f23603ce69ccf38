// SPDX-License-Identifier: GPL-2.0
/*
 * A shared object that calls back. It is built with several frame sizes. The builds
 * differ in nothing else: their calls are at the same offsets.
 */
#include "eh_code.h"
#include "eh_image.h"

/* eh_object_keeps() stores its CFA at this offset from rsp, which takes two bytes in LEB128. */
#define KEPT_AT (FRAME - 24)

#define TEXT_OF(x)	#x
#define TEXT(x)		TEXT_OF(x)

typedef long (*eh_inner)(struct eh_walk *walk, unsigned long unused, const unsigned long *ra);

long eh_object_step(struct eh_walk *walk);
PD_ATTR(visibility("hidden")) long eh_object_keeps(struct eh_walk *walk, eh_inner inner);

/* A function with an uncommon rule: its CFA is in memory, at rsp + KEPT_AT. */
asm(".pushsection .text\n"
	".globl eh_object_keeps\n"
	".hidden eh_object_keeps\n"
	"eh_object_keeps:\n"
	".cfi_startproc\n"
	"	lea 8(%rsp), %rax\n"
	"	sub $" TEXT(FRAME) ", %rsp\n"
	"	.cfi_adjust_cfa_offset " TEXT(FRAME) "\n"
	"	mov %rax, " TEXT(KEPT_AT) "(%rsp)\n"
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 KEPT_AT; DW_OP_deref */
	"	.cfi_escape 0x0f, 4, 0x77, (" TEXT(KEPT_AT) " & 0x7f) | 0x80, "
	TEXT(KEPT_AT) " >> 7, 0x06\n"
	"	lea -8(%rax), %rdx\n"
	"	call *%rsi\n"
	"	add $" TEXT(FRAME) ", %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n");

/* A function that is not called, whose FDE a test changes. */
asm(".pushsection .text\n"
	".cfi_startproc\n"
	"	.fill " TEXT(EH_UNUSED_BYTES) ", 1, 0xcc\n"
	".cfi_endproc\n"
	".popsection\n");

static long walk_inner(struct eh_walk *walk, unsigned long unused, const unsigned long *ra)
{
	(void)unused;
	eh_note(walk, *ra);
	EH_ENTER(walk);
	return eh_next(walk);
}

long eh_object_step(struct eh_walk *walk)
{
	char room[FRAME];
	long ret;

	EH_ENTER(walk);
	asm volatile("" : : "r" (room) : "memory");
	ret = eh_object_keeps(walk, walk_inner);
	asm volatile("" : "+r" (ret));
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * As entry_prog.c: a program that drops ten words of its arguments, so that the return address of
 * the function behind its entry code lies where they were.
 */
asm(".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rbx\n"
	"	add $80, %rsp\n"
	"	call drop\n"
	"	mov $60, %eax\n"
	"	xor %edi, %edi\n"
	"	syscall\n"
	"drop:\n"
	"	sub $40, %rsp\n"
	"	mov $110, %eax\n"
	"	syscall\n"
	"	add $40, %rsp\n"
	"	ret\n");

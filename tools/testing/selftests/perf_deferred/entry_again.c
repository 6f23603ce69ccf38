// SPDX-License-Identifier: GPL-2.0
/*
 * As entry_prog.c: a program that takes argc off the stack and calls its own entry point, so that
 * the return address lies where argc was, and the stack pointer is the same the second time.
 */
asm(".globl _start\n"
	"_start:\n"
	"	mov $1, %ebp\n"
	"	sub $40, %rsp\n"
	"	call work\n"
	"	add $40, %rsp\n"
	"	test %ebx, %ebx\n"
	"	jne 1f\n"
	"	pop %rax\n"
	"	mov $1, %ebx\n"
	"	call _start\n"
	"	mov $60, %eax\n"
	"	xor %edi, %edi\n"
	"	syscall\n"
	"1:	ret\n"
	"work:\n"
	"	test %ebx, %ebx\n"
	"	je 2f\n"
	"	mov $110, %eax\n"
	"	syscall\n"
	"2:	ret\n");

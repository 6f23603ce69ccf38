// SPDX-License-Identifier: GPL-2.0
/*
 * A program without unwind tables that begins with a call, and exits by a system call.  The
 * function after that looks like its continuation.  It calls itself five times, and getppid()
 * in the innermost call.
 */
asm(".globl _start\n"
	"_start:\n"
	"	mov $5, %edi\n"
	"	call recurse\n"
	"	mov $60, %eax\n"
	"	xor %edi, %edi\n"
	"	syscall\n"
	"recurse:\n"
	"	push %rbx\n"
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	dec %edi\n"
	"	call recurse\n"
	"	pop %rbx\n"
	"	ret\n"
	"1:	mov $110, %eax\n"
	"	syscall\n"
	"	pop %rbx\n"
	"	ret\n");

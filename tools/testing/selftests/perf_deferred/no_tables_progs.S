/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs without unwind tables, each of which calls getppid() once, in a stack that is easily
 * mistaken for another one.  PROG_* selects the program.  The file of a program contains its true
 * stack, from the inside to the outside, for the test.
 */
#define TRUE_STACK(...)	.section stack, ""; .ascii "!stack: "; .quad __VA_ARGS__, 0

#define GETPPID		mov $110, %eax; syscall
#define EXIT		mov $60, %eax; xor %edi, %edi; syscall

	.section .note.GNU-stack, "", @progbits
	.text
	.globl _start

#ifdef PROG_recurse
/*
 * It begins with a call, and exits by a system call.  The function after that looks like its
 * continuation.
 */
_start:
	mov $5, %edi
	call recurse
started:
	EXIT
recurse:
	push %rbx
	test %edi, %edi
	je 1f
	dec %edi
	call recurse
recursed:
	pop %rbx
	ret
1:	GETPPID
inner:
	pop %rbx
	ret

	TRUE_STACK(inner, recursed, recursed, recursed, recursed, recursed, started)
#endif

#ifdef PROG_drop
/*
 * It drops ten words of its arguments, so that the return address of the function behind its entry
 * code lies where they were.
 */
_start:
	mov %rsp, %rbx
	add $80, %rsp
	call drop
started:
	EXIT
drop:
	sub $40, %rsp
	GETPPID
inner:
	add $40, %rsp
	ret

	TRUE_STACK(inner, started)
#endif

#ifdef PROG_again
/*
 * It takes argc off the stack and calls its own entry point, so that the return address lies where
 * argc was, and the stack pointer is the same the second time.
 */
_start:
	mov $1, %ebp
	sub $40, %rsp
	call work
worked:
	add $40, %rsp
	test %ebx, %ebx
	jne 1f
	pop %rax
	mov $1, %ebx
	call _start
started:
	EXIT
1:	ret
work:
	test %ebx, %ebx
	je 2f
	GETPPID
inner:
2:	ret

	TRUE_STACK(inner, worked, started)
#endif

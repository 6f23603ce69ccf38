/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs without unwind tables.  Each calls getppid() once or twice, or exits, with a stack that
 * is easily mistaken for another one.  PROG_* selects the program.  The file of a program contains
 * its true stack, from the inside to the outside, for the test.
 */
#define TRUE_STACK(...)	.section stack, ""; .ascii "!stack: "; .quad __VA_ARGS__, 0

#define GETPPID		mov $110, %eax; syscall
#define EXIT		mov $60, %eax; xor %edi, %edi; syscall

	.section .note.GNU-stack, "", @progbits
	.text
	.globl _start

#ifdef PROG_recurse
/*
 * _start begins with a call, and exits by a system call.  The function after the system call looks
 * like the continuation of _start.
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

#ifdef PROG_endless
/*
 * A function that never returns, with a frame of no size, as Go has it for main.main().  It is
 * called by an indirect call.
 */
_start:
	mov $endless, %eax
	call *%rax
started:
	EXIT
endless:
	sub $8, %rsp
	mov %rbp, (%rsp)
	lea (%rsp), %rbp
1:	call work
worked:
	jmp 1b
work:
	test %ebx, %ebx
	jne 1f
	inc %ebx
	GETPPID
inner:
	ret
1:	EXIT

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_doubt
/*
 * after() looks like the continuation of twice(), because never() does not return.  So the word
 * that twice() pushes looks like its return address.  The first time, that word is the address
 * behind a call; the second time it is not.
 */
_start:
	mov %rsp, %r13
	lea behind_call(%rip), %rbx
start_again:
	mov %r13, %rsp
	call twice
started:
	EXIT
	call *%rax
behind_call:
	nop
twice:
	push %rbx
	GETPPID
inner:
	call never
after:
	ret
never:
	test %r12d, %r12d
	jne 1f
	inc %r12d
	lea twice(%rip), %rbx
	jmp start_again
1:	EXIT

	TRUE_STACK(inner, started)
#endif

#ifdef PROG_drop
/*
 * _start drops ten words of the arguments, so that the return address of drop() lies where these
 * words were.
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
 * _start pops argc and calls itself, so that the return address lies where argc was, and the stack
 * pointer is the same the second time.
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

#ifdef PROG_room
/*
 * Like a function in HotSpot's interpreter, room() moves its return address down, to make room for
 * local variables above it.  So the stack pointer of outer() is not the one above the return
 * address.  One of the variables has the address behind a call, where outer() would have its
 * return address then.
 */
_start:
	call outer
started:
	EXIT
	call *%rax
behind_call:
	nop
outer:
	sub $24, %rsp
	call room
back:
	add $24, %rsp
	ret
room:
	pop %rax
	mov %rsp, %r11
	sub $64, %rsp
	lea behind_call(%rip), %rcx
	mov %rcx, 24(%rsp)
	push %rax
	push %rbp
	mov %rsp, %rbp
	push %r11
	sub $8, %rsp
	call work
worked:
	mov -8(%rbp), %rcx
	leave
	pop %rdx
	mov %rcx, %rsp
	jmp *%rdx
work:
	GETPPID
inner:
	ret

	TRUE_STACK(inner, worked, back, started)
#endif

#ifdef PROG_tail_call
/* As PROG_again, but a function with a frame jumps to the entry point. */
_start:
	mov $1, %ebp
	sub $40, %rsp
	call work
worked:
	add $40, %rsp
	test %ebx, %ebx
	jne 1f
	add $32, %rsp
	mov $1, %ebx
	call again
started:
	EXIT
1:	add $24, %rsp
	ret
again:
	sub $24, %rsp
	jmp _start
work:
	test %ebx, %ebx
	je 2f
	GETPPID
inner:
2:	ret

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_switch_stacks
/* A coroutine, which has a stack of its own, runs a function on the program's main stack. */
_start:
	mov %rsp, main_sp(%rip)
	lea other_top(%rip), %rsp
	call coroutine
started:
	EXIT
on_main:
	mov %rsp, other_sp(%rip)
	mov main_sp(%rip), %rsp
	call work
worked:
	mov other_sp(%rip), %rsp
	ret
coroutine:
	sub $8, %rsp
	call on_main
switched:
	add $8, %rsp
	ret
work:
	GETPPID
inner:
	ret

	.bss
	.balign 16
main_sp:
	.quad 0
other_sp:
	.quad 0
	.skip 4096
other_top:

	TRUE_STACK(inner, worked, switched, started)
#endif

#ifdef PROG_link_register
/* A function pops its return address into a register. */
_start:
	call link
started:
	push %rax
	EXIT
link:
	pop %rbx
	call work
worked:
	jmp *%rbx
work:
	GETPPID
inner:
	ret

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_link_frame_pointer
/* The innermost function pops its return address into the frame pointer. */
_start:
	call link
started:
	push %rax
	EXIT
link:
	pop %rbp
	GETPPID
inner:
	jmp *%rbp

	TRUE_STACK(inner, started)
#endif

#ifdef PROG_link_memory
/* A function pops its return address into a variable. */
_start:
	call link
started:
	push %rax
	EXIT
link:
	pop saved(%rip)
	call work
worked:
	jmp *saved(%rip)
work:
	GETPPID
inner:
	ret

	.bss
saved:
	.quad 0

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_link_signal
/*
 * A signal interrupts a function that has its return address in a register.  _start, the handler
 * and the restorer have unwind tables.
 */
_start:
	.cfi_startproc
	.cfi_undefined rip
	mov $1, %ebp
	mov $10, %edi
	mov $action, %esi
	xor %edx, %edx
	mov $8, %r10d
	mov $13, %eax		/* rt_sigaction(SIGUSR1, action, NULL, 8) */
	syscall
	mov $table, %ebx
	call caller
started:
	EXIT
	.cfi_endproc
caller:
	call link
linked:
	ret
link:
	pop %rdx
	mov $39, %eax		/* getpid() */
	syscall
	mov %eax, %edi
	mov $10, %esi
	mov $62, %eax		/* kill(getpid(), SIGUSR1) */
	syscall
interrupted:
	jmp *(%rbx)
back:
	jmp *%rdx
handler:
	.cfi_startproc
	GETPPID
inner:
	ret
	.cfi_endproc

	/* as in C libraries: the CFA, and where the return address, %rbp and %rbx are saved */
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
	nop
restorer:
	mov $15, %rax		/* rt_sigreturn() */
	syscall
	.cfi_endproc

	.data
table:
	.quad back
action:
	.quad handler, 0x04000000, restorer, 0

	TRUE_STACK(inner, restorer, interrupted, linked, started)
#endif

#if defined(PROG_operands) || defined(PROG_operand_stack)
/* First, deep() leaves return addresses below the stack pointer, 32 bytes apart from each other. */
_start:
	mov $1, %ebp
	mov $20, %edi
	call deep
	mov $code, %edi
	call interpret
started:
	EXIT
deep:
	sub $24, %rsp
	dec %edi
	je 1f
	call deep
1:	add $24, %rsp
	ret

	.data
code:
	.byte 0, 0, 1, 2
	.balign 8
table:
	.quad op_push, op_getppid, op_return

	.text
#endif

#ifdef PROG_operands
/*
 * Then an interpreter runs, which jumps from one operation to the next by a table, and whose
 * operands are a local array.  The innermost word of the array is a return address that deep()
 * has left there.
 */
interpret:
	sub $160, %rsp
	lea 160(%rsp), %rdx
1:	movzbl (%rdi), %eax
	inc %rdi
	mov table(, %rax, 8), %rax
	jmp *%rax
op_push:
	sub $8, %rdx
	movq $7, (%rdx)
	movzbl (%rdi), %eax
	inc %rdi
	mov table(, %rax, 8), %rax
	jmp *%rax
op_getppid:
	GETPPID
inner:
	movzbl (%rdi), %eax
	inc %rdi
	mov table(, %rax, 8), %rax
	jmp *%rax
op_return:
	mov (%rdx), %rax
	add $160, %rsp
	ret

	TRUE_STACK(inner, started)
#endif

#ifdef PROG_operand_stack
/*
 * Then an interpreter runs whose operands are a local array, too.  %rbp points to a word of the
 * array.  The word above that one is a return address that deep() left.
 */
interpret:
	push %rbp
	push %rbx
	lea 1(%rdi), %rbx
	sub $328, %rsp
	movzbl (%rdi), %eax
	mov %rsp, %rbp
	mov table(, %rax, 8), %rax
	jmp *%rax
op_return:
	mov (%rbp), %rax
	add $328, %rsp
	pop %rbx
	pop %rbp
	ret
op_getppid:
	mov (%rbp), %rdi
	call work
worked:
	mov %rax, (%rbp)
	movzbl (%rbx), %eax
	inc %rbx
	mov table(, %rax, 8), %rax
	jmp *%rax
op_push:
	add $8, %rbp
	movq $7, (%rbp)
	movzbl (%rbx), %eax
	inc %rbx
	mov table(, %rax, 8), %rax
	jmp *%rax
work:
	GETPPID
inner:
	ret

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_accumulator
/* An interpreter keeps its accumulator in %rbp. The accumulator is 0 when work() is called. */
_start:
	mov $1, %ebp
	mov $code, %edi
	call interpret
started:
	EXIT
interpret:
	push %rbp
	xor %ebp, %ebp
	push %rbx
	lea 1(%rdi), %rbx
	sub $8, %rsp
	movzbl (%rdi), %eax
	mov table(, %rax, 8), %rax
	jmp *%rax
op_return:
	mov %rbp, %rax
	add $8, %rsp
	pop %rbx
	pop %rbp
	ret
op_getppid:
	mov %rbp, %rdi
	call work
worked:
	add %rax, %rbp
	movzbl (%rbx), %eax
	inc %rbx
	mov table(, %rax, 8), %rax
	jmp *%rax
work:
	GETPPID
inner:
	ret

	.data
code:
	.byte 0, 1
	.balign 8
table:
	.quad op_getppid, op_return

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_argument
/*
 * A function keeps its argument, 0, in %rbp.  A later call in the same function ends at a
 * 64-byte boundary.
 */
_start:
	mov $1, %ebp
	xor %edi, %edi
	call keep
started:
	EXIT
	.balign 64
keep:
	push %r12
	push %rbp
	mov %rdi, %rbp
	push %rbx
	mov %rsi, %rbx
	call work
worked:
	.org keep + 46, 0x90
	lea (%rax, %rax, 2), %r12
	mov %rbp, %rsi
	add %rbx, %r12
	mov %r12, %rdi
	call work2
	lea (%rbx, %r12), %rax
	pop %rbx
	add %rbp, %rax
	pop %rbp
	pop %r12
	ret
work2:
	ret
work:
	GETPPID
inner:
	ret

	TRUE_STACK(inner, worked, started)
#endif

#ifdef PROG_callbacks
/*
 * A loop that does not return has a pointer to its local array in %rbp.  The second word of the
 * array points to a function that was never called.
 */
_start:
	xor %ebp, %ebp
	mov (%rsp), %edi
	and $-16, %rsp
	call main
started:
	EXIT
	.balign 16
main:
	sub $8, %rsp
	mov $list, %edi
	call loop
looped:
	mov $1, %eax
	add $8, %rsp
	ret
	.balign 16
handler:
	movq $1, (%rdi)
	ret
	.balign 16
step:
	test %rsi, %rsi
	jne 1f
	GETPPID
inner:
	mov $1, %eax
	ret
1:	EXIT
	.balign 16
loop:
	push %rbp
	mov $12, %ecx
	xor %eax, %eax
	push %rbx
	mov %rdi, %rbx
	sub $104, %rsp
	mov %rsp, %rdi
	mov %rsp, %rbp
	rep stosq
	movq $handler, 8(%rsp)
	movq $3, 16(%rsp)
1:	mov (%rbx), %rsi
	mov %rbp, %rdi
	add $8, %rbx
	call step
stepped:
	lea (%rax, %rax, 2), %rax
	lea (%rbp, %rax, 8), %rbp
	jmp 1b

	.section .rodata
list:
	.quad 0, 1

	TRUE_STACK(inner, stepped, looped, started)
#endif

#if defined(PROG_exit_group) || defined(PROG_exit_thread)
/* A process exits in a function, by exit_group() or by exit() of its only thread. */
_start:
	mov $1, %edi
	call work
started:
	EXIT
work:
	push %rbx
	test %edi, %edi
	je 1f
	dec %edi
	call work
worked:
	pop %rbx
	ret
1:
#ifdef PROG_exit_group
	mov $231, %eax
	syscall
#else
	EXIT
#endif
inner:
	pop %rbx
	ret

	TRUE_STACK(inner, worked, started)
#endif

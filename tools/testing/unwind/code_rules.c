// SPDX-License-Identifier: GPL-2.0
/*
 * Check the rules that kernel/unwind/code.c finds, or must not find, in typical code
 * of compilers, runtimes and assembly.  The code is in this program, but never run.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "code.h"
#include "code_rules.h"

/* memory for searches: each of its parts has at most 4096 bytes */
static u64 memory[UNWIND_CODE_PARTS][512];
#define MEMORY	{ memory[0], memory[1], memory[2], memory[3] }

/* C, with and without frame pointers */
CODE(leaf, MARK(leaf) "xor %eax, %eax; ret");
CODE(pushed, "push %rbx;" MARK(pushed) "xor %eax, %eax; pop %rbx; ret");
CODE(prologue, MARK(prologue) "push %rbp; mov %rsp, %rbp; sub $32, %rsp; call *%rax");
CODE(framed, MARK(framed) "mov %rax, -8(%rbp); leave; ret");
CODE(red, MARK(red) "mov %rbp, %rsp; pop %rbp; ret");
CODE(spilled, MARK(spilled) "mov 8(%rsp), %rbp; add $16, %rsp; ret");
CODE(dead_end, MARK(dead_end) "ud2");
CODE(jumps_round, MARK(jumps_round) "1: nop; jmp 2f; 2: jmp 1b");
CODE(other_depth, MARK(other_depth) "test %eax, %eax; je 1f; ret; 1: pop %rbx; ret");
CODE(loops, MARK(loops) "1: dec %eax; jne 1b; pop %rbx; ret");
CODE(no_return, MARK(no_return) "call *%rax;" PAD "ret");
CODE(behind_flags, MARK(behind_flags) ".balign 16, 0x90; push %rax; .skip 13, 0x90; call *%rax;"
	"je 1f; 1: pop %rax; ret");
CODE(by_rbx, MARK(by_rbx) "mov %rbx, %rsp; ret");

/*
 * The code moves the return address, or the saved frame pointer, to another word of the stack, also
 * before a branch.
 */
CODE(moved, MARK(moved) "pop %rcx; add $16, %rsp; push %rcx; xor %eax, %eax; ret");
CODE(moved_word, MARK(moved_word) "pop 16(%rsp); add $16, %rsp; ret");
CODE(moved_fp, MARK(moved_fp) "push 16(%rsp); mov %rax, 24(%rsp); .skip 520, 0x90; pop %rbp;"
	"add $24, %rsp; ret");
CODE(moved_branch, MARK(moved_branch) "push 16(%rsp); pop 24(%rsp); test %eax, %eax; je 1f; hlt;"
	"1: add $24, %rsp; ret");
CODE(saved_branch, MARK(saved_branch) "pop %rbx; pop %rbp; pop %r12; pop %r13; push %rbp;"
	"test %eax, %eax; je 1f; hlt; 1: pop %rbp; ret");

/* paths that continue after a call, a spilled frame pointer, and a jump to another function */
CODE(behind_call, MARK(behind_call) "call *%rax; nopl (%rax); pop %rbx; ret");
CODE(call_or_not, MARK(call_or_not) "test %eax, %eax; je 1f; call *%rax; nopl (%rax); ud2;"
	"1: pop %rbx; ret");
CODE(spill, MARK(spill) "mov %rbp, 8(%rsp); lea 8(%rsp), %rbp; xor %eax, %eax;"
	"mov 8(%rsp), %rbp; add $40, %rsp; ret");
CODE(far_jump, MARK(far_jump) "pop %rbp; jmp . + 0x10000");

/* Go; the last two cases overwrite their return address, or a part of it */
CODE(go, MARK(go) "mov %rbp, 16(%rsp); lea 16(%rsp), %rbp; call *%rax; nopl (%rax);"
	"mov 16(%rsp), %rbp; add $24, %rsp; ret");

CODE(go_spilled, MARK(go_spilled) "sub $16, %rsp; mov %rbp, 8(%rsp); lea 8(%rsp), %rbp;"
	"mov %rax, 24(%rsp); mov %rbx, 32(%rsp); call *%rax; nopl (%rax); mov 8(%rsp), %rbp;"
	"add $16, %rsp; ret");
CODE(overwritten, MARK(overwritten) "mov %rax, (%rsp); call *%rax; nopl (%rax); ret");
CODE(overwritten_in_part, MARK(overwritten_in_part) "mov %rax, 4(%rsp); call *%rax; nopl (%rax);"
	"ret");

/* After each of these writes to a word of the stack, the value of the word is unknown. */
#define CALL_RETURN "call *%rax; nopl (%rax); ret"
CODE(over_add, MARK(over_add) "mov %rax, 24(%rsp); add %rcx, (%rsp);" CALL_RETURN);
CODE(over_xchg, MARK(over_xchg) "pop %rcx; xchg %rcx, (%rsp); ret");
CODE(over_xchg_call, MARK(over_xchg_call) "pop %rcx; xchg %rcx, (%rsp);" CALL_RETURN);
CODE(over_xchg_fp, MARK(over_xchg_fp) "xchg %rbp, 8(%rsp); call *%rax; nopl (%rax);"
	"mov 8(%rsp), %rbp; ret");
CODE(over_inc, MARK(over_inc) "incq (%rsp);" CALL_RETURN);
CODE(over_neg, MARK(over_neg) "negl 4(%rsp);" CALL_RETURN);
CODE(over_shift, MARK(over_shift) "shlq $3, (%rsp);" CALL_RETURN);
CODE(over_byte, MARK(over_byte) "mov %al, 7(%rsp);" CALL_RETURN);
CODE(over_set, MARK(over_set) "sete 3(%rsp);" CALL_RETURN);
CODE(over_xadd, MARK(over_xadd) "lock xadd %rcx, (%rsp);" CALL_RETURN);
CODE(over_cmpxchg16, MARK(over_cmpxchg16) "cmpxchg16b -8(%rsp);" CALL_RETURN);
CODE(over_movups, MARK(over_movups) "movups %xmm0, -8(%rsp);" CALL_RETURN);
CODE(over_vmovups, MARK(over_vmovups) "vmovups %ymm0, -24(%rsp);" CALL_RETURN);
CODE(over_evex, MARK(over_evex) "vmovups %zmm17, -56(%rsp); test %eax, %eax;"
	CALL_RETURN);
/* vmovq %xmm16, -4(%rsp) in a longer form */
CODE(over_evex_word, MARK(over_evex_word)
	".byte 0x62, 0xe1, 0xfd, 0x08, 0x7e, 0x84, 0x24, 0xfc, 0xff, 0xff, 0xff;"
	"test %eax, %eax;" CALL_RETURN);
CODE(over_by_r9, MARK(over_by_r9) "lea -8(%rsp), %r9; vmovups %ymm0, (%r9);" CALL_RETURN);
CODE(over_movsd, MARK(over_movsd) "movsd %xmm9, (%rsp);" CALL_RETURN);
CODE(over_pextr, MARK(over_pextr) "pextrq $1, %xmm0, (%rsp);" CALL_RETURN);
CODE(over_x87, MARK(over_x87) "fstpt -8(%rsp);" CALL_RETURN);
CODE(over_half, MARK(over_half) "mov 4(%rsp), %rcx; push %rcx; movl $0, 12(%rsp); ret");

/* the value of a word is still known if instructions only read it, or write next to it */
CODE(beside_half, MARK(beside_half) "movl $0, -4(%rbp); call *%rax; nopl (%rax); leave; ret");
CODE(beside_byte, MARK(beside_byte) "movb $0, -1(%rsp); movb $0, 8(%rsp);" CALL_RETURN);
CODE(beside_movups, MARK(beside_movups) "movups %xmm0, -16(%rsp); movups %xmm0, 8(%rsp);"
	CALL_RETURN);
CODE(beside_vmovups, MARK(beside_vmovups) "vmovups %ymm0, -32(%rsp);" CALL_RETURN);
CODE(beside_evex, MARK(beside_evex) "vmovups %zmm17, -64(%rsp);" CALL_RETURN);
CODE(beside_float, MARK(beside_float) "movss %xmm0, -4(%rsp); movsd %xmm0, -8(%rsp);"
	"movq %xmm0, 8(%rsp); movd %xmm0, -4(%rsp);" CALL_RETURN);
CODE(only_read, MARK(only_read) "cmp %rax, (%rsp); test %al, (%rsp); add (%rsp), %rax;"
	"movups (%rsp), %xmm0; fldt (%rsp); vmovups (%rsp), %ymm1; imul (%rsp), %rax;"
	"notl 8(%rsp); movzbl (%rsp), %ecx; btq $3, (%rsp); cvtsi2sd (%rsp), %xmm0;" CALL_RETURN);

/* SBCL: the caller makes room for the callee's frame; the callee stores its return address there */
#define SBCL_CALL "sub $16, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call *%rax; nopl (%rax);"
#define SBCL_LAST "mov %rbp, %rsp; clc; pop %rbp; ret"
CODE(sbcl_entry, MARK(sbcl_entry) "pop 8(%rbp); lea -40(%rbp), %rsp; " SBCL_LAST);
CODE(sbcl_body, MARK(sbcl_body) SBCL_CALL "cmovb %rbx, %rsp; mov -8(%rbp), %rdx; " SBCL_CALL
	SBCL_LAST);
CODE(sbcl_entry_body, MARK(sbcl_entry_body) "pop 8(%rbp); cmp $2, %rcx; jne 1f; ud2;"
	"1: lea -40(%rbp), %rsp; " SBCL_CALL SBCL_LAST);
CODE(sbcl_stored, "sub $16, %rsp;" MARK(sbcl_stored)
	"mov %rbp, (%rsp); mov %rsp, %rbp; call *%rax; nopl (%rax); ret");
CODE(sbcl_tail, MARK(sbcl_tail) "push 8(%rbp); jmp *%rax");
CODE(sbcl_args, MARK(sbcl_args) "lea -16(%rsp), %r15; sub $0xc0, %rsp; mov %rbp, (%r15);"
	"mov %r15, %rbp; call *%rax; nopl (%rax); pop %rbx; ret");

/* Erlang: after a call to C, switch back to the stack of the Erlang process */
CODE(erlang, MARK(erlang) "mov 0x58(%r13), %rsp; mov 0x60(%r13), %rbp; leave; ret");
CODE(erlang_no_fp, MARK(erlang_no_fp) "mov 0x58(%r13), %rsp; add $8, %rsp; ret");
CODE(erlang_stored, MARK(erlang_stored) "mov %rax, 0x60(%r13); mov 0x60(%r13), %rbp; leave; ret");
CODE(erlang_other, MARK(erlang_other) "addq $1, 0x50(%r13); mov 0x60(%r13), %rbp; leave; ret");
CODE(erlang_called, MARK(erlang_called) "call *%rax; nopl (%rax); mov 0x60(%r13), %rbp;"
	"leave; ret");
CODE(erlang_rax, MARK(erlang_rax) "mov 0x60(%rax), %rbp; leave; ret");

/* V8: a handler removes its frame and jumps to the next handler */
CODE(v8, MARK(v8) "mov (%rbp), %rbp; add $0x48, %rsp; jmp *%rcx");
CODE(v8_called, MARK(v8_called) "push %rax; call *%rcx; nopl (%rax); mov (%rbp), %rbp;"
	"add $0x48, %rsp; jmp *%rcx");
CODE(v8_bare, MARK(v8_bare) "add $0x10, %rsp; jmp *%rcx");

/* V8: builtins that insert words above their return address, or keep it in a register */
CODE(v8_moved, MARK(v8_moved) "pop %rcx; push %rax; push %rcx; .skip 520, 0x90; ret");
CODE(v8_in_register, MARK(v8_in_register) "pop %rcx; .skip 520, 0x90; jmp *%rcx");
/* V8: a builtin that sets up the frame of its caller */
CODE(v8_prologue, MARK(v8_prologue) "pop %r15; push %rbp; mov %rsp, %rbp; push %rsi; push %r15;"
	"ret");
/* a return that also removes arguments: no rule */
CODE(ret_args, MARK(ret_args) "ret $8");

/* HotSpot: the end of an interpreted method, and an adapter that realigns the stack */
CODE(hotspot_end, MARK(hotspot_end) "mov -8(%rbp), %rbx; leave; pop %rsi; mov %rbx, %rsp;"
	"jmp *%rsi");
CODE(hotspot_adapter, MARK(hotspot_adapter) "mov (%rsp), %rax; mov %rsp, %r11; and $-16, %rsp;"
	"push %rax; jmp *%r11");

/*
 * Guile: compiled code jumps to behind the jump that has entered it, while the return addresses of
 * its callers are on another stack.  qemu's code, without the prefix, has no such callers.
 */
#define EXIT "1: mov (%rsp), %rbx; add $24, %rsp; ret; "
CODE(guile_exit, "rex.W jmp *%r12; " EXIT MARK(guile_exit) "mov %rax, %rcx; jmp 1b");
CODE(qemu_exit, "jmp *%r12; " EXIT MARK(qemu_exit) "mov %rax, %rcx; jmp 1b");
CODE(guile_return, MARK(guile_return) "mov 24(%rbx), %r12; mov %rcx, 24(%rbx); mov (%r12), %r11;"
	"push %r11; ret");

/* HotSpot: stubs that save all registers and load them again */
#define RELOAD_FP "mov 80(%rsp), %rbp; add $128, %rsp; leave; ret"
CODE(reloaded, MARK(reloaded) RELOAD_FP);
CODE(reloaded_call, MARK(reloaded_call) "mov %rcx, -8(%rsp); call *%rax; nopl (%rax);" RELOAD_FP);
CODE(reloaded_move, MARK(reloaded_move) "mov 80(%rsp), %rbp; mov %rbp, %rsp; pop %rbp; ret");
CODE(reloaded_over, MARK(reloaded_over) "mov %rcx, 8(%rsp);" RELOAD_FP);
CODE(reloaded_over_call, MARK(reloaded_over_call) "mov %rcx, 8(%rsp); call *%rax; nopl (%rax);"
	RELOAD_FP);
CODE(reloaded_patched, MARK(reloaded_patched) "mov 80(%rsp), %rbp; mov %rcx, 8(%rbp); leave; ret");
CODE(reloaded_pushed, MARK(reloaded_pushed) "mov 80(%rsp), %rbp; pop 8(%rbp); leave; ret");
/* load the stack pointer of another frame; SpiderMonkey also loads its frame pointer */
CODE(switched, MARK(switched) "mov 8(%rsp), %rsp; pop %rbp; ret");
CODE(switched_both, MARK(switched_both) "mov 16(%rsp), %rbp; mov 8(%rsp), %rsp; mov %rbp, %rsp;"
	"pop %rbp; ret");

/* more calls than a search remembers; many paths to one call */
CODE(many_calls, MARK(many_calls) ".rept 30; call *%rax; mov $1, %eax; .skip 9, 0x90; .endr;"
	"pop %rbx; ret");
CODE(same_call, MARK(same_call) "je 1f; .rept 30; je 2f; .endr; 2: nop; call *%rax;"
	"xor %eax, %eax; ud2; 1: call *%rcx; nopl (%rax); pop %rbx; ret");
/* paths that reach a call with different stack pointers: no rule */
CODE(other_call, MARK(other_call) "test %eax, %eax; je 1f; pop %rcx; 1: call *%rax;"
	"xor %eax, %eax; ret");

/* frames to be recognized by their size: 32 or 16 bytes, and the words pushed for a call */
#define FRAME_32 "push %rbp; mov %rsp, %rbp; sub $32, %rsp;"
#define FRAME_16 "push %rbp; mov %rsp, %rbp; push $18; push $0; mov %rsp, %r15;"
CODE(size, FRAME_32 "call *%rax;" MARK(size) "ud2");
CODE(size_args, FRAME_32 "test %eax, %eax; je 1f; 1: push %rcx; push $1; mov $2, %eax;"
	"call *%rax;" MARK(size_args) "ud2");
CODE(size_other_args, FRAME_32 "je 1f; 1: push %rcx; call *%rax; push %rdx; pop %rdx; call *%rax;"
	MARK(size_other_args) "ud2");
CODE(size_filled, FRAME_32 "jne 1f; int3; 1: jne 2f; ud2; 2: jne 3f; hlt; 3: call *%rax;"
	MARK(size_filled) "ud2");
CODE(size_over_trap, FRAME_32 "jne 1f; int3; 1: jne 2f; int3; int3; 2: call *%rax;"
	MARK(size_over_trap) "ud2");
CODE(size_ret_args, FRAME_32 "jne 1f; leave; ret $24; 1: call *%rax;" MARK(size_ret_args) "ud2");
CODE(size_probed, FRAME_32 "jne 1f; int3; .byte 0x90; 1: call *%rax;" MARK(size_probed) "ud2");
CODE(size_tail, FRAME_32 "leave; jmp 1f; sub $24, %rsp; call *%rax;" MARK(size_tail)
	"ud2; 1: nop");
CODE(size_ended, FRAME_32 "int3; call *%rax;" MARK(size_ended) "ud2");
/* HotSpot: a frame that will be deoptimized returns to code after the function */
#define HANDLED_32 "mov %eax, -0x4000(%rsp);" FRAME_32 "leave; ret; jmp .;"
CODE(size_handler, HANDLED_32 MARK(size_handler)
	"call 1f; 1: subq $5, 0(%rsp); jmp . + 0x8000");
/* the handler of another function, which has no frame pointer */
CODE(size_next_handler, HANDLED_32 "push %rbp; sub $48, %rsp; add $48, %rsp; pop %rbp; ret;"
	MARK(size_next_handler)
	"call 1f; 1: subq $5, 0(%rsp); jmp . + 0x8000");
CODE(size_saved_handler, HANDLED_32 "sub $56, %rsp; mov %rbp, 48(%rsp); add $56, %rsp; ret;"
	MARK(size_saved_handler)
	"call 1f; 1: subq $5, 0(%rsp); jmp . + 0x8000");
CODE(size_other_handler, HANDLED_32 MARK(size_other_handler)
	"call 1f; nop; 1: subq $5, 0(%rsp); jmp . + 0x8000");
CODE(size_of_caller, "push %rbp; mov %rsp, %rbp; call *%rax; leave; ret;" FRAME_32 "call *%rax;"
	MARK(size_of_caller) "ud2");
/* Code that removes its frame, at least on one path: the frame pointer is then the caller's. */
CODE(size_left, FRAME_32 "leave; call *%rax;" MARK(size_left) "ud2");
CODE(size_popped, FRAME_32 "add $32, %rsp; pop %rbp; call *%rax;" MARK(size_popped) "ud2");
CODE(size_loaded, FRAME_32 "mov (%rbp), %rbp; call *%rax;" MARK(size_loaded) "ud2");
CODE(size_left_branch, FRAME_32 "je 2f; leave; jne 1f; ret; 2: leave; ret; 1: call *%rax;"
	MARK(size_left_branch) "ud2");
CODE(size_left_other, FRAME_32 "je 1f; leave; ret; 1: call *%rax;" MARK(size_left_other) "ud2");
CODE(size_left_jump, FRAME_32 "je 2f; leave; xor %eax, %eax; jmp 1f; 2: leave; ret; 1: call *%rax;"
	MARK(size_left_jump) "ud2");
CODE(size_left_next, FRAME_32 "leave; xor %eax, %eax; jmp 1f; 1: call *%rax;" MARK(size_left_next)
	"ud2");
CODE(size_left_over, FRAME_32 "je 3f; leave; jmp 1f; nop; 1: call *%rax;" MARK(size_left_over)
	"ud2; 3: call *%rbx; ud2");
CODE(size_left_twice, FRAME_16 "je 1f; leave; jg 3f; ret $16; 3: pop %r10; test %eax, %eax; je 4f;"
	"push %r10; ret; 4: call *%rdx;" MARK(size_left_twice) "ud2; 1: call *%rbx; ud2");
/* the frame is removed before a tail call, and another function follows */
CODE(size_tail_set, FRAME_32 "call *%rbx; add $32, %rsp; pop %rbp; mov $5, %edi; jmp 9f;"
	".balign 16, 0x90; push %rbx; call *%rax;" MARK(size_tail_set) "ud2; 9: ret");
/* V8 and HotSpot: the code after their return sequences still has the frame */
CODE(size_v8_return, FRAME_16 "je 1f; mov %rbp, %rsp; pop %rbp; cmp $2, %rcx; jg 3f; ret $16;"
	"3: pop %r10; lea 8(%rsp, %rcx, 8), %rsp; push %r10; ret; 1: push $1; call *%rbx;"
	MARK(size_v8_return) "int3");
CODE(size_hotspot_poll, FRAME_32 "je 1f; add $32, %rsp; pop %rbp; cmp 40(%r15), %rsp; ja 3f; ret;"
	"3: lea 3b(%rip), %r10; jmp . + 0x20000; 1: call *%rbx;" MARK(size_hotspot_poll) "hlt");
/* HotSpot: code that handles exceptions still has the frame, though no branch leads there */
CODE(size_hotspot_handler, FRAME_32 "call *%rcx; add $32, %rsp; pop %rbp; cmp 40(%r15), %rsp;"
	"ja 3f; ret; call *%rbx;" MARK(size_hotspot_handler)
	"hlt; 3: lea 3b(%rip), %r10; jmp . + 0x20000");
/* instructions that look as if they wrote to the frame pointer */
CODE(size_high_byte, FRAME_32 "orb $8, %ch; call *%rax;" MARK(size_high_byte) "ud2");
CODE(size_movq, FRAME_32 "movq %xmm5, %xmm0; call *%rax;" MARK(size_movq) "ud2");
/* The stack pointer is loaded, so its distance from the old value is unknown. */
CODE(size_loaded_sp, FRAME_32 "je 1f; 1: push %rcx; mov 8(%rdi), %rsp; call *%rax;"
	MARK(size_loaded_sp) "ud2");
/* arguments on the stack for the first call of a function, after a long part without branches */
#define NO_BRANCH_24 ".rept 24; mov %ecx, %edx; .endr;"
CODE(size_args_late, FRAME_32 NO_BRANCH_24 "sub $8, %rsp; push %rcx; call *%rbx; add $16, %rsp;"
	"call *%rcx; call *%rax;" MARK(size_args_late) "ud2");
/* a call that does not return, in front of code that has left the frame */
CODE(size_before_left, FRAME_32 "jae 1f; add $32, %rsp; pop %rbp; cmp 40(%r15), %rsp; ja 3f; ret;"
	"1: call . + 0x20000;" MARK(size_before_left) "3: lea 3b(%rip), %r10; jmp . + 0x20000");
/* the size of a frame with an aligned stack depends on its address */
CODE(size_aligned, FRAME_16 "and $-16, %rsp; mov %rsp, -16(%rbp); call *%rbx;" MARK(size_aligned)
	"ud2");
CODE(size_far, ".skip 128, 0x90;" FRAME_32 "call *%rax; leave; ret;" MARK(size_far) "ud2");

/* which registers may hold a return address */
CODE(live_end, MARK(live_end) "xor %eax, %eax; ud2");
CODE(live_kept, "pop %rbx;" MARK(live_kept) "mov %eax, %edi; call *%rax; nopl (%rax); push %rbx;"
	"ret");
CODE(live_switch, "pop %rcx;" MARK(live_switch) "cmp $8, %edi; jbe 1f; push %rcx; jmp *%rax;"
	"1: lea 100(%rip), %rdx; movslq (%rdx, %rdi, 4), %rsi; add %rdx, %rsi; jmp *%rsi");
CODE(live_trap, "pop %rdi;" MARK(live_trap) "test %eax, %eax; je 1f; mov $5, %edi; ud2;"
	"1: mov $5, %esi; push %rdi; call *%rax");
CODE(live_framed, MARK(live_framed) "mov %r12, -8(%rbp); test %eax, %eax; je 1f; push %rdi;"
	"pop %rdi; jmp *%rax; 1: jmp *%rdx");
CODE(live_either, MARK(live_either) "test %eax, %eax; je 1f; mov $5, %edi; call *%rdx; ud2;"
	"1: push %rdi; call *%rax");
CODE(live_behind, MARK(live_behind) "push %rcx; call *%rax; nopl (%rax); jmp *%rdx");
CODE(live_indexed, MARK(live_indexed) "mov %rcx, -8(%rsp, %rdx, 8); jmp *%rax");
CODE(live_stored, MARK(live_stored) "mov %r12, 100(%rip); jmp *%rax");
CODE(live_exchanged, MARK(live_exchanged) "xchg %rcx, (%rsp); jmp *%rax");
CODE(live_called, MARK(live_called) "mov %r12, 8(%rsp); push %rcx; call *%rax");
CODE(live_left, MARK(live_left) "push %rcx; jmp *%rax");
CODE(live_fork, MARK(live_fork) "test %ecx, %ecx; je 1f; push %rbx; ud2; 1: jmp *%rax");
/* V8's regular expressions */
CODE(live_backtrack, MARK(live_backtrack) "cmp %rax, %rsp; ja 1f; ud2;"
	"1: movslq (%rcx), %rbx; add %r8, %rbx; jmp *%rbx");

/* paths that contradict each other */
CODE(live_other, MARK(live_other) "test %eax, %eax; je 1f; pop %rbx; ret; 1: mov $5, %edi;"
	"call *%rax; xor %ecx, %ecx; ret");

/* opcode 0x82, only in 32-bit code: add $8, %ah; opcode 0x83: add $8, %esp */
CODE(add_byte, MARK(add_byte) ".byte 0x82, 0xc4, 8; ret");
CODE(add_word, MARK(add_word) ".byte 0x83, 0xc4, 8; ret");

struct code_case {
	const char	*name;
	const u8	*start;
	const u8	*mark;
	const u8	*end;
};

#define TEXT(name)	{ #name, name, name##_mark, name##_end }

struct rule_case {
	struct code_case	code;
	const char		*rule;
	s64			fp_above_sp;
};

#define CASE_AT(name, distance, rule) { TEXT(name), rule, distance }
#define CASE(name, rule) CASE_AT(name, 0, rule)

/*
 * A rule as text: the CFA, the caller's frame pointer, and flags. The frame pointer is in memory at
 * an offset from the CFA or from the frame pointer, "same" as now, or "lost". "-" means no rule.
 */
static const struct rule_case cases[] = {
	CASE(leaf, "sp+8 same"),
	CASE(pushed, "sp+16 same"),
	CASE(prologue, "sp+8 same"),
	CASE(framed, "fp+16 cfa-16"),
	CASE(red, "fp+16 cfa-16"),
	CASE(spilled, "sp+24 cfa-16"),
	CASE(dead_end, "-"),
	CASE(jumps_round, "-"),
	CASE(other_depth, "-"),
	CASE(loops, "sp+16 same"),
	CASE(no_return, "-"),
	CASE(behind_flags, "sp+8 same doubtful"),
	CASE(by_rbx, "-"),
	CASE(moved, "sp+8 same"),
	CASE(moved_word, "sp+8 same"),
	CASE(moved_fp, "sp+32 cfa-16"),
	CASE(moved_branch, "sp+24 same"),
	CASE(saved_branch, "sp+40 cfa-32"),
	CASE(behind_call, "sp+16 same doubtful"),
	CASE(call_or_not, "sp+16 same"),
	CASE(spill, "sp+48 same"),
	CASE(far_jump, "sp+16 cfa-16 doubtful"),
	CASE(go, "sp+32 same doubtful"),
	CASE(go_spilled, "sp+8 same doubtful"),
	CASE(overwritten, "-"),
	CASE(overwritten_in_part, "-"),
	CASE(over_add, "-"),
	CASE(over_xchg, "-"),
	CASE(over_xchg_call, "-"),
	CASE(over_xchg_fp, "sp+8 lost doubtful"),
	CASE(over_inc, "-"),
	CASE(over_neg, "-"),
	CASE(over_shift, "-"),
	CASE(over_byte, "-"),
	CASE(over_set, "-"),
	CASE(over_xadd, "-"),
	CASE(over_cmpxchg16, "-"),
	CASE(over_movups, "-"),
	CASE(over_vmovups, "-"),
	CASE(over_evex, "-"),
	CASE(over_evex_word, "-"),
	CASE(over_by_r9, "-"),
	CASE(over_movsd, "-"),
	CASE(over_pextr, "-"),
	CASE(over_x87, "-"),
	CASE(over_half, "-"),
	CASE(beside_half, "fp+16 cfa-16"),
	CASE(beside_byte, "sp+8 same doubtful"),
	CASE(beside_movups, "sp+8 same doubtful"),
	CASE(beside_vmovups, "sp+8 same doubtful"),
	CASE(beside_evex, "sp+8 same doubtful"),
	CASE(beside_float, "sp+8 same doubtful"),
	CASE(only_read, "sp+8 same doubtful"),
	CASE(sbcl_entry, "sp+8 fp+0"),
	CASE(sbcl_body, "fp+16 cfa-16"),
	CASE(sbcl_entry_body, "sp+8 fp+0"),
	CASE(sbcl_stored, "-"),
	CASE(sbcl_tail, "-"),
	CASE(sbcl_args, "sp+16 same"),
	CASE(erlang, "13(96)+16 cfa-16"),
	CASE(erlang_no_fp, "13(88)+16 same"),
	CASE(erlang_stored, "-"),
	CASE(erlang_other, "-"),
	CASE(erlang_called, "-"),
	CASE(erlang_rax, "-"),
	CASE_AT(v8, 0x40, "fp+16 cfa-16"),
	CASE_AT(v8, 0x48, "-"),
	CASE(v8, "-"),
	CASE_AT(v8_called, 0x60, "fp+16 cfa-16 doubtful"),
	CASE(v8_called, "-"),
	CASE_AT(v8_bare, 0x40, "-"),
	CASE(v8_moved, "sp+8 same"),
	CASE(v8_in_register, "sp+8 same"),
	CASE(v8_prologue, "sp+8 lost"),
	CASE(ret_args, "-"),
	CASE(hotspot_end, "fp+16 cfa-16 extends"),
	CASE(hotspot_adapter, "-"),
	CASE(guile_exit, "-"),
	CASE(qemu_exit, "sp+32 same"),
	CASE(guile_return, "-"),
	CASE(reloaded, "4(80)+16 cfa-16"),
	CASE(reloaded_call, "4(80)+16 cfa-16 doubtful"),
	CASE(reloaded_move, "4(80)+16 cfa-16"),
	CASE(reloaded_over, "-"),
	CASE(reloaded_over_call, "-"),
	CASE(reloaded_patched, "-"),
	CASE(reloaded_pushed, "sp+8 lost"),
	CASE(switched, "-"),
	CASE(switched_both, "-"),
	CASE(many_calls, "sp+16 same doubtful"),
	CASE(same_call, "sp+16 same doubtful"),
	CASE(other_call, "-"),
};

struct size_case {
	struct code_case	code;
	unsigned long		size;
	/* the return address above the frame pointer follows a call of this code */
	bool			is_called;
	bool			want;
};

#define OTHER	false
#define OWN	true
#define SIZE(name, size, is_called, want)	{ TEXT(name), size, is_called, want }

static const struct size_case size_cases[] = {
	SIZE(size, 32, false, OWN),
	SIZE(size, 40, false, OTHER),
	SIZE(size, 24, false, OTHER),
	SIZE(size, 64, false, OTHER),
	SIZE(size_args, 32, false, OWN),
	SIZE(size_args, 48, false, OWN),
	SIZE(size_args, 40, false, OTHER),
	SIZE(size_args, 56, true, OTHER),
	SIZE(size_other_args, 32, false, OWN),
	SIZE(size_other_args, 40, false, OTHER),
	SIZE(size_filled, 32, false, OWN),
	SIZE(size_over_trap, 32, false, OWN),
	SIZE(size_ret_args, 32, false, OWN),
	SIZE(size_probed, 32, false, OTHER),
	SIZE(size_tail, 32, false, OTHER),
	SIZE(size_ended, 32, false, OTHER),
	SIZE(size_handler, 32, false, OWN),
	SIZE(size_handler, 40, false, OTHER),
	SIZE(size_next_handler, 32, false, OTHER),
	SIZE(size_saved_handler, 32, false, OTHER),
	SIZE(size_other_handler, 32, false, OTHER),
	SIZE(size_of_caller, 32, false, OWN),
	SIZE(size_of_caller, 32, true, OTHER),
	SIZE(size_left, 32, false, OTHER),
	SIZE(size_popped, 32, false, OTHER),
	SIZE(size_loaded, 32, false, OTHER),
	SIZE(size_left_branch, 32, false, OTHER),
	SIZE(size_left_other, 32, false, OWN),
	SIZE(size_left_jump, 32, false, OTHER),
	SIZE(size_left_next, 32, false, OTHER),
	SIZE(size_left_over, 32, false, OTHER),
	SIZE(size_left_twice, 16, false, OTHER),
	SIZE(size_tail_set, 32, false, OTHER),
	SIZE(size_tail_set, 40, false, OTHER),
	SIZE(size_v8_return, 24, false, OWN),
	SIZE(size_hotspot_poll, 32, false, OWN),
	SIZE(size_hotspot_handler, 32, false, OWN),
	SIZE(size_high_byte, 32, false, OWN),
	SIZE(size_movq, 32, false, OWN),
	SIZE(size_loaded_sp, 40, false, OTHER),
	SIZE(size_args_late, 32, false, OWN),
	SIZE(size_args_late, 40, false, OTHER),
	SIZE(size_before_left, 32, false, OWN),
	SIZE(size_aligned, 24, false, OTHER),
	SIZE(size_far, 32, true, OTHER),
};

struct live_case {
	struct code_case	code;
	u16			want;
};

#define LIVE(name, want) { TEXT(name), want }

#define RAX	1
#define RCX	2
#define RDX	4
#define RBX	8
#define RDI	0x80
#define R12	0x1000
/* the callee-saved registers, and the stack pointer */
#define KEPT	0xf038

static const struct live_case live_cases[] = {
	LIVE(live_end, 0xffff),
	LIVE(live_called, RCX | KEPT),
	LIVE(live_kept, KEPT),
	LIVE(live_left, RCX | RAX),
	LIVE(live_fork, RAX | RBX),
	LIVE(live_switch, RCX | RAX),
	LIVE(live_trap, RDI | KEPT),
	LIVE(live_framed, RAX | RDX | RDI | R12),
	LIVE(live_either, RDI | KEPT),
	LIVE(live_behind, RCX | KEPT),
	LIVE(live_indexed, RCX | RAX),
	LIVE(live_stored, R12 | RAX),
	LIVE(live_exchanged, RCX | RAX),
	LIVE(live_backtrack, 0),
	LIVE(live_other, 0xffff),
};

static unsigned int read_code(void *ctx, unsigned long addr, u8 *to, unsigned int len)
{
	const struct code_case *c = ctx;
	unsigned long start = (unsigned long)c->start, end = (unsigned long)c->end;

	if (addr < start || addr >= end)
		return 0;
	if (len > end - addr)
		len = end - addr;
	memcpy(to, (const void *)addr, len);
	return len;
}

static void print_rule(const struct unwind_code *code, char *text, size_t size)
{
	FILE *to = fmemopen(text, size, "w");

	if (!to)
		return;
	if (code->by_mem)
		fprintf(to, "%u(%d)", code->mem_reg, code->mem_off);
	else
		fprintf(to, "%s", code->by_fp ? "fp" : "sp");
	fprintf(to, "%+d ", code->cfa_off);
	if (code->fp_saved)
		fprintf(to, "%s%+d", code->fp_at_fp ? "fp" : "cfa", code->fp_off);
	else
		fprintf(to, "%s", code->fp_lost ? "lost" : "same");
	fprintf(to, "%s%s", code->extends ? " extends" : "",
		code->is_doubtful ? " doubtful" : "");
	fclose(to);
}

static bool check_case(const struct rule_case *c)
{
	struct unwind_code code = {
		.read = read_code, .ctx = (void *)&c->code, .word = 8, .memory = MEMORY,
		.fp_above_sp = c->fp_above_sp,
	};
	char rule[64] = "-";

	/* the search must not rely on cleared memory */
	memset(memory, 0xa5, sizeof(memory));
	if (unwind_code_find(&code, (unsigned long)c->code.mark))
		print_rule(&code, rule, sizeof(rule));
	if (!strcmp(rule, c->rule))
		return true;
	printf("# %s: the rule is %s, and not %s\n", c->code.name, rule, c->rule);
	return false;
}

static bool check_live(const struct live_case *c)
{
	struct unwind_code code = {
		.read = read_code, .ctx = (void *)&c->code, .word = 8, .memory = MEMORY,
	};

	unwind_code_find(&code, (unsigned long)c->code.mark);
	if (code.live == c->want)
		return true;
	printf("# %s: live registers are %#x, expected %#x\n", c->code.name, code.live, c->want);
	return false;
}

static bool check_size(const struct size_case *c)
{
	struct unwind_code code = {
		.read = read_code, .ctx = (void *)&c->code, .word = 8, .returned = true,
	};

	unsigned long called;
	bool has, saves_fp;

	has = unwind_code_has_frame(&code, (unsigned long)c->code.mark, c->size);
	called = c->is_called ?
		 unwind_code_prologue(&code, (unsigned long)c->code.start, &saves_fp) : 0;
	/* as in kernel/unwind/no_tables.c */
	return (has && (!called || called == code.prologue)) == c->want;
}

static bool has_rule_in_32_bit(const struct code_case *c, s32 cfa_off)
{
	struct unwind_code code = {
		.read = read_code, .ctx = (void *)c, .word = 4, .memory = MEMORY,
	};

	return unwind_code_find(&code, (unsigned long)c->mark) && code.cfa_off == cfa_off;
}

static bool check_add(void)
{
	const struct code_case byte = TEXT(add_byte), word = TEXT(add_word);

	return !has_rule_in_32_bit(&byte, 12) && has_rule_in_32_bit(&word, 12);
}

/* "mov $ip,%r10; push %r10", with @pushed as the second byte of the push */
static bool pushes_itself(u64 ip, u64 at, u8 pushed)
{
	u8 bytes[UNWIND_CODE_SELF_BYTES] = { 0x49, 0xba };

	memcpy(bytes + 2, &ip, sizeof(ip));
	bytes[10] = 0x41;
	bytes[11] = pushed;
	return unwind_code_pushes_itself(bytes, at);
}

static bool check_self(void)
{
	const u64 ip = 0x7f0123456789;

	return pushes_itself(ip, ip, 0x52) && !pushes_itself(ip, ip + 1, 0x52) &&
	       !pushes_itself(ip, ip, 0x53);
}

static unsigned int nr_done, nr_failed;

static void print_test(bool good, const char *name, long number)
{
	nr_failed += !good;
	printf("%s %u - %s, %ld\n", good ? "ok" : "not ok", ++nr_done, name, number);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		print_test(check_case(&cases[i]), cases[i].code.name, i);
	for (i = 0; i < ARRAY_SIZE(size_cases); i++)
		print_test(check_size(&size_cases[i]), size_cases[i].code.name, size_cases[i].size);
	for (i = 0; i < ARRAY_SIZE(live_cases); i++)
		print_test(check_live(&live_cases[i]), live_cases[i].code.name, live_cases[i].want);
	print_test(check_add(), "add of a byte in 32-bit code", 4);
	print_test(check_self(), "mov and push of the own address", 8);
	printf("1..%u\n", nr_done);
	return !!nr_failed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Walks over signal frames, with all kinds of restorers: that of the C library, which has
 * tables, and code without tables.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_test.h"

/* the argument of rt_sigaction(), with a restorer */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

/* The index of the interrupted address among the return addresses that a walk notes. */
#define INTERRUPTED	4

static const eh_step steps[] = {
	eh_plain, eh_deep, eh_raises_usr1, eh_pushes, eh_aligned, eh_leaf,
};

static const unsigned char mov_rax[] = {	/* mov $15,%rax; syscall */
	0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05,
};

static const unsigned char mov_eax[] = {	/* mov $15,%eax; syscall */
	0xb8, 15, 0, 0, 0, 0x0f, 0x05,
};

static const unsigned char not_one[] = {	/* not a known restorer, as it begins with a nop */
	0x90, 0xb8, 15, 0, 0, 0, 0x0f, 0x05,
};

/* Put the restorer into a page of its own, without tables. */
static const void *make_restorer(const unsigned char *code, size_t size)
{
	size_t page = getpagesize();
	char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	memcpy(memory + 64, code, size);
	mprotect(memory, page, PROT_READ | PROT_EXEC);
	return memory + 64;
}

static int return_to(const void *restorer)
{
	struct kernel_sigaction action;

	PD_CHECK(!eh_handle(SIGUSR1, false), "sigaction: %s", strerror(errno));
	PD_CHECK(!syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, 8), "rt_sigaction: %s",
		 strerror(errno));
	action.restorer = restorer;
	PD_CHECK(restorer && !syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8),
		 "rt_sigaction: %s", strerror(errno));
	return 0;
}

static int return_by(const unsigned char *code, size_t size)
{
	return return_to(make_restorer(code, size));
}

/* Walk in the handler. */
static int in_handler_to(const void *restorer)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	PD_TRY(return_to(restorer));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	return eh_run_and_check(&event, &walk, steps);
}

static int in_handler(const unsigned char *code, size_t size)
{
	return in_handler_to(make_restorer(code, size));
}

static int in_handler_mov_rax(void)
{
	return in_handler(mov_rax, sizeof(mov_rax));
}

static int in_handler_mov_eax(void)
{
	return in_handler(mov_eax, sizeof(mov_eax));
}

PD_BOUNDS(pd_behind);

/* The byte before the restorer belongs to a function with tables. */
asm(".pushsection pd_behind, \"ax\", @progbits\n"
	".cfi_startproc\n"
	"	ret\n"
	".cfi_endproc\n"
	"	mov	$15, %rax\n"	/* rt_sigreturn */
	"	syscall\n"
	".popsection\n");

static int in_handler_behind_a_function(void)
{
	return in_handler_to(__start_pd_behind + 1);
}

PD_BOUNDS(pd_calls);

/* This code ends with a call of a function that does not return; a restorer follows the call. */
asm(".pushsection pd_calls, \"ax\", @progbits\n"
	".cfi_startproc\n"
	"	mov	(%rsp), %rdx\n"
	"	sub	$8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	call	*%rsi\n"
	".cfi_endproc\n"
	"	mov	$15, %rax\n"
	"	syscall\n"
	".popsection\n");

static jmp_buf before_call;

static PD_ATTR(noinline, noreturn) void leave_by_longjmp(struct eh_walk *walk, void *unused,
							 unsigned long ra)
{
	(void)unused;
	eh_note(walk, ra);
	EH_ENTER(walk);
	eh_next(walk);
	longjmp(before_call, 1);
}

static PD_ATTR(noinline) long calls_noreturn(struct eh_walk *walk)
{
	void (*call)(struct eh_walk *walk, typeof(leave_by_longjmp) *what);
	const char *start = __start_pd_calls;

	EH_ENTER(walk);
	memcpy(&call, &start, sizeof(call));
	if (!setjmp(before_call))
		call(walk, leave_by_longjmp);
	return 0;
}

/* Check that the stack ends early, and that all its frames are correct. */
static int ends_before(struct pd_event *event, const eh_step *run, unsigned int left)
{
	const struct pd_rec *stack;
	static struct eh_walk walk;
	struct pd_log log;
	__u32 i;

	PD_TRY(eh_sample(event, &log, &walk, run, &stack));
	for (i = 1; i < stack->nr_user; i++)
		if (stack->user[i] != walk.ra[walk.nr - i]) {
			pd_note_stack("stack", stack);
			return pd_fail("frame %u is wrong", i);
		}
	PD_CHECK(stack->nr_user == walk.nr - left, "%u frames, should be %u",
		 stack->nr_user, walk.nr - left);
	return PD_PASS;
}

/*
 * A call whose return address is also the beginning of a restorer, like the return address of
 * a signal handler. The walk must end there.
 */
static int call_before_restorer(void)
{
	static const eh_step calls[] = { eh_plain, calls_noreturn, eh_pushes, eh_leaf };
	struct pd_event event;

	PD_TRY(eh_open(&event));
	PD_TRY(ends_before(&event, calls, 2));
	return ends_before(&event, calls, 2);
}

/* A return address in code that is not a known restorer ends the stack. */
static int in_handler_of_another(void)
{
	struct pd_event event;

	PD_TRY(eh_open(&event));
	PD_TRY(return_by(not_one, sizeof(not_one)));
	return ends_before(&event, steps, INTERRUPTED);
}

/*
 * Check a sample in the system call of the restorer. The innermost address of the stack follows
 * the system call, where another function may begin. The next frame is the interrupted one.
 */
static int check_in_sigreturn(const struct eh_walk *walk, const struct pd_rec *stack)
{
	__u32 at, nr = INTERRUPTED + 1 + walk->nr_tail - 1;

	PD_CHECK(stack->nr_user == 1 + nr, "%u frames, should be %u", stack->nr_user, 1 + nr);
	for (at = 1; at <= INTERRUPTED + 1; at++)
		PD_CHECK(stack->user[at] == walk->ra[INTERRUPTED + 1 - at],
			 "frame %u is %#llx, should be %#lx", at, stack->user[at],
			 walk->ra[INTERRUPTED + 1 - at]);
	PD_CHECK(eh_ends_in(walk->tail, walk->nr_tail, stack), "the outermost frames are wrong");
	return 0;
}

static int in_sigreturn(const unsigned char *code, size_t size)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	static struct eh_walk walk;
	struct pd_event event;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_rt_sigreturn"));
	PD_TRY(eh_deepen(&attr));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	PD_CHECK(!eh_handle(SIGUSR1, false), "sigaction: %s", strerror(errno));
	if (code)
		PD_TRY(return_by(code, size));
	pd_enable(&event);
	eh_run(&walk, steps);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
	if (!check_in_sigreturn(&walk, stack))
		return PD_PASS;
	pd_note_stack("in sigreturn", stack);
	return PD_FAIL;
}

static int in_sigreturn_libc(void)
{
	return in_sigreturn(NULL, 0);
}

static int in_sigreturn_mov_rax(void)
{
	return in_sigreturn(mov_rax, sizeof(mov_rax));
}

static int in_sigreturn_mov_eax(void)
{
	return in_sigreturn(mov_eax, sizeof(mov_eax));
}

const struct pd_test pd_tests[] = {
	PD_TEST(in_handler_mov_rax),
	PD_TEST(in_handler_mov_eax),
	PD_TEST(in_handler_behind_a_function),
	PD_TEST(call_before_restorer),
	PD_TEST(in_handler_of_another),
	PD_TEST(in_sigreturn_libc),
	PD_TEST(in_sigreturn_mov_rax),
	PD_TEST(in_sigreturn_mov_eax),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

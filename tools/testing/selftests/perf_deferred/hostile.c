// SPDX-License-Identifier: GPL-2.0
/* Walks of made-up, wrong and changing stacks end within their bounds and do no harm. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME		0
#define PAGES		4
#define MAX_STACK	127

static char *memory;
static size_t page;

static void set_frame_ip(size_t offset, unsigned long next, unsigned long ip)
{
	struct pd_frame frame = { next, ip };

	memcpy(memory + offset, &frame, sizeof(frame));
}

static bool goes_by_tables(void)
{
	return pd_read_long("/proc/sys/kernel/unwind_user_methods") & 2;
}

/*
 * If tables are used, the return address is not behind a call, so that by its rule, the walk cannot
 * go to a stack below.  Without tables, only an address behind a call is accepted.
 */
static void set_frame(size_t offset, unsigned long next)
{
	set_frame_ip(offset, next, pd_name_address(NAME) + goes_by_tables());
}

static unsigned long memory_at(size_t offset)
{
	return (unsigned long)memory + offset;
}

struct lie {
	const char *what;
	void (*lay)(void);
	size_t start;		/* where the frame pointer starts */
	unsigned int least, most;	/* minimum and maximum number of frames of NAME */
};

static void to_itself(void)
{
	set_frame(0, memory_at(0));
}

static void to_and_fro(void)
{
	set_frame(0, memory_at(64));
	set_frame(64, memory_at(0));
}

static void to_lower(void)
{
	set_frame(page, memory_at(64));
	set_frame(64, memory_at(32));
	set_frame(32, 0);
}

static void to_unaligned(void)
{
	set_frame(0, memory_at(33));
	set_frame(33, memory_at(65));
}

static void to_kernel(void)
{
	set_frame(0, 0xffffffff81000000UL);
}

static void to_noncanonical(void)
{
	set_frame(0, 1UL << 63);
}

static void to_far_end(void)
{
	set_frame(0, -8UL);
}

static void to_user_end(void)
{
	set_frame(0, 0x7ffffffffff8UL);
}

static void to_vsyscall(void)
{
	set_frame(0, 0xffffffffff600000UL);
}

static void to_unmapped(void)
{
	set_frame(0, memory_at(PAGES * page));
}

static void across_the_end(void)
{
	set_frame(0, memory_at(PAGES * page - 8));
}

static void into_prot_none(void)
{
	set_frame(0, memory_at(2 * page));
	mprotect(memory + 2 * page, page, PROT_NONE);
}

static void like_contexts(void)
{
	set_frame_ip(0, memory_at(16), PERF_CONTEXT_KERNEL);
	set_frame_ip(16, memory_at(32), PD_CONTEXT_DEFERRED);
}

static void kernel_ips(void)
{
	set_frame_ip(0, memory_at(16), 0xffffffff81000000UL);
	set_frame(16, 0);
}

static void long_chain(void)
{
	size_t offset;

	for (offset = 0; offset + 32 <= PAGES * page; offset += 16)
		set_frame(offset, memory_at(offset + 16));
}

static const struct lie lies[] = {
	{ "a frame that follows itself", to_itself, 0, 1, 2 },
	{ "two frames in a circle", to_and_fro, 0, 2, 2 },
	{ "a caller's frame at a lower address", to_lower, 4096, 1, 1 },
	{ "an unaligned frame pointer", to_unaligned, 0, 1, 3 },
	{ "a kernel address", to_kernel, 0, 1, 1 },
	{ "a non-canonical address", to_noncanonical, 0, 1, 1 },
	{ "the last bytes of memory", to_far_end, 0, 1, 1 },
	{ "the last bytes of user memory", to_user_end, 0, 1, 1 },
	{ "the vsyscall page", to_vsyscall, 0, 1, 1 },
	{ "unmapped memory", to_unmapped, 0, 1, 1 },
	{ "a frame across the end of a mapping", across_the_end, 0, 1, 1 },
	{ "PROT_NONE", into_prot_none, 0, 1, 1 },
	{ "return addresses that look like contexts", like_contexts, 0, 0, 1 },
	{ "return addresses in the kernel", kernel_ips, 0, 0, 1 },
	{ "a long chain", long_chain, 0, MAX_STACK - 1, MAX_STACK },
};

static int map_memory(void)
{
	page = getpagesize();
	/* A hole follows, so that the mapping is not merged with another one. */
	memory = mmap(NULL, (PAGES + 1) * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	munmap(memory + PAGES * page, page);
	return 0;
}

static int tell_lie(struct pd_event *event, const struct lie *lie)
{
	const struct pd_rec *sample, *stack;
	struct pd_log log = {};

	mprotect(memory, PAGES * page, PROT_READ | PROT_WRITE);
	memset(memory, 0, PAGES * page);
	lie->lay();
	pd_enable(event);
	pd_getppid_on(memory, memory + lie->start);
	pd_disable(event);
	pd_drain(event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(pd_user_half(&log, sample, &stack) != PD_BARE, "no record");
	PD_CHECK(stack, "no user half");
	PD_CHECK(stack->nr_user <= MAX_STACK, "%u frames", stack->nr_user);
	if (pd_frames_of(stack, NAME) < lie->least || pd_frames_of(stack, NAME) > lie->most) {
		pd_note_stack("frames", stack);
		return pd_fail("%u frames, %u to %u are true", pd_frames_of(stack, NAME),
			       lie->least, lie->most);
	}
	pd_log_free(&log);
	return 0;
}

static int chains(void)
{
	struct perf_event_attr attr;
	struct pd_event event;
	size_t i;

	PD_TRY(map_memory());
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	for (i = 0; i < ARRAY_SIZE(lies); i++)
		if (tell_lie(&event, &lies[i]))
			return pd_fail("with %s", lies[i].what);
	return PD_PASS;
}

/* Walks that begin with a wrong stack pointer and a wrong frame pointer. */
static int stack_pointers(void)
{
	static const unsigned long wild[] = {
		0, 1, 8, -1UL, -8UL, 1UL << 63, 0x800000000000UL, 0x7ffffffffff8UL,
		0xffff800000000000UL, 0xffffffff81000000UL, 0xffffffffff600000UL,
	};
	const size_t nr = ARRAY_SIZE(wild);
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t i, j;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < nr; i++)
		for (j = 0; j < nr; j++)
			pd_getppid_on((void *)wild[i], (void *)wild[j]);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == nr * nr, "%zu samples of %zu calls",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), nr * nr);
	return pd_check_no_bare(&log);
}

/* Threads that walk chains of frames while other threads overwrite the chains. */
static int stop;

static unsigned long random_word(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *scribble_frames(void *seed)
{
	unsigned long state = (unsigned long)seed, *word;

	while (!PD_READ(stop)) {
		word = (unsigned long *)(memory + (random_word(&state) % (PAGES * page) & ~7UL));
		if (random_word(&state) & 7)
			*word = memory_at(random_word(&state) % (PAGES * page) & ~7UL);
		else
			*word = random_word(&state);
	}
	return NULL;
}

static void *walk_memory(void *seed)
{
	unsigned long state = (unsigned long)seed;
	size_t from;

	while (!PD_READ(stop)) {
		from = random_word(&state) % (PAGES * page) & ~7UL;
		pd_getppid_on(memory + from, memory + from);
	}
	return NULL;
}

static int run_liars(void *milliseconds)
{
	unsigned long i;
	pthread_t thread;

	if (map_memory())
		return 1;
	for (i = 1; i <= 4; i++)
		if (pthread_create(&thread, NULL, i & 1 ? walk_memory : scribble_frames,
				   (void *)(i * 77773)))
			return 1;
	pd_sleep_ms((long)milliseconds);
	PD_WRITE(stop, 1);
	return 0;
}

static int under_load(struct perf_event_attr *attr)
{
	const struct pd_rec *record = NULL;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	int status;

	attr->inherit = 1;
	PD_TRY(pd_child_start(&child, run_liars, (void *)pd_scale(3000)));
	PD_TRY(pd_set_must_open(&set, attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	while ((status = pd_child_wait(&child, 0)) == -1)
		pd_set_drain(&set, &log);
	PD_CHECK(!status, "the children ended with %#x", status);
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
	while (pd_log_next(&log, PD_RECORD_DEFERRED, &record))
		PD_CHECK(record->nr_user <= MAX_STACK, "a record of %u frames", record->nr_user);
	pd_note("%zu samples, %zu records, %llu dropped", pd_log_count(&log, PERF_RECORD_SAMPLE),
		pd_log_count(&log, PD_RECORD_DEFERRED), log.dropped);
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE), "no sample");
	return log.lost || log.dropped ? PD_PASS : pd_check_no_bare(&log);
}

static int load_from_timer(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 10000);
	return under_load(&attr);
}

static int load_every_call(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	attr.sample_period = 10;
	return under_load(&attr);
}

static PD_LEAF long call_address(void *address)
{
	long unused;

	pd_frame();
	asm volatile("call	*%[address]"
		     : "=a" (unused) : [address] "r" (address) : "cc", "memory");
	return 0;
}

/* Return to the caller, as if the function had returned. */
static void return_from_nowhere(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	regs[REG_RIP] = *(greg_t *)regs[REG_RSP];
	regs[REG_RSP] += sizeof(greg_t);
}

/* If a program calls an address without code, the walk still shows the callers. */
static int calls_of_nothing(void)
{
	const struct sigaction action = {
		.sa_sigaction = return_from_nowhere, .sa_flags = SA_SIGINFO,
	};
	void *places[] = { NULL, (void *)-1UL, (void *)-4096UL, NULL };
	/* without tables, the mapping that contains the address is not looked at */
	const size_t nr = ARRAY_SIZE(places) - !goes_by_tables();
	const unsigned int depth = 5;
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t i, at;

	places[3] = mmap(NULL, getpagesize(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(places[3] != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(pd_attr_kprobe(&attr, "force_sig_fault"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	sigaction(SIGSEGV, &action, NULL);
	pd_enable(&event);
	for (i = 0; i < nr; i++)
		pd_call(NAME, depth, call_address, places[i]);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	for (i = 0; i < nr; i++) {
		sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, i);
		PD_TRY(pd_check_stitched(&log, sample, NAME, depth));
		pd_user_half(&log, sample, &stack);
		at = (long)places[i] >= 0;
		PD_CHECK(!at || stack->user[0] == (unsigned long)places[i],
			 "at %p: a stack that begins at %llx", places[i], stack->user[0]);
		PD_CHECK(stack->user[at] - (unsigned long)call_address < 64,
			 "at %p: the caller is %llx", places[i], stack->user[at]);
	}
	return PD_PASS;
}

/* Make the sampled system call in the handler of the fault. */
static void look_from_nowhere(int sig, siginfo_t *info, void *context)
{
	pd_syscall0(SYS_getppid);
	return_from_nowhere(sig, info, context);
}

static bool is_followed_by_caller(const struct pd_rec *stack, unsigned long place)
{
	bool is_shown = (long)place >= 0;
	unsigned int i;

	for (i = 1; i < stack->nr_user; i++) {
		if (stack->user[i] - (unsigned long)call_address < 64)
			return !is_shown || stack->user[i - 1] == place;
	}
	return false;
}

static int calls_of_nothing_from_handler(void)
{
	const struct sigaction action = {
		.sa_sigaction = look_from_nowhere, .sa_flags = SA_SIGINFO,
	};
	const unsigned long places[] = { 0, -1UL, -4096UL };
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	size_t i;

	if (!goes_by_tables())
		return pd_skip("frame pointers lead past signals");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	sigaction(SIGSEGV, &action, NULL);
	pd_enable(&event);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		pd_call(NAME, 5, call_address, (void *)places[i]);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, i);
		PD_CHECK(sample, "%zu samples", i);
		pd_user_half(&log, sample, &stack);
		PD_CHECK(stack, "at %#lx: no stack", places[i]);
		PD_CHECK(is_followed_by_caller(stack, places[i]),
			 "at %#lx: the caller is missing from %u frames", places[i],
			 stack->nr_user);
		PD_CHECK(pd_has_outermost(stack, NAME), "at %#lx: ends early", places[i]);
	}
	return PD_PASS;
}

/*
 * Code that unmaps itself by a system call. Its frame is not known any more, so the walk
 * must not take a word on its stack for a return address.
 */
static const unsigned char takes_away[] = {
	0x55,				/* push	%rbp */
	0x48, 0x89, 0xe5,		/* mov	%rsp, %rbp */
	0x48, 0x83, 0xec, 0x10,		/* sub	$16, %rsp */
	0x4c, 0x89, 0x04, 0x24,		/* mov	%r8, (%rsp) */
	0x48, 0x89, 0xf8,		/* mov	%rdi, %rax */
	0x48, 0x89, 0xf7,		/* mov	%rsi, %rdi */
	0x48, 0x89, 0xd6,		/* mov	%rdx, %rsi */
	0x48, 0x89, 0xca,		/* mov	%rcx, %rdx */
	0x0f, 0x05,			/* syscall */
	0xc9, 0xc3,			/* leave; ret */
};

typedef long (*take_away)(long nr, void *page, long size, long prot, unsigned long decoy);

/* Do what "leave; ret" of the unmapped code would have done. */
static void leave_for_it(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs, *frame;

	(void)sig;
	(void)info;
	frame = (greg_t *)regs[REG_RBP];
	regs[REG_RBP] = frame[0];
	regs[REG_RIP] = frame[1];
	regs[REG_RSP] = (greg_t)(frame + 2);
}

static PD_ATTR(noinline) unsigned long return_address(void)
{
	return (unsigned long)__builtin_return_address(0);
}

static int take_itself_away(long nr, int prot, struct pd_event *event)
{
	unsigned long decoy = return_address();
	void *code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct pd_rec *sample, *stack;
	struct pd_log log = {};
	take_away call;

	PD_CHECK(code != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(code, takes_away, sizeof(takes_away));
	memcpy(&call, &code, sizeof(call));
	mprotect(code, page, PROT_READ | PROT_EXEC);
	pd_enable(event);
	call(nr, code, page, prot, decoy);
	pd_disable(event);
	pd_drain(event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	pd_user_half(&log, sample, &stack);
	PD_CHECK(stack && stack->nr_user, "no stack");
	PD_CHECK(stack->user[0] == (unsigned long)code + sizeof(takes_away) - 2,
		 "the stack begins at %llx", stack->user[0]);
	PD_CHECK(stack->nr_user < 2 || stack->user[1] != decoy,
		 "a word on the stack was taken for the caller");
	if (!(prot & PROT_READ) && goes_by_tables())
		PD_CHECK(stack->nr_user == 1, "%u frames of unmapped code", stack->nr_user);
	return 0;
}

static int calls_that_unmap(void)
{
	const struct sigaction action = {
		.sa_sigaction = leave_for_it, .sa_flags = SA_SIGINFO,
	};
	struct pd_event unmap, protect;
	struct perf_event_attr attr;

	page = getpagesize();
	sigaction(SIGSEGV, &action, NULL);
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_munmap"));
	PD_TRY(pd_must_open(&unmap, &attr, 0, -1));
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_mprotect"));
	PD_TRY(pd_must_open(&protect, &attr, 0, -1));
	PD_TRY(take_itself_away(SYS_munmap, 0, &unmap));
	PD_TRY(take_itself_away(SYS_mprotect, PROT_NONE, &protect));
	return take_itself_away(SYS_mprotect, PROT_READ, &protect);
}

const struct pd_test pd_tests[] = {
	PD_TEST(chains),
	PD_TEST(stack_pointers),
	PD_TEST(calls_of_nothing),
	PD_TEST(calls_of_nothing_from_handler),
	PD_TEST(calls_that_unmap),
	PD_TEST(load_from_timer),
	PD_TEST(load_every_call),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

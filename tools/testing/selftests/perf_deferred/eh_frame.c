// SPDX-License-Identifier: GPL-2.0
/*
 * Walk by unwind tables through code without frame pointers: check every frame,
 * down to the start of the program or the thread.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_stack.h"
#include "pd_test.h"

#define DEEP		200
#define STEPS		12
#define THREADS		8
#define ALTSTACK	(64 * 1024)

static void lay_deep(eh_step *steps)
{
	unsigned int i;

	for (i = 0; i < DEEP; i++)
		steps[i] = eh_deep;
	steps[DEEP] = eh_leaf;
}

static int deep(void)
{
	static struct eh_walk walk;
	eh_step steps[DEEP + 1];
	struct pd_event event;

	PD_TRY(eh_open(&event));
	lay_deep(steps);
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	/* and again with cached rules */
	return eh_run_and_check(&event, &walk, steps);
}

/*
 * A sample after the record has the stack that was walked for the record. The stack is not
 * unwound by frame pointers, which this code does not have.
 */
static int behind_the_record(void)
{
	const eh_step steps[] = { eh_plain, eh_pushes, eh_deep, eh_leaf };
	static struct eh_walk walk;
	const struct pd_rec *sample = NULL, *stack;
	struct perf_event_attr attr;
	struct pd_event event, after;
	struct pd_log log = {};
	size_t known = 0;

	PD_TRY(eh_open(&event));
	PD_TRY(pd_attr_kprobe(&attr, "__rseq_handle_notify_resume"));
	PD_TRY(eh_deepen(&attr));
	PD_TRY(pd_must_open(&after, &attr, 0, -1));
	pd_enable(&event);
	pd_enable(&after);
	eh_run(&walk, steps);
	pd_disable(&after);
	pd_disable(&event);
	pd_drain(&event, &log);
	pd_drain(&after, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		enum pd_half half = pd_user_half(&log, sample, &stack);

		if (!stack || !stack->nr_user ||
		    stack->user[0] < (unsigned long)__start_eh_text_leaf ||
		    stack->user[0] >= (unsigned long)__stop_eh_text_leaf)
			continue;
		known += half == PD_INPLACE;
		PD_TRY(eh_check(&walk, stack));
	}
	return known ? PD_PASS : pd_skip("nothing was sampled on the way back");
}

static PD_ATTR(noinline) long with_frame_pointer(struct eh_walk *walk)
{
	pd_frame();
	EH_ENTER(walk);
	return eh_next(walk);
}

static PD_IN("eh_text_library") long calls_ends_in_syscall(struct eh_walk *walk)
{
	EH_ENTER(walk);
	eh_note(walk, EH_LIBRARY);
	return eh_ends_in_syscall() + 1;
}

static int at_a_functions_end(void)
{
	const eh_step steps[] = { eh_plain, eh_pushes, calls_ends_in_syscall };
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	return eh_run_and_check(&event, &walk, steps);
}

static void note_from_jit(struct eh_walk *walk, unsigned long ra)
{
	eh_note(walk, ra);
}

/* A step without tables: it notes its return address and calls eh_plain(). */
static eh_step jit;

static int make_jit(unsigned char *to)
{
	static const unsigned char code[] = {
		0x55,				/* push %rbp */
		0x48, 0x89, 0xe5,		/* mov %rsp,%rbp */
		0x57, 0x57,			/* push %rdi, twice */
		0x48, 0x8b, 0x75, 0x08,		/* mov 8(%rbp),%rsi */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,	/* movabs note_from_jit,%rax */
		0xff, 0xd0,			/* call *%rax */
		0x5f, 0x5f,			/* pop %rdi, twice */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,	/* movabs eh_plain,%rax */
		0xff, 0xd0,			/* call *%rax */
		0x5d,				/* pop %rbp */
		0xc3,				/* ret */
	};
	void (*note)(struct eh_walk *walk, unsigned long ra) = note_from_jit;
	eh_step plain = eh_plain;

	PD_CHECK(to != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(to, code, sizeof(code));
	memcpy(to + 12, &note, sizeof(note));
	memcpy(to + 26, &plain, sizeof(plain));
	PD_CHECK(!mprotect(to, getpagesize(), PROT_READ | PROT_EXEC), "mprotect: %s",
		 strerror(errno));
	memcpy(&jit, &to, sizeof(jit));
	return 0;
}

/* Walk through random sequences of all kinds of frames. */
static int walk_shuffled(const eh_step *kinds, unsigned int nr)
{
	static struct eh_walk walk;
	unsigned long round, rounds = pd_scale(300);
	unsigned int i, seed = 1;
	eh_step steps[STEPS + 1];
	struct pd_event event;

	PD_TRY(eh_open(&event));
	steps[STEPS] = eh_leaf;
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < STEPS; i++)
			steps[i] = kinds[rand_r(&seed) % nr];
		if (eh_run_and_check(&event, &walk, steps))
			return pd_fail("in round %lu", round);
	}
	return PD_PASS;
}

static int mixed(void)
{
	const eh_step kinds[] = {
		eh_deep, eh_plain, eh_pushes, eh_allocates, eh_aligned, eh_aligned_call,
		eh_aligned_allocates, eh_sorts, eh_searches, with_frame_pointer,
	};

	return walk_shuffled(kinds, ARRAY_SIZE(kinds));
}

/* Frames that need a register which most walks do not follow. */
static int based_on_other_registers(void)
{
	const eh_step kinds[] = {
		eh_pushes, eh_plain, eh_deep, eh_aligned_allocates, eh_based_on_rbx,
		eh_based_on_r15,
	};

	return walk_shuffled(kinds, ARRAY_SIZE(kinds));
}

static int shuffled_with_jit(void)
{
	const eh_step kinds[] = {
		eh_deep, eh_pushes, eh_aligned_allocates, eh_sorts, with_frame_pointer,
		jit, jit,
	};

	return walk_shuffled(kinds, ARRAY_SIZE(kinds));
}

static unsigned char *map_pages(unsigned int nr)
{
	return mmap(NULL, nr * getpagesize(), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int made_at_run_time(void)
{
	PD_TRY(make_jit(map_pages(1)));
	return shuffled_with_jit();
}

/* Code in shared memory, as in programs that write their code through another mapping. */
static int made_in_shared_memory(void)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	PD_CHECK(fd >= 0 && !ftruncate(fd, getpagesize()), "memfd: %s", strerror(errno));
	PD_TRY(make_jit(mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)));
	return shuffled_with_jit();
}

/* The mapping below the code, where an object could begin, cannot be read. */
static int made_above_a_hole(void)
{
	unsigned char *memory = map_pages(2);
	int fd = memfd_create("empty", MFD_CLOEXEC);

	PD_CHECK(mmap(memory, getpagesize(), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == memory,
		 "mmap: %s", strerror(errno));
	PD_TRY(make_jit(memory + getpagesize()));
	return shuffled_with_jit();
}

/* A stack for signals with holes around it, so that it is a mapping of its own. */
static int add_altstack(void)
{
	stack_t stack = { .ss_size = ALTSTACK };
	char *memory = mmap(NULL, 3 * ALTSTACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	stack.ss_sp = memory + ALTSTACK;
	PD_CHECK(!mprotect(stack.ss_sp, ALTSTACK, PROT_READ | PROT_WRITE), "mprotect: %s",
		 strerror(errno));
	PD_CHECK(!sigaltstack(&stack, NULL), "sigaltstack: %s", strerror(errno));
	return 0;
}

static const eh_step one_signal[] = {
	eh_plain, eh_deep, eh_raises_usr1, eh_pushes, eh_aligned, eh_leaf,
};

static const eh_step two_signals[] = {
	eh_aligned_allocates, eh_raises_usr2, eh_deep, eh_pushes, eh_raises_usr1,
	eh_sorts, eh_leaf,
};

static int walk_handlers(bool first_on_altstack, bool second_on_altstack)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	PD_TRY(add_altstack());
	PD_CHECK(!eh_handle(SIGUSR2, first_on_altstack) &&
		 !eh_handle(SIGUSR1, second_on_altstack), "sigaction: %s", strerror(errno));
	PD_TRY(eh_run_and_check(&event, &walk, one_signal));
	PD_TRY(eh_run_and_check(&event, &walk, two_signals));
	pd_event_close(&event);
	return PD_PASS;
}

static int signals_same_stack(void)
{
	return walk_handlers(false, false);
}

static int signals_altstack(void)
{
	return walk_handlers(true, true);
}

static int signals_both_stacks(void)
{
	PD_TRY(walk_handlers(true, false));
	return walk_handlers(false, true);
}

/* The alternate stack is above the interrupted stack. */
static int on_stack_below(void)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	PD_CHECK(!eh_handle(SIGUSR1, true) && !eh_handle(SIGUSR2, true), "sigaction: %s",
		 strerror(errno));
	PD_TRY(eh_run_and_check(&event, &walk, one_signal));
	return eh_run_and_check(&event, &walk, two_signals);
}

static void *thread_below(void *memory)
{
	stack_t stack = { .ss_size = ALTSTACK, .ss_sp = memory };
	static int result;

	sigaltstack(&stack, NULL);
	result = on_stack_below();
	return &result;
}

static int signals_altstack_above(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	char *memory;
	void *result;

	PD_TRY(eh_usable());
	memory = mmap(NULL, 8 * ALTSTACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	mprotect(memory, 4 * ALTSTACK, PROT_READ | PROT_WRITE);
	mprotect(memory + 6 * ALTSTACK, ALTSTACK, PROT_READ | PROT_WRITE);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, memory, 4 * ALTSTACK);
	PD_CHECK(!pthread_create(&thread, &attr, thread_below, memory + 6 * ALTSTACK),
		 "no thread");
	pthread_join(thread, &result);
	return *(int *)result;
}

static int switched_off(void)
{
	static struct eh_walk off, on;
	const struct pd_rec *stack;
	long before = pd_read_long(EH_METHODS);
	eh_step steps[DEEP + 1];
	struct pd_event event;
	struct pd_log log;
	char text[16];
	int ret;

	PD_TRY(eh_open(&event));
	lay_deep(steps);
	PD_TRY(eh_run_and_check(&event, &on, steps));
	snprintf(text, sizeof(text), "%ld", before);
	pd_write_str(EH_METHODS, "1");
	ret = eh_sample(&event, &log, &off, steps, &stack);
	PD_CHECK(!pd_write_str(EH_METHODS, text), "the method cannot be turned on again");
	PD_TRY(ret);
	PD_CHECK(stack->nr_user < DEEP / 2, "%u frames with the method off", stack->nr_user);
	return eh_run_and_check(&event, &on, steps);
}

/*
 * Single steps: a signal after each instruction. The handler tracks calls as a
 * tracer would, without tables, and requests a stack.
 */
#define MAX_TRAPS	30000
#define MAX_CALLS	32

struct trap {
	unsigned long ip;
	unsigned int nr;		/* number of calls that have not returned */
	unsigned long ra[MAX_CALLS];
};

static struct trap traps[MAX_TRAPS];
static unsigned int nr_traps;
static int stepping;

static struct {
	unsigned int nr;
	unsigned long slot[MAX_CALLS], ra[MAX_CALLS], ip, sp;
} calls;

static void follow_calls(unsigned long ip, unsigned long sp)
{
	unsigned long top = *(unsigned long *)sp;

	while (calls.nr && calls.slot[calls.nr - 1] < sp)
		calls.nr--;
	if (sp == calls.sp - sizeof(long) && top > calls.ip && top <= calls.ip + 7 &&
	    ip != top && calls.nr < MAX_CALLS) {
		calls.slot[calls.nr] = sp;
		calls.ra[calls.nr++] = top;
	}
	calls.ip = ip;
	calls.sp = sp;
}

#define TRAP_FLAG	0x100

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct trap *trap = &traps[nr_traps];

	(void)sig;
	(void)info;
	if (!stepping || nr_traps == MAX_TRAPS) {
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	regs[REG_EFL] |= TRAP_FLAG;
	follow_calls(regs[REG_RIP], regs[REG_RSP]);
	trap->ip = regs[REG_RIP];
	trap->nr = calls.nr;
	memcpy(trap->ra, calls.ra, sizeof(trap->ra));
	nr_traps++;
	eh_syscall3(SYS_getppid, 0, 0, 0);
}

static int compare_longs(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : 1;
}

static PD_ATTR(noinline) void call_libraries(void)
{
	long numbers[] = { 4, 2, 3, 1, 5 };
	struct timespec now;
	char text[64];

	pd_frame();
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	clock_gettime(CLOCK_MONOTONIC, &now);
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_longs);
	snprintf(text, sizeof(text), "%ld %s %p", numbers[0], "a text", &now);
	free(strdup(text));
}

static void *step_tail[EH_MAX_TAIL];
static int nr_step_tail;

static PD_ATTR(noinline) void step_libraries(void)
{
	pd_frame();
	nr_step_tail = eh_tail(step_tail);
	stepping = true;
	eh_syscall3(SYS_tgkill, getpid(), eh_syscall3(SYS_gettid, 0, 0, 0), SIGTRAP);
	call_libraries();
	stepping = false;
}

/*
 * Check the frames: the handler, the restorer, the interrupted instruction, the return addresses of
 * the open calls up to step_libraries(), and the callers of step_libraries().
 */
static int check_trap(const struct trap *trap, const struct pd_rec *stack)
{
	unsigned int i, at = 2;

	if (stack->nr_user != 3 + trap->nr + nr_step_tail - 1)
		return pd_fail("%u frames, should be %u", stack->nr_user,
			       3 + trap->nr + nr_step_tail - 1);
	PD_CHECK(stack->user[at] == trap->ip, "frame %u is %#llx", at, stack->user[at]);
	for (at++, i = trap->nr; i--; at++)
		PD_CHECK(stack->user[at] == trap->ra[i], "frame %u is %#llx, should be %#lx",
			 at, stack->user[at], trap->ra[i]);
	PD_CHECK(eh_ends_in(step_tail, nr_step_tail, stack), "the outermost frames are wrong");
	return 0;
}

static int check_traps(struct pd_log *log)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	const struct pd_rec *sample = NULL, *stack;
	unsigned int nr = 0, in_vdso = 0;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(nr < nr_traps, "more samples than the %u steps", nr_traps);
		PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED, "no record");
		if (check_trap(&traps[nr], stack)) {
			pd_note_stack("stepped", stack);
			return pd_fail("at step %u, %#lx", nr, traps[nr].ip);
		}
		in_vdso += vdso && traps[nr].ip >= vdso &&
			   traps[nr].ip < vdso + 2 * getpagesize();
		nr++;
	}
	pd_note("%u steps, %u of them in the vDSO", nr, in_vdso);
	PD_CHECK(nr == nr_traps && nr > 500, "%u samples of %u steps", nr, nr_traps);
	PD_CHECK(!vdso || in_vdso > 20, "the vDSO was not stepped");
	return PD_PASS;
}

static int every_instruction(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	int err;

	PD_TRY(eh_attr(&attr));
	/* a buffer for all stacks, of up to 40 frames each */
	err = pd_event_open(&event, &attr, 0, -1, 16 * PD_PAGES);
	PD_CHECK(!err, "perf_event_open: %s", strerror(err));
	sigaction(SIGTRAP, &action, NULL);
	pd_enable(&event);
	step_libraries();
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	return check_traps(&log);
}

/* Threads, with samples at arbitrary places. */
struct worker {
	unsigned int name;
	pid_t tid;
	void *tail[EH_MAX_TAIL];
	int nr_tail;
	__u64 begin, end;
	size_t samples, complete;
	struct pd_event event;
	struct pd_log log;
};

static long work_step(struct eh_walk *unused)
{
	(void)unused;
	eh_spin(pd_scale(1500));
	return 0;
}

static PD_LEAF long work_in_name(void *arg)
{
	static __thread struct eh_walk walk;
	static const eh_step steps[] = { eh_aligned, eh_pushes, work_step };
	struct worker *self = arg;

	walk.steps = steps;
	self->begin = pd_now_ns();
	eh_next(&walk);
	self->end = pd_now_ns();
	return 0;
}

static pthread_barrier_t opened, started;

static void *run_worker(void *arg)
{
	struct worker *self = arg;

	self->nr_tail = eh_tail(self->tail);
	self->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&opened);
	pd_call(self->name, self->name, work_in_name, self);
	return NULL;
}

static int check_worker(struct worker *w)
{
	const struct pd_rec *sample = NULL, *stack;

	PD_TRY(pd_log_clean(&w->log));
	while (pd_log_next(&w->log, PERF_RECORD_SAMPLE, &sample)) {
		pd_user_half(&w->log, sample, &stack);
		PD_CHECK(!stack || !pd_foreign_frame(stack, w->name), "thread %u has a frame of %d",
			 w->name, pd_frame_name(pd_foreign_frame(stack, w->name)));
		if (sample->time < w->begin || sample->time > w->end)
			continue;
		w->samples++;
		if (!stack || !stack->nr_user)
			continue;
		if (eh_ends_in(w->tail, w->nr_tail, stack) &&
		    pd_frames_of(stack, w->name) == w->name + 2)
			w->complete++;
		else if (w->samples - w->complete < 3)
			pd_note_stack("not complete", stack);
	}
	return 0;
}

static int open_workers(struct worker *workers)
{
	struct perf_event_attr attr;
	int i, err;

	pd_attr_clock(&attr, pd_hz(2000));
	for (i = 0; i < THREADS; i++) {
		err = pd_event_open(&workers[i].event, &attr, workers[i].tid, -1, PD_PAGES);
		PD_CHECK(!err, "perf_event_open: %s", strerror(err));
		pd_enable(&workers[i].event);
	}
	return 0;
}

/*
 * Walk once, so that the kernel makes the index that a static program needs, as it has no
 * .eh_frame_hdr. A thread waits for another one that makes it, but not long.
 */
static int make_index(void)
{
	const eh_step steps[] = { eh_pushes, eh_leaf };
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	return eh_run_and_check(&event, &walk, steps);
}

static int threads(void)
{
	static struct worker workers[THREADS];
	size_t samples = 0, complete = 0;
	pthread_t ids[THREADS];
	int i, ret;

	PD_TRY(eh_usable());
	if (!getauxval(AT_BASE))
		PD_TRY(make_index());
	pthread_barrier_init(&opened, NULL, THREADS + 1);
	pthread_barrier_init(&started, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		workers[i].name = i;
		PD_CHECK(!pthread_create(&ids[i], NULL, run_worker, &workers[i]), "no thread");
	}
	pthread_barrier_wait(&started);
	ret = open_workers(workers);
	pthread_barrier_wait(&opened);
	for (i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	PD_TRY(ret);
	for (i = 0; i < THREADS; i++) {
		pd_disable(&workers[i].event);
		pd_drain(&workers[i].event, &workers[i].log);
		PD_TRY(check_worker(&workers[i]));
		samples += workers[i].samples;
		complete += workers[i].complete;
	}
	pd_note("%zu samples, %zu complete", samples, complete);
	PD_CHECK(samples >= pd_scale(100), "too few samples");
	PD_CHECK(samples - complete <= samples / 200,
		 "only %zu of %zu samples complete", complete, samples);
	return PD_PASS;
}

/*
 * A 32-bit program.  It prints the addresses of its three functions.  The
 * address of its entry point is read from the ELF header.
 */
#define IA32_PROG	"eh_ia32_prog"
#define IA32_FUNCTIONS	3

static int ia32_output[2];

static int run_ia32(void *turns)
{
	char count[16];

	snprintf(count, sizeof(count), "%lu", (unsigned long)turns);
	dup2(ia32_output[1], 1);
	execl(pd_beside(IA32_PROG), IA32_PROG, count, NULL);
	return errno == ENOEXEC ? 77 : 78;
}

static int read_functions(__u64 (*functions)[2])
{
	Elf32_Ehdr elf;
	FILE *file;
	int i;

	close(ia32_output[1]);
	file = fdopen(ia32_output[0], "r");
	for (i = 0; i < IA32_FUNCTIONS; i++)
		PD_CHECK(fscanf(file, "%llx %llx", &functions[i][0], &functions[i][1]) == 2,
			 "the program did not print its functions");
	fclose(file);
	file = fopen(pd_beside(IA32_PROG), "r");
	PD_CHECK(file && fread(&elf, sizeof(elf), 1, file) == 1, "%s cannot be read", IA32_PROG);
	fclose(file);
	functions[i][0] = elf.e_entry;
	functions[i][1] = elf.e_entry + 64;
	return 0;
}

static bool is_in(__u64 ip, const __u64 *function)
{
	return ip >= function[0] && ip < function[1];
}

static int check_ia32(const struct pd_rec *stack, __u64 (*functions)[2])
{
	__u32 i;

	PD_CHECK(stack->nr_user > IA32_FUNCTIONS + 1, "only %u frames", stack->nr_user);
	for (i = 0; i < IA32_FUNCTIONS; i++)
		PD_CHECK(is_in(stack->user[i], functions[i]), "frame %u is %#llx", i,
			 stack->user[i]);
	PD_CHECK(is_in(stack->user[stack->nr_user - 1], functions[i]),
		 "the outermost of %u frames is %#llx, not in _start()", stack->nr_user,
		 stack->user[stack->nr_user - 1]);
	return 0;
}

static int ia32_attr(struct perf_event_attr *attr)
{
	PD_TRY(eh_usable());
	if (access(pd_beside(IA32_PROG), X_OK))
		return pd_skip("the 32-bit program was not built");
	if (!pd_attr_kprobe(attr, "__ia32_sys_getppid"))
		return 0;
	return pd_attr_kprobe(attr, "__x64_sys_getppid");
}

static int ia32(void)
{
	__u64 functions[IA32_FUNCTIONS + 1][2];
	const struct pd_rec *sample = NULL, *stack;
	unsigned long turns = pd_scale(50);
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	int status;

	PD_TRY(ia32_attr(&attr));
	PD_CHECK(!pipe(ia32_output), "pipe: %s", strerror(errno));
	PD_TRY(pd_child_start(&child, run_ia32, (void *)turns));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	status = pd_child_wait(&child, 60);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return pd_skip("this kernel runs no 32-bit programs");
	PD_CHECK(!status, "the 32-bit program ended with %#x", status);
	PD_TRY(read_functions(functions));
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
		if (check_ia32(stack, functions)) {
			pd_note_stack("32-bit", stack);
			return PD_FAIL;
		}
	}
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == turns, "%zu samples of %lu calls",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), turns);
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(deep),
	PD_TEST(behind_the_record),
	PD_TEST(mixed),
	PD_TEST(based_on_other_registers),
	PD_TEST(at_a_functions_end),
	PD_TEST(made_at_run_time),
	PD_TEST(made_in_shared_memory),
	PD_TEST(made_above_a_hole),
	PD_TEST(signals_same_stack),
	PD_TEST(signals_altstack),
	PD_TEST(signals_both_stacks),
	PD_TEST(signals_altstack_above),
	PD_TEST(switched_off),
	PD_TEST(every_instruction),
	PD_TEST(threads),
	PD_TEST(ia32),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

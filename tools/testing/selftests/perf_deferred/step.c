// SPDX-License-Identifier: GPL-2.0
/*
 * The stack at every stepped instruction of a distribution's programs must be the
 * stack that a tracer has recorded while stepping. The tracer steps the beginning of
 * each program, and parts of its later run (windows).
 *
 * The tracer follows calls, and does not use unwind tables.  After a call
 * instruction, the word on top of the stack is a return address.  The call has
 * returned when the stack pointer is above that word.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "pd_compiler.h"
#include "pd_log.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_test.h"

#define MAX_CALLS	8192
#define MAX_FRAMES	500
#define MAX_STACK	(1UL << 16)
/* steps to compare: STEPS in some programs, FEW_STEPS in the others or on a slow kernel */
#define STEPS		66000
#define FEW_STEPS	6000
#define WINDOW		1000
/* try to begin a window only every TRY_STEPS steps: reading the stack takes longer than a step */
#define TRY_STEPS	16

struct call {
	unsigned long slot;	/* address of the return address on the stack */
	unsigned long ra;
};

struct stepper {
	pid_t pid;
	unsigned long entry;	/* entry point of the program, _start() */
	unsigned long loader;	/* entry point of its loader, or the same as @entry */
	struct pd_event event;
	struct pd_log log;
	struct call calls[MAX_CALLS];
	int nr;
	bool begun;		/* calls[] has all calls that have not returned */
	int signal;		/* signal to deliver with the next step, or 0 */
	struct user_regs_struct regs;
	unsigned long steps, right, cut, bare, wrong, none, handlers;
	unsigned long stack[MAX_STACK / sizeof(long)];
	char first[512];	/* description of the first wrong stack */
};

static unsigned long peek_word(pid_t pid, unsigned long addr)
{
	return ptrace(PTRACE_PEEKDATA, pid, (void *)addr, NULL);
}

/* Is the instruction at @ip a call?  Its prefixes, such as REX, are skipped. */
static bool is_call(pid_t pid, unsigned long ip)
{
	unsigned long word = peek_word(pid, ip);
	unsigned char *insn = (unsigned char *)&word;

	while (*insn == 0x66 || *insn == 0x67 || *insn == 0x3e || *insn == 0xf2 ||
	       (*insn & 0xf0) == 0x40)
		insn++;
	return *insn == 0xe8 || (*insn == 0xff && (insn[1] & 0x38) == 0x10);
}

static int push_call(struct stepper *s, unsigned long slot, unsigned long ra)
{
	PD_CHECK(s->nr < MAX_CALLS, "too many nested calls");
	s->calls[s->nr++] = (struct call) { .slot = slot, .ra = ra };
	return 0;
}

/* Update the calls after one instruction or a signal, which led to @regs. */
static int follow_calls(struct stepper *s, const struct user_regs_struct *before, bool call,
			const struct user_regs_struct *regs)
{
	while (s->nr && s->calls[s->nr - 1].slot < regs->rsp)
		s->nr--;
	/* without a signal frame, no handler has begun: the program may block the signal */
	if (!s->signal || before->rsp - regs->rsp < 256 || regs->rsp > before->rsp)
		return call ? push_call(s, regs->rsp, peek_word(s->pid, regs->rsp)) : 0;
	/*
	 * A handler begins. It returns to the restorer, with the rest of the signal
	 * frame still on the stack, and the restorer returns to the program.
	 */
	s->handlers++;
	PD_TRY(push_call(s, regs->rsp + sizeof(long), before->rip));
	return push_call(s, regs->rsp, peek_word(s->pid, regs->rsp));
}

static const char *module_of(pid_t pid, unsigned long addr, unsigned long *offset)
{
	static char line[512];
	unsigned long start, end, off;
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 &&
		    addr >= start && addr < end) {
			char *name = strchr(line, '/');

			line[strcspn(line, "\n")] = '\0';
			*offset = addr - start + off;
			fclose(maps);
			return name ?: "[anonymous]";
		}
	}
	if (maps)
		fclose(maps);
	*offset = addr;
	return "[unmapped]";
}

static void tell_first(struct stepper *s, const struct pd_rec *stack,
		       unsigned long ip, int frame)
{
	unsigned long offset, got = frame < (int)stack->nr_user ? stack->user[frame] : 0;
	const char *name;

	if (s->first[0])
		return;
	name = module_of(s->pid, ip, &offset);
	snprintf(s->first, sizeof(s->first),
		 "at %s+%#lx (step %lu): frame %d of %u is %#lx, should be %#lx of %d calls",
		 name, offset, s->steps, frame, stack->nr_user, got,
		 frame && frame <= s->nr ? s->calls[s->nr - frame].ra : ip, s->nr);
}

static bool read_at(int fd, void *to, size_t bytes, unsigned long offset)
{
	return pread(fd, to, bytes, offset) == (ssize_t)bytes;
}

/* The segments of an object file, and its sorted table of FDEs. */
struct object {
	int fd;
	Elf64_Phdr segments[32];
	unsigned int nr;
	const Elf64_Phdr *table;
};

static bool read_object(struct object *object)
{
	Elf64_Ehdr elf;
	unsigned int i;

	if (!read_at(object->fd, &elf, sizeof(elf), 0) ||
	    elf.e_phnum > ARRAY_SIZE(object->segments) ||
	    !read_at(object->fd, object->segments, elf.e_phnum * sizeof(Elf64_Phdr),
		     elf.e_phoff))
		return false;
	object->nr = elf.e_phnum;
	for (i = 0; i < object->nr; i++) {
		if (object->segments[i].p_type == PT_GNU_EH_FRAME)
			object->table = &object->segments[i];
	}
	return object->table;
}

static const Elf64_Phdr *segment_of(const struct object *object, unsigned long offset)
{
	unsigned int i;

	for (i = 0; i < object->nr; i++) {
		const Elf64_Phdr *segment = &object->segments[i];

		if (segment->p_type == PT_LOAD &&
		    offset - segment->p_offset < segment->p_filesz)
			return segment;
	}
	return NULL;
}

/*
 * Is there an FDE for the byte at @offset of the file? Also true if a table cannot be read, or if
 * the entries of .eh_frame_hdr are not in the usual encoding: four bytes, relative to the table.
 */
static bool is_covered(const struct object *object, unsigned long offset)
{
	const Elf64_Phdr *code = segment_of(object, offset), *table = object->table;
	struct { __u8 encodings[4]; __s32 frames; __u32 nr; } head;
	struct { __s32 code, fde; } entry, last = {};
	struct { __u32 size, cie; __s32 code; __u32 bytes; } fde;
	unsigned long rel;
	unsigned int i;

	if (!code || !read_at(object->fd, &head, sizeof(head), table->p_offset) ||
	    memcmp(head.encodings, "\x01\x1b\x03\x3b", 4))
		return true;
	rel = offset - code->p_offset + code->p_vaddr - table->p_vaddr;
	for (i = 0; i < head.nr; i++) {
		if (!read_at(object->fd, &entry, sizeof(entry),
			     table->p_offset + sizeof(head) + i * sizeof(entry)))
			return true;
		if (entry.code > (long)rel)
			break;
		last = entry;
	}
	if (!i)
		return false;
	/* .eh_frame is in the segment of the table */
	return !read_at(object->fd, &fde, sizeof(fde), table->p_offset + last.fde) ||
	       rel - last.code < fde.bytes;
}

/*
 * The code of _init, _fini and the compiler's crtstuff.c, which is in each object, has no
 * tables. It takes about fifteen steps in each object; a window may include it or not.
 */
static bool in_bare_code(pid_t pid, unsigned long ip)
{
	struct object object = {};
	unsigned long offset;
	bool bare;

	object.fd = open(module_of(pid, ip, &offset), O_RDONLY);
	if (object.fd < 0)
		return false;
	bare = read_object(&object) && !is_covered(&object, offset);
	close(object.fd);
	return bare;
}

/* Compare the unwound stack with the calls that have not returned. */
static void compare_stack(struct stepper *s, const struct pd_rec *stack, unsigned long ip)
{
	unsigned int i;

	for (i = 0; i < stack->nr_user; i++) {
		unsigned long want = !i ? ip : (int)i <= s->nr ? s->calls[s->nr - i].ra : 0;

		if (stack->user[i] != want) {
			s->wrong++;
			tell_first(s, stack, ip, i);
			return;
		}
	}
	if ((int)stack->nr_user == s->nr + 1 || stack->nr_user == MAX_FRAMES) {
		s->right++;
		return;
	}
	if (i == 1 && in_bare_code(s->pid, ip)) {
		s->bare++;
		return;
	}
	s->cut++;
	tell_first(s, stack, ip, i);
}

static size_t read_stack(struct stepper *s, unsigned long sp)
{
	struct iovec to = { s->stack, sizeof(s->stack) };
	struct iovec from = { (void *)sp, sizeof(s->stack) };
	ssize_t bytes = -1;

	/* read less if the stack ends earlier */
	while (bytes < 0 && from.iov_len > 4096) {
		bytes = process_vm_readv(s->pid, &to, 1, &from, 1, 0);
		if (bytes < 0)
			from.iov_len -= 4096;
	}
	return bytes < 0 ? 0 : bytes / sizeof(long);
}

/* Is @ra on the stack as often as in the callchain, so that no other copy is taken for it? */
static bool is_plain(struct stepper *s, const struct pd_rec *stack, unsigned long ra,
		     size_t words)
{
	unsigned int i, nr = 0;
	size_t w;

	for (w = 0; w < words; w++)
		nr += s->stack[w] == ra;
	for (i = 1; i < stack->nr_user; i++)
		nr -= stack->user[i] == ra;
	return !nr;
}

/* The outermost frame is in _start() of the program or its loader. Both functions are short. */
#define ENTRY_BYTES	128

static bool ends_at_the_entry(struct stepper *s, const struct pd_rec *stack)
{
	unsigned long last = stack->user[stack->nr_user - 1];

	return last - s->entry < ENTRY_BYTES || last - s->loader < ENTRY_BYTES;
}

/*
 * A window begins in the middle of a program. Take the calls on the stack from
 * the record if the record is complete and each of its return addresses is on the
 * stack as often as in the record.
 */
static void begin_window(struct stepper *s, const struct pd_rec *stack, unsigned long sp)
{
	size_t words = read_stack(s, sp), w = 0;
	unsigned int i;

	s->nr = 0;
	if (stack->nr_user == MAX_FRAMES || !ends_at_the_entry(s, stack))
		return;
	for (i = 1; i < stack->nr_user; i++) {
		struct call *call = &s->calls[stack->nr_user - 1 - i];

		while (w < words && s->stack[w] != stack->user[i])
			w++;
		if (w == words || !is_plain(s, stack, stack->user[i], words))
			return;
		call->slot = sp + w++ * sizeof(long);
		call->ra = stack->user[i];
	}
	s->nr = stack->nr_user - 1;
	s->begun = true;
}

/*
 * Each step ends with a signal, and the event samples the tracepoint where signals are made.  So
 * each step has a sample.  The sample's record is written before the task stops.
 */
static void look_at_step(struct stepper *s, const struct user_regs_struct *regs)
{
	const struct pd_rec *sample = NULL, *stack;
	bool seen = false;

	pd_drain(&s->event, &s->log);
	while (pd_log_next(&s->log, PERF_RECORD_SAMPLE, &sample)) {
		if (pd_user_half(&s->log, sample, &stack) != PD_STITCHED ||
		    !stack->nr_user || stack->user[0] != regs->rip)
			continue;
		seen = true;
		if (s->begun)
			compare_stack(s, stack, regs->rip);
		else if (s->steps % TRY_STEPS == 0)
			begin_window(s, stack, regs->rsp);
		break;
	}
	s->none += !seen;
	pd_log_free(&s->log);
	memset(&s->log, 0, sizeof(s->log));
}

/* One step; false when the program has ended or is about to. */
static bool single_step(struct stepper *s)
{
	struct user_regs_struct before = s->regs;
	bool call = is_call(s->pid, before.rip);
	int status;

	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (void *)(long)s->signal) ||
	    waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status) ||
	    status >> 16 || ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs))
		return false;
	s->steps++;
	if (s->begun && follow_calls(s, &before, call && s->regs.rip != before.rip, &s->regs))
		return false;
	s->signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	if (!s->signal)
		look_at_step(s, &s->regs);
	return true;
}

/* Let the program run for a while; false if it has exited. */
static bool run_on(struct stepper *s, unsigned int ms)
{
	int status;

	s->begun = false;
	if (ptrace(PTRACE_CONT, s->pid, NULL, (void *)(long)s->signal))
		return false;
	s->signal = 0;
	pd_sleep_ms(ms);
	syscall(SYS_tgkill, s->pid, s->pid, SIGSTOP);
	if (waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status) || status >> 16)
		return false;
	if (WSTOPSIG(status) != SIGSTOP)
		s->signal = WSTOPSIG(status);
	return !ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs);
}

static unsigned long auxv_of(pid_t pid, unsigned long type)
{
	unsigned long pair[2] = {}, value = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "r");
	while (file && !value && fread(pair, sizeof(pair), 1, file) == 1)
		value = pair[0] == type ? pair[1] : 0;
	if (file)
		fclose(file);
	return value;
}

static struct _Unwind_Exception thrown;
static volatile int cleaned;

static void clean_up(int *depth)
{
	cleaned += *depth;
}

static _Unwind_Reason_Code stop_at(PD_ATTR(unused) int version, _Unwind_Action actions,
				   PD_ATTR(unused) _Unwind_Exception_Class class,
				   PD_ATTR(unused) struct _Unwind_Exception *exception,
				   struct _Unwind_Context *context, void *until)
{
	if (actions & _UA_END_OF_STACK || _Unwind_GetCFA(context) > (unsigned long)until)
		_exit(0);
	return _URC_NO_REASON;
}

/*
 * As with an exception in C++, libgcc lands in each function that has something to clean up.
 * Before that, it searches for a handler, as for "throw;".  There is none.
 */
static PD_ATTR(noinline) void throw(int depth, void *until)
{
	int to_clean PD_ATTR(cleanup(clean_up)) = depth;

	if (depth) {
		throw(depth - 1, until);
		return;
	}
	_Unwind_Resume_or_Rethrow(&thrown);
	_Unwind_ForcedUnwind(&thrown, stop_at, until);
}

/* Throw and land in three functions, whose frames are found by the frame pointer. */
static void throw_once(void)
{
	raise(SIGTRAP);
	throw(2, __builtin_frame_address(0));
}

/* Start a program, or if @argv is NULL, run throw_once(). */
static int start_program(struct stepper *s, char *const argv[])
{
	struct perf_event_attr attr;
	int status;

	PD_TRY(pd_attr_tracepoint(&attr, "signal", "signal_generate"));
	attr.sample_max_stack = MAX_FRAMES;
	s->pid = fork();
	PD_CHECK(s->pid >= 0, "fork: %s", strerror(errno));
	if (!s->pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		if (!argv)
			throw_once();
		else
			execvp(argv[0], argv);
		_exit(127);
	}
	PD_CHECK(waitpid(s->pid, &status, 0) == s->pid && WIFSTOPPED(status), "no stop");
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL,
	       (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT));
	PD_TRY(pd_must_open(&s->event, &attr, s->pid, -1));
	pd_enable(&s->event);
	PD_CHECK(!ptrace(PTRACE_CONT, s->pid, NULL, NULL) &&
		 waitpid(s->pid, &status, 0) == s->pid && WIFSTOPPED(status) &&
		 WSTOPSIG(status) == SIGTRAP, "%s does not start", argv ? argv[0] : "it");
	PD_CHECK(!ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs), "no registers");
	s->entry = auxv_of(s->pid, AT_ENTRY);
	PD_CHECK(s->entry, "there is no entry");
	s->loader = argv ? s->regs.rip : s->entry;
	s->begun = argv;
	return 0;
}

static void finish_program(struct stepper *s)
{
	int status;

	kill(s->pid, SIGKILL);
	/* SIGKILL does not end the stop of an exiting program */
	ptrace(PTRACE_CONT, s->pid, NULL, NULL);
	while (waitpid(s->pid, &status, 0) == s->pid && !WIFSIGNALED(status) &&
	       !WIFEXITED(status))
		ptrace(PTRACE_CONT, s->pid, NULL, NULL);
	pd_event_close(&s->event);
}

/* Has the program installed a handler for @signal? */
static bool handles_signal(pid_t pid, int signal)
{
	unsigned long caught = 0;
	char line[256], path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "SigCgt: %lx", &caught) != 1)
		;
	if (file)
		fclose(file);
	return caught & 1UL << (signal - 1);
}

/* Step a window. In its middle, send @signal to the program, if the program handles it. */
static bool step_window(struct stepper *s, unsigned long until, int signal)
{
	unsigned long from = s->steps + (until - s->steps) / 2;
	bool sent = !signal || !handles_signal(s->pid, signal);

	while (s->steps < until) {
		if (!sent && s->steps >= from && s->begun && !s->signal) {
			s->signal = signal;
			sent = true;
		}
		if (!single_step(s))
			return false;
	}
	return true;
}

/* Step the beginning of a program, and windows of it later on. */
static int step_windows(char *const argv[], int signal, unsigned long steps)
{
	unsigned long most = pd_scale(pd_slow() ? FEW_STEPS : steps);
	unsigned long least = most / 3, until;
	static struct stepper stepper;
	struct stepper *s = &stepper;
	unsigned int i, seed = 1, more = 8;
	bool alive = true;

	memset(s, 0, sizeof(*s));
	if (access(argv[0], X_OK))
		return pd_skip("%s is not here", argv[0]);
	PD_TRY(start_program(s, argv));
	for (until = most / 4; alive && s->steps < most; until += WINDOW) {
		alive = step_window(s, until, signal);
		/* The program takes a while until it has installed its handler. */
		for (i = 0; alive && signal && !handles_signal(s->pid, signal) && i < 100; i++)
			alive = run_on(s, 20);
		/* No handler has begun. Perhaps the program blocked the signal: add a window. */
		if (signal && !s->handlers && more) {
			most += WINDOW;
			more--;
		}
		if (alive)
			alive = run_on(s, 1 + rand_r(&seed) % 16);
	}
	finish_program(s);
	pd_note("%s: %lu steps: %lu stacks right and complete, %lu cut, %lu wrong, %lu none",
		argv[0], s->steps, s->right, s->cut, s->wrong, s->none);
	pd_note("%lu in code without tables; %lu handlers were entered", s->bare, s->handlers);
	if (s->first[0])
		pd_note("%s", s->first);
	PD_CHECK(!s->wrong, "%lu wrong stacks", s->wrong);
	PD_CHECK(s->right >= least, "only %lu stacks were seen", s->right);
	PD_CHECK((s->cut + s->none) * 200 <= s->steps, "%lu of %lu stacks are not complete",
		 s->cut + s->none, s->steps);
	PD_CHECK(s->bare * 40 <= s->steps, "%lu of %lu steps in code without tables",
		 s->bare, s->steps);
	PD_CHECK(!signal || s->handlers, "no handler was entered");
	return PD_PASS;
}

static int step_some(unsigned long steps, int signal, char *const argv[])
{
	if (pd_read_long("/proc/sys/kernel/unwind_user_methods") < 2)
		return pd_skip("no .eh_frame method here");
	pd_write_str("/proc/sys/kernel/perf_event_max_stack", "512");
	return step_windows(argv, signal, steps);
}

static int step_handling(int signal, char *const argv[])
{
	return step_some(STEPS, signal, argv);
}

static int step_program(char *const argv[])
{
	return step_some(FEW_STEPS, 0, argv);
}

static int bash(void)
{
	return step_handling(SIGUSR1, (char *[]) { "/bin/bash", "-c",
		"trap 'x=1' USR1; for i in {1..4000}; do kill -USR1 $$; y=${y:0:50}$i; done",
		NULL });
}

static int perl(void)
{
	return step_handling(SIGALRM, (char *[]) { "/usr/bin/perl", "-e",
		"$SIG{ALRM} = sub { $n++; alarm 1 }; alarm 1;"
		"for $i (1..1000000) { $h{$i % 100} .= sprintf('%d', $i); }", NULL });
}

static int python(void)
{
	return step_some(STEPS, 0, (char *[]) { "/usr/bin/python3", "-c",
		"import json, re\n"
		"for i in range(100000): json.dumps([re.sub('a', 'b', 'abc' * 9), i])", NULL });
}

static int git(void)
{
	return step_program((char *[]) { "/usr/bin/git", "--no-pager", "-c", "grep.threads=1",
		"grep", "--no-index", "-n", "int", "--", "/usr/include", NULL });
}

/* Return the first file whose path matches, or NULL. */
static char *find_file(const char *pattern)
{
	glob_t found;

	return glob(pattern, 0, NULL, &found) ? NULL : found.gl_pathv[0];
}

static int sort(void)
{
	char *file = find_file("/usr/share/perl/*/unicore/Name.pl");

	return step_program((char *[]) { "/usr/bin/sort", "-n", file ? file : "/etc/services",
		NULL });
}

static int compiler(void)
{
	char *cc1 = find_file("/usr/lib*/gcc/*/*/cc1");

	if (!cc1)
		return pd_skip("no compiler");
	return step_program((char *[]) { cc1, "-quiet", "-O2", "-include", "math.h",
		"-o", "/dev/null", "/usr/include/pthread.h", NULL });
}

/* Where libgcc replaces the frame by the one where it lands, stacks may be cut, but not wrong. */
static int throwing(void)
{
	static struct stepper stepper;
	struct stepper *s = &stepper;

	if (pd_read_long("/proc/sys/kernel/unwind_user_methods") < 2)
		return pd_skip("no .eh_frame method here");
	PD_TRY(start_program(s, NULL));
	while (single_step(s))
		;
	finish_program(s);
	pd_note("%lu steps: %lu stacks right and complete, %lu cut, %lu wrong, %lu none; %s",
		s->steps, s->right, s->cut, s->wrong, s->none, s->first);
	PD_CHECK(s->steps > 10000, "only %lu steps", s->steps);
	PD_CHECK(!s->wrong, "%lu wrong stacks", s->wrong);
	if (s->right * 20 < s->steps * 19)
		return pd_skip("code is not read, so all stacks end at a function that throws");
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(bash),
	PD_TEST(perl),
	PD_TEST(python),
	PD_TEST(git),
	PD_TEST(sort),
	PD_TEST(compiler),
	PD_TEST(throwing),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

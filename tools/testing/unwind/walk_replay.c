// SPDX-License-Identifier: GPL-2.0
/*
 * Save a walk, and replay it, with the kernel's code in user space.
 *
 *	walk_replay --save TID FILE   walk the stack of a thread of 64-bit code, and save
 *				      all that the walk has read: registers, mappings, bytes
 *	walk_replay FILE...           replay each three times: TAP, one test for each. The first
 *				      replay allocates no memory, so its stack may end earlier.
 *				      The third has the rules that the second has found
 *	walk_replay --print FILE      replay one, and print its stack
 *	walk_replay --step TID N      execute a thread of 64-bit code for N rounds, instruction by
 *				      instruction, walk its stack again and again, and compare
 *				      the frames with the calls and returns that it has executed
 *
 * The lines "frame" and "end" of a saved walk are the expected result: correct them by
 * hand if the walk was wrong. ptrace() stops the thread during the walk.  The walk is
 * that of kernel/unwind/walk.c and the files that it uses, except for signal frames
 * without tables, and for uprobes.
 */

#include <errno.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_walk.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "cfi.h"
#include "code.h"
#include "eh_index.h"
#include "memory_file.h"
#include "no_tables.h"
#include "replay_kernel.h"
#include "tables.h"

#define NO_FILE		(-1)

/* by the negative enum unwind_result, see kernel/unwind/control.c */
static const char * const end_names[] = {
	"depth", "no_rule", "complete", "stop", "fault", "bad", "gave_up",
};

/* a byte of memory, or of a mapped file */
struct seen {
	int		file;	/* inode number, or NO_FILE */
	unsigned long	at;
	u8		byte;
};

static int memory = -1;		/* memory of the thread while its walk is saved */
static struct seen *seen;
static size_t nr_seen, room_seen;

static const struct {
	const char	*name;
	size_t		at;
} regs[] = {
#define REG(name)	{ #name, offsetof(struct pt_regs, name) }
	REG(r15), REG(r14), REG(r13), REG(r12), REG(bp), REG(bx), REG(r11), REG(r10),
	REG(r9), REG(r8), REG(ax), REG(cx), REG(dx), REG(si), REG(di), REG(orig_ax),
	REG(ip), REG(cs), REG(flags), REG(sp), REG(ss),
};

/* the bytes */

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void note_bytes(int file, unsigned long at, const u8 *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (nr_seen == room_seen) {
			room_seen = room_seen * 2 + 4096;
			seen = realloc(seen, room_seen * sizeof(*seen));
			if (!seen)
				exit_error("no memory");
		}
		seen[nr_seen++] = (struct seen) { file, at + i, bytes[i] };
	}
}

static void sort_seen(void)
{
	size_t i, nr = 0;

	qsort(seen, nr_seen, sizeof(*seen), compare_seen);
	for (i = 0; i < nr_seen; i++) {
		if (!nr || compare_seen(&seen[nr - 1], &seen[i]))
			seen[nr++] = seen[i];
	}
	nr_seen = nr;
}

static int find_seen(int file, unsigned long at, u8 *to, size_t len)
{
	struct seen key = { .file = file };
	const struct seen *one;
	size_t i;

	for (i = 0; i < len; i++) {
		key.at = at + i;
		one = nr_seen ? bsearch(&key, seen, nr_seen, sizeof(*seen), compare_seen) : NULL;
		if (!one)
			return -EFAULT;
		to[i] = one->byte;
	}
	return 0;
}

int replay_read(unsigned long addr, void *to, size_t len)
{
	if (memory < 0)
		return find_seen(NO_FILE, addr, to, len);
	if (addr >= TASK_SIZE_MAX || pread(memory, to, len, addr) != (ssize_t)len)
		return -EFAULT;
	note_bytes(NO_FILE, addr, to, len);
	return 0;
}

int unwind_read(struct unwind_walk *state, unsigned long addr, void *to, size_t len)
{
	(void)state;
	return replay_read(addr, to, len);
}

int __unwind_read_word(struct unwind_walk *state, unsigned long addr,
		       unsigned long *val)
{
	(void)state;
	return addr % sizeof(*val) ? -EFAULT : replay_read(addr, val, sizeof(*val));
}

static int read_path(const char *path, u64 pos, void *to, size_t len)
{
	int fd = path ? open(path, O_RDONLY) : -1, ret;

	if (fd < 0)
		return -EFAULT;
	ret = pread(fd, to, len, pos) == (ssize_t)len ? 0 : -EINVAL;
	close(fd);
	return ret;
}

int unwind_read_file(struct unwind_walk *state, unsigned long addr, u64 pos,
		     void *to, size_t len)
{
	struct vm_area_struct *vma = vma_lookup(&mm, addr);
	int ret;

	(void)state;
	if (!vma || !vma->vm_file)
		return -EOPNOTSUPP;
	if (memory < 0)
		return find_seen(vma->vm_file->inode.nr, pos, to, len);
	ret = read_path(vma->vm_file->path, pos, to, len);
	if (!ret)
		note_bytes(vma->vm_file->inode.nr, pos, to, len);
	return ret;
}

/* saving */

static void get_regs(int tid)
{
	struct user_regs_struct user;
	struct pt_regs *to = &replay_regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &user))
		exit_error("%d: its registers cannot be read: %s", tid, strerror(errno));
	*to = (struct pt_regs) {
		user.r15, user.r14, user.r13, user.r12, user.rbp, user.rbx, user.r11, user.r10,
		user.r9, user.r8, user.rax, user.rcx, user.rdx, user.rsi, user.rdi,
		user.orig_rax, user.rip, user.cs, user.eflags, user.rsp, user.ss,
	};
	if (user.cs == __USER32_CS)
		exit_error("%d: 32-bit code is not supported", tid);
}

static void hold_thread(int tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		exit_error("%d: cannot stop the thread: %s", tid, strerror(errno));
}

static void open_memory(int tid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/mem", tid);
	memory = open(name, O_RDONLY);
	if (memory < 0)
		exit_error("%s: %s", name, strerror(errno));
}

static void write_bytes(FILE *to)
{
	size_t i;

	for (i = 0; i < nr_seen; i++) {
		if (!i || seen[i].file != seen[i - 1].file || seen[i].at != seen[i - 1].at + 1)
			fprintf(to, "%sbytes %d %lx ", i ? "\n" : "", seen[i].file, seen[i].at);
		fprintf(to, "%02x", seen[i].byte);
	}
	fputc('\n', to);
}

static void write_walk(FILE *to, const struct unwind_stacktrace *trace)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(regs); i++)
		fprintf(to, "reg %s %lx\n", regs[i].name,
			*(unsigned long *)((char *)&replay_regs + regs[i].at));
	for (i = 0; i < (unsigned int)mm.nr_maps; i++) {
		const struct vm_area_struct *vma = &mm.maps[i];

		if (vma->asked)
			fprintf(to, "map %lx-%lx %c%c%c%c %lx 00:00 %d\n", vma->vm_start,
				vma->vm_end, vma->vm_flags & VM_READ ? 'r' : '-',
				vma->vm_flags & VM_WRITE ? 'w' : '-',
				vma->vm_flags & VM_EXEC ? 'x' : '-',
				vma->vm_flags & VM_SHARED ? 's' : 'p',
				vma->vm_pgoff * PAGE_SIZE,
				vma->vm_file ? vma->vm_file->inode.nr : 0);
	}
	sort_seen();
	write_bytes(to);
	for (i = 0; i < trace->nr; i++)
		fprintf(to, "frame %lx\n", trace->entries[i]);
	fprintf(to, "end %s\n", end_names[-the_end]);
}

static int save_walk(int tid, const char *name)
{
	struct unwind_stacktrace trace;
	FILE *to;

	hold_thread(tid);
	get_regs(tid);
	read_maps(tid);
	open_memory(tid);
	/* this walk only saves the bytes that a replay without memory reads */
	has_memory = false;
	walk_stack(&trace);
	has_memory = true;
	forget_rules();
	walk_stack(&trace);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	to = fopen(name, "w");
	if (!to)
		exit_error("%s: %s", name, strerror(errno));
	fprintf(to, "# a walk of walk_replay: %u frames\n", trace.nr);
	write_walk(to, &trace);
	if (fclose(to))
		exit_error("%s: %s", name, strerror(errno));
	printf("%u frames, %s, %zu bytes read\n", trace.nr, end_names[-the_end], nr_seen);
	return 0;
}

/* replaying */

static bool add_reg(const char *line)
{
	unsigned long val;
	char name[16];
	unsigned int i;

	if (sscanf(line, "%15s %lx", name, &val) != 2)
		return false;
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		if (!strcmp(name, regs[i].name)) {
			*(unsigned long *)((char *)&replay_regs + regs[i].at) = val;
			return true;
		}
	}
	return false;
}

static bool add_bytes(const char *line)
{
	unsigned long at;
	unsigned int byte;
	int file, len;

	if (sscanf(line, "%d %lx %n", &file, &at, &len) != 2)
		return false;
	for (line += len; sscanf(line, "%2x", &byte) == 1; line += 2) {
		u8 one = byte;

		note_bytes(file, at++, &one, 1);
	}
	return true;
}

struct expected {
	unsigned long	entries[MAX_ENTRIES];
	unsigned int	nr;
	char		end[16];
};

static bool add_line(const char *line, struct expected *expected)
{
	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (!strncmp(line, "reg ", 4))
		return add_reg(line + 4);
	if (!strncmp(line, "map ", 4))
		return add_map(line + 4);
	if (!strncmp(line, "bytes ", 6))
		return add_bytes(line + 6);
	if (!strncmp(line, "frame ", 6))
		return expected->nr < MAX_ENTRIES &&
		       sscanf(line + 6, "%lx", &expected->entries[expected->nr++]) == 1;
	return sscanf(line, "end %15s", expected->end) == 1;
}

static void load_walk(const char *name, struct expected *expected)
{
	FILE *file = fopen(name, "r");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		exit_error("%s: %s", name, strerror(errno));
	memset(expected, 0, sizeof(*expected));
	mm.nr_maps = 0;
	nr_seen = 0;
	forget_rules();
	forget_objects();
	while (getline(&line, &size, file) > 0) {
		if (!add_line(line, expected))
			exit_error("%s: invalid line of a saved walk: %.60s", name, line);
	}
	free(line);
	fclose(file);
	sort_seen();
}

static bool walks_as_expected(const char *name, const struct expected *expected)
{
	struct unwind_stacktrace trace;
	unsigned int i;

	walk_stack(&trace);
	for (i = 0; i < trace.nr && i < expected->nr; i++) {
		if (trace.entries[i] != expected->entries[i])
			break;
	}
	if (i == trace.nr && !has_memory)
		return true;
	if (i == trace.nr && i == expected->nr && !strcmp(end_names[-the_end], expected->end))
		return true;
	printf("# %s%s: %u frames and %s, not %u and %s; frame %u is not the same\n", name,
	       has_cache ? ", with known rules" : has_memory ? "" : ", without memory",
	       trace.nr, end_names[-the_end], expected->nr, expected->end, i);
	return false;
}

static bool replay_walk(const char *name)
{
	struct expected expected;
	bool good;

	load_walk(name, &expected);
	has_cache = false;
	has_memory = false;
	good = walks_as_expected(name, &expected);
	has_memory = true;
	forget_rules();
	good &= walks_as_expected(name, &expected);
	has_cache = true;
	return walks_as_expected(name, &expected) && good;
}

static int print_walk(const char *name)
{
	struct unwind_stacktrace trace;
	struct expected expected;
	unsigned int i;

	load_walk(name, &expected);
	walk_stack(&trace);
	for (i = 0; i < trace.nr; i++)
		printf("%lx\n", trace.entries[i]);
	puts(end_names[-the_end]);
	return 0;
}

/*
 * Stepping.  Each call that the thread executes pushes a frame onto a list, and each return
 * removes one, so the list has the true frames since the first step.  The frames outside of these
 * are known from the first walk that reaches them: the other walks must agree, and so must the
 * returns to them.
 *
 * Code made at run time also calls a function by a push and a jump, moves a return address to
 * another word of the stack, or pops it and jumps to it.  A return address that was popped is
 * @taken.  If the function then calls another one, it has stored the address elsewhere: it is still
 * that of a caller, to which the function returns by a jump.
 */

/* instructions of a round, after which the thread runs free for a moment */
#define STEPS		4000
/* a walk is made after this many instructions, on average */
#define WALK_EVERY	16
/* the stack pointer of another stack of the same mapping is at least this far away, in bytes */
#define OTHER_STACK	65536
#define MAX_TOLD	5

struct call {
	unsigned long	slot;	/* address of the return address */
	unsigned long	ra;
};

static struct call calls[MAX_ENTRIES];
static unsigned int nr_calls;
static struct call outer[MAX_ENTRIES];		/* outermost last */
static unsigned int nr_outer, outer_at;		/* those before outer_at have returned */
static unsigned long taken;			/* a return address in a register, or 0 */
static struct call pushed;			/* a jump would make this a call */
static bool settled;				/* such a sequence is not in progress unseen */
static unsigned long nr_walks, nr_complete, nr_judged, nr_wrong, nr_lost;

static void forget_frames(void)
{
	nr_calls = 0;
	nr_outer = 0;
	outer_at = 0;
	taken = 0;
	pushed.ra = 0;
	settled = false;
}

/* The true return address of a frame of a walk, 0 if it is not known. */
static unsigned long true_frame(unsigned int i)
{
	if (taken && !--i)
		return taken;
	if (i <= nr_calls)
		return calls[nr_calls - i].ra;
	i += outer_at - nr_calls - 1;
	return i < nr_outer ? outer[i].ra : 0;
}

static void tell_wrong(const char *what, const unsigned long *frames, unsigned int at,
		       unsigned long right)
{
	unsigned int i;

	if (nr_wrong++ >= MAX_TOLD)
		return;
	printf("# %s%s:", what, has_cache ? ", with known rules" : "");
	for (i = 0; i <= at; i++)
		printf(" %lx", frames[i]);
	printf(", not %lx\n", right);
}

/* Add the frames of a walk from frame @i on to those that are known. */
static void learn_outer(unsigned int i, unsigned int nr)
{
	struct unwind_stacktrace trace;

	for (; i < nr && nr_outer < MAX_ENTRIES; i++) {
		/* this walk ends in frame @i, with the stack pointer above its return address */
		walk_stack_to(&trace, i + 1);
		if (trace.nr != i + 1)
			break;
		outer[nr_outer++] = (struct call) {
			.slot = the_sp - sizeof(long), .ra = trace.entries[i],
		};
	}
}

static void judge_walk(void)
{
	struct unwind_stacktrace trace;
	unsigned int i;

	nr_seen = 0;
	walk_stack(&trace);
	nr_walks++;
	nr_complete += the_end == UNWIND_END;
	for (i = 1; i < trace.nr; i++) {
		unsigned long ra = true_frame(i);

		if (!ra) {
			learn_outer(i, trace.nr);
			return;
		}
		if (ra != trace.entries[i]) {
			tell_wrong("walk", trace.entries, i, ra);
			return;
		}
		nr_judged++;
	}
}

/* Walk without and with known rules. Forget them if the mappings have changed, and at random. */
static void judge_walks(int tid)
{
	static struct vm_area_struct old[MAX_MAPS];
	const int nr = mm.nr_maps;

	memcpy(old, mm.maps, nr * sizeof(*old));
	read_maps(tid);
	if (mm.nr_maps != nr || memcmp(old, mm.maps, nr * sizeof(*old))) {
		forget_rules();
		forget_objects();
	}
	if (nr_rules > MAX_RULES / 8 || !(rand() % 8))
		forget_rules();
	has_cache = false;
	judge_walk();
	has_cache = true;
	judge_walk();
}

/* Is this a call? Prefixes are skipped. */
static bool is_call(const u8 *insn)
{
	while ((*insn & 0xf0) == 0x40 || *insn == 0x66 || *insn == 0x3e || *insn == 0xf2)
		insn++;
	return *insn == 0xe8 || (*insn == 0xff && (insn[1] >> 3 & 7) == 2);
}

static bool is_return(const u8 *insn)
{
	insn += *insn == 0xf3 || *insn == 0xf2;
	return *insn == 0xc3 || *insn == 0xc2;
}

/* Is this an indirect jump? */
static bool is_jump(const u8 *insn)
{
	while ((*insn & 0xf0) == 0x40 || *insn == 0x3e || *insn == 0xf2)
		insn++;
	return *insn == 0xff && (insn[1] >> 3 & 7) == 4;
}

static bool is_push(const u8 *insn)
{
	insn += (*insn & 0xf0) == 0x40;
	return (*insn & 0xf8) == 0x50 || *insn == 0x68 ||
	       (*insn == 0xff && (insn[1] >> 3 & 7) == 6);
}

static bool is_sigreturn(const u8 *insn, const struct user_regs_struct *user)
{
	return insn[0] == 0x0f && insn[1] == 0x05 && user->rax == SYS_rt_sigreturn;
}

static void add_call(unsigned long sp, unsigned long ra)
{
	while (nr_calls && calls[nr_calls - 1].slot <= sp)
		nr_calls--;
	if (nr_calls >= MAX_ENTRIES - 1)
		forget_frames();
	/* the function has stored its return address elsewhere, and may still return to it */
	if (taken && taken != ra)
		calls[nr_calls++] = (struct call) { sp + sizeof(long), taken };
	calls[nr_calls++] = (struct call) { sp, ra };
	taken = 0;
}

/* The thread has executed a call; a call of the next instruction is a push of its address. */
static void note_call(unsigned long sp, unsigned long ip)
{
	unsigned long ra;

	if (pread(memory, &ra, sizeof(ra), sp) == sizeof(ra) && ra != ip)
		add_call(sp, ra);
}

static bool is_made_at_run_time(unsigned long addr)
{
	struct unwind_mapping mapping;

	return unwind_find_mapping(addr, &mapping) && mapping.exec && !mapping.of_file;
}

/* The code at @ip has pushed a word.  An address of such code, and a jump, are a call. */
static void note_push(unsigned long sp, unsigned long ip)
{
	unsigned long ra;

	if (pread(memory, &ra, sizeof(ra), sp) != sizeof(ra))
		return;
	if (taken && ra == taken)
		add_call(sp, ra);
	else if (is_made_at_run_time(ra) && is_made_at_run_time(ip))
		pushed = (struct call) { sp, ra };
}

static void note_jump(unsigned long sp)
{
	if (pushed.ra && pushed.slot == sp)
		add_call(sp, pushed.ra);
	pushed.ra = 0;
}

/* The stack pointer has risen to @sp.  If that removed one frame, its return address is taken. */
static void note_rise(unsigned long sp)
{
	unsigned long ra = 0;
	unsigned int nr = 0;

	for (; nr_calls && calls[nr_calls - 1].slot < sp; nr++)
		ra = calls[--nr_calls].ra;
	for (; !nr_calls && outer_at < nr_outer && outer[outer_at].slot < sp; nr++)
		ra = outer[outer_at++].ra;
	if (nr)
		taken = nr == 1 ? ra : 0;
}

/* The thread has returned to @ip; @sp is the address of the return address. */
static void note_return(unsigned long sp, unsigned long ip)
{
	const bool is_outer = !nr_calls;
	struct call call = {};

	taken = 0;
	if (nr_calls)
		call = calls[nr_calls - 1];
	else if (outer_at < nr_outer)
		call = outer[outer_at];
	if (!call.ra)
		return;
	if (call.slot > sp) {		/* to an address that was stored elsewhere */
		if (is_outer && call.ra != ip)
			tell_wrong("return", &ip, 0, call.ra);
		nr_calls -= nr_calls && call.ra == ip;
		return;
	}
	note_rise(sp + 1);
	taken = 0;
	if (call.slot == sp && call.ra == ip) {
		nr_judged += is_outer;
	} else {			/* the return address was replaced */
		nr_lost++;
		forget_frames();
	}
}

/* Guile's compiled code exits: it leaves the functions whose return addresses it has stored. */
static void note_exit(unsigned long sp, unsigned long ip)
{
	u8 before[UNWIND_CODE_ENTER_BYTES];

	if (!nr_calls || calls[nr_calls - 1].slot != sp ||
	    pread(memory, before, sizeof(before), ip - sizeof(before)) != sizeof(before) ||
	    !unwind_code_enters(before))
		return;
	while (nr_calls && calls[nr_calls - 1].slot == sp)
		nr_calls--;
	taken = 0;
}

/* Update the list of calls for an instruction that was executed: registers before and after. */
static void note_step(const u8 *insn, const struct user_regs_struct *old,
		      const struct user_regs_struct *now)
{
	const long moved = now->rsp - old->rsp;

	settled |= is_call(insn) || is_return(insn) || is_jump(insn);
	if (moved == -8 && is_call(insn)) {
		note_call(now->rsp, now->rip);
	} else if (moved == -8 && is_push(insn)) {
		note_push(now->rsp, old->rip);
	} else if (!moved && is_jump(insn)) {
		note_jump(now->rsp);
	} else if (moved >= 8 && is_return(insn)) {
		note_return(old->rsp, now->rip);
	} else if (is_sigreturn(insn, old) || labs(moved) >= OTHER_STACK ||
		   unwind_other_mapping(old->rsp, now->rsp)) {
		forget_frames();
	} else if (moved > 0) {
		note_rise(now->rsp);
	}
	if (now->rip == taken)
		taken = 0;
	if (!moved)
		note_exit(now->rsp, now->rip);
}

/*
 * Execute one instruction.  A signal is kept in @sig, for run_free().
 * Return: 1; 0 at a fault, which needs the program's signal handler; -1 if the thread has ended.
 */
static int step_thread(int tid, int *sig)
{
	int status, got;

	do {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) ||
		    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return -1;
		got = WSTOPSIG(status);
		if (got != SIGTRAP)
			*sig = got;
		if (got == SIGSEGV || got == SIGBUS || got == SIGFPE || got == SIGILL)
			return 0;
	} while (got != SIGTRAP);
	return 1;
}

/* Let the thread run for a moment, and stop it again. False if it has ended. */
static bool run_free(int tid, int sig)
{
	int status;

	if (ptrace(PTRACE_CONT, tid, NULL, sig))
		return false;
	usleep(20000);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		if (status >> 16 == PTRACE_EVENT_STOP)
			return true;
		ptrace(PTRACE_CONT, tid, NULL, WSTOPSIG(status));
	}
	return false;
}

static int step_round(int tid, int *sig)
{
	struct user_regs_struct old, now;
	unsigned int i, next = 0;
	u8 insn[16];
	int ret;

	forget_frames();
	if (ptrace(PTRACE_GETREGS, tid, NULL, &old))
		return -1;
	for (i = 0; i < STEPS; i++) {
		memset(insn, 0, sizeof(insn));
		/* fewer bytes at the end of a mapping */
		if (pread(memory, insn, sizeof(insn), old.rip) < 1)
			return 0;
		/* a return to an address that was pushed is a jump */
		if (is_return(insn))
			note_jump(old.rsp);
		if (i >= next && settled) {
			get_regs(tid);
			judge_walks(tid);
			next = i + 1 + rand() % (2 * WALK_EVERY - 1);
		}
		ret = step_thread(tid, sig);
		if (ret <= 0)
			return ret;
		if (ptrace(PTRACE_GETREGS, tid, NULL, &now))
			return -1;
		note_step(insn, &old, &now);
		old = now;
	}
	return 1;
}

/*
 * Print four numbers, as scripts/test/stack-right does: walks, complete ones, frames that were
 * compared, and wrong walks.
 */
static int step_walks(int tid, unsigned int rounds)
{
	int sig = 0;

	hold_thread(tid);
	open_memory(tid);
	while (rounds--) {
		if (step_round(tid, &sig) < 0 || !run_free(tid, sig))
			break;
		sig = 0;
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	printf("%lu %lu %lu %lu\n", nr_walks, nr_complete, nr_judged, nr_wrong);
	if (nr_lost)
		printf("# %lu returns to a replaced address\n", nr_lost);
	return !!nr_wrong;
}

int main(int argc, char **argv)
{
	int i, failed = 0;
	bool good;

	if (argc == 4 && !strcmp(argv[1], "--save"))
		return save_walk(atoi(argv[2]), argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--print"))
		return print_walk(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--step"))
		return step_walks(atoi(argv[2]), atoi(argv[3]));
	if (argc < 2 || argv[1][0] == '-')
		exit_error("usage: --save TID FILE | --print FILE | --step TID N | FILE...");
	for (i = 1; i < argc; i++) {
		const char *base = strrchr(argv[i], '/');

		good = replay_walk(argv[i]);
		failed += !good;
		printf("%s %d - %s\n", good ? "ok" : "not ok", i, base ? base + 1 : argv[i]);
	}
	printf("1..%d\n", argc - 1);
	return !!failed;
}

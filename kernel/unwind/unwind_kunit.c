// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the frame walker, on stacks made by hand in a user mapping, and
 * of the clients of deferred unwinding.
 */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_user.h>

#include <asm/cpu_entry_area.h>
#include <asm/unwind_walk.h>

#include "../events/callchain_deferred.h"
#include "unwind.h"

#define CODE	0x401000UL	/* the address of a page of code, see map_code() */

struct stack {
	unsigned long	base;
	size_t		size;
};

static unsigned long map_user(struct kunit *test, size_t size, unsigned long prot)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, size, prot,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user mapping");
	KUNIT_ASSERT_LT_MSG(test, addr, (unsigned long)TASK_SIZE,
			    "no user mapping");
	return addr;
}

static int map_code(struct kunit *test)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, CODE, SZ_4K, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0);
	return addr == CODE ? 0 : -ENOMEM;
}

static void put_user64(struct kunit *test, unsigned long addr, u64 val)
{
	KUNIT_ASSERT_EQ(test, put_user(val, (u64 __user *)addr), 0);
}

static void put_user32(struct kunit *test, unsigned long addr, u32 val)
{
	KUNIT_ASSERT_EQ(test, put_user(val, (u32 __user *)addr), 0);
}

static void put_code(struct kunit *test, unsigned long addr, const char *code,
		     size_t len)
{
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)addr, code, len), 0);
}

static struct unwind_walk state_at(unsigned long ip, unsigned long sp,
				   unsigned long fp, unsigned int word)
{
	return (struct unwind_walk) {
		.ip = ip, .insn = ip, .sp = sp, .word = word,
		.kept[UNWIND_SLOT_FP] = fp, .methods = BIT(UNWIND_METHOD_FP),
		.faults = 16, .deadline = jiffies + 60 * HZ,
	};
}

static unsigned int count_frames(struct unwind_walk *state,
				 unsigned int most)
{
	unsigned int nr;

	for (nr = 0; nr < most; nr++) {
		if (unwind_user_next(state))
			break;
	}
	return nr;
}

/* Put frame i at base + 32 * i, with return address CODE + i. The last frame pointer is 0. */
static void make_chain(struct kunit *test, unsigned long base, int frames)
{
	int i;

	for (i = 0; i < frames; i++) {
		unsigned long fp = base + 32 * i;

		put_user64(test, fp, i + 1 < frames ? fp + 32 : 0);
		put_user64(test, fp + 8, CODE + i);
	}
}

static void fp_chain(struct kunit *test)
{
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(CODE, base, base, 8);
	int i;

	make_chain(test, base, 20);
	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
		KUNIT_EXPECT_EQ(test, state.ip, CODE + i);
		KUNIT_EXPECT_EQ(test, state.sp, base + 32 * i + 16);
		KUNIT_EXPECT_FALSE(test, state.exact);
	}
	KUNIT_EXPECT_NE(test, unwind_user_next(&state), 0);
}

static void fp_chain_32(struct kunit *test)
{
	unsigned long base = kunit_vm_mmap(test, NULL, 0, SZ_4K,
					   PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE |
					   MAP_32BIT, 0);
	struct unwind_walk state = state_at(CODE, base, base, 4);

	KUNIT_ASSERT_LT(test, base, SZ_2G);
	put_user32(test, base, base + 16);
	put_user32(test, base + 4, CODE + 1);
	put_user32(test, base + 16, 0);
	put_user32(test, base + 20, CODE + 2);

	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE + 1);
	KUNIT_EXPECT_EQ(test, state.sp, base + 8);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE + 2);
	KUNIT_EXPECT_NE(test, unwind_user_next(&state), 0);
}

struct entry_case {
	const char	*name;
	const char	*insn;
	size_t		len;
	/* words between the top of the stack and the return address */
	int		above;
};

static const struct entry_case entry_cases[] = {
	{ "push %rbp",		"\x55\x48\x89\xe5", 4, 0 },
	{ "endbr64",		"\xf3\x0f\x1e\xfa", 4, 0 },
	{ "mov %rsp,%rbp",	"\x48\x89\xe5\x90", 4, 1 },
	{ "mov %rsp,%rbp (8b)",	"\x48\x8b\xec\x90", 4, 1 },
	{ "ret",		"\xc3\x90\x90\x90", 4, 0 },
	{ "ret imm16",		"\xc2\x08\x00\x90", 4, 0 },
	{ "rep ret",		"\xf3\xc3\x90\x90", 4, 0 },
	{ "none of them",	"\x90\x90\x90\x90", 4, -1 },
};

KUNIT_ARRAY_PARAM_DESC(entry_case, entry_cases, name);

/*
 * There is a call before the return address, and the frame of the caller is at
 * fp.
 */
static void innermost_frame(struct kunit *test)
{
	const struct entry_case *c = test->param_value;
	unsigned long text = map_user(test, SZ_4K, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	unsigned long ra = text + 0x105, fp = base + 256;
	struct unwind_walk state = state_at(text, base, fp, 8);

	state.exact = true;
	put_code(test, text, c->insn, c->len);
	put_code(test, text + 0x100, "\xe8\0\0\0\0", 5);
	make_chain(test, fp, 2);
	if (c->above == 0) {
		put_user64(test, base, ra);
	} else if (c->above == 1) {
		put_user64(test, base, fp);
		put_user64(test, base + 8, ra);
		/* must be ignored: the caller's frame pointer is on the stack */
		state.kept[UNWIND_SLOT_FP] = 0xdead0000;
	}

	if (c->above >= 0) {
		KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
		KUNIT_EXPECT_EQ(test, state.ip, ra);
	}
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE + 1);
}

/* push %rbp in code without frame pointers: the word on top is not a return address */
static void push_without_call(struct kunit *test)
{
	unsigned long text = map_user(test, SZ_4K, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(text, base, base + 256, 8);

	state.exact = true;
	put_code(test, text, "\x55\x48\x89\xe5", 4);
	put_user64(test, base, text + 0x200);
	make_chain(test, base + 256, 1);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE);
}

/* push %rbp of the next function, behind a system call that does not return */
static void push_behind_syscall(struct kunit *test)
{
	unsigned long text = map_user(test, SZ_4K, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(text + 2, base, base + 256, 8);
	struct pt_regs regs = {};

	state.exact = true;
	state.back = 1;
	state.regs = &regs;
	put_code(test, text, "\x0f\x05\x55\x48\x89\xe5", 6);
	put_code(test, text + 0x100, "\xe8\0\0\0\0", 5);
	put_user64(test, base, text + 0x105);
	make_chain(test, base + 256, 1);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE);
}

/* The word on top of the stack is the address of data that look like a call. */
static void call_in_data(struct kunit *test)
{
	unsigned long text = map_user(test, SZ_4K, PROT_READ | PROT_WRITE | PROT_EXEC);
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(text, base, base + 256, 8);

	state.exact = true;
	put_code(test, text, "\x55\x48\x89\xe5", 4);
	put_code(test, base + 0x800, "\xe8\0\0\0\0", 5);
	put_user64(test, base, base + 0x805);
	make_chain(test, base + 256, 1);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, CODE);
}

struct call_case {
	const char	*name;
	u8		bytes[UNWIND_ARCH_CALL_BYTES];
	bool		call;
};

static const struct call_case call_cases[] = {
	{ "call rel32",		{ 0, 0, 0xe8, 1, 2, 3, 4 },	true },
	{ "call *%rax",		{ 0, 0, 0, 0, 0, 0xff, 0xd0 },	true },
	{ "call *%r8",		{ 0, 0, 0, 0, 0x41, 0xff, 0xd0 }, true },
	{ "call *8(%rax)",	{ 0, 0, 0, 0, 0xff, 0x50, 8 },	true },
	{ "call *rip",		{ 0, 0xff, 0x15, 1, 2, 3, 4 },	true },
	{ "call *x(,%rax,8)",	{ 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, true },
	{ "call *x(%rsp)",	{ 0xff, 0x94, 0x24, 1, 2, 3, 4 }, true },
	{ "a call's end, nop",	{ 0xe8, 1, 0xfe, 0xff, 0xff, 0x90, 0xc3 }, false },
	{ "call *rip, hlt",	{ 0xff, 0x15, 1, 2, 3, 4, 0xf4 }, false },
	{ "jmp *%rax",		{ 0, 0, 0, 0, 0, 0xff, 0xe0 },	false },
	{ "jmp rel32",		{ 0, 0, 0xe9, 1, 2, 3, 4 },	false },
	{ "nops",		{ 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  false },
};

KUNIT_ARRAY_PARAM_DESC(call_case, call_cases, name);

static void is_call(struct kunit *test)
{
	const struct call_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, arch_unwind_is_call(c->bytes), c->call);
}

struct return_case {
	const char	*name;
	/* offset of the return address; a call precedes 0x105, and Go's goexit() is at 0x300 */
	unsigned int	at;
	bool		file;	/* is a file mapped there? */
	bool		exec;
	bool		last;	/* is the saved frame pointer 0? */
	bool		good;
};

static const struct return_case return_cases[] = {
	{ "behind a call",		0x105, true, true, false, true },
	{ "behind a call of data",	0x105, true, false, false, false },
	{ "no call",			0x200, true, true, false, false },
	{ "no call, outermost",		0x200, true, true, true, false },
	{ "goexit",			0x301, true, true, true, true },
	{ "start of goexit",		0x300, true, true, true, false },
	{ "goexit in data",		0x301, true, false, true, false },
	{ "made code",			0x200, false, true, false, true },
	{ "anonymous data",		0x105, false, false, false, false },
};

KUNIT_ARRAY_PARAM_DESC(return_case, return_cases, name);

/* Is the word above the frame pointer taken for a return address? */
static void fp_return_address(struct kunit *test)
{
	const struct return_case *c = test->param_value;
	unsigned long prot = PROT_READ | PROT_WRITE | (c->exec ? PROT_EXEC : 0);
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(CODE, base, base, 8);
	struct file *file = NULL;
	unsigned long text;

	if (c->file) {
		file = shmem_file_setup("unwind", SZ_4K, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	}
	text = kunit_vm_mmap(test, file, 0, SZ_4K, prot,
			     MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS), 0);
	if (file)
		fput(file);
	KUNIT_ASSERT_LT(test, text, (unsigned long)TASK_SIZE);
	put_code(test, text + 0x100, "\xe8\0\0\0\0", 5);
	put_code(test, text + 0x300, "\x90\xe8\0\0\0\0\x90", 7);
	put_user64(test, base, c->last ? 0 : base + 64);
	put_user64(test, base + 8, text + c->at);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), c->good ? 0 : UNWIND_NONE);
}

static void hostile_cycle(struct kunit *test)
{
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(CODE, base, base, 8);

	put_user64(test, base, base + 64);
	put_user64(test, base + 8, CODE);
	put_user64(test, base + 64, base);
	put_user64(test, base + 72, CODE);
	KUNIT_EXPECT_EQ(test, count_frames(&state, 1000), 2);

	state = state_at(CODE, base, base, 8);
	put_user64(test, base, base);
	KUNIT_EXPECT_EQ(test, count_frames(&state, 1000), 1);
}

/* invalid frame pointers */
static void hostile_fp(struct kunit *test)
{
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	unsigned long none = map_user(test, SZ_4K, PROT_NONE);
	const unsigned long fps[] = {
		0, 1, 7, base + 1, base - 8, base - 16, base + SZ_4K, none,
		TASK_SIZE_MAX - 16, TASK_SIZE_MAX - 8, TASK_SIZE_MAX,
		1UL << 47, 1UL << 63, (1UL << 63) - 16, ULONG_MAX - 7,
		ULONG_MAX - 15, (unsigned long)&fps,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fps); i++) {
		struct unwind_walk state = state_at(CODE, base, fps[i], 8);

		if (none > base && fps[i] == base + SZ_4K)
			continue;
		KUNIT_EXPECT_NE_MSG(test, unwind_user_next(&state), 0,
				    "fp %lx", fps[i]);
		KUNIT_EXPECT_EQ_MSG(test, state.kept[UNWIND_SLOT_FP], fps[i],
				    "state changed on failure");
	}
}

static void hostile_return_address(struct kunit *test)
{
	unsigned long base = map_user(test, SZ_4K, PROT_READ | PROT_WRITE);
	const unsigned long ras[] = {
		0, TASK_SIZE_MAX, 1UL << 47, 1UL << 63, ULONG_MAX,
		(unsigned long)&hostile_return_address,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ras); i++) {
		struct unwind_walk state = state_at(CODE, base, base, 8);

		put_user64(test, base, base + 64);
		put_user64(test, base + 8, ras[i]);
		KUNIT_EXPECT_NE_MSG(test, unwind_user_next(&state), 0,
				    "return address %lx", ras[i]);
	}
}

/* a missing page takes one fault of the budget; without a fault left, it cannot be read */
static void fault_budget(struct kunit *test)
{
	unsigned long area = map_user(test, 8 * SZ_4K, PROT_READ | PROT_WRITE);
	struct unwind_walk state = state_at(CODE, area, area, 8);
	unsigned long val;
	int i;

	state.faults = 3;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, unwind_read_word(&state, area + i * SZ_4K,
						       &val), 0);
	KUNIT_EXPECT_EQ(test, state.faults, 0);
	KUNIT_EXPECT_NE(test, unwind_read_word(&state, area + 3 * SZ_4K, &val),
			0);
	KUNIT_EXPECT_EQ(test, unwind_read_word(&state, area, &val), 0);

	state.faults = 3;
	state.deadline = jiffies - 1;
	KUNIT_EXPECT_NE(test, unwind_read_word(&state, area + 3 * SZ_4K, &val),
			0);
}

static void ignore_trace(struct unwind_work *work,
			 struct unwind_stacktrace *trace, u64 cookie)
{
}

static void client_registration(struct kunit *test)
{
	struct unwind_work *work;
	int i, n = 0, ret = 0;

	work = kunit_kcalloc(test, UNWIND_MAX_CLIENTS + 1, sizeof(*work),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, work);

	/* there may be other clients, too */
	for (n = 0; n <= UNWIND_MAX_CLIENTS; n++) {
		ret = unwind_deferred_init(&work[n], ignore_trace);
		if (ret)
			break;
		KUNIT_EXPECT_NE(test, work[n].stamp, 0);
	}
	KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_LE(test, n, UNWIND_MAX_CLIENTS);
	KUNIT_EXPECT_EQ(test, unwind_deferred_init(&work[0], ignore_trace),
			-EEXIST);

	unwind_deferred_cancel(&work[n]);
	for (i = 0; i < n; i++)
		unwind_deferred_cancel(&work[i]);
	unwind_deferred_cancel(&work[0]);
	KUNIT_EXPECT_EQ(test, unwind_deferred_init(&work[n], ignore_trace), 0);
	unwind_deferred_cancel(&work[n]);
}

static struct perf_event *open_deferring(void)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.config			= PERF_COUNT_SW_CPU_CLOCK,
		.size			= sizeof(attr),
		.sample_type		= PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack	= 1,
		.sample_period		= NSEC_PER_SEC,
		.disabled		= 1,
		.defer_callchain	= 1,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
}

/* With too many clients, an event is refused and leaves no state behind. */
static void too_many_for_perf(struct kunit *test)
{
	struct perf_event *event;
	struct unwind_work *work;
	int n;

	work = kunit_kcalloc(test, UNWIND_MAX_CLIENTS, sizeof(*work), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, work);
	for (n = 0; n < UNWIND_MAX_CLIENTS; n++)
		if (unwind_deferred_init(&work[n], ignore_trace))
			break;
	KUNIT_ASSERT_GT(test, n, 0);

	event = open_deferring();
	if (n == UNWIND_MAX_CLIENTS)
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EBUSY);
	if (!IS_ERR(event))
		perf_event_release_kernel(event);

	unwind_deferred_cancel(&work[--n]);
	event = open_deferring();
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), 0);
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
	/* perf is not a client any more, so its slot is free */
	KUNIT_EXPECT_EQ(test, unwind_deferred_init(&work[n++], ignore_trace), 0);
	while (n--)
		unwind_deferred_cancel(&work[n]);
}

static int fake_pmu_add(struct perf_event *event, int flags)
{
	return 0;
}

static void fake_pmu_ignore(struct perf_event *event, int flags)
{
}

static void fake_pmu_read(struct perf_event *event)
{
}

static int fake_pmu_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

/* a PMU whose events may be moved to another CPU */
static struct pmu fake_pmu = {
	.task_ctx_nr	= perf_invalid_context,
	.event_init	= fake_pmu_event_init,
	.add		= fake_pmu_add,
	.del		= fake_pmu_ignore,
	.start		= fake_pmu_ignore,
	.stop		= fake_pmu_ignore,
	.read		= fake_pmu_read,
};

static struct perf_event *open_output(int cpu)
{
	struct perf_event_attr attr = {
		.type		= fake_pmu.type,
		.size		= sizeof(attr),
		.defer_output	= 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

/* Does the current thread, the reader of these events, have the buffers of all CPUs? */
static bool reads_all_cpus(struct perf_event *event)
{
	unsigned long reader = BIT(perf_deferred_reader(event));

	return perf_deferred_served(reader, reader) == reader;
}

static void check_moved_output(struct kunit *test, struct perf_event **events)
{
	unsigned int cpu, first = cpumask_first(cpu_online_mask);
	unsigned int second = cpumask_next(first, cpu_online_mask);

	for_each_online_cpu(cpu) {
		events[cpu] = open_output(cpu);
		KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(events[cpu]), 0);
	}
	KUNIT_EXPECT_TRUE(test, reads_all_cpus(events[second]));

	perf_pmu_migrate_context(&fake_pmu, first, second);
	KUNIT_EXPECT_EQ(test, events[first]->cpu, second);
	perf_event_release_kernel(events[first]);
	KUNIT_EXPECT_FALSE(test, reads_all_cpus(events[second]));

	events[first] = open_output(first);
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(events[first]), 0);
	KUNIT_EXPECT_TRUE(test, reads_all_cpus(events[second]));
}

/* An event that has moved to another CPU is still counted for the CPU of its reader. */
static void moved_output(struct kunit *test)
{
	struct perf_event **events;
	unsigned int cpu;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	events = kunit_kcalloc(test, nr_cpu_ids, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, events);
	KUNIT_ASSERT_EQ(test, perf_pmu_register(&fake_pmu, "unwind_kunit", -1), 0);
	check_moved_output(test, events);
	for_each_online_cpu(cpu)
		if (!IS_ERR_OR_NULL(events[cpu]))
			perf_event_release_kernel(events[cpu]);
	perf_pmu_unregister(&fake_pmu);
}

struct told {
	struct unwind_work	work;
	unsigned int		calls;
	u64			cookie;
};

static void count_callback(struct unwind_work *work, struct unwind_stacktrace *trace,
			   u64 cookie)
{
	struct told *told = container_of(work, struct told, work);

	told->calls++;
	told->cookie = cookie;
}

/*
 * Requests by kernel threads are refused: clear PF_KTHREAD of this kernel
 * thread during the request.
 */
static int request_as_user(struct told *told, u64 *cookie)
{
	int ret;

	preempt_disable();
	current->flags &= ~PF_KTHREAD;
	ret = unwind_deferred_request(&told->work, cookie);
	current->flags |= PF_KTHREAD;
	preempt_enable();
	return ret;
}

/*
 * All requests of an entry context get the same cookie. Each client is called once, or not at all
 * if it was cancelled.
 */
static void several_clients(struct kunit *test)
{
	u64 cookie = 0, other = 0, next = 0;
	struct told *told;
	int i, n;

	told = kunit_kcalloc(test, UNWIND_MAX_CLIENTS, sizeof(*told), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, told);
	/* this gives the thread of the test an mm */
	map_user(test, PAGE_SIZE, PROT_READ);

	for (n = 0; n < UNWIND_MAX_CLIENTS; n++)
		if (unwind_deferred_init(&told[n].work, count_callback))
			break;
	KUNIT_EXPECT_GT(test, n, 2);

	KUNIT_EXPECT_EQ(test, request_as_user(&told[0], &cookie), 0);
	KUNIT_EXPECT_NE(test, cookie, 0);
	for (i = 1; i < n; i++) {
		KUNIT_EXPECT_EQ(test, request_as_user(&told[i], &other), 0);
		KUNIT_EXPECT_EQ(test, other, cookie);
		KUNIT_EXPECT_EQ(test, request_as_user(&told[i], &other), 1);
		KUNIT_EXPECT_EQ(test, other, cookie);
	}
	unwind_deferred_cancel(&told[0].work);
	KUNIT_EXPECT_EQ(test, unwind_deferred_init(&told[0].work, count_callback), 0);
	unwind_deferred_close();
	KUNIT_EXPECT_EQ(test, told[0].calls, 0);
	for (i = 1; i < n; i++) {
		KUNIT_EXPECT_EQ(test, told[i].calls, 1);
		KUNIT_EXPECT_EQ(test, told[i].cookie, cookie);
	}

	/* clients without a request are not called for the next entry context */
	KUNIT_EXPECT_EQ(test, request_as_user(&told[1], &next), 0);
	KUNIT_EXPECT_NE(test, next, cookie);
	unwind_deferred_close();
	KUNIT_EXPECT_EQ(test, told[1].calls, 2);
	KUNIT_EXPECT_EQ(test, told[1].cookie, next);
	KUNIT_EXPECT_EQ(test, told[2].calls, 1);
	for (i = 0; i < n; i++)
		unwind_deferred_cancel(&told[i].work);
}

/* Check that the CPUs of a set that are below @nr are those of the list @expected. */
static void expect_cpus(struct kunit *test, const struct unwind_cpus *cpus,
			const unsigned int *expected, unsigned int nr)
{
	unsigned int cpu = unwind_cpus_next(cpus, 0, nr);

	for (; *expected != nr && cpu != nr; expected++) {
		KUNIT_EXPECT_EQ(test, cpu, *expected);
		cpu = unwind_cpus_next(cpus, cpu + 1, nr);
	}
	KUNIT_EXPECT_EQ(test, *expected, nr);
	KUNIT_EXPECT_EQ(test, cpu, nr);
}

/* With more than 64 CPUs, a bit stands for several of them. */
static void visited_cpus(struct kunit *test)
{
	static const struct unwind_cpus none = {};
	static const struct unwind_cpus one = { .bits = BIT(6), .only = 71 };
	static const struct unwind_cpus two = { .bits = BIT(6) | BIT(63), .only = -1 };
	static const struct unwind_cpus unknown = { .bits = BIT(6) };

	expect_cpus(test, &none, (unsigned int []){ 200 }, 200);
	expect_cpus(test, &one, (unsigned int []){ 70, 200 }, 200);
	expect_cpus(test, &two, (unsigned int []){ 6, 63, 64 }, 64);
	expect_cpus(test, &two,
		    (unsigned int []){ 6, 63, 70, 127, 134, 191, 198, 200 }, 200);
	expect_cpus(test, &unknown, (unsigned int []){ 6, 8 }, 8);
	expect_cpus(test, &unknown, (unsigned int []){ 4 }, 4);
}

static void noted_cpus(struct kunit *test)
{
	struct unwind_task_info *info = &current->unwind_info;
	unsigned int cpu, other;

	migrate_disable();
	cpu = smp_processor_id();
	other = cpu ? 0 : 1;
	unwind_deferred_note_cpu(3);
	unwind_deferred_note_cpu(5);
	info->cpus_served = info->cpus;
	KUNIT_EXPECT_EQ(test, unwind_deferred_noted(), BIT(3) | BIT(5));
	KUNIT_EXPECT_EQ(test, unwind_deferred_next_cpu(0), cpu);
	KUNIT_EXPECT_EQ(test, unwind_deferred_next_cpu(cpu + 1), nr_cpu_ids);

	/* as if the task had run on another CPU before */
	info->cpus = (struct unwind_cpus) {
		.bits = BIT(other), .only = other + 1,
	};
	unwind_deferred_note_cpu(0);
	expect_cpus(test, &info->cpus, (unsigned int []){
		    min(cpu, other), max(cpu, other), BITS_PER_LONG },
		    BITS_PER_LONG);

	migrate_enable();
	info->cpus = (struct unwind_cpus) {};
	info->cpus_served = (struct unwind_cpus) {};
}

/* Kernel registers have no user stack, and the stack of virtual 8086 mode is not supported. */
static void register_modes(struct kunit *test)
{
	struct pt_regs user = { .cs = __USER_CS };
	struct pt_regs user_32 = { .cs = __USER32_CS };
	struct pt_regs kernel = { .cs = __KERNEL_CS };
	struct pt_regs vm86 = { .cs = __USER_CS, .flags = X86_VM_MASK };

	KUNIT_EXPECT_TRUE(test, arch_unwind_possible(&user));
	KUNIT_EXPECT_TRUE(test, arch_unwind_possible(&user_32));
	KUNIT_EXPECT_FALSE(test, arch_unwind_possible(&kernel));
	/* a kernel without virtual 8086 mode, such as a 64-bit kernel, has X86_VM_MASK 0 */
	KUNIT_EXPECT_EQ(test, arch_unwind_possible(&vm86), !X86_VM_MASK);
}

static void no_user_stack(struct kunit *test)
{
	struct unwind_stacktrace trace = {};
	struct unwind_work work = {};
	u64 cookie = 1;

	KUNIT_EXPECT_EQ(test, unwind_deferred_request(&work, &cookie), -EINVAL);
	KUNIT_EXPECT_EQ(test, cookie, 0);

	KUNIT_ASSERT_EQ(test, unwind_deferred_init(&work, ignore_trace), 0);
	cookie = 1;
	KUNIT_EXPECT_EQ(test, unwind_deferred_request(&work, &cookie), -EINVAL);
	KUNIT_EXPECT_EQ(test, cookie, 0);
	unwind_deferred_cancel(&work);

	KUNIT_EXPECT_EQ(test, unwind_user(&trace, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, unwind_user_faultable(&trace), -EINVAL);
}

/* With the option to read code, but without tables, code is always read. */
static int fp_init(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_UNWIND_USER_CODE) && BIT(UNWIND_NR_METHODS) - 1 == 1)
		kunit_skip(test, "code is read");
	return map_code(test);
}

static struct kunit_case fp_cases[] = {
	KUNIT_CASE(fp_chain),
	KUNIT_CASE(fp_chain_32),
	KUNIT_CASE_PARAM(fp_return_address, return_case_gen_params),
	KUNIT_CASE_PARAM(innermost_frame, entry_case_gen_params),
	KUNIT_CASE(push_without_call),
	KUNIT_CASE(push_behind_syscall),
	KUNIT_CASE(call_in_data),
	KUNIT_CASE(hostile_cycle),
	KUNIT_CASE(hostile_fp),
	KUNIT_CASE(hostile_return_address),
	KUNIT_CASE(fault_budget),
	{}
};

static struct kunit_suite fp_suite = {
	.name = "unwind_fp",
	.init = fp_init,
	.test_cases = fp_cases,
};

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* Where a sample may have interrupted the entry from user space, or the return to it. */
static void check_saved_registers(struct kunit *test)
{
	unsigned long saved = (unsigned long)task_pt_regs(current);
	unsigned long entry = (unsigned long)__entry_text_start;
	unsigned long other = (unsigned long)check_saved_registers;
	unsigned long entry_stack = (unsigned long)(cpu_entry_stack(raw_smp_processor_id()) + 1);
	struct pt_regs regs = {};
	const struct {
		unsigned long ip, sp;
		bool are_saved;
	} places[] = {
		{ other, (unsigned long)&regs, true },
		{ other, saved, true },
		{ entry, saved, true },			/* all are pushed */
		{ entry, saved + 8, false },		/* one is not */
		{ other, saved + 8, false },		/* likewise, with FRED */
		{ entry, entry_stack - 64, false },
		{ other, entry_stack - 64, false },	/* in sync_regs() */
		{ entry, PAGE_SIZE, false },		/* the user's stack pointer */
		{ other, PAGE_SIZE, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		regs.ip = places[i].ip;
		regs.sp = places[i].sp;
		KUNIT_EXPECT_EQ_MSG(test, arch_unwind_regs_are_saved(&regs),
				    places[i].are_saved, "place %u", i);
	}
}

static void saved_registers(struct kunit *test)
{
	/* as in a sample: the entry stack is that of the CPU */
	preempt_disable();
	check_saved_registers(test);
	preempt_enable();
}
#endif

static struct kunit_case unwind_cases[] = {
	KUNIT_CASE_PARAM(is_call, call_case_gen_params),
	KUNIT_CASE(client_registration),
	KUNIT_CASE(too_many_for_perf),
	KUNIT_CASE(moved_output),
	KUNIT_CASE(several_clients),
	KUNIT_CASE(visited_cpus),
	KUNIT_CASE(noted_cpus),
	KUNIT_CASE(register_modes),
	KUNIT_CASE(no_user_stack),
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	KUNIT_CASE(saved_registers),
#endif
	{}
};

static struct kunit_suite unwind_suite = {
	.name = "unwind_deferred",
	.test_cases = unwind_cases,
};

kunit_test_suites(&fp_suite, &unwind_suite);

MODULE_DESCRIPTION("Tests of deferred user callchains");
MODULE_LICENSE("GPL");

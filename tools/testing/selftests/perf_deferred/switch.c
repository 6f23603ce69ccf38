// SPDX-License-Identifier: GPL-2.0
/* BPF programs in the tracepoint sched_switch request the stack of the next task. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pd_bpf.h"
#include "pd_btf.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	4
#define DEPTH	4
#define MOST	2048
#define SLEEPS	8
#define BYTES	(256 * 1024)
#define LONG_BYTES	((pd_slow() ? 8 : 64) * 1024L * 1024)

/* The value of the only entry of the map that the BPF program writes to. */
struct result {
	__u64 calls;
	__u64 cookies[MOST];
};

struct switches {
	int results, link;
	struct pd_event event;
	struct pd_log log;
	struct result result;
};

/* Numbers of instructions before and after @ask in load_asking(), without the final return. */
#define BEFORE	12
#define AFTER	8

/*
 * Whenever argument @arg of the tracepoint is the task @tid, run @ask with that task in
 * BPF_REG_6, and append the resulting BPF_REG_0 to the cookies of the map's struct result.
 */
static int load_asking(const char *tracepoint, int arg, pid_t tid, int results,
		       const struct bpf_insn *ask, size_t nr)
{
	const struct bpf_insn before[BEFORE] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_DW, BPF_REG_6, BPF_REG_6, arg * 8),
		LOAD(BPF_W, BPF_REG_1, BPF_REG_6, pd_btf_offset("task_struct", "pid")),
		JUMP_IF_NOT(BPF_REG_1, tid, BEFORE - 4 + nr + AFTER),
		STORE_IMM(BPF_REG_10, -8, 0),
		MAP_FD(BPF_REG_1, results),
		UPPER_HALF(),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, BEFORE - 11 + nr + AFTER, 0),
		MOV_REG(BPF_REG_7, BPF_REG_0),
	};
	const struct bpf_insn after[AFTER + 2] = {
		LOAD(BPF_DW, BPF_REG_1, BPF_REG_7, 0),
		MOV_REG(BPF_REG_2, BPF_REG_1),
		ADD_IMM(BPF_REG_2, 1),
		STORE_REG(BPF_REG_7, BPF_REG_2, 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, MOST - 1),
		INSN(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_1, 0, 0, 3),
		INSN(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_7, BPF_REG_1, 0, 0),
		STORE_REG(BPF_REG_7, BPF_REG_0, offsetof(struct result, cookies)),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_RAW_TP,
		.attach_btf_id = pd_btf_find(BTF_KIND_TYPEDEF, tracepoint),
	};
	struct bpf_insn code[64];

	memcpy(code, before, sizeof(before));
	memcpy(code + BEFORE, ask, nr * sizeof(*ask));
	memcpy(code + BEFORE + nr, after, sizeof(after));
	return load_program(&attr, code, BEFORE + nr + ARRAY_SIZE(after), tracepoint);
}

/* When argument @arg is the task @tid, the program requests the stack of that task. */
static int load_request(const char *tracepoint, int arg, pid_t tid, int results)
{
	const struct bpf_insn ask[] = {
		MOV_REG(BPF_REG_1, BPF_REG_6),
		CALL_KERNEL(pd_btf_find(BTF_KIND_FUNC, "bpf_perf_defer_callchain")),
	};

	return load_asking(tracepoint, arg, tid, results, ask, ARRAY_SIZE(ask));
}

/* When the task @tid is switched to, the program requests the stack of another task, @other. */
static int load_for_other(pid_t tid, pid_t other, int results)
{
	const struct bpf_insn ask[] = {
		MOV_IMM(BPF_REG_1, other),
		CALL_KERNEL(pd_btf_find(BTF_KIND_FUNC, "bpf_task_from_pid")),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 7 + AFTER, 0),
		MOV_REG(BPF_REG_8, BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_8),
		CALL_KERNEL(pd_btf_find(BTF_KIND_FUNC, "bpf_perf_defer_callchain")),
		MOV_REG(BPF_REG_9, BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_8),
		CALL_KERNEL(pd_btf_find(BTF_KIND_FUNC, "bpf_task_release")),
		MOV_REG(BPF_REG_0, BPF_REG_9),
	};

	return load_asking("btf_trace_sched_switch", 2, tid, results, ask, ARRAY_SIZE(ask));
}

/* Open an event for requests of a BPF program, and for the records. */
static int open_event(struct switches *sw)
{
	struct perf_event_attr attr;

	pd_attr_dummy(&attr);
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.sample_type &= ~PERF_SAMPLE_CALLCHAIN;
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 1);
	PD_TRY(pd_must_open(&sw->event, &attr, 0, -1));
	pd_enable(&sw->event);
	return 0;
}

static int prepare_switches(struct switches *sw, bool with_event)
{
	if (pd_btf_find(BTF_KIND_TYPEDEF, "btf_trace_sched_switch") < 0)
		return pd_skip("no types for BPF");
	PD_CHECK(pd_btf_find(BTF_KIND_FUNC, "bpf_perf_defer_callchain") > 0, "no such function");
	sw->results = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct result), 1);
	PD_CHECK(sw->results >= 0, "no BPF map: %s", strerror(errno));
	if (with_event)
		PD_TRY(open_event(sw));
	return 0;
}

static int run_program(struct switches *sw, int program)
{
	union bpf_attr attr = {};

	PD_CHECK(program >= 0, "the program does not load");
	attr.raw_tracepoint.prog_fd = program;
	sw->link = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	PD_CHECK(sw->link >= 0, "the program does not attach: %s", strerror(errno));
	return 0;
}

static int begin_switches(struct switches *sw, bool with_event)
{
	PD_TRY(prepare_switches(sw, with_event));
	return run_program(sw, load_request("btf_trace_sched_switch", 2, getpid(), sw->results));
}

static int end_switches(struct switches *sw, bool with_event)
{
	close(sw->link);
	if (with_event) {
		pd_disable(&sw->event);
		pd_drain(&sw->event, &sw->log);
		PD_TRY(pd_log_clean(&sw->log));
	}
	PD_CHECK(!look_up(sw->results, 0, &sw->result), "no result");
	PD_CHECK(sw->result.calls, "the task was never switched to");
	PD_CHECK(sw->result.calls <= MOST, "%llu switches", sw->result.calls);
	return 0;
}

/* Number of cookies that differ from the previous one. */
static unsigned int count_contexts(const struct result *result)
{
	unsigned int i, nr = 0;

	for (i = 0; i < result->calls; i++)
		nr += !i || result->cookies[i] != result->cookies[i - 1];
	return nr;
}

/* Number of consecutive switches, from the i-th one on, that have the same cookie. */
static unsigned int run_of(const struct result *result, unsigned int i)
{
	unsigned int end = i;

	while (end < result->calls && result->cookies[end] == result->cookies[i])
		end++;
	return end - i;
}

/*
 * Each entry context must have a record.  If the task is switched away while it sends the record,
 * it sends another one.  So there is at most one record for each switch.
 */
static int check_records(struct switches *sw)
{
	unsigned int i, run, whole = 0;

	for (i = 0; i < sw->result.calls; i += run) {
		__u64 cookie = sw->result.cookies[i];
		size_t records;
		const struct pd_rec *record;

		PD_CHECK(cookie, "no cookie for switch %u", i);
		record = pd_log_record(&sw->log, getpid(), cookie);
		PD_CHECK(record, "no record of cookie %llx, switch %u", cookie, i);
		run = run_of(&sw->result, i);
		records = pd_log_records(&sw->log, getpid(), cookie);
		PD_CHECK(records <= run, "%zu records of cookie %llx, %u switches", records,
			 cookie, run);
		whole += pd_has_outermost(record, NAME);
	}
	pd_note("%llu switches, %u contexts, %u of the named stack", sw->result.calls,
		count_contexts(&sw->result), whole);
	return 0;
}

static PD_LEAF long sleep_often(void *unused)
{
	/* long enough for a slow machine: if the wait is over before the switch, there is none */
	struct timespec wait = { .tv_nsec = 50000000 };
	int i;

	(void)unused;
	for (i = 0; i < SLEEPS; i++)
		pd_syscall2(SYS_nanosleep, &wait, NULL);
	return 0;
}

static int every_sleep_has_its_record(void)
{
	struct switches sw = {};
	unsigned int i, named = 0;

	PD_TRY(begin_switches(&sw, true));
	pd_call(NAME, DEPTH, sleep_often, NULL);
	PD_TRY(end_switches(&sw, true));
	PD_TRY(check_records(&sw));
	for (i = 0; i < sw.result.calls; i++) {
		const struct pd_rec *record;

		record = pd_log_record(&sw.log, getpid(), sw.result.cookies[i]);
		/* it may have been preempted on the way to the leaf or back */
		if (!pd_has_outermost(record, NAME) || pd_frames_of(record, NAME) < DEPTH + 2)
			continue;
		PD_TRY(pd_check_stack(record, NAME, DEPTH));
		named++;
	}
	PD_CHECK(named >= SLEEPS, "%u named stacks of %u", named, SLEEPS);
	return 0;
}

static int read_slowly(void *fd)
{
	static char bytes[8192];

	do {
		pd_sleep_ms(2);
	} while (read((long)fd, bytes, sizeof(bytes)) > 0);
	return 0;
}

/* The pipe holds a quarter of what is written, so one system call waits several times. */
static int one_cookie_for_a_system_call(void)
{
	struct pd_syscall call = { SYS_write, { 0, 0, BYTES } };
	struct switches sw = {};
	struct pd_child child;
	int fds[2];

	PD_CHECK(!pipe(fds), "no pipe");
	PD_CHECK(!pd_child_start(&child, read_slowly, (void *)(long)fds[0]), "no child");
	call.args[0] = fds[1];
	call.args[1] = (long)calloc(1, BYTES);
	pd_child_go(&child);
	PD_TRY(begin_switches(&sw, true));
	pd_call(NAME, DEPTH, pd_leaf_syscall, &call);
	PD_TRY(end_switches(&sw, true));
	close(fds[1]);
	kill(child.pid, SIGKILL);
	PD_TRY(check_records(&sw));
	PD_CHECK(sw.result.calls >= 4, "only %llu waits", sw.result.calls);
	/* there may be one more context before the system call, and one after it */
	PD_CHECK(count_contexts(&sw.result) <= 3, "%u cookies for %llu waits",
		 count_contexts(&sw.result), sw.result.calls);
	/* and one more record if the task was switched away while it sent a record */
	PD_CHECK(pd_log_count(&sw.log, PD_RECORD_DEFERRED) <= 4, "%zu records for %llu waits",
		 pd_log_count(&sw.log, PD_RECORD_DEFERRED), sw.result.calls);
	return 0;
}

static int spin_forever(void *unused)
{
	(void)unused;
	for (;;)
		;
	return 0;
}

/* The task can also be preempted in the system call that reads the count. */
static PD_LEAF long spin_until_preempted(void *results)
{
	long long now, look, end = pd_now_ns() + 30000000000LL;
	struct result result = {};

	do {
		look = pd_now_ns() + 3000000;
		do {
			now = pd_now_ns();
		} while (now < look);
		look_up(*(int *)results, 0, &result);
	} while (result.calls < SLEEPS && now < end);
	return 0;
}

/* A child that spins on the same CPU preempts this task in user mode and in the kernel. */
static int when_preempted(void)
{
	struct switches sw = {};
	struct pd_child child;

	pd_pin(0, 0);
	PD_CHECK(!pd_child_start(&child, spin_forever, NULL), "no child");
	pd_child_go(&child);
	PD_TRY(begin_switches(&sw, true));
	pd_call(NAME, DEPTH, spin_until_preempted, &sw.results);
	PD_TRY(end_switches(&sw, true));
	kill(child.pid, SIGKILL);
	PD_CHECK(sw.result.calls >= SLEEPS, "preempted only %llu times", sw.result.calls);
	return check_records(&sw);
}

static int spin_a_while(void *unused)
{
	long long end = pd_now_ns() + 500000000;

	(void)unused;
	while (pd_now_ns() < end)
		;
	return 0;
}

/* All preemptions in one long system call, which does not sleep, have the same cookie. */
static int one_cookie_for_preemptions(void)
{
	struct pd_syscall call = { SYS_getrandom, { 0, LONG_BYTES, GRND_INSECURE } };
	unsigned int i, run, most = 0;
	struct switches sw = {};
	struct pd_child child;
	__u64 cookie = 0;

	call.args[0] = (long)malloc(LONG_BYTES);
	PD_CHECK(call.args[0], "no memory");
	memset((void *)call.args[0], 1, LONG_BYTES);
	pd_pin(0, 0);
	PD_CHECK(!pd_child_start(&child, spin_a_while, NULL), "no child");
	PD_TRY(begin_switches(&sw, true));
	pd_child_go(&child);
	pd_call(NAME, DEPTH, pd_leaf_syscall, &call);
	PD_TRY(end_switches(&sw, true));
	kill(child.pid, SIGKILL);
	PD_TRY(check_records(&sw));
	for (i = 0; i < sw.result.calls; i += run) {
		run = run_of(&sw.result, i);
		if (run > most)
			cookie = sw.result.cookies[i];
		most = run > most ? run : most;
	}
	PD_CHECK(most >= 3, "preempted in the system call only %u times", most);
	/* preemptions before and after the system call count, too */
	PD_CHECK(sw.result.calls <= most + 4, "%u of %llu had another cookie",
		 (unsigned int)sw.result.calls - most, sw.result.calls);
	return pd_check_stack(pd_log_record(&sw.log, getpid(), cookie), NAME, DEPTH);
}

static int check_none(const struct switches *sw, const char *why)
{
	unsigned int i;

	for (i = 0; i < sw->result.calls; i++)
		PD_CHECK(!sw->result.cookies[i], "a cookie %s", why);
	return 0;
}

/* Return the kernel thread that waits for grace periods of RCU, or -1. */
static pid_t find_rcu_thread(void)
{
	char path[64], comm[32] = "";
	pid_t pid;
	int fd;

	for (pid = 2; pid < 1000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(comm, 0, sizeof(comm));
		if (read(fd, comm, sizeof(comm) - 1) < 0)
			comm[0] = '\0';
		close(fd);
		if (!strcmp(comm, "rcu_sched\n") || !strcmp(comm, "rcu_preempt\n"))
			return pid;
	}
	return -1;
}

static int none_without_events(void)
{
	struct switches sw = {};

	PD_TRY(begin_switches(&sw, false));
	pd_call(NAME, DEPTH, sleep_often, NULL);
	PD_TRY(end_switches(&sw, false));
	return check_none(&sw, "without an event for the record");
}

/* A request for the previous task, which is still current, is refused. */
static int none_for_the_one_before(void)
{
	struct switches sw = {};

	PD_TRY(prepare_switches(&sw, true));
	PD_TRY(run_program(&sw, load_request("btf_trace_sched_switch", 1, getpid(), sw.results)));
	pd_call(NAME, DEPTH, sleep_often, NULL);
	PD_TRY(end_switches(&sw, true));
	PD_CHECK(sw.result.calls >= SLEEPS / 2, "only %llu switches", sw.result.calls);
	PD_CHECK(!pd_log_count(&sw.log, PD_RECORD_DEFERRED), "a record without a request");
	return check_none(&sw, "for the previous task");
}

/* Request the stack of another task, which runs or sleeps on @cpu: there must be no cookie. */
static int none_for_others(int (*other)(void *unused), int cpu)
{
	struct switches sw = {};
	struct pd_child child;

	PD_CHECK(!pd_child_start(&child, other, NULL), "no child");
	pd_pin(child.pid, cpu);
	pd_pin(0, 0);
	pd_child_go(&child);
	PD_TRY(prepare_switches(&sw, true));
	PD_TRY(run_program(&sw, load_for_other(getpid(), child.pid, sw.results)));
	pd_call(NAME, DEPTH, sleep_often, NULL);
	PD_TRY(end_switches(&sw, true));
	kill(child.pid, SIGKILL);
	PD_CHECK(sw.result.calls >= SLEEPS / 2, "only %llu switches", sw.result.calls);
	return check_none(&sw, "for another task");
}

static int sleep_long(void *unused)
{
	(void)unused;
	pd_sleep_ms(100000);
	return 0;
}

static int none_for_a_running_one(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return pd_skip("one CPU");
	return none_for_others(spin_forever, 1);
}

static int none_for_a_sleeping_one(void)
{
	return none_for_others(sleep_long, 0);
}

/* A kernel thread has no user stack. The thread of RCU is switched to for each grace period. */
static int none_for_kernel_threads(void)
{
	struct switches sw = {};
	pid_t thread = find_rcu_thread();
	int i;

	/* on one CPU, membarrier() does not wait for a grace period */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return pd_skip("no grace periods");
	PD_CHECK(thread > 0, "no thread of RCU");
	PD_TRY(prepare_switches(&sw, true));
	PD_TRY(run_program(&sw, load_request("btf_trace_sched_switch", 2, thread, sw.results)));
	for (i = 0; i < SLEEPS; i++)
		PD_CHECK(!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0), "%s",
			 strerror(errno));
	PD_TRY(end_switches(&sw, true));
	return check_none(&sw, "for a kernel thread");
}

static int refused_elsewhere(void)
{
	int results = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct result), 1);

	if (pd_btf_find(BTF_KIND_FUNC, "bpf_perf_defer_callchain") < 0)
		return pd_skip("no types for BPF");
	PD_CHECK(load_request("btf_trace_sched_switch", 2, getpid(), results) >= 0,
		 "it does not load");
	PD_CHECK(load_request("btf_trace_sched_wakeup", 0, getpid(), results) < 0,
		 "it loads on sched_wakeup");
	PD_CHECK(load_request("btf_trace_task_newtask", 0, getpid(), results) < 0,
		 "it loads on task_newtask");
	return 0;
}

const struct pd_test pd_tests[] = {
	PD_TEST(every_sleep_has_its_record),
	PD_TEST(one_cookie_for_a_system_call),
	PD_TEST(when_preempted),
	PD_TEST(one_cookie_for_preemptions),
	PD_TEST(none_without_events),
	PD_TEST(none_for_the_one_before),
	PD_TEST(none_for_a_running_one),
	PD_TEST(none_for_a_sleeping_one),
	PD_TEST(none_for_kernel_threads),
	PD_TEST(refused_elsewhere),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

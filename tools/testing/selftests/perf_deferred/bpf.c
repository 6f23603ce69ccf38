// SPDX-License-Identifier: GPL-2.0
/* BPF's stack helpers still return the user stack of a deferring event. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_bpf.h"
#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_syscall.h"
#include "pd_test.h"

#define NAME	6
#define DEPTH	5
#define FRAMES	64

/* The value that the BPF program writes into its map. */
struct result {
	__s64 stack_id, bytes;
	__u64 frames[FRAMES];
};

/* Call both helpers for the user half. Their results go into the only entry of the map. */
static int load_caller(int type, int results, int stacks)
{
	struct bpf_insn code[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		STORE_IMM(BPF_REG_10, -8, 0),
		MAP_FD(BPF_REG_1, results),
		UPPER_HALF(),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_IF_NOT_0(BPF_REG_0, 2),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
		MOV_REG(BPF_REG_7, BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MAP_FD(BPF_REG_2, stacks),
		UPPER_HALF(),
		MOV_IMM(BPF_REG_3, BPF_F_USER_STACK | BPF_F_REUSE_STACKID),
		CALL(BPF_FUNC_get_stackid),
		STORE_REG(BPF_REG_7, BPF_REG_0, offsetof(struct result, stack_id)),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD_IMM(BPF_REG_2, offsetof(struct result, frames)),
		MOV_IMM(BPF_REG_3, FRAMES * 8),
		MOV_IMM(BPF_REG_4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
		STORE_REG(BPF_REG_7, BPF_REG_0, offsetof(struct result, bytes)),
		MOV_IMM(BPF_REG_0, 1),
		EXIT(),
	};
	union bpf_attr attr = { .prog_type = type };

	return load_program(&attr, code, ARRAY_SIZE(code), "BPF program");
}

static int check_frames(const char *helper, const __u64 *frames, size_t nr)
{
	struct pd_rec stack = { .user = (__u64 *)frames, .nr_user = nr };
	size_t i;

	/*
	 * On a timer event, the helpers copy the callchain of the sample, with
	 * its context marker.
	 */
	for (i = 0; i < nr; i++)
		PD_CHECK(frames[i] < PERF_CONTEXT_MAX || frames[i] == PERF_CONTEXT_USER,
			 "%s: frame %zu is the context %lld", helper, i, frames[i]);
	/* A timer's sample in code that sets up a frame may lack the caller's frame. */
	if (pd_frames_of(&stack, NAME) >= DEPTH + 1 && pd_has_outermost(&stack, NAME))
		return 0;
	pd_note_stack(helper, &stack);
	return pd_fail("%s: %u of %u frames", helper, pd_frames_of(&stack, NAME), DEPTH + 2);
}

static size_t count_frames(const __u64 *frames, size_t max)
{
	size_t nr = 0;

	while (nr < max && frames[nr])
		nr++;
	return nr;
}

/* Disable the event in the innermost function, so that the last sample is of the full stack. */
static PD_LEAF long call_and_stop(void *fd)
{
	pd_leaf_getppid(NULL);
	return pd_syscall3(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
}

static PD_LEAF long spin_and_stop(void *fd)
{
	pd_leaf_spin((void *)500L);
	return pd_syscall3(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
}

static int run_with(struct perf_event_attr *attr, int type, pd_leaf_fn leaf)
{
	int results = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct result), 1);
	int stacks = make_map(BPF_MAP_TYPE_STACK_TRACE, FRAMES * 8, 1024);
	static __u64 frames[FRAMES];
	struct result result = {};
	struct pd_log log = {};
	struct pd_event event;
	int program;

	if (results < 0 || stacks < 0)
		return pd_skip("no BPF maps: %s", strerror(errno));
	program = load_caller(type, results, stacks);
	if (program < 0)
		return pd_skip("no BPF program of type %d", type);
	PD_TRY(pd_must_open(&event, attr, 0, -1));
	PD_CHECK(!ioctl(event.fd, PERF_EVENT_IOC_SET_BPF, program), "SET_BPF: %s",
		 strerror(errno));
	pd_enable(&event);
	pd_call(NAME, DEPTH, leaf, (void *)(long)event.fd);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE), "no sample");
	PD_TRY(pd_check_no_bare(&log));

	PD_CHECK(!look_up(results, 0, &result), "no result");
	PD_CHECK(result.bytes > 0 && result.bytes <= FRAMES * 8, "bpf_get_stack() gave %lld",
		 result.bytes);
	PD_TRY(check_frames("bpf_get_stack()", result.frames, result.bytes / 8));
	PD_CHECK(result.stack_id >= 0, "bpf_get_stackid() gave %lld", result.stack_id);
	PD_CHECK(!look_up(stacks, result.stack_id, frames), "no stack %lld", result.stack_id);
	return check_frames("bpf_get_stackid()", frames, count_frames(frames, FRAMES));
}

static int of_a_kprobe(void)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	return run_with(&attr, BPF_PROG_TYPE_KPROBE, call_and_stop);
}

/* On a timer event, the helpers copy the callchain of the sample. */
static int of_a_timer(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 1000);
	attr.exclude_kernel = 1;
	return run_with(&attr, BPF_PROG_TYPE_PERF_EVENT, spin_and_stop);
}

static int of_a_timer_without_deferral(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 1000);
	attr.exclude_kernel = 1;
	pd_attr_flag(&attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	return run_with(&attr, BPF_PROG_TYPE_PERF_EVENT, spin_and_stop);
}

const struct pd_test pd_tests[] = {
	PD_TEST(of_a_kprobe),
	PD_TEST(of_a_timer),
	PD_TEST(of_a_timer_without_deferral),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/* Code made at run time has no unwind tables: the walk finds its caller from its instructions. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	1
#define DEPTH	4
#define STALE	6

typedef long (*pd_made)(const void *data, long (*call)(void *arg));

/* Machine code of a function that calls its second argument (%rsi). */
struct made_code {
	unsigned char bytes[24];
};

/* sub $40,%rsp; call *%rsi; add $40,%rsp; ret */
static const struct made_code without_frame_pointer = { {
	0x48, 0x83, 0xec, 0x28, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x28, 0xc3,
} };

/* push %rbp; mov %rdi,%rbp; call *%rsi; pop %rbp; ret: %rbp is used for data */
static const struct made_code frame_pointer_is_data = { {
	0x55, 0x48, 0x89, 0xfd, 0xff, 0xd6, 0x5d, 0xc3,
} };

/*
 * push %rbp; mov %rsp,%rbp; push %rax; sub $24,%rsp; call *%rsi; mov %rax,(%rsp);
 * 1: cmp $1,%edx; je 1b; leave; ret
 */
static const struct made_code with_frame_pointer = { {
	0x55, 0x48, 0x89, 0xe5, 0x50, 0x48, 0x83, 0xec, 0x18, 0x48, 0x31, 0xd2, 0xff, 0xd6,
	0x48, 0x89, 0x04, 0x24, 0x83, 0xfa, 0x01, 0x90, 0xc9, 0xc3,
} };

/* sub $24,%rsp; call *%rsi; test %rsp,%rsp; je 1f; jmp 2f; 1: ud2; 2: add $24,%rsp; ret */
static const struct made_code with_branches = { {
	0x48, 0x83, 0xec, 0x18, 0xff, 0xd6, 0x48, 0x85, 0xe4, 0x74, 0x02, 0xeb, 0x02,
	0x0f, 0x0b, 0x48, 0x83, 0xc4, 0x18, 0xc3,
} };

static unsigned char *code;
/* Data that looks like two frames. The made code gets its address. */
static struct pd_frame fake[2];

static int make_code(const struct made_code *made)
{
	if (!code)
		code = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(code != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(code + 64, made, sizeof(*made));
	return 0;
}

static PD_LEAF long through_made_code(void *unused)
{
	unsigned char *at = code + 64;
	pd_made made;
	long ret;

	(void)unused;
	memcpy(&made, &at, sizeof(made));
	ret = made(fake, pd_leaf_getppid);
	asm volatile("" : "+r" (ret));
	return ret;
}

static int check_calls(unsigned long times)
{
	const struct pd_rec *sample = NULL;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_event event;
	unsigned long i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	pd_enable(&event);
	for (i = 0; i < times; i++)
		pd_call(NAME, DEPTH, through_made_code, NULL);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == times, "%zu samples of %lu calls",
		 pd_log_count(&log, PERF_RECORD_SAMPLE), times);
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		PD_TRY(pd_check_right(&log, sample, NAME, DEPTH));
	return PD_PASS;
}

static int check_code(const struct made_code *made)
{
	PD_TRY(make_code(made));
	return check_calls(pd_scale(20));
}

static int no_frame_pointer(void)
{
	return check_code(&without_frame_pointer);
}

static int data_in_frame_pointer(void)
{
	fake[0].next = (unsigned long)&fake[1];
	fake[0].ip = pd_name_address(STALE);
	fake[1].ip = pd_name_address(STALE);
	return check_code(&frame_pointer_is_data);
}

static int frame_pointer(void)
{
	return check_code(&with_frame_pointer);
}

static int branches(void)
{
	return check_code(&with_branches);
}

/* Different code at the same address in consecutive calls. */
static int code_that_changes(void)
{
	const struct made_code *all[] = {
		&without_frame_pointer, &frame_pointer_is_data, &with_frame_pointer,
		&with_branches,
	};
	unsigned int i;

	for (i = 0; i < 5 * ARRAY_SIZE(all); i++) {
		PD_TRY(make_code(all[i % ARRAY_SIZE(all)]));
		PD_TRY(check_calls(2));
	}
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(no_frame_pointer),
	PD_TEST(data_in_frame_pointer),
	PD_TEST(frame_pointer),
	PD_TEST(branches),
	PD_TEST(code_that_changes),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

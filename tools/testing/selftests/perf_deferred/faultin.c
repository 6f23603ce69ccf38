// SPDX-License-Identifier: GPL-2.0
/* A stack page that is not in memory is read in for the record. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_chain.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	2
#define FRAMES	6

static int check_chain(struct perf_event_attr *attr, char *memory, unsigned int frames)
{
	const struct pd_rec *sample, *stack;
	struct pd_log log = {};
	struct pd_event event;

	PD_TRY(pd_must_open(&event, attr, 0, -1));
	pd_enable(&event);
	pd_getppid_on(memory, memory);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && sample->deferred, "no deferred sample");
	PD_CHECK(pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
	if (pd_frames_of(stack, NAME) == frames)
		return PD_PASS;
	pd_note_stack("chain", stack);
	return pd_fail("%u of %u frames", pd_frames_of(stack, NAME), frames);
}

static size_t resident_pages(char *memory, size_t page)
{
	unsigned char map[FRAMES];
	size_t i, count = 0;

	if (mincore(memory, FRAMES * page, map))
		return FRAMES;
	for (i = 0; i < FRAMES; i++)
		count += map[i] & 1;
	return count;
}

/* Pages that are mapped, but were never accessed: not in memory, nor in the page table. */
static int unread_file_pages(void)
{
	size_t page = getpagesize();
	struct perf_event_attr attr;
	char *memory;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	memory = pd_chain_map_file(NAME, FRAMES);
	PD_CHECK(memory, "no file to map: %s", strerror(errno));
	if (resident_pages(memory, page) == FRAMES)
		return pd_skip("all pages are already in memory");
	return check_chain(&attr, memory, FRAMES);
}

/* Pages that were read and used, and then dropped from the page table. */
static int dropped_file_pages(void)
{
	size_t page = getpagesize();
	struct perf_event_attr attr;
	char *memory;
	int i;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	memory = pd_chain_map_file(NAME, FRAMES);
	PD_CHECK(memory, "no file to map: %s", strerror(errno));
	for (i = 0; i < 3; i++) {
		PD_TRY(check_chain(&attr, memory, FRAMES));
		madvise(memory, FRAMES * page, MADV_PAGEOUT);
		madvise(memory, FRAMES * page, MADV_DONTNEED);
	}
	return PD_PASS;
}

static int exit_on(void *memory)
{
	return pd_syscall_on(memory, memory, SYS_exit);
}

/* A thread that exits by itself may still take page faults when it begins to exit. */
static int exiting(void)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	char *memory;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	memory = pd_chain_map_file(NAME, FRAMES);
	PD_CHECK(memory, "no file to map: %s", strerror(errno));
	if (resident_pages(memory, getpagesize()))
		return pd_skip("some pages are already in memory");
	PD_TRY(pd_child_start(&child, exit_on, memory));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(!pd_child_wait(&child, 60), "the child failed");
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample && pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
	PD_CHECK(pd_frames_of(stack, NAME) == FRAMES, "%u of %u frames",
		 pd_frames_of(stack, NAME), FRAMES);
	return PD_PASS;
}

static int swapped_out_pages(void)
{
	size_t page = getpagesize(), left;
	struct perf_event_attr attr;
	char *memory;
	int i;

	if (!pd_make_swap())
		return pd_skip("no swap here");
	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	memory = mmap(NULL, FRAMES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	pd_chain_lay(memory, NAME, FRAMES);
	for (i = 0; i < 50 && resident_pages(memory, page); i++) {
		madvise(memory, FRAMES * page, MADV_PAGEOUT);
		pd_sleep_ms(20);
	}
	left = resident_pages(memory, page);
	if (left == FRAMES)
		return pd_skip("nothing was swapped out");
	pd_note("%zu of %d pages are still in memory", left, FRAMES);
	return check_chain(&attr, memory, FRAMES);
}

/* If a page cannot be read, the stack ends and the task continues. */
static int pages_that_are_not(void)
{
	size_t page = getpagesize();
	struct perf_event_attr attr;
	char *memory;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	memory = mmap(NULL, FRAMES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	pd_chain_lay(memory, NAME, FRAMES);
	munmap(memory + 3 * page, page);
	PD_TRY(check_chain(&attr, memory, 3));
	mprotect(memory + 2 * page, page, PROT_NONE);
	return check_chain(&attr, memory, 2);
}

const struct pd_test pd_tests[] = {
	PD_TEST(unread_file_pages),
	PD_TEST(dropped_file_pages),
	PD_TEST(exiting),
	PD_TEST(swapped_out_pages),
	PD_TEST(pages_that_are_not),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

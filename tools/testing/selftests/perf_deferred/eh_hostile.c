// SPDX-License-Identifier: GPL-2.0
/*
 * Files whose unwind tables lie, and tables on a file system that does not answer. Such a file
 * must not affect the frames of other files, crash the kernel, or hold up a task that is killed.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_image.h"
#include "eh_walk.h"
#include "pd_fuse.h"
#include "pd_proc.h"
#include "pd_test.h"

#define DIR		"/tmp/eh_hostile"
#define GOOD		DIR "/good"
#define BAD		DIR "/bad"
#define PATIENCE	20

static struct eh_image image, other, bad;
static const Elf64_Phdr *tables;	/* phdr of .eh_frame_hdr, before .eh_frame */

static int prepare_images(void)
{
	const Elf64_Ehdr *elf = (void *)image.bytes;
	const Elf64_Phdr *ph;
	int i;

	PD_TRY(eh_usable());
	PD_TRY(eh_read_images(&image, &other));
	ph = (void *)(image.bytes + elf->e_phoff);
	for (i = 0; i < elf->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !(ph[i].p_flags & PF_W) &&
		    ph[i].p_vaddr != ph[i].p_offset)
			return pd_skip("the object cannot be mapped in one piece");
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			tables = &ph[i];
	}
	PD_CHECK(tables && !(tables->p_offset % getpagesize()), "no page of tables");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return pd_skip("no mount namespace: %s", strerror(errno));
	PD_CHECK(!mkdir(DIR, 0700) || errno == EEXIST, "%s: %s", DIR, strerror(errno));
	PD_CHECK(!mount("none", DIR, "ramfs", 0, NULL), "ramfs: %s", strerror(errno));
	return 0;
}

/* The steps of a walk through the object at @at. */
static void set_steps(eh_step steps[5], char *at)
{
	char *function = at + image.step;
	eh_step step;

	memcpy(&step, &function, sizeof(step));
	steps[0] = eh_pushes;
	steps[1] = step;
	steps[2] = eh_plain;
	steps[3] = step;
	steps[4] = eh_leaf;
}

/* Walk twice: first without cached rules, then with them. */
static int walk_right(char *at)
{
	static struct eh_walk walk;
	struct pd_event event;
	eh_step steps[5];

	set_steps(steps, at);
	PD_TRY(eh_open(&event));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	pd_event_close(&event);
	return 0;
}

/* All frames up to the first one in the object at @at must be right. The others may be wrong. */
static int walk_through_lies(struct pd_event *event, char *at)
{
	static struct eh_walk walk;
	const struct pd_rec *stack;
	struct pd_log log;
	eh_step steps[5];
	unsigned int n;

	set_steps(steps, at);
	PD_TRY(eh_sample(event, &log, &walk, steps, &stack));
	PD_CHECK(stack->nr_user >= 2, "%u frames", stack->nr_user);
	for (n = 1; n < stack->nr_user && n <= walk.nr; n++) {
		PD_CHECK(stack->user[n] == walk.ra[walk.nr - n],
			 "frame %u is %#llx, should be %#lx", n, stack->user[n],
			 walk.ra[walk.nr - n]);
		if (stack->user[n] - (unsigned long)at < image.size)
			break;
	}
	pd_log_free(&log);
	return 0;
}

static unsigned int next_random(unsigned long *seed)
{
	*seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
	return *seed >> 33;
}

/* Change one to four values of the headers or the tables; mostly to numbers that are at a limit. */
static void damage_image(unsigned long seed)
{
	static const __u64 limits[] = { 0, 1, 7, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 1UL << 47, (1UL << 47) - 4096, 1UL << 63, -1UL, -8UL };
	int nr = 1 + next_random(&seed) % 4, size;
	size_t offset;
	__u64 value;

	bad = image;
	while (nr--) {
		size = 1 << next_random(&seed) % 4;
		offset = next_random(&seed) % 4 ?
			tables->p_offset + next_random(&seed) % 0x98 :
			next_random(&seed) % (64 + 9 * sizeof(*tables));
		value = next_random(&seed) % 3 ? limits[next_random(&seed) % ARRAY_SIZE(limits)] :
			next_random(&seed);
		memcpy(bad.bytes + offset, &value, size);
	}
}

static int tables_that_lie(void)
{
	unsigned long round, rounds = pd_scale(400);
	struct pd_event event;
	char *at, *good;

	PD_TRY(prepare_images());
	PD_TRY(eh_write_image(GOOD, &image));
	PD_TRY(eh_map_image(GOOD, eh_whole_pages(image.size), &good));
	PD_TRY(eh_open(&event));
	for (round = 0; round < rounds; round++) {
		damage_image(round);
		PD_TRY(eh_write_image(BAD, &bad));
		PD_TRY(eh_map_image(BAD, eh_whole_pages(image.size), &at));
		if (walk_through_lies(&event, at) || walk_through_lies(&event, at))
			return pd_fail("round %lu", round);
		munmap(at, eh_whole_pages(image.size));
		unlink(BAD);
	}
	pd_event_close(&event);
	return walk_right(good);
}

/* A disk whose reads wait; children and the thread of its server share it. */
static struct pd_fuse *slow;

/* Map the object, but take its tables from the slow disk. */
static int map_slow_tables(char **at)
{
	size_t page = sizeof(slow->page);

	slow = mmap(NULL, sizeof(*slow), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(slow != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(slow->page, image.bytes + tables->p_offset, page);
	PD_TRY(pd_fuse_start(slow));
	PD_TRY(eh_write_image(GOOD, &image));
	PD_TRY(eh_map_image(GOOD, eh_whole_pages(image.size), at));
	PD_CHECK(mmap(*at + tables->p_offset, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, slow->disk,
		      0) != MAP_FAILED, "mmap of the tables: %s", strerror(errno));
	return 0;
}

static void *serve_later(void *unused)
{
	(void)unused;
	if (pd_fuse_wait_reader(slow, PATIENCE))
		pd_sleep_ms(100);
	pd_fuse_serve(slow);
	return NULL;
}

static int tables_that_come_late(void)
{
	pthread_t server;
	int ret;
	char *at;

	PD_TRY(prepare_images());
	PD_TRY(map_slow_tables(&at));
	PD_CHECK(!pthread_create(&server, NULL, serve_later, NULL), "no thread");
	ret = walk_right(at);
	PD_CHECK(PD_READ(slow->reader), "the tables were not read");
	pthread_join(server, NULL);
	return ret;
}

static int walk_in_child(void *at)
{
	return walk_right(at);
}

static int tables_that_never_come(void)
{
	struct pd_child child;
	char *at;

	PD_TRY(prepare_images());
	PD_TRY(map_slow_tables(&at));
	PD_TRY(pd_child_start(&child, walk_in_child, at));
	pd_child_go(&child);
	PD_CHECK(pd_fuse_wait_reader(slow, PATIENCE), "the tables are not read");
	pd_sleep_ms(100);
	kill(child.pid, SIGKILL);
	PD_CHECK(pd_child_wait(&child, PATIENCE) == SIGKILL, "the task cannot be killed");
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(tables_that_lie),
	PD_TEST(tables_that_come_late),
	PD_TEST(tables_that_never_come),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics and settings of walks: the counters in debugfs, the enabled
 * methods, and the caches, which only profiled processes have.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_image.h"
#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_stack.h"
#include "pd_test.h"

#define CALLS		50
#define DEPTH		20

static const eh_step steps[] = { eh_plain, eh_pushes, eh_deep, eh_leaf };

static int set_methods(int methods)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", methods);
	return pd_write_str(EH_METHODS, text);
}

/* Maps and unmaps a library, makes the calls of @steps, and maps and unmaps another library. */
static int use_objects(void *unused)
{
	struct eh_walk walk = {};

	(void)unused;
	dlclose(dlopen(pd_beside(EH_LARGE), RTLD_NOW));
	eh_run(&walk, steps);
	dlclose(dlopen(pd_beside(EH_SMALL), RTLD_NOW));
	pd_child_says();
	pause();
	return 0;
}

static int caches_beside(bool profiled, long *caches)
{
	struct pd_child child;
	struct pd_event event;
	int ret;

	PD_TRY(pd_child_start(&child, use_objects, NULL));
	if (profiled) {
		struct perf_event_attr attr;

		PD_TRY(eh_attr(&attr));
		PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
		pd_enable(&event);
	}
	pd_child_go(&child);
	ret = !pd_child_wait_said(&child, 1, 10);
	*caches = eh_counter("caches");
	kill(child.pid, SIGKILL);
	pd_child_wait(&child, 10);
	if (profiled)
		pd_event_close(&event);
	PD_CHECK(!ret, "the child does not get there");
	return 0;
}

/* A process has a cache from its first walk to its exit, and none without a walk. */
static int caches_of_the_profiled(void)
{
	long before, none, one;

	PD_TRY(eh_counted());
	before = eh_counter("caches");
	PD_TRY(caches_beside(false, &none));
	PD_CHECK(none == before, "%ld caches, %ld before", none, before);
	PD_TRY(caches_beside(true, &one));
	PD_CHECK(one == before + 1, "%ld caches, %ld before", one, before);
	PD_CHECK(eh_counter("caches") == before, "%ld caches are left of %ld", eh_counter("caches"),
		 before);
	return PD_PASS;
}

/* A new process does not share the cache of its parent. */
static int none_by_fork(void)
{
	static struct eh_walk walk;
	struct pd_event event;
	long before, forked;

	PD_TRY(eh_counted());
	PD_TRY(eh_open(&event));
	before = eh_counter("caches");
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_CHECK(eh_counter("caches") == before + 1, "no cache for the parent");
	PD_TRY(caches_beside(false, &forked));
	PD_CHECK(forked == before + 1, "%ld caches with a child, %ld without", forked, before + 1);
	PD_CHECK(eh_counter("caches") == before + 1, "the child took the cache with it");
	return eh_run_and_check(&event, &walk, steps);
}

static int given_back(void)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_counted());
	PD_TRY(eh_open(&event));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_CHECK(eh_counter("caches") > 0, "no cache");
	PD_CHECK(!pd_write_str("/proc/sys/vm/drop_caches", "2"), "drop_caches failed");
	PD_CHECK(!eh_counter("caches"), "%ld caches are left", eh_counter("caches"));
	return eh_run_and_check(&event, &walk, steps);
}

#define SHRINKERS	"/sys/kernel/debug/shrinker/"

/* Let the shrinker of the caches look at @nr caches. */
static int scan_caches(long nr)
{
	char path[128], text[32];
	glob_t found;
	int err;

	if (glob(SHRINKERS "unwind_user-*/scan", 0, NULL, &found))
		return pd_skip("no CONFIG_SHRINKER_DEBUG here");
	snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	/* cgroup, node, number */
	snprintf(text, sizeof(text), "0 0 %ld", nr);
	err = pd_write_str(path, text);
	PD_CHECK(!err, "%s: %s", path, strerror(err));
	return 0;
}

/* The shrinker frees the cache of an idle process before that of a busy one, which is older. */
static int idle_first(void)
{
	static struct eh_walk walk;
	struct perf_event_attr attr;
	struct pd_event event, other;
	struct pd_child child;
	long before, kept;

	PD_TRY(eh_counted());
	PD_CHECK(!pd_write_str("/proc/sys/vm/drop_caches", "2"), "drop_caches failed");
	before = eh_counter("caches");
	PD_TRY(eh_open(&event));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_TRY(pd_child_start(&child, use_objects, NULL));
	PD_TRY(eh_attr(&attr));
	PD_TRY(pd_must_open(&other, &attr, child.pid, -1));
	pd_enable(&other);
	pd_child_go(&child);
	PD_CHECK(pd_child_wait_said(&child, 1, 10), "the child does not get there");
	PD_CHECK(eh_counter("caches") == before + 2, "%ld caches, %ld before",
		 eh_counter("caches"), before);

	PD_TRY(scan_caches(before + 2));
	PD_CHECK(eh_counter("caches") == before + 2, "a used cache was freed");
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_TRY(scan_caches(before + 2));
	kept = eh_counter("caches");
	kill(child.pid, SIGKILL);
	pd_child_wait(&child, 10);
	PD_CHECK(kept == before + 1, "%ld caches are left of %ld", kept, before + 2);
	PD_CHECK(eh_counter("caches") == kept, "the cache of the busy process was freed");
	return PD_PASS;
}

static const char * const names[] = {
	"frames fp", "frames eh_frame", "ends complete", "ends depth", "ends no_rule",
	"ends stop", "ends fault", "ends bad", "ends gave_up",
};

enum { FP, EH_FRAME, COMPLETE, DEPTH_REACHED, NO_RULE, STOP, FAULT, BAD, GAVE_UP, NR };

static void read_all(long *counts)
{
	int i;

	for (i = 0; i < NR; i++)
		counts[i] = eh_counter(names[i]);
}

/* Make CALLS calls, with stacks of at most @most frames; set @more to the counters' changes. */
static int count_calls(int methods, unsigned int most, void (*call)(void), long *more)
{
	struct perf_event_attr attr;
	struct pd_event event;
	long before[NR];
	int i;

	PD_TRY(eh_attr(&attr));
	attr.sample_max_stack = most;
	PD_CHECK(!set_methods(methods), "no methods %d", methods);
	PD_TRY(pd_must_open(&event, &attr, 0, -1));
	read_all(before);
	pd_enable(&event);
	for (i = 0; i < CALLS; i++)
		call();
	pd_disable(&event);
	read_all(more);
	pd_event_close(&event);
	set_methods(3);
	for (i = 0; i < NR; i++) {
		PD_CHECK(more[i] >= 0, "no counter '%s'", names[i]);
		more[i] -= before[i];
	}
	return 0;
}

static void call_named(void)
{
	pd_call(0, DEPTH, pd_leaf_getppid, NULL);
}

static unsigned long stack[64];

/* A system call whose frame pointer leads to the made-up frames in stack[]. */
static void call_on_stack(void)
{
	pd_getppid_on(stack, stack);
}

static int frames_by_method(void)
{
	long more[NR];

	PD_TRY(eh_counted());
	PD_TRY(count_calls(3, EH_MAX_STACK, call_named, more));
	PD_CHECK(more[EH_FRAME] >= CALLS * DEPTH, "%ld frames by tables", more[EH_FRAME]);
	PD_CHECK(more[COMPLETE] == CALLS, "%ld complete", more[COMPLETE]);

	PD_TRY(count_calls(1, EH_MAX_STACK, call_named, more));
	PD_CHECK(more[FP] >= CALLS * DEPTH, "%ld frames by frame pointers", more[FP]);
	PD_CHECK(!more[EH_FRAME], "%ld frames by tables, which are off", more[EH_FRAME]);

	PD_TRY(count_calls(2, EH_MAX_STACK, call_named, more));
	PD_CHECK(!more[FP], "%ld frames by frame pointers, which are off", more[FP]);
	PD_CHECK(more[EH_FRAME] >= CALLS * DEPTH, "%ld frames by tables", more[EH_FRAME]);

	PD_TRY(count_calls(0, EH_MAX_STACK, call_named, more));
	PD_CHECK(!more[FP] && !more[EH_FRAME], "frames without a method");
	PD_CHECK(more[NO_RULE] == CALLS, "%ld without a rule", more[NO_RULE]);
	PD_CHECK(set_methods(4), "there is a third method");
	return PD_PASS;
}

/* Map a page of code that looks like an object whose program headers are not mapped. */
static unsigned char *map_refused(size_t page)
{
	Elf64_Ehdr *elf = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

	if (elf == MAP_FAILED)
		return NULL;
	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_ident[EI_CLASS] = ELFCLASS64;
	elf->e_ident[EI_DATA] = ELFDATA2LSB;
	elf->e_machine = EM_X86_64;
	elf->e_phentsize = sizeof(Elf64_Phdr);
	elf->e_phnum = 1;
	elf->e_phoff = page;
	return mprotect(elf, page, PROT_READ | PROT_EXEC) ? NULL : (unsigned char *)elf;
}

static int ends_of_walks(void)
{
	unsigned long page = getpagesize();
	unsigned char *refused;
	unsigned long *none;
	long more[NR];

	PD_TRY(eh_counted());
	PD_TRY(count_calls(3, 5, call_named, more));
	PD_CHECK(more[DEPTH_REACHED] == CALLS, "%ld reach the depth", more[DEPTH_REACHED]);

	none = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(none != MAP_FAILED, "mmap: %s", strerror(errno));
	stack[0] = (unsigned long)none;
	/* the frame pointer method accepts only an address that follows a call */
	stack[1] = (unsigned long)__builtin_return_address(0);
	PD_TRY(count_calls(1, EH_MAX_STACK, call_on_stack, more));
	PD_CHECK(more[FAULT] == CALLS, "%ld end in a fault", more[FAULT]);

	/* a frame that is its own caller */
	stack[0] = (unsigned long)stack;
	PD_TRY(count_calls(1, EH_MAX_STACK, call_on_stack, more));
	PD_CHECK(more[BAD] == CALLS, "%ld end at invalid values", more[BAD]);

	refused = map_refused(page);
	PD_CHECK(refused, "no mapping: %s", strerror(errno));
	stack[0] = (unsigned long)(stack + 8);
	stack[1] = (unsigned long)refused + 0x100;
	PD_TRY(count_calls(3, EH_MAX_STACK, call_on_stack, more));
	PD_CHECK(more[STOP] == CALLS, "%ld stop", more[STOP]);
	return PD_PASS;
}

static int run_program(void *unused)
{
	(void)unused;
	execl("/bin/true", "true", NULL);
	return 1;
}

/*
 * The dynamic linker starts in code without tables, whose frame is the outermost one.
 * The page faults of a program that does nothing are mostly in the linker.
 */
static int starts_of_programs(void)
{
	struct perf_event_attr attr;
	long before[NR], more[NR];
	struct pd_event event;
	struct pd_child child;
	int i;

	PD_TRY(eh_counted());
	pd_attr_init(&attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.enable_on_exec = 1;
	PD_TRY(eh_deepen(&attr));
	PD_TRY(pd_child_start(&child, run_program, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	read_all(before);
	pd_child_go(&child);
	pd_child_wait(&child, 10);
	read_all(more);
	pd_event_close(&event);
	for (i = 0; i < NR; i++)
		more[i] -= before[i];
	PD_CHECK(more[COMPLETE] > 10, "%ld complete", more[COMPLETE]);
	for (i = NO_RULE; i < NR; i++)
		PD_CHECK(!more[i], "%ld of %ld: %s", more[i], more[COMPLETE] + more[i], names[i]);
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(caches_of_the_profiled),
	PD_TEST(none_by_fork),
	PD_TEST(given_back),
	PD_TEST(idle_first),
	PD_TEST(frames_by_method),
	PD_TEST(ends_of_walks),
	PD_TEST(starts_of_programs),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

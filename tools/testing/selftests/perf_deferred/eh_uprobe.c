// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks at places that only exist with uprobes: at a breakpoint, in the copy of a
 * probed instruction, and in the trampoline of a uretprobe. The stacks must be the
 * same as without uprobes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_test.h"

#define MAX_PLACES	4
#define MAX_PROBES	4

static char *fresh_page;

/* The checks of the walk do not compare addresses in this function. */
static PD_IN("eh_text_library") long calls_probed(struct eh_walk *walk)
{
	EH_ENTER(walk);
	eh_note(walk, EH_LIBRARY);
	eh_probed_leaf(fresh_page, eh_probed_target);
	return 0;
}

static const eh_step steps[] = { eh_plain, eh_pushes, eh_aligned, calls_probed };

/* The expected innermost frames of each sample; 0 ends a list. */
struct place {
	const void *at, *from;
};

static int check_place(const struct eh_walk *walk, const struct pd_rec *stack,
		       const struct place *place)
{
	PD_CHECK(stack->nr_user > 2 && stack->user[0] == (unsigned long)place->at,
		 "the innermost frame is %#llx, should be %p", stack->user[0], place->at);
	PD_CHECK(!place->from || stack->user[1] == (unsigned long)place->from,
		 "the next frame is %#llx, should be %p", stack->user[1], place->from);
	return eh_check(walk, stack);
}

static int check_places(struct pd_log *log, const struct eh_walk *walk,
			const struct place *places, bool all)
{
	const struct pd_rec *sample = NULL, *stack;
	unsigned int nr = 0;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED, "no record");
		if (!all && stack->nr_user && stack->user[0] != (unsigned long)places[nr].at)
			continue;
		PD_CHECK(places[nr].at, "more than %u samples", nr);
		if (check_place(walk, stack, &places[nr])) {
			pd_note_stack("stack", stack);
			return PD_FAIL;
		}
		nr++;
	}
	PD_CHECK(!places[nr].at, "only %u samples", nr);
	return PD_PASS;
}

static int map_fresh_page(void)
{
	fresh_page = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(fresh_page != MAP_FAILED, "mmap: %s", strerror(errno));
	return 0;
}

static int open_probe(struct pd_event *event, const void *at, bool on_return)
{
	struct perf_event_attr attr;

	PD_TRY(pd_attr_uprobe(&attr, at, on_return));
	PD_TRY(pd_must_open(event, &attr, 0, -1));
	pd_enable(event);
	return 0;
}

struct probe {
	const void *at;
	bool on_return;
};

/* Sample the walk by an event, with probes set. */
static int walk_probed(struct perf_event_attr *attr, const struct probe *probes,
		       const struct place *places, bool all)
{
	struct pd_event event, probing[MAX_PROBES];
	static struct eh_walk walk, unprobed;
	struct pd_log log = {};
	int i;

	PD_TRY(eh_deepen(attr));
	PD_TRY(map_fresh_page());
	eh_run(&unprobed, steps);
	for (i = 0; probes[i].at; i++)
		PD_TRY(open_probe(&probing[i], probes[i].at, probes[i].on_return));
	/* The first hit of a probe makes uprobes map the page for the copies of instructions. */
	eh_run(&walk, steps);
	PD_TRY(map_fresh_page());
	PD_TRY(pd_must_open(&event, attr, 0, -1));
	pd_enable(&event);
	eh_run(&walk, steps);
	pd_disable(&event);
	while (i--)
		pd_event_close(&probing[i]);
	pd_drain(&event, &log);
	/* with a uretprobe, walk.ra has the trampoline: expect the addresses without probes */
	memcpy(walk.ra, unprobed.ra, sizeof(walk.ra));
	PD_TRY(pd_log_clean(&log));
	return check_places(&log, &walk, places, all);
}

/* Sample when a uprobe's breakpoint is hit, and when its instruction has been stepped. */
static int walk_notified(const void *at, const struct place *places)
{
	const struct probe probes[MAX_PROBES] = { { at, false } };
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "uprobe_notify_resume"));
	return walk_probed(&attr, probes, places, true);
}

/* Probe a push, which changes the stack pointer. Uprobes emulate it, so no step is sampled. */
static int at_breakpoint(void)
{
	const struct place places[MAX_PLACES] = { { eh_probed_leaf, NULL } };

	return walk_notified(eh_probed_leaf, places);
}

static int after_step(void)
{
	const struct place places[MAX_PLACES] = {
		{ eh_probed_load, NULL }, { eh_probed_loaded, NULL },
	};

	return walk_notified(eh_probed_load, places);
}

/* The copy of the probed call has pushed a return address that lies in the copy. */
static int after_stepped_call(void)
{
	const struct place places[MAX_PLACES] = {
		{ eh_probed_call, NULL }, { eh_probed_target, eh_probed_called },
	};

	return walk_notified(eh_probed_call, places);
}

/* The probed instruction faults while it is stepped. */
static int in_slot(void)
{
	const struct place places[MAX_PLACES] = { { eh_probed_load, NULL } };
	const struct probe probes[MAX_PROBES] = { { eh_probed_load, false } };
	struct perf_event_attr attr;

	pd_attr_init(&attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	return walk_probed(&attr, probes, places, false);
}

/* Sample in the system call of the trampoline, when the function has returned. */
static int in_trampoline(void)
{
	const struct place places[MAX_PLACES] = { { eh_probed_called, NULL } };
	const struct probe probes[MAX_PROBES] = { { eh_probed_target, true } };
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_uretprobe"));
	return walk_probed(&attr, probes, places, true);
}

/* Two functions of the stack will return to the trampoline. */
static int below_trampoline(void)
{
	const struct place places[MAX_PLACES] = {
		{ eh_probed_load, NULL }, { eh_probed_loaded, NULL },
	};
	const struct probe probes[MAX_PROBES] = {
		{ eh_probed_load, false }, { eh_probed_leaf, true }, { eh_aligned, true },
	};
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "uprobe_notify_resume"));
	return walk_probed(&attr, probes, places, false);
}

/*
 * Single-step through the trampoline. After each instruction, the SIGTRAP handler makes a system
 * call, which is sampled. The frames of the handler and its restorer come before the trampoline.
 */
#define TRAP_FLAG	0x100

static bool stepping;
static unsigned long trampoline;
static unsigned int nr_in_trampoline;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	regs[REG_EFL] &= ~TRAP_FLAG;
	if (!stepping)
		return;
	regs[REG_EFL] |= TRAP_FLAG;
	if (regs[REG_RIP] - trampoline < (unsigned long)getpagesize()) {
		eh_syscall3(SYS_getppid, 0, 0, 0);
		nr_in_trampoline++;
	}
}

static PD_IN("eh_text_library") long steps_probed(struct eh_walk *walk)
{
	EH_ENTER(walk);
	eh_note(walk, EH_LIBRARY);
	stepping = true;
	eh_syscall3(SYS_tgkill, getpid(), eh_syscall3(SYS_gettid, 0, 0, 0), SIGTRAP);
	eh_probed_leaf(fresh_page, eh_probed_target);
	stepping = false;
	return 0;
}

static unsigned long find_trampoline(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0;
	char line[512];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "[uprobes]") && sscanf(line, "%lx", &start) == 1;
	if (maps)
		fclose(maps);
	return found ? start : 0;
}

/* Check the frames after the handler and its restorer. */
static int check_stepped(struct pd_log *log, const struct eh_walk *walk)
{
	const struct place place = { eh_probed_called, NULL };
	const struct pd_rec *sample = NULL, *stack;
	struct pd_rec interrupted;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED, "no record");
		PD_CHECK(stack->nr_user > 2, "only %u frames", stack->nr_user);
		interrupted = *stack;
		interrupted.user += 2;
		interrupted.nr_user -= 2;
		if (check_place(walk, &interrupted, &place)) {
			pd_note_stack("stack", stack);
			return PD_FAIL;
		}
	}
	return 0;
}

static int trampoline_interrupted(void)
{
	static const eh_step stepped[] = { eh_plain, eh_pushes, eh_aligned, steps_probed };
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct pd_event event, probing;
	static struct eh_walk walk;
	struct pd_log log = {};

	PD_TRY(map_fresh_page());
	PD_TRY(open_probe(&probing, eh_probed_target, true));
	eh_run(&walk, steps);
	trampoline = find_trampoline();
	PD_CHECK(trampoline, "no [uprobes]");
	PD_TRY(eh_open(&event));
	sigaction(SIGTRAP, &action, NULL);
	pd_enable(&event);
	eh_run(&walk, stepped);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	pd_note("%u steps in the trampoline", nr_in_trampoline);
	PD_CHECK(nr_in_trampoline >= 5 &&
		 pd_log_count(&log, PERF_RECORD_SAMPLE) == nr_in_trampoline,
		 "%zu samples of %u steps", pd_log_count(&log, PERF_RECORD_SAMPLE),
		 nr_in_trampoline);
	return check_stepped(&log, &walk);
}

const struct pd_test pd_tests[] = {
	PD_TEST(at_breakpoint),
	PD_TEST(after_step),
	PD_TEST(after_stepped_call),
	PD_TEST(in_slot),
	PD_TEST(in_trampoline),
	PD_TEST(below_trampoline),
	PD_TEST(trampoline_interrupted),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

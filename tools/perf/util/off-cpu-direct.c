// SPDX-License-Identifier: GPL-2.0
/*
 * Off-CPU recording by perf record: the event offcpu-time, to which the BPF program
 * writes, and the set-up, start and end of that program.
 *
 * For the kernel, the event is BPF output on every CPU. For readers of the file it has
 * ordinary samples: off-cpu-unpack.c makes them from the output.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <perf/cpumap.h>
#include <internal/evlist.h>
#include <internal/xyarray.h>
#include <subcmd/parse-options.h>

#include "callchain.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "off-cpu-direct.h"
#include "off_cpu.h"

#include "bpf_skel/off_cpu.skel.h"

#define DEFAULT_THRESHOLD_MS	500
#define MAX_THRESHOLD_MS	(24ULL * 3600 * MSEC_PER_SEC)

#define FILE_SAMPLE_TYPES	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
				 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
				 PERF_SAMPLE_CALLCHAIN)

/* Upper limit for the size of the records of one task that sleeps when recording ends. */
#define TASK_BYTES	2048

static u64 threshold_ms = DEFAULT_THRESHOLD_MS;

/* Can the BPF program get cookies? */
static bool can_defer;

/* An option excludes the user half. */
static bool no_user_half;

/* The event. Do not look it up by its name: the user may give the same name to another event. */
static struct evsel *offcpu_evsel;

/* The event's attributes for the file. While the event is opened, it has others for the kernel. */
static struct perf_event_attr file_attr;

/* The clock of the program. */

/*
 * timens_offsets has the clock offsets of child processes. This process has the same offsets
 * if it is in the time namespace of its children.
 */
static bool has_offsets_of_children(void)
{
	char own[PATH_MAX] = "", children[PATH_MAX] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", children, sizeof(children) - 1) > 0 &&
	       !strcmp(own, children);
}

/* The offset that the time namespace adds to CLOCK_MONOTONIC, see time_namespaces(7). */
static s64 added_by_namespace(void)
{
	long long sec = 0, nsec = 0;
	char line[128];
	FILE *offsets;

	offsets = has_offsets_of_children() ? fopen("/proc/self/timens_offsets", "r") : NULL;
	if (!offsets)
		return 0;
	while (fgets(line, sizeof(line), offsets)) {
		if (sscanf(line, "monotonic %lld %lld", &sec, &nsec) == 2)
			break;
	}
	fclose(offsets);
	return sec * NSEC_PER_SEC + nsec;
}

/**
 * off_cpu_clock - the current value of bpf_ktime_get_ns()
 *
 * Return: nanoseconds in the initial time namespace.
 */
u64 off_cpu_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + t.tv_nsec - added_by_namespace();
}

/* The event. */

/**
 * off_cpu_parse_threshold - take the argument of --off-cpu-thresh
 * @opt: the option; @opt->value points to the flag of --off-cpu, which is set as well
 * @str: milliseconds
 * @unset: the option was negated: use the default
 *
 * Return: 0, or -1 with a message.
 */
int off_cpu_parse_threshold(const struct option *opt, const char *str, int unset)
{
	unsigned long long ms;
	char *end;

	if (unset) {
		threshold_ms = DEFAULT_THRESHOLD_MS;
		return 0;
	}
	errno = 0;
	ms = strtoull(str, &end, 10);
	if (!isdigit(*str) || *end || errno || ms > MAX_THRESHOLD_MS) {
		pr_err("--off-cpu-thresh: '%s' is not a number of milliseconds from 0 to %llu\n",
		       str, MAX_THRESHOLD_MS);
		return -1;
	}
	threshold_ms = ms;
	*(bool *)opt->value = true;
	return 0;
}

/**
 * off_cpu_event__add - add the event
 * @evlist: the events
 * @kernel_callchains: exclude the user half of callchains
 *
 * A wait may end on any CPU, so the event is opened on all CPUs, also with -C.
 *
 * Return: 0 or -ENOMEM.
 */
int off_cpu_event__add(struct evlist *evlist, bool kernel_callchains)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_BPF_OUTPUT,
		.size		= sizeof(attr),
		.sample_type	= FILE_SAMPLE_TYPES,
		.sample_period	= 1,
	};
	char *name = strdup(OFFCPU_EVENT);
	struct evsel *evsel = name ? evsel__new(&attr) : NULL;

	if (!evsel) {
		free(name);
		return -ENOMEM;
	}
	free(evsel->name);
	evsel->name = name;
	evsel->immediate = true;
	no_user_half = kernel_callchains;
	offcpu_evsel = evsel;
	evlist__add(evlist, evsel);
	perf_evlist__go_system_wide(&evlist->core, &evsel->core);
	return 0;
}

/**
 * off_cpu_give_up - continue without the event, if there are others
 * @evlist: the events, without offcpu-time
 *
 * Return: false if there is nothing else to record.
 */
bool off_cpu_give_up(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_dummy_event(evsel)) {
			pr_warning("WARNING: there will be no samples of %s.\n", OFFCPU_EVENT);
			return true;
		}
	}
	return false;
}

/*
 * Adapt the attributes that evsel__config() has set.  The user half never comes from a copy
 * of the stack (dwarf) or from branches (lbr): it is deferred, or the BPF program walks it by
 * frame pointers.
 */
static void set_attr(struct perf_event_attr *attr)
{
	attr->sample_type &= PERF_SAMPLE_CGROUP;
	attr->sample_type |= FILE_SAMPLE_TYPES;
	attr->freq = 0;
	attr->sample_period = 1;
	attr->inherit = 0;
	attr->inherit_stat = 0;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = 0;
	attr->sample_regs_intr = 0;
	attr->sample_stack_user = 0;
	attr->exclude_callchain_user = no_user_half;
}

static void warn_in_place(struct evsel *evsel)
{
	if (evsel->core.attr.defer_callchain)
		pr_warning("WARNING: the kernel cannot defer the user callchains of %s, they are taken in place.\n",
			   OFFCPU_EVENT);
	evsel->core.attr.defer_callchain = 0;
}

/**
 * off_cpu_event__before_open - give the event the attributes for the kernel
 *
 * Called after evsel__config() has set up the event's attributes for the file.
 */
void off_cpu_event__before_open(void)
{
	struct evsel *evsel = offcpu_evsel;

	if (!can_defer)
		warn_in_place(evsel);
	set_attr(&evsel->core.attr);
	file_attr = evsel->core.attr;
	evsel->core.attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
}

/**
 * off_cpu_event__after_open - let the BPF program write to the event
 * @output_fd: the program's map of outputs
 *
 * Return: the event
 */
struct evsel *off_cpu_event__after_open(int output_fd)
{
	struct evsel *evsel = offcpu_evsel;
	struct perf_cpu cpu;
	int idx;

	evsel->core.attr = file_attr;
	evsel->sample_size = __evsel__sample_size(file_attr.sample_type);
	evsel__calc_id_pos(evsel);

	perf_cpu_map__for_each_cpu(cpu, idx, evsel->core.cpus) {
		int *fd = xyarray__entry(evsel->core.fd, idx, 0);

		if (bpf_map_update_elem(output_fd, &cpu.cpu, fd, BPF_ANY))
			pr_warning("WARNING: there will be no samples of %s from CPU %d: %m.\n",
				   OFFCPU_EVENT, cpu.cpu);
	}
	return evsel;
}

/* The program. */

static bool btf_has(const struct btf *btf, const char *name, u32 kind)
{
	return btf__find_by_name_kind(btf, name, kind) > 0;
}

static const struct bpf_insn return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Without -v, suppress messages of libbpf: perf prints its own. */
static libbpf_print_fn_t begin_quietly(void)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);

	if (verbose > 0)
		libbpf_set_print(print);
	return print;
}

static struct btf *load_types(void)
{
	libbpf_print_fn_t print = begin_quietly();
	struct btf *btf = btf__load_vmlinux_btf();

	libbpf_set_print(print);
	return btf;
}

/**
 * off_cpu_run__is_possible - does the kernel support measuring time off the CPU?
 *
 * Return: false, with a message, if it does not.
 */
bool off_cpu_run__is_possible(void)
{
	struct btf *btf = load_types();
	int prog;

	if (!btf) {
		pr_err("Cannot measure time off the CPU: the kernel has no type information (BTF).\n");
		return false;
	}
	btf__free(btf);

	prog = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", return_0,
			     ARRAY_SIZE(return_0), NULL);
	if (prog < 0) {
		pr_err("Cannot measure time off the CPU: no BPF program can be loaded: %s.\n",
		       strerror(-prog));
		return false;
	}
	close(prog);
	return true;
}

/* fentry depends on the configuration of the kernel, so try it. */
static bool can_trace(const char *function)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FENTRY);
	int prog, link = -1;

	if (id < 0)
		return false;
	opts.attach_btf_id = id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", return_0,
			     ARRAY_SIZE(return_0), &opts);
	if (prog < 0)
		return false;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link >= 0)
		close(link);
	close(prog);
	return link >= 0;
}

static struct bpf_insn call_of(const struct btf *btf, const char *function)
{
	struct bpf_insn insn = {
		.code = BPF_JMP | BPF_CALL,
		.src_reg = BPF_PSEUDO_KFUNC_CALL,
		.imm = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC),
	};

	return insn;
}

/*
 * Can a program disable preemption? If BPF is interpreted, the kernel refuses any
 * program that contains a call of a kernel function, even if the call is never reached.
 */
static bool can_stay_on(const struct btf *btf)
{
	struct bpf_insn insns[] = {
		call_of(btf, "bpf_preempt_disable"),
		call_of(btf, "bpf_preempt_enable"),
		return_0[0],
		return_0[1],
	};
	int prog;

	prog = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns,
			     ARRAY_SIZE(insns), NULL);
	if (prog >= 0)
		close(prog);
	return prog >= 0;
}

static void choose_program(bool first, struct bpf_program *one, struct bpf_program *other)
{
	bpf_program__set_autoload(first ? one : other, true);
}

/**
 * off_cpu_run__configure - configure the program for the options and the kernel
 * @skel: opened, not yet loaded
 */
void off_cpu_run__configure(struct off_cpu_bpf *skel)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool stays_on = can_stay_on(btf);

	/* if the kernel has bpf_preempt_disable() but refuses the call, it refuses all kfuncs */
	can_defer = btf_has(btf, "bpf_perf_defer_callchain", BTF_KIND_FUNC) &&
		    (stays_on || !btf_has(btf, "bpf_preempt_disable", BTF_KIND_FUNC));
	choose_program(can_defer && callchain_param.enabled && callchain_param.defer,
		       skel->progs.on_switch_deferring, skel->progs.on_switch);
	choose_program(stays_on, skel->progs.iter_begin_at_rest, skel->progs.iter_begin);
	skel->rodata->threshold = threshold_ms * NSEC_PER_MSEC;
	if (btf_has(btf, "btf_trace_sched_prepare_exec", BTF_KIND_TYPEDEF))
		bpf_program__set_autoload(skel->progs.on_exec, true);
	else if (can_trace("begin_new_exec"))
		bpf_program__set_autoload(skel->progs.on_begin_exec, true);
	if (can_trace("exit_signals"))
		choose_program(stays_on, skel->progs.on_exit_at_rest, skel->progs.on_exit);
	btf__free(btf);
}

static bool is_done(int err, const char *what)
{
	char why[128];

	if (!err)
		return true;
	libbpf_strerror(err, why, sizeof(why));
	pr_err("Cannot measure time off the CPU: the BPF program cannot be %s: %s (-v says more).\n",
	       what, why);
	return false;
}

/**
 * off_cpu_run__load - load the program into the kernel
 * @skel: configured
 *
 * Return: true, or false with a message if the kernel refuses it.
 */
bool off_cpu_run__load(struct off_cpu_bpf *skel)
{
	libbpf_print_fn_t print = begin_quietly();
	int err = off_cpu_bpf__load(skel);

	libbpf_set_print(print);
	return is_done(err, "loaded");
}

/**
 * off_cpu_run__attach - attach the program
 * @skel: loaded
 *
 * Return: true, or false with a message if that fails.
 */
bool off_cpu_run__attach(struct off_cpu_bpf *skel)
{
	libbpf_print_fn_t print = begin_quietly();
	int err = off_cpu_bpf__attach(skel);

	libbpf_set_print(print);
	return is_done(err, "attached");
}

/* Return the size of the smallest ring buffer that is not in overwrite mode, or 0. */
static size_t smallest_buffer(struct evlist *evlist)
{
	size_t size, least = 0;
	int i;

	for (i = 0; evlist->mmap && i < evlist->core.nr_mmaps; i++) {
		if (!evlist->mmap[i].core.base)
			continue;
		size = evlist->mmap[i].core.mask + 1;
		if (!least || size < least)
			least = size;
	}
	return least;
}

static bool is_half_full(struct mmap *map)
{
	struct perf_event_mmap_page *page = map->core.base;

	return page && READ_ONCE(page->data_head) - READ_ONCE(page->data_tail) >
		       ((unsigned int)map->core.mask + 1) / 2;
}

static u64 bytes_read(struct evlist *evlist)
{
	u64 bytes = 0;
	int i;

	for (i = 0; evlist->mmap && i < evlist->core.nr_mmaps; i++) {
		struct perf_event_mmap_page *page = evlist->mmap[i].core.base;

		bytes += page ? READ_ONCE(page->data_tail) : 0;
	}
	return bytes;
}

/*
 * Wait until no buffer is more than half full.  This thread reads its own buffers here.  Other
 * threads read theirs as soon as these are half full.  Fail if reading or writing fails, or if no
 * one reads for a second.
 */
static bool wait_for_room(struct evlist *evlist)
{
	u64 before = bytes_read(evlist);
	int i, tries;

	for (tries = 0; tries < 1000; tries++) {
		if (off_cpu_drain() < 0)
			return false;
		for (i = 0; evlist->mmap && i < evlist->core.nr_mmaps; i++)
			if (is_half_full(&evlist->mmap[i]))
				break;
		if (!evlist->mmap || i == evlist->core.nr_mmaps)
			return true;
		usleep(USEC_PER_MSEC);
	}
	return bytes_read(evlist) != before;
}

/* Start the iterator over all tasks. */
static int start_iterator(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));

	if (fd < 0)
		pr_warning("WARNING: Cannot iterate over sleeping tasks: %s\n", strerror(-fd));
	return fd;
}

static bool look_at_tasks(struct bpf_link *link)
{
	int fd = start_iterator(link);
	char nothing[64];

	if (fd < 0)
		return false;
	while (read(fd, nothing, sizeof(nothing)) > 0)
		;
	close(fd);
	return true;
}

/* Send the waits of sleeping tasks, only as many at a time as fit in the buffers. */
static void send_sleepers(struct bpf_link *link, struct evlist *evlist)
{
	size_t tasks = smallest_buffer(evlist) / 4 / TASK_BYTES;
	int fd = start_iterator(link);
	char a_byte_each[64];
	bool is_read = true;

	if (fd < 0)
		return;
	tasks = max_t(size_t, min_t(size_t, tasks, sizeof(a_byte_each)), 1);
	do
		is_read = is_read && wait_for_room(evlist);
	while (read(fd, a_byte_each, tasks) > 0);
	close(fd);
}

/**
 * off_cpu_run__begin - start recording waits
 * @skel: attached
 * @new_tasks: the recorded tasks do not exist yet
 */
void off_cpu_run__begin(struct off_cpu_bpf *skel, bool new_tasks)
{
	struct bpf_link *link = skel->links.iter_begin_at_rest ?: skel->links.iter_begin;

	/* make the storage of tasks before recording starts */
	bool can_look = look_at_tasks(link);

	skel->bss->enabled = 1;
	if (can_look && !new_tasks)
		look_at_tasks(link);
}

/* Wait for running programs: an update of a map of maps waits until they have ended. */
static void wait_for_programs(struct off_cpu_bpf *skel)
{
	int inner = bpf_map__fd(skel->maps.nothing);
	u32 zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(skel->maps.barrier), &zero, &inner, BPF_ANY))
		usleep(100 * USEC_PER_MSEC);
}

/**
 * off_cpu_run__end - stop recording waits, and send all that are pending
 * @skel: attached
 * @evlist: the events
 *
 * The events must still be enabled, and the caller must read their buffers after this call.
 */
void off_cpu_run__end(struct off_cpu_bpf *skel, struct evlist *evlist)
{
	if (!skel->bss->enabled)
		return;
	/* set @stopped_at before @enabled: a task that exits reads them in reverse order */
	skel->bss->stopped_at = off_cpu_clock();
	__sync_synchronize();
	skel->bss->enabled = 0;
	wait_for_programs(skel);
	send_sleepers(skel->links.iter_end, evlist);
}

static u64 time_left_over(int sums_fd)
{
	struct off_cpu_sum_key key, *last = NULL;
	struct off_cpu_sum sum;
	u64 left = 0;

	while (!bpf_map_get_next_key(sums_fd, last, &key)) {
		last = &key;
		if (!bpf_map_lookup_elem(sums_fd, &key, &sum))
			left += sum.period;
	}
	return left;
}

/**
 * off_cpu_run__report - print warnings about what was not recorded
 * @skel: ended, with all its output read
 */
void off_cpu_run__report(struct off_cpu_bpf *skel)
{
	u64 left = time_left_over(bpf_map__fd(skel->maps.sums));

	if (skel->bss->lost_waits)
		pr_warning("WARNING: Lost %llu waits (%llu ms): the off-CPU map is full.\n",
			   (unsigned long long)skel->bss->lost_waits,
			   (unsigned long long)skel->bss->lost_time / NSEC_PER_MSEC);
	if (skel->bss->missed_waits)
		pr_warning("WARNING: Lost %llu waits: the kernel could not record their start or end.\n",
			   (unsigned long long)skel->bss->missed_waits);
	if (skel->bss->no_room)
		pr_warning("WARNING: Accumulated %llu waits instead of sampling them: ring buffer full, try a larger -m.\n",
			   (unsigned long long)skel->bss->no_room);
	pr_debug("off-cpu: %llu tasks had no storage before their first switch\n",
		 (unsigned long long)skel->bss->made_late);
	if (skel->bss->lost_stacks)
		pr_warning("WARNING: Lost the user stacks of %llu waits: the kernel could not read them.\n",
			   (unsigned long long)skel->bss->lost_stacks);
	if (skel->bss->not_followed)
		pr_warning("WARNING: Task filter full: %llu new tasks not recorded.\n",
			   (unsigned long long)skel->bss->not_followed);
	if (left)
		pr_warning("WARNING: Lost %llu ms of accumulated waits: ring buffer full, try a larger -m.\n",
			   (unsigned long long)left / NSEC_PER_MSEC);
}

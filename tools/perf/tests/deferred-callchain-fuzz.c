// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz the reader of perf.data files with deferred callchains, with libFuzzer:
 *
 *	perf test -w deferred_fuzz seeds FOLDER		write good files to begin with
 *	perf test -w deferred_fuzz -- OPTIONS FOLDER...	fuzz with libFuzzer's options
 *	perf test -w deferred_fuzz FILE...		read the files as the fuzzer does
 *
 * Only a perf that "make perf SAN=1" built contains libFuzzer.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/lib.h>

#include "addr_location.h"
#include "callchain.h"
#include "data.h"
#include "debug.h"
#include "deferred-callchain.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-load.h"
#include "deferred-callchain-mutate.h"
#include "event.h"
#include "evlist.h"
#include "header.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "symbol_conf.h"
#include "tests.h"
#include "tool.h"
#include "util.h"

#define NR_SEEDS	64
/* A time later than the times of all other events in an input. */
#define LATER		100000

static int input_fd;

/* Used without libFuzzer, which has its own functions of these names. */
int __weak LLVMFuzzerRunDriver(int *argc __maybe_unused, char ***argv __maybe_unused,
			       int (*read)(const u8 *data, size_t size) __maybe_unused)
{
	pr_err("This perf was built without libFuzzer; make perf SAN=1 builds one with it.\n");
	return 1;
}

size_t __weak LLVMFuzzerMutate(u8 *data __maybe_unused, size_t size, size_t max __maybe_unused)
{
	return size;
}

static int look_at_sample(SAMPLE_PARAMS)
{
	struct callchain_cursor *cursor = get_tls_callchain_cursor();
	struct addr_location al;

	addr_location__init(&al);
	if (!machine__resolve(machine, &al, sample))
		resolve_callchain(sample, cursor, SAMPLE_EVSEL, &al);
	for (u64 i = 0; sample->callchain && i < sample->callchain->nr; i++)
		printf("%llx\n", (unsigned long long)sample->callchain->ips[i]);
	addr_location__exit(&al);
	return 0;
}

static int look_at_record(const struct perf_tool *tool __maybe_unused, union perf_event *event,
			  struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	printf("%d %llx\n", sample->tid, (unsigned long long)event->callchain_deferred.cookie);
	return 0;
}

/* @way chooses the options with which to read. */
static void init_tool(struct perf_tool *tool, u8 way)
{
	perf_tool__init(tool, /*ordered_events=*/way % 8 != 3);
	tool->sample = look_at_sample;
	tool->callchain_deferred = look_at_record;
	tool->comm = perf_event__process_comm;
	tool->mmap = perf_event__process_mmap;
	tool->mmap2 = perf_event__process_mmap2;
	tool->namespaces = perf_event__process_namespaces;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
	tool->lost = perf_event__process_lost;
	tool->attr = perf_event__process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->id_index = perf_event__process_id_index;
	tool->merge_deferred_callchains = way % 4 != 1;
	tool->no_warn = way % 2;
	dump_trace = way % 4 >= 2;
	verbose = -1;
	symbol_conf.use_callchain = true;
}

static void read_session(u8 way)
{
	char path[32];
	struct perf_data data = { .path = path, .mode = PERF_DATA_MODE_READ, .force = true };
	struct perf_session *session;
	struct perf_tool tool;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", input_fd);
	init_tool(&tool, way);
	session = perf_session__new(&data, &tool);
	if (IS_ERR(session))
		return;

	if (!perf_session__process_events(session))
		deferred_callchain_stats__fprintf(&evlist__stats(session->evlist)->deferred,
						  stdout);
	perf_session__delete(session);
}

/* Does the header have feature bits? The parsing of features is not fuzzed. */
static bool has_features(const u8 *data, size_t size)
{
	for (size_t i = offsetof(struct perf_file_header, adds_features);
	     i < size && i < DEFERRED_WAY_OFFSET; i++) {
		if (data[i])
			return true;
	}
	return false;
}

static int read_input(const u8 *data, size_t size)
{
	bool piped = deferred_mutate__is_piped(data, size);

	if (!piped && has_features(data, size))
		return 0;
	if (ftruncate(input_fd, 0) || pwrite(input_fd, data, size, 0) != (ssize_t)size)
		return 0;

	if (piped)
		read_session(size % DEFERRED_WAYS);
	else
		read_session(size > DEFERRED_WAY_OFFSET ? data[DEFERRED_WAY_OFFSET] : 0);
	return 0;
}

static int run_fuzzer(int argc, const char **argv)
{
	static char buffer[BUFSIZ];
	char exe[PATH_MAX], command[PATH_MAX + 64];
	char **args = calloc(argc + 2, sizeof(*args));
	int ret;

	input_fd = memfd_create("deferred-fuzz-input", 0);
	if (!args || input_fd < 0)
		return -errno;

	/* perf test turns off buffering of stdout */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	/* libFuzzer starts its children with this shell command and other arguments */
	snprintf(command, sizeof(command), "'%s' test -w deferred_fuzz --",
		 perf_exe(exe, sizeof(exe)));
	args[0] = command;
	memcpy(args + 1, argv, argc * sizeof(*args));
	argc++;
	ret = LLVMFuzzerRunDriver(&argc, &args, read_input);
	free(args);
	return ret;
}

/* Add other events that the stitching stage reads: fork, exec, exit, losses and guests. */
static void add_side_band(struct synth *s)
{
	const u64 guest = synth__user_ip(1000, 8, 0);
	u64 time = LATER;

	synth__mmap(s, 1000, time++, 1, 4, "/lib/a");
	synth__namespace(s, 1000, time++, 7);
	synth__deferred(s, 1000, time++, 77);
	synth__deferred_at(s, 1000, time++, 77, PERF_RECORD_MISC_GUEST_KERNEL, 1);
	synth__deferred(s, 1001, time++, 78);
	synth__lost(s, time++);
	synth__exec(s, 1000, time++);
	synth__mmap(s, 1000, time++, 1, 4, "/lib/b");
	synth__exit(s, 1001, time++);
	synth__fork(s, 1001, time++);
	synth__round(s);
	synth__deferred(s, 1001, time++, 79);
	synth__record(s, 1001, time++, 79, 2);
	synth__record_of(s, 1000, time, 77, PERF_RECORD_MISC_GUEST_USER, &guest, 1);
	synth__round(s);
}

/* Make good file @number: a small file, in either byte order. */
static int make_seed(struct synth *s, u64 number)
{
	struct synth_load load = {
		.threads = 1 + number % 5, .contexts = 1 + number % 4, .samples = 1 + number % 3,
		.kernel = 1 + number % 3, .depth = number % 11, .cpus = 1 + number % 3,
		.round = number % 7 * 3, .delay = number % 13 / 10 * 3, .lose = number % 3 * 20,
		.duplicate = number % 4 * 20, .sleepers = number % 2 * 40, .shuffle = true,
		.seed = number,
	};
	int ret;

	s->foreign = number / 8 % 2;
	s->prefixed = number / 4 % 2;
	s->piped = number % 16 == 5;
	s->no_cpu = number % 9 == 8;
	synth__comm(s, 1000, 1);
	ret = synth_load__build(&load, s);
	if (!ret && number % 4 == 3)
		add_side_band(s);
	return ret ?: s->failed ? -ENOMEM : 0;
}

static int write_seed(const char *folder, u64 number)
{
	const u8 way = number % DEFERRED_WAYS;
	struct synth s = { .size = 0 };
	char path[PATH_MAX];
	int ret, fd;

	snprintf(path, sizeof(path), "%s/seed-%02llu.data", folder, (unsigned long long)number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		return -errno;

	ret = make_seed(&s, number);
	if (!ret)
		ret = synth__write(&s, fd, SIZE_MAX);
	if (!ret && !s.piped && pwrite(fd, &way, sizeof(way), DEFERRED_WAY_OFFSET) != sizeof(way))
		ret = -errno;
	synth__free(&s);
	return close(fd) ? -errno : ret;
}

static int write_seeds(const char *folder)
{
	for (u64 number = 0; number < NR_SEEDS; number++) {
		int ret = write_seed(folder, number);

		if (ret) {
			pr_err("%s: %s\n", folder, strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static int deferred_fuzz(int argc, const char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "seeds"))
		return write_seeds(argv[1]) ? 1 : 0;
	return run_fuzzer(argc, argv) ? 1 : 0;
}

DEFINE_WORKLOAD(deferred_fuzz);

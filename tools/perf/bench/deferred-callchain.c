// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark reading perf.data files with deferred callchains, compared with files
 * that have the same callchains in place.
 *
 * Each thread is sampled in one entry context.  All samples come before the
 * first deferred record, so all of them wait at once.  If the records are in
 * the same flush round, they have been read when the samples are delivered.  If
 * the records are in later flush rounds, the reader scans ahead for them.  In
 * a third kind of files, half of the records are lost: the samples of these
 * records are delivered without a user half, but also in time order.
 *
 * One reader looks up thread, maps and symbols of every sample and its frames,
 * as all commands that show callchains do.  Another reader only visits the
 * addresses: that measures reading alone.
 *
 * Every measurement runs in its own process, so that the peak memory of the
 * process is that of the measurement.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <subcmd/parse-options.h>

#include "bench.h"
#include "tests/deferred-callchain-file.h"
#include "tests/deferred-callchain-load.h"
#include "util/addr_location.h"
#include "util/callchain.h"
#include "util/data.h"
#include "util/debug.h"
#include "util/deferred-callchain.h"
#include "util/deferred-callchain-compat.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/symbol_conf.h"
#include "util/tool.h"

#define LATER_ROUNDS	3
#define LOST_PERCENT	50

static unsigned int only_threads;
static unsigned int nr_samples = 4;
static unsigned int nr_frames = 16;
static unsigned int nr_repeat = 5;
static unsigned int naive_limit = 20;
static unsigned int tools_threads = 10000;
static const char *tools_perf;

static const struct option options[] = {
	OPT_UINTEGER('t', "threads", &only_threads, "Measure this number of threads only"),
	OPT_UINTEGER('s', "samples", &nr_samples, "Samples of each thread (default: 4)"),
	OPT_UINTEGER('d', "depth", &nr_frames, "User frames of each sample (default: 16)"),
	OPT_UINTEGER('r', "repeat", &nr_repeat, "Count the best of this many runs (default: 5)"),
	OPT_UINTEGER(0, "naive-limit", &naive_limit,
		     "Skip the naive list if it takes more seconds; 0: always (default: 20)"),
	OPT_UINTEGER(0, "tools-threads", &tools_threads,
		     "Threads for perf script and report, 0 to leave them out (default: 10000)"),
	OPT_STRING(0, "tools-perf", &tools_perf, "path",
		   "Run perf script and report of this perf (default: of the one that measures)"),
	OPT_END()
};

static const char * const bench_usage[] = {
	"perf bench internals deferred-callchain <options>",
	NULL
};

/* Cost and results of one run. */
struct cost {
	int err;
	u64 ns;			/* CPU time */
	u64 kbytes;		/* peak of memory, mapped files included */
	u64 samples;
	u64 bare;
	u64 wrong;
	u64 disordered;		/* samples delivered after a newer sample */
};

/* Costs of reading the same callchains in place and deferred. */
struct pair {
	struct cost in_place;
	struct cost ours;
};

enum reader_kind {
	READER_RESOLVE,		/* what perf script and report do for each sample */
	READER_BARE,		/* visits the addresses only */
	READER_NAIVE,		/* as READER_RESOLVE, but stitches with a list */
	READER_INDEX,		/* scans the headers of events, but delivers none */
};

struct reader {
	struct perf_tool tool;
	enum reader_kind kind;
	struct perf_session *session;
	const struct synth_load *load;
	struct cost *cost;
	u64 last_time;
	struct list_head naive;
};

/* A deferred sample in the naive list. */
struct naive_sample {
	struct list_head node;
	struct evsel *evsel;
	struct machine *machine;
	u64 cookie;
	u32 tid;
	u64 event[];
};

/* A file and its parameters. */
struct input {
	struct synth_load load;
	char path[64];
};

static void count_sample(struct reader *reader, const struct perf_sample *sample,
			 const struct ip_callchain *chain)
{
	struct cost *cost = reader->cost;
	enum synth_verdict verdict = synth_load__check(reader->load, chain, sample->tid);

	cost->samples++;
	cost->bare += verdict == SYNTH_BARE;
	cost->wrong += verdict == SYNTH_WRONG;
	cost->disordered += sample->time < reader->last_time;
	reader->last_time = max(reader->last_time, sample->time);
}

static int resolve_sample(SAMPLE_PARAMS)
{
	struct callchain_cursor *cursor = get_tls_callchain_cursor();
	struct addr_location al;
	int ret;

	addr_location__init(&al);
	ret = machine__resolve(machine, &al, sample);
	if (!ret)
		ret = resolve_callchain(sample, cursor, SAMPLE_EVSEL, &al);
	addr_location__exit(&al);
	return ret;
}

static int read_sample(SAMPLE_PARAMS)
{
	struct reader *reader = container_of(tool, struct reader, tool);

	count_sample(reader, sample, sample->callchain);
	if (reader->kind == READER_BARE)
		return 0;
	return call_sample(resolve_sample, tool, event, sample, SAMPLE_EVSEL, machine);
}

static int naive__sample(SAMPLE_PARAMS)
{
	struct reader *reader = container_of(tool, struct reader, tool);
	struct naive_sample *ns;

	if (!sample->deferred_callchain)
		return call_sample(read_sample, tool, event, sample, SAMPLE_EVSEL, machine);

	ns = malloc(sizeof(*ns) + event->header.size);
	if (!ns)
		return -ENOMEM;

	ns->evsel = SAMPLE_EVSEL;
	ns->machine = machine;
	ns->cookie = sample->deferred_cookie;
	ns->tid = sample->tid;
	memcpy(ns->event, event, event->header.size);
	list_add_tail(&ns->node, &reader->naive);
	return 0;
}

static int naive__deliver(struct reader *reader, struct naive_sample *ns,
			  const struct ip_callchain *user)
{
	union perf_event *event = (void *)ns->event;
	struct perf_sample sample;
	struct ip_callchain *chain;
	size_t kernel;
	int ret;

	perf_sample__init(&sample, /*all=*/false);
	ret = evlist__parse_sample(reader->session->evlist, event, &sample);
	if (ret)
		goto out;

	ret = -ENOMEM;
	kernel = sample.callchain->nr - ip_callchain__marker_nr(sample.callchain);
	chain = malloc(sizeof(*chain) + (kernel + 1 + user->nr) * sizeof(u64));
	if (!chain)
		goto out;

	chain->nr = kernel + 1 + user->nr;
	memcpy(chain->ips, sample.callchain->ips, kernel * sizeof(u64));
	chain->ips[kernel] = PERF_CONTEXT_USER;
	memcpy(chain->ips + kernel + 1, user->ips, user->nr * sizeof(u64));
	sample.callchain = chain;
	ret = call_sample(read_sample, &reader->tool, event, &sample, ns->evsel, ns->machine);
	free(chain);
out:
	perf_sample__exit(&sample);
	return ret;
}

/* For every record, go through the list of all waiting samples. */
static int naive__record(const struct perf_tool *tool, union perf_event *event,
			 struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct reader *reader = container_of(tool, struct reader, tool);
	const void *user = &event->callchain_deferred.nr;
	struct naive_sample *ns, *tmp;
	int ret = 0;

	list_for_each_entry_safe(ns, tmp, &reader->naive, node) {
		if (ns->tid != sample->tid || ns->cookie != event->callchain_deferred.cookie)
			continue;
		ret = ret ?: naive__deliver(reader, ns, user);
		list_del(&ns->node);
		free(ns);
	}
	return ret;
}

/* Track threads and maps, as all commands that look them up do. */
static void follow_threads(struct perf_tool *tool)
{
	tool->mmap = perf_event__process_mmap;
	tool->mmap2 = perf_event__process_mmap2;
	tool->comm = perf_event__process_comm;
	tool->namespaces = perf_event__process_namespaces;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
}

static void reader__init(struct reader *reader)
{
	bool naive = reader->kind == READER_NAIVE;

	perf_tool__init(&reader->tool, /*ordered_events=*/true);
	reader->tool.sample = naive ? naive__sample : read_sample;
	if (reader->kind != READER_BARE)
		follow_threads(&reader->tool);
	if (naive)
		reader->tool.callchain_deferred = naive__record;
	reader->tool.merge_deferred_callchains = !naive;
	reader->tool.no_warn = true;
	INIT_LIST_HEAD(&reader->naive);
}

static u64 cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* Pass the events to the stitching stage one by one, as the session does. */
static int index_events(struct perf_session *session, struct cost *cost)
{
	u64 start = cpu_time();
	const struct perf_header *header = &session->header;
	u64 end = header->data_offset + header->data_size;
	char *map = mmap(NULL, end, PROT_READ, MAP_SHARED, perf_data__fd(session->data), 0);
	int ret = map == MAP_FAILED ? -errno : 0;

	if (ret)
		return ret;

	session->one_mmap = true;
	session->one_mmap_addr = map;
	for (u64 at = header->data_offset; !ret && at < end;) {
		union perf_event *event = (void *)(map + at);

		ret = deferred_callchains__index(session, event);
		at += event->header.size;
	}
	cost->ns = cpu_time() - start;
	return ret;
}

static int read_file(const struct input *input, struct cost *cost, enum reader_kind kind)
{
	struct perf_data data = { .path = input->path, .mode = PERF_DATA_MODE_READ,
				  .force = true };
	struct reader reader = { .load = &input->load, .cost = cost, .kind = kind };
	int ret;

	symbol_conf.use_callchain = true;
	reader__init(&reader);
	reader.session = perf_session__new(&data, &reader.tool);
	if (IS_ERR(reader.session))
		return PTR_ERR(reader.session);

	ret = kind == READER_INDEX ? index_events(reader.session, cost) :
				     perf_session__process_events(reader.session);
	if (kind != READER_INDEX)
		perf_session__delete(reader.session);
	return ret;
}

static void child_reads(const struct input *input, struct cost *cost, enum reader_kind kind)
{
	u64 start = cpu_time();

	cost->err = read_file(input, cost, kind);
	if (kind != READER_INDEX)
		cost->ns = cpu_time() - start;
	_exit(0);
}

static void child_runs(const char * const *argv)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execvp(tools_perf, (char **)argv);
	_exit(127);
}

static u64 rusage_ns(const struct rusage *usage)
{
	u64 sec = usage->ru_utime.tv_sec + usage->ru_stime.tv_sec;
	u64 usec = usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;

	return sec * NSEC_PER_SEC + usec * NSEC_PER_USEC;
}

/* Run a command or a reader once, in its own process. */
static void run_child(const struct input *input, enum reader_kind kind,
		      const char * const *argv, struct cost *cost)
{
	struct rusage usage;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid && argv)
		child_runs(argv);
	else if (!pid)
		child_reads(input, cost, kind);

	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status) {
		cost->err = -EIO;
		return;
	}
	cost->kbytes = usage.ru_maxrss;
	if (argv)
		cost->ns = rusage_ns(&usage);
}

static struct cost measure_once(const struct input *input, enum reader_kind kind,
				const char * const *argv)
{
	struct cost cost = { .err = -ENOMEM };
	struct cost *shared = mmap(NULL, sizeof(cost), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return cost;

	run_child(input, kind, argv, shared);
	cost = *shared;
	munmap(shared, sizeof(cost));
	return cost;
}

static void keep_best(struct cost *best, const struct cost *cost)
{
	best->err = best->err ?: cost->err;
	best->ns = min(best->ns, cost->ns);
	best->kbytes = min(best->kbytes, cost->kbytes);
}

static int write_input(const struct input *input)
{
	struct synth s = { .size = 0 };
	int fd = open(input->path, O_RDWR);
	int ret = fd < 0 ? -errno : synth_load__build(&input->load, &s);

	if (!ret)
		ret = synth__write(&s, fd, SIZE_MAX);
	synth__free(&s);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Write the file in a child, so that the memory for this does not count in a measurement. */
static int fill_input(const struct input *input)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(write_input(input) ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return -EIO;
	return 0;
}

static int make_input(struct input *input, const struct synth_load *load, bool in_place)
{
	int fd, ret;

	input->load = *load;
	input->load.in_place = in_place;
	snprintf(input->path, sizeof(input->path), "/tmp/perf-bench-deferred-XXXXXX");
	fd = mkstemp(input->path);
	if (fd < 0)
		return -errno;

	close(fd);
	ret = fill_input(input);
	if (ret)
		unlink(input->path);
	return ret;
}

static double cost_ratio(u64 a, u64 b)
{
	return b ? (double)a / b : 0;
}

static double cost_ms(const struct cost *cost)
{
	return (double)cost->ns / NSEC_PER_MSEC;
}

static double cost_mbytes(const struct cost *cost)
{
	return (double)cost->kbytes / 1024;
}

static double cost_disorder(const struct cost *cost)
{
	return 100 * cost_ratio(cost->disordered, cost->samples);
}

static const char *load_name(const struct synth_load *load)
{
	return load->lose ? "lost" : load->delay ? "later" : "at hand";
}

static bool is_right(const char *what, const struct cost *cost, u64 samples, bool lost)
{
	if (!cost->err && !cost->wrong && (lost || !cost->bare) && cost->samples == samples)
		return true;

	pr_err("%s: error %d, %llu of %llu samples, %llu incomplete, %llu wrong\n", what,
	       cost->err, (unsigned long long)cost->samples, (unsigned long long)samples,
	       (unsigned long long)cost->bare, (unsigned long long)cost->wrong);
	return false;
}

static void print_intro(void)
{
	printf("# Reading deferred callchains, compared with the same callchains in place:\n"
	       "# CPU time and peak memory of a process, mapped files included; best of %u runs.\n"
	       "# %u user frames.  at hand: records in the flush round of their samples;\n"
	       "# later: in a later one; lost: at hand, but %u %% of the records are missing.\n"
	       "# disorder: samples delivered out of time order.\n",
	       nr_repeat, nr_frames, LOST_PERCENT);
}

static void print_head(const char *title, const char *last)
{
	printf("\n# %s\n\n", title);
	printf("%24s | %-16s | %-39s | %s\n", "", "in place", "stitched", last);
	printf("%7s %7s %8s | %8s %7s | %8s %7s %6s %6s %8s |", "threads", "samples", "records",
	       "ms", "MB", "ms", "MB", "time", "memory", "disorder");
	if (*last)
		printf(" %9s %6s %8s", "ms", "time", "disorder");
	printf("\n");
}

static void print_costs(const struct pair *pair)
{
	const struct cost *in_place = &pair->in_place, *ours = &pair->ours;

	printf(" %8.1f %7.1f | %8.1f %7.1f %5.2fx %5.2fx",
	       cost_ms(in_place), cost_mbytes(in_place), cost_ms(ours), cost_mbytes(ours),
	       cost_ratio(ours->ns, in_place->ns), cost_ratio(ours->kbytes, in_place->kbytes));
}

static void print_row(const struct synth_load *load, const struct pair *pair)
{
	printf("%7u %7u %8s |", load->threads, load->threads * load->samples, load_name(load));
	print_costs(pair);
	printf(" %7.1f%% |", cost_disorder(&pair->ours));
}

static void print_naive(const struct cost *naive, const struct cost *in_place, bool lost)
{
	if (naive->samples)
		printf(" %9.1f %5.1fx %7.1f%%\n", cost_ms(naive),
		       cost_ratio(naive->ns, in_place->ns), cost_disorder(naive));
	else if (naive_limit && !lost)
		printf("  would take more than %u s\n", naive_limit);
	else
		printf("\n");
	fflush(stdout);
}

/*
 * The time of the naive list grows with the square of the number of threads. @naive was
 * measured with a tenth of the threads.
 */
static bool naive_takes_too_long(const struct cost *naive)
{
	return !naive_limit || naive->ns > (u64)naive_limit * NSEC_PER_SEC / 100;
}

static int measure_naive(const struct input *input, u64 samples, struct cost *naive)
{
	/* the naive list never delivers the samples whose record is lost */
	if (input->load.lose || naive_takes_too_long(naive)) {
		naive->samples = 0;
		return 0;
	}
	*naive = measure_once(input, READER_NAIVE, NULL);
	return is_right("naive list", naive, samples, /*lost=*/false) ? 0 : -EIO;
}

/* Read the two files in turn, so that a busy moment of the machine affects both. */
static struct pair measure_pair(const struct input *deferred, const struct input *in_place,
				enum reader_kind kind, const char * const *deferred_argv,
				const char * const *in_place_argv)
{
	struct pair best = {
		.in_place = measure_once(in_place, kind, in_place_argv),
		.ours = measure_once(deferred, kind, deferred_argv),
	};

	for (unsigned int i = 1; i < nr_repeat; i++) {
		struct cost again = measure_once(in_place, kind, in_place_argv);

		keep_best(&best.in_place, &again);
		again = measure_once(deferred, kind, deferred_argv);
		keep_best(&best.ours, &again);
	}
	return best;
}

static bool pair_is_right(const struct pair *pair, u64 samples, bool lost)
{
	return is_right("in place", &pair->in_place, samples, /*lost=*/false) &&
	       is_right("stitched", &pair->ours, samples, lost);
}

static int bench_files(const struct input *deferred, const struct input *in_place,
		       struct cost *naive)
{
	u64 samples = (u64)deferred->load.threads * deferred->load.samples;
	struct pair pair = measure_pair(deferred, in_place, READER_RESOLVE, NULL, NULL);

	if (!pair_is_right(&pair, samples, deferred->load.lose) ||
	    measure_naive(deferred, samples, naive))
		return -EIO;

	print_row(&deferred->load, &pair);
	print_naive(naive, &pair.in_place, deferred->load.lose);
	return 0;
}

static int bench_bare(const struct input *deferred, const struct input *in_place,
		      struct cost *naive __maybe_unused)
{
	u64 samples = (u64)deferred->load.threads * deferred->load.samples;
	struct pair pair = measure_pair(deferred, in_place, READER_BARE, NULL, NULL);

	if (!pair_is_right(&pair, samples, deferred->load.lose))
		return -EIO;

	print_row(&deferred->load, &pair);
	printf("\n");
	return 0;
}

/* Cost of the scan of headers, as a share of reading callchains in place. */
static int bench_index(const struct input *deferred, const struct input *in_place,
		       struct cost *naive __maybe_unused)
{
	u64 samples = (u64)deferred->load.threads * deferred->load.samples;
	struct cost plain = measure_once(in_place, READER_RESOLVE, NULL);
	struct cost index = measure_once(deferred, READER_INDEX, NULL);

	for (unsigned int i = 1; i < nr_repeat; i++) {
		struct cost again = measure_once(in_place, READER_RESOLVE, NULL);

		keep_best(&plain, &again);
		again = measure_once(deferred, READER_INDEX, NULL);
		keep_best(&index, &again);
	}
	if (!is_right("in place", &plain, samples, /*lost=*/false) || index.err)
		return -EIO;

	printf("%7u %7llu %8s | %8.1f %16s %8.1f %14.1f%% |\n", deferred->load.threads,
	       (unsigned long long)samples, load_name(&deferred->load),
	       cost_ms(&plain), "", cost_ms(&index), 100 * cost_ratio(index.ns, plain.ns));
	fflush(stdout);
	return 0;
}

static int bench_command(const char *name, const char * const *deferred,
			 const char * const *in_place)
{
	struct pair pair = measure_pair(NULL, NULL, READER_BARE, deferred, in_place);

	if (pair.in_place.err || pair.ours.err) {
		pr_err("%s fails\n", name);
		return -EIO;
	}
	printf("%24s |", name);
	print_costs(&pair);
	printf("\n");
	fflush(stdout);
	return 0;
}

/* Count the samples that perf script prints behind a newer one. */
static int count_disorder(const char *path, struct cost *cost)
{
	unsigned long long sec, nsec, last = 0;
	char command[PATH_MAX];
	FILE *out;

	snprintf(command, sizeof(command), "'%s' script --ns -G -F time -i '%s' 2>/dev/null",
		 tools_perf, path);
	out = popen(command, "r");
	if (!out)
		return -errno;
	while (fscanf(out, "%llu.%llu:", &sec, &nsec) == 2) {
		cost->disordered += sec * NSEC_PER_SEC + nsec < last;
		last = max(last, sec * NSEC_PER_SEC + nsec);
		cost->samples++;
	}
	return pclose(out) ? -EIO : 0;
}

static int bench_disorder(const struct input *deferred)
{
	struct cost cost = { .err = 0 };
	int ret = count_disorder(deferred->path, &cost);

	if (ret)
		return ret;
	printf("%24s | %llu samples, %llu out of time order, %.1f%%\n", "perf script",
	       (unsigned long long)cost.samples, (unsigned long long)cost.disordered,
	       cost_disorder(&cost));
	return cost.samples == (u64)deferred->load.threads * deferred->load.samples ? 0 : -EIO;
}

/* Whole commands: the cost that a user sees. */
static int bench_commands(const struct input *deferred, const struct input *in_place,
			  struct cost *naive __maybe_unused)
{
	const char * const script[][7] = {
		{ "perf", "script", "-F", "comm,tid,time,ip", "-i", deferred->path, NULL },
		{ "perf", "script", "-F", "comm,tid,time,ip", "-i", in_place->path, NULL },
	};
	const char * const report[][6] = {
		{ "perf", "report", "--stdio", "-i", deferred->path, NULL },
		{ "perf", "report", "--stdio", "-i", in_place->path, NULL },
	};
	int ret = bench_command("perf script", script[0], script[1]);

	ret = ret ?: bench_command("perf report --stdio", report[0], report[1]);
	return ret ?: bench_disorder(deferred);
}

typedef int (*bench_fn)(const struct input *deferred, const struct input *in_place,
			struct cost *naive);

/* Measure with new files. Of @how, only @delay and @lose are used. */
static int with_files(unsigned int threads, unsigned int samples, const struct synth_load *how,
		      bench_fn bench, struct cost *naive)
{
	const struct synth_load load = {
		.threads = threads, .contexts = 1, .samples = samples, .kernel = 4,
		.depth = nr_frames, .cpus = 4, .delay = how->delay, .lose = how->lose,
	};
	struct input deferred, in_place;
	int ret = make_input(&deferred, &load, false);

	if (ret)
		return ret;

	ret = make_input(&in_place, &load, true);
	if (!ret) {
		ret = bench(&deferred, &in_place, naive);
		unlink(in_place.path);
	}
	unlink(deferred.path);
	return ret;
}

static int bench_sizes(const struct synth_load *how, bench_fn bench)
{
	struct cost naive = { .ns = 0 };
	int ret = 0;

	if (only_threads)
		return with_files(only_threads, nr_samples, how, bench, &naive);

	for (unsigned int threads = 100; !ret && threads <= 100000; threads *= 10)
		ret = with_files(threads, nr_samples, how, bench, &naive);
	naive.ns = 0;
	return ret ?: with_files(1, 100000, how, bench, &naive);
}

static int bench_table(const char *title, bench_fn bench)
{
	static const struct synth_load kinds[] = {
		{ .delay = 0 }, { .delay = LATER_ROUNDS }, { .lose = LOST_PERCENT },
	};
	int ret = 0;

	print_head(title, bench == bench_files ? "naive list" : "");
	for (size_t i = 0; !ret && i < ARRAY_SIZE(kinds); i++)
		ret = bench_sizes(&kinds[i], bench);
	return ret;
}

static int bench_tools(void)
{
	const struct synth_load at_hand = { .delay = 0 };
	char self[PATH_MAX] = "";

	if (!tools_threads)
		return 0;
	/* in the shell of popen(), /proc/self/exe is the shell */
	if (!tools_perf && readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	tools_perf = tools_perf ?: self;

	printf("\n# Whole commands: %u threads, %u samples each, records at hand\n\n",
	       tools_threads, nr_samples);
	return with_files(tools_threads, nr_samples, &at_hand, bench_commands, NULL);
}

static bool options_make_sense(void)
{
	return nr_samples && nr_frames && nr_frames <= 128 && nr_repeat &&
	       nr_samples <= 1000000 && only_threads <= 1000000 && tools_threads <= 1000000;
}

int bench_deferred_callchain(int argc, const char **argv)
{
	int ret;

	argc = parse_options(argc, argv, options, bench_usage, 0);
	if (argc || !options_make_sense())
		usage_with_options(bench_usage, options);

	print_intro();
	ret = bench_table("Threads, maps and symbols looked up", bench_files);
	ret = ret ?: bench_table("Read only", bench_bare);
	ret = ret ?: bench_table("The index alone, compared with reading in place", bench_index);
	ret = ret ?: bench_tools();
	if (ret)
		pr_err("deferred-callchain: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}

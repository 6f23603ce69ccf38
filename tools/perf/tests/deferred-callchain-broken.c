// SPDX-License-Identifier: GPL-2.0
/* Read truncated and damaged files, among them files that the fuzzer found. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/bitmap.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/lib.h>

#include "data.h"
#include "debug.h"
#include "deferred-callchain-compat.h"
#include "deferred-callchain-file.h"
#include "deferred-callchain-inject.h"
#include "deferred-callchain-reader.h"
#include "dso.h"
#include "event.h"
#include "evsel.h"
#include "header.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "tests.h"
#include "tool.h"

static void build_good(struct synth *s)
{
	synth__comm(s, 100, 1);
	synth__deferred(s, 100, 10, 1);
	synth__deferred(s, 200, 11, 2);
	synth__in_place(s, 200, 14, 9, 2);
	synth__record(s, 200, 20, 2, 4);
	synth__record(s, 100, 21, 1, 3);
	synth__exit(s, 100, 30);
}

#define EXPECT_GOOD	"100@10 k2 100/1*3\n"	\
			"200@11 k2 200/2*4\n"	\
			"200@14 k2 200/9*2\n"

static const char expect_good[] = EXPECT_GOOD;

/* Read the file truncated at every size: no wrong sample may be delivered. */
static bool truncate_everywhere(struct synth *s)
{
	struct reader_tool reader;
	bool ok = true;

	for (size_t size = s->gap; ok && size < synth__file_size(s); size++) {
		reader_tool__init(&reader, true);
		reader_tool__read_quietly(&reader, s, size);
		ok = !strstr(reader.text.buf, "0x") && !strstr(reader.text.buf, "raw") &&
		     !reader.stats.malformed;
		if (!ok)
			pr_debug("FAILED after %zu bytes:\n%s", size, reader.text.buf);
	}
	return ok;
}

static int test__deferred_truncated(struct test_suite *test __maybe_unused,
				    int subtest __maybe_unused)
{
	bool ok = true;

	for (int i = 0; i < 4; i++) {
		struct synth s = { .foreign = i % 2, .gap = i / 2 * 8192 };

		build_good(&s);
		ok &= truncate_everywhere(&s);
		synth__free(&s);
	}
	return ok ? TEST_OK : TEST_FAIL;
}

static void build_unknown(struct synth *s)
{
	build_good(s);
	synth__unknown(s, 0x7fffffff);
}

/* Samples that wait are older than the unknown event, so they are still delivered. */
static void build_unknown_later(struct synth *s)
{
	synth__comm(s, 100, 1);
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 20);
	synth__unknown(s, 0x7fffffff);
}

static void build_inflated_raw(struct synth *s)
{
	synth__deferred(s, 100, 10, 1);
	synth__inflate_raw(s);
}

static void build_many_namespaces(struct synth *s)
{
	const u64 words[] = { 100, 1ULL << 40, 1, 1 };

	synth__words(s, PERF_RECORD_NAMESPACES, 10, words, ARRAY_SIZE(words));
}

static void build_many_branches(struct synth *s)
{
	s->branches = 1ULL << 40;
	synth__deferred(s, 100, 10, 1);
}

static void build_no_phys_addr(struct synth *s)
{
	s->claims = PERF_SAMPLE_PHYS_ADDR;
	build_good(s);
}

static void build_no_cgroup(struct synth *s)
{
	s->claims = PERF_SAMPLE_CGROUP;
	build_good(s);
}

static void build_no_data_page(struct synth *s)
{
	s->claims = PERF_SAMPLE_DATA_PAGE_SIZE;
	build_good(s);
}

static void build_no_code_page(struct synth *s)
{
	s->claims = PERF_SAMPLE_CODE_PAGE_SIZE;
	build_good(s);
}

static void build_no_branches(struct synth *s)
{
	s->branch_callchains = true;
	build_good(s);
}

/* A TEXT_POKE event whose old and new text are larger than the file. */
static void build_long_text_poke(struct synth *s)
{
	const u64 words[] = { 0, -1ULL };

	build_good(s);
	synth__words(s, PERF_RECORD_TEXT_POKE, 40, words, ARRAY_SIZE(words));
}

/* Thread 101 of process 101 forks itself into process 100, and is then forked again. */
static void build_own_child(struct synth *s)
{
	synth__comm(s, 101, 1);
	s->pairs = true;
	synth__fork_by(s, 101, 101, 2);
	synth__fork(s, 101, 3);
	s->pairs = false;
	build_good(s);
}

static void build_empty(struct synth *s)
{
	s->single = true;
	for (u32 type = PERF_RECORD_MMAP; type < PERF_RECORD_CALLCHAIN_DEFERRED; type++) {
		if (type != PERF_RECORD_SAMPLE && type != PERF_RECORD_SWITCH)
			synth__empty(s, type);
	}
	for (u32 type = PERF_RECORD_USER_TYPE_START; type < PERF_RECORD_HEADER_MAX; type++) {
		if (type != PERF_RECORD_COMPRESSED)
			synth__empty(s, type);
	}
	build_good(s);
}

/* An event that should contain only a sample_id, but is too short for it. */
static void build_no_room_for_sample_id(struct synth *s)
{
	s->single = true;
	build_good(s);
	synth__empty(s, PERF_RECORD_SWITCH);
}

/* An event that is only a header, in a file whose events have a sample_id without fields. */
static void build_no_fields_of_sample_id(struct synth *s)
{
	s->piped = true;
	s->no_attrs = true;
	synth__attr(s, SYNTH_SAMPLING_ID, PERF_SAMPLE_IP);
	synth__empty(s, PERF_RECORD_SWITCH);
}

/* Events of perf stat in a file that has no counts. */
static void build_counts(struct synth *s)
{
	const u64 round[] = { 0, 10 };

	build_good(s);
	synth__words(s, PERF_RECORD_STAT_ROUND, 40, round, ARRAY_SIZE(round));
}

/* An attr whose size is larger than its event. */
static void build_long_attr(struct synth *s)
{
	const u64 words[8] = { 1 | 0xffffffULL << 32 };

	build_good(s);
	synth__words(s, PERF_RECORD_HEADER_ATTR, 40, words, ARRAY_SIZE(words));
}

/* Samples without an id, in a pipe: there, readers do not check that the attrs agree. */
static void build_no_id(struct synth *s)
{
	s->no_id = true;
	s->piped = true;
	build_good(s);
}

/* An attr size of zero means PERF_ATTR_SIZE_VER0. The rest of the event is ids. */
static void build_attrs_without_size(struct synth *s)
{
	s->no_attr_size = true;
	s->piped = true;
	build_good(s);
}

/* An attr that is shorter than the first version of the struct. */
static void build_short_attr(struct synth *s)
{
	const u64 words[3] = { 1 };

	build_good(s);
	synth__words(s, PERF_RECORD_HEADER_ATTR, 40, words, ARRAY_SIZE(words));
}

/* Tracing data in a pipe of an old perf: they follow a TRACING_DATA event, without padding. */
static void build_old_tracing_data(struct synth *s)
{
	s->piped = true;
	synth__tracing_data(s, sizeof(u32));
	build_good(s);
}

/* Tracing data in a pipe, with the padding that a new perf adds. */
static void build_tracing_data(struct synth *s)
{
	s->piped = true;
	synth__tracing_data(s, sizeof(u64));
	build_good(s);
}

/* A COMM event, but no attrs. */
static void build_no_attrs(struct synth *s)
{
	s->no_attrs = true;
	s->piped = true;
	synth__comm(s, 100, 1);
}

/* Update the name of the event with id 0, which means the first event; but there is no event. */
static void build_update_of_none(struct synth *s)
{
	const u64 words[] = { PERF_EVENT_UPDATE__NAME, 0, 'x' };

	s->no_attrs = true;
	s->piped = true;
	synth__words(s, PERF_RECORD_EVENT_UPDATE, 10, words, ARRAY_SIZE(words));
	build_good(s);
}

/*
 * While samples wait, an attr without callchains replaces the attr of their event: the
 * samples are then parsed with the new attr.
 */
static void build_other_attr(struct synth *s)
{
	s->piped = true;
	synth__comm(s, 100, 1);
	synth__deferred(s, 100, 10, 1);
	synth__pass_time(s, 20);
	synth__round(s);
	synth__attr(s, SYNTH_SAMPLING_ID, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
}

/*
 * A sample with two ids: the id at the fixed position is that of the second event, so the
 * fields of that event are parsed.  One of them, PERF_SAMPLE_ID, is the id of the first event.
 */
static void build_other_fields(struct synth *s)
{
	const u64 words[] = { SYNTH_SECOND_ID, SYNTH_SAMPLING_ID };

	s->plain_second = true;
	s->piped = true;
	synth__words(s, PERF_RECORD_SAMPLE, 10, words, ARRAY_SIZE(words));
	build_good(s);
}

static void build_long_build_id(struct synth *s)
{
	s->mmap2 = true;
	synth__map(s, 100, 5, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, 1 << 20,
		   1 << 12, "/bin/x");
	build_good(s);
}

/* Maps that wrap around the address space, so that their end is below their start. */
static void build_long_map(struct synth *s)
{
	synth__map(s, 100, 5, PERF_RECORD_MISC_USER, 10 << 20, 10 << 20, "/bin/x");
	synth__map(s, 100, 5, PERF_RECORD_MISC_USER, 15 << 20, -10ULL << 20, "/bin/y");
	synth__map(s, 100, 6, PERF_RECORD_MISC_USER, 4 << 20, 21 << 20, "/bin/z");
	synth__map(s, -1, 7, PERF_RECORD_MISC_KERNEL, -4ULL << 20, 8 << 20, "[x]");
	synth__map(s, -1, 8, PERF_RECORD_MISC_KERNEL, -2ULL << 20, 2 << 20, "[y]");
	for (int i = 1; i < 4; i++)
		synth__map(s, -1, 8, PERF_RECORD_MISC_KERNEL, i << 20, 1 << 16, "[z]");
	for (int i = 1; i < 3; i++)
		synth__map(s, -1, 9, PERF_RECORD_MISC_KERNEL, SYNTH_KERNEL_IP, i << 20,
			   "[kernel.kallsyms]_text");
	build_good(s);
}

/* A process maps a file with the name of the kernel, before and after the kernel is mapped. */
static void build_kernel_name(struct synth *s)
{
	synth__map(s, 100, 5, PERF_RECORD_MISC_USER, 1 << 20, 3 << 20, "[kernel.kallsyms]");
	synth__map(s, -1, 6, PERF_RECORD_MISC_KERNEL, SYNTH_KERNEL_IP, 1 << 20,
		   "[kernel.kallsyms]_text");
	synth__map(s, 100, 7, PERF_RECORD_MISC_USER, 2 << 20, 1 << 20, "/bin/x");
	synth__map(s, 200, 8, PERF_RECORD_MISC_USER, 1 << 20, 3 << 20, "[kernel.kallsyms]");
	build_good(s);
}

static const char expect_other_fields[] =
	"plain 4294967295@18446744073709551615 wrong raw data\n"
	EXPECT_GOOD;

static const char expect_long_build_id[] =
	"build id of 20 bytes\n"
	EXPECT_GOOD;

/* Two samples that are held at the same time, so that each is parsed more than once. */
static void build_held_twice(struct synth *s)
{
	s->piped = true;
	synth__deferred(s, 100, 50, 1);
	synth__round(s);
	synth__pass_time(s, 55);
	synth__round(s);
	synth__pass_time(s, 56);
	synth__round(s);
	synth__deferred(s, 200, 40, 1);
	synth__round(s);
	synth__round(s);
	synth__record(s, 200, 60, 1, 1);
	synth__round(s);
	synth__round(s);
	synth__record(s, 100, 70, 1, 1);
}

static void build_held_at_error(struct synth *s)
{
	s->piped = !s->compressed;
	synth__deferred(s, 100, 10, 1);
	for (u64 time = 20; time <= 40; time += 10)
		synth__pass_time(s, time);
	synth__unknown(s, 0x7fffffff);
}

#ifdef HAVE_ZSTD_SUPPORT
static void build_held_at_error_packed(struct synth *s)
{
	s->compressed = true;
	build_held_at_error(s);
}
#endif

static const char expect_held[] =
	"100@10 k2 -\n"
	"900@20 k2 900/9*1\n"
	"900@30 k2 900/9*1\n"
	"900@40 k2 900/9*1\n";

struct broken_case {
	const char *name;
	void (*build)(struct synth *s);
	const char *expect;
	int ret;
	bool native;
	bool comms;
};

static const struct broken_case broken_cases[] = {
	{ "unknown event", build_unknown, .expect = "", .ret = -EINVAL },
	/* native: a file of the other byte order is read like a pipe, see "held at an error" */
	{ "unknown event, later", build_unknown_later, .expect = "100@10 k2 -\n", .ret = -EINVAL,
	  .native = true },
	{ "inflated raw data", build_inflated_raw, .expect = "", .ret = -EFAULT },
	{ "many namespaces", build_many_namespaces, .expect = "" },
	{ "many branches", build_many_branches, .expect = "", .ret = -EFAULT },
	{ "no phys addr", build_no_phys_addr, .expect = "", .ret = -EFAULT },
	{ "no cgroup", build_no_cgroup, .expect = "", .ret = -EFAULT },
	{ "no data page", build_no_data_page, .expect = "", .ret = -EFAULT },
	{ "no code page", build_no_code_page, .expect = "", .ret = -EFAULT },
	{ "no branches", build_no_branches, .expect = expect_good },
	{ "long text poke", build_long_text_poke, .expect = expect_good },
	{ "own child", build_own_child, .expect = expect_good },
	{ "empty events", build_empty, .expect = expect_good },
	{ "no room for sample_id", build_no_room_for_sample_id, .expect = "", .ret = -EFAULT },
	{ "no fields of sample_id", build_no_fields_of_sample_id, .expect = "", .native = true },
	{ "long build id", build_long_build_id, .expect = expect_long_build_id },
	{ "long map", build_long_map, .expect = expect_good },
	{ "kernel's name", build_kernel_name, .expect = expect_good },
	{ "counts", build_counts, .expect = expect_good },
	{ "no id", build_no_id, .expect = "", .ret = -EINVAL, .native = true },
	{ "long attr", build_long_attr, .expect = expect_good },
	{ "old tracing data", build_old_tracing_data, .expect = expect_good, .native = true },
	{ "tracing data", build_tracing_data, .expect = expect_good, .native = true },
	{ "attrs without a size", build_attrs_without_size, .expect = expect_good,
	  .native = true },
	{ "short attr", build_short_attr, .expect = expect_good },
	{ "no attrs", build_no_attrs, .expect = "", .ret = -EINVAL, .native = true, .comms = true },
	{ "update of none", build_update_of_none, .expect = "update: -22\n", .ret = -EINVAL,
	  .native = true },
	{ "held twice", build_held_twice, .expect = "200@40 k2 200/1*1\n100@50 k2 100/1*1\n"
						    "900@55 k2 900/9*1\n900@56 k2 900/9*1\n" },
	{ "held at an error", build_held_at_error, .expect = expect_held, .ret = -EINVAL },
#ifdef HAVE_ZSTD_SUPPORT
	{ "held at an error, compressed", build_held_at_error_packed, .expect = expect_held,
	  .ret = -EINVAL, .native = true },
#endif
	{ "other fields", build_other_fields, .expect = expect_other_fields, .native = true },
	{ "other attr", build_other_attr, .native = true,
	  .expect = "plain 4294967295@18446744073709551615 wrong raw data\n"
		    "plain 4294967295@18446744073709551615 wrong raw data\n" },
};

/* The callback that reader_tool__init() set. */
static event_sample write_down_sample;

static int note_sample(SAMPLE_PARAMS)
{
	struct reader_tool *reader = container_of(tool, struct reader_tool, tool);

	if (!evsel__has_callchain(SAMPLE_EVSEL))
		read_text__add(&reader->text, "plain ");
	return call_sample(write_down_sample, tool, event, sample, SAMPLE_EVSEL, machine);
}

static int note_build_id(const struct perf_tool *tool, union perf_event *event,
			 struct perf_sample *sample, struct machine *machine)
{
	struct reader_tool *reader = container_of(tool, struct reader_tool, tool);
	const struct perf_record_mmap2 *mmap2 = &event->mmap2;
	int ret = perf_event__process_mmap2(tool, event, sample, machine);
	const struct build_id *bid;
	struct dso *dso;

	dso = machine__findnew_dso(machine, mmap2->filename);
	if (!dso)
		return -ENOMEM;
	bid = dso__bid_const(dso);
	read_text__add(&reader->text, "%sbuild id of %zu bytes\n",
		       memcmp(bid->data, mmap2->build_id, BUILD_ID_SIZE) ? "wrong " : "",
		       bid->size);
	dso__put(dso);
	return ret;
}

static int note_update(const struct perf_tool *tool, union perf_event *event,
		       struct evlist **evlist)
{
	struct reader_tool *reader = container_of(tool, struct reader_tool, tool);
	int ret = perf_event__process_event_update(tool, event, evlist);

	read_text__add(&reader->text, "update: %d\n", ret);
	return ret;
}

static int note_comm(const struct perf_tool *tool, union perf_event *event,
		     struct perf_sample *sample, struct machine *machine)
{
	struct reader_tool *reader = container_of(tool, struct reader_tool, tool);

	read_text__add(&reader->text, "%s\n", event->comm.comm);
	return perf_event__process_comm(tool, event, sample, machine);
}

/* Read the data that follow the event from the pipe, as perf_event__process_tracing_data() does. */
static int skip_tracing_data(struct perf_session *session, union perf_event *event)
{
	char buf[SYNTH_TRACING_SIZE];

	if (event->tracing_data.size != sizeof(buf) ||
	    readn(perf_data__fd(session->data), buf, sizeof(buf)) != sizeof(buf))
		return -EINVAL;
	return sizeof(buf);
}

static bool run_broken_case(const struct broken_case *c, bool foreign)
{
	struct synth s = { .foreign = foreign };
	struct reader_tool reader;
	int ret;

	c->build(&s);
	reader_tool__init(&reader, true);
	write_down_sample = reader.tool.sample;
	reader.tool.sample = note_sample;
	reader.tool.comm = c->comms ? note_comm : perf_event__process_comm;
	reader.tool.fork = perf_event__process_fork;
	reader.tool.mmap = perf_event__process_mmap;
	reader.tool.mmap2 = note_build_id;
	reader.tool.event_update = note_update;
	reader.tool.tracing_data = skip_tracing_data;
	dump_trace = true;
	ret = reader_tool__read_quietly(&reader, &s, SIZE_MAX);
	dump_trace = false;
	synth__free(&s);
	if (ret != c->ret)
		pr_debug("FAILED %s: %d\n", c->name, ret);
	return read_text__is(&reader.text, c->expect, c->name) && ret == c->ret;
}

static int test__deferred_broken(struct test_suite *test __maybe_unused,
				 int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(broken_cases); i++) {
		ok &= run_broken_case(&broken_cases[i], false);
		if (!broken_cases[i].native)
			ok &= run_broken_case(&broken_cases[i], true);
	}
	return ok ? TEST_OK : TEST_FAIL;
}

#define NR_WORDS	14

/**
 * struct layout_case - a case for perf_event__fits()
 * @type: type of the event
 * @size: size of the event without its header
 * @words: contents behind the header, in this machine's byte order
 * @fits: expected result
 */
struct layout_case {
	u32 type;
	u16 size;
	u64 words[NR_WORDS];
	bool fits;
};

#define TEXT	0x4141414141414141ULL
#define POKE	(5 | 3ULL << 16)	/* 5 old bytes and 3 new ones */

static const struct layout_case layout_cases[] = {
	{ PERF_RECORD_EXIT, 23, {}, false },
	{ PERF_RECORD_EXIT, 24, {}, true },
	{ PERF_RECORD_COMM, 8, { 1 }, false },
	{ PERF_RECORD_COMM, 16, { 1, TEXT }, false },
	{ PERF_RECORD_COMM, 16, { 1, TEXT >> 8 }, true },
	{ PERF_RECORD_COMM, 24, { 1, TEXT, 0 }, true },
	{ PERF_RECORD_NAMESPACES, 16, { 1, 1 }, false },
	{ PERF_RECORD_NAMESPACES, 31, { 1, 1 }, false },
	{ PERF_RECORD_NAMESPACES, 32, { 1, 1 }, true },
	{ PERF_RECORD_NAMESPACES, 32, { 1, -1ULL }, false },
	{ PERF_RECORD_TEXT_POKE, 19, { 1, POKE }, false },
	{ PERF_RECORD_TEXT_POKE, 20, { 1, POKE }, true },
	{ PERF_RECORD_THREAD_MAP, 16, { 1 }, false },
	{ PERF_RECORD_THREAD_MAP, 32, { 1 }, true },
	{ PERF_RECORD_HEADER_ATTR, 63, { 64ULL << 32 }, false },
	{ PERF_RECORD_HEADER_ATTR, 64, { 64ULL << 32 }, true },
	{ PERF_RECORD_HEADER_ATTR, 64, { 63ULL << 32 }, false },
	{ PERF_RECORD_HEADER_ATTR, 64, { 72ULL << 32 }, false },
	{ PERF_RECORD_HEADER_ATTR, 63, {}, false },
	{ PERF_RECORD_HEADER_ATTR, 64, {}, true },
	{ PERF_RECORD_HEADER_ATTR, 72, {}, true },
	{ PERF_RECORD_HEADER_TRACING_DATA, 0, {}, false },
	{ PERF_RECORD_HEADER_TRACING_DATA, 3, { 8 }, false },
	{ PERF_RECORD_HEADER_TRACING_DATA, 4, { 8 }, true },
	{ PERF_RECORD_HEADER_TRACING_DATA, 8, { 8 }, true },
	{ PERF_RECORD_AUXTRACE, 39, {}, false },
	{ PERF_RECORD_AUXTRACE, 40, { -1ULL >> 1 }, true },
	{ PERF_RECORD_AUXTRACE, 40, { 1ULL << 63 | 3 }, false },
	{ PERF_RECORD_AUXTRACE_ERROR, 32, {}, false },
	{ PERF_RECORD_AUXTRACE_ERROR, 33, {}, true },
	{ PERF_RECORD_AUXTRACE_ERROR, 40, { 0, 0, 1ULL << 32 }, false },
	{ PERF_RECORD_AUXTRACE_ERROR, 41, { 0, 0, 1ULL << 32 }, true },
	{ PERF_RECORD_AUXTRACE_ERROR, 111, { 0, 0, 2ULL << 32 }, false },
	{ PERF_RECORD_AUXTRACE_ERROR, 112, { 0, 0, 2ULL << 32 }, true },
	{ PERF_RECORD_CPU_MAP, 3, {}, false },
	{ PERF_RECORD_CPU_MAP, 8, { 2ULL << 16 }, true },
	{ PERF_RECORD_CPU_MAP, 8, { 3ULL << 16 }, false },
	{ PERF_RECORD_CPU_MAP, 16, { 1 | 2ULL << 16 | 4ULL << 32 }, true },
	{ PERF_RECORD_CPU_MAP, 16, { 1 | 3ULL << 16 | 4ULL << 32 }, false },
	{ PERF_RECORD_CPU_MAP, 18, { 1 | 1ULL << 16 | 8ULL << 32 }, true },
	{ PERF_RECORD_CPU_MAP, 18, { 1 | 2ULL << 16 | 8ULL << 32 }, false },
	{ PERF_RECORD_CPU_MAP, 16, { 1 | 1ULL << 16 | 5ULL << 32 }, false },
	{ PERF_RECORD_CPU_MAP, 7, { 2 }, false },
	{ PERF_RECORD_CPU_MAP, 8, { 2 }, true },
	{ PERF_RECORD_EVENT_UPDATE, 24, { PERF_EVENT_UPDATE__NAME, 1, TEXT }, false },
	{ PERF_RECORD_EVENT_UPDATE, 24, { PERF_EVENT_UPDATE__NAME, 1, TEXT >> 8 }, true },
	{ PERF_RECORD_EVENT_UPDATE, 23, { PERF_EVENT_UPDATE__SCALE, 1 }, false },
	{ PERF_RECORD_EVENT_UPDATE, 24, { PERF_EVENT_UPDATE__SCALE, 1 }, true },
	{ PERF_RECORD_EVENT_UPDATE, 24, { PERF_EVENT_UPDATE__CPUS, 1, 2ULL << 16 }, true },
	{ PERF_RECORD_EVENT_UPDATE, 24, { PERF_EVENT_UPDATE__CPUS, 1, 3ULL << 16 }, false },
	{ PERF_RECORD_STAT_ROUND, 8, {}, false },
	{ PERF_RECORD_FINISHED_ROUND, 0, {}, true },
	{ PERF_RECORD_HEADER_MAX, 0, {}, true },
};

/* Swap the bytes of fields of @size bytes each, from word @from up to word @to. */
static void swap_fields(u64 *from, u64 *to, size_t size)
{
	for (char *field = (char *)from; field < (char *)to; field += size) {
		for (size_t i = 0; i < size / 2; i++) {
			char byte = field[i];

			field[i] = field[size - 1 - i];
			field[size - 1 - i] = byte;
		}
	}
}

static void swap_words(u32 type, u64 *words)
{
	switch (type) {
	case PERF_RECORD_COMM:
		break;
	case PERF_RECORD_TEXT_POKE:
		swap_fields(words + 1, words + 2, sizeof(u16));
		break;
	case PERF_RECORD_CPU_MAP:
		swap_fields(words, words + 1, sizeof(u16));
		break;
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_AUXTRACE_ERROR:
		swap_fields(words, words + 3, sizeof(u32));
		break;
	case PERF_RECORD_EVENT_UPDATE:
		swap_fields(words, words + 2, sizeof(u64));
		break;
	default:
		swap_fields(words, words + NR_WORDS, sizeof(u64));
	}
}

static bool check_layout(const struct layout_case *c, bool swapped)
{
	struct {
		struct perf_event_header header;
		u64 words[NR_WORDS];
	} event = { .header = { .type = c->type, .size = sizeof(event.header) + c->size } };

	memcpy(event.words, c->words, sizeof(event.words));
	if (swapped)
		swap_words(c->type, event.words);
	if (perf_event__fits((void *)&event, swapped) == c->fits)
		return true;

	pr_debug("FAILED: type %u, %u bytes, swapped %d\n", c->type, c->size, swapped);
	return false;
}

static int test__deferred_layouts(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(layout_cases); i++) {
		ok &= check_layout(&layout_cases[i], false);
		ok &= check_layout(&layout_cases[i], true);
	}
	return ok ? TEST_OK : TEST_FAIL;
}

#define DESC_ATTR_SIZE	PERF_ATTR_SIZE_VER0

/*
 * HEADER_EVENT_DESC features with two events.  The first event claims to have @nr_ids ids and
 * a name of @name_size bytes.  Expected: the flags of @nr_cleared events are cleared.
 */
static const struct {
	u32 nr_ids;
	u32 name_size;
	int nr_cleared;
} desc_cases[] = {
	{ 0, 0, 2 },
	{ 1, 8, 1 },
	{ 1U << 29, 0, 1 },	/* 8 bytes for each id: 1ULL << 32 in all */
	{ 0, -1U, 1 },
	{ -1U, -1U, 1 },
};

static int count_cleared(u32 nr_ids, u32 name_size)
{
	struct {
		struct perf_record_header_feature feat;
		u32 nr, attr_size;
		struct {
			u64 attr[DESC_ATTR_SIZE / sizeof(u64)];
			u32 nr_ids, name_size;
		} desc[2];
	} event = {
		.feat = {
			.header = { .type = PERF_RECORD_HEADER_FEATURE, .size = sizeof(event) },
			.feat_id = HEADER_EVENT_DESC,
		},
		.nr = 2,
		.attr_size = DESC_ATTR_SIZE,
		.desc[0] = { .nr_ids = nr_ids, .name_size = name_size },
	};
	const size_t flags = offsetof(struct perf_event_attr, read_format) / sizeof(u64) + 1;
	struct deferred_merge merge = { .enabled = true, .copy = malloc(sizeof(union perf_event)) };
	int cleared = 0;

	for (int i = 0; i < 2; i++)
		event.desc[i].attr[flags] = 3ULL << 38;
	if (merge.copy && deferred_merge__event(&merge, (void *)&event) == merge.copy) {
		memcpy(&event, merge.copy, sizeof(event));
		for (int i = 0; i < 2; i++)
			cleared += !event.desc[i].attr[flags];
	}
	deferred_merge__exit(&merge);
	return cleared;
}

static int test__deferred_descs(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(desc_cases); i++) {
		int nr = count_cleared(desc_cases[i].nr_ids, desc_cases[i].name_size);

		if (nr == desc_cases[i].nr_cleared)
			continue;
		pr_debug("FAILED: %u ids, a name of %u bytes: %d\n", desc_cases[i].nr_ids,
			 desc_cases[i].name_size, nr);
		ok = false;
	}
	return ok ? TEST_OK : TEST_FAIL;
}

/* If a pipe has several events for a feature, the first event is kept for the header. */
static int test__deferred_feats(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct perf_record_header_feature event = {
		.header = { .type = PERF_RECORD_HEADER_FEATURE, .size = sizeof(event) },
		.feat_id = HEADER_HOSTNAME,
	};
	struct deferred_merge merge = { .enabled = true, .to_file = true };
	const union perf_event *first = NULL;
	bool ok = true;

	for (int i = 0; i < 3; i++) {
		ok &= !deferred_merge__event(&merge, (void *)&event);
		first = first ?: merge.feats[HEADER_HOSTNAME];
	}
	ok &= first && merge.feats[HEADER_HOSTNAME] == first;
	deferred_merge__exit(&merge);
	return ok ? TEST_OK : TEST_FAIL;
}

#define NR_CRAFTED	50000

/* Return the CPU time in ms for reading a file of @nr crafted events. */
static double read_crafted(void (*build)(struct synth *s, u64 nr), u64 nr, bool piped, bool *ok)
{
	struct synth s = { .piped = piped };
	struct reader_tool reader;
	clock_t start;

	build(&s, nr);
	start = clock();
	reader_tool__init(&reader, /*merge=*/true);
	*ok &= !reader_tool__read_quietly(&reader, &s, SIZE_MAX);
	synth__free(&s);
	return (clock() - start) / (CLOCKS_PER_SEC / 1000.0);
}

/*
 * Compare one file with eight files of an eighth of its events.  If the time is linear, both take
 * about the same time.  If it is quadratic, the one file takes eight times as long.  A busy
 * machine can slow down one of the two for a moment, so try again.
 */
static bool reads_in_time(void (*build)(struct synth *s, u64 nr), bool piped, const char *name)
{
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		double eight = 0, one;

		for (int file = 0; file < 8; file++)
			eight += read_crafted(build, NR_CRAFTED / 8, piped, &ok);
		one = read_crafted(build, NR_CRAFTED, piped, &ok);
		pr_debug("%s: eight files %.1f ms, one file %.1f ms\n", name, eight, one);
		if (one < 4 * eight)
			return ok;
	}
	return false;
}

/* Cookies that would all have the same hash in a table that uses hash_64(). */
static void build_same_hashes(struct synth *s, u64 nr)
{
	const u64 inverse = 0xf1de83e19937733dULL;	/* of -GOLDEN_RATIO_64 */

	for (u64 i = 1; i <= nr; i++)
		synth__record(s, 0, i, i * inverse, 1);
}

static int test__deferred_hashes(struct test_suite *test __maybe_unused,
				 int subtest __maybe_unused)
{
	return reads_in_time(build_same_hashes, /*piped=*/false, "hashes") ? TEST_OK : TEST_FAIL;
}

static void build_one_cookie(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr; i++) {
		synth__deferred(s, 100, 2 * i, 1);
		synth__record(s, 100, 2 * i + 1, 1, 1);
	}
}

static void build_no_samples(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr; i++)
		synth__record(s, 100, i, i, 1);
}

static void build_no_records(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr; i++)
		synth__deferred(s, 100, i, i);
}

static void build_same_times(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr; i++)
		synth__deferred(s, 100, 10, i);
	s->cpu = 1;
	for (u64 i = 1; i <= nr; i++)
		synth__record(s, 100, 10, i, 1);
	s->cpu = 0;
}

/*
 * In a pipe, an attr between the records makes the sample_id smaller.  The records in front of the
 * attr are then malformed when they are delivered.
 */
static void build_attr_between(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr / 2; i++)
		synth__record(s, 100, 10, i, 1);
	if (!s->piped)
		return;
	synth__attr(s, SYNTH_TRACKING_ID, SYNTH_SAMPLE_TYPE & ~PERF_SAMPLE_CPU);
	s->no_cpu = true;
	for (u64 i = 1; i <= nr / 2; i++)
		synth__record(s, 100, 10, nr + i, 1);
	s->no_cpu = false;
}

/* Flush rounds that go back in time, while the sample of a thread waits. */
static void build_back_in_time(struct synth *s, u64 nr)
{
	synth__deferred(s, 200, 1, 1);
	for (u64 i = nr; i; i--) {
		synth__record(s, 100, 10 + i, i, 1);
		if (i % 1000 == 0)
			synth__round(s);
	}
	synth__record(s, 200, 20 + nr, 1, 1);
}

/* Flush rounds of one thread that go back in time, with a sample for each record. */
static void build_all_back_in_time(struct synth *s, u64 nr)
{
	for (u64 i = nr / 2; i; i--) {
		synth__record(s, 100, 10 * i, i, 1);
		synth__deferred(s, 100, 10 * i, i);
		synth__round(s);
	}
}

/* Many EXIT events of one thread, all with the same time. */
static void build_same_ends(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr / 2; i++) {
		synth__exit(s, 100, 10);
		synth__record(s, 100, 10, i, 1);
	}
}

/* All samples wait while their thread ends many times. */
static void build_many_lives(struct synth *s, u64 nr)
{
	for (u64 i = 1; i <= nr / 2; i++)
		synth__deferred(s, 100, i, i);
	for (u64 i = 1; i <= nr / 2; i++) {
		synth__exit(s, 100, nr + 3 * i);
		synth__fork(s, 100, nr + 3 * i + 1);
		synth__record(s, 100, nr + 3 * i + 2, i, 1);
	}
}

static const struct {
	const char *name;
	void (*build)(struct synth *s, u64 nr);
} crafted_cases[] = {
	{ "one cookie", build_one_cookie },
	{ "records without samples", build_no_samples },
	{ "samples without records", build_no_records },
	{ "one time", build_same_times },
	{ "attr between records", build_attr_between },
	{ "back in time", build_back_in_time },
	{ "all back in time", build_all_back_in_time },
	{ "ends at one time", build_same_ends },
	{ "many lives", build_many_lives },
};

static int test__deferred_crafted(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	bool ok = true;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(crafted_cases); i++)
		ok &= reads_in_time(crafted_cases[i / 2].build, i % 2, crafted_cases[i / 2].name);
	return ok ? TEST_OK : TEST_FAIL;
}

/* perf_tool__init() must set dont_split_sample_group, whatever the memory contained before. */
static int test__deferred_tool(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	struct perf_tool tool[2];

	memset(&tool[0], 0, sizeof(tool[0]));
	memset(&tool[1], 1, sizeof(tool[1]));
	perf_tool__init(&tool[0], /*ordered_events=*/true);
	perf_tool__init(&tool[1], /*ordered_events=*/true);
	return tool[0].dont_split_sample_group == tool[1].dont_split_sample_group ?
	       TEST_OK : TEST_FAIL;
}

static struct test_case tests__deferred_callchain_broken[] = {
	TEST_CASE("Deferred callchains in truncated files", deferred_truncated),
	TEST_CASE("Deferred callchains in broken files", deferred_broken),
	TEST_CASE("Sizes of events in files with deferred callchains", deferred_layouts),
	TEST_CASE("Merged descriptions of events with broken sizes", deferred_descs),
	TEST_CASE("Merged features of deferred callchains", deferred_feats),
	TEST_CASE("Hashes of threads and cookies", deferred_hashes),
	TEST_CASE("Crafted files with deferred callchains", deferred_crafted),
	TEST_CASE("Tools for deferred callchains", deferred_tool),
	{ .name = NULL, }
};

struct test_suite suite__deferred_callchain_broken = {
	.desc = "Broken files with deferred callchains",
	.test_cases = tests__deferred_callchain_broken,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * A ring buffer that is written while it is read: check that each record is read
 * exactly once, both as perf record reads, and as perf top and perf trace read.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asm/barrier.h>
#include <internal/lib.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <perf/mmap.h>

#include "tests.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/mmap.h"

#define DATA_BYTES	65536UL
#define NR_RECORDS	500000ULL

struct record {
	struct perf_event_header header;
	u64 nr;
};

#define END		(NR_RECORDS * sizeof(struct record))

/* Write as the kernel does: first the record, then the head. Unread records are not overwritten. */
static void *write_records(void *arg)
{
	struct perf_event_mmap_page *page = arg;
	struct record *data = arg + page_size;
	struct record record = {
		.header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(record) },
	};
	u64 head;

	for (record.nr = 0; record.nr < NR_RECORDS; record.nr++) {
		head = record.nr * sizeof(record);
		/* a record is read before it is overwritten ... */
		while (head - smp_load_acquire(&page->data_tail) == DATA_BYTES)
			sched_yield();
		data[record.nr % (DATA_BYTES / sizeof(record))] = record;
		/* ... and a record is written before it can be read */
		smp_store_release(&page->data_head, head + sizeof(record));
	}
	return NULL;
}

static int take_records(struct mmap *map __maybe_unused, void *to, void *buf, size_t size)
{
	struct record *record = buf;
	u64 *next = to;

	for (; size >= sizeof(*record); size -= sizeof(*record), record++) {
		if (record->nr != *next) {
			pr_debug("record %llu instead of %llu\n", (unsigned long long)record->nr,
				 (unsigned long long)*next);
			return -1;
		}
		++*next;
	}
	return size ? -1 : 0;
}

static int push_events(struct mmap *map, u64 *next)
{
	return perf_mmap__push(map, next, take_records);
}

/* Like perf kvm, stop after a number of records, even if the buffer has more. */
static int read_events(struct mmap *map, u64 *next)
{
	union perf_event *event;
	int err = 0, nr = 0;

	if (perf_mmap__read_init(&map->core) < 0)
		return 1;
	while (!err && nr++ < 1000) {
		event = perf_mmap__read_event(&map->core);
		if (!event)
			break;
		err = take_records(map, next, event, event->header.size);
		perf_mmap__consume(&map->core);
	}
	perf_mmap__read_done(&map->core);
	return err;
}

/* Has the writer written all records, and has the reader passed all of them? */
static bool is_over(const struct mmap *map, struct perf_event_mmap_page *page)
{
	/* pairs with the writer's smp_store_release() */
	return smp_load_acquire(&page->data_head) == END && map->core.prev >= END;
}

static int read_records(struct perf_event_mmap_page *page, int (*read)(struct mmap *, u64 *))
{
	struct mmap map = {
		.core = { .base = page, .mask = DATA_BYTES - 1, .flush = 1 },
	};
	u64 next = 0;
	int status;

	refcount_set(&map.core.refcnt, 2);
	do {
		status = read(&map, &next);
		if (status > 0)
			sched_yield();
	} while (status >= 0 && next < NR_RECORDS && !is_over(&map, page));

	/* release all space: after an error, the writer must not wait for the reader */
	smp_store_release(&page->data_tail, END);
	if (!status && next < NR_RECORDS)
		pr_debug("%llu of %llu records\n", (unsigned long long)next, NR_RECORDS);
	return next == NR_RECORDS ? TEST_OK : TEST_FAIL;
}

static int run_with_writer(int (*read)(struct mmap *, u64 *))
{
	struct perf_event_mmap_page *page = calloc(1, page_size + DATA_BYTES);
	pthread_t writer;
	int ret = TEST_FAIL;

	/* with one CPU, the writer would hardly ever run during a read */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		ret = TEST_SKIP;
	} else if (page && !pthread_create(&writer, NULL, write_records, page)) {
		ret = read_records(page, read);
		pthread_join(writer, NULL);
	}
	free(page);
	return ret;
}

static int test__push(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	return run_with_writer(push_events);
}

static int test__read(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	return run_with_writer(read_events);
}

static struct test_case mmap_growing_tests[] = {
	TEST_CASE("Ring buffers written while perf record reads them", push),
	TEST_CASE("Ring buffers written while perf top reads them", read),
	{ .name = NULL, }
};

struct test_suite suite__mmap_growing = {
	.desc = "Ring buffers written while they are read",
	.test_cases = mmap_growing_tests,
};

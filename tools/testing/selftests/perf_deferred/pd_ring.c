// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pd_log.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_test.h"

int pd_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	    unsigned long flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group,
		       flags | PERF_FLAG_FD_CLOEXEC);
}

int pd_try_open(struct perf_event_attr *attr)
{
	int fd = pd_open(attr, 0, -1, -1, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int pd_check_unknown_bits(const struct perf_event_attr *attr, int first)
{
	int err, bit;

	for (bit = first; bit < 64; bit++) {
		struct perf_event_attr other = *attr;

		pd_attr_flag(&other, bit, 1);
		err = pd_try_open(&other);
		PD_CHECK(err == EINVAL, "flag bit %d: %s", bit, strerror(err));
	}
	return PD_PASS;
}

int pd_check_oldest_size(struct perf_event_attr *attr)
{
	int err;

	attr->size = PERF_ATTR_SIZE_VER0;
	attr->use_clockid = 0;
	err = pd_try_open(attr);
	PD_CHECK(!err, "size %d: %s", PERF_ATTR_SIZE_VER0, strerror(err));
	return PD_PASS;
}

void pd_attr_init(struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = PD_SAMPLE;
	attr->sample_id_all = 1;
	attr->read_format = PD_FORMAT_LOST;
	attr->disabled = 1;
	attr->sample_period = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, 1);
	pd_attr_flag(attr, PD_FLAG_DEFER_OUTPUT, 1);
}

void pd_attr_clock(struct perf_event_attr *attr, unsigned int hz)
{
	pd_attr_init(attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_period = 1000000000ULL / hz;
}

void pd_attr_dummy(struct perf_event_attr *attr)
{
	pd_attr_init(attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, 0);
}

bool pd_supported(void)
{
	struct perf_event_attr attr;

	pd_attr_clock(&attr, 1);
	return pd_try_open(&attr) != EINVAL;
}

int pd_event_open_flags(struct pd_event *event, const struct perf_event_attr *attr,
			pid_t pid, int cpu, unsigned int pages, unsigned long flags)
{
	int err;

	memset(event, 0, sizeof(*event));
	event->attr = *attr;
	event->fd = pd_open(&event->attr, pid, cpu, -1, flags);
	if (event->fd < 0)
		return errno;
	if (ioctl(event->fd, PERF_EVENT_IOC_ID, &event->id)) {
		err = errno;
		goto close;
	}
	if (!pages)
		return 0;

	event->size = (size_t)pages * getpagesize();
	event->page = mmap(NULL, event->size + getpagesize(),
			   PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);
	if (event->page != MAP_FAILED)
		return 0;
	err = errno;
	event->page = NULL;
close:
	close(event->fd);
	event->fd = -1;
	return err;
}

int pd_event_open(struct pd_event *event, const struct perf_event_attr *attr,
		  pid_t pid, int cpu, unsigned int pages)
{
	return pd_event_open_flags(event, attr, pid, cpu, pages, 0);
}

int pd_must_open(struct pd_event *event, const struct perf_event_attr *attr,
		 pid_t pid, int cpu)
{
	int err = pd_event_open(event, attr, pid, cpu, PD_PAGES);

	PD_CHECK(!err, "perf_event_open of type %u, config %llu: %s", attr->type,
		 attr->config, strerror(err));
	return 0;
}

void pd_event_close(struct pd_event *event)
{
	if (event->page)
		munmap(event->page, event->size + getpagesize());
	if (event->fd >= 0)
		close(event->fd);
	event->page = NULL;
	event->fd = -1;
}

void pd_enable(struct pd_event *event)
{
	event->disabled_at = 0;
	ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void pd_disable(struct pd_event *event)
{
	event->disabled_at = pd_now_ns();
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void ring_copy(struct pd_event *event, void *to, __u64 from, size_t len)
{
	const char *data = (const char *)event->page + getpagesize();
	size_t start = from & (event->size - 1);
	size_t first = event->size - start;

	if (first > len)
		first = len;
	memcpy(to, data + start, first);
	memcpy((char *)to + first, data, len - first);
}

/*
 * No LOST record counts the records that were lost after the last record of the
 * buffer: read the number of all lost records from the event.
 */
static void count_dropped(struct pd_event *event, struct pd_log *log)
{
	__u64 values[2];

	if (!event->disabled_at || !(event->attr.read_format & PD_FORMAT_LOST) ||
	    read(event->fd, values, sizeof(values)) != sizeof(values))
		return;
	log->dropped += values[1] - event->dropped;
	event->dropped = values[1];
}

void pd_drain(struct pd_event *event, struct pd_log *log)
{
	__u64 copy[65536 / 8];
	__u64 head, tail;

	if (!event->page)
		return;
	head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE);
	tail = event->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;

		ring_copy(event, &header, tail, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			pd_log_malformed(log, "a record of %u bytes where %llu are left",
					 header.size, head - tail);
			tail = head;
			break;
		}
		ring_copy(event, copy, tail, header.size);
		pd_log_add(log, (struct perf_event_header *)copy, event);
		tail += header.size;
	}
	__atomic_store_n(&event->page->data_tail, tail, __ATOMIC_RELEASE);
	count_dropped(event, log);
}

int pd_set_open(struct pd_set *set, const struct perf_event_attr *attr,
		pid_t pid, unsigned int pages)
{
	int nr = sysconf(_SC_NPROCESSORS_ONLN);
	int err = ENOMEM;

	set->nr = 0;
	set->events = calloc(nr, sizeof(*set->events));
	if (!set->events)
		return err;
	while (set->nr < nr) {
		err = pd_event_open(&set->events[set->nr], attr, pid, set->nr, pages);
		if (err) {
			pd_set_close(set);
			return err;
		}
		set->nr++;
	}
	return 0;
}

int pd_set_must_open(struct pd_set *set, const struct perf_event_attr *attr, pid_t pid)
{
	int err = pd_set_open(set, attr, pid, PD_PAGES);

	PD_CHECK(!err, "perf_event_open of type %u, config %llu on every CPU: %s",
		 attr->type, attr->config, strerror(err));
	return 0;
}

void pd_set_enable(struct pd_set *set)
{
	int i;

	for (i = 0; i < set->nr; i++)
		pd_enable(&set->events[i]);
}

void pd_set_disable(struct pd_set *set)
{
	int i;

	for (i = 0; i < set->nr; i++)
		pd_disable(&set->events[i]);
}

void pd_set_drain(struct pd_set *set, struct pd_log *log)
{
	int i;

	for (i = 0; i < set->nr; i++)
		pd_drain(&set->events[i], log);
}

void pd_set_close(struct pd_set *set)
{
	while (set->nr)
		pd_event_close(&set->events[--set->nr]);
	free(set->events);
	set->events = NULL;
}

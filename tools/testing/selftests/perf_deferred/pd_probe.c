// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pd_probe.h"
#include "pd_ring.h"
#include "pd_test.h"

long pd_read_long(const char *path)
{
	FILE *file = fopen(path, "r");
	long value;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

int pd_write_str(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

int pd_attr_kprobe(struct perf_event_attr *attr, const char *function)
{
	long type = pd_read_long("/sys/bus/event_source/devices/kprobe/type");
	int fd;

	if (type < 0)
		return pd_skip("no kprobe events here");
	pd_attr_init(attr);
	attr->type = type;
	attr->kprobe_func = (__u64)(unsigned long)function;

	fd = pd_open(attr, 0, -1, -1, 0);
	if (fd < 0)
		return pd_skip("no kprobe at %s: %s", function, strerror(errno));
	close(fd);
	return 0;
}

int pd_attr_kprobe_counter(struct perf_event_attr *attr, const char *function)
{
	PD_TRY(pd_attr_kprobe(attr, function));
	attr->sample_type = 0;
	attr->sample_period = 0;
	pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(attr, PD_FLAG_DEFER_OUTPUT, 0);
	return 0;
}

/* A function's offset in the file that this program was mapped from. */
static long file_offset(const void *function)
{
	unsigned long start, end, offset, at = (unsigned long)function;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	long found = -1;

	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		if (at >= start && at < end)
			found = at - start + offset;
	}
	fclose(maps);
	return found;
}

int pd_attr_uprobe(struct perf_event_attr *attr, const void *function, bool on_return)
{
	long type = pd_read_long("/sys/bus/event_source/devices/uprobe/type");
	static char path[512];
	ssize_t len;

	if (type < 0)
		return pd_skip("no uprobe events here");
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len < 0)
		return pd_fail("/proc/self/exe: %s", strerror(errno));
	path[len] = 0;
	pd_attr_init(attr);
	attr->type = type;
	attr->config = on_return;
	attr->uprobe_path = (__u64)(unsigned long)path;
	attr->probe_offset = file_offset(function);
	return 0;
}

int pd_attr_tracepoint(struct perf_event_attr *attr, const char *system, const char *name)
{
	char path[256];
	long id;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/id", system, name);
	id = pd_read_long(path);
	if (id < 0)
		return pd_skip("no tracepoint %s:%s", system, name);
	pd_attr_init(attr);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return 0;
}

struct pd_range pd_find_function(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	struct pd_range range = { 0, ~0ULL };
	char line[512], found[256], behind = '.';
	__u64 ip;

	if (!file)
		return (struct pd_range){};
	/* prefer a symbol without a suffix: a suffix can mean a part that the compiler split off */
	while (behind == '.' && fgets(line, sizeof(line), file)) {
		char next;

		if (sscanf(line, "%llx %*c %255[^. \t\n]%c", &ip, found, &next) == 3 &&
		    !strcmp(found, name)) {
			range.low = ip;
			behind = next;
		}
	}
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		ip = strtoull(line, NULL, 16);
		if (ip > range.low && ip < range.high)
			range.high = ip;
	}
	fclose(file);
	return range.low ? range : (struct pd_range){};
}

bool pd_is_under(const struct pd_rec *sample, const struct pd_range *function)
{
	__u32 i;

	for (i = 0; i < sample->nr_kernel; i++)
		if (sample->frames[i] > function->low && sample->frames[i] < function->high)
			return true;
	return false;
}

int pd_watch_open(struct pd_event *watch, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	pd_attr_flag(attr, PD_FLAG_DEFER_CALLCHAIN, 0);
	pd_attr_flag(attr, PD_FLAG_DEFER_OUTPUT, 0);
	attr->exclude_callchain_user = 1;
	attr->inherit = cpu >= 0;
	return pd_must_open(watch, attr, pid, cpu);
}

int pd_watch_exit(struct pd_event *watch, const char *what)
{
	struct pd_range exit = pd_find_function("unwind_deferred_exit");
	const struct pd_rec *sample = NULL;
	struct pd_log log = {};

	PD_CHECK(exit.low, "/proc/kallsyms has no unwind_deferred_exit");
	pd_disable(watch);
	pd_drain(watch, &log);
	PD_TRY(pd_log_clean(&log));
	while (pd_log_next(&log, PERF_RECORD_SAMPLE, &sample))
		PD_CHECK(!pd_is_under(sample, &exit), "a dying task %s", what);
	pd_log_free(&log);
	return 0;
}

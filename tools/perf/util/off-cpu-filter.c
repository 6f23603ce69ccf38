// SPDX-License-Identifier: GPL-2.0
/* Which tasks --off-cpu records: the user space part of off_cpu_{cgroups,pids}.bpf.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include <api/fs/fs.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cgroup.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "off_cpu.h"

#include "bpf_skel/off_cpu.skel.h"

/* The kernel's PROC_PID_INIT_INO. */
#define INITIAL_PID_NS	0xEFFFFFFC

/* Return the mount id of a path, or -1. */
static int mount_of(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC), id = -1;
	char name[64], line[64];
	FILE *info;

	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	info = fopen(name, "r");
	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "mnt_id: %d", &id) == 1)
			break;
	if (info)
		fclose(info);
	close(fd);
	return id;
}

/* Is a cgroup on the same mount as the root? If not, its name does not tell its level. */
static bool is_in_place(const char *name)
{
	char root[PATH_MAX], path[2 * PATH_MAX];
	int mount;

	if (cgroupfs_find_mountpoint(root, sizeof(root), "perf_event"))
		return false;
	mount = mount_of(root);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return mount >= 0 && mount_of(path) == mount;
}

/* A lower bound for the number of ancestors of a cgroup, by its name. */
static int level_of(const char *name)
{
	int level = 0;
	size_t size;

	if (!is_in_place(name))
		return 0;
	for (; *name; name += size) {
		name += strspn(name, "/");
		size = strcspn(name, "/");
		if (size == 2 && !strncmp(name, "..", 2))
			return 0;
		level += size > 1 || (size && *name != '.');
	}
	return level;
}

/**
 * off_cpu_filter__cgroup_level - lowest level of the recorded cgroups
 * @evlist: the events, some of them of cgroups
 *
 * Return: a lower bound for the distances of these cgroups from the root.
 */
int off_cpu_filter__cgroup_level(struct evlist *evlist)
{
	int least = INT_MAX;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->cgrp)
			least = min(least, level_of(evsel->cgrp->name));
	}
	return least;
}

static bool is_in_pid_ns(void)
{
	struct stat st;

	/* if /proc does not show the PID namespace, assume that it is not the initial one */
	return stat("/proc/self/ns/pid", &st) || st.st_ino != INITIAL_PID_NS;
}

/**
 * off_cpu_filter__use_pid_ns - let the program use the PID namespace of perf record
 * @skel: opened, not yet loaded
 */
void off_cpu_filter__use_pid_ns(struct off_cpu_bpf *skel)
{
	skel->rodata->in_pid_ns = is_in_pid_ns();
	bpf_program__set_autoload(skel->progs.note_pid_ns, skel->rodata->in_pid_ns);
}

/**
 * off_cpu_filter__note_pid_ns - let the program note the PID namespace of perf record
 * @skel: loaded
 *
 * Return: true, or false with a message if that fails.
 */
bool off_cpu_filter__note_pid_ns(struct off_cpu_bpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	if (!skel->rodata->in_pid_ns)
		return true;
	err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.note_pid_ns), &opts);
	if (err)
		pr_err("Cannot measure time off the CPU: cannot identify the PID namespace: %s.\n",
		       strerror(-err));
	return !err;
}

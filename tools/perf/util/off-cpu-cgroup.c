// SPDX-License-Identifier: GPL-2.0
/*
 * How far up the off-CPU BPF program has to look for cgroups that are recorded.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <api/fs/fs.h>

#include "cgroup.h"
#include "evlist.h"
#include "evsel.h"
#include "off-cpu-direct.h"

/* Which mount a path leads to; -1 if the kernel does not say. */
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

/* Of the name of one that is mounted below another, the level does not follow. */
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

/* How many cgroups are above one of this name; there may be more than it says. */
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
 * off_cpu_cgroup__level - where to look for cgroups that are recorded
 * @evlist: has events of cgroups
 *
 * Return: how far from the root the nearest of them is at least
 */
int off_cpu_cgroup__level(struct evlist *evlist)
{
	int least = INT_MAX;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->cgrp)
			least = min(least, level_of(evsel->cgrp->name));
	}
	return least;
}

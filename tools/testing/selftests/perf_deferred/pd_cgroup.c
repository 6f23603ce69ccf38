// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pd_cgroup.h"
#include "pd_probe.h"
#include "pd_test.h"

static const char * const roots[] = {
	"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/perf_event",
};

int pd_cgroup_make(struct pd_cgroup *group)
{
	char procs[160];
	size_t i;

	for (i = 0; i < 3; i++) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", roots[i]);
		if (access(procs, F_OK))
			continue;
		/* a new hierarchy has no controllers enabled: enable those that are there */
		snprintf(procs, sizeof(procs), "%s/cgroup.subtree_control", roots[i]);
		pd_write_str(procs, "+pids");
		pd_write_str(procs, "+memory");
		snprintf(group->path, sizeof(group->path), "%s/perf_deferred.%d", roots[i],
			 getpid());
		if (!mkdir(group->path, 0755))
			return 0;
	}
	return pd_skip("no cgroup could be made");
}

int pd_cgroup_join(const struct pd_cgroup *group, pid_t pid)
{
	char path[160], text[16];
	int err;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->path);
	snprintf(text, sizeof(text), "%d", pid);
	err = pd_write_str(path, text);
	PD_CHECK(!err, "%s: %s", path, strerror(err));
	return 0;
}

void pd_cgroup_remove(const struct pd_cgroup *group)
{
	rmdir(group->path);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* A cgroup for a test. */
#ifndef PD_CGROUP_H
#define PD_CGROUP_H

#include <sys/types.h>

struct pd_cgroup {
	char path[128];
};

int pd_cgroup_make(struct pd_cgroup *group);
int pd_cgroup_join(const struct pd_cgroup *group, pid_t pid);
void pd_cgroup_remove(const struct pd_cgroup *group);

#endif /* PD_CGROUP_H */

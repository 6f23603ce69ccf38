/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Is a task in a recorded cgroup or in a descendant of one? Events of a cgroup also count
 * the tasks of its descendants.
 *
 * This code runs for every task that is switched away, so for cgroup2 it loads the fields
 * directly. For version 1 the verifier does not know the type of the pointer that
 * get_cgroup() returns, so BPF_CORE_READ() copies the fields.
 */
#define MAX_CGROUP_DEPTH	64

struct cgroup_subsys_state___up {
	struct cgroup_subsys_state___up *parent;
	struct cgroup___up *cgroup;
} __attribute__((preserve_access_index));

struct kernfs_node___id {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup___up {
	struct cgroup_subsys_state___up self;
	struct kernfs_node___id *kn;
	int level;
} __attribute__((preserve_access_index));

/* The lowest level of a recorded cgroup; that of the root is 0. */
const volatile int cgroup_level;

static __always_inline struct cgroup___up *first_cgroup(struct task_struct *task)
{
	return (void *)(uses_cgroup_v1 ? get_cgroup(task) : task->cgroups->dfl_cgrp);
}

static __always_inline struct cgroup___up *cgroup_above(struct cgroup___up *cgroup)
{
	return uses_cgroup_v1 ? BPF_CORE_READ(cgroup, self.parent, cgroup) :
				cgroup->self.parent->cgroup;
}

static __always_inline __u64 id_of_cgroup(struct cgroup___up *cgroup)
{
	return uses_cgroup_v1 ? BPF_CORE_READ(cgroup, kn, id) : cgroup->kn->id;
}

static __always_inline int level_of_cgroup(struct cgroup___up *cgroup)
{
	return uses_cgroup_v1 ? BPF_CORE_READ(cgroup, level) : cgroup->level;
}

static __noinline int is_in_cgroup(struct task_struct *task)
{
	struct cgroup___up *cgroup = first_cgroup(task);
	int i, above = level_of_cgroup(cgroup) - cgroup_level;

	for (i = 0; i < MAX_CGROUP_DEPTH && i <= above; i++) {
		__u64 id = id_of_cgroup(cgroup);

		if (bpf_map_lookup_elem(&cgroup_filter, &id))
			return 1;
		cgroup = cgroup_above(cgroup);
	}
	return 0;
}

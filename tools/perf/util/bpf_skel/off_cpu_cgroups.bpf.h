/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Is a task in a cgroup that is recorded, or in one below?  So it is for events that
 * are bound to one.
 */
#define MAX_CGROUP_DEPTH	64

struct cgroup_subsys_state___up {
	struct cgroup_subsys_state___up *parent;
	struct cgroup *cgroup;
} __attribute__((preserve_access_index));

struct cgroup___up {
	struct cgroup_subsys_state___up self;
} __attribute__((preserve_access_index));

static __noinline int is_in_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = get_cgroup(task);
	int i;

	for (i = 0; cgroup && i < MAX_CGROUP_DEPTH; i++) {
		struct cgroup___up *up = (void *)cgroup;
		__u64 id = BPF_CORE_READ(cgroup, kn, id);

		if (bpf_map_lookup_elem(&cgroup_filter, &id))
			return 1;
		cgroup = BPF_CORE_READ(up, self.parent, cgroup);
	}
	return 0;
}

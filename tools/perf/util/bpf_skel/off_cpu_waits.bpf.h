/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Waits, from the switch away from a task to the switch to it.  One that lasts as
 * long as the threshold is sent as it ends, shorter ones are summed up by thread,
 * stack, state and cgroup.  The sums of a thread are a list in the map, sent when
 * the thread ends or changes its program, or recording ends.
 *
 * A task's waits are written in its own switches, and by the iterator where it
 * does not run.  A wait is known by how often its task was switched away by then:
 * what is noted of another one is not used.
 */
#include "off_cpu_payload.h"

struct waits {
	__u64 since;			/* 0 if it does not wait */
	__u64 switches;
	__u32 state;
	__u32 serial;
	__u32 tid;			/* as it was when it got the serial */
	__u32 ended;
	__u64 cut_off_at;		/* the end of the recording for which it was sent */
	__u64 key_before;		/* in the filter of tasks, before execve */
	struct off_cpu_sum sum;		/* the next one: its stack, and the sum before it */
};

struct sched_entity___delayed {
	unsigned char sched_delayed;
} __attribute__((preserve_access_index));

struct thread_info___cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

struct signal_struct___live {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct task_struct___waits {
	int on_rq;
	unsigned long nvcsw, nivcsw;
	unsigned int in_execve:1;
	struct sched_entity___delayed se;
	struct signal_struct___live *signal;
} __attribute__((preserve_access_index));

struct task_struct___cpu_there {
	struct thread_info___cpu thread_info;
} __attribute__((preserve_access_index));

struct task_struct___cpu_here {
	unsigned int cpu;
} __attribute__((preserve_access_index));

struct seq_file;

struct bpf_iter_meta___seq {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task___waits {
	struct bpf_iter_meta___seq *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct waits);
} waits_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(key_size, sizeof(struct off_cpu_sum_key));
	__uint(value_size, sizeof(struct off_cpu_sum));
	__uint(max_entries, MAX_ENTRIES);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} output SEC(".maps");

/* Room for what is too large for the stack, used where nothing else can run meanwhile. */
#define USER_ROOM	(2 * OFF_CPU_MAX_STACKS)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct off_cpu_payload) +
			   (USER_ROOM + OFF_CPU_KERNEL_ROOM) * sizeof(__u64));
	__uint(max_entries, 1);
} scratch SEC(".maps");

/* Of no use to programs: user space changes it to wait for them. */
struct nothing {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
} nothing SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, sizeof(__u32));
	__uint(max_entries, 1);
	__array(values, struct nothing);
} barrier SEC(".maps");

const volatile __u64 threshold = 500000000;

/* the time at which waits that last are cut off; set before recording ends */
__u64 stopped_at;

/* waits that no sum could be made for, as the map was full */
__u64 lost_waits;
__u64 lost_time;
/* waits of which the beginning or the end could not be noted */
__u64 missed_waits;
/* waits that are in a sum, as there was no room for a sample of their own */
__u64 no_room;
/* tasks that a switch had to make the storage for */
__u64 made_late;
/* waits without a user stack that should have one */
__u64 lost_stacks;

__u64 bpf_perf_defer_callchain(struct task_struct *task) __ksym __weak;
void bpf_preempt_disable(void) __weak __ksym;
void bpf_preempt_enable(void) __weak __ksym;

#define MAKE	BPF_LOCAL_STORAGE_GET_F_CREATE

/* For a switch, where nothing else runs. */
static __always_inline struct waits *find_waits(struct task_struct *task, __u64 flags)
{
	struct waits *waits = bpf_task_storage_get(&waits_of, task, NULL, flags);

	/* another CPU may make it for the same task, and be first */
	if (!waits && flags)
		waits = bpf_task_storage_get(&waits_of, task, NULL, flags);
	return waits;
}

/*
 * Find the storage of a task where the kernel may preempt this program.  The kernel makes no
 * storage on a CPU on which another look-up is under way.  If that one is preempted, all tasks
 * that run meanwhile get no storage, so disable preemption.  Kernels before 6.10 and those
 * that interpret BPF cannot do that; before 6.2 even storage that exists is not found.
 */
static __always_inline struct waits *find_waits_at_rest(struct task_struct *task, __u64 flags)
{
	struct waits *waits;

	bpf_preempt_disable();
	waits = find_waits(task, flags);
	bpf_preempt_enable();
	return waits;
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	struct task_struct___waits *t = (void *)task;

	return t->nvcsw + t->nivcsw;
}

/* During execve the user stack can still be that of the old program. */
static __always_inline bool in_execve(struct task_struct *task)
{
	struct task_struct___waits *t = (void *)task;
	__u32 *flags = (void *)t + __CORE_RELO(t, in_execve, BYTE_OFFSET);

	if (!bpf_core_field_exists(t->in_execve))
		return false;
	return (__u64)*flags << __CORE_RELO(t, in_execve, LSHIFT_U64) >> 63;
}

static __always_inline __u64 get_user_stack(void *ctx, struct task_struct *task, __u64 *to)
{
	long bytes;

	if (in_execve(task))
		return 0;
	bytes = bpf_get_stack(ctx, to, OFF_CPU_MAX_STACKS * sizeof(__u64), BPF_F_USER_STACK);
	if (bytes < 0) {
		__sync_fetch_and_add(&lost_stacks, 1);
		return 0;
	}
	return (__u64)bytes / sizeof(__u64);
}

static __always_inline __u64 off_cpu_mix_hash(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* Each step can be undone, so it takes several addresses to have the same twice. */
static __always_inline __u64 hash_of(struct waits *waits)
{
	__u64 hash = off_cpu_mix_hash(waits->sum.cgroup_id, waits->state);
	int i;

#pragma unroll
	for (i = 0; i < OFF_CPU_MAX_STACKS; i++) {
		if (i == waits->sum.nr_user)
			break;
		hash = off_cpu_mix_hash(hash, waits->sum.user[i]);
	}
	return hash ? hash : 1;
}

static __always_inline void init_wait(struct off_cpu_payload *payload, struct task_struct *task)
{
	payload->kind = OFF_CPU_WAIT;
	payload->pid = tgid_of(task);
	payload->key.tid = tid_of(task);
	payload->key.serial = 0;
	payload->key.hash = 0;
	payload->cgroup_id = needs_cgroup ? get_cgroup_id(task) : 0;
}

static __always_inline struct off_cpu_payload *new_wait(struct task_struct *task)
{
	struct off_cpu_payload *payload;
	__u32 zero = 0;

	payload = bpf_map_lookup_elem(&scratch, &zero);
	if (payload)
		init_wait(payload, task);
	return payload;
}

/* Where the kernel's half has its place depends on the user's. */
static __always_inline __u64 fill_user(struct off_cpu_payload *payload, struct waits *waits,
				       __u64 cookie)
{
	__u64 nr = cookie ? 0 : waits->sum.nr_user;

	if (nr)
		__builtin_memcpy(payload->ips, waits->sum.user, sizeof(waits->sum.user));
	payload->nr_user = nr;
	payload->cookie = cookie;
	return nr & (USER_ROOM - 1);
}

static __always_inline long output_wait(void *ctx, struct off_cpu_payload *payload,
					__u64 nr_user, long kernel_bytes)
{
	__u64 bytes = kernel_bytes > 0 ? kernel_bytes : 0;

	bytes &= OFF_CPU_KERNEL_ROOM * sizeof(__u64) - 1;
	payload->nr_kernel = bytes / sizeof(__u64);
	return bpf_perf_event_output(ctx, &output, BPF_F_CURRENT_CPU, payload,
				     sizeof(*payload) + nr_user * sizeof(__u64) + bytes);
}

#define KERNEL_BYTES	((OFF_CPU_KERNEL_ROOM - 1) * sizeof(__u64))

/* Not yet running, so its kernel stack can be walked. */
static __always_inline long send_wait(void *ctx, struct task_struct *task, struct waits *waits,
				      __u64 period, bool can_defer)
{
	struct off_cpu_payload *payload = new_wait(task);
	__u64 nr_user, cookie = 0;

	if (!payload)
		return -1;
	if (can_defer && bpf_ksym_exists(bpf_perf_defer_callchain))
		cookie = bpf_perf_defer_callchain(task);
	payload->period = period;
	payload->cpu = OFF_CPU_HERE;
	nr_user = fill_user(payload, waits, cookie);
	return output_wait(ctx, payload, nr_user,
			   bpf_get_task_stack(task, payload->ips + nr_user, KERNEL_BYTES, 0));
}

/* They stay where they are if there is no room for what is to be sent. */
static __always_inline void send_sums(void *ctx, struct task_struct *task, struct waits *waits)
{
	struct off_cpu_payload payload = {
		.kind = OFF_CPU_SUMS,
		.pid = tgid_of(task),
		.key = {
			.tid = waits->tid,
			.serial = waits->serial,
			.hash = waits->sum.next,
		},
		.cpu = OFF_CPU_HERE,
	};

	if (!waits->sum.next)
		return;
	if (bpf_perf_event_output(ctx, &output, BPF_F_CURRENT_CPU, &payload, sizeof(payload)))
		return;
	waits->sum.next = 0;
	waits->serial = 0;
}

static __always_inline bool add_to_sum(struct task_struct *task, struct waits *waits,
				       __u64 period, __u64 now)
{
	struct off_cpu_sum_key key;
	struct off_cpu_sum *sum;

	/* a thread of the same number was not there in the same microsecond */
	if (!waits->serial) {
		waits->serial = (__u32)(now >> 10) | 1;
		waits->tid = tid_of(task);
	}
	waits->sum.cgroup_id = needs_cgroup ? get_cgroup_id(task) : 0;
	key.tid = waits->tid;
	key.serial = waits->serial;
	key.hash = hash_of(waits);

	sum = bpf_map_lookup_elem(&sums, &key);
	if (sum) {
		sum->period += period;
		return true;
	}
	waits->sum.period = period;
	if (bpf_map_update_elem(&sums, &key, &waits->sum, BPF_NOEXIST)) {
		__sync_fetch_and_add(&lost_waits, 1);
		__sync_fetch_and_add(&lost_time, period);
		return false;
	}
	waits->sum.next = key.hash;
	return true;
}

/* If a wait cannot be sent, add its time to the sum, so that at least the time is not lost. */
static __always_inline void sum_up_instead(struct task_struct *task, struct waits *waits,
					   __u64 period, __u64 now)
{
	if (add_to_sum(task, waits, period, now))
		__sync_fetch_and_add(&no_room, 1);
}

static __always_inline void begin_wait(void *ctx, struct task_struct *task, int state, __u64 now)
{
	struct waits *waits;

	waits = find_waits(task, 0);
	if (!waits) {
		__sync_fetch_and_add(&made_late, 1);
		waits = find_waits(task, MAKE);
	}
	if (!waits) {
		__sync_fetch_and_add(&missed_waits, 1);
		return;
	}
	if (waits->ended)
		return;
	waits->sum.nr_user = get_user_stack(ctx, task, waits->sum.user);
	waits->state = state;
	waits->switches = switches_of(task);
	waits->since = now;
}

static __always_inline void end_wait(void *ctx, struct task_struct *task, struct waits *waits,
				     __u64 now, bool can_defer)
{
	__u64 since = waits->since;
	__u64 period = now - since;

	waits->since = 0;
	/* The iterator ran while the task woke up, took it for asleep, and corrects that now. */
	if (!since || since >= now)
		return;
	if (waits->switches != switches_of(task)) {
		__sync_fetch_and_add(&missed_waits, 1);
		return;
	}
	if (period < threshold)
		add_to_sum(task, waits, period, now);
	else if (send_wait(ctx, task, waits, period, can_defer))
		sum_up_instead(task, waits, period, now);
}

static __always_inline int off_cpu_stat(void *ctx, struct task_struct *prev,
					struct task_struct *next, int state, bool can_defer)
{
	__u64 now = bpf_ktime_get_ns();
	struct waits *waits;

	if (can_record(prev, state, has_cpu ? bpf_get_smp_processor_id() : 0))
		begin_wait(ctx, prev, state, now);

	waits = find_waits(next, 0);
	if (waits && waits->since)
		end_wait(ctx, next, waits, now, can_defer);
	return 0;
}

static __always_inline bool is_asleep(struct task_struct *task)
{
	struct task_struct___waits *t = (void *)task;

	if (!BPF_CORE_READ(t, on_rq))
		return true;
	/* A task with a delayed dequeue sleeps, too: it only keeps its place in the queue. */
	return bpf_core_field_exists(t->se.sched_delayed) && BPF_CORE_READ(t, se.sched_delayed);
}

/* Where it ran last; OFF_CPU_HERE if the kernel does not say. */
static __always_inline __u32 cpu_of(struct task_struct *task)
{
	struct task_struct___cpu_there *there = (void *)task;
	struct task_struct___cpu_here *here = (void *)task;

	if (bpf_core_field_exists(there->thread_info.cpu))
		return BPF_CORE_READ(there, thread_info.cpu);
	if (bpf_core_field_exists(here->cpu))
		return BPF_CORE_READ(here, cpu);
	return OFF_CPU_HERE;
}

/* Does it still sleep as it did when recording ended? */
static __always_inline bool goes_on(struct task_struct *task, struct waits *waits)
{
	return is_asleep(task) && waits->switches == switches_of(task);
}

/* The kernel stack of a task that has woken up meanwhile is not that of the wait. */
static __always_inline long send_lasting(void *ctx, struct task_struct *task,
					 struct waits *waits, __u64 period)
{
	struct off_cpu_payload *payload = new_wait(task);
	long bytes = 0;
	__u64 nr_user;

	if (!payload)
		return -1;
	payload->period = period;
	payload->cpu = cpu_of(task);
	nr_user = fill_user(payload, waits, 0);
	if (goes_on(task, waits)) {
		bytes = bpf_get_task_stack(task, payload->ips + nr_user, KERNEL_BYTES, 0);
		if (!goes_on(task, waits))
			bytes = 0;
	}
	return output_wait(ctx, payload, nr_user, bytes);
}

/* It runs by now, and may be preempted here: then others use the scratch. */
static __always_inline long send_own(void *ctx, struct task_struct *task, struct waits *waits,
				     __u64 period)
{
	__u64 room[sizeof(struct off_cpu_payload) / sizeof(__u64) + OFF_CPU_MAX_STACKS] = {};
	struct off_cpu_payload *payload = (void *)room;
	__u64 nr_user = waits->sum.nr_user;

	if (nr_user > OFF_CPU_MAX_STACKS)
		return -1;
	init_wait(payload, task);
	payload->period = period;
	payload->cpu = OFF_CPU_HERE;
	payload->nr_user = nr_user;
	__builtin_memcpy(payload->ips, waits->sum.user, sizeof(waits->sum.user));
	return bpf_perf_event_output(ctx, &output, BPF_F_CURRENT_CPU, payload,
				     sizeof(*payload) + nr_user * sizeof(__u64));
}

/*
 * When recording ends, write the wait up to that time, and the sums.  Switches are not
 * traced any more.  The iterator and the task itself may come here at the same time; the
 * first one does the work.
 */
static __always_inline void cut_off(void *ctx, struct task_struct *task, struct waits *waits,
				    bool is_own)
{
	__u64 since, period, end = stopped_at;

	if (__sync_lock_test_and_set(&waits->cut_off_at, end) == end)
		return;
	since = waits->since;
	if (since && since < end) {
		period = end - since;
		if (period < threshold)
			add_to_sum(task, waits, period, end);
		else if (is_own ? send_own(ctx, task, waits, period) :
				  send_lasting(ctx, task, waits, period))
			sum_up_instead(task, waits, period, end);
	}
	waits->since = 0;
	send_sums(ctx, task, waits);
}

/* What there is of a task that is about to change, recording or not. */
static __always_inline struct waits *end_sums(void *ctx, struct task_struct *task, bool at_rest)
{
	struct waits *waits;

	if (!enabled && !stopped_at)
		return NULL;
	waits = at_rest ? find_waits_at_rest(task, 0) : find_waits(task, 0);
	if (!waits)
		return NULL;
	if (enabled)
		send_sums(ctx, task, waits);
	else
		cut_off(ctx, task, waits, true);
	return waits;
}

/* What it waits for after this is not its program's doing. */
static __always_inline void end_task(void *ctx, struct task_struct *task, bool at_rest)
{
	struct waits *waits = end_sums(ctx, task, at_rest);

	if (waits)
		waits->ended = 1;
}

/* Called before perf says that the task exits; the tracepoint is after that. */
SEC("?fentry/exit_signals")
int on_exit(u64 *ctx)
{
	end_task(ctx, bpf_get_current_task_btf(), false);
	return 0;
}

SEC("?fentry/exit_signals")
int on_exit_at_rest(u64 *ctx)
{
	end_task(ctx, bpf_get_current_task_btf(), true);
	return 0;
}

static __always_inline bool is_last_of_group(struct task_struct *task)
{
	struct task_struct___waits *t = (void *)task;

	return !BPF_CORE_READ(t, signal, live.counter);
}

/* If a task ends during execve, forget the waits of the tid that it had before. */
static __always_inline void forget_key_before(struct task_struct *task)
{
	struct waits *waits = find_waits(task, 0);
	__u32 key;

	if (!waits || !waits->key_before)
		return;
	key = waits->key_before;
	bpf_map_delete_elem(&task_filter, &key);
}

/* Whatever on_exit() has left: it does not run while it runs already on this CPU. */
SEC("tp_btf/sched_process_exit")
int on_late_exit(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	end_task(ctx, task, false);
	if (!has_task || (uses_tgid && !is_last_of_group(task)))
		return 0;
	forget_task(task);
	forget_key_before(task);
	return 0;
}

/* What stays behind would be taken for the next program's. */
static __always_inline void end_program(void *ctx)
{
	struct waits *waits = end_sums(ctx, bpf_get_current_task_btf(), false);

	if (waits && enabled) {
		waits->sum.next = 0;
		waits->serial = 0;
	}
}

static __always_inline void note_key(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = filter_key(task);
	struct waits *waits;

	if (!has_task || uses_tgid || !bpf_map_lookup_elem(&task_filter, &key))
		return;
	waits = find_waits(task, MAKE);
	if (waits)
		waits->key_before = key;
	else
		__sync_fetch_and_add(&not_followed, 1);
}

/*
 * A thread that calls execve gets the tid of the first thread of its process.  By then
 * that thread has ended and its waits are removed, so move those of this thread there.
 */
static __always_inline void follow_key(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct waits *waits;
	__u32 before, now;
	__u8 val = 1;

	if (!has_task || uses_tgid)
		return;
	waits = find_waits(task, 0);
	if (!waits)
		return;
	before = waits->key_before;
	now = filter_key(task);
	waits->key_before = 0;
	if (!before || before == now || bpf_map_delete_elem(&task_filter, &before))
		return;
	if (bpf_map_update_elem(&task_filter, &now, &val, BPF_ANY))
		__sync_fetch_and_add(&not_followed, 1);
}

/* The last place where all is as the program before has left it. */
SEC("?tp_btf/sched_prepare_exec")
int on_exec(u64 *ctx)
{
	end_program(ctx);
	note_key();
	return 0;
}

/* ... and the one for kernels that do not have that. */
SEC("?fentry/begin_new_exec")
int on_begin_exec(u64 *ctx)
{
	end_program(ctx);
	note_key();
	return 0;
}

/* By now execve may have changed the number of the thread. */
SEC("tp_btf/sched_process_exec")
int on_exec_done(u64 *ctx)
{
	end_program(ctx);
	follow_key();
	return 0;
}

/*
 * No switch is to allocate, so the storage of a task is made with the task; by the
 * iterator, before recording begins, for those that are there, whatever cgroup they
 * are in as yet.  It is left to a switch where that did not work out.
 */
static __always_inline int prepare_task(struct task_struct *task)
{
	if (is_followed(task))
		find_waits(task, MAKE);
	return 0;
}

/*
 * Tasks that sleep when recording begins wait from then on.  If one wakes up meanwhile,
 * what its own switch notes is what counts, or what is noted here is taken back, or it
 * is of another wait by the number of switches.
 */
static __always_inline int note_sleeper(struct task_struct *task, bool at_rest)
{
	struct waits *waits;
	__u64 now, switches;
	int state;

	if (!task || !is_followed(task))
		return 0;
	switches = switches_of(task);
	state = get_task_state(task) & 0xff;
	waits = at_rest ? find_waits_at_rest(task, MAKE) : find_waits(task, MAKE);
	if (!enabled || !is_asleep(task) || !can_record(task, state, cpu_of(task)))
		return 0;
	if (!waits) {
		__sync_fetch_and_add(&missed_waits, 1);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (waits->ended || __sync_val_compare_and_swap(&waits->since, 0, now))
		return 0;
	waits->sum.nr_user = 0;
	waits->state = state;
	/* until it has these it is none, so it is not taken with the stack of one before */
	barrier();
	waits->switches = switches;
	if (!is_asleep(task))
		__sync_val_compare_and_swap(&waits->since, now, 0);
	return 0;
}

SEC("?iter/task")
int iter_begin(struct bpf_iter__task___waits *ctx)
{
	return note_sleeper(ctx->task, false);
}

SEC("?iter/task")
int iter_begin_at_rest(struct bpf_iter__task___waits *ctx)
{
	return note_sleeper(ctx->task, true);
}

/*
 * A byte for each task with something to send lets the reader pause after some of them.
 * No storage is made by now, so that none is missed if this is preempted.
 */
SEC("iter/task")
int iter_end(struct bpf_iter__task___waits *ctx)
{
	struct task_struct *task = ctx->task;
	struct waits *waits;
	char one = 0;

	if (!task)
		return 0;
	waits = find_waits(task, 0);
	if (!waits || (!waits->since && !waits->sum.next))
		return 0;
	cut_off(ctx, task, waits, false);
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}

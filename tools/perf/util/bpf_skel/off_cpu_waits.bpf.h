/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A wait lasts from the switch away from a task to the switch back to it.  If it
 * lasts at least the threshold, it is sent when it ends.  Shorter waits are
 * summed up by thread, stack, state and cgroup.  The sums of a thread are
 * entries of a map and form a linked list.  The list is sent when the thread
 * exits or calls execve, or when recording ends.
 *
 * The state of a task's wait is written when the task is switched, and by the
 * iterator while the task sleeps.  The task's number of switches identifies a
 * wait, so that data of another wait are not used.
 */
#include "off_cpu_payload.h"

struct waits {
	__u64 since;			/* start of the wait, or 0 */
	__u64 switches;
	__u32 state;
	__u32 serial;
	__u32 tid;			/* the task's tid when @serial was set */
	__u32 ended;
	__u64 cut_off_at;		/* value of stopped_at at this task's last cut_off() */
	__u64 key_before;		/* key in the task filter before execve */
	/* user stack of the wait; new sums are copies of this. @next: hash of the newest sum */
	struct off_cpu_sum sum;
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

/*
 * Scratch memory, because the stack is too small; used only where the program cannot be
 * preempted.
 */
#define USER_ROOM	(2 * OFF_CPU_MAX_STACKS)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct off_cpu_payload) +
			   (USER_ROOM + OFF_CPU_KERNEL_ROOM) * sizeof(__u64));
	__uint(max_entries, 1);
} scratch SEC(".maps");

/* BPF programs do not use these two maps: user space updates @barrier to wait for programs. */
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

/* the time at which unfinished waits are cut off; set before recording ends */
__u64 stopped_at;

/* waits that were lost because the map of sums was full */
__u64 lost_waits;
__u64 lost_time;
/* waits whose start or end could not be recorded */
__u64 missed_waits;
/* waits that were summed up because there was no room for a sample */
__u64 no_room;
/* tasks whose storage was made in a switch */
__u64 made_late;
/* waits whose user stack could not be read */
__u64 lost_stacks;

__u64 bpf_perf_defer_callchain(struct task_struct *task) __ksym __weak;
void bpf_preempt_disable(void) __weak __ksym;
void bpf_preempt_enable(void) __weak __ksym;

#define MAKE	BPF_LOCAL_STORAGE_GET_F_CREATE

/* Find the storage of a task. If the program can be preempted, prefer find_waits_at_rest(). */
static __always_inline struct waits *find_waits(struct task_struct *task, __u64 flags)
{
	struct waits *waits = bpf_task_storage_get(&waits_of, task, NULL, flags);

	/* creating the storage fails if another CPU creates it at the same time: try again */
	if (!waits && flags)
		waits = bpf_task_storage_get(&waits_of, task, NULL, flags);
	return waits;
}

/*
 * find_waits() for a program that the kernel may preempt.  While a look-up is in
 * progress on a CPU, the kernel creates no storage on this CPU.  If the look-up is preempted, all
 * tasks that run meanwhile get no storage, so disable preemption.  Kernels before 6.10, and those
 * that interpret BPF, do not let programs disable preemption.  Before 6.2, tasks that run
 * meanwhile do not even find existing storage.
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

/* Each step is invertible, so two stacks that differ in one address have different hashes. */
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

/* Fill in the user frames. Return their number: the kernel frames follow them. */
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

/* Send a wait that ends. The task does not run yet, so its kernel stack can be walked. */
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

/* Send the list of sums. If there is no room in the buffer, the task keeps the list. */
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

	/* the kernel does not reuse a tid so soon that two threads get the same serial */
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
	/* Not a wait: the iterator mistook a waking task for a sleeping one, and resets @since. */
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

/* The CPU on which the task ran last, or OFF_CPU_HERE if that is not known. */
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

/* Is the task still in the wait that was noted? */
static __always_inline bool goes_on(struct task_struct *task, struct waits *waits)
{
	return is_asleep(task) && waits->switches == switches_of(task);
}

/*
 * Send an unfinished wait. If the task has woken up meanwhile, leave out the kernel stack: it no
 * longer belongs to the wait.
 */
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

/*
 * Send the last wait of the current task. The program may be preempted here, so do not use the
 * scratch memory.
 */
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
 * When recording has ended, send the wait up to that time, and the sums.  Switches are
 * not traced any more.  The iterator and the task itself may get here at the same time;
 * only the first one does the work.
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

/*
 * Send the sums of a task that is about to exit, or that calls execve, during or after
 * recording.
 */
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

/* Send the sums of a task that exits.  Ignore its later waits: they are part of the exit. */
static __always_inline void end_task(void *ctx, struct task_struct *task, bool at_rest)
{
	struct waits *waits = end_sums(ctx, task, at_rest);

	if (waits)
		waits->ended = 1;
}

/*
 * Runs before perf writes the EXIT record.  The tracepoint sched_process_exit
 * comes after that record.
 */
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

/* If a task ends during execve, remove the key of its previous tid from the task filter. */
static __always_inline void forget_key_before(struct task_struct *task)
{
	struct waits *waits = find_waits(task, 0);
	__u32 key;

	if (!waits || !waits->key_before)
		return;
	key = waits->key_before;
	bpf_map_delete_elem(&task_filter, &key);
}

/*
 * Do the work of on_exit() if the kernel did not run it, for instance because another task was
 * preempted in it on this CPU.
 */
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

/*
 * Send the sums and forget them, even if they could not be sent: they do not belong to the next
 * program.
 */
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
 * the first thread has ended.  Replace the old tid of this thread in the task filter.
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

/* The last tracepoint in execve before the state of the task changes. */
SEC("?tp_btf/sched_prepare_exec")
int on_exec(u64 *ctx)
{
	end_program(ctx);
	note_key();
	return 0;
}

/* Replaces on_exec() on kernels without sched_prepare_exec. */
SEC("?fentry/begin_new_exec")
int on_begin_exec(u64 *ctx)
{
	end_program(ctx);
	note_key();
	return 0;
}

/* execve may have changed the tid of the thread. */
SEC("tp_btf/sched_process_exec")
int on_exec_done(u64 *ctx)
{
	end_program(ctx);
	follow_key();
	return 0;
}

/*
 * Make the storage of a new task, so that no switch has to allocate.  The iterator
 * makes the storage of existing tasks before recording begins, whatever their cgroup.
 * A task that still has no storage gets it in its first switch.
 */
static __always_inline int prepare_task(struct task_struct *task)
{
	if (is_followed(task))
		find_waits(task, MAKE);
	return 0;
}

/*
 * If a task sleeps when recording begins, its wait starts here.  The task may wake up, and even
 * sleep again, while this function runs.  If its switch into the next sleep has set waits->since,
 * that value stays.  If the task is awake at the end, waits->since is reset.  If it sleeps again by
 * then, in another wait, end_wait() sees that the number of switches is not the one noted here.
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
	/* set the number of switches last: without it the wait is not valid */
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
 * Writes a byte for each task with data to send, so that the reader can pause after
 * some tasks.  This program creates no task storage, so it may be preempted.
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

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs for the test of perf record --off-cpu; each is built once, in ${work}.

prog=${work}/waits
junk=${work}/junk
refuse=${work}/refuse.so

# Threads that wait in known functions and print how long they were off the CPU: name, thread,
# nanoseconds. A line of a wait also has its start and end. A line of a sum also has the time for
# which the thread was ready to run.
make_waits() {
	cc -O2 -g -fomit-frame-pointer -pthread -o "${prog}" -x c - <<'END'
#define _GNU_SOURCE
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static int fds[2];
static volatile int after, going;

struct job {
	const char *name;
	void (*wait)(long ms);
	long ms;
	int times, quietly;
};

static long long read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long time_off_cpu(void)
{
	return read_clock(CLOCK_MONOTONIC) - read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* How long this thread was ready to run but did not run; 0 if the kernel does not say. */
static long long run_delay(void)
{
	FILE *stat = fopen("/proc/thread-self/schedstat", "r");
	long long delay = 0;

	if (stat) {
		if (fscanf(stat, "%*d %lld", &delay) != 1)
			delay = 0;
		fclose(stat);
	}
	return delay;
}

static KEPT void in_sleep(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
	after++;
}

static KEPT void in_poll(long ms)
{
	struct pollfd fd = { fds[0], POLLIN, 0 };

	poll(&fd, 1, ms);
	after++;
}

static KEPT void in_cond(long ms)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &t);
	pthread_mutex_unlock(&mutex);
	after++;
}

static KEPT void do_job(struct job *job)
{
	long long t, from, sum = 0, delay = run_delay();
	int i;

	/* first let the dynamic linker and page faults do their work, which may take long */
	job->wait(0);
	/* a thread with long waits also has one wait of less than 500 ms */
	t = time_off_cpu();
	job->wait(job->ms > 500 ? 400 : 1);
	sum = time_off_cpu() - t;
	for (i = 0; i < job->times; i++) {
		from = read_clock(CLOCK_MONOTONIC);
		t = time_off_cpu();
		job->wait(job->ms);
		t = time_off_cpu() - t;
		sum += t;
		if (!job->quietly)
			printf("wait %s %d %lld %lld %lld\n", job->name, gettid(), t, from,
			       read_clock(CLOCK_MONOTONIC));
	}
	printf("sum %s %d %lld %lld\n", job->name, gettid(), sum, run_delay() - delay);
	fflush(stdout);
	after++;
}

static void *work(void *job)
{
	pthread_setname_np(pthread_self(), ((struct job *)job)->name);
	do_job(job);
	after++;
	return NULL;
}

/* no job takes about one second: with --switch-output=1s, a file ends after that time */
static struct job jobs[] = {
	{ "sleeper", in_sleep, 600, 2 },
	{ "poller", in_poll, 700, 2 },
	{ "conder", in_cond, 900, 1 },
	{ "shorty", in_sleep, 100, 6, 1 },
};

static void start(int nr, void *(*work)(void *))
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	while (nr--)
		if (pthread_create(&thread, &small, work, NULL))
			exit(1);
}

static void *idle(void *unused)
{
	for (;;)
		in_sleep(100000);
	return unused;
}

static void *take_turns(void *unused)
{
	for (;;) {
		in_sleep(20);
		in_poll(20);
	}
	return unused;
}

/* All calls of a function have the same stack. */
static void *do_both(void *unused)
{
	int i;

	for (i = 0; i < 20; i++)
		in_sleep(20);
	for (i = 0; i < 20; i++)
		in_poll(20);
	return unused;
}

/* A thread that ends some time later than the previous thread. */
static void *leave(void *unused)
{
	static int nr;
	int i, times = 20 + __atomic_fetch_add(&nr, 1, __ATOMIC_RELAXED);

	printf("leaver %d\n", gettid());
	fflush(stdout);
	while (!going)
		in_poll(20);
	for (i = 0; i < times; i++)
		in_sleep(20);
	return unused;
}

static void *execute(void *unused)
{
	struct job job = { "execer", in_sleep, 50, 6, 1 };

	pthread_setname_np(pthread_self(), job.name);
	do_job(&job);
	execl("/bin/true", "true", NULL);
	return unused;
}

static void come_and_go(int nr)
{
	while (nr--) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	if (!fork()) {
		do_job(&jobs[0]);
		_exit(0);
	}
	wait(NULL);
}

/* Create a process with this pid, which an earlier process has had. */
static void take_number(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (unsigned long)&pid,
		.set_tid_size = 1,
	};

	if (!syscall(SYS_clone3, &args, sizeof(args))) {
		do_job(&jobs[0]);
		_exit(0);
	}
	if (wait(NULL) < 0)
		perror("clone3");
}

static KEPT long call(long nr, long first, long second)
{
	long ret = syscall(nr, first, second, 0, 0, 0);

	after++;
	return ret;
}

/* Both waits have the same stack and the same values in callee-saved registers. */
static void call_both(int nr)
{
	struct timespec t = { 0, 20000000 };
	int i;

	signal(SIGCHLD, SIG_IGN);
	for (i = 0; i < 2 * nr; i++) {
		if (!call(i & 1 ? SYS_clone : SYS_nanosleep,
			  i & 1 ? CLONE_VFORK | SIGCHLD : (long)&t, 0) && (i & 1)) {
			in_sleep(20);
			_exit(0);
		}
	}
}

/* A thread that is not the first of its process. By execlp() it gets the tid of the first one. */
static void *execute_sleep(void *unused)
{
	printf("execer %d\n", gettid());
	fflush(stdout);
	while (!going)
		in_poll(20);
	execlp("sleep", "sleep", "1", NULL);
	return unused;
}

static void go_on(int unused)
{
	going = unused;
}

static int mode(const char *name, int nr)
{
	if (!strcmp(name, "exec")) {
		start(30, idle);
		start(1, execute);
	} else if (!strcmp(name, "idle")) {
		start(nr, idle);
	} else if (!strcmp(name, "turns")) {
		start(nr, take_turns);
	} else if (!strcmp(name, "both")) {
		start(nr, do_both);
		in_sleep(3000);
		return 0;
	} else if (!strcmp(name, "sleep")) {
		in_sleep(nr);
		return 0;
	} else if (!strcmp(name, "states")) {
		call_both(nr);
		return 0;
	} else if (!strcmp(name, "execute")) {
		start(nr, execute_sleep);
	} else if (!strcmp(name, "number")) {
		take_number(nr);
		return 0;
	} else if (!strcmp(name, "leave")) {
		start(nr, leave);
	} else {
		come_and_go(nr);
		return 0;
	}
	puts("ready");
	fflush(stdout);
	idle(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int i;

	signal(SIGUSR1, go_on);
	if (pipe(fds))
		return 1;
	if (argc > 2)
		return mode(argv[1], atoi(argv[2]));
	if (argc > 1)
		in_sleep(atoi(argv[1]));
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &jobs[i]);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
}

# A program that writes malformed records of 16 bytes to the event of a running perf record. The
# argument is the number of records. The program changes to the next CPU for each record.
make_junk() {
	[ ! -x "${junk}" ] || return 0
	cc -O2 -o "${junk}" -x c - <<'END'
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static unsigned int flags;

static int find_map(unsigned int type, const char *name, unsigned int *flags)
{
	union bpf_attr next = {};
	int found = -1;

	/* find the newest map of that name: there may be others */
	while (!bpf(BPF_MAP_GET_NEXT_ID, &next)) {
		struct bpf_map_info info = {};
		union bpf_attr attr = { .map_id = next.next_id };
		int fd = bpf(BPF_MAP_GET_FD_BY_ID, &attr);

		next.start_id = next.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (uintptr_t)&info;
		if (fd >= 0 && !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) &&
		    info.type == type && !strcmp(info.name, name)) {
			*flags = info.map_flags;
			close(found);
			found = fd;
		} else {
			close(fd);
		}
	}
	return found;
}

static int load(int map)
{
	struct bpf_insn insns[] = {
		{ BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0x55555555 },
		{ BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0x6f637774 },
		{ BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, map },
		{},
		{ BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, -1 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -16 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 16 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output },
		{ BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	int i, nr = argc > 1 ? atoi(argv[1]) : 0, prog;

	/* are the elements of the map preallocated? */
	if (!nr)
		return find_map(BPF_MAP_TYPE_HASH, "sums", &flags) < 0 ||
		       (flags & BPF_F_NO_PREALLOC);
	prog = load(find_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "output", &flags));

	for (i = 0; i < nr; i++) {
		union bpf_attr attr = {
			.test.prog_fd = prog,
			.test.flags = BPF_F_TEST_RUN_ON_CPU,
			.test.cpu = i % sysconf(_SC_NPROCESSORS_ONLN),
		};

		if (bpf(BPF_PROG_TEST_RUN, &attr) || attr.test.retval) {
			perror("junk");
			return 1;
		}
	}
	return 0;
}
END
}

# A library for LD_PRELOAD: its syscall() refuses to load or to attach the BPF program, as some
# kernels do.
make_refuse() {
	[ ! -e "${refuse}" ] || return 0
	cc -shared -fPIC -O2 -o "${refuse}" -x c - -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* When perf tests what the kernel can do, it uses other types of programs, or may fail. */
static int is_refused(int cmd, const union bpf_attr *attr)
{
	if (!strcmp(getenv("REFUSE"), "attach"))
		return cmd == BPF_LINK_CREATE || cmd == BPF_RAW_TRACEPOINT_OPEN;
	return cmd == BPF_PROG_LOAD && attr->prog_type == BPF_PROG_TYPE_TRACING &&
	       attr->expected_attach_type == BPF_TRACE_RAW_TP;
}

long syscall(long nr, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	va_list list;
	long arg[6];
	int i;

	va_start(list, nr);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (nr == SYS_bpf && is_refused(arg[0], (void *)arg[1])) {
		errno = EINVAL;
		return -1;
	}
	return real(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
END
}

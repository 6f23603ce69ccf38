// SPDX-License-Identifier: GPL-2.0
/* Whatever memory a stack leads to, the task continues, or can be killed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pd_chain.h"
#include "pd_fuse.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_ring.h"
#include "pd_stack.h"
#include "pd_test.h"

#define NAME	4
#define FILE_NAME 5
#define COPY_NAME 6
#define PATIENCE 20

/* Map two pages. Faults of the second one go to a userfaultfd that no one serves. */
static char *unserved_memory(size_t page, int flags)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct pd_frame *frame;
	char *memory;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return NULL;
	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	range.range.start = (unsigned long)memory + page;
	range.range.len = page;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	frame = (struct pd_frame *)memory;
	frame->ip = pd_name_address(NAME);
	frame->next = (unsigned long)memory + page;
	return memory;
}

/* Ends with 77 where there is no userfaultfd. */
static int walk_into_unserved(void *flags)
{
	char *memory = unserved_memory(getpagesize(), (int)(long)flags);

	if (!memory)
		return 77;
	pd_getppid_on(memory, memory);
	return 0;
}

static int kill_unserved(int flags)
{
	const struct pd_rec *sample, *stack;
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	int status;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(pd_child_start(&child, walk_into_unserved, (void *)(long)flags));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	status = pd_child_wait(&child, PATIENCE);
	if (status == -1) {
		kill(child.pid, SIGKILL);
		status = pd_child_wait(&child, PATIENCE);
		PD_CHECK(status != -1, "the task hangs, and cannot be killed");
		pd_note("the task waited for its page until it was killed");
		return PD_PASS;
	}
	if (status == 77 << 8)
		return pd_skip("no userfaultfd here");
	PD_CHECK(!status, "the task ended with %#x", status);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	sample = pd_log_nth(&log, PERF_RECORD_SAMPLE, 0);
	PD_CHECK(sample, "no sample");
	PD_CHECK(pd_user_half(&log, sample, &stack) != PD_BARE, "no record");
	PD_CHECK(!stack || pd_frames_of(stack, NAME) == 1, "%u frames instead of 1",
		 pd_frames_of(stack, NAME));
	return PD_PASS;
}

static int userfaultfd_private(void)
{
	return kill_unserved(MAP_PRIVATE);
}

static int userfaultfd_shared(void)
{
	return kill_unserved(MAP_SHARED);
}

/* Keeps walking a chain whose pages it has just evicted. */
static int walk_for_ever(void *unused)
{
	size_t size = 64 * getpagesize();
	char *memory = pd_chain_map_file(NAME, 64);

	(void)unused;
	if (!memory)
		return 1;
	pd_child_says();
	for (;;) {
		madvise(memory, size, MADV_PAGEOUT);
		madvise(memory, size, MADV_DONTNEED);
		pd_getppid_on(memory, memory);
	}
}

static int killed_while_walking(void)
{
	unsigned long rounds = pd_scale(30), i;
	struct perf_event_attr attr;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	for (i = 0; i < rounds; i++) {
		struct pd_log log = {};
		struct pd_child child;
		struct pd_event event;
		int status;

		PD_TRY(pd_child_start(&child, walk_for_ever, NULL));
		PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
		pd_enable(&event);
		pd_child_go(&child);
		PD_CHECK(pd_child_wait_said(&child, 1, PATIENCE), "no file to map");
		pd_sleep_ms(10 + i % 7);
		kill(child.pid, SIGKILL);
		status = pd_child_wait(&child, PATIENCE);
		PD_CHECK(status == SIGKILL, "round %lu: %#x instead of a death by SIGKILL",
			 i, status);
		pd_disable(&event);
		pd_drain(&event, &log);
		PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
		PD_CHECK(log.lost || log.dropped || !pd_check_no_bare(&log), "round %lu", i);
		pd_event_close(&event);
		pd_log_free(&log);
	}
	return PD_PASS;
}

/* A disk whose reads block, so that a walk waits for it; the children share it. */
static struct pd_fuse *slow;

/* Return a frame whose caller's frame is in the file or disk, mapped with @prot; NULL on error. */
static struct pd_frame *frame_before(int file, int prot)
{
	size_t page = sizeof(slow->page);
	struct pd_frame *frame;

	frame = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		return NULL;
	frame->ip = pd_name_address(NAME);
	frame->next = (unsigned long)frame + page;
	if (mmap((char *)frame + page, page, prot, MAP_PRIVATE | MAP_FIXED,
		 file, 0) == MAP_FAILED)
		return NULL;
	return frame;
}

static void *walk_into_disk(void *unused)
{
	struct pd_frame *frame = frame_before(slow->disk, PROT_READ);

	(void)unused;
	if (frame)
		pd_getppid_on(frame, frame);
	return NULL;
}

/* Spin in user mode with %rsp and %rbp at @frame. */
static PD_LEAF void spin_with(struct pd_frame *frame)
{
	pd_child_says();
	asm volatile("mov	%[frame], %%rsp\n\t"
		     "mov	%[frame], %%rbp\n"
		     "1:	pause\n\t"
		     "jmp	1b" : : [frame] "r" (frame) : "memory");
}

static void *spin_before_disk(void *unused)
{
	struct pd_frame *frame = frame_before(slow->disk, PROT_READ);

	(void)unused;
	if (frame)
		spin_with(frame);
	return NULL;
}

/* Is the page in swap?  Bit 62 of its entry in pagemap says so. */
static bool is_swapped(const void *page)
{
	off_t at = (unsigned long)page / sizeof(slow->page) * sizeof(__u64);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	__u64 entry = 0;

	if (fd < 0)
		return false;
	if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
		entry = 0;
	close(fd);
	return entry >> 62 & 1;
}

/* Spin with the caller's frame in a swapped copy of the page. Exit with 77 if it is not in swap. */
static int spin_before_copy(void *unused)
{
	struct pd_frame *frame = frame_before(slow->disk, PROT_READ | PROT_WRITE);
	size_t size = sizeof(slow->page);
	char *copy = (char *)frame + size;
	int i;

	(void)unused;
	if (!frame)
		return 1;
	pd_chain_lay(copy, COPY_NAME, 1);
	for (i = 0; i < 50 && !is_swapped(copy); i++) {
		madvise(copy, size, MADV_PAGEOUT);
		pd_sleep_ms(20);
	}
	if (!is_swapped(copy))
		return 77;
	spin_with(frame);
	return 1;
}

/* Spin in user mode on a stack in a private copy of the page. */
static int spin_in_copy(void *unused)
{
	struct pd_frame *frame = frame_before(slow->disk, PROT_READ | PROT_WRITE);
	char *copy = (char *)frame + sizeof(slow->page);

	(void)unused;
	if (!frame)
		return 1;
	pd_chain_lay(copy, COPY_NAME, 1);
	spin_with((struct pd_frame *)copy);
	return 1;
}

/* Keep all other tasks off this CPU until the test sets slow->go. */
static int keep_cpu(void *unused)
{
	struct sched_param param = { .sched_priority = 1 };

	(void)unused;
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	pd_child_says();
	while (!PD_READ(slow->go))
		;
	return 0;
}

static int walk_and_end(void *unused)
{
	walk_into_disk(unused);
	return 0;
}

/* Exit 100 ms after the walk of another thread has begun to wait for the page. */
static int end_beside_walk(void *unused)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, walk_into_disk, unused))
		return 1;
	while (!PD_READ(slow->reader))
		pd_sleep_ms(5);
	pd_sleep_ms(100);
	_exit(7);
}

static int spin_and_end(void *unused)
{
	spin_before_disk(unused);
	return 1;
}

/* The main thread calls execve, which kills the spinning thread. */
static int exec_beside_spin(void *unused)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spin_before_disk, unused))
		return 1;
	while (!PD_READ(slow->go))
		pd_sleep_ms(1);
	execl("/bin/true", "true", NULL);
	return 2;
}

/* Fill the page of the FUSE file with a frame, and start its server. */
static int make_slow_file(void)
{
	slow = mmap(NULL, sizeof(*slow), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	PD_CHECK(slow != MAP_FAILED, "mmap: %s", strerror(errno));
	pd_chain_lay(slow->page, FILE_NAME, 1);
	return pd_fuse_start(slow);
}

static int check_frames(struct pd_log *log, const struct pd_rec *sample, unsigned int of_file)
{
	const struct pd_rec *stack;

	PD_CHECK(sample && sample->deferred, "no deferred sample");
	PD_CHECK(pd_user_half(log, sample, &stack) == PD_STITCHED, "no record");
	PD_CHECK(pd_frames_of(stack, NAME) == 1, "%u frames before the file instead of 1",
		 pd_frames_of(stack, NAME));
	PD_CHECK(pd_frames_of(stack, FILE_NAME) == of_file, "%u frames in the file, not %u",
		 pd_frames_of(stack, FILE_NAME), of_file);
	return 0;
}

static int waiting_walk(int (*walker)(void *unused), void (*meanwhile)(struct pd_child *child),
			int expected, unsigned int of_file)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;
	int status;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	attr.inherit = 1;
	PD_TRY(make_slow_file());
	PD_TRY(pd_child_start(&child, walker, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, 0));
	pd_pin(child.pid, 0);
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(pd_fuse_wait_reader(slow, PATIENCE), "the page is not read");
	meanwhile(&child);
	status = pd_child_wait(&child, PATIENCE);
	PD_CHECK(status != -1, "the task still waits for its page");
	PD_CHECK(status == expected, "the task ended with %#x", status);
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	return check_frames(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), of_file);
}

/* Check the numbers of frames before the file, in the file, and in a private copy of it. */
static int check_dying_frames(struct pd_log *log, unsigned int of_file)
{
	unsigned int frames = 0, in_file = 0, in_copy = 0;
	const struct pd_rec *sample = NULL, *stack;

	while (pd_log_next(log, PERF_RECORD_SAMPLE, &sample)) {
		PD_CHECK(pd_user_half(log, sample, &stack) != PD_BARE, "no record");
		if (!stack)
			continue;
		frames += pd_frames_of(stack, NAME);
		in_file += pd_frames_of(stack, FILE_NAME);
		in_copy += pd_frames_of(stack, COPY_NAME);
	}
	PD_CHECK(frames == 1, "%u frames before the file instead of 1", frames);
	PD_CHECK(in_file == of_file, "%u frames in the file instead of %u", in_file, of_file);
	PD_CHECK(!in_copy, "a page was read from swap");
	return 0;
}

/* The first sample is taken when the task is already dying: the walk must not wait or allocate. */
static int dying_walk(int (*spinner)(void *unused), int sig, int expected, bool cached)
{
	struct perf_event_attr attr, fault_attr, alloc_attr;
	struct pd_event event, faults, allocs;
	struct pd_log log = {};
	struct pd_child child;
	int status;

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	attr.inherit = 1;
	PD_TRY(pd_attr_kprobe(&fault_attr, "handle_mm_fault"));
	PD_TRY(pd_attr_tracepoint(&alloc_attr, "kmem", "kmalloc"));
	PD_TRY(make_slow_file());
	if (cached)
		PD_TRY(pd_fuse_cache(slow, 0));
	PD_TRY(pd_child_start(&child, spinner, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, 0));
	PD_TRY(pd_watch_open(&faults, &fault_attr, child.pid, 0));
	PD_TRY(pd_watch_open(&allocs, &alloc_attr, child.pid, 0));
	pd_pin(child.pid, 0);
	pd_enable(&event);
	pd_child_go(&child);
	if (!pd_child_wait_said(&child, 1, PATIENCE)) {
		PD_CHECK(pd_child_wait(&child, 1) == 77 << 8, "it does not spin");
		return pd_skip("nothing was swapped out");
	}
	pd_sleep_ms(20);
	pd_enable(&faults);
	pd_enable(&allocs);
	PD_WRITE(slow->go, true);
	if (sig)
		kill(child.pid, sig);
	status = pd_child_wait(&child, PATIENCE);
	PD_CHECK(status != -1, "the task waits for a page");
	PD_CHECK(status == expected, "the task ended with %#x", status);
	PD_CHECK(!PD_READ(slow->reader), "a page was requested");
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(check_dying_frames(&log, cached && spinner != spin_before_copy));
	PD_TRY(pd_watch_exit(&faults, "takes a page fault"));
	return pd_watch_exit(&allocs, "allocates memory");
}

static int say_and_spin(void *unused)
{
	(void)unused;
	return pd_call(NAME, 4, pd_leaf_says_and_spins, (void *)60000L);
}

/* Without a page for its frames, a dying task must send only one record for a cookie. */
static int one_round(void)
{
	struct pd_range unlock = pd_find_function("__srcu_read_unlock");
	struct perf_event_attr attr, inner_attr;
	const struct pd_rec *sample = NULL;
	struct pd_event event, inner;
	struct pd_log log = {};
	struct pd_child child;

	PD_TRY(pd_attr_kprobe(&attr, "get_signal"));
	/* this breakpoint is hit when records have been sent */
	inner_attr = attr;
	inner_attr.type = PERF_TYPE_BREAKPOINT;
	inner_attr.config = 0;
	inner_attr.bp_type = HW_BREAKPOINT_X;
	inner_attr.bp_addr = unlock.low;
	inner_attr.bp_len = sizeof(long);
	if (pd_try_open(&inner_attr))
		return pd_skip("no breakpoint in the kernel");
	PD_TRY(pd_child_start(&child, say_and_spin, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	PD_TRY(pd_must_open(&inner, &inner_attr, child.pid, -1));
	pd_child_go(&child);
	PD_CHECK(pd_child_wait_said(&child, 1, PATIENCE), "it does not spin");
	pd_enable(&event);
	pd_enable(&inner);
	kill(child.pid, SIGKILL);
	PD_CHECK(pd_child_wait(&child, PATIENCE) == SIGKILL, "the task cannot be killed");
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_next(&log, PERF_RECORD_SAMPLE, &sample), "no sample");
	PD_TRY(pd_check_stitched(&log, sample, NAME, 4));
	PD_CHECK(pd_log_records(&log, sample->tid, sample->cookie) == 1, "%zu records",
		 pd_log_records(&log, sample->tid, sample->cookie));
	pd_log_free(&log);
	pd_drain(&inner, &log);
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE), "no sample while records are sent");
	pd_log_free(&log);
	return PD_PASS;
}

/* Kill the child after 100 ms. If its walk did not wait, the child has exited by then. */
static void kill_it(struct pd_child *child)
{
	pd_sleep_ms(100);
	kill(child->pid, SIGKILL);
}

static void serve_it(struct pd_child *child)
{
	(void)child;
	pd_sleep_ms(100);
	pd_fuse_serve(slow);
}

static void wait_for_it(struct pd_child *child)
{
	(void)child;
}

static int killed_in_wait(void)
{
	return waiting_walk(walk_and_end, kill_it, SIGKILL, 0);
}

static int ended_in_wait(void)
{
	return waiting_walk(end_beside_walk, wait_for_it, 7 << 8, 0);
}

static int killed_before_walk(void)
{
	return dying_walk(spin_and_end, SIGKILL, SIGKILL, false);
}

static int exec_before_walk(void)
{
	return dying_walk(exec_beside_spin, 0, 0, false);
}

/* The page is not in the page table: the walk must read it from the page cache. */
static int killed_beside_cached_page(void)
{
	return dying_walk(spin_and_end, SIGKILL, SIGKILL, true);
}

static int exec_beside_cached_page(void)
{
	return dying_walk(exec_beside_spin, 0, 0, true);
}

/* The file's page is in memory, but the task has a private copy, which is in swap. */
static int killed_before_swapped_copy(void)
{
	if (!pd_make_swap())
		return pd_skip("no swap here");
	return dying_walk(spin_before_copy, SIGKILL, SIGKILL, true);
}

/* Kill a process and free its memory (process_mrelease) before it runs again. */
static int kill_and_reap(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	int err;

	PD_CHECK(fd >= 0, "pidfd_open: %s", strerror(errno));
	kill(pid, SIGKILL);
	err = syscall(SYS_process_mrelease, fd, 0) ? errno : 0;
	close(fd);
	PD_CHECK(!err, "process_mrelease: %s", strerror(err));
	return 0;
}

/* The task's private copy of a page is gone: the walk must not use the file's bytes instead. */
static int reaped_before_walk(void)
{
	const struct pd_rec *sample = NULL, *stack;
	struct pd_child child, hog;
	struct perf_event_attr attr;
	struct pd_event event;
	struct pd_log log = {};

	PD_TRY(pd_attr_kprobe(&attr, "do_exit"));
	PD_TRY(make_slow_file());
	PD_TRY(pd_fuse_cache(slow, 0));
	PD_TRY(pd_child_start(&child, spin_in_copy, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, 0));
	pd_pin(child.pid, 0);
	pd_pin(0, 1);
	pd_enable(&event);
	pd_child_go(&child);
	PD_CHECK(pd_child_wait_said(&child, 1, PATIENCE), "it does not spin");
	PD_TRY(pd_child_start(&hog, keep_cpu, NULL));
	pd_pin(hog.pid, 0);
	pd_child_go(&hog);
	PD_CHECK(pd_child_wait_said(&hog, 1, PATIENCE), "no real-time task");
	PD_TRY(kill_and_reap(child.pid));
	PD_WRITE(slow->go, true);
	PD_CHECK(pd_child_wait(&hog, PATIENCE) == 0, "the real-time task does not end");
	PD_CHECK(pd_child_wait(&child, PATIENCE) == SIGKILL, "the task does not end");
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_next(&log, PERF_RECORD_SAMPLE, &sample), "no sample");
	PD_CHECK(pd_user_half(&log, sample, &stack) == PD_STITCHED, "no record");
	PD_CHECK(!pd_frames_of(stack, FILE_NAME), "the file was read in place of the copy");
	PD_CHECK(!pd_frames_of(stack, COPY_NAME), "the copy is still there");
	pd_log_free(&log);
	return PD_PASS;
}

/* Walk while the page of the file is missing, and once more. */
static int walk_twice_into_file(void *unused)
{
	struct pd_frame *frame = frame_before(slow->file, PROT_READ);

	(void)unused;
	if (!frame)
		return 1;
	pd_getppid_on(frame, frame);
	pd_child_says();
	while (!PD_READ(slow->go))
		pd_sleep_ms(1);
	pd_getppid_on(frame, frame);
	return 0;
}

/*
 * The server of the file may be the task itself, so the walk must not wait for the page, and must
 * use it if it is in the page cache.
 */
static int file_of_user_space(void)
{
	struct perf_event_attr attr;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_event event;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(make_slow_file());
	PD_TRY(pd_child_start(&child, walk_twice_into_file, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	if (!pd_child_wait_said(&child, 1, PATIENCE)) {
		kill(child.pid, SIGKILL);
		return pd_fail("the walk waits for the server");
	}
	PD_CHECK(!PD_READ(slow->reader), "the page was requested");
	PD_TRY(pd_fuse_cache(slow, 0));
	PD_WRITE(slow->go, true);
	PD_CHECK(!pd_child_wait(&child, PATIENCE), "the task does not end");
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_TRY(check_frames(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 0), 0));
	PD_TRY(check_frames(&log, pd_log_nth(&log, PERF_RECORD_SAMPLE, 1), 1));
	pd_log_free(&log);
	return PD_PASS;
}

static long call_code(void *code)
{
	return ((long (*)(void))code)();
}

static int run_code_of_file(void *unused)
{
	size_t page = sizeof(slow->page);
	char *file = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, slow->file, 0);

	(void)unused;
	if (file == MAP_FAILED)
		return 1;
	pd_call(NAME, 1, call_code, file + page);
	return 0;
}

/* The page of the code is in the page cache, but that of the ELF header is not. */
static int program_of_user_space(void)
{
	static const unsigned char getppid_code[] = {
		0xb8, SYS_getppid, 0, 0, 0,	/* mov	$SYS_getppid, %eax */
		0x0f, 0x05,			/* syscall */
		0xc3,				/* ret */
	};
	struct perf_event_attr attr;
	struct pd_child child;
	struct pd_event event;
	struct pd_log log = {};
	int status;

	PD_TRY(pd_attr_kprobe(&attr, "__x64_sys_getppid"));
	PD_TRY(make_slow_file());
	memcpy(slow->page, getppid_code, sizeof(getppid_code));
	PD_TRY(pd_fuse_cache(slow, sizeof(slow->page)));
	PD_TRY(pd_child_start(&child, run_code_of_file, NULL));
	PD_TRY(pd_must_open(&event, &attr, child.pid, -1));
	pd_enable(&event);
	pd_child_go(&child);
	status = pd_child_wait(&child, PATIENCE);
	kill(child.pid, SIGKILL);
	PD_CHECK(!status, "the walk waits for the server");
	PD_CHECK(!PD_READ(slow->reader), "the page was requested");
	pd_disable(&event);
	pd_drain(&event, &log);
	PD_TRY(pd_log_clean(&log));
	PD_CHECK(pd_log_count(&log, PERF_RECORD_SAMPLE) == 1, "no sample");
	pd_log_free(&log);
	return PD_PASS;
}

static int served_after_wait(void)
{
	return waiting_walk(walk_and_end, serve_it, 0, 1);
}

const struct pd_test pd_tests[] = {
	PD_TEST(userfaultfd_private),
	PD_TEST(userfaultfd_shared),
	PD_TEST(killed_while_walking),
	PD_TEST(killed_in_wait),
	PD_TEST(ended_in_wait),
	PD_TEST(served_after_wait),
	PD_TEST(file_of_user_space),
	PD_TEST(program_of_user_space),
	PD_TEST(killed_before_walk),
	PD_TEST(exec_before_walk),
	PD_TEST(killed_beside_cached_page),
	PD_TEST(exec_beside_cached_page),
	PD_TEST(killed_before_swapped_copy),
	PD_TEST(reaped_before_walk),
	PD_TEST(one_round),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

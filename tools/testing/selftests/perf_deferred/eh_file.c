// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of files: processes that map a file share its unwind rules. However the file changes,
 * walks use the contents that the process has mapped.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_image.h"
#include "eh_walk.h"
#include "pd_proc.h"
#include "pd_test.h"

#define DIR	"/tmp/eh_file"
#define A	DIR "/a"
#define B	DIR "/b"
#define STATS	"/sys/kernel/debug/unwind_user"
#define LIMIT	"/proc/sys/kernel/unwind_user_files_max_kb"

static struct eh_image small, large;

/* Mount a file system of this type on DIR, in a new mount namespace. */
static int prepare_on(const char *type)
{
	const Elf64_Ehdr *elf = (void *)small.bytes;
	const Elf64_Phdr *ph;
	int i;

	PD_TRY(eh_usable());
	PD_TRY(eh_read_images(&small, &large));
	ph = (void *)(small.bytes + elf->e_phoff);
	for (i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && !(ph[i].p_flags & PF_W) &&
		    ph[i].p_vaddr != ph[i].p_offset)
			return pd_skip("the object cannot be mapped in one piece");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return pd_skip("no mount namespace: %s", strerror(errno));
	PD_CHECK(!mkdir(DIR, 0700) || errno == EEXIST, "%s: %s", DIR, strerror(errno));
	PD_CHECK(!mount("none", DIR, type, 0, NULL), "%s: %s", type, strerror(errno));
	return 0;
}

static int prepare_on_ramfs(void)
{
	return prepare_on("ramfs");
}

static int write_fd(int fd, const struct eh_image *image)
{
	PD_CHECK(fd >= 0, "open: %s", strerror(errno));
	PD_CHECK(pwrite(fd, image->bytes, image->size, 0) == (ssize_t)image->size, "write: %s",
		 strerror(errno));
	return 0;
}

static size_t file_span(void)
{
	return eh_whole_pages(small.size > large.size ? small.size : large.size);
}

static int map_file(const char *path, char **at)
{
	return eh_map_image(path, file_span(), at);
}

/* Walk twice: first without cached rules, then with them. */
static int walk_at(char *at)
{
	char *function = at + small.step;
	eh_step step, steps[] = { eh_pushes, NULL, eh_plain, NULL, eh_leaf };
	static struct eh_walk walk;
	struct pd_event event;

	memcpy(&step, &function, sizeof(step));
	steps[1] = step;
	steps[3] = step;
	PD_TRY(eh_open(&event));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	PD_TRY(eh_run_and_check(&event, &walk, steps));
	pd_event_close(&event);
	return 0;
}

/* Walk once: the walk may end early, but all its frames must be right. */
static int walk_partly(char *at)
{
	char *function = at + small.step;
	eh_step step, steps[] = { eh_pushes, NULL, eh_plain, NULL, eh_leaf };
	static struct eh_walk walk;
	const struct pd_rec *stack;
	struct pd_event event;
	struct pd_log log;
	unsigned int n;

	memcpy(&step, &function, sizeof(step));
	steps[1] = step;
	steps[3] = step;
	PD_TRY(eh_open(&event));
	PD_TRY(eh_sample(&event, &log, &walk, steps, &stack));
	for (n = 1; n < stack->nr_user && n <= walk.nr; n++)
		PD_CHECK(stack->user[n] == walk.ra[walk.nr - n],
			 "frame %u is %#llx, should be %#lx", n, stack->user[n],
			 walk.ra[walk.nr - n]);
	pd_log_free(&log);
	pd_event_close(&event);
	return 0;
}

static int walk_file(const char *path)
{
	char *at;

	PD_TRY(map_file(path, &at));
	PD_TRY(walk_at(at));
	munmap(at, file_span());
	return 0;
}

/* Call @run in a child process. */
static int in_child(int (*run)(const char *path), const char *path)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = run(path);
		fflush(stdout);
		_exit(status);
	}
	PD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid, "fork: %s", strerror(errno));
	PD_CHECK(WIFEXITED(status), "the child ended with status %#x", status);
	return WEXITSTATUS(status);
}

static long stat_of(const char *what)
{
	char line[128], name[64];
	long value, found = -1;
	FILE *f = fopen(STATS, "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^0-9] %ld", name, &value) == 2 &&
		    !strncmp(name, what, strlen(what)) && strlen(name) == strlen(what) + 1)
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* The numbers of rules that were decoded from files, and from memory of processes. */
struct found {
	long file;
	long memory;
};

static int found_by(int (*run)(const char *path), const char *path, struct found *found)
{
	struct found before = { stat_of("rules file"), stat_of("rules tables") };

	if (before.file < 0)
		return pd_skip("no " STATS);
	PD_TRY(in_child(run, path));
	found->file = stat_of("rules file") - before.file;
	found->memory = stat_of("rules tables") - before.memory;
	return 0;
}

/* A second process uses the rules that the first has decoded, except those displaced since. */
static int is_shared(const char *path, const char *next_path)
{
	struct found first, next;

	PD_TRY(found_by(walk_file, path, &first));
	PD_CHECK(first.file, "no rule was decoded from a file");
	PD_TRY(found_by(walk_file, next_path, &next));
	PD_CHECK(4 * next.file <= first.file, "%ld rules of %ld were decoded again", next.file,
		 first.file);
	return PD_PASS;
}

/*
 * Rules for the file must come from memory. Walks through the object in B come first, so that
 * the rules of all other code are cached.
 */
static int is_not_shared(const char *path)
{
	struct found found;
	int round;

	PD_TRY(eh_write_image(B, &small));
	PD_TRY(in_child(walk_file, B));
	PD_TRY(in_child(walk_file, B));
	for (round = 0; round < 2; round++) {
		PD_TRY(found_by(walk_file, path, &found));
		PD_CHECK(!found.file, "%ld rules were decoded from a file", found.file);
		PD_CHECK(found.memory, "no rule was found in memory");
	}
	return PD_PASS;
}

static int shared(void)
{
	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	return is_shared(A, A);
}

static int shared_on_tmpfs(void)
{
	PD_TRY(prepare_on("tmpfs"));
	PD_TRY(eh_write_image(A, &small));
	return is_shared(A, A);
}

/* Look in the list of mounts: statfs() returns the type of the server's own file system. */
static bool is_on_9p(const char *path)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	unsigned int major, minor;
	char line[1024];
	bool is = false;
	struct stat st;

	if (stat(path, &st))
		return false;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 &&
		    makedev(major, minor) == st.st_dev && strstr(line, " - 9p "))
			is = true;
	if (f)
		fclose(f);
	return is;
}

/* Files on 9p, such as those of the VM, can change on the server without notice. */
static int not_shared_on_9p(void)
{
	PD_TRY(prepare_on_ramfs());
	if (!is_on_9p(pd_beside(EH_SMALL)))
		return pd_skip("the tests are not on 9p");
	return is_not_shared(pd_beside(EH_SMALL));
}

/* No rules are shared while the file is open for writing. */
static int not_shared_while_open(void)
{
	int fd;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(in_child(walk_file, A));
	fd = open(A, O_RDWR | O_CLOEXEC);
	PD_CHECK(fd >= 0, "open: %s", strerror(errno));
	PD_TRY(is_not_shared(A));
	close(fd);
	return is_shared(A, A);
}

static int set_limit(unsigned int kb)
{
	FILE *f = fopen(LIMIT, "w");

	PD_CHECK(f && fprintf(f, "%u", kb) > 0 && !fclose(f), LIMIT ": %s", strerror(errno));
	return 0;
}

static int with_limit_0(int (*run)(void))
{
	FILE *f = fopen(LIMIT, "r");
	unsigned int kb;
	int ret;

	PD_CHECK(f && fscanf(f, "%u", &kb) == 1, "no " LIMIT);
	fclose(f);
	PD_TRY(set_limit(0));
	ret = run();
	PD_TRY(set_limit(kb));
	return ret;
}

static struct found shared_before;
static long bytes_before;

/* The bytes of the rules of all files, or -1. */
static long files_bytes(void)
{
	FILE *f = fopen(STATS, "r");
	char line[128];
	long bytes = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "files bytes %ld", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

static int is_not_shared_any_more(void)
{
	long bytes = files_bytes();
	struct found found;

	PD_CHECK(bytes >= 0 && bytes < bytes_before, "rules take %ld bytes, %ld before", bytes,
		 bytes_before);
	PD_TRY(found_by(walk_file, A, &found));
	PD_CHECK(!found.file && found.memory > shared_before.memory,
		 "%ld rules were decoded from a file, %ld from memory, %ld before", found.file,
		 found.memory, shared_before.memory);
	return PD_PASS;
}

/* With a limit of 0, the rules of files are freed, and no file shares rules any more. */
static int not_shared_with_limit_0(void)
{
	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(in_child(walk_file, A));
	PD_TRY(found_by(walk_file, A, &shared_before));
	bytes_before = files_bytes();
	return with_limit_0(is_not_shared_any_more);
}

/* Write to the file while one process has it mapped. Other processes map it anew. */
static int rewritten_on(const char *type, int (*rewrite)(const struct eh_image *image))
{
	unsigned long round, rounds = pd_scale(10);
	char *at;

	PD_TRY(prepare_on(type));
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(map_file(A, &at));
	for (round = 0; round < rounds; round++) {
		PD_TRY(walk_at(at));
		PD_TRY(rewrite(&large));
		PD_TRY(walk_at(at));
		PD_TRY(in_child(walk_file, A));
		PD_TRY(walk_at(at));
		PD_TRY(in_child(walk_file, A));
		PD_TRY(rewrite(&small));
		PD_TRY(walk_at(at));
		PD_TRY(in_child(walk_file, A));
	}
	return PD_PASS;
}

static int rewritten_on_ramfs(int (*rewrite)(const struct eh_image *image))
{
	return rewritten_on("ramfs", rewrite);
}

static int by_write(const struct eh_image *image)
{
	return eh_write_image(A, image);
}

static int rewritten_in_place(void)
{
	return rewritten_on_ramfs(by_write);
}

/* Without room to make a file known, its rules must not be cached: writes would go unnoticed. */
static int rewritten_with_limit_0(void)
{
	return with_limit_0(rewritten_in_place);
}

static int rewritten_on_tmpfs(void)
{
	return rewritten_on("tmpfs", by_write);
}

/* Write through a shared mapping, which is unmapped before the next walk. */
static int by_mapping(const struct eh_image *image)
{
	int fd = open(A, O_RDWR | O_CLOEXEC);
	char *to;

	PD_CHECK(fd >= 0, "%s: %s", A, strerror(errno));
	to = mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	PD_CHECK(to != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(to, image->bytes, image->size);
	munmap(to, image->size);
	return 0;
}

static int rewritten_through_mapping(void)
{
	return rewritten_on_ramfs(by_mapping);
}

/* Write through a shared mapping that stays mapped from the first write on. */
static int by_old_mapping(const struct eh_image *image)
{
	static char *to;

	if (!to) {
		int fd = open(A, O_RDWR | O_CLOEXEC);

		to = mmap(NULL, file_span(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		PD_CHECK(to != MAP_FAILED, "mmap: %s", strerror(errno));
	}
	memcpy(to, image->bytes, image->size);
	return 0;
}

static int rewritten_through_old_mapping(void)
{
	return rewritten_on_ramfs(by_old_mapping);
}

#define NOBODY	65534

static const struct eh_image *nobodys;

static int write_as_nobody(const char *path)
{
	PD_CHECK(!setgid(NOBODY) && !setuid(NOBODY), "setuid: %s", strerror(errno));
	return eh_write_image(path, nobodys);
}

/* Write to the file as its owner, who is not root. The walks before and after are made as root. */
static int by_owner(const struct eh_image *image)
{
	nobodys = image;
	PD_CHECK(!chmod(DIR, 0755) && !chown(A, NOBODY, NOBODY), "chown: %s", strerror(errno));
	return in_child(write_as_nobody, A);
}

static int rewritten_by_owner(void)
{
	return rewritten_on_ramfs(by_owner);
}

/*
 * Write to a file whose code runs in a shared mapping, made with a writable descriptor.  The
 * mapping is populated, because walks do not fault in pages of shared mappings.
 */
static int rewritten_under_shared_mapping(void)
{
	char *at;
	int fd;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_CHECK(!truncate(A, file_span()), "truncate: %s", strerror(errno));
	fd = open(A, O_RDWR | O_CLOEXEC);
	at = mmap(NULL, file_span(), PROT_READ | PROT_EXEC, MAP_SHARED | MAP_POPULATE, fd, 0);
	PD_CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(walk_at(at));
	PD_TRY(write_fd(fd, &large));
	PD_TRY(walk_at(at));
	munmap(at, file_span());
	close(fd);
	return 0;
}

static bool stop_opening;

/* Keeps opening the file for writing, without changing it. */
static void *open_often(void *unused)
{
	(void)unused;
	while (!PD_READ(stop_opening)) {
		close(open(A, O_RDWR | O_CLOEXEC));
		usleep(20);
	}
	return NULL;
}

/* While the file is opened for writing, walks may end early; afterwards they are complete. */
static int opened_during_walks(void)
{
	unsigned long round, rounds = pd_scale(200);
	pthread_t opener;
	int ret = 0;
	char *at;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	ret = pthread_create(&opener, NULL, open_often, NULL);
	PD_CHECK(!ret, "pthread_create: %s", strerror(ret));
	for (round = 0; !ret && round < rounds; round++) {
		ret = map_file(A, &at) ?: walk_partly(at);
		munmap(at, file_span());
	}
	PD_WRITE(stop_opening, true);
	pthread_join(opener, NULL);
	PD_TRY(ret);
	return is_shared(A, A);
}

/* Truncate the file and write it anew: the mapped pages then have the new contents. */
static int by_truncation(const struct eh_image *image)
{
	int fd = open(A, O_WRONLY | O_TRUNC | O_CLOEXEC);

	PD_TRY(write_fd(fd, image));
	close(fd);
	return 0;
}

static int truncated(void)
{
	return rewritten_on_ramfs(by_truncation);
}

static int replaced_by_rename(void)
{
	char *old, *new;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(eh_write_image(B, &large));
	PD_TRY(map_file(A, &old));
	PD_TRY(walk_at(old));
	PD_CHECK(!rename(B, A), "rename: %s", strerror(errno));
	PD_TRY(map_file(A, &new));
	PD_TRY(walk_at(new));
	PD_TRY(walk_at(old));
	PD_TRY(in_child(walk_file, A));
	return walk_at(old);
}

static int deleted(void)
{
	char *old, *new;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(map_file(A, &old));
	PD_TRY(walk_at(old));
	PD_CHECK(!unlink(A), "unlink: %s", strerror(errno));
	PD_TRY(walk_at(old));
	PD_TRY(eh_write_image(A, &large));
	PD_TRY(map_file(A, &new));
	PD_TRY(walk_at(new));
	return walk_at(old);
}

/* Sooner or later, the inode of a new file gets the address of a deleted file's inode. */
static int inode_reused(void)
{
	unsigned long round, rounds = pd_scale(100);

	PD_TRY(prepare_on_ramfs());
	for (round = 0; round < rounds; round++) {
		PD_TRY(eh_write_image(A, round & 1 ? &large : &small));
		PD_TRY(in_child(walk_file, A));
		PD_CHECK(!unlink(A), "unlink: %s", strerror(errno));
		/* inodes are freed after a grace period */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	}
	return PD_PASS;
}

/* A file system is unmounted, and a new one has files with the same device and inode numbers. */
static int mounted_anew(void)
{
	int round;

	PD_TRY(prepare_on_ramfs());
	for (round = 0; round < 6; round++) {
		PD_TRY(eh_write_image(A, round & 1 ? &large : &small));
		PD_TRY(in_child(walk_file, A));
		PD_CHECK(!umount(DIR), "rules keep a file system: %s", strerror(errno));
		PD_CHECK(!mount("none", DIR, "ramfs", 0, NULL), "ramfs: %s", strerror(errno));
	}
	return PD_PASS;
}

static int equal_contents(void)
{
	char *a, *b;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(eh_write_image(B, &small));
	PD_TRY(map_file(A, &a));
	PD_TRY(map_file(B, &b));
	PD_TRY(walk_at(a));
	PD_TRY(walk_at(b));
	PD_TRY(eh_write_image(B, &large));
	PD_TRY(walk_at(a));
	return walk_at(b);
}

/* Walk, then unmount in a new mount namespace: now the path leads to another file. Walk again. */
static int walk_elsewhere(const char *path)
{
	PD_TRY(walk_file(path));
	PD_CHECK(!unshare(CLONE_NEWNS) && !umount2(path, MNT_DETACH), "umount: %s",
		 strerror(errno));
	return walk_file(path);
}

static int bind_mount(void)
{
	char *a, *b;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(eh_write_image(B, &large));
	PD_CHECK(!mount(A, B, NULL, MS_BIND, NULL), "bind: %s", strerror(errno));
	PD_TRY(map_file(A, &a));
	PD_TRY(map_file(B, &b));
	PD_TRY(walk_at(a));
	PD_TRY(walk_at(b));
	PD_TRY(eh_write_image(A, &large));
	PD_TRY(walk_at(b));
	PD_TRY(walk_at(a));
	PD_TRY(in_child(walk_elsewhere, B));
	umount2(B, MNT_DETACH);
	PD_TRY(in_child(walk_file, B));
	return walk_at(b);
}

#define LOWER	DIR "/lower"
#define UPPER	DIR "/upper"
#define MERGED	DIR "/merged"

static int on_overlayfs(void)
{
	char *a, *b;

	PD_TRY(prepare_on_ramfs());
	PD_CHECK(!mkdir(LOWER, 0700) && !mkdir(UPPER, 0700) && !mkdir(DIR "/work", 0700) &&
		 !mkdir(MERGED, 0700), "mkdir: %s", strerror(errno));
	PD_TRY(eh_write_image(LOWER "/a", &small));
	if (mount("none", MERGED, "tmpfs", 0, NULL) || mkdir(MERGED "/u", 0700) ||
	    mkdir(MERGED "/w", 0700) || mkdir(MERGED "/m", 0700) ||
	    mount("none", MERGED "/m", "overlay", 0, "lowerdir=" LOWER ",upperdir=" MERGED
		  "/u,workdir=" MERGED "/w"))
		return pd_skip("no overlayfs: %s", strerror(errno));
	PD_TRY(is_shared(LOWER "/a", MERGED "/m/a"));
	PD_TRY(map_file(LOWER "/a", &a));
	PD_TRY(map_file(MERGED "/m/a", &b));
	PD_TRY(walk_at(a));
	PD_TRY(walk_at(b));
	/* copied up: existing mappings still map the lower file */
	PD_TRY(eh_write_image(MERGED "/m/a", &large));
	PD_TRY(walk_at(a));
	PD_TRY(walk_at(b));
	return in_child(walk_file, MERGED "/m/a");
}

/* A memfd may have writers that i_writecount does not count, so its rules must not be kept. */
static int memfd(void)
{
	unsigned long round, rounds = pd_scale(4);
	char path[64];
	int fd;

	PD_TRY(prepare_on_ramfs());
	fd = syscall(SYS_memfd_create, "eh_file", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (round = 0; round < rounds; round++) {
		char *to;

		PD_TRY(write_fd(fd, &small));
		PD_TRY(in_child(walk_file, path));
		to = mmap(NULL, file_span(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memcpy(to, large.bytes, large.size);
		munmap(to, file_span());
		PD_TRY(in_child(walk_file, path));
	}
	return PD_PASS;
}

/* Walk through the pages of the file, then through private copies with other contents. */
static int walk_private_copy(const char *path)
{
	char *at;

	PD_TRY(map_file(path, &at));
	PD_TRY(walk_at(at));
	PD_CHECK(!mprotect(at, file_span(), PROT_READ | PROT_WRITE), "mprotect: %s",
		 strerror(errno));
	memcpy(at, large.bytes, large.size);
	PD_CHECK(!mprotect(at, file_span(), PROT_READ | PROT_EXEC), "mprotect: %s",
		 strerror(errno));
	return walk_at(at);
}

static int private_copy(void)
{
	char *at;

	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(map_file(A, &at));
	PD_TRY(in_child(walk_private_copy, A));
	PD_TRY(walk_at(at));
	PD_TRY(in_child(walk_private_copy, A));
	return walk_at(at);
}

/* Walk without a check of the stack: the text and the tables are of different objects. */
static int walk_unchecked(char *at)
{
	char *function = at + small.step;
	eh_step step, steps[] = { eh_pushes, NULL, eh_plain, NULL, eh_leaf };
	const struct pd_rec *stack;
	static struct eh_walk walk;
	struct pd_event event;
	struct pd_log log;

	memcpy(&step, &function, sizeof(step));
	steps[1] = step;
	steps[3] = step;
	PD_TRY(eh_open(&event));
	return eh_sample(&event, &log, &walk, steps, &stack);
}

/* Walk through the text of the file while the tables in memory are those of another object. */
static int walk_other_tables(const char *path)
{
	size_t text = small.step & ~(getpagesize() - 1UL), tables = text + getpagesize();
	char *at;
	int fd;

	PD_TRY(map_file(path, &at));
	PD_CHECK(!mprotect(at, file_span(), PROT_READ | PROT_WRITE), "mprotect: %s",
		 strerror(errno));
	memcpy(at, large.bytes, large.size);
	PD_CHECK(!mprotect(at, file_span(), PROT_READ | PROT_EXEC), "mprotect: %s",
		 strerror(errno));
	PD_TRY(walk_at(at));

	/* this process maps the text of the file again, with the same size */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	PD_CHECK(mmap(at + text, tables - text, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		      text) != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	return walk_unchecked(at);
}

static int other_tables_first(void)
{
	PD_TRY(prepare_on_ramfs());
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(in_child(walk_other_tables, A));
	PD_TRY(in_child(walk_file, A));
	PD_TRY(in_child(walk_other_tables, A));
	return in_child(walk_file, A);
}

/* An io_uring of one entry, with a part of A as its fixed buffer. */
struct ring {
	int fd;
	struct io_uring_params params;
	char *queue;
	struct io_uring_sqe *sqe;
	char *buffer;			/* its address when it was registered */
	size_t bytes;
};

static int open_ring(struct ring *ring)
{
	size_t bytes;

	ring->fd = syscall(SYS_io_uring_setup, 1, &ring->params);
	if (ring->fd < 0)
		return pd_skip("no io_uring: %s", strerror(errno));
	/* both queues are in one mapping */
	bytes = ring->params.cq_off.cqes +
		ring->params.cq_entries * sizeof(struct io_uring_cqe);
	ring->queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   ring->fd, IORING_OFF_SQ_RING);
	ring->sqe = mmap(NULL, sizeof(*ring->sqe), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	PD_CHECK(ring->queue != MAP_FAILED && ring->sqe != MAP_FAILED, "mmap: %s",
		 strerror(errno));
	return 0;
}

/* Pin pages of the file as the fixed buffer. Afterwards, the file is neither open nor mapped. */
static int pin_file(struct ring *ring, const char *path, size_t from, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct iovec iov = { .iov_len = bytes };

	PD_CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	iov.iov_base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
	close(fd);
	PD_CHECK(iov.iov_base != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_CHECK(!syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &iov, 1),
		 "IORING_REGISTER_BUFFERS: %s", strerror(errno));
	munmap(iov.iov_base, bytes);
	ring->buffer = iov.iov_base;
	ring->bytes = bytes;
	return 0;
}

/* Write to the pages as a device does. */
static int write_pinned(struct ring *ring, int fd, size_t from)
{
	unsigned int *tail = (unsigned int *)(ring->queue + ring->params.sq_off.tail);
	unsigned int *head = (unsigned int *)(ring->queue + ring->params.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(ring->queue + ring->params.cq_off.cqes);

	*ring->sqe = (struct io_uring_sqe) {
		.opcode = IORING_OP_READ_FIXED, .fd = fd, .off = from,
		.addr = (unsigned long)ring->buffer, .len = ring->bytes,
	};
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	PD_CHECK(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
		 "io_uring_enter: %s", strerror(errno));
	cqe += *head & (ring->params.cq_entries - 1);
	PD_CHECK(cqe->res > 0, "IORING_OP_READ_FIXED: %s", strerror(-cqe->res));
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Check that the file has the bytes of the image from offset @from on. */
static int has_bytes(const char *path, const struct eh_image *image, size_t from)
{
	static char bytes[EH_MAX_IMAGE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, bytes, image->size);

	close(fd);
	PD_CHECK(got == (ssize_t)image->size &&
		 !memcmp(bytes + from, image->bytes + from, image->size - from),
		 "the file was not rewritten");
	return 0;
}

/* Rewrite the file through pinned pages, while it is not open for writing. */
static int rewritten_by_device_from(size_t from)
{
	unsigned long round, rounds = pd_scale(4);
	struct ring ring = {};
	size_t bytes;
	int fd[2];
	char *at;

	unlink(A);
	PD_TRY(eh_write_image(A, &small));
	PD_TRY(eh_write_image(B, &small));
	PD_TRY(eh_write_image(DIR "/c", &large));
	fd[0] = open(B, O_RDONLY | O_CLOEXEC);
	fd[1] = open(DIR "/c", O_RDONLY | O_CLOEXEC);
	PD_CHECK(fd[0] >= 0 && fd[1] >= 0 && !truncate(A, file_span()), "open: %s",
		 strerror(errno));
	bytes = file_span() - from;
	PD_TRY(open_ring(&ring));
	PD_TRY(pin_file(&ring, A, from, bytes));
	PD_TRY(map_file(A, &at));
	for (round = 0; round < rounds; round++) {
		PD_TRY(walk_at(at));
		PD_TRY(in_child(walk_file, A));
		PD_TRY(write_pinned(&ring, fd[~round & 1], from));
		PD_TRY(has_bytes(A, round & 1 ? &small : &large, from));
		PD_TRY(walk_at(at));
		PD_TRY(in_child(walk_file, A));
	}
	munmap(at, file_span());
	close(ring.fd);
	return 0;
}

/* Pin the whole file; then pin all but the headers, so that walks can read the headers. */
static int rewritten_by_device(void)
{
	PD_TRY(prepare_on("tmpfs"));
	PD_TRY(rewritten_by_device_from(0));
	return rewritten_by_device_from(small.step & ~(getpagesize() - 1UL));
}

const struct pd_test pd_tests[] = {
	PD_TEST(shared),
	PD_TEST(shared_on_tmpfs),
	PD_TEST(not_shared_on_9p),
	PD_TEST(not_shared_while_open),
	PD_TEST(not_shared_with_limit_0),
	PD_TEST(rewritten_in_place),
	PD_TEST(rewritten_with_limit_0),
	PD_TEST(rewritten_through_mapping),
	PD_TEST(rewritten_through_old_mapping),
	PD_TEST(rewritten_on_tmpfs),
	PD_TEST(rewritten_by_owner),
	PD_TEST(rewritten_under_shared_mapping),
	PD_TEST(truncated),
	PD_TEST(opened_during_walks),
	PD_TEST(replaced_by_rename),
	PD_TEST(deleted),
	PD_TEST(inode_reused),
	PD_TEST(mounted_anew),
	PD_TEST(equal_contents),
	PD_TEST(bind_mount),
	PD_TEST(on_overlayfs),
	PD_TEST(memfd),
	PD_TEST(private_copy),
	PD_TEST(other_tables_first),
	PD_TEST(rewritten_by_device),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);

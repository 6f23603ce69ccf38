// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pd_compiler.h"
#include "pd_fuse.h"
#include "pd_proc.h"
#include "pd_test.h"

#define FILE_SIZE	(2 * sizeof(((struct pd_fuse *)NULL)->page))

static void send_reply(struct pd_fuse *fuse, __u64 unique, int error, void *data, size_t size)
{
	struct fuse_out_header header = {
		.len = sizeof(header) + size, .error = -error, .unique = unique,
	};
	struct iovec parts[] = { { &header, sizeof(header) }, { data, size } };

	/* this fails if the task that reads the file was killed: ignore that */
	if (writev(fuse->device, parts, 2) < 0)
		return;
}

/*
 * Have pages requested in the background (FUSE_ASYNC_READ).  Otherwise a reader would wait for its
 * own request, and could not be killed once the server has read the request.
 */
static void reply_init(struct pd_fuse *fuse, __u64 unique)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .flags = FUSE_ASYNC_READ,
		.max_readahead = sizeof(fuse->page), .max_write = sizeof(fuse->page),
		.max_background = 8, .congestion_threshold = 8, .time_gran = 1,
	};

	send_reply(fuse, unique, 0, &out, sizeof(out));
}

static void reply_attr(struct pd_fuse *fuse, __u64 unique)
{
	struct fuse_attr_out out = {
		.attr_valid = 3600,
		.attr = { .ino = 1, .size = FILE_SIZE, .blocks = 16, .nlink = 1,
			  .mode = S_IFREG | 0444, .blksize = sizeof(fuse->page) },
	};

	send_reply(fuse, unique, 0, &out, sizeof(out));
}

/* Without a flush request, a process can close the file after the server has gone. */
static void reply_open(struct pd_fuse *fuse, __u64 unique)
{
	struct fuse_open_out out = { .fh = 1, .open_flags = FOPEN_NOFLUSH };

	send_reply(fuse, unique, 0, &out, sizeof(out));
}

static void handle_request(struct pd_fuse *fuse, const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT:
		return reply_init(fuse, in->unique);
	case FUSE_GETATTR:
		return reply_attr(fuse, in->unique);
	case FUSE_OPEN:
		return reply_open(fuse, in->unique);
	case FUSE_READ:
		if (PD_READ(fuse->served))
			return send_reply(fuse, in->unique, 0, fuse->page, sizeof(fuse->page));
		return PD_WRITE(fuse->reader, in->unique);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_RELEASE:
		return send_reply(fuse, in->unique, 0, NULL, 0);
	default:
		return send_reply(fuse, in->unique, EOPNOTSUPP, NULL, 0);
	}
}

static void *serve_requests(void *arg)
{
	static union {
		struct fuse_in_header header;
		char bytes[2 * FUSE_MIN_READ_BUFFER];
	} in;
	struct pd_fuse *fuse = arg;

	while (read(fuse->device, &in, sizeof(in)) >= (ssize_t)sizeof(in.header))
		handle_request(fuse, &in.header);
	return NULL;
}

/* Mount on a file: the root of this file system is a file, too. */
static int mount_on(const char *path, int device)
{
	char options[80];

	snprintf(options, sizeof(options), "fd=%d,rootmode=100000,user_id=0,group_id=0", device);
	return mount("pd_fuse", path, "fuse", MS_NODEV | MS_NOSUID, options);
}

/* Make the kernel request the size of the file, and check it. */
static bool has_size(const struct pd_fuse *fuse)
{
	struct stat attr;

	return !fstat(fuse->file, &attr) && attr.st_size == FILE_SIZE;
}

static int open_disk(struct pd_fuse *fuse)
{
	struct loop_config config = {
		.fd = fuse->file, .block_size = sizeof(fuse->page),
		.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR,
	};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), nr = -1;
	char path[32];

	if (control >= 0) {
		nr = ioctl(control, LOOP_CTL_GET_FREE);
		close(control);
	}
	if (nr < 0)
		return pd_skip("no loop device here");
	snprintf(path, sizeof(path), "/dev/loop%d", nr);
	fuse->disk = open(path, O_RDONLY | O_CLOEXEC);
	PD_CHECK(fuse->disk >= 0, "%s: %s", path, strerror(errno));
	PD_CHECK(!ioctl(fuse->disk, LOOP_CONFIGURE, &config), "%s: %s", path, strerror(errno));
	return 0;
}

static struct pd_fuse *started;

/* Otherwise the process would wait for the page when it closes the disk. */
static void serve_at_exit(void)
{
	pd_fuse_serve(started);
}

int pd_fuse_start(struct pd_fuse *fuse)
{
	char path[] = "fuse.XXXXXX";
	pthread_t server;
	int ret;

	fuse->device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse->device < 0)
		return pd_skip("no FUSE here");
	PD_CHECK(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
		 "no mounts of its own: %s", strerror(errno));
	ret = mkstemp(path);
	PD_CHECK(ret >= 0, "mkstemp: %s", strerror(errno));
	close(ret);
	ret = mount_on(path, fuse->device);
	if (!ret) {
		ret = pthread_create(&server, NULL, serve_requests, fuse);
		PD_CHECK(!ret, "pthread_create: %s", strerror(ret));
		fuse->file = open(path, O_RDONLY);
		umount2(path, MNT_DETACH);
		ret = fuse->file < 0 || !has_size(fuse);
	}
	unlink(path);
	PD_CHECK(!ret, "no file of a file system of ours: %s", strerror(errno));
	started = fuse;
	atexit(serve_at_exit);
	return open_disk(fuse);
}

bool pd_fuse_wait_reader(struct pd_fuse *fuse, int seconds)
{
	long long end = pd_end_of_wait(seconds);

	while (!PD_READ(fuse->reader) && pd_now_ns() < end)
		pd_sleep_ms(5);
	return PD_READ(fuse->reader);
}

/* Answer the read in fuse->reader here: the server thread answers only later reads. */
void pd_fuse_serve(struct pd_fuse *fuse)
{
	PD_WRITE(fuse->served, true);
	if (PD_READ(fuse->reader))
		send_reply(fuse, fuse->reader, 0, fuse->page, sizeof(fuse->page));
}

int pd_fuse_cache(struct pd_fuse *fuse, off_t at)
{
	bool got;
	char byte;

	PD_WRITE(fuse->served, true);
	got = pread(fuse->file, &byte, 1, at) == 1 && pread(fuse->disk, &byte, 1, at) == 1;
	PD_WRITE(fuse->served, false);
	PD_CHECK(got, "the page cannot be read: %s", strerror(errno));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file of two equal pages. Its FUSE server returns a page only when told to. A walk does not wait
 * for pages of the file, but for those of a disk which has the file's contents.
 */
#ifndef PD_FUSE_H
#define PD_FUSE_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

struct pd_fuse {
	int file;
	int disk;		/* a loop device of the file */
	int device;
	char page[4096];	/* the contents of each page of the file */
	__u64 reader;		/* id of the read request that waits for the page, or 0 */
	bool served;
	bool go;		/* for the test's own use */
};

/*
 * Make file and disk, which stay until the process exits. A process can make only one. Return 0 or
 * a reported result.
 */
int pd_fuse_start(struct pd_fuse *fuse);
/* Wait until the kernel reads the page; false after some seconds. */
bool pd_fuse_wait_reader(struct pd_fuse *fuse, int seconds);
/* Answer the read that waits for the page, and from now on every read at once. */
void pd_fuse_serve(struct pd_fuse *fuse);
/*
 * Let the kernel read the page at an offset of the file and of the disk into the page cache, and do
 * not answer later requests until pd_fuse_serve(). Return 0 or a reported failure.
 */
int pd_fuse_cache(struct pd_fuse *fuse, off_t at);

#endif /* PD_FUSE_H */

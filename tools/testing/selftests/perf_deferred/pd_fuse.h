/* SPDX-License-Identifier: GPL-2.0 */
/* A file of one page. Its FUSE server returns the page only when told to. */
#ifndef PD_FUSE_H
#define PD_FUSE_H

#include <stdbool.h>
#include <linux/types.h>

struct pd_fuse {
	int file;		/* to be mapped */
	int device;
	char page[4096];	/* the contents of the file */
	__u64 reader;		/* id of the read request that waits for the page, or 0 */
	bool served;
	bool go;		/* for the test's own use */
};

/*
 * Make the file, which stays until the process exits. A process can make only one. Return 0 or a
 * reported result.
 */
int pd_fuse_start(struct pd_fuse *fuse);
/* Wait until the kernel reads the page; false after some seconds. */
bool pd_fuse_wait_reader(struct pd_fuse *fuse, int seconds);
/* Answer the read that waits for the page, and from now on every read at once. */
void pd_fuse_serve(struct pd_fuse *fuse);
/*
 * Let the kernel read the page into the page cache, and do not answer later requests until
 * pd_fuse_serve(). Return 0 or a reported failure.
 */
int pd_fuse_cache(struct pd_fuse *fuse);

#endif /* PD_FUSE_H */

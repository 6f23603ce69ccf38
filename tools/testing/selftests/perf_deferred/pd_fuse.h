/* SPDX-License-Identifier: GPL-2.0 */
/* A file of one page, whose server hands it out when it is told to. */
#ifndef PD_FUSE_H
#define PD_FUSE_H

#include <stdbool.h>
#include <linux/types.h>

struct pd_fuse {
	int file;		/* to be mapped */
	int device;
	char page[4096];	/* the contents of the file */
	__u64 reader;		/* who waits for it, or 0 */
	bool served;
	bool go;		/* for the test's own use */
};

/* At most one at a time, and not given back: 0, or a result told. */
int pd_fuse_start(struct pd_fuse *fuse);
/* Until the kernel wants the page; false after seconds. */
bool pd_fuse_wait_reader(struct pd_fuse *fuse, int seconds);
/* Now it gets it, and at once from here on. */
void pd_fuse_serve(struct pd_fuse *fuse);
/* Has the kernel read the page now, and let the next reader wait: 0, or a failure told. */
int pd_fuse_cache(struct pd_fuse *fuse);

#endif /* PD_FUSE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_FILE_H
#define _LINUX_UNWIND_FILE_H

struct inode;

#ifdef CONFIG_UNWIND_USER_FILES

#include <linux/bitops.h>

/* AS_UNWIND_RULES in address_space::flags: unwind rules of the file may be cached */
#define UNWIND_FILE_BIT		15

void __unwind_user_file_change(struct inode *inode);

/**
 * unwind_user_file_change - report that a file may change from now on
 * @of: the inode; i_writecount already counts the writer
 *
 * A macro, as <linux/fs.h> uses it where struct inode is not known yet.
 *
 * Context: Any but interrupts.
 */
#define unwind_user_file_change(of)						\
	do {									\
		struct inode *__inode = (of);					\
										\
		if (unlikely(test_bit(UNWIND_FILE_BIT, &__inode->i_data.flags)))	\
			__unwind_user_file_change(__inode);			\
	} while (0)

#else

static inline void unwind_user_file_change(struct inode *inode) {}

#endif

#endif /* _LINUX_UNWIND_FILE_H */

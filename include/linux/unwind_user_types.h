/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_USER_TYPES_H
#define _LINUX_UNWIND_USER_TYPES_H

#include <linux/types.h>

/**
 * struct unwind_stacktrace - a user stack trace
 * @nr: number of valid @entries
 * @entries: code addresses, innermost first; all but the first are return
 *	     addresses, except where a signal interrupted the program
 */
struct unwind_stacktrace {
	unsigned int	nr;
	unsigned long	*entries;
};

#endif /* _LINUX_UNWIND_USER_TYPES_H */

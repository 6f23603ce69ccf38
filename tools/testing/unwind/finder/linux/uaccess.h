/* SPDX-License-Identifier: GPL-2.0 */
/* User memory is read only by the test's unwind_read(). */
#ifndef _UNWIND_FINDER_LINUX_UACCESS_H
#define _UNWIND_FINDER_LINUX_UACCESS_H

#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/errno.h>

/* no memory is resident */
#define get_user(val, from)	({ (void)(from); (val) = 0; -EFAULT; })
#ifndef TASK_SIZE_MAX
#define TASK_SIZE_MAX			((1UL << 47) - 4096)
#endif
#define access_ok(from, len)		((void)(from), (void)(len), true)
#define user_read_access_begin(from, len)	access_ok(from, len)
#define user_read_access_end()		((void)0)
#define unsafe_get_user(val, from, fault) do {				\
	__auto_type at_##fault = (from);				\
	if (get_user(val, at_##fault))					\
		goto fault;						\
} while (0)
#define pagefault_disable()	((void)0)
#define pagefault_enable()	((void)0)

#endif /* _UNWIND_FINDER_LINUX_UACCESS_H */

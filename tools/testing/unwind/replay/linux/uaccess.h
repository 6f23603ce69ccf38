/* SPDX-License-Identifier: GPL-2.0 */
/* Read memory of the process whose walk is saved, or bytes of the saved walk. */
#ifndef _UNWIND_REPLAY_LINUX_UACCESS_H
#define _UNWIND_REPLAY_LINUX_UACCESS_H

#include <linux/align.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

int replay_read(unsigned long addr, void *to, size_t len);

#define get_user(val, from) ({						\
	__typeof__(*(from)) _val = 0;					\
	int _ret = replay_read((unsigned long)(from), &_val, sizeof(_val));	\
	(val) = _val;							\
	_ret;								\
})
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

#endif /* _UNWIND_REPLAY_LINUX_UACCESS_H */

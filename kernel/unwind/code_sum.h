/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A checksum of the code that a rule was found from, by which later walks see whether the code
 * has changed.
 */
#ifndef _KERNEL_UNWIND_CODE_SUM_H
#define _KERNEL_UNWIND_CODE_SUM_H

#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "unwind.h"

#define UNWIND_CODE_LAST	32

/**
 * unwind_code_sum_inside - a checksum of code that a rule was found from
 * @ip: address that the rule is for
 * @end: end of the instructions that the rule was found from, or a higher address
 * @sum: filled in
 *
 * The checksum covers the call before @ip, the bytes after that call, and the last
 * UNWIND_CODE_LAST bytes before @end, in which a function removes its frame.
 *
 * Context: Task context of a user task, with page faults off, inside a
 *	    user_read_access_begin() section.
 * Return: 0 or -EFAULT.
 */
static __always_inline int unwind_code_sum_inside(unsigned long ip, unsigned long end, u32 *sum)
{
	unsigned long around = ip - sizeof(u64), last = end - UNWIND_CODE_LAST;
	const unsigned long limit = unwind_user_limit();
	u64 res = 0, val;

	if (!access_ok((void __user *)around, 2 * sizeof(u64)) ||
	    !access_ok((void __user *)last, UNWIND_CODE_LAST))
		return -EFAULT;
	around = array_index_nospec(around, limit);
	last = array_index_nospec(last, limit);
#define unwind_sum_on(from, nr) do {					\
		unsafe_get_user(val, (u64 __user *)(from) + (nr), fault);	\
		res = (res ^ val) * GOLDEN_RATIO_64;			\
	} while (0)
	unwind_sum_on(around, 0);
	unwind_sum_on(around, 1);
	unwind_sum_on(last, 0);
	unwind_sum_on(last, 1);
	unwind_sum_on(last, 2);
	unwind_sum_on(last, 3);
#undef unwind_sum_on
	*sum = res >> 32;
	return 0;

fault:
	return -EFAULT;
}

/* As unwind_code_sum_inside(), but outside of such a section. */
static inline int unwind_code_sum(unsigned long ip, unsigned long end, u32 *sum)
{
	int ret;

	if (!user_read_access_begin((void __user *)ip, 1))
		return -EFAULT;
	ret = unwind_code_sum_inside(ip, end, sum);
	user_read_access_end();
	return ret;
}

/* Is the code that a rule was found from unchanged? For rules of code without tables. */
static inline bool unwind_code_holds(unsigned long ip, const struct unwind_user_rule *rule)
{
	u32 sum;

	return !unwind_code_sum(ip, ip + rule->code_end, &sum) && sum == rule->code_sum;
}

#endif /* _KERNEL_UNWIND_CODE_SUM_H */

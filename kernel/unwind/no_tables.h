/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the walk uses of rules of code without tables.
 */
#ifndef _KERNEL_UNWIND_NO_TABLES_H
#define _KERNEL_UNWIND_NO_TABLES_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "unwind.h"

/* A rule may be wrong if it was found behind a call that never returns. */
enum unwind_doubt {
	UNWIND_DOUBT_NONE,
	UNWIND_DOUBT_RETURN,	/* valid if it leads to a possible return address */
	UNWIND_DOUBT_CALL,	/* valid if that follows a call of the function */
};

/* the last bytes of the code of a rule that a checksum covers */
#define UNWIND_CODE_LAST	32

/**
 * unwind_code_sum_inside - a checksum of code that a rule was found from, to see whether it changes
 * @ip: address that the rule is for
 * @end: end of the instructions that the rule was found from, or a higher address
 * @sum: filled in
 *
 * The checksum covers the call before @ip, the bytes after that call, and the last
 * UNWIND_CODE_LAST bytes before @end, in which a function removes its frame.
 *
 * Context: Any, with page faults off, inside a user_read_access_begin() section.
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
	int ret = -EFAULT;

	pagefault_disable();
	if (user_read_access_begin((void __user *)ip, 1)) {
		ret = unwind_code_sum_inside(ip, end, sum);
		user_read_access_end();
	}
	pagefault_enable();
	return ret;
}

/* Is the code that a rule was found from unchanged? For rules of code without tables. */
static inline bool unwind_code_holds(unsigned long ip, const struct unwind_user_rule *rule)
{
	u32 sum;

	return !unwind_code_sum(ip, ip + rule->code_end, &sum) && sum == rule->code_sum;
}

/* Code is read only if all methods of the kernel are enabled. */
static inline bool unwind_reads_code(const struct unwind_walk *state)
{
	return state->methods == BIT(UNWIND_NR_METHODS) - 1;
}

enum unwind_result unwind_no_tables_rule(struct unwind_walk *state,
					 struct unwind_user_rule *rule,
					 struct unwind_full_rule *full);
enum unwind_result unwind_apply_code_rule(struct unwind_walk *state,
					  const struct unwind_user_rule *rule);
enum unwind_result unwind_code_step(struct unwind_walk *state,
				    const struct unwind_user_rule *rule,
				    const struct unwind_full_rule *full);
bool unwind_is_fixed(unsigned long addr);
unsigned long unwind_auxv(struct unwind_walk *state, unsigned long type);
unsigned long unwind_start_stack(void);

#endif /* _KERNEL_UNWIND_NO_TABLES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rules of code without tables use of tables: the cache of the mm, and which code has
 * tables.  In a kernel without tables, rules of code are not cached.
 */
#ifndef _KERNEL_UNWIND_CODE_TABLES_H
#define _KERNEL_UNWIND_CODE_TABLES_H

#include <linux/errno.h>

#include "unwind.h"

#ifdef CONFIG_UNWIND_USER_EH_FRAME

#include "cache.h"
#include "object.h"

static inline void code_count_search(struct unwind_user_state *state)
{
	state->found[UNWIND_FOUND_CODE]++;
}

/* Will the walk be repeated with registers that it did not know so far? */
static inline bool code_is_walked_again(const struct unwind_user_state *state)
{
	return state->again;
}

/* Does the code at an address have tables? Returns an error if that cannot be found out now. */
static inline int code_has_tables(struct unwind_user_state *state, unsigned long addr)
{
	struct unwind_object object __uninitialized;
	struct unwind_cache_state begun;
	int ret;

	if (unwind_cache_find_object(addr, &object)) {
		if (!unwind_cache_begin(&begun))
			return -ENOMEM;
		ret = unwind_eh_frame_object(state, &begun, addr, &object);
		if (ret)
			return ret;
		if (object.transient)
			return true;
	}
	return unwind_object_has_tables(&object);
}

/* Is the object of an address known, and does it have tables? */
static inline bool code_has_known_tables(unsigned long ip)
{
	struct unwind_object object __uninitialized;

	return !unwind_cache_find_object(ip, &object) && unwind_object_has_tables(&object);
}

#else /* !CONFIG_UNWIND_USER_EH_FRAME */

struct unwind_cache_state {};

static inline bool unwind_cache_begin(struct unwind_cache_state *state)
{
	return true;
}

static inline void unwind_cache_add_rule(const struct unwind_cache_state *state, u64 key,
					 const struct unwind_user_rule *rule,
					 const struct unwind_full_rule *full)
{
}

static inline int unwind_cache_find_rule(u64 key, struct unwind_user_rule *rule,
					 struct unwind_full_rule *full)
{
	return -ENOENT;
}

static inline u64 unwind_code_key(const struct unwind_user_state *state, unsigned long ip)
{
	return ip;
}

static inline u64 unwind_rule_key(const struct unwind_user_state *state)
{
	return state->ip;
}

static inline void code_count_search(struct unwind_user_state *state) {}

static inline bool code_is_walked_again(const struct unwind_user_state *state)
{
	return false;
}

/* as for code with tables, a call must precede a return address in code of a file */
static inline int code_has_tables(struct unwind_user_state *state, unsigned long addr)
{
	return unwind_is_of_file(addr);
}

static inline bool code_has_known_tables(unsigned long ip)
{
	return false;
}

#endif /* !CONFIG_UNWIND_USER_EH_FRAME */

#ifdef CONFIG_UNWIND_USER_FILES
#include "file_elf.h"
static inline int code_file_entry(unsigned long ip, unsigned long base, unsigned long *entry)
{
	return unwind_file_entry(ip, base, entry);
}
#else
static inline int code_file_entry(unsigned long ip, unsigned long base, unsigned long *entry)
{
	return -ENOENT;
}
#endif

#endif /* _KERNEL_UNWIND_CODE_TABLES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules of files that the current task maps.
 */
#ifndef _KERNEL_UNWIND_FILE_ELF_H
#define _KERNEL_UNWIND_FILE_ELF_H

#include "unwind.h"

struct unwind_object;

bool unwind_file_at_is_dead(unsigned long ip);
enum unwind_result unwind_file_end_search(struct unwind_user_state *state, enum unwind_result ret);
bool unwind_file_entry(unsigned long ip, unsigned long base, unsigned long *entry);
enum unwind_result unwind_file_find_object(struct unwind_user_state *state,
					   const struct unwind_cache_state *begun, unsigned long ip,
					   struct unwind_object *object, bool *unkept);
enum unwind_result unwind_file_rule(struct unwind_user_state *state,
				    const struct unwind_cache_state *begun, unsigned long ip,
				    struct unwind_user_rule *rule, struct unwind_full_rule *full);

#endif /* _KERNEL_UNWIND_FILE_ELF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules of files that the current task maps.
 */
#ifndef _KERNEL_UNWIND_FILE_ELF_H
#define _KERNEL_UNWIND_FILE_ELF_H

#include "unwind.h"

struct unwind_object;

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* Takes a row, of link-time addresses.  An error ends the search. */
typedef int (*unwind_file_row_t)(void *ctx, u64 start, u64 end,
				 const struct unwind_user_rule *rule);
#endif

bool unwind_file_at_is_dead(unsigned long ip);
enum unwind_result unwind_file_end_search(struct unwind_walk *state, enum unwind_result ret);
bool unwind_file_entry(unsigned long ip, unsigned long base, unsigned long *entry);
enum unwind_result unwind_file_find_object(struct unwind_walk *state, unsigned long ip,
					   struct unwind_object *object, bool *unkept);
enum unwind_result unwind_file_rule(struct unwind_walk *state, unsigned long ip,
				    struct unwind_user_rule *rule, struct unwind_full_rule *full);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
int unwind_file_decode(struct unwind_walk *state, struct unwind_file *known,
		       struct file *open, unwind_file_row_t add, void *ctx);
#endif

#endif /* _KERNEL_UNWIND_FILE_ELF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loaded objects: from a code address to the object's unwind tables.
 */
#ifndef _KERNEL_UNWIND_OBJECT_H
#define _KERNEL_UNWIND_OBJECT_H

#include "cache.h"

int unwind_object_at(struct unwind_user_state *state, unsigned long ip,
		     struct unwind_object *object);

bool unwind_file_at_is_dead(unsigned long ip);
int unwind_file_entry(unsigned long ip, unsigned long base, unsigned long *entry);
int unwind_file_object(struct unwind_user_state *state, unsigned long ip,
		       struct unwind_object *object, struct unwind_file **held);
int unwind_eh_frame_object(struct unwind_user_state *state,
			   const struct unwind_cache_state *begun, unsigned long ip,
			   struct unwind_object *object);
int unwind_file_rule(struct unwind_user_state *state,
		     const struct unwind_cache_state *begun, unsigned long ip,
		     struct unwind_user_rule *rule, struct unwind_cfi_rule *full);
void unwind_compact_rule(const struct unwind_cfi_rule *full, unsigned int word,
			 struct unwind_user_rule *rule);

#endif /* _KERNEL_UNWIND_OBJECT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loaded objects: from a code address to the object's unwind tables.
 */
#ifndef _KERNEL_UNWIND_OBJECT_H
#define _KERNEL_UNWIND_OBJECT_H

#include "cache.h"

/* Larger tables are not checked.  With this number of rows, a table has 512 KiB. */
#define UNWIND_TABLE_MAX_CHECKED	(64 * 1024U)

int unwind_object_at(struct unwind_user_state *state, unsigned long ip,
		     struct unwind_object *object);
int unwind_eh_frame_object(struct unwind_user_state *state,
			   const struct unwind_cache_state *begun, unsigned long ip,
			   struct unwind_object *object);
bool unwind_keep_object(struct unwind_user_state *state, const struct unwind_cache_state *begun,
			struct unwind_object *object);
void unwind_compact_rule(const struct unwind_full_rule *full, unsigned int word,
			 struct unwind_user_rule *rule);

#endif /* _KERNEL_UNWIND_OBJECT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loaded objects: from a code address to the object's unwind tables.
 */
#ifndef _KERNEL_UNWIND_OBJECT_H
#define _KERNEL_UNWIND_OBJECT_H

#include "cache.h"

enum unwind_result unwind_object_at(struct unwind_walk *state, unsigned long ip,
				    struct unwind_object *object);
enum unwind_result unwind_eh_frame_object(struct unwind_walk *state, unsigned long ip,
					  struct unwind_object *object);
bool unwind_keep_object(struct unwind_walk *state, struct unwind_object *object);

#endif /* _KERNEL_UNWIND_OBJECT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sorted indexes of .eh_frame, for objects without a usable table in .eh_frame_hdr.
 */
#ifndef _KERNEL_UNWIND_EH_INDEX_H
#define _KERNEL_UNWIND_EH_INDEX_H

#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "elf_tables.h"

/* the largest .eh_frame that is indexed */
#define UNWIND_EH_FRAME_MAX	SZ_16M

struct unwind_cache_state;
struct unwind_full_rule;
struct unwind_object;
struct unwind_walk;

/**
 * struct unwind_eh_row - a function that has an FDE
 * @ip: offset of the function from the start of the object
 * @fde: offset of its FDE; 0 if several FDEs cover the function
 */
struct unwind_eh_row {
	u32	ip;
	u32	fde;
};

/**
 * struct unwind_eh_index - the FDEs of an object, sorted by address
 * @rcu: frees it
 * @start: first address of the object
 * @nr: number of @rows
 * @rows: sorted by unwind_eh_row::ip
 */
struct unwind_eh_index {
	struct rcu_head		rcu;
	unsigned long		start;
	u32			nr;
	struct unwind_eh_row	rows[];
};

/**
 * struct unwind_eh_sections - unchecked values from section headers
 * @eh_frame: address of .eh_frame, as it was linked
 * @eh_frame_size: its size
 * @plt: address of .plt
 * @plt_size: its size; 0 if there is none
 */
struct unwind_eh_sections {
	u64	eh_frame;
	u64	eh_frame_size;
	u64	plt;
	u64	plt_size;
};

int unwind_eh_index_sections(struct unwind_walk *state, unsigned long ip,
			     unsigned int word, struct unwind_eh_sections *found);
enum unwind_result unwind_eh_index_build(struct unwind_walk *state, unsigned long ip,
					 const struct unwind_object *object);
int unwind_eh_stub_rule(struct unwind_walk *state, const struct unwind_object *object,
			unsigned long ip, struct unwind_full_rule *full);

/* how many failed attempts to make an index there may be */
#define UNWIND_INDEX_TRIES	8

bool unwind_cache_claim_index(const struct unwind_cache_state *state,
			      unsigned long ip);
void unwind_cache_end_index(const struct unwind_cache_state *state,
			    unsigned long ip, struct unwind_eh_index *index,
			    unsigned int tries);
int unwind_cache_find_fde(unsigned long ip, unsigned long *fde);

static inline int unwind_eh_index_row(void *ctx, u32 row, u32 step, s64 *ip)
{
	const struct unwind_eh_index *index = ctx;

	*ip = index->rows[row].ip;
	return 0;
}

/**
 * unwind_eh_index_find - the FDE of an address
 * @index: the index
 * @ip: the address
 * @fde: set to the address of the last FDE whose function begins at @ip or before
 *
 * Context: Any.
 * Return: 0; -ENOENT if there is none; -EOPNOTSUPP if several FDEs cover it.
 */
static inline int unwind_eh_index_find(struct unwind_eh_index *index, unsigned long ip,
				       unsigned long *fde)
{
	u32 nr;

	unwind_search_rows(index->nr, ip - index->start, unwind_eh_index_row, index, &nr);
	if (!nr)
		return -ENOENT;
	if (!index->rows[nr - 1].fde)
		return -EOPNOTSUPP;
	*fde = index->start + index->rows[nr - 1].fde;
	return 0;
}

#endif /* _KERNEL_UNWIND_EH_INDEX_H */

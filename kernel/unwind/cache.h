/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cache of an mm: unwind rules by address, and the objects whose tables
 * contain the rules.
 */
#ifndef _KERNEL_UNWIND_CACHE_H
#define _KERNEL_UNWIND_CACHE_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include "unwind.h"

struct unwind_eh_index;
struct unwind_file;
struct unwind_rule_table;

/**
 * struct unwind_object - a loaded object and the addresses of its unwind tables
 * @start: first address of the object
 * @end: first address after it
 * @table: address of the sorted table of FDEs; or of .eh_frame, if there is no such table
 *	   in memory; 0 if there is neither
 * @base: the values in the table are relative to this address
 * @code_start: start of the object's code that this entry covers: what lies in the mapping of
 *		the address that was looked up; with @by_file only in that address's segment
 * @code_end: end of that code
 * @stay_start: start of a range with the first entries of .eh_frame, in a mapping that is not
 *		writable and whose changes are reported
 * @stay_end: end of that range; entries elsewhere may change without notice
 * @nr: number of FDEs in @table or @index
 * @word: bytes of its addresses, 4 or 8
 * @transient: its code or tables may change without notice, so it is not cached
 * @indexing: a task is making the index of its .eh_frame
 * @index_tries: failed attempts to make the index, see unwind_cache_end_index()
 * @eh_frame_size: bytes of .eh_frame, if @table is that; else 0
 * @plt: offset of its procedure linkage table from @start, if @eh_frame_size is set
 * @plt_size: bytes of that; 0 if there is none
 * @index: the index of its .eh_frame; only for the cache, which owns it
 * @unkept: it is not in the cache, so its rules must not be cached
 * @no_index: do not make an index, as the object cannot be added to the cache
 * @by_file: its rules are those of @file; else they are only valid for this mm
 * @file: the file of its code, if changes of the file are reported; else NULL. Used only by
 *	  the cache and by a search that has just found the object
 * @bias: address in memory less address in the file
 * @rcu: for the cache
 */
struct unwind_object {
	unsigned long	start;
	unsigned long	end;
	unsigned long	table;
	unsigned long	base;
	unsigned long	code_start;
	unsigned long	code_end;
	unsigned long	stay_start;
	unsigned long	stay_end;
	u32		nr;
	u16		word;
	bool		transient;
	bool		indexing;
	bool		by_file;
	bool		unkept;
	bool		no_index;
	u8		index_tries;
	u32		eh_frame_size;
	u32		plt;
	u32		plt_size;
	struct unwind_eh_index	*index;
	struct unwind_file	*file;
	unsigned long		bias;
	struct rcu_head		rcu;
};

struct unwind_cache;
struct unwind_cfi_rule;
struct unwind_rule_table;

#ifdef CONFIG_UNWIND_USER_EH_FRAME
struct unwind_cache *unwind_cache_use(struct unwind_user_state *state,
				      const struct unwind_rule_table **table);
void unwind_cache_need_all_regs(void);
bool unwind_cache_peek_file(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule);
void unwind_cache_grow_rules(void);
void unwind_caches_stat(unsigned long *nr, unsigned long *bytes);
#else
static inline struct unwind_cache *
unwind_cache_use(struct unwind_user_state *state, const struct unwind_rule_table **table)
{
	return NULL;
}

static inline void unwind_cache_need_all_regs(void) {}

static inline bool unwind_cache_peek_file(struct unwind_cache *cache, u64 key,
					  struct unwind_user_rule *rule)
{
	return false;
}

static inline void unwind_cache_grow_rules(void) {}

static inline void unwind_caches_stat(unsigned long *nr, unsigned long *bytes)
{
	*nr = 0;
	*bytes = 0;
}
#endif

int unwind_cache_find_rule(u64 key, struct unwind_user_rule *rule,
			   struct unwind_cfi_rule *full);
int unwind_cache_find_object(unsigned long ip, struct unwind_object *object);
bool unwind_cache_file_is_dead(unsigned long ip);
struct unwind_file *unwind_cache_find_file(unsigned long ip, unsigned long *bias);
void unwind_cache_add_file_rule(const struct unwind_cache_state *state, u64 key,
				const struct unwind_user_rule *rule);
bool unwind_cache_begin(struct unwind_cache_state *state);
bool unwind_cache_knows(const struct unwind_cache_state *state);
bool unwind_cache_holds(const struct unwind_cache_state *state);
void unwind_cache_add_rule(const struct unwind_cache_state *state,
			   u64 key, const struct unwind_user_rule *rule,
			   const struct unwind_cfi_rule *full);
bool unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object);
/* how many failed attempts to make an index there may be */
#define UNWIND_INDEX_TRIES	8

bool unwind_cache_claim_index(const struct unwind_cache_state *state,
			      unsigned long ip);
void unwind_cache_end_index(const struct unwind_cache_state *state,
			    unsigned long ip, struct unwind_eh_index *index,
			    unsigned int tries);
int unwind_cache_find_fde(unsigned long ip, unsigned long *fde);

#endif /* _KERNEL_UNWIND_CACHE_H */

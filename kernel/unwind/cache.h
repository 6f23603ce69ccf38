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

#ifdef CONFIG_UNWIND_USER_EH_INDEX
struct unwind_eh_index;
#endif
#ifdef CONFIG_UNWIND_USER_FILES
struct unwind_file;
#endif
struct unwind_cache;
struct unwind_full_rule;
struct unwind_rule_table;

/**
 * struct unwind_object - a loaded object and the addresses of its unwind tables
 * @start: first address of the object
 * @end: first address after it
 * @table: address of the sorted table of FDEs; 0 if there is none
 * @base: the values in the table are relative to this address
 * @code_start: start of the object's code that this entry covers: what lies in the mapping of
 *		the address that was looked up
 * @code_end: end of that code
 * @stay_start: start of a range with the first entries of .eh_frame, in a mapping that is not
 *		writable and whose changes are reported
 * @stay_end: end of that range; entries elsewhere may change without notice
 * @nr: number of FDEs in @table
 * @word: bytes of its addresses, 4 or 8
 * @transient: its code or tables may change without notice, so it is not cached
 * @unkept: it is not in the cache, so its rules must not be cached
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
	bool		unkept;
#ifdef CONFIG_UNWIND_USER_FILES
	/**
	 * @by_file: The rules of the object are those of @file, and its code is only that in one
	 * segment; else its rules are only valid for this mm.
	 */
	bool		by_file;
#endif
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	/** @no_index: make no index now: the object is not in the cache, or there is no memory */
	bool		no_index;
	/** @indexing: a task is making the index of its .eh_frame */
	bool		indexing;
	/** @index_tries: failed attempts to make the index, see unwind_cache_end_index() */
	u8		index_tries;
	/**
	 * @eh_frame_size: bytes of .eh_frame, if @table is its address and @nr is that of @index;
	 * else 0
	 */
	u32		eh_frame_size;
	/** @plt: offset of its procedure linkage table from @start */
	u32		plt;
	/** @plt_size: bytes of that; 0 if there is none */
	u32		plt_size;
	/** @index: the index of its .eh_frame; only for the cache, which owns it */
	struct unwind_eh_index	*index;
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	/**
	 * @file: The file of its code, if changes of the file are reported; else NULL. Used only by
	 * the cache and by a search that has just found the object.
	 */
	struct unwind_file	*file;
	/** @bias: address in memory less address in the file */
	unsigned long		bias;
#endif
	struct rcu_head	rcu;
};

/* Does the object have tables?  Only such an object has rules, which are dropped with it. */
static inline bool unwind_object_has_tables(const struct unwind_object *object)
{
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (object->eh_frame_size)
		return true;
#endif
	return object->nr;
}

struct unwind_cache *unwind_cache_use(struct unwind_walk *state,
				      const struct unwind_rule_table **table);
void unwind_cache_need_all_regs(void);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
bool unwind_cache_may_learn(void);
void unwind_cache_note_learning(void);
#endif
void unwind_cache_grow_rules(unsigned int least);
void unwind_caches_stat(unsigned long *nr, unsigned long *bytes);
enum unwind_result unwind_cache_find_rule(u64 key, bool missed, struct unwind_user_rule *rule,
					  struct unwind_full_rule *full);
enum unwind_result unwind_cache_find_object(unsigned long ip, struct unwind_object *object);
bool unwind_cache_begin(struct unwind_cache_state *state);
bool unwind_cache_knows(const struct unwind_cache_state *state);
bool unwind_cache_holds(const struct unwind_cache_state *state);
void unwind_cache_add_rule(const struct unwind_cache_state *state,
			   u64 key, const struct unwind_user_rule *rule,
			   const struct unwind_full_rule *full);
bool unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object);
#ifdef CONFIG_UNWIND_USER_FILES
bool unwind_cache_peek_file(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
bool unwind_cache_look_in_file(struct unwind_cache *cache, u64 key, struct unwind_user_rule *rule);
unsigned int unwind_cache_without_rows(unsigned long *addrs, unsigned int max);
#endif
bool unwind_cache_file_is_dead(unsigned long ip);
struct unwind_file *unwind_cache_find_file(unsigned long ip, unsigned long *bias);
void unwind_cache_add_file_rule(const struct unwind_cache_state *state, u64 key,
				const struct unwind_user_rule *rule);
#endif

#endif /* _KERNEL_UNWIND_CACHE_H */

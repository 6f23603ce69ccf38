// SPDX-License-Identifier: GPL-2.0
/*
 * The .eh_frame method: if an object's unwind tables cover an address, they tell
 * how to find the caller, whatever the compiler did with the registers.
 *
 * This file finds the rule of an address: in the cache, or by the object's sorted
 * table of frame description entries (FDEs). object.c finds the object of the address, and
 * cfi.c interprets its FDE.
 *
 * Formats: Linux Standard Base Core 5.0, section 10.6 (.eh_frame, .eh_frame_hdr).
 */

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include <asm/unwind_walk.h>

#include "cache.h"
#include "cfi.h"
#ifdef CONFIG_UNWIND_USER_EH_INDEX
#include "eh_index.h"
#endif
#include "elf_tables.h"
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#include "file_elf.h"
#endif
#include "object.h"
#include "tables.h"
#include "unwind.h"

struct eh_rows {
	struct unwind_walk	*state;
	unsigned long			table;
};

static int eh_read_row(void *ctx, u32 row, u32 step, s64 *ip)
{
	struct eh_rows *rows = ctx;
	unsigned long addr = rows->table + row * sizeof(struct unwind_elf_row);
	s32 val;
	int ret;

	/* quicker than unwind_read() */
	pagefault_disable();
	ret = get_user(val, (s32 __user *)addr);
	pagefault_enable();
	if (unlikely(ret))
		ret = unwind_read(rows->state, addr, &val, sizeof(val));
	*ip = val;
	return ret;
}

/* The FDE of the last function that begins at @ip or before it. */
static int eh_find_fde(struct unwind_walk *state,
		       const struct unwind_object *object, unsigned long ip,
		       unsigned long *fde)
{
	struct eh_rows rows = { .state = state, .table = object->table };
	s64 want = ip - object->base;
	struct unwind_elf_row row;
	u32 nr;

#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (object->eh_frame_size)
		return unwind_cache_find_fde(ip, fde);
#endif
	if (want != (s32)want)
		return -ENOENT;
	if (!unwind_may_read(state, fls(object->nr) * sizeof(s32) + sizeof(row)) ||
	    unwind_search_rows(object->nr, want, eh_read_row, &rows, &nr))
		return -EFAULT;
	if (!nr)
		return -ENOENT;
	if (unwind_read(state, object->table + (nr - 1) * sizeof(row), &row, sizeof(row)))
		return -EFAULT;
	*fde = object->base + row.fde;
	return 0;
}

/**
 * struct entry_reader - reads an entry of a table
 * @state: the walk, whose budget is charged
 * @start: start of a mapping whose changes are all reported
 * @size: size of that mapping
 * @strayed: bytes outside this mapping were read
 */
struct entry_reader {
	struct unwind_walk	*state;
	unsigned long			start;
	unsigned long			size;
	bool				strayed;
};

static int eh_read_entry(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct entry_reader *reader = ctx;

	if (!unwind_may_read(reader->state, len))
		return -EFAULT;
	if (unlikely(len > reader->size ||
		     addr - reader->start > reader->size - len))
		reader->strayed = true;
	return unwind_read(reader->state, addr, to, len);
}

/**
 * struct eh_search - a search for the rule of an address
 * @state: the walk
 * @ip: the address
 * @rule: filled in
 * @full: filled in if @rule is UNWIND_RULE_FULL
 * @object: the object that has the address
 * @stays: the rule may be cached
 */
struct eh_search {
	struct unwind_walk	*state;
	unsigned long			ip;
	struct unwind_user_rule		*rule;
	struct unwind_full_rule		*full;
	struct unwind_object		object;
	bool				stays;
};

/* Find the full rule in the tables, and whether it may be cached. */
static int eh_interpret_fde(struct eh_search *search)
{
	const struct unwind_object *object = &search->object;
	struct unwind_walk *state = search->state;
	struct entry_reader reader = {
		.state = state,
		.start = object->stay_start,
		.size = object->stay_end - object->stay_start,
	};
	struct unwind_cfi *cfi = state->cfi;
	unsigned long fde;
	int ret;

	cfi->read = eh_read_entry;
	cfi->ctx = &reader;
	cfi->start = object->start;
	cfi->limit = object->end;
	cfi->data = object->base;
	cfi->word = object->word;
	ret = eh_find_fde(state, object, search->ip, &fde) ?:
	      unwind_cfi_rule(cfi, fde, search->ip, search->full);
	search->stays &= !reader.strayed;
	if (!search->stays)
		unwind_cfi_moved(cfi);
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (ret == -ENOENT && object->eh_frame_size)
		ret = unwind_eh_stub_rule(state, object, search->ip, search->full);
#endif
	return ret;
}

/* Find an object, and cache it unless it is transient or unkept. */
static enum unwind_result eh_look_up_object(struct unwind_walk *state, unsigned long ip,
					    struct unwind_object *object)
{
	enum unwind_result ret;
	bool unkept = false;

	if (!unwind_cache_find_object(ip, object))
		return UNWIND_FOUND;
#ifdef CONFIG_UNWIND_USER_FILES
	ret = unwind_file_find_object(state, ip, object, &unkept);
	if (ret != UNWIND_NONE)
		return ret;
#endif
	ret = unwind_object_at(state, ip, object);
	if (ret)
		return ret;
	/* If the object is not cached, its rules are not cached either. */
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	object->no_index = unkept;
#endif
	object->unkept = unkept || object->transient || !unwind_keep_object(state, object);
	return UNWIND_FOUND;
}

static enum unwind_result eh_find_object(struct unwind_walk *state, unsigned long ip,
					 struct unwind_object *object)
{
	enum unwind_result ret = eh_look_up_object(state, ip, object);

	/* not a return address */
	if (ret == UNWIND_NONE && !state->exact)
		return UNWIND_NOT_CODE;
	state->nowhere = ret == UNWIND_NONE;
	return ret;
}

/*
 * A signal restorer can begin right after a function, at @ip + 1.  Then the return address
 * @ip + 1 can belong to the function or to the restorer: find out which rule to use.
 */
static enum unwind_result eh_look_behind(struct eh_search *search)
{
	struct unwind_full_rule signal __uninitialized;
	enum unwind_result ret = unwind_sigframe_behind(search->state, search->ip, &signal);

	if (ret == UNWIND_NONE)
		return UNWIND_FOUND;
	search->stays = false;
	if (search->state->exact)
		return UNWIND_FOUND;
	if (ret)
		return ret;
	*search->full = signal;
	search->rule->kind = UNWIND_RULE_FULL;
	return UNWIND_FOUND;
}

/* Begin a search. If memory was unmapped since the last search, forget the CIE that it read. */
static bool eh_begin_search(struct unwind_walk *state)
{
	struct unwind_cache_state before = state->tables;

	if (!unwind_cache_begin(&state->tables))
		return false;
	if (state->tables.gen != before.gen || state->tables.unmaps != before.unmaps)
		unwind_cfi_moved(state->cfi);
	return true;
}

/**
 * unwind_eh_frame_object - find the object of an address, and cache it if that is allowed
 * @state: the walk, whose budgets are charged
 * @ip: linear user address
 * @object: filled in
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_STALE if its file has just been opened for writing; or as unwind_object_at().
 */
enum unwind_result unwind_eh_frame_object(struct unwind_walk *state, unsigned long ip,
					  struct unwind_object *object)
{
	enum unwind_result ret;

	if (!eh_begin_search(state))
		return UNWIND_FAULT;
	ret = eh_look_up_object(state, ip, object);
#ifdef CONFIG_UNWIND_USER_FILES
	ret = unwind_file_end_search(state, ret);
#endif
	return ret;
}

#ifdef CONFIG_UNWIND_USER_FILES
/*
 * Forget the last CIE if it was read from a file: its address does not belong
 * to this process's memory.
 */
static void eh_leave_file(struct unwind_walk *state)
{
	if (state->of_file)
		unwind_cfi_moved(state->cfi);
	state->of_file = 0;
}
#endif

/*
 * Check that the rule is valid, and cache it if it stays.  @is_last: the address is the last one of
 * the rule's row.
 */
static enum unwind_result eh_use_rule(struct eh_search *search, bool is_last)
{
	struct unwind_walk *state = search->state;
	const struct unwind_cache_state *begun = &state->tables;
	enum unwind_result ret;

	if (is_last && search->ip + 1 < search->object.code_end) {
		ret = eh_look_behind(search);
		if (ret)
			return ret;
	}
#ifdef CONFIG_UNWIND_USER_FILES
	/* check the file first: if the object is dropped after that, the next check fails */
	if (search->object.file && unwind_file_at_is_dead(search->ip))
		return UNWIND_STALE;
#endif
	if (!unwind_cache_holds(begun))
		return UNWIND_RETRY;
	if (search->stays)
		unwind_cache_add_rule(begun, unwind_rule_key(state), search->rule, search->full);
	return UNWIND_FOUND;
}

/*
 * Search the tables of the object in memory. Errors of reads are not cached, as
 * the read may succeed the next time. If there is no usable rule, that is
 * cached.
 */
static enum unwind_result eh_search_memory(struct eh_search *search)
{
	struct unwind_object *object = &search->object;
	struct unwind_walk *state = search->state;
	int ret;

#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (object->eh_frame_size && !object->nr && !object->no_index)
		return unwind_eh_index_build(state, search->ip, object);
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	/* if the file has changed, do not fall back to reading its code */
	if (!object->nr && object->file && unwind_file_at_is_dead(search->ip))
		return UNWIND_STALE;
#endif
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	/* there are tables, which cannot be read now: another method would probably be wrong */
	if (object->eh_frame_size && !object->nr)
		return unwind_cache_holds(&state->tables) ? UNWIND_FAULT : UNWIND_RETRY;
#endif
	if (!object->nr)
		return unwind_cache_holds(&state->tables) ? UNWIND_NONE : UNWIND_RETRY;
	if (object->word != state->word)
		return UNWIND_STOP;
	search->stays = !object->transient && !object->unkept;
	state->found[UNWIND_FOUND_TABLES]++;
	ret = eh_interpret_fde(search);
	if (ret == -EFAULT || ret == -EAGAIN)
		return ret == -EFAULT ? UNWIND_FAULT : UNWIND_RETRY;
	if (ret)
		*search->rule = (struct unwind_user_rule) {
			.kind = ret == -ENOENT ? UNWIND_RULE_NONE : UNWIND_RULE_STOP,
		};
	else
		unwind_compact_rule(search->full, object->word, search->rule);
	return eh_use_rule(search, !ret && state->cfi->row_end == search->ip + 1);
}

static enum unwind_result eh_search_tables(struct eh_search *search)
{
	struct unwind_walk *state = search->state;
	enum unwind_result ret;

	cond_resched();
	if (time_after(jiffies, state->deadline) || !eh_begin_search(state))
		return UNWIND_FAULT;
	ret = eh_find_object(state, search->ip, &search->object);
	if (ret)
		return ret;

#ifdef CONFIG_UNWIND_USER_FILES
	if (search->object.by_file && search->object.word == state->word) {
		ret = unwind_file_rule(state, search->ip, search->rule, search->full);
		if (ret == UNWIND_FOUND_LAST) {
			search->stays = true;
			return eh_use_rule(search, true);
		}
		if (ret == UNWIND_FAULT)
			search->object.unkept = true;
		else if (ret != UNWIND_NONE)
			return ret;
	}
	eh_leave_file(state);
#endif
	return eh_search_memory(search);
}

static enum unwind_result eh_find_in_tables(struct unwind_walk *state, unsigned long ip,
					    struct unwind_user_rule *rule,
					    struct unwind_full_rule *full)
{
	struct eh_search search __uninitialized;
	enum unwind_result ret;

	search.state = state;
	search.ip = ip;
	search.rule = rule;
	search.full = full;
	ret = eh_search_tables(&search);
#ifdef CONFIG_UNWIND_USER_FILES
	ret = unwind_file_end_search(state, ret);
#endif
	return ret;
}

/* Is this a rule from tables? */
static bool eh_is_by_tables(const struct unwind_user_rule *rule)
{
	switch (rule->kind) {
#ifdef CONFIG_UNWIND_USER_CODE
	case UNWIND_RULE_BEGIN:
	case UNWIND_RULE_NO_PATH:
	case UNWIND_RULE_CODE:
	case UNWIND_RULE_CODE_SIZE:
	case UNWIND_RULE_CODE_FULL:
	case UNWIND_RULE_CODE_MEM:
#endif
	case UNWIND_RULE_NONE:
		return false;
	default:
		return true;
	}
}

/**
 * unwind_eh_frame_rule - find a frame's caller by the unwind tables
 * @state: the frame
 * @rule: filled in
 * @full: filled in if @rule is UNWIND_RULE_FULL
 *
 * A return address is the address of the instruction after the call, which may belong to
 * the next row or function. So the address of the call is looked up.
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_FOUND; UNWIND_NONE if no tables cover the address; UNWIND_STOP, also if the tables
 *	   are for another kind of code; UNWIND_FAULT, UNWIND_STALE or UNWIND_NOT_CODE.
 */
enum unwind_result unwind_eh_frame_rule(struct unwind_walk *state,
					struct unwind_user_rule *rule,
					struct unwind_full_rule *full)
{
	struct unwind_object object __uninitialized;
	unsigned long ip = state->ip - state->back;
	bool by_code = false;
	enum unwind_result ret;
	int tries;

	/* kernel addresses can share a key with user addresses */
	if (!unwind_cache_find_rule(unwind_rule_key(state), state->missed, rule, full) &&
	    likely(ip < TASK_SIZE_MAX)) {
		if (eh_is_by_tables(rule))
			return UNWIND_FOUND;
		/*
		 * A rule of code without tables may be of earlier code at this address.  Such
		 * rules are dropped before an object with tables is added: if an object
		 * with tables is known, a second lookup finds none of them.
		 */
		by_code = true;
		if (!unwind_cache_find_object(ip, &object) &&
		    !unwind_cache_find_rule(unwind_rule_key(state), false, rule, full))
			return eh_is_by_tables(rule) ? UNWIND_FOUND : UNWIND_NONE;
	}

	for (tries = 0, ret = UNWIND_RETRY; ret == UNWIND_RETRY && tries < 3; tries++)
		ret = eh_find_in_tables(state, ip, rule, full);
	if (ret == UNWIND_RETRY)
		return UNWIND_STALE;
	/* if the object cannot be searched, the code's checksum decides if the rule is used */
	if (by_code && ret == UNWIND_FAULT)
		return UNWIND_NONE;
	return !ret && rule->kind == UNWIND_RULE_NONE ? UNWIND_NONE : ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Walks by cached rules.
 *
 * Most rules of a walk are cached.  As long as they are, and the stack is resident, the walk
 * takes its steps here, with page faults off.  unwind_user_next() takes all other steps.
 */

#include <linux/align.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_walk.h>

#include <asm/unwind_walk.h>

#include "cache.h"
#ifdef CONFIG_UNWIND_USER_IN_PLACE
#include "cache_parts.h"
#include "full_rule.h"
#endif
#ifdef CONFIG_UNWIND_USER_CODE
#include "no_tables.h"
#endif
#include "rules.h"
#include "step.h"
#include "tables.h"
#include "unwind.h"

#ifdef CONFIG_UNWIND_USER_CODE
/*
 * Does the rule lead to a return address behind a call? Below the stack pointer are old ones,
 * unless there is another stack: that is looked at only in a whole step.
 */
static noinline bool leads_behind_call(struct unwind_walk *state,
				       const struct unwind_user_rule *rule)
{
	unsigned long cfa, ra;
	struct return_instance *ri;

	return !unwind_find_cfa(state, rule, &cfa) && cfa > state->sp &&
	       !unwind_read_return_address(state, cfa - state->word, &ra, &ri) &&
	       unwind_is_after_call(state, ra + state->cs_base);
}

/*
 * A step of other_steps() by a rule for code without tables. Check first that the code is
 * unchanged, because the cache is not notified when such code changes.
 */
static __always_inline enum unwind_result quick_code_step(struct unwind_walk *state,
							  const struct unwind_user_rule *rule)
{
	if (!unwind_code_holds(state->ip, rule))
		return UNWIND_NONE;
	if (unlikely(rule->doubt) &&
	    (rule->doubt != UNWIND_DOUBT_RETURN || !leads_behind_call(state, rule)))
		return UNWIND_NONE;
	if (unlikely(rule->extends))
		return unwind_apply_code_rule(state, rule);
	return unwind_apply_frame(state, rule);
}
#endif

static __always_inline bool cached_rule(const struct unwind_walk *state,
					struct unwind_cache *cache,
					const struct unwind_rule_table *table, u64 key,
					struct unwind_user_rule *rule)
{
	if (unwind_rules_find(table, key, rule))
		return true;
#ifdef CONFIG_UNWIND_USER_FILES
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	if (state->in_place)
		return unwind_cache_look_in_file(cache, key, rule);
#endif
	if (unwind_cache_peek_file(cache, key, rule))
		return true;
#endif
	return false;
}

static bool quick_sp_is_low(const struct unwind_walk *state)
{
#ifdef CONFIG_UNWIND_USER_CODE
	return state->sp_is_low;
#else
	return false;
#endif
}

/* Can the walk take plain_steps()? */
static bool is_plain(const struct unwind_walk *state)
{
	return !quick_sp_is_low(state) && state->word == sizeof(unsigned long) &&
	       !state->probed && !state->all_regs && !state->cs_base && !state->ss_base;
}

/*
 * Read a word, inside a user_read_access_begin() section.  @addr may have any value.  False if
 * it is unaligned, not below @limit, or not resident.
 */
static __always_inline bool read_inside(unsigned long addr, unsigned long limit,
					unsigned long *val)
{
	if (addr >= limit || !IS_ALIGNED(addr, sizeof(*val)))
		return false;
	addr = array_index_nospec(addr, limit);
	unsafe_get_user(*val, (unsigned long __user *)addr, fault);
	return true;

fault:
	return false;
}

#ifdef CONFIG_UNWIND_USER_CODE
/* As unwind_code_holds(), for plain_steps(). */
static __always_inline bool plain_code_holds(unsigned long ip, u32 seq,
					     const struct unwind_rule_entry *entry)
{
	struct unwind_user_rule rule __uninitialized;
	u32 sum;

	return unwind_rules_read(entry, seq, &rule) && rule.kind == UNWIND_RULE_CODE &&
	       !rule.special && !unwind_code_sum_inside(ip, ip + rule.code_end, &sum) &&
	       sum == rule.code_sum;
}
#endif

/* As unwind_rule_how(), but a constant if the rule is one. */
static __always_inline u32 constant_how(const struct unwind_user_rule rule)
{
	u32 how;

	__builtin_memcpy(&how, (const u8 *)&rule + offsetof(struct unwind_user_rule, kept),
			 sizeof(how));
	return how;
}

/* The value of unwind_rule_how() for a base register and a kind. */
static __always_inline u32 how_of(u8 cfa_reg, u8 kind)
{
	return constant_how((struct unwind_user_rule) { .cfa_reg = cfa_reg, .kind = kind });
}

/* The bit of unwind_rule_how() for a saved frame pointer, or if @lost, for an unknown one. */
static __always_inline u32 how_fp(bool lost)
{
	return constant_how((struct unwind_user_rule) {
		.kept = lost ? 0 : BIT(UNWIND_SLOT_FP), .lost = lost ? BIT(UNWIND_SLOT_FP) : 0,
	});
}

/* what plain_steps() has in its variable fp */
enum plain_fp {
	PLAIN_FP_KNOWN,		/* the frame pointer */
	PLAIN_FP_IN_MEMORY,	/* the address of the word with the frame pointer */
	PLAIN_FP_LOST,		/* nothing valid: the frame pointer is unknown */
};

static enum plain_fp plain_fp_of(const struct unwind_walk *state)
{
	if (state->lost & BIT(UNWIND_SLOT_FP))
		return PLAIN_FP_LOST;
	return state->in_memory & BIT(UNWIND_SLOT_FP) ? PLAIN_FP_IN_MEMORY : PLAIN_FP_KNOWN;
}

/*
 * Take steps like unwind_apply_frame(), with the frame in local variables.  The
 * caller has checked is_plain().  A step that this function refuses is not taken, with two
 * exceptions: the new CFA may be TASK_SIZE_MAX, or the base register SP may be 0.  In both cases
 * the word below the CFA must be readable.  Of the callee-saved registers only the frame pointer is
 * followed, to save time.  If another one is needed, which is rare, repeat_walk() repeats the walk.
 *
 * Stops when @entries is @end, or before a step that must be taken elsewhere.  Stores the last
 * frame in @state, and sets @ended if the rule of that frame says that it has no caller.  Returns
 * the new @entries.  All steps are in one user_read_access_begin() section, where no function is
 * called.
 */
static noinline unsigned long *
plain_steps(struct unwind_walk *state, const struct unwind_rule_table *table,
	    unsigned long *entries, const unsigned long *end, bool *ended)
{
	/* excludes the last user address: no aligned word begins there; a valid ret - 1 is lower */
	const unsigned long limit = unwind_user_limit() - 1;
	const unsigned long *const begin = entries;
	const u32 mask = how_of(0xff, 0xff), kind_mask = how_of(0, 0xff);
	unsigned long sp = state->sp, fp = state->kept[UNWIND_SLOT_FP];
	/* the key of 64-bit code is the address */
	unsigned long key = state->ip - state->back;
	enum plain_fp where = plain_fp_of(state);
	const struct unwind_rule_entry *entry;
	unsigned long base, cfa, ret;
	u32 how, seq;
	long fp_off;
	s32 off;

	if (!user_read_access_begin((void __user *)sp, 1))
		return entries;
	while (entries != end) {
		entry = unwind_rules_set(table, unwind_rules_hash(key));
		/* pairs with the release in write_entry() */
		seq = smp_load_acquire(&entry->seq);
		if (unlikely(READ_ONCE(entry->key) != key)) {
			entry++;
			/* pairs as above */
			seq = smp_load_acquire(&entry->seq);
			if (READ_ONCE(entry->key) != key)
				break;
		}
		/* if the entry is written meanwhile, its sequence count changes */
		how = data_race(unwind_rule_how(&entry->rule));
		off = data_race(READ_ONCE(entry->rule.cfa_off));	/* the same here */
		/* and here */
		fp_off = data_race(READ_ONCE(entry->rule.kept_off[UNWIND_SLOT_FP]));
		if (!unwind_rules_holds(entry, seq))
			break;

		if ((how & mask) == how_of(UNWIND_REG_SP, UNWIND_RULE_FRAME)) {
#ifdef CONFIG_UNWIND_USER_CODE
from_sp:
#endif
			cfa = sp + off;
		} else if ((how & mask) == how_of(UNWIND_REG_FP, UNWIND_RULE_FRAME)) {
from_fp:
			base = fp;
			if (where == PLAIN_FP_IN_MEMORY && !read_inside(fp, limit, &base))
				break;
			/* a frame pointer of 0 ends the stack */
			if (where == PLAIN_FP_LOST || !base)
				break;
			cfa = base + off;
			if (unlikely((how & mask) ==
				     how_of(UNWIND_REG_FP, UNWIND_RULE_REALIGNED))) {
				if (!read_inside(cfa, limit, &cfa))
					break;
				/* fp_off is relative to the base: make it relative to the CFA */
				fp_off += base - cfa;
			}
		} else if ((how & kind_mask) == how_of(0, UNWIND_RULE_END)) {
			*ended = true;
			break;
		} else if ((how & mask) == how_of(UNWIND_REG_FP, UNWIND_RULE_REALIGNED)) {
			goto from_fp;
		} else {
#ifdef CONFIG_UNWIND_USER_CODE
			if (!plain_code_holds(entries == begin ? state->ip : key + 1, seq, entry))
				break;
			if ((how & mask) == how_of(UNWIND_REG_SP, UNWIND_RULE_CODE))
				goto from_sp;
			if ((how & mask) == how_of(UNWIND_REG_FP, UNWIND_RULE_CODE))
				goto from_fp;
#endif
			break;
		}
		if (cfa <= sp)
			break;
		if (!read_inside(cfa - sizeof(long), limit, &ret))
			break;
		/* refuse what unwind_check_return_address() refuses; 0 - 1 wraps */
		if (ret - 1 >= limit)
			break;

		sp = cfa;
		key = ret - 1;
		*entries++ = ret;
		/* the caller's frame pointer is saved, or lost, or still in the register */
		if (how & how_fp(false)) {
			fp = cfa + fp_off;
			where = PLAIN_FP_IN_MEMORY;
		} else if (unlikely(how & how_fp(true))) {
			where = PLAIN_FP_LOST;
		}
	}
	user_read_access_end();
	if (entries == begin)
		return entries;
	state->ip = key + 1;
	state->sp = sp;
	state->kept[UNWIND_SLOT_FP] = fp;
	state->in_memory = where == PLAIN_FP_IN_MEMORY ? BIT(UNWIND_SLOT_FP) : 0;
	state->lost = where == PLAIN_FP_LOST ? BIT(UNWIND_SLOT_FP) : 0;
	state->fp_only = true;
	state->exact = false;
	state->back = 1;
	state->regs = NULL;
	return entries;
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* In place: step by a full rule.  In other walks unwind_user_next() does that. */
static noinline enum unwind_result quick_full_step(struct unwind_walk *state,
						   struct unwind_cache *cache)
{
	struct unwind_full_rule full __uninitialized;
	struct unwind_user_rule rule __uninitialized;

	if (!unwind_cache_peek_full(cache, unwind_rule_key(state), &rule, &full))
		return UNWIND_NONE;
	state->missed = false;
	return unwind_apply_rule(state, &rule, &full);
}

/**
 * unwind_quick_knows - can a walk in place begin with a frame?
 * @key: unwind_rule_key() of the frame
 *
 * Context: Any, under RCU, in a user task.
 * Return: true if there is a rule that such walks use.
 */
bool unwind_quick_knows(u64 key)
{
	struct unwind_cache *cache = unwind_cache_of_current();
	struct unwind_full_rule full __uninitialized;
	struct unwind_user_rule rule __uninitialized;

	if (!cache)
		return false;
	if (unwind_rules_find(rcu_dereference(cache->rules), key, &rule))
		return rule.kind == UNWIND_RULE_END || rule.kind > UNWIND_RULE_FULL;
#ifdef CONFIG_UNWIND_USER_FILES
	if (unwind_cache_look_in_file(cache, key, &rule))
		return true;
#endif
	return unwind_cache_peek_full(cache, key, &rule, &full);
}

/* Is this the start of the program?  The walk that found the rule has proved it for this place. */
static bool is_begin(const struct unwind_walk *state, const struct unwind_user_rule *rule)
{
#ifdef CONFIG_UNWIND_USER_CODE
	return state->in_place && rule->kind == UNWIND_RULE_BEGIN &&
	       state->sp + rule->args_off == unwind_start_stack();
#else
	return false;
#endif
}
#endif

/*
 * Returns as unwind_user_next(), which repeats the step after a failure other than UNWIND_END.
 * UNWIND_NONE: there is no rule.
 */
static __always_inline enum unwind_result other_step(struct unwind_walk *state,
						     struct unwind_cache *cache,
						     const struct unwind_rule_table *table)
{
	struct unwind_user_rule rule __uninitialized;

	state->missed = !cached_rule(state, cache, table, unwind_rule_key(state), &rule);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	if (state->missed && state->in_place && !quick_sp_is_low(state))
		return quick_full_step(state, cache);
#endif
	if (state->missed)
		return UNWIND_NONE;
	if (rule.kind == UNWIND_RULE_END)
		return UNWIND_END;
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	if (is_begin(state, &rule))
		return UNWIND_END;
#endif
#ifdef CONFIG_UNWIND_USER_CODE
	/* see apply_either() */
	if (state->sp_is_low && rule.cfa_reg != UNWIND_REG_FP)
		return UNWIND_STOP;
#endif
	switch (rule.kind) {
	case UNWIND_RULE_FRAME:
		return unwind_apply_frame(state, &rule);
	case UNWIND_RULE_REALIGNED:
		return unwind_apply_realigned(state, &rule);
	case UNWIND_RULE_LANDING:
		return unwind_apply_landing(state, &rule);
#ifdef CONFIG_UNWIND_USER_CODE
	case UNWIND_RULE_CODE:
		return quick_code_step(state, &rule);
#endif
	default:
		return UNWIND_STOP;
	}
}

/* Take steps that plain_steps() cannot take.  After each one, try plain_steps() again. */
static noinline unsigned long *
other_steps(struct unwind_walk *state, struct unwind_cache *cache,
	    const struct unwind_rule_table *table, unsigned long *entries,
	    const unsigned long *end, bool *ended)
{
	enum unwind_result ret;

	while (entries != end && !*ended) {
		ret = other_step(state, cache, table);
		if (ret) {
			*ended = ret == UNWIND_END;
			break;
		}
		/* a signal frame may have any address */
		if (likely(state->ip < TASK_SIZE_MAX))
			*entries++ = state->ip;
		if (is_plain(state))
			entries = plain_steps(state, table, entries, end, ended);
	}
	return entries;
}

/**
 * unwind_quick_steps - take steps with known rules over resident memory
 * @state: the walk
 * @trace: the frames are added
 * @max: most frames to store
 *
 * Stops at the first step that needs a rule that is not cached or memory that is not resident;
 * unwind_user_next() then repeats that step.
 *
 * Context: Task context of a user task; does not sleep.  If the walk is one in place, any.
 * Return: true if the last frame has no caller.
 */
bool unwind_quick_steps(struct unwind_walk *state,
			struct unwind_stacktrace *trace, unsigned int max)
{
	const unsigned long *const end = trace->entries + max;
	unsigned long *entries = trace->entries + trace->nr;
	const struct unwind_rule_table *table = NULL;
	struct unwind_cache *cache;
	bool ended = false;
	unsigned int nr;

	rcu_read_lock();
	pagefault_disable();
	state->quick = true;
	cache = unwind_cache_use(state, &table);
	if (cache) {
		if (is_plain(state))
			entries = plain_steps(state, table, entries, end, &ended);
		if (!ended)
			entries = other_steps(state, cache, table, entries, end, &ended);
	}
	state->quick = unwind_is_in_place(state);
	pagefault_enable();
	rcu_read_unlock();

	nr = entries - trace->entries - trace->nr;
	trace->nr += nr;
	state->frames[UNWIND_METHOD_EH_FRAME] += nr + ended;
	return ended;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Walking a user stack, frame by frame.
 *
 * For each frame a method gives an unwind rule, which this file executes.  User memory is
 * not trusted.  The CFA must increase with each frame, so the walk ends.  It may
 * decrease only where the walk moves to another stack; a walk that comes to a frame
 * again in this way ends, too.  A return address that is not a user address is not stored in the
 * trace.
 */

#include <linux/errno.h>
#include <linux/align.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sizes.h>
#include <linux/unwind_user.h>
#include <linux/uaccess.h>

#include <asm/unwind_user.h>

#include "cache.h"
#include "cfi.h"
#include "file.h"
#include "rules.h"
#include "unwind.h"

/* how many page faults one walk may take, and for how long it may fault and search for rules */
#define UNWIND_MAX_FAULTS	256
#define UNWIND_MAX_TIME		HZ
/*
 * How many bytes of unwind tables one walk may read.  A step without a cached rule
 * reads some 200 bytes, and some 800 more for the headers of an object that is not cached.
 */
#define UNWIND_MAX_TABLE_BYTES	SZ_1M

/* the most bytes of its caller's frame that a frame may include, see frame_extends() */
#define UNWIND_MAX_EXTENSION	SZ_512K

/* the methods, in the order in which they are tried for each frame */
static const struct {
	enum unwind_method	method;
	int (*rule)(struct unwind_user_state *state,
		    struct unwind_user_rule *rule, struct unwind_cfi_rule *full);
} methods[] = {
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	{ UNWIND_METHOD_EH_FRAME, unwind_eh_frame_rule },
#endif
	{ UNWIND_METHOD_FP, unwind_fp_rule },
};

/*
 * Try the next method only if this one has no rule for the code.  If tables exist but
 * cannot be read, end the walk: another method would probably be wrong.
 */
static int find_rule(struct unwind_user_state *state,
		     struct unwind_user_rule *rule, struct unwind_cfi_rule *full)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!(state->methods & BIT(methods[i].method)))
			continue;
		ret = methods[i].rule(state, rule, full);
		if (ret == -ENOENT)
			continue;
		state->frames[methods[i].method] += !ret;
		return ret;
	}
	return -ENOENT;
}

/*
 * Is ip behind a system call instruction?
 *
 * In a system call, and in a frame whose system call a signal has interrupted, ip is the
 * address of the next instruction, which may belong to another function.  A restarted
 * system call has not completed: its ip is at the instruction itself.
 */
static bool after_system_call(struct unwind_user_state *state)
{
	u8 insn[UNWIND_ARCH_SYSCALL_BYTES];

	return !unwind_read_insn(state, state->ip - sizeof(insn), insn) &&
	       arch_unwind_is_syscall(insn);
}

/*
 * Has the walk been in this frame before? Only steps down are looked at, because without one the
 * CFA increases.  Brent's algorithm: compare with one earlier frame, and after each power of two of
 * steps down take the current one instead.  So a loop is found after at most three times as many
 * steps down as lead to different frames.
 */
static bool is_loop(struct unwind_user_state *state, unsigned long sp, unsigned long ip)
{
	if (state->downs && sp == state->down_sp && ip == state->down_ip)
		return true;
	if (is_power_of_2(++state->downs)) {
		state->down_sp = sp;
		state->down_ip = ip;
	}
	return false;
}

/*
 * May the CFA be at or below sp?  Only if the caller runs on another stack, such as that of the
 * code which resumed a coroutine.  Rules from tables and from code are certain of the caller, so
 * its stack may be in the same mapping, as two stacks from malloc() are, if a call precedes the
 * return address.  Otherwise the caller's stack must be in another mapping.  For signal frames see
 * check_signal_sp().
 */
static bool switch_stack(struct unwind_user_state *state, unsigned long cfa, unsigned long ip)
{
	if (state->quick)
		return false;
	/* sp may be the end of a stack, if nothing is left on it */
	if (!((state->methods & BIT(UNWIND_METHOD_EH_FRAME)) && unwind_is_after_call(state, ip)) &&
	    !unwind_other_mapping(state->sp - 1, cfa - 1))
		return false;
	return !is_loop(state, cfa, ip);
}

/*
 * A caller-saved register is known in the innermost frame. It is known in the caller's
 * frame only if the innermost function does not change it.
 */
static int read_volatile_reg(struct unwind_user_state *state, unsigned int reg,
			     unsigned long *val)
{
	struct pt_regs *regs = state->regs;

	if (!regs && (state->left_alone & BIT(arch_unwind_insn_reg(reg))))
		regs = state->start;
	if (!regs || !arch_unwind_has_reg(regs, reg))
		return -EOPNOTSUPP;
	*val = arch_unwind_reg_val(regs, reg) + state->ss_base;
	return 0;
}

/* Get the value of a register of this frame. */
static __always_inline int read_reg(struct unwind_user_state *state,
				    unsigned int reg, unsigned long *val)
{
	int slot;

	if (reg == UNWIND_REG_SP) {
		*val = state->sp;
		return 0;
	}
	slot = arch_unwind_slot(reg, state->word);
	if (slot < 0 || slot >= UNWIND_NR_KEPT)
		return read_volatile_reg(state, reg, val);
	if (unlikely(state->fp_only) && slot != UNWIND_SLOT_FP) {
		state->again = true;
		return -EOPNOTSUPP;
	}
	if (state->lost & BIT(slot))
		return -EOPNOTSUPP;
	*val = state->kept[slot];
	if (!(state->in_memory & BIT(slot)))
		return 0;
	if (unwind_read_word(state, *val, val))
		return -EFAULT;
	*val += state->ss_base;
	return 0;
}

/**
 * unwind_user_reg - a register of a frame
 * @state: the frame
 * @reg: UNWIND_REG_*, not that of the return address
 * @val: filled in
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0; -EOPNOTSUPP if the value is not known; -EFAULT if it cannot be read.
 */
int unwind_user_reg(struct unwind_user_state *state, unsigned int reg,
		    unsigned long *val)
{
	return read_reg(state, reg, val);
}

/* May the caller's frame be at @cfa, and its next instruction at @ip? */
static __always_inline int check_cfa(struct unwind_user_state *state,
				     unsigned long cfa, unsigned long ip)
{
	if (cfa >= TASK_SIZE_MAX)
		return -EINVAL;
	if (cfa <= state->sp && !switch_stack(state, cfa, ip))
		return -EINVAL;
	return 0;
}

/* The interrupted stack may be anywhere, even below the handler's stack in the same mapping. */
static int check_signal_sp(struct unwind_user_state *state, unsigned long sp, unsigned long ip)
{
	if (sp > state->sp)
		return check_cfa(state, sp, ip);
	return is_loop(state, sp, ip) ? -EINVAL : 0;
}

static __always_inline int check_return_address(unsigned long ra)
{
	if (!ra)
		return -ENODATA;
	return ra < TASK_SIZE_MAX ? 0 : -EINVAL;
}

static __always_inline int read_return_address(struct unwind_user_state *state,
					       unsigned long slot,
					       unsigned long *ra,
					       struct return_instance **ri)
{
	if (unwind_read_word(state, slot, ra))
		return -EFAULT;
	*ri = state->ri;
	if (unlikely(state->probed))
		*ra = unwind_uprobe_return(ri, slot, *ra);
	return check_return_address(*ra);
}

/*
 * Set @cfa to the CFA, and @kept to the base of rule->kept_off: the frame pointer if @realigned,
 * else the CFA.
 */
static __always_inline int find_cfa(struct unwind_user_state *state,
				    const struct unwind_user_rule *rule, bool realigned,
				    unsigned long *kept, unsigned long *cfa)
{
	int ret;

	ret = read_reg(state, rule->cfa_reg, kept);
	if (ret)
		return ret;
	*cfa = *kept + rule->cfa_off;
	if (!realigned) {
		/* programs and threads start with a frame pointer of 0 */
		if (!*kept)
			return -ENODATA;
		*kept = *cfa;
		return 0;
	}
	if (unwind_read_word(state, *cfa, cfa))
		return -EFAULT;
	*cfa += state->ss_base;
	return 0;
}

static __always_inline void note_kept(struct unwind_user_state *state,
				      const struct unwind_user_rule *rule,
				      unsigned long base)
{
	unsigned int slot;

	/* WRITE_ONCE(), because gcc would merge the two stores, with eight more instructions */
	WRITE_ONCE(state->in_memory, state->in_memory | rule->kept);
	WRITE_ONCE(state->lost, (state->lost & ~rule->kept) | rule->lost);
	/* most slots are kept: a search for set bits would take longer */
#pragma GCC unroll 8
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		if (rule->kept & BIT(slot))
			state->kept[slot] = base + rule->kept_off[slot];
}

static __always_inline int apply_rule(struct unwind_user_state *state,
				      const struct unwind_user_rule *rule,
				      bool realigned)
{
	unsigned long kept __uninitialized, cfa __uninitialized;
	struct return_instance *ri __uninitialized;
	unsigned long ra __uninitialized;
	int ret;

	ret = find_cfa(state, rule, realigned, &kept, &cfa);
	if (ret)
		return ret;
	ret = read_return_address(state, cfa - state->word, &ra, &ri);
	if (ret)
		return ret;
	ra += state->cs_base;
	ret = check_cfa(state, cfa, ra);
	if (ret)
		return ret;

	note_kept(state, rule, kept);
	state->ip = ra;
	state->sp = cfa;
	state->ri = ri;
	state->exact = false;
	state->sp_is_low = false;
	state->back = 1;
	state->regs = NULL;
	return 0;
}

/*
 * Does this frame include a part of its caller's frame? Then the word below its
 * frame pointer is the caller's stack pointer.
 */
static bool frame_extends(struct unwind_user_state *state, unsigned long cfa)
{
	unsigned long place = cfa - 3 * state->word, sp;

	return place >= state->sp && !unwind_read_word(state, place, &sp) &&
	       sp > cfa && sp - cfa <= UNWIND_MAX_EXTENSION &&
	       IS_ALIGNED(sp, state->word);
}

/* As apply_rule(), for code without tables. */
static noinline int apply_code_rule(struct unwind_user_state *state,
				    const struct unwind_user_rule *rule)
{
	unsigned long sp = state->sp, cfa;
	int ret;

	ret = apply_rule(state, rule, false);
	if (ret || !rule->extends)
		return ret;
	cfa = state->sp;
	state->sp = sp;
	state->sp_is_low = frame_extends(state, cfa);
	state->sp = cfa;
	return 0;
}

/* Does the rule lead to a return address behind a call? */
static noinline bool leads_behind_call(struct unwind_user_state *state,
				       const struct unwind_user_rule *rule)
{
	unsigned long kept, cfa, ra;
	struct return_instance *ri;
	u8 before[sizeof(u64)];
	u64 bytes;

	if (find_cfa(state, rule, false, &kept, &cfa) ||
	    read_return_address(state, cfa - state->word, &ra, &ri) ||
	    get_user(bytes, (u64 __user *)(ra + state->cs_base - sizeof(bytes))))
		return false;
	memcpy(before, &bytes, sizeof(before));
	return arch_unwind_is_call(before + sizeof(before) - UNWIND_ARCH_CALL_BYTES);
}

/*
 * A step of quick_steps() by a rule for code without tables. Check first that the code is
 * unchanged, because the cache is not notified when such code changes.
 */
static __always_inline int quick_code_step(struct unwind_user_state *state,
					   const struct unwind_user_rule *rule)
{
	if (!unwind_code_holds(state->ip, rule))
		return -EAGAIN;
	if (unlikely(rule->doubt) &&
	    (rule->doubt != UNWIND_DOUBT_RETURN || !leads_behind_call(state, rule)))
		return -EAGAIN;
	if (unlikely(rule->extends))
		return apply_code_rule(state, rule);
	return apply_rule(state, rule, false);
}

static __always_inline bool cached_rule(struct unwind_cache *cache,
					const struct unwind_rule_table *table, u64 key,
					struct unwind_user_rule *rule)
{
	return unwind_rules_find(table, key, rule) || unwind_cache_peek_file(cache, key, rule);
}

static enum unwind_rule_kind known_rule(struct unwind_user_state *state,
					struct unwind_cache *cache,
					const struct unwind_rule_table *table,
					struct unwind_user_rule *rule)
{
	if (state->methods & BIT(UNWIND_METHOD_EH_FRAME)) {
		if (!cache || !cached_rule(cache, table, unwind_rule_key(state), rule))
			return UNWIND_RULE_NONE;
		return rule->kind;
	}
	if (state->exact || !state->methods)
		return UNWIND_RULE_NONE;
	*rule = unwind_fp_set_up(state->word);
	return rule->kind;
}

/* Can the walk take plain_steps()? */
static bool is_plain(const struct unwind_user_state *state, const struct unwind_cache *cache)
{
	return cache && state->methods & BIT(UNWIND_METHOD_EH_FRAME) &&
	       state->word == sizeof(unsigned long) && !state->probed && !state->all_regs &&
	       !state->cs_base && !state->ss_base && !state->sp_is_low;
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

/* The value of unwind_user_rule::how for a base register and a kind. */
static __always_inline u32 how_of(u8 cfa_reg, u8 kind)
{
	const struct unwind_user_rule rule = { .cfa_reg = cfa_reg, .kind = kind };

	return rule.how;
}

/* The bit of unwind_user_rule::how for a saved frame pointer, or if @lost, for an unknown one. */
static __always_inline u32 how_fp(bool lost)
{
	const struct unwind_user_rule rule = {
		.kept = lost ? 0 : BIT(UNWIND_SLOT_FP), .lost = lost ? BIT(UNWIND_SLOT_FP) : 0,
	};

	return rule.how;
}

/* what plain_steps() has in its variable fp */
enum plain_fp {
	PLAIN_FP_KNOWN,		/* the frame pointer */
	PLAIN_FP_IN_MEMORY,	/* the address of the word with the frame pointer */
	PLAIN_FP_LOST,		/* nothing valid: the frame pointer is unknown */
};

static enum plain_fp plain_fp_of(const struct unwind_user_state *state)
{
	if (state->lost & BIT(UNWIND_SLOT_FP))
		return PLAIN_FP_LOST;
	return state->in_memory & BIT(UNWIND_SLOT_FP) ? PLAIN_FP_IN_MEMORY : PLAIN_FP_KNOWN;
}

/*
 * Take steps like apply_rule() and quick_code_step(), with the frame in local variables.  The
 * caller has checked is_plain().  A step that those functions refuse is not taken, with two
 * exceptions: the new CFA may be TASK_SIZE_MAX, or the base register SP may be 0.  In both cases
 * the word below the CFA must be readable.  Of the callee-saved registers only the frame pointer is
 * followed, to save time.  If another one is needed, which is rare, walk_again() repeats the walk.
 *
 * Stops when @entries is @end, or before a step that must be taken elsewhere.  Stores the last
 * frame in @state, and sets @ended if the rule of that frame says that it has no caller.  Returns
 * the new @entries.  All steps are in one user_read_access_begin() section, where no function is
 * called.
 */
static noinline unsigned long *
plain_steps(struct unwind_user_state *state, const struct unwind_rule_table *table,
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
		how = data_race(READ_ONCE(entry->rule.how));
		off = data_race(READ_ONCE(entry->rule.cfa_off));	/* the same here */
		fp_off = data_race(READ_ONCE(entry->rule.fp_off));	/* and here */
		if (!unwind_rules_holds(entry, seq))
			break;

		if ((how & mask) == how_of(UNWIND_REG_SP, UNWIND_RULE_FRAME)) {
from_sp:
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
			if (!plain_code_holds(entries == begin ? state->ip : key + 1, seq, entry))
				break;
			if ((how & mask) == how_of(UNWIND_REG_SP, UNWIND_RULE_CODE))
				goto from_sp;
			if ((how & mask) == how_of(UNWIND_REG_FP, UNWIND_RULE_CODE))
				goto from_fp;
			break;
		}
		if (cfa <= sp)
			break;
		if (!read_inside(cfa - sizeof(long), limit, &ret))
			break;
		/* refuse what check_return_address() refuses; 0 is refused because 0 - 1 wraps */
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

/* Take steps that plain_steps() cannot take.  After each one, try plain_steps() again. */
static noinline unsigned long *
other_steps(struct unwind_user_state *state, struct unwind_cache *cache,
	    const struct unwind_rule_table *table, unsigned long *entries,
	    const unsigned long *end, bool *ended)
{
	struct unwind_user_rule rule __uninitialized;
	enum unwind_rule_kind kind;
	int ret;

	while (entries != end && !*ended) {
		kind = known_rule(state, cache, table, &rule);
		*ended = kind == UNWIND_RULE_END;
		if (kind < UNWIND_RULE_FRAME)
			break;
		/* see apply_either() */
		if (state->sp_is_low && rule.cfa_reg != UNWIND_REG_FP)
			break;
		/* apply_rule() is inlined once for each kind */
		if (kind == UNWIND_RULE_FRAME)
			ret = apply_rule(state, &rule, false);
		else if (kind == UNWIND_RULE_REALIGNED)
			ret = apply_rule(state, &rule, true);
		else
			ret = quick_code_step(state, &rule);
		if (ret)
			break;
		*entries++ = state->ip;
		if (is_plain(state, cache))
			entries = plain_steps(state, table, entries, end, ended);
	}
	return entries;
}

/* Is the first rule known?  If not, as in new programs, quick_steps() takes no step. */
static bool known_or_peeked(struct unwind_user_state *state, struct unwind_cache *cache,
			    const struct unwind_rule_table *table)
{
	struct unwind_user_rule rule __uninitialized;
	u64 key = unwind_rule_key(state);

	if (!(state->methods & BIT(UNWIND_METHOD_EH_FRAME)))
		return true;
	return cache && (unwind_rules_may_have(table, key) ||
			 unwind_cache_peek_file(cache, key, &rule));
}

/*
 * Fast path: steps with a known rule over resident memory, with page faults off.  It stops
 * at the first step that needs a rule that is not cached or memory that is not resident;
 * unwind_user_next() then repeats that step.  Returns true if the last frame has no caller,
 * according to its rule.
 */
static bool quick_steps(struct unwind_user_state *state,
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
	if (known_or_peeked(state, cache, table)) {
		if (is_plain(state, cache))
			entries = plain_steps(state, table, entries, end, &ended);
		if (!ended)
			entries = other_steps(state, cache, table, entries, end, &ended);
	}
	state->quick = false;
	pagefault_enable();
	rcu_read_unlock();

	nr = entries - trace->entries - trace->nr;
	trace->nr += nr;
	state->frames[state->methods & BIT(UNWIND_METHOD_EH_FRAME) ?
		      UNWIND_METHOD_EH_FRAME : UNWIND_METHOD_FP] += nr + ended;
	return ended;
}

/* Evaluate an expression of the rule: the one at full->expr_base + @off. */
static int full_expr(struct unwind_user_state *state,
		     const struct unwind_cfi_rule *full, s32 off,
		     const unsigned long *cfa, unsigned long *val)
{
	return unwind_eh_frame_expr(state, full->expr_base + off, cfa, val);
}

static int full_cfa(struct unwind_user_state *state,
		    const struct unwind_cfi_rule *full, unsigned long *cfa)
{
	int ret;

	if (full->cfa_expr)
		return full_expr(state, full, full->cfa_off, NULL, cfa);
	ret = read_reg(state, full->cfa_reg, cfa);
	if (ret)
		return ret;
	*cfa += full->cfa_off;
	if (full->cfa_deref) {
		if (unwind_read_word(state, *cfa, cfa))
			return -EFAULT;
		*cfa += full->cfa_add + state->ss_base;
	}
	return 0;
}

/* Does full_place() return the value itself, rather than its address in memory? */
static bool is_value(u8 where)
{
	return where == UNWIND_IN_REG || where == UNWIND_IS_CFA ||
	       where == UNWIND_IS_EXPR;
}

/* Get a value of the caller's frame, or its address in memory: is_value() tells which. */
static int full_place(struct unwind_user_state *state,
		      const struct unwind_cfi_rule *full, u8 where, s32 off,
		      unsigned long cfa, unsigned long *val)
{
	int ret = 0;

	switch (where) {
	case UNWIND_AT_CFA:
	case UNWIND_IS_CFA:
		*val = cfa;
		break;
	case UNWIND_AT_SP:
		*val = state->sp;
		break;
	case UNWIND_AT_FP:
		ret = read_reg(state, UNWIND_REG_FP, val);
		break;
	case UNWIND_IN_REG:
		return read_reg(state, off, val);
	case UNWIND_AT_EXPR:
	case UNWIND_IS_EXPR:
		return full_expr(state, full, off, &cfa, val);
	default:
		return -EOPNOTSUPP;
	}
	*val += off;
	return ret;
}

/* The caller's stack pointer. */
static int full_sp(struct unwind_user_state *state,
		   const struct unwind_cfi_rule *full, unsigned long cfa,
		   unsigned long *sp)
{
	int ret;

	*sp = cfa;
	if (full->sp_where != UNWIND_SAME) {
		ret = full_place(state, full, full->sp_where, full->sp_off, cfa, sp);
		if (ret)
			return ret;
		if (!is_value(full->sp_where)) {
			if (unwind_read_word(state, *sp, sp))
				return -EFAULT;
			*sp += state->ss_base;
		}
	}
	return 0;
}

/* May the caller's stack pointer be @sp, and its next instruction be at @ip? */
static int check_full_sp(struct unwind_user_state *state, const struct unwind_cfi_rule *full,
			 unsigned long sp, unsigned long ip)
{
	if (full->signal)
		return check_signal_sp(state, sp, ip);
	/* CFA == sp in the innermost frame only: vfork() has popped its return address */
	if (full->ra_where == UNWIND_IN_REG && state->regs && sp == state->sp)
		return 0;
	return check_cfa(state, sp, ip);
}

/*
 * A signal can interrupt a program that has jumped to NULL or to a kernel address.  Reading
 * the CFA from the kernel's signal frame proves that there was a signal, so any
 * interrupted address is then accepted.
 */
static bool may_be_anywhere(const struct unwind_cfi_rule *full, int ret)
{
	return (ret == -ENODATA || ret == -EINVAL) &&
	       full->signal && full->cfa_deref;
}

static int full_return_address(struct unwind_user_state *state,
			       const struct unwind_cfi_rule *full,
			       unsigned long cfa, unsigned long *ra,
			       struct return_instance **ri)
{
	unsigned long place;
	int ret;

	ret = full_place(state, full, full->ra_where, full->ra_off, cfa, &place);
	if (ret)
		return ret;
	if (!is_value(full->ra_where)) {
		ret = read_return_address(state, place, ra, ri);
		if (unlikely(ret) && may_be_anywhere(full, ret))
			ret = 0;
		return ret;
	}

	*ra = place;
	*ri = state->ri;
	if (unlikely(state->probed))
		*ra = unwind_uprobe_return(ri, cfa - state->word, *ra);
	return check_return_address(*ra);
}

/* Find one callee-saved register of the caller: note its place or value, or that it is lost. */
static void full_kept(struct unwind_user_state *state,
		      const struct unwind_cfi_rule *full, unsigned int slot,
		      unsigned long cfa, struct unwind_frame *next)
{
	u8 where = full->kept_where[slot], bit = BIT(slot);
	unsigned long val = 0;
	int ret;

	if (where == UNWIND_SAME)
		return;
	ret = full_place(state, full, where, full->kept_off[slot], cfa, &val);
	next->kept[slot] = val;
	next->lost &= ~bit;
	next->in_memory &= ~bit;
	if (ret)
		next->lost |= bit;
	else if (!is_value(where))
		next->in_memory |= bit;
}

/* As apply_rule(), for uncommon rules, such as those of signal frames and of the PLT. */
static noinline int apply_full_rule(struct unwind_user_state *state,
				    const struct unwind_cfi_rule *full)
{
	unsigned long cfa, sp, ra;
	struct return_instance *ri;
	struct unwind_frame next;
	unsigned int slot;
	int ret;

	ret = full_cfa(state, full, &cfa) ?:
	      full_sp(state, full, cfa, &sp) ?:
	      full_return_address(state, full, cfa, &ra, &ri);
	if (ret)
		return ret;
	ra += state->cs_base;
	ret = check_full_sp(state, full, sp, ra);
	if (ret)
		return ret;

	/* after check_full_sp(), which may change state->downs */
	next = state->frame;
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		full_kept(state, full, slot, cfa, &next);
	state->frame = next;
	state->ip = ra;
	state->sp = sp;
	state->ri = ri;
	state->exact = full->signal;
	state->sp_is_low = false;
	state->back = full->signal ? after_system_call(state) : 1;
	state->insn = state->ip;
	state->regs = NULL;
	if (full->signal)
		unwind_uprobe_undo(state);
	return 0;
}

static int apply_found_rule(struct unwind_user_state *state,
			    const struct unwind_user_rule *rule,
			    const struct unwind_cfi_rule *full)
{
	switch (rule->kind) {
	case UNWIND_RULE_FRAME:
		return apply_rule(state, rule, false);
	case UNWIND_RULE_REALIGNED:
		return apply_rule(state, rule, true);
	case UNWIND_RULE_CODE:
		return apply_code_rule(state, rule);
	case UNWIND_RULE_FULL:
		return apply_full_rule(state, full);
	case UNWIND_RULE_END:
		return -ENODATA;
	default:
		return -EOPNOTSUPP;
	}
}

/* Is the frame pointer two words below the CFA, where frame-pointer code has it? */
static bool fp_fits(struct unwind_user_state *state, unsigned long cfa)
{
	unsigned long fp;

	return !read_reg(state, UNWIND_REG_FP, &fp) && fp == cfa - 2 * state->word;
}

/* Apply the rule with another stack pointer, without a change of @state. */
static int apply_from(struct unwind_user_state *state, unsigned long sp,
		      const struct unwind_user_rule *rule, const struct unwind_cfi_rule *full,
		      struct unwind_frame *next)
{
	const struct unwind_frame here = state->frame;
	int ret;

	state->sp = sp;
	state->sp_is_low = false;
	ret = apply_found_rule(state, rule, full);
	*next = state->frame;
	state->frame = here;
	return ret;
}

static bool leads_to_return_address(struct unwind_user_state *state,
				    const struct unwind_frame *next)
{
	const struct unwind_frame here = state->frame;
	bool leads;

	state->frame = *next;
	leads = unwind_may_return_to(state, next->ip, /*unsure=*/true);
	state->frame = here;
	return leads;
}

/*
 * Two stack pointers are possible: the one computed from the frame below, and the one that the
 * frame below has saved.  Apply the rule to both.  If both give the same frame, because the rule
 * uses only the frame pointer, take it.  Otherwise take the one that leads to a return address;
 * if both do, take the one that the frame pointer fits.  If that leaves both or neither, fail.
 */
static noinline int apply_either(struct unwind_user_state *state,
				 const struct unwind_user_rule *rule,
				 const struct unwind_cfi_rule *full)
{
	const unsigned long low_sp = state->sp;
	struct unwind_frame low, high;
	bool low_good, high_good;
	unsigned long high_sp;
	int ret, ret_high;

	if (unwind_read_word(state, low_sp - 3 * state->word, &high_sp))
		return -EFAULT;
	ret = apply_from(state, low_sp, rule, full, &low);
	ret_high = apply_from(state, high_sp, rule, full, &high);
	if (ret && ret_high)
		return ret;
	if (ret || ret_high || low.ip != high.ip || low.sp != high.sp) {
		low_good = !ret && leads_to_return_address(state, &low);
		high_good = !ret_high && leads_to_return_address(state, &high);
		if (low_good && high_good) {
			low_good = fp_fits(state, low.sp);
			high_good = fp_fits(state, high.sp);
		}
		if (low_good == high_good)
			return -EINVAL;
		if (high_good)
			low = high;
	}
	state->frame = low;
	return 0;
}

/* Is this frame the caller of the innermost function, which was interrupted? */
static bool called_innermost(const struct unwind_user_state *state)
{
	/* find_rule() has already counted this step */
	return state->start && !state->exact && !arch_unwind_in_syscall(state->start) &&
	       state->frames[UNWIND_METHOD_FP] + state->frames[UNWIND_METHOD_EH_FRAME] == 2;
}

/* May the rule need a caller-saved register? */
static bool rule_is_volatile(const struct unwind_user_state *state,
			     const struct unwind_user_rule *rule)
{
	return rule->kind == UNWIND_RULE_FULL ||
	       (rule->kind > UNWIND_RULE_FULL &&
		arch_unwind_slot(rule->cfa_reg, state->word) < 0);
}

/*
 * Assembly may rely on its own functions not to change a caller-saved register.
 * OpenSSL's AES-GCM keeps its CFA in rax across such calls.
 */
static noinline int apply_left_alone(struct unwind_user_state *state,
				     const struct unwind_user_rule *rule,
				     const struct unwind_cfi_rule *full)
{
	unsigned long ip = instruction_pointer(state->start) + state->cs_base;
	const struct unwind_frame here = state->frame;
	int ret;

	state->left_alone = unwind_callee_keeps(state, ip);
	ret = state->left_alone ? apply_found_rule(state, rule, full) : -EOPNOTSUPP;
	state->left_alone = 0;
	if (ret)
		state->frame = here;
	return ret;
}

/**
 * unwind_user_next - step from a frame to its caller's
 * @state: the frame; on failure it is unchanged, except for the budgets of the walk
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0; -ENODATA at the end of the stack; -ENXIO if @state->ip was taken for a return address,
 *	   but is not executable; or another error if the stack cannot be followed further.
 */
int unwind_user_next(struct unwind_user_state *state)
{
	struct unwind_user_rule rule __uninitialized;
	struct unwind_cfi_rule full __uninitialized;
	int ret;

	ret = find_rule(state, &rule, &full);
	if (ret)
		return ret;
	if (unlikely(state->sp_is_low))
		return apply_either(state, &rule, &full);
	ret = apply_found_rule(state, &rule, &full);
	if (ret == -EOPNOTSUPP && rule_is_volatile(state, &rule) &&
	    called_innermost(state))
		ret = apply_left_alone(state, &rule, &full);
	return ret;
}

/* Set each member by itself: clearing the struct first would take longer. */
static void begin_frame(struct unwind_user_state *state, struct pt_regs *regs)
{
	state->cs_base = arch_unwind_cs_base(regs);
	state->ss_base = arch_unwind_ss_base(regs);
	state->ip = instruction_pointer(regs) + state->cs_base;
	state->sp = user_stack_pointer(regs) + state->ss_base;
	arch_unwind_kept(regs, state->kept);
	state->kept[UNWIND_SLOT_FP] += state->ss_base;
	state->in_memory = 0;
	state->lost = 0;
	state->exact = true;
	state->sp_is_low = false;
	state->back = 0;
	state->left_alone = 0;
	state->probed = false;
	state->nowhere = false;
	state->regs = regs;
	state->insn = state->ip;
	state->ri = NULL;
	state->word = arch_unwind_word(regs);
	state->downs = 0;
}

/* Set the members of the state that follow @frame, again each by itself: see begin_frame(). */
static void begin_walk(struct unwind_user_state *state, struct pt_regs *regs)
{
	state->quick = false;
	state->no_faults = false;
	state->all_regs = false;
	state->fp_only = false;
	state->again = false;
	state->crowded = false;
	state->methods = unwind_methods_enabled();
	memset(state->frames, 0, sizeof(state->frames));
	state->start = regs;
	state->faults = UNWIND_MAX_FAULTS;
	state->table_bytes = UNWIND_MAX_TABLE_BYTES;
	state->deadline = jiffies + UNWIND_MAX_TIME;
	state->cfi = NULL;
	state->tables = (struct unwind_cache_state) {};
	state->changes = unwind_files_changes();
	state->of_file = 0;
	memset(state->found, 0, sizeof(state->found));
}

/**
 * unwind_user_begin - begin a walk at the innermost frame
 * @state: filled in
 * @regs: user registers of the current task
 *
 * Context: Task context of a user task; may sleep.
 */
void unwind_user_begin(struct unwind_user_state *state, struct pt_regs *regs)
{
	begin_frame(state, regs);
	begin_walk(state, regs);
	/*
	 * No page faults: in real-time tasks, if so configured; in a task that serves I/O
	 * (PR_SET_IO_FLUSHER), which may have to provide the page itself; in uprobe handlers.
	 */
	if (unwind_user_left_out(current, UNWIND_REALTIME_NO_FAULTS) ||
	    (current->flags & PF_MEMALLOC_NOIO) || unwind_in_uprobe_handler()) {
		state->no_faults = true;
		state->faults = 0;
	}
	state->back = arch_unwind_in_syscall(regs) && after_system_call(state);
	unwind_uprobe_begin(state);
}

static enum unwind_end end_of_walk(int ret)
{
	switch (ret) {
	case 0:
		return UNWIND_END_DEPTH;
	case -ENODATA:
		return UNWIND_END_COMPLETE;
	case -ENOENT:
		return UNWIND_END_NO_RULE;
	case -EOPNOTSUPP:
		return UNWIND_END_STOP;
	case -EFAULT:
		return UNWIND_END_FAULT;
	case -EINTR:
	case -ENOMEM:
	case -EAGAIN:
	case -ESTALE:
		return UNWIND_END_GAVE_UP;
	default:
		return UNWIND_END_BAD;
	}
}

static __always_inline int walk_frames(struct unwind_user_state *state,
				       struct unwind_stacktrace *trace, unsigned int max)
{
	int ret;

	do {
		/* store no frame if the program has jumped to a kernel address */
		if (likely(state->ip < TASK_SIZE_MAX)) {
			trace->entries[trace->nr++] = state->ip;
			if (quick_steps(state, trace, max))
				return -ENODATA;
		}
		if (trace->nr == max || state->again)
			return 0;
		ret = unwind_user_next(state);
	} while (!ret && !state->again);
	return ret;
}

/*
 * Repeat a walk that needs a callee-saved register which plain_steps() has not followed.  Page
 * faults and time are limited for both walks together.  The limit of table bytes starts anew,
 * because the rules of the first walk are possibly not cached.
 */
static noinline int walk_again(struct unwind_user_state *state, struct unwind_stacktrace *trace,
			       unsigned int max)
{
	const struct unwind_user_state first = *state;

	unwind_cache_need_all_regs();
	unwind_user_begin(state, first.start);
	unwind_cfi_init(first.cfi);
	state->cfi = first.cfi;
	state->faults = min(state->faults, first.faults);
	state->deadline = first.deadline;
	memcpy(state->found, first.found, sizeof(state->found));
	state->crowded = first.crowded;
	state->all_regs = true;
	trace->nr = 0;
	return walk_frames(state, trace, max);
}

/**
 * unwind_user - unwind the current task's user stack
 * @trace: filled in; @trace->entries has room for @max_entries
 * @max_entries: most frames to store
 *
 * Walks until the stack ends or cannot be followed; frames found before that are kept.
 * The user memory that is read is the task's own; missing pages are faulted in
 * within a budget of pages and time, unless the task must not wait for a page, for instance
 * because it is being killed.
 *
 * Context: Task context; may sleep.
 * Return: 0, or -EINVAL when the current task has no user stack.
 */
int unwind_user(struct unwind_stacktrace *trace, unsigned int max_entries)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct unwind_cfi cfi __uninitialized;
	struct unwind_user_state state __uninitialized;
	int ret;

	trace->nr = 0;
	if (!unwind_user_exists(current) || !arch_unwind_possible(regs))
		return -EINVAL;
	if (!max_entries)
		return 0;

	unwind_user_begin(&state, regs);
	unwind_cfi_init(&cfi);
	state.cfi = &cfi;
	ret = walk_frames(&state, trace, max_entries);
	if (unlikely(state.again))
		ret = walk_again(&state, trace, max_entries);
	if (unlikely(state.crowded))
		unwind_cache_grow_rules();

	/* drop the last entry: it is not an executable address */
	if (ret == -ENXIO)
		trace->nr--;
	unwind_count_walk(&state, end_of_walk(ret));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of code without unwind tables: code that is made at run time, assembly, and the
 * output of compilers that write no tables.
 *
 * A caller is accepted only if it is certain: code may use the frame pointer for anything,
 * and a stack that skips a caller looks right.  For instance, these are certain:
 *
 * - The entry point of a program, which has no caller.
 * - A path through the code itself (code.c).  Its rule is cached by address, like rules
 *   from tables.
 * - If the code gives no rule, as in an interpreter's loop: a frame pointer, if no word from
 *   the stack pointer up to it could be a return address, or if the function sets up a frame
 *   of just this size.
 */

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/unwind_walk.h>

#include "code.h"
#ifdef CONFIG_UNWIND_USER_EH_FRAME
#include "cache.h"
#include "object.h"
#endif
#ifdef CONFIG_UNWIND_USER_FILES
#include "file_elf.h"
#endif
#include "full_rule.h"
#include "no_tables.h"
#include "step.h"
#include "task.h"
#include "unwind.h"

/* how far above the stack pointer a frame pointer may lie, in words */
#define MAX_FRAME_WORDS	512
/* the largest distance of code from the beginning of its function, in bytes */
#define MAX_FUNCTION_BYTES	SZ_64K
/* the largest distance of startup code from the entry point, in bytes */
#define MAX_ENTRY_BYTES	256
/* the most words that startup code may have on the stack */
#define MAX_ENTRY_WORDS	32
/* bytes above the highest stack pointer of startup code to search for return addresses */
#define MAX_ENTRY_ABOVE	64
/* the most bytes of its caller's frame that a frame may include, see frame_extends() */
#define MAX_EXTENSION	SZ_512K
/* how many jumps to another function to follow; see unwind_code_goes_on() */
#define MAX_GOING_ON	2

/* Tables and their cache. In a kernel without tables, rules of code are not cached. */

#ifdef CONFIG_UNWIND_USER_EH_FRAME

static void code_count_search(struct unwind_walk *state)
{
	state->found[UNWIND_FOUND_CODE]++;
}

/* Will the walk be repeated with registers that it did not know so far? */
static bool code_is_walked_again(const struct unwind_walk *state)
{
	return state->again;
}

/* Does the code at an address have tables?  @unsure is the answer if that is not known now. */
static bool code_has_tables(struct unwind_walk *state, unsigned long addr, bool unsure)
{
	struct unwind_object object __uninitialized;

	if (unwind_cache_find_object(addr, &object)) {
		if (unwind_eh_frame_object(state, addr, &object))
			return unsure;
		if (object.transient)
			return true;
	}
#ifndef CONFIG_UNWIND_USER_EH_INDEX
	/* it is not known whether a static program has tables */
	if (unwind_is_of_file(addr))
		return true;
#endif
	return unwind_object_has_tables(&object);
}

/* Is the object of an address known, and does it have tables? */
static bool code_has_known_tables(unsigned long ip)
{
	struct unwind_object object __uninitialized;

	return !unwind_cache_find_object(ip, &object) && unwind_object_has_tables(&object);
}

#else /* !CONFIG_UNWIND_USER_EH_FRAME */

struct unwind_cache_state {};

static bool unwind_cache_begin(struct unwind_cache_state *state)
{
	return true;
}

static void unwind_cache_add_rule(const struct unwind_cache_state *state, u64 key,
				  const struct unwind_user_rule *rule,
				  const struct unwind_full_rule *full)
{
}

static enum unwind_result unwind_cache_find_rule(u64 key, bool missed,
						 struct unwind_user_rule *rule,
						 struct unwind_full_rule *full)
{
	return UNWIND_NONE;
}

static u64 unwind_rule_key(const struct unwind_walk *state)
{
	return state->ip;
}

static void code_count_search(struct unwind_walk *state) {}

static bool code_is_walked_again(const struct unwind_walk *state)
{
	return false;
}

/* as for code with tables, a call must precede a return address in code of a file */
static bool code_has_tables(struct unwind_walk *state, unsigned long addr, bool unsure)
{
	return unwind_is_of_file(addr);
}

static bool code_has_known_tables(unsigned long ip)
{
	return false;
}

#endif /* !CONFIG_UNWIND_USER_EH_FRAME */

#ifdef CONFIG_UNWIND_USER_FILES
static bool code_file_entry(unsigned long ip, unsigned long base, unsigned long *entry)
{
	return unwind_file_entry(ip, base, entry);
}
#else
static bool code_file_entry(unsigned long ip, unsigned long base, unsigned long *entry)
{
	return false;
}
#endif

static struct unwind_code code_of(struct unwind_walk *state)
{
	return (struct unwind_code) {
		.read = unwind_read_code, .ctx = state, .word = state->word,
		.returned = !state->exact,
	};
}

/* Convert the rule in @code to @rule. False if an offset does not fit. */
static bool make_rule(const struct unwind_code *code, struct unwind_user_rule *rule)
{
	*rule = (struct unwind_user_rule) {
		.kind = code->by_mem ? UNWIND_RULE_CODE_MEM :
			code->fp_at_fp ? UNWIND_RULE_CODE_FULL : UNWIND_RULE_CODE,
		.cfa_reg = code->by_fp ? UNWIND_REG_FP : UNWIND_REG_SP,
		.cfa_off = code->cfa_off,
		.fp_off = code->fp_saved ? code->fp_off : 0,
		.kept = code->fp_saved ? BIT(UNWIND_SLOT_FP) : 0,
		.lost = BIT(UNWIND_NR_KEPT) - 1,
	};
	rule->extends = code->extends;
	if (!code->fp_lost)
		rule->lost &= ~BIT(UNWIND_SLOT_FP);
	if (code->by_mem) {
		/* bx and r12 to r15 have the same numbers in rules and in instructions */
		rule->cfa_reg = code->mem_reg == unwind_code_sp ? UNWIND_REG_SP : code->mem_reg;
		rule->mem_off = code->mem_off;
		if (rule->mem_off != code->mem_off)
			return false;
	}
	return !code->fp_saved || rule->fp_off == code->fp_off;
}

static bool is_uncommon(const struct unwind_user_rule *rule)
{
	return rule->kind == UNWIND_RULE_CODE_FULL || rule->kind == UNWIND_RULE_CODE_MEM;
}

/* Make the full rule of an uncommon one. */
static void make_full(struct unwind_user_rule *rule, s32 word, struct unwind_full_rule *full)
{
	bool by_mem = rule->kind == UNWIND_RULE_CODE_MEM;
	unsigned int slot;

	*full = (struct unwind_full_rule) {
		.cfa_reg = rule->cfa_reg,
		.cfa_off = by_mem ? rule->mem_off : rule->cfa_off,
		.cfa_add = by_mem ? rule->cfa_off : 0,
		.cfa_deref = by_mem,
		.ra_where = UNWIND_AT_CFA,
		.ra_off = -word,
		.kept_off[UNWIND_SLOT_FP] = rule->fp_off,
	};
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		full->kept_where[slot] = rule->lost & BIT(slot) ? UNWIND_LOST : UNWIND_SAME;
	if (rule->kept)
		full->kept_where[UNWIND_SLOT_FP] = by_mem ? UNWIND_AT_CFA : UNWIND_AT_FP;
	rule->kind = UNWIND_RULE_FULL;
}

/* Does the word on the stack at @addr look like a return address? */
static bool is_return_address(struct unwind_walk *state, unsigned long addr)
{
	struct return_instance *ri = state->ri;
	unsigned long ra;

	if (unwind_read_word(state, addr, &ra))
		return false;
	if (unlikely(state->probed))
		ra = unwind_uprobe_return(&ri, addr, ra);
	return unwind_is_after_call(state, ra + state->cs_base);
}

/* The frame pointer of a frame, if it is known. */
static bool read_fp(struct unwind_walk *state, unsigned long *fp)
{
	return !unwind_user_reg(state, UNWIND_REG_FP, fp);
}

/*
 * Can an address be the return address of a frame? If the code there has tables, a call must
 * precede it.  Code without tables may be an interpreter's, and interpreters may push any address
 * as a return address.  @unsure is the answer if no call precedes it, and it is not known whether
 * the code has tables.
 */
static bool code_may_return_to(struct unwind_walk *state, unsigned long addr, bool unsure)
{
	if (addr < PAGE_SIZE || addr >= TASK_SIZE_MAX || !unwind_is_executable(addr))
		return false;
	return !code_has_tables(state, addr, !unsure) || unwind_is_after_call(state, addr);
}

/*
 * Could a word on the stack be a return address? Also true if the code in front of the address
 * in the word cannot be read, or if a breakpoint in that code may hide a call.
 */
static bool may_be_return_address(struct unwind_walk *state, unsigned long word)
{
	u8 before[UNWIND_ARCH_CALL_BYTES];
	unsigned long addr = word + state->cs_base;

	if (addr < PAGE_SIZE || addr >= TASK_SIZE_MAX || !unwind_is_executable(addr))
		return false;
	if (unwind_read(state, addr - sizeof(before), before, sizeof(before)))
		return true;
	return code_may_return_to(state, addr, true) || unwind_is_restorer(state, addr) ||
	       memchr(before, UNWIND_ARCH_BREAKPOINT, sizeof(before));
}

/*
 * Find the function that the call in front of @ra calls. If this function only jumps to
 * another one, find that one. @start is set to 0 if the call or the jump is indirect.
 */
static bool called_from(struct unwind_walk *state, unsigned long ra,
			unsigned long *start)
{
	struct unwind_code code = code_of(state);
	u8 insn[UNWIND_ARCH_DIRECT_BYTES];
	unsigned int i;

	if (!unwind_is_after_call(state, ra) ||
	    unwind_read(state, ra - sizeof(insn), insn, sizeof(insn)))
		return false;
	*start = arch_unwind_call_target(insn, ra);
	for (i = 0; *start && i < MAX_GOING_ON; i++) {
		if (!unwind_code_goes_on(&code, *start, start))
			break;
	}
	return true;
}

/* is there evidence for a rule? */
enum evidence {
	NONE,
	SOME,		/* not against it, but the next frame may be different */
	PROOF,		/* a direct call of the function: right for all frames at this address */
};

/*
 * Does the call in front of @ra call the frame's function? An indirect call may call any
 * function.
 */
static enum evidence is_called(struct unwind_walk *state, unsigned long ra)
{
	struct unwind_code code = code_of(state);
	unsigned long start;

	if (!called_from(state, ra, &start))
		return unwind_is_restorer(state, ra) ? SOME : NONE;
	if (!start)
		return SOME;
	return start <= state->ip && state->ip - start <= MAX_FUNCTION_BYTES &&
	       unwind_code_is_one(&code, start, state->ip) ? PROOF : NONE;
}

static bool is_on_top_of_stack(const struct unwind_user_rule *rule, s32 word)
{
	return rule->kind == UNWIND_RULE_CODE && rule->cfa_reg == UNWIND_REG_SP &&
	       rule->cfa_off == word;
}

/*
 * Does the rule lead to a possible return address? If @is_doubtful, the rule may be wrong, because
 * its path continued after a call that never returns.
 */
static enum evidence leads_to_caller(struct unwind_walk *state,
				     const struct unwind_user_rule *rule, bool is_doubtful)
{
	unsigned long base = state->sp, slot, ra;

	if (rule->kind == UNWIND_RULE_CODE_MEM) {
		if (unwind_user_reg(state, rule->cfa_reg, &base) ||
		    unwind_read_word(state, base + rule->mem_off, &base))
			return NONE;
		base += state->ss_base;
	} else if (rule->cfa_reg == UNWIND_REG_FP) {
		if (!read_fp(state, &base))
			return NONE;
	} else if (state->sp_is_low) {
		return SOME;	/* see apply_either() */
	}
	slot = base + rule->cfa_off - state->word;
	if (unwind_read_word(state, slot, &ra))
		return NONE;
	/* below the stack pointer are old return addresses, unless there is another stack */
	if (is_doubtful && slot < state->sp && !unwind_other_mapping(state->sp - 1, slot))
		return NONE;
	if (unlikely(state->probed) && is_return_address(state, slot))
		return SOME;
	ra += state->cs_base;
	/* A doubtful path may have left the function: does @ra follow a call of the function? */
	if (is_doubtful && is_on_top_of_stack(rule, state->word))
		return is_called(state, ra) == NONE ? NONE : SOME;
	if (is_doubtful && unwind_is_of_file(state->ip))
		return is_called(state, ra);
	return code_may_return_to(state, ra, false) ? SOME : NONE;
}

/*
 * Does the rule say that a function which made a call has no frame? Then the rule is doubtful:
 * by the ABI, the function must have a frame.
 */
static bool has_no_frame(const struct unwind_walk *state,
			 const struct unwind_user_rule *rule)
{
	return !state->exact && rule->kind == UNWIND_RULE_CODE &&
	       rule->cfa_reg == UNWIND_REG_SP && rule->cfa_off == (s32)state->word;
}

/* bytes of code that are read at once; an instruction has at most 15 */
#define CODE_WINDOW	64

/**
 * struct code_search - what the callbacks of code.c need during a search
 * @state: the walk
 * @begun: state of the mm when the search began
 * @at: address of @bytes
 * @nr: number of valid @bytes
 * @bytes: the code that was read last
 */
struct code_search {
	struct unwind_walk	*state;
	struct unwind_cache_state	begun;
	unsigned long			at;
	unsigned int			nr;
	u8				bytes[CODE_WINDOW];
};

/* Cache the rule of the frame, which was found from the code up to @end. */
static void keep_rule(struct unwind_walk *state, const struct unwind_cache_state *begun,
		      unsigned long end, struct unwind_user_rule *rule)
{
	const unsigned long ip = state->ip;
	s64 length;

	/* do not cache: the rule was found without a register that the repeated walk knows */
	if (code_is_walked_again(state))
		return;
	/* The last bytes to sum must not lie in an earlier page, which may not be mapped. */
	if (end > ip)
		end = max(end, (ip & PAGE_MASK) + UNWIND_CODE_LAST);
	length = end - ip;
	if (length != (s32)length || unwind_code_sum(ip, end, &rule->code_sum))
		return;
	rule->code_end = length;
	unwind_cache_add_rule(begun, unwind_rule_key(state), rule, NULL);
}

/* Read from a window, because instructions are read one by one, and mostly in order. */
static unsigned int search_read(void *ctx, unsigned long addr, u8 *to, unsigned int len)
{
	struct code_search *search = ctx;
	struct unwind_walk *state = search->state;

	if (len > CODE_WINDOW || offset_in_page(addr) > PAGE_SIZE - CODE_WINDOW)
		return unwind_read_code(state, addr, to, len);
	if (!unwind_may_read(state, sizeof(u32)))
		return 0;
	if (addr < search->at || addr - search->at > search->nr ||
	    len > search->nr - (addr - search->at)) {
		search->nr = 0;
		if (unwind_read(state, addr, search->bytes, CODE_WINDOW))
			return unwind_read(state, addr, to, len) ? 0 : len;
		search->at = addr;
		search->nr = CODE_WINDOW;
	}
	memcpy(to, search->bytes + (addr - search->at), len);
	return len;
}

static struct unwind_user_rule no_path(void)
{
	return (struct unwind_user_rule) {
		.kind = UNWIND_RULE_NO_PATH, .live = U16_MAX,
	};
}

/* Find a rule in the code and cache the result, even if no path gives a rule. */
static void search_code(struct code_search *search, struct unwind_code *code,
			struct unwind_user_rule *rule)
{
	struct unwind_walk *state = search->state;
	unsigned long ip = state->ip;
	enum evidence evidence;

	if (!unwind_code_find(code, ip)) {
		rule->live = code->live;
		rule->extends = code->fp_is_base;
		if (state->table_bytes)
			keep_rule(state, &search->begun, ip, rule);
		return;
	}
	if (!make_rule(code, rule)) {
		*rule = no_path();
		return;
	}
	code->is_doubtful |= has_no_frame(state, rule) || is_uncommon(rule);
	evidence = leads_to_caller(state, rule, code->is_doubtful);
	if (evidence == NONE) {
		*rule = no_path();
		return;
	}
	code->is_doubtful &= evidence != PROOF;
	if (code->is_doubtful && !is_uncommon(rule))
		rule->doubt = unwind_is_of_file(ip) || is_on_top_of_stack(rule, state->word) ?
			      UNWIND_DOUBT_CALL : UNWIND_DOUBT_RETURN;
	keep_rule(state, &search->begun, code->end, rule);
}

/*
 * Sets of memory for searches by tasks that cannot allocate, for instance because they are dying.
 * Other tasks leave their sets here after a search.  The first part of a set holds the addresses of
 * all parts.
 */
static void *code_reserve[8];

static void free_code_memory(void **parts)
{
	unsigned int i;

	for (i = 0; i < UNWIND_CODE_PARTS; i++)
		kfree(parts[i]);
}

static bool alloc_code_memory(void **parts)
{
	unsigned int i;

	for (i = 0; i < UNWIND_CODE_PARTS; i++) {
		parts[i] = kmalloc(unwind_code_parts[i], UNWIND_GFP);
		if (!parts[i]) {
			free_code_memory(parts);
			return false;
		}
	}
	return true;
}

/*
 * If a task cannot allocate, it uses a set of code_reserve.  If no set is left, the code is not
 * searched.
 */
static bool get_code_memory(void **parts)
{
	unsigned int i;
	void *set;

	if (unwind_task_may_allocate() && alloc_code_memory(parts))
		return true;
	for (i = 0; i < ARRAY_SIZE(code_reserve); i++) {
		set = xchg(&code_reserve[i], NULL);
		if (set) {
			memcpy(parts, set, UNWIND_CODE_PARTS * sizeof(*parts));
			return true;
		}
	}
	return false;
}

static void put_code_memory(void **parts)
{
	unsigned int i;

	memcpy(parts[0], parts, UNWIND_CODE_PARTS * sizeof(*parts));
	for (i = 0; i < ARRAY_SIZE(code_reserve); i++) {
		if (!READ_ONCE(code_reserve[i]) && !cmpxchg(&code_reserve[i], NULL, parts[0]))
			return;
	}
	free_code_memory(parts);
}

/* Return false if the code was not searched: then the code may still have a rule. */
static bool rule_by_code(struct unwind_walk *state, struct unwind_user_rule *rule)
{
	struct code_search search = { .state = state };
	struct unwind_code code = code_of(state);
	unsigned long fp;

	if (!state->sp_is_low && read_fp(state, &fp) &&
	    fp - state->sp < MAX_FRAME_WORDS * state->word)
		code.fp_above_sp = fp - state->sp;
	code.read = search_read;
	code.ctx = &search;
	*rule = no_path();
	if (time_after(jiffies, state->deadline) || !unwind_cache_begin(&search.begun))
		return false;
	code_count_search(state);
	if (!get_code_memory(code.memory))
		return false;
	search_code(&search, &code, rule);
	put_code_memory(code.memory);
	return true;
}

/* The function whose call pushed the return address above the frame pointer; 0 if not known. */
static unsigned long function_at_fp(struct unwind_walk *state, unsigned long fp)
{
	unsigned long ra, start;

	if (unwind_read_word(state, fp + state->word, &ra) ||
	    !called_from(state, ra + state->cs_base, &start))
		return 0;
	return start;
}

/* Charge reads of the stack to the budget, because the program determines their number. */
static bool may_scan(struct unwind_walk *state)
{
	return unwind_may_read(state, 8 * state->word) && !time_after(jiffies, state->deadline);
}

/* Distance of the frame pointer above the stack pointer, in bytes. */
static bool frame_size(struct unwind_walk *state, unsigned long fp, unsigned long *size)
{
	*size = fp - state->sp;
	return !state->sp_is_low && *size <= MAX_FRAME_WORDS * state->word;
}

/* May a register of @live hold a return address that the innermost code has popped? */
static bool is_in_register(struct unwind_walk *state, u16 live)
{
	unsigned long vals[UNWIND_ARCH_NR_GENERAL];
	unsigned int i;

	/* the registers of a frame that a signal has interrupted are not known */
	if (!state->regs)
		return state->exact;
	arch_unwind_general(state->regs, vals);
	for (i = 0; i < UNWIND_ARCH_NR_GENERAL; i++) {
		if ((live & BIT(i)) && may_be_return_address(state, vals[i]))
			return true;
	}
	return false;
}

/*
 * May the function have removed its frame? Then its return address is on top of the stack or in
 * a register.
 */
static bool may_have_left(struct unwind_walk *state, const struct unwind_user_rule *none)
{
	return !state->regs || is_return_address(state, state->sp) ||
	       is_in_register(state, none->live);
}

/*
 * May the innermost code use its caller's frame, as V8's handlers do? Then its return address is on
 * top of the stack or in a register.  An old one on top of the stack is in the function itself.
 */
static bool may_use_callers_frame(struct unwind_walk *state, const struct unwind_user_rule *none,
				  unsigned long prologue)
{
	struct unwind_code code = code_of(state);
	unsigned long word;

	if (is_in_register(state, none->live) || unwind_read_word(state, state->sp, &word))
		return true;
	return is_return_address(state, state->sp) &&
	       !unwind_code_is_one(&code, prologue, word + state->cs_base);
}

/* Does the prologue set the frame pointer to where it saved the caller's frame pointer? */
static bool saves_fp(struct unwind_walk *state, unsigned long prologue)
{
	u8 bytes[2 * UNWIND_CODE_SAVE_BYTES];

	return !unwind_read(state, prologue - UNWIND_CODE_SAVE_BYTES, bytes, sizeof(bytes)) &&
	       unwind_code_saves_fp(bytes, state->word);
}

/*
 * Does the return address above the frame pointer follow a direct call of this function?  Only
 * code of files is checked, as it may use the frame pointer register for any address.  If that
 * address lies in the frame, the word above it may be an old return address, of a function that
 * has returned.
 */
static bool has_caller_at_fp(struct unwind_walk *state, unsigned long fp)
{
	struct unwind_code code = code_of(state);
	unsigned long ra;
	bool saves_fp;

	if (!unwind_is_fixed(state->ip))
		return true;
	return unwind_code_prologue(&code, function_at_fp(state, fp), &saves_fp) && saves_fp &&
	       !unwind_read_word(state, fp + state->word, &ra) &&
	       is_called(state, ra + state->cs_base);
}

/*
 * Does the function set up a frame as large as the distance from the stack pointer to @fp? If so,
 * cache the size.  If the return address above the frame pointer follows a call of a function
 * with another prologue, then the frame pointer is a caller's.  Innermost code may have no frame
 * yet or any more, so there that return address must follow a call of this function.  Even then the
 * frame may be a caller's: the function may have removed its own frame, and its caller may be the
 * same function or one that tail-calls it.  So refuse if a return address may be on top of the
 * stack or in a register.  Code made at run time that goes on to use memory below the frame
 * pointer most likely has its frame, so less is enough; in files, assembly may use a caller's.
 */
static bool frame_by_code(struct unwind_walk *state, unsigned long fp,
			  const struct unwind_user_rule *none)
{
	struct unwind_code code = code_of(state);
	struct unwind_user_rule rule = unwind_fp_set_up(state->word);
	struct unwind_cache_state begun;
	unsigned long size, start, called;
	bool by_call, is_saved;

	if (!frame_size(state, fp, &size) || !unwind_cache_begin(&begun))
		return false;
	start = function_at_fp(state, fp);
	by_call = state->exact && (!none->extends || unwind_is_fixed(state->ip));
	if (by_call && (!start || may_have_left(state, none)))
		return false;
	if (!unwind_code_has_frame(&code, state->ip, size))
		return false;
	if (state->exact && !by_call && may_use_callers_frame(state, none, code.prologue))
		return false;
	called = unwind_code_prologue(&code, start, &is_saved);
	if (called ? called != code.prologue : by_call)
		return false;
	if (!leads_to_caller(state, &rule, false))
		return false;
	is_saved = saves_fp(state, code.prologue);
	if (!is_saved && ((state->exact && !by_call) || !has_caller_at_fp(state, fp)))
		return false;
	rule = (struct unwind_user_rule) {
		.kind = UNWIND_RULE_CODE_SIZE,
		.size = size,
		.after = state->ip - code.prologue,
		.start_off = called && state->ip - start < SZ_32K ? state->ip - start : 0,
		.by_call = by_call || (!is_saved && unwind_is_fixed(state->ip)),
	};
	keep_rule(state, &begun, code.prologue + UNWIND_CODE_LAST, &rule);
	return true;
}

/* Does the frame have the size of the cached rule, and is the frame pointer not a caller's? */
static bool has_kept_size(struct unwind_walk *state, const struct unwind_user_rule *rule)
{
	struct unwind_code code = code_of(state);
	unsigned long fp, size, start, called;
	bool saves_fp;

	if (!read_fp(state, &fp) || !frame_size(state, fp, &size) || size != rule->size)
		return false;
	start = function_at_fp(state, fp);
	if (rule->start_off && start == state->ip - rule->start_off)
		return true;
	called = unwind_code_prologue(&code, start, &saves_fp);
	return called ? called == state->ip - rule->after : !rule->by_call;
}

/*
 * The return address is somewhere above the stack pointer.  If no word up to the frame
 * pointer can be a return address, the word above the frame pointer is the return address.
 */
static bool fp_is_certain(struct unwind_walk *state, unsigned long fp,
			  const struct unwind_user_rule *rule)
{
	unsigned long addr = state->sp, word;

	if (fp < addr || fp - addr > MAX_FRAME_WORDS * state->word ||
	    !IS_ALIGNED(fp | addr, state->word))
		return false;
	/* the code may just have pushed a return address for code that it will jump to */
	if (state->exact && rule->extends && !is_return_address(state, addr))
		addr += state->word;
	for (; addr <= fp; addr += state->word) {
		if (!may_scan(state) || unwind_read_word(state, addr, &word) ||
		    may_be_return_address(state, word))
			return false;
	}
	if (unwind_read_word(state, addr, &word))
		return false;
	return code_may_return_to(state, word + state->cs_base, false) &&
	       !is_in_register(state, rule->live);
}

/*
 * Could this word be the return address of a call? If that is not certain, the answer is yes.  But
 * the arguments of the program, at the bottom of the stack, can have any value.  Of these, only an
 * address behind a call instruction could be a return address.
 */
static bool may_be_called_from(struct unwind_walk *state, unsigned long addr,
			       bool is_argument)
{
	unsigned long word;

	if (!may_scan(state) || unwind_read_word(state, addr, &word) ||
	    (!is_argument && may_be_return_address(state, word)))
		return true;
	if (is_argument && (word < PAGE_SIZE || !unwind_is_executable(word + state->cs_base)))
		return false;
	return is_return_address(state, addr);
}

/*
 * Can none of the registers, and none of the words from the frame's stack pointer up, be a return
 * address? Then the frame is that of the startup code. At the entry point, the stack pointer points
 * to the arguments that the kernel has pushed. @high is the startup code's highest stack pointer.
 * If the startup code has called the function of the frame, the return address is below @high.
 * If it has not, the function only looks like a part of the startup code, because the linker has
 * placed it after that. Then the code from the entry point to ip includes the function's first
 * instruction. There, the stack pointer points to the return address. This stack pointer counts in
 * @high, so the return address is not above @high. An alignment of the stack can add a few words.
 */
static bool is_at_bottom(struct unwind_walk *state, unsigned long high)
{
	unsigned long bottom = unwind_start_stack(), addr = state->sp;

	if (is_in_register(state, U16_MAX) || high - addr > MAX_ENTRY_WORDS * state->word)
		return false;
	for (; addr < high + MAX_ENTRY_ABOVE; addr += state->word) {
		if (may_be_called_from(state, addr, addr >= bottom))
			return false;
	}
	return true;
}

/*
 * A doubtful rule needs evidence in each frame.  If there is none, change the rule to
 * UNWIND_RULE_NO_PATH.  If there is proof, cache the rule without the doubt.
 */
static void check_doubt(struct unwind_walk *state, struct unwind_user_rule *rule)
{
	struct unwind_cache_state begun;

	if (!is_uncommon(rule) && !rule->doubt)
		return;
	switch (leads_to_caller(state, rule, true)) {
	case NONE:
		*rule = no_path();
		break;
	case SOME:
		break;
	case PROOF:
		/* if the code has changed since its checksum was compared, the next use sees it */
		if (is_uncommon(rule) || code_is_walked_again(state) || !unwind_cache_begin(&begun))
			break;
		rule->doubt = UNWIND_DOUBT_NONE;
		unwind_cache_add_rule(&begun, unwind_rule_key(state), rule, NULL);
		break;
	}
}

/* Is there a cached rule, and is its code unchanged? */
static bool find_kept(struct unwind_walk *state, struct unwind_user_rule *rule,
		      struct unwind_full_rule *full)
{
	if (unwind_cache_find_rule(unwind_rule_key(state), false, rule, full))
		return false;
	switch (rule->kind) {
	case UNWIND_RULE_CODE:
	case UNWIND_RULE_CODE_FULL:
	case UNWIND_RULE_CODE_MEM:
		if (!unwind_code_holds(state->ip, rule))
			return false;
		check_doubt(state, rule);
		return true;
	case UNWIND_RULE_NO_PATH:
		return unwind_code_holds(state->ip, rule);
	case UNWIND_RULE_BEGIN:
		rule->kind = UNWIND_RULE_END;
		return state->sp + rule->args_off == unwind_start_stack() &&
		       is_at_bottom(state, unwind_start_stack() + rule->args_room);
	case UNWIND_RULE_CODE_SIZE:
		if (!unwind_code_holds(state->ip, rule))
			return false;
		if (!has_kept_size(state, rule)) {
			*rule = no_path();
			return true;
		}
		*rule = unwind_fp_set_up(state->word);
		rule->kind = UNWIND_RULE_CODE;
		rule->extends = true;
		return true;
	default:
		return false;
	}
}

static bool rule_by_fp(struct unwind_walk *state, struct unwind_user_rule *rule)
{
	unsigned long fp;

	if (!read_fp(state, &fp))
		return false;
	if (!(fp_is_certain(state, fp, rule) && has_caller_at_fp(state, fp)) &&
	    !frame_by_code(state, fp, rule))
		return false;
	*rule = unwind_fp_set_up(state->word);
	rule->kind = UNWIND_RULE_CODE;
	rule->extends = true;
	return true;
}

/*
 * The entry point of the program interpreter: its base address from the auxiliary vector, plus
 * e_entry of its ELF header (System V ABI, chapter 5, "Program Interpreter").  0 if the program has
 * no interpreter, or if the frame's code is known to be of another file.
 */
static unsigned long interpreter_entry(struct unwind_walk *state)
{
	const unsigned long base = unwind_auxv(state, AT_BASE);
	unsigned long entry;

	/* e_entry has the same, aligned offset in both classes of files */
	static_assert(offsetof(struct elf64_hdr, e_entry) == offsetof(struct elf32_hdr, e_entry));
	/* prefer the file: the header in memory may not be resident, so a read could fault */
	if (base && code_file_entry(state->ip - state->back, base, &entry))
		return entry;
	if (!base || unwind_read_word(state, base + offsetof(struct elf64_hdr, e_entry), &entry))
		return 0;
	return base + entry;
}

/* The entry point that is shortly before the frame's code, or 0. */
static unsigned long entry_in_front(struct unwind_walk *state)
{
	const unsigned long at = state->ip - state->back;
	unsigned long entry = interpreter_entry(state);

	if (at - entry > MAX_ENTRY_BYTES)
		entry = unwind_auxv(state, AT_ENTRY);
	return at - entry <= MAX_ENTRY_BYTES ? entry : 0;
}

/*
 * Is this the code at the entry point, which has no caller? The startup code of C programs
 * has tables that say so, but glibc's dynamic linker has startup code without tables.  Functions
 * that the linker has placed after the startup code look like a part of it if the code in front
 * of them calls a function that does not return.  So the stack pointer must be the one that the
 * startup code would have here, and no return address may lie above it.
 */
static bool rule_at_entry(struct unwind_walk *state, struct unwind_user_rule *rule)
{
	struct unwind_code code = code_of(state);
	struct unwind_cache_state begun;
	unsigned long entry, sp = unwind_start_stack(), high = sp;

	if (!unwind_cache_begin(&begun))
		return false;
	entry = entry_in_front(state);
	if (!entry || !unwind_code_is_straight(&code, entry, state->ip, &sp, &high) ||
	    sp != state->sp || !is_at_bottom(state, high))
		return false;
	*rule = (struct unwind_user_rule) {
		.kind = UNWIND_RULE_BEGIN,
		.args_off = unwind_start_stack() - sp,
		.args_room = high - unwind_start_stack(),
	};
	/*
	 * Cache the rule only if the code is of a file, and its object is known and has tables:
	 * else the rule would outlive the object's mapping.
	 */
	if (code_has_known_tables(state->ip) && unwind_is_of_file(state->ip))
		unwind_cache_add_rule(&begun, unwind_rule_key(state), rule, NULL);
	rule->kind = UNWIND_RULE_END;
	return true;
}

/**
 * unwind_no_tables_rule - find the caller of a frame of code without tables
 * @state: the frame
 * @rule: filled in
 * @full: filled in if @rule is UNWIND_RULE_FULL
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_FOUND; UNWIND_NONE if no caller is certain; or UNWIND_FAULT if the code could not
 *	   be searched.
 */
enum unwind_result unwind_no_tables_rule(struct unwind_walk *state,
					 struct unwind_user_rule *rule,
					 struct unwind_full_rule *full)
{
	cond_resched();
	if (!find_kept(state, rule, full) && !rule_at_entry(state, rule) &&
	    !rule_by_code(state, rule))
		return UNWIND_FAULT;
	if (is_uncommon(rule))
		make_full(rule, state->word, full);
	if (rule->kind != UNWIND_RULE_NO_PATH)
		return UNWIND_FOUND;
	return rule_by_fp(state, rule) ? UNWIND_FOUND : UNWIND_NONE;
}

/*
 * Which registers, by their numbers in instructions, has the called function not changed up to @ip?
 * That is known only if the call is direct and the code of the function can be read.
 */
static u16 callee_keeps(struct unwind_walk *state, unsigned long ip)
{
	struct unwind_code code = code_of(state);
	u8 insn[UNWIND_ARCH_DIRECT_BYTES];
	unsigned long start;

	if (unwind_read(state, state->ip - sizeof(insn), insn, sizeof(insn)))
		return 0;
	start = arch_unwind_call_target(insn, state->ip);
	if (!start || start > ip)
		return 0;
	return unwind_code_keeps(&code, start, ip);
}

/*
 * Does this frame include a part of its caller's frame? Then the word below its
 * frame pointer is the caller's stack pointer.
 */
static bool frame_extends(struct unwind_walk *state, unsigned long cfa)
{
	unsigned long place = cfa - 3 * state->word, sp;

	return place >= state->sp && !unwind_read_word(state, place, &sp) &&
	       sp > cfa && sp - cfa <= MAX_EXTENSION &&
	       IS_ALIGNED(sp, state->word);
}

/**
 * unwind_apply_code_rule - step by a rule of the kind UNWIND_RULE_CODE
 * @state: the frame
 * @rule: the rule
 *
 * Context: Task context of a user task; may sleep.  If the walk is quick, any.
 * Return: as unwind_user_next().
 */
enum unwind_result unwind_apply_code_rule(struct unwind_walk *state,
					  const struct unwind_user_rule *rule)
{
	unsigned long sp = state->sp, cfa;
	enum unwind_result ret;

	ret = unwind_apply_frame(state, rule);
	if (ret || !rule->extends)
		return ret;
	cfa = state->sp;
	state->sp = sp;
	state->sp_is_low = frame_extends(state, cfa);
	state->sp = cfa;
	return UNWIND_FOUND;
}

static enum unwind_result apply_any_rule(struct unwind_walk *state,
					 const struct unwind_user_rule *rule,
					 const struct unwind_full_rule *full)
{
	return rule->kind == UNWIND_RULE_CODE ? unwind_apply_code_rule(state, rule) :
						unwind_apply_rule(state, rule, full);
}

/* Is the frame pointer two words below the CFA, where frame-pointer code has it? */
static bool fp_fits(struct unwind_walk *state, unsigned long cfa)
{
	unsigned long fp;

	return read_fp(state, &fp) && fp == cfa - 2 * state->word;
}

/* Apply the rule with another stack pointer, without a change of @state. */
static enum unwind_result apply_from(struct unwind_walk *state, unsigned long sp,
				     const struct unwind_user_rule *rule,
				     const struct unwind_full_rule *full, struct unwind_frame *next)
{
	const struct unwind_frame here = state->frame;
	enum unwind_result ret;

	state->sp = sp;
	state->sp_is_low = false;
	ret = apply_any_rule(state, rule, full);
	*next = state->frame;
	state->frame = here;
	return ret;
}

static bool leads_to_return_address(struct unwind_walk *state,
				    const struct unwind_frame *next)
{
	const struct unwind_frame here = state->frame;
	bool leads;

	state->frame = *next;
	leads = code_may_return_to(state, next->ip, /*unsure=*/true);
	state->frame = here;
	return leads;
}

/*
 * Two stack pointers are possible: the one computed from the frame below, and the one that the
 * frame below has saved.  Apply the rule to both.  If both give the same frame, because the rule
 * uses only the frame pointer, take it.  Otherwise take the one that leads to a return address;
 * if both do, take the one that the frame pointer fits.  If that leaves both or neither, fail.
 */
static noinline enum unwind_result apply_either(struct unwind_walk *state,
						const struct unwind_user_rule *rule,
						const struct unwind_full_rule *full)
{
	const unsigned long low_sp = state->sp;
	enum unwind_result ret, ret_high;
	struct unwind_frame low, high;
	bool low_good, high_good;
	unsigned long high_sp;

	if (unwind_read_word(state, low_sp - 3 * state->word, &high_sp))
		return UNWIND_FAULT;
	ret = apply_from(state, low_sp, rule, full, &low);
	ret_high = apply_from(state, high_sp, rule, full, &high);
	if (ret && ret_high)
		return ret;
	/* what is not in memory may be the caller's frame */
	if ((ret == UNWIND_FAULT || ret_high == UNWIND_FAULT) &&
	    (state->no_faults || !state->faults))
		return UNWIND_FAULT;
	if (ret || ret_high || low.ip != high.ip || low.sp != high.sp) {
		low_good = !ret && leads_to_return_address(state, &low);
		high_good = !ret_high && leads_to_return_address(state, &high);
		if (low_good && high_good) {
			low_good = fp_fits(state, low.sp);
			high_good = fp_fits(state, high.sp);
		}
		if (low_good == high_good)
			return UNWIND_BAD;
		if (high_good)
			low = high;
	}
	state->frame = low;
	return UNWIND_FOUND;
}

static unsigned int steps_taken(const struct unwind_walk *state)
{
	unsigned int i, nr = 0;

	for (i = 0; i < UNWIND_NR_METHODS; i++)
		nr += state->frames[i];
	return nr;
}

/* Is this frame the caller of the innermost function, which was interrupted? */
static bool called_innermost(const struct unwind_walk *state)
{
	/* find_rule() has already counted this step */
	return state->start && !state->exact && !arch_unwind_in_syscall(state->start) &&
	       steps_taken(state) == 2;
}

/* May the rule need a caller-saved register? */
static bool rule_is_volatile(const struct unwind_walk *state,
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
static noinline enum unwind_result apply_left_alone(struct unwind_walk *state,
						    const struct unwind_user_rule *rule,
						    const struct unwind_full_rule *full)
{
	unsigned long ip = instruction_pointer(state->start) + state->cs_base;
	const struct unwind_frame here = state->frame;
	enum unwind_result ret;

	state->left_alone = callee_keeps(state, ip);
	ret = state->left_alone ? apply_any_rule(state, rule, full) : UNWIND_STOP;
	state->left_alone = 0;
	if (ret)
		state->frame = here;
	return ret;
}

/**
 * unwind_code_step - as unwind_apply_rule(), but knows frames of code without tables
 * @state: the frame; on failure as for unwind_user_next()
 * @rule: the rule
 * @full: the rule, if @rule is of the kind UNWIND_RULE_FULL
 *
 * Context: Task context of a user task; may sleep.
 * Return: as unwind_user_next().
 */
enum unwind_result unwind_code_step(struct unwind_walk *state,
				    const struct unwind_user_rule *rule,
				    const struct unwind_full_rule *full)
{
	enum unwind_result ret;

	if (unlikely(state->sp_is_low))
		return apply_either(state, rule, full);
	ret = apply_any_rule(state, rule, full);
	if (ret == UNWIND_STOP && rule_is_volatile(state, rule) && called_innermost(state))
		ret = apply_left_alone(state, rule, full);
	return ret;
}

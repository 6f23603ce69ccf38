/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the user unwinder: the state of a walk, the rules that methods
 * find, and reads of user memory.
 */
#ifndef _KERNEL_UNWIND_UNWIND_H
#define _KERNEL_UNWIND_UNWIND_H

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/unwind_regs.h>

struct pt_regs;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
struct unwind_cfi;
#endif
struct file;
struct return_instance;
#ifdef CONFIG_UNWIND_USER_FILES
struct unwind_file;
#endif
struct vm_area_struct;

/* methods of a walk; the bits of kernel.unwind_user_methods */
enum unwind_method {
	UNWIND_METHOD_FP,
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	UNWIND_METHOD_EH_FRAME,
#endif
	UNWIND_NR_METHODS,
};

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* ways to find a rule that is not cached */
enum unwind_found {
#ifdef CONFIG_UNWIND_USER_FILES
	UNWIND_FOUND_FILE,	/* decoded from a file, for all processes */
#endif
	UNWIND_FOUND_TABLES,	/* decoded from tables in the process's memory */
#ifdef CONFIG_UNWIND_USER_CODE
	UNWIND_FOUND_CODE,	/* by reading code */
#endif
	UNWIND_NR_FOUND,
};

/**
 * struct unwind_cache_state - the state of the mm when a search began
 * @gen: the generation of the cache
 * @unmaps: how often code or a file was unmapped so far; without a cache, the count of mmap lock
 *	    writers
 * @flush_pending: the search may read through a stale TLB entry, so its result is not cached
 */
struct unwind_cache_state {
	u64		gen;
	unsigned long	unmaps;
	bool		flush_pending;
};
#endif

/**
 * struct unwind_mapping - a mapping, as it was when it was looked up
 * @start: its start
 * @end: its end; 0 if nothing is mapped, or if that is not known
 * @exec: it is executable
 * @of_file: it is of a file
 * @writable: it is writable
 */
struct unwind_mapping {
	unsigned long	start;
	unsigned long	end;
	bool		exec;
	bool		of_file;
	bool		writable;
};

/**
 * struct unwind_walk - a walk at one user frame
 * @frame: the state of the frame, to be saved and restored: the members from @ip to @down_ip
 * @ip: code address in this frame, as a linear address
 * @sp: stack pointer of this frame, as a linear address
 * @kept: callee-saved registers, by slot: their values, or their addresses on the stack
 * @in_memory: bit mask of the slots for which @kept has an address
 * @lost: bit mask of the slots whose registers are unknown
 * @exact: @ip is the next instruction to run, not a return address
 * @back: rules are looked up for @ip - @back.  1 if @ip is a return address or follows a system
 *	  call, as @ip - 1 is then inside the call; else 0
 * @probed: uprobes may have changed return addresses
 * @regs: the user registers if this is the innermost frame; else NULL
 * @cs_base: base of the code segment; 0 except for 32-bit tasks with unusual segments
 * @ss_base: base of the stack segment; 0 except for 32-bit tasks with unusual segments
 * @insn: where to read the next instruction to run, while @exact
 * @ri: innermost uretprobe whose hijacked return address the walk has not reached yet
 * @word: bytes of a stack word of the code at @ip, 4 or 8
 * @downs: number of steps to another stack at lower addresses
 * @down_sp: stack pointer after one of these steps, see is_loop()
 * @down_ip: code address after that step
 * @no_faults: the walk may not fault in any page
 * @methods: bit mask of the enabled methods
 * @frames: number of steps by each method
 * @start: registers that the walk began with, or NULL
 * @faults: number of pages that may still be faulted in
 * @deadline: after this time, in jiffies, no page is faulted in and no rule is searched for
 * @code: the mapping that a return address was last in, see fp.c
 *
 * A callee-saved register is read only when a frame needs it, which is rare, so a step only
 * notes its address.
 *
 * The members behind @frame belong to the walk.  A walk may return to an earlier frame, but
 * its budgets must not be restored.
 *
 * The struct is not zeroed.  unwind_user_begin() sets each member, and must set new ones, too.
 */
struct unwind_walk {
	struct_group_tagged(unwind_frame, frame,	/* may be restored */
		unsigned long		ip;
		unsigned long		sp;
		unsigned long		kept[UNWIND_NR_KEPT];
		u8			in_memory;
		u8			lost;
		bool			exact;
		u8			back;
		bool			probed;
		struct pt_regs		*regs;
		unsigned long		cs_base;
		unsigned long		ss_base;
		unsigned long		insn;
		struct return_instance	*ri;
		unsigned int		word;
		unsigned int		downs;
		unsigned long		down_sp;
		unsigned long		down_ip;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
		/** @nowhere: in a frame with @regs: nothing executable is mapped at @ip */
		bool			nowhere;
#endif
#ifdef CONFIG_UNWIND_USER_CODE
		/**
		 * @sp_is_low: @sp was found by the frame pointer of a frame that includes a part of
		 * this one, as those of HotSpot's interpreter do, which keeps locals there.  The
		 * true stack pointer may be higher: it is in the word below that frame pointer.
		 */
		bool			sp_is_low;
		/**
		 * @left_alone: bit mask of the caller-saved registers, by their numbers in
		 * instructions, that still have the values in @start
		 */
		u16			left_alone;
#endif
	);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/** @quick: page faults are off: only resident memory is read */
	bool			quick;
	/** @all_regs: all callee-saved registers are followed from the innermost frame on */
	bool			all_regs;
	/**
	 * @fp_only: the frame pointer is the only callee-saved register that is known: only its
	 * slot of @kept is valid
	 */
	bool			fp_only;
	/** @again: another callee-saved register was needed: repeat the walk with @all_regs */
	bool			again;
	/** @crowded: the table of the cache is too small */
	bool			crowded;
	/**
	 * @missed: the quick steps have found no rule for the last frame, except possibly a full
	 * one; in place: no rule at all.  Cleared if the object of a file becomes known.
	 */
	bool			missed;
#endif
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/** @in_place: the walk is quick to its end, and may run in an NMI */
	bool			in_place;
#endif
	bool			no_faults;
	u8			methods;
	u16			frames[UNWIND_NR_METHODS];
	struct pt_regs		*start;
	unsigned int		faults;
	unsigned long		deadline;
	struct unwind_mapping	code;
#if defined(CONFIG_UNWIND_USER_EH_FRAME) || defined(CONFIG_UNWIND_USER_CODE)
	/**
	 * @table_bytes: how many more bytes of unwind tables, headers of objects and code may be
	 * read
	 */
	unsigned int		table_bytes;
#endif
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/**
	 * @cfi: scratch memory to interpret tables; one step may reuse results of an earlier one
	 */
	struct unwind_cfi	*cfi;
	/**
	 * @tables: The state of the mm when eh_frame.c last began a search.  It must not be
	 * restored: it tells whether the results in @cfi are still valid, and @cfi is not restored.
	 */
	struct unwind_cache_state tables;
	/**
	 * @found: number of rules that were found, by enum unwind_found; cached rules do not count
	 */
	u16			found[UNWIND_NR_FOUND];
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	/** @changes: unwind_files_changes() when the walk began */
	u64			changes;
	/** @of_file: the serial number of the file whose tables @cfi was used for last, or 0 */
	u64			of_file;
	/** @held: the file of the object that is being searched for, with a reference, or NULL */
	struct unwind_file	*held;
#endif
};

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/* Is this a walk in place? */
static inline bool unwind_is_in_place(const struct unwind_walk *state)
{
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	return state->in_place;
#else
	return false;
#endif
}
#endif

enum unwind_rule_kind {
	UNWIND_RULE_NONE,	/* there is no rule: try another method */
	UNWIND_RULE_END,	/* the frame has no caller */
#ifdef CONFIG_UNWIND_USER_CODE
	UNWIND_RULE_BEGIN,	/* no caller if the program's arguments are at SP + @args_off */
#endif
	UNWIND_RULE_STOP,	/* there is a rule that cannot be followed */
#ifdef CONFIG_UNWIND_USER_CODE
	UNWIND_RULE_NO_PATH,	/* no tables, and no rule from the code */
	UNWIND_RULE_CODE_SIZE,	/* the frame pointer is set up if it is SP + @size */
	UNWIND_RULE_CODE_FULL,	/* as UNWIND_RULE_CODE; @fp_off is relative to the frame pointer */
	UNWIND_RULE_CODE_MEM,	/* as UNWIND_RULE_CODE_FULL; a word in memory gives the CFA */
#endif
	UNWIND_RULE_FULL,	/* an uncommon rule, see struct unwind_full_rule */
	UNWIND_RULE_FRAME,	/* the caller's frame, see struct unwind_user_rule */
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	UNWIND_RULE_REALIGNED,	/* the caller's frame; this function realigns the stack */
	UNWIND_RULE_LANDING,	/* as UNWIND_RULE_FRAME, but see unwind_apply_landing() */
#endif
#ifdef CONFIG_UNWIND_USER_CODE
	UNWIND_RULE_CODE,	/* the caller's frame, found from the code itself */
#endif
};

/**
 * struct unwind_user_rule - how to get from a frame to its caller's
 * @cfa_off: offset of the canonical frame address (the caller's sp) from the
 *	     base register, in bytes; if the stack was realigned, offset of
 *	     the place that holds the canonical frame address
 * @kept_off: offset from the CFA of each slot in @kept, in bytes; or from the base register,
 *	      if the stack was realigned
 * @kept: bit mask of the slots that are saved in memory; the others still hold
 *	  the caller's values
 * @lost: bit mask of the slots whose values for the caller are not known; none of these is in
 *	  @kept
 * @cfa_reg: the base register, UNWIND_REG_*
 * @kind: enum unwind_rule_kind, which tells what members are used
 *
 * The return address is the word below the CFA.  Such a rule is enough for all but a
 * few frames.  The terms are those of DWARF 5, section 6.4 (call frame information).
 *
 * Rules from code follow no register but the frame pointer, so the places of the other slots
 * are used for what they need instead.
 */
struct unwind_user_rule {
	union {
		s32	cfa_off;
#ifdef CONFIG_UNWIND_USER_CODE
		/** @live: NO_PATH: unwind_code::live */
		u16	live;
		/** @size: CODE_SIZE: the frame pointer is set up if it is SP + @size */
		s32	size;
		/** @args_off: BEGIN: the program's arguments are at SP + @args_off */
		s32	args_off;
#endif
	};
	union {
		s16	kept_off[UNWIND_NR_KEPT];
#ifdef CONFIG_UNWIND_USER_CODE
		struct {
			union {
				/** @fp_off: the first of @kept_off, for the frame pointer */
				s16	fp_off;
				/** @after: CODE_SIZE: distance from the prologue to the address */
				s16	after;
			};
			union {
				struct {
					/**
					 * @extends: the frame may include a part of its caller's
					 * frame, see unwind_walk::sp_is_low
					 */
					bool	extends;
					/** @doubt: CODE: enum unwind_doubt */
					u8	doubt;
				};
				/** @special: @extends and @doubt, to be read at once */
				s16	special;
				/**
				 * @mem_off: CODE_MEM: the CFA is the word at @cfa_reg plus
				 * @mem_off, plus @cfa_off
				 */
				s16	mem_off;
				/**
				 * @start_off: CODE_SIZE: offset of the address in the function that
				 * was called; 0 if not known
				 */
				s16	start_off;
			};
			union {
				/**
				 * @code_end: distance from the address to the end of the
				 * instructions that the rule was found from
				 */
				s32	code_end;
				/**
				 * @args_room: BEGIN: how far above the arguments the highest stack
				 * pointer of the startup code is
				 */
				s32	args_room;
			};
			/** @code_sum: unwind_code_sum() of the code, which may change unnoticed */
			u32	code_sum;
		};
#endif
	};
	u8	kept;
	union {
		u8	lost;
#ifdef CONFIG_UNWIND_USER_CODE
		/**
		 * @by_call: CODE_SIZE: valid only if the return address follows a direct call of
		 * a function with this prologue
		 */
		bool	by_call;
#endif
	};
	u8	cfa_reg;
	u8	kind;
};

struct unwind_full_rule;

#ifdef CONFIG_UNWIND_USER_EH_FRAME
/*
 * The key of a frame's rule: the address of the code, and the size of a word, because
 * a walk of 64-bit code may be led to 32-bit code or the other way round.
 */
#define UNWIND_KEY_WORD		56	/* the bit above all user addresses */

static inline u64 unwind_word_key(unsigned long ip, unsigned int word)
{
	return ip | (u64)(word & 4) << (UNWIND_KEY_WORD - 2);
}

static inline u64 unwind_code_key(const struct unwind_walk *state, unsigned long ip)
{
	return unwind_word_key(ip, state->word);
}

static inline u64 unwind_rule_key(const struct unwind_walk *state)
{
	return unwind_code_key(state, state->ip - state->back);
}
#endif

/*
 * The rule of a frame whose frame pointer is set up.  The frame may have saved other
 * registers in places that are not known.
 */
static inline struct unwind_user_rule unwind_fp_set_up(s32 word)
{
	return (struct unwind_user_rule) {
		.kind = UNWIND_RULE_FRAME,
		.cfa_reg = UNWIND_REG_FP,
		.cfa_off = 2 * word,
		.kept = BIT(UNWIND_SLOT_FP),
		.lost = (BIT(UNWIND_NR_KEPT) - 1) & ~BIT(UNWIND_SLOT_FP),
		.kept_off[UNWIND_SLOT_FP] = -2 * word,
	};
}

/**
 * enum unwind_result - what is the rule or the object of an address, or who is a frame's caller?
 * @UNWIND_FOUND: it has been found, or the step has been taken: go on.  A walk that ends with this
 *		  has reached its limit of frames.
 * @UNWIND_TAKEN: a method has not only found the rule, but has taken the step, too
 * @UNWIND_NONE: not found here: try the next source of rules or the next method
 * @UNWIND_END: the frame has no caller: the walk is complete
 * @UNWIND_STOP: the rule has an unsupported form: end the walk, as other methods would probably be
 *		 wrong
 * @UNWIND_FAULT: memory or a file cannot be read now, no memory or time is left, or the task is
 *		  being killed: end the walk, and do not cache this
 * @UNWIND_BAD: the stack has invalid values: end the walk
 *
 * All functions that answer one of these questions return this.  Functions that only read memory
 * or parse bytes return 0 or an error.  Failures are negative, because the compiler then places
 * their code out of the way.
 */
enum unwind_result {
	UNWIND_FOUND	= 0,
	UNWIND_TAKEN	= 1,
	UNWIND_NONE	= -1,
	UNWIND_END	= -2,
	UNWIND_STOP	= -3,
	UNWIND_FAULT	= -4,
	UNWIND_BAD	= -5,
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/**
	 * @UNWIND_STALE: mappings, a file or an index have changed during the search: end the walk
	 */
	UNWIND_STALE	= -6,
	/**
	 * @UNWIND_RETRY: mappings or an index have changed: search again.  In the end it is
	 * UNWIND_STALE.
	 */
	UNWIND_RETRY	= -7,
	/** @UNWIND_NOT_CODE: the frame is none: drop it, and end the walk as with UNWIND_BAD */
	UNWIND_NOT_CODE	= -8,
#endif
#ifdef CONFIG_UNWIND_USER_FILES
	/** @UNWIND_FOUND_LAST: found, but not kept: it is for the last address of the rule's row */
	UNWIND_FOUND_LAST = 2,
#endif
};

/*
 * Methods run in task context, and may sleep.  With UNWIND_FOUND, @rule is filled in, and @full if
 * @rule is of the kind UNWIND_RULE_FULL.
 */
enum unwind_result unwind_fp_rule(struct unwind_walk *state, struct unwind_user_rule *rule,
				  struct unwind_full_rule *full);

#ifdef CONFIG_UNWIND_USER_CODE
unsigned int unwind_read_code(void *ctx, unsigned long addr, u8 *to, unsigned int len);
#endif
bool unwind_is_after_call(struct unwind_walk *state, unsigned long addr);
bool unwind_is_after_syscall(struct unwind_walk *state);
enum unwind_result unwind_sigframe(struct unwind_walk *state, struct unwind_full_rule *full);
bool unwind_is_restorer(struct unwind_walk *state, unsigned long addr);

unsigned long unwind_uprobe_return(struct return_instance **next,
				   unsigned long slot, unsigned long ra);
void unwind_uprobe_undo(struct unwind_walk *state);
void unwind_uprobe_begin(struct unwind_walk *state);

/* the enabled methods, and statistics */
u8 unwind_methods_enabled(void);
void unwind_count_walk(const struct unwind_walk *state, enum unwind_result end);

/* the walk, for unwind_walk() and its tests */
void unwind_user_begin(struct unwind_walk *state, struct pt_regs *regs);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
void unwind_user_begin_in_place(struct unwind_walk *state, struct pt_regs *regs);
#endif
enum unwind_result unwind_user_next(struct unwind_walk *state);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
enum unwind_result unwind_volatile_reg(struct unwind_walk *state, unsigned int reg,
				       unsigned long *val);
#endif
bool unwind_switch_stack(struct unwind_walk *state, unsigned long cfa, unsigned long ip);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
enum unwind_result unwind_apply_landing(struct unwind_walk *state,
					const struct unwind_user_rule *rule);
#endif
enum unwind_result unwind_apply_rule(struct unwind_walk *state,
				     const struct unwind_user_rule *rule,
				     const struct unwind_full_rule *full);

/* user memory */
int unwind_read(struct unwind_walk *state, unsigned long addr, void *to,
		size_t len);

/* As unwind_read(), for an integer, and quicker if it is resident. */
#define unwind_read_int(state, addr, to)					\
({										\
	unsigned long __addr = (addr);						\
	typeof(to) __to = (to);							\
	int __ret;								\
										\
	pagefault_disable();							\
	__ret = get_user(*__to, (typeof(*__to) __user *)__addr);		\
	pagefault_enable();							\
	__ret ? unwind_read(state, __addr, __to, sizeof(*__to)) : 0;		\
})

int __unwind_read_word(struct unwind_walk *state, unsigned long addr,
		       unsigned long *val);
bool unwind_in_uprobe_handler(void);
bool unwind_is_plain_file(struct vm_area_struct *vma);
bool unwind_may_await_file(const struct file *file);

bool unwind_find_mapping(unsigned long addr, struct unwind_mapping *mapping);
bool unwind_other_mapping(unsigned long a, unsigned long b);

#if defined(CONFIG_UNWIND_USER_EH_FRAME) || defined(CONFIG_UNWIND_USER_CODE)
enum unwind_result unwind_user_reg(struct unwind_walk *state, unsigned int reg,
				   unsigned long *val);

#ifdef CONFIG_UNWIND_USER_CODE
/* Is memory at an address executable? True if that is not known. */
static inline bool unwind_is_executable(unsigned long addr)
{
	struct unwind_mapping mapping;

	return unwind_find_mapping(addr, &mapping) && mapping.exec;
}

/* Is a file mapped at an address? True if that is not known. */
static inline bool unwind_is_of_file(unsigned long addr)
{
	struct unwind_mapping mapping;

	return unwind_find_mapping(addr, &mapping) && mapping.of_file;
}
#endif

/* TASK_SIZE_MAX in a register: array_index_nospec() does not take a constant of 64 bits. */
static __always_inline unsigned long unwind_user_limit(void)
{
	unsigned long limit = TASK_SIZE_MAX;

	OPTIMIZER_HIDE_VAR(limit);
	return limit;
}

/*
 * May @len more bytes of an object's tables be read?  The tables determine how much is read, so
 * reads are limited by a budget, as page faults are.
 */
static inline bool unwind_may_read(struct unwind_walk *state, size_t len)
{
	if (len > state->table_bytes) {
		/* once the budget is exceeded, all later reads fail too */
		state->table_bytes = 0;
		return false;
	}
	state->table_bytes -= len;
	return true;
}
#endif

/*
 * Read one word of the current task's stack, zero-extended.  Returns -EFAULT if @addr is
 * unaligned, or the word is not resident and may not be faulted in.
 */
static __always_inline int unwind_read_word(struct unwind_walk *state,
					    unsigned long addr,
					    unsigned long *val)
{
	if (unlikely(state->word != sizeof(*val) || !IS_ALIGNED(addr, sizeof(*val))))
		return __unwind_read_word(state, addr, val);
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	/* page faults are disabled in a quick walk */
	if (likely(state->quick))
		return get_user(*val, (unsigned long __user *)addr);
#endif
	return unwind_read_int(state, addr, val);
}

#endif /* _KERNEL_UNWIND_UNWIND_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules from machine code, for code without tables.
 *
 * From any address in a function a path leads to a return instruction, and there
 * the stack pointer points to the return address (System V ABI, AMD64 supplement,
 * section 3.2).  So following one path to a return tells where the return address lies
 * now.  The instructions on the path are executed symbolically: the stack pointer, the frame
 * pointer and, in 64-bit code, the other callee-saved registers begin with symbolic values.
 * Everything else is unknown.  Compilers keep the depth of the stack the same on all paths
 * through an address, so any path will do.
 *
 * These steps of a path also locate the return address:
 *
 * - The stack pointer is computed or loaded from the frame pointer.  Then the frame
 *   pointer is that of this frame, not of a caller.  If no path gives a rule, a usual frame
 *   is assumed: the return address lies above the saved frame pointer.
 * - The caller's frame pointer is pushed and the frame pointer then set from the stack
 *   pointer.  This is the beginning of a function, so the return address lies above the
 *   pushed word.
 * - A jump goes to an address that was popped.
 * - A jump goes to another function after the frame was taken down.
 *
 * The code after a call may belong to another function if the call does not return.  So a path
 * is suspended at a call, and continues only when all other paths have ended.
 *
 * Besides the calling convention of C, those of two runtimes are known.  In
 * SBCL the caller makes room for the callee's frame, stores its own frame
 * pointer there, and sets the frame pointer to the address of the stored word.
 * The callee stores the return address in the word above, and removes both
 * words when it returns.  Erlang's code runs on the stack of an Erlang
 * process, and calls C on the stack of a thread; after such a call
 * it loads the stack pointer and the frame pointer from a structure that a
 * callee-saved register points to.
 */

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>

#include "code.h"

/* the most instructions that are decoded for one address */
#define MAX_INSNS	4096
/* after a path gave a rule, follow at most this many instructions on other paths to check it */
#define MAX_MORE	384
/* the most bytes from the beginning of a function to an address in it */
#define MAX_BODY	SZ_16K
/* the most instructions of a prologue */
#define MAX_PROLOGUE	24
/* the most bytes from the beginning of a function to its prologue */
#define MAX_ENTRY	64
/* the most instructions of a function that only jumps to another one */
#define MAX_JUST	6
/* for unwind_code_may_land(): the most instructions to read, and the most places to start from */
#define MAX_TO_LANDING	256
#define MAX_STARTS	8
/* branches and jumps that are remembered, to end a path that reaches one again */
#define MAX_BRANCHES	256
/* branches whose other direction has not been followed yet */
#define MAX_FORKS	64
/* words that a path may write to the stack; it ends when it writes more */
#define MAX_WRITTEN	128
/* written words whose values are still known after a call */
#define MAX_KEPT	3
/* registers besides sp and fp that stay known at a branch's other direction and after a call */
#define MAX_OTHERS	2
/* calls after which no path has continued yet */
#define MAX_CALLS	24
/* words of memory that values of the kinds BASE and AT_BASE refer to */
#define MAX_BASES	4
/* the largest offset of a known value, in bytes */
#define MAX_OFFSET	SZ_16M
/* unknown stack pointers that are numbered */
#define MAX_ANY		255
/* a jump over more bytes than this goes to another function */
#define MAX_FUNCTION	SZ_16K
/* compilers align functions to this, in bytes */
#define FUNCTION_ALIGN	16

enum value_kind {
	UNKNOWN,
	SP,		/* the stack pointer at the start of the path, plus off */
	FP,		/* the frame pointer at the start of the path, plus off */
	BASE,		/* the word at one of path->bases, plus off */
	ANY,		/* unknown address number nr, plus off */
	REG,		/* another callee-saved register at the start of the path, plus off */
	AT_SP,		/* the word at SP plus off, at the start of the path */
	AT_FP,		/* the word at FP plus off, likewise */
	AT_BASE,	/* the word at BASE plus off, likewise */
};

struct code_value {
	s32	off;
	u8	kind;
	u8	nr;	/* number of the register, of the base, or of the unknown address */
};

/* A word of memory at @reg + @off, as it was at the start of the path. */
struct code_base {
	s32	off;
	u8	reg;
};

/**
 * struct code_written - a word that a path wrote to the stack
 * @place: where it was written
 * @val: the value
 * @pushed: the word was written by a push
 * @dropped: the entry is a marker, not a word: words below @place that were written earlier
 *	     are no longer valid
 */
struct code_written {
	struct code_value	place;
	struct code_value	val;
	bool			pushed;
	bool			dropped;
};

/**
 * struct code_fork - where a path continues later: the other direction of a branch, or after a call
 * @ip: address at which the path continues
 * @sp: the stack pointer there
 * @fp: the frame pointer there
 * @others: values of other registers that contain addresses on the stack
 * @marks: see struct code_path
 * @used: see struct code_path
 * @dead: see struct code_path
 * @nr_written: number of words in code_path::written that are valid at @ip
 * @other_regs: the registers of @others
 * @called: see struct code_path
 * @forgot: see struct code_path
 * @fp_is_frame: see struct code_path
 *
 * Branches are followed last in, first out.  So when a branch is followed, the words that were
 * written before it are still in code_path::written.
 */
struct code_fork {
	unsigned long	ip;
	struct code_value	sp;
	struct code_value	fp;
	struct code_value	others[MAX_OTHERS];
	u64		marks[2];
	u16		used;
	u16		dead;
	u8		nr_written;
	u8		other_regs[MAX_OTHERS];
	u8		called : 1;
	u8		forgot : 1;
	u8		fp_is_frame : 1;
};

/* A path to continue after a call, first in, first out. @kept are the written words still known. */
struct code_behind {
	struct code_fork	fork;
	struct code_written	kept[MAX_KEPT];
};

/**
 * struct code_path - a path, and the state at its current instruction
 * @code: the code
 * @ip: address of the next instruction
 * @regs: the registers; their "first" values are those at the start of the path
 * @nr_written: number of words in @written; MAX_WRITTEN + 1 if there were too many
 * @marks: two bit masks of the words that the path wrote: by offset from the first stack pointer,
 *	   and from the first frame pointer. Words at a distance of 64 words share a bit. No bit
 *	   is set for words whose values are kept when the path continues after a call
 * @nr_branches: number of @branches
 * @nr_forks: number of @forks
 * @nr_calls: number of @calls
 * @next_call: the first call that has not been followed yet
 * @nr_bases: number of @bases
 * @nr_any: number of unknown values of the stack pointer
 * @called: it continued after a call
 * @jumped: it ended with a jump to another function
 * @forgot: not all words of @marks are in @written
 * @wrote: it may have written to memory that is not below the first stack pointer
 * @fp_is_frame: the stack pointer was computed or loaded from the first frame pointer
 * @frame_seen: @fp_is_frame was set on a path that has ended
 * @used: bit mask of the registers whose first values were copied
 * @dead: bit mask of the registers that were overwritten before their first values were copied
 * @left_first: a path ended with a jump to an unknown address, before any call
 * @fp_is_base: memory below the first frame pointer was used, before any call
 * @insns: how many more instructions may be decoded
 * @written: words that were written to the stack
 * @branches: branches and jumps that were reached
 * @forks: other directions of branches, not followed yet
 * @calls: calls that were reached
 * @bases: words of memory that values of the kinds BASE and AT_BASE refer to
 */
struct code_path {
	struct unwind_code	*code;
	unsigned long		ip;
	struct code_value		regs[UNWIND_CODE_NR_REGS];
	unsigned int		nr_written;
	u64			marks[2];
	unsigned int		nr_branches;
	unsigned int		nr_forks;
	unsigned int		nr_calls;
	unsigned int		next_call;
	unsigned int		nr_bases;
	u8			nr_any;
	bool			called;
	bool			jumped;
	bool			forgot;
	bool			wrote;
	bool			fp_is_frame;
	bool			frame_seen;
	u16			used;
	u16			dead;
	bool			left_first;
	bool			fp_is_base;
	unsigned int		insns;

	/* not cleared: the numbers above tell how many elements are valid */
	struct code_written		written[MAX_WRITTEN + 1];
	struct code_base		bases[MAX_BASES];
	unsigned long			*branches;
	struct code_fork		*forks;
	struct code_behind		*calls;
};

/* sizes of the memory that a caller provides: for the path, its branches, forks and calls */
const unsigned int unwind_code_parts[UNWIND_CODE_PARTS] = {
	sizeof(struct code_path),
	sizeof(unsigned long) * MAX_BRANCHES,
	sizeof(struct code_fork) * MAX_FORKS,
	sizeof(struct code_behind) * MAX_CALLS,
};

static_assert(sizeof(struct code_path) <= SZ_4K, "no part is larger than a page");
static_assert(sizeof(unsigned long) * MAX_BRANCHES <= SZ_4K, "no part is larger than a page");
static_assert(sizeof(struct code_fork) * MAX_FORKS <= SZ_4K, "no part is larger than a page");
static_assert(sizeof(struct code_behind) * MAX_CALLS <= SZ_4K, "no part is larger than a page");
static_assert(MAX_WRITTEN < 255, "see struct code_fork");

static bool code_read_insn(const struct unwind_code *code, unsigned long ip,
			   struct unwind_code_insn *insn)
{
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	unsigned int nr = code->read(code->ctx, ip, bytes, sizeof(bytes));

	return unwind_code_decode(bytes, nr, code->word, insn);
}

static struct code_value value_plus(struct code_value v, s64 off)
{
	if (!off)
		return v;
	off += v.off;
	if (v.kind == UNKNOWN || v.kind > REG || off > MAX_OFFSET || off < -MAX_OFFSET)
		return (struct code_value) {};
	v.off = off;
	return v;
}

static struct code_value path_reg(const struct code_path *path, u8 reg)
{
	return reg < UNWIND_CODE_NR_REGS ? path->regs[reg] : (struct code_value) {};
}

/* Was the value loaded from the stack? */
static bool value_is_place(struct code_value v)
{
	return v.kind >= AT_SP;
}

static struct code_value code_place_of(struct code_value v)
{
	v.kind -= AT_SP - SP;
	return v;
}

/* Is the value an address on the stack? */
static bool value_is_on_stack(struct code_value v)
{
	return v.kind >= SP && v.kind <= ANY;
}

static struct code_value code_place_behind(const struct code_path *path, struct code_value v)
{
	return value_plus(code_place_of(v), path->code->word);
}

static u16 code_reg_bit(u8 reg)
{
	return reg < UNWIND_CODE_NR_REGS ? BIT(reg) : 0;
}

static void path_set(struct code_path *path, u8 reg, struct code_value v)
{
	if (reg < UNWIND_CODE_NR_REGS)
		path->regs[reg] = v;
}

static bool value_same(struct code_value a, struct code_value b)
{
	return a.kind == b.kind && a.off == b.off && a.nr == b.nr;
}

static bool value_is_lower(struct code_value a, struct code_value b)
{
	return a.kind == b.kind && a.nr == b.nr && a.off < b.off;
}

/* Find the last value that the path has written to @place, or NULL. */
static struct code_written *path_find_written(struct code_path *path, struct code_value place)
{
	struct code_written *w = path->written + path->nr_written;

	while (w-- > path->written) {
		if (w->dropped && value_is_lower(place, w->place))
			return NULL;
		if (!w->dropped && value_same(w->place, place))
			return w;
	}
	return NULL;
}

static void code_mark(u64 *marks, struct code_value place, unsigned int word)
{
	if (place.kind == SP || place.kind == FP)
		marks[place.kind == FP] |= BIT_ULL((u32)place.off / word % 64);
}

/* Is a place below the first stack pointer of the path? Only the path has written there. */
static bool value_is_below(struct code_value place)
{
	return place.kind == SP && place.off < 0;
}

/* Is the base of this place a word on the stack? */
static bool path_base_is_on_stack(const struct code_path *path, struct code_value place)
{
	return place.kind == BASE && path->bases[place.nr].reg == unwind_code_sp;
}

static bool path_wrote_to_stack(const struct code_path *path)
{
	const struct code_written *w = path->written + path->nr_written;

	while (w-- > path->written) {
		if (!w->dropped && !value_is_below(w->place))
			return true;
	}
	return false;
}

/* May the path have written to a place, without an entry in path->written? */
static bool path_may_have_written(const struct code_path *path, struct code_value place)
{
	u64 marks[2] = {};

	if (path_base_is_on_stack(path, place) && path_wrote_to_stack(path))
		return true;
	if (!path->forgot)
		return false;
	if (place.kind != SP && place.kind != FP)
		return true;
	code_mark(marks, place, path->code->word);
	return path->marks[place.kind == FP] & marks[place.kind == FP];
}

/* Did the path write a word from the stack, or the caller's fp? A function's end may need it. */
static bool code_is_to_keep(const struct code_written *w)
{
	return !w->dropped && (value_is_place(w->val) || (w->val.kind == FP && !w->val.off));
}

static void path_store_word(struct code_path *path, struct code_value place,
			    struct code_value val, bool pushed)
{
	struct code_written *w = path_find_written(path, place);

	if ((!w && !val.kind && value_is_below(place)) || path->nr_written > MAX_WRITTEN)
		return;
	/* do not change entries that a fork shares */
	if (!w || (path->nr_forks &&
		   w - path->written < path->forks[path->nr_forks - 1].nr_written))
		w = &path->written[path->nr_written++];
	*w = (struct code_written) { .place = place, .val = val, .pushed = pushed };
	if (!code_is_to_keep(w))
		code_mark(path->marks, place, path->code->word);
}

static bool value_is_aligned(const struct code_path *path, struct code_value place)
{
	return IS_ALIGNED(place.off, path->code->word);
}

/* @val is the value of a whole word. A word that is only partly written becomes unknown. */
static void path_store(struct code_path *path, struct code_value place, unsigned int bytes,
		       struct code_value val, bool pushed)
{
	s32 word = path->code->word, end = place.off + bytes;

	path->wrote |= !value_is_below(place);
	if (!value_is_on_stack(place))
		return;
	if (!value_is_aligned(path, place))
		val = (struct code_value) {};
	for (place.off = ALIGN_DOWN(place.off, word); place.off < end; place.off += word)
		path_store_word(path, place, val, pushed);
}

static struct code_value path_base(struct code_path *path, u8 reg, s32 off)
{
	struct code_base *base;
	unsigned int i;

	for (i = 0; i < path->nr_bases; i++) {
		base = &path->bases[i];
		if (base->reg == reg && base->off == off)
			break;
	}
	if (i == MAX_BASES)
		return (struct code_value) {};
	if (i == path->nr_bases)
		path->bases[path->nr_bases++] = (struct code_base) { .reg = reg, .off = off };
	return (struct code_value) { .kind = BASE, .nr = i };
}

/* Load a word relative to a callee-saved register: unknown if the path may have overwritten it. */
static struct code_value path_load_base(struct code_path *path, struct code_value place)
{
	if (path->wrote)
		return (struct code_value) {};
	return path_base(path, place.nr, place.off);
}

/*
 * Get the frame pointer for an instruction that sets the stack pointer from it, or stores
 * through it.  The register may have been saved and loaded again, as HotSpot's stubs do around
 * a call.
 */
static struct code_value path_frame(struct code_path *path)
{
	struct code_value fp = path->regs[unwind_code_fp];

	if (fp.kind == AT_SP && path->code->word == sizeof(u64) &&
	    path->regs[unwind_code_sp].kind == SP)
		return path_base(path, unwind_code_sp, fp.off);
	return fp;
}

/* The value of @reg, as the base register of a store. */
static struct code_value path_to(struct code_path *path, u8 reg)
{
	return reg == unwind_code_fp ? path_frame(path) : path_reg(path, reg);
}

static struct code_value path_load(struct code_path *path, struct code_value place)
{
	struct code_written *w;

	if (place.kind == REG)
		return path_load_base(path, place);
	if (!value_is_on_stack(place) || !value_is_aligned(path, place))
		return (struct code_value) {};
	w = path_find_written(path, place);
	if (w)
		return w->val;
	if (value_is_below(place) || place.kind == ANY || path_may_have_written(path, place))
		return (struct code_value) {};
	place.kind += AT_SP - SP;
	return place;
}

static void path_push(struct code_path *path, struct code_value val)
{
	struct code_value sp = value_plus(path->regs[unwind_code_sp],
				     -(s64)path->code->word);

	path->regs[unwind_code_sp] = sp;
	path_store(path, sp, path->code->word, val, true);
}

static struct code_value path_pop(struct code_path *path)
{
	struct code_value sp = path->regs[unwind_code_sp];

	path->regs[unwind_code_sp] = value_plus(sp, path->code->word);
	return path_load(path, sp);
}

/*
 * Forget the registers that a function may destroy by the ABI.  Some functions destroy
 * more registers, but their callers know that and do not use these registers afterwards.
 */
static void path_forget(struct code_path *path)
{
	u16 scratch = unwind_code_scratch(path->code->word);
	unsigned int i;

	for (i = 0; i < UNWIND_CODE_NR_REGS; i++) {
		if (scratch & BIT(i))
			path->regs[i] = (struct code_value) {};
	}
}

/*
 * Make the rule for a return address at @place.  If the path wrote the word at @place, the
 * return address was first at the place from which the path has loaded this word.
 */
static bool path_return_at(struct code_path *path, struct code_value place)
{
	struct unwind_code *code = path->code;
	struct code_value fp = path->regs[unwind_code_fp];

	place = path_load(path, place);
	/* a return address never lies below the frame pointer */
	if (!value_is_place(place) || (place.kind == AT_FP && place.off < 0))
		return false;

	code->by_fp = place.kind == AT_FP;
	code->by_mem = place.kind == AT_BASE;
	if (code->by_mem) {
		code->mem_reg = path->bases[place.nr].reg;
		code->mem_off = path->bases[place.nr].off;
	}
	code->cfa_off = place.off + code->word;
	code->fp_off = fp.off - code->cfa_off;
	code->fp_saved = fp.kind == place.kind && fp.nr == place.nr;
	code->fp_at_fp = fp.kind == AT_FP && place.kind == AT_SP;
	if (code->fp_at_fp) {
		code->fp_off = fp.off;
		code->fp_saved = true;
	}
	code->fp_lost = !code->fp_saved && !(fp.kind == FP && !fp.off);
	code->extends = false;
	return true;
}

/* Make the rule of a usual frame: fp points to the caller's fp, saved below the return address. */
static bool path_return_by_fp(struct code_path *path)
{
	struct code_value place = { .kind = FP, .off = path->code->word };

	path->regs[unwind_code_fp] = (struct code_value) { .kind = AT_FP };
	if (!path_return_at(path, place))
		return false;
	path->code->extends = path->code->by_fp;
	return true;
}

/* Set fp_is_frame if the stack pointer was computed or loaded from the first frame pointer. */
static void path_note_frame(struct code_path *path)
{
	u8 kind = path->regs[unwind_code_sp].kind;

	if (kind == FP || kind == AT_FP)
		path->fp_is_frame = true;
}

enum step {
	GO_ON,
	FOUND,
	NO_WAY,
};

/* Find the store with which the path has saved the caller's frame pointer at @place. */
static struct code_written *path_find_fp_at(struct code_path *path, struct code_value place)
{
	const struct code_value caller = { .kind = FP };
	struct code_written *w = path_find_written(path, place);

	return w && value_same(w->val, caller) ? w : NULL;
}

/* Does @fp point to a frame that the code has prepared for a function to call, as in SBCL? */
static bool path_is_callee_frame(struct code_path *path, struct code_value fp)
{
	struct code_value above = value_plus(fp, path->code->word);
	struct code_written *w = path_find_fp_at(path, fp);

	return w && !w->pushed && !path_find_written(path, above) &&
	       (value_is_below(above) || fp.kind == ANY || (fp.kind == FP && fp.off < 0));
}

/*
 * Execute a move.  If it sets the frame pointer to where the path has pushed the caller's frame
 * pointer, this is a function's beginning: the return address lies above the pushed word.  But
 * if the path popped the return address before the push, it has made a frame for the caller.
 */
static enum step path_move(struct code_path *path, const struct unwind_code_insn *insn)
{
	struct code_value v = value_plus(path_reg(path, insn->base), insn->off);
	const struct code_value caller = { .kind = FP };
	struct code_written *w;

	if (insn->reg == unwind_code_sp && insn->base == unwind_code_fp)
		v = value_plus(path_frame(path), insn->off);
	if (insn->reg == unwind_code_fp && insn->base == unwind_code_sp && !insn->off &&
	    value_same(path->regs[unwind_code_fp], caller)) {
		w = path_find_fp_at(path, v);
		if (w && w->pushed && (v.kind != SP || v.off < 0))
			return path_return_at(path, value_plus(v, path->code->word)) ?
			       FOUND : NO_WAY;
	}
	path_set(path, insn->reg, v);
	return GO_ON;
}

static bool path_was_at(struct code_path *path, unsigned long key)
{
	unsigned int i, nr = min_t(unsigned int, path->nr_branches, MAX_BRANCHES);

	for (i = 0; i < nr; i++) {
		if (path->branches[i] == key)
			return true;
	}
	path->branches[path->nr_branches++ % MAX_BRANCHES] = key;
	return false;
}

/* Has a path reached this branch before? Then this path can end. */
static bool path_was_here(struct code_path *path)
{
	return path_was_at(path, path->ip);
}

/* Has a path with the same stack pointer reached this call before? */
static bool path_called_here(struct code_path *path)
{
	struct code_value sp = path->regs[unwind_code_sp];

	return path_was_at(path, ~path->ip ^ (unsigned long)(u32)sp.off << 32 ^ sp.kind);
}

static struct code_fork path_fork_at(const struct code_path *path, unsigned long ip)
{
	struct code_fork fork = {
		.ip = ip,
		.sp = path->regs[unwind_code_sp],
		.fp = path->regs[unwind_code_fp],
		.nr_written = path->nr_written,
		.marks = { path->marks[0], path->marks[1] },
		.used = path->used,
		.dead = path->dead,
		.called = path->called,
		.forgot = path->forgot,
		.fp_is_frame = path->fp_is_frame,
	};
	unsigned int i, nr = 0;

	for (i = 0; i < UNWIND_CODE_NR_REGS && nr < MAX_OTHERS; i++) {
		if (i == unwind_code_sp || i == unwind_code_fp || !value_is_on_stack(path->regs[i]))
			continue;
		fork.others[nr] = path->regs[i];
		fork.other_regs[nr++] = i;
	}
	return fork;
}

/* Continue with the instruction after a branch, and follow its target later. */
static bool path_branch(struct code_path *path, unsigned long target)
{
	if (path_was_here(path))
		return false;
	if (path->nr_forks < MAX_FORKS)
		path->forks[path->nr_forks++] = path_fork_at(path, target);
	return true;
}

static void path_take(struct code_path *path, const struct code_fork *fork)
{
	unsigned int i;

	memset(path->regs, 0, sizeof(path->regs));
	for (i = 0; i < MAX_OTHERS && fork->others[i].kind; i++)
		path->regs[fork->other_regs[i]] = fork->others[i];
	path->regs[unwind_code_sp] = fork->sp;
	path->regs[unwind_code_fp] = fork->fp;
	path->fp_is_frame = fork->fp_is_frame;
	path->ip = fork->ip;
	memcpy(path->marks, fork->marks, sizeof(path->marks));
	path->used = fork->used;
	path->dead = fork->dead;
	path->called = fork->called;
	path->forgot = fork->forgot;
	path->wrote = true;
	path->nr_written = fork->nr_written;
}

/* Continue after this call later, when all other paths have ended. */
static void path_put_off(struct code_path *path)
{
	struct code_behind *behind = &path->calls[path->nr_calls % MAX_CALLS];
	struct code_written *w = path->written + path->nr_written;
	unsigned int nr = 0;

	if (path->nr_calls - path->next_call == MAX_CALLS || path_called_here(path))
		return;
	path->nr_calls++;
	behind->fork = path_fork_at(path, path->ip);
	behind->fork.called = true;
	behind->fork.forgot = path->forgot || path_wrote_to_stack(path);
	while (w-- > path->written) {
		if (!code_is_to_keep(w) || path_find_written(path, w->place) != w)
			continue;
		if (nr < MAX_KEPT)
			behind->kept[nr++] = *w;
		else
			code_mark(behind->fork.marks, w->place, path->code->word);
	}
	behind->fork.nr_written = nr;
}

/* Start the next path: at a branch target or after a call.  False if none is left. */
static bool path_next(struct code_path *path)
{
	const struct code_behind *behind;

	if (path->nr_forks) {
		path_take(path, &path->forks[--path->nr_forks]);
		return true;
	}
	if (path->next_call == path->nr_calls)
		return false;
	behind = &path->calls[path->next_call++ % MAX_CALLS];
	path_take(path, &behind->fork);
	memcpy(path->written, behind->kept, path->nr_written * sizeof(behind->kept[0]));
	return true;
}

static bool insn_is_memory(u8 op)
{
	return op == UNWIND_CODE_LOAD || op == UNWIND_CODE_STORE ||
	       op == UNWIND_CODE_PUSH_MEM || op == UNWIND_CODE_POP_MEM;
}

/*
 * Does the instruction at @ip use flags or memory below the frame pointer? No function begins
 * like that.
 */
static bool path_is_within(const struct code_path *path, unsigned long ip)
{
	struct unwind_code_insn insn;

	if (!code_read_insn(path->code, ip, &insn))
		return false;
	return insn.uses_flags ||
	       (insn_is_memory(insn.op) && insn.base == unwind_code_fp && insn.off < 0);
}

/*
 * May another function begin at the next instruction? Then the function that was called
 * just before may not return.
 */
static bool path_at_function(const struct code_path *path)
{
	unsigned long ip = path->ip;
	struct unwind_code_insn insn;

	if (path_is_within(path, ip))
		return false;
	while (!IS_ALIGNED(ip, FUNCTION_ALIGN)) {
		if (!code_read_insn(path->code, ip, &insn) ||
		    insn.op != UNWIND_CODE_NOP)
			return false;
		/* Go's compiler ends blocks with a one-byte nop: any code may follow */
		if (insn.len == 1)
			return true;
		ip += insn.len;
	}
	return true;
}

static void path_note_base(struct code_path *path, struct code_value place)
{
	path->fp_is_base |= place.kind == FP && place.off < 0 && !path->called;
}

/* Note which registers' first values the instruction uses, and which it overwrites. */
static void path_note_use(struct code_path *path, const struct unwind_code_insn *insn)
{
	u16 from = 0, to = insn->clobbers;

	switch (insn->op) {
	case UNWIND_CODE_MOVE:
		from = code_reg_bit(insn->base);
		to |= code_reg_bit(insn->reg);
		break;
	case UNWIND_CODE_LOAD:
	case UNWIND_CODE_POP:
		to |= code_reg_bit(insn->reg);
		break;
	case UNWIND_CODE_STORE:
	case UNWIND_CODE_PUSH:
	case UNWIND_CODE_JUMP_REG:
		from = code_reg_bit(insn->reg);
		break;
	}
	path->used |= from & ~path->dead;
	path->dead |= to & ~path->used;
}

/* SBCL: the callee has removed its frame, which was at @fp. */
static void path_return_to_caller(struct code_path *path, struct code_value fp)
{
	struct code_value sp = value_plus(fp, 2 * (s64)path->code->word);

	path->regs[unwind_code_fp] = (struct code_value) { .kind = FP };
	path->regs[unwind_code_sp] = sp;
	path->written[path->nr_written++] = (struct code_written) {
		.place = sp, .dropped = true,
	};
}

/*
 * Does @fp point to the word at the first stack pointer, and did the path store the caller's frame
 * pointer there? Code of SBCL does that before a call, and code of Go in a prologue. The two have
 * the return address in different places.
 */
static bool path_is_either(struct code_path *path, struct code_value fp)
{
	const struct code_value sp = { .kind = SP };
	struct code_written *w = path_find_fp_at(path, fp);

	return value_same(fp, sp) && w && !w->pushed;
}

static enum step path_call(struct code_path *path, const struct unwind_code_insn *insn)
{
	struct code_value fp = path->regs[unwind_code_fp];

	/* a call of the next instruction is a push of its address */
	if (insn->op == UNWIND_CODE_CALL && !insn->off) {
		path_push(path, (struct code_value) {});
		return GO_ON;
	}
	if (path_is_either(path, fp))
		return NO_WAY;
	path_forget(path);
	path->dead |= unwind_code_scratch(path->code->word) & ~path->used;
	/* a register that was overwritten before its use holds no return address */
	if (!path->called)
		path->code->live &= ~path->dead;
	path->wrote = true;
	if (path_is_callee_frame(path, fp)) {
		path_return_to_caller(path, fp);
		return GO_ON;
	}
	/* functions of 32-bit code may take their arguments off the stack */
	if (path->code->word == sizeof(u32))
		path->regs[unwind_code_sp] = (struct code_value) {};
	if (!path_at_function(path))
		path_put_off(path);
	return NO_WAY;
}

/* Was the frame at the frame pointer removed from the stack? */
static bool path_has_left_frame(const struct code_path *path, struct code_value above)
{
	struct code_value sp = path->regs[unwind_code_sp];
	s64 distance = path->code->fp_above_sp;

	if (above.kind != FP || sp.kind != SP || !distance)
		return false;
	return path->called || path->code->returned ?
	       above.off == (s32)path->code->word : above.off + distance == sp.off;
}

/*
 * Is this a jump to another function? Before such a jump, a function has just popped its
 * caller's frame pointer; or it has loaded its caller's frame pointer and moved the stack
 * pointer above the loaded word, as V8's handlers do.
 */
static bool path_ends(struct code_path *path)
{
	struct code_value sp = path->regs[unwind_code_sp], fp = path->regs[unwind_code_fp];
	struct code_value v;

	if (!value_is_place(fp))
		return false;
	v = code_place_behind(path, fp);
	return (value_same(v, sp) || path_has_left_frame(path, v)) && path_return_at(path, v);
}

/* A jump to an address that was popped is a return. */
static enum step path_jump(struct code_path *path, struct code_value to)
{
	struct code_value sp = path->regs[unwind_code_sp];

	if (value_is_place(to) && value_same(code_place_behind(path, to), sp))
		return path_return_at(path, code_place_of(to)) ? FOUND : NO_WAY;
	if (path_ends(path))
		return FOUND;
	path->left_first |= !path->called;
	return NO_WAY;
}

/* Number an unknown stack pointer, so that places relative to it can be compared. */
static void path_name_sp(struct code_path *path)
{
	if (!path->regs[unwind_code_sp].kind && path->nr_any < MAX_ANY)
		path->regs[unwind_code_sp] = (struct code_value) {
			.kind = ANY, .nr = path->nr_any++,
		};
}

/*
 * Is this a jump to the exit of Guile's compiled code? A stub calls this code by a jump, and the
 * code returns by a jump to the instruction behind that one.  But its functions call each other,
 * too, and keep their return addresses on another stack, so their caller is not that of the stub.
 */
static bool path_exits(const struct code_path *path, unsigned long target)
{
	u8 bytes[UNWIND_CODE_ENTER_BYTES];

	return path->code->read(path->code->ctx, target - sizeof(bytes), bytes,
				sizeof(bytes)) == sizeof(bytes) && unwind_code_enters(bytes);
}

/* Is the path about to return to an address that it has copied from another stack, as Guile's? */
static bool path_returns_elsewhere(struct code_path *path)
{
	struct code_value sp = path->regs[unwind_code_sp];

	return value_is_below(sp) && path_load(path, sp).kind == AT_BASE;
}

/* Execute one instruction. path->ip already points behind it. */
static enum step path_step(struct code_path *path, const struct unwind_code_insn *insn)
{
	struct code_value v, sp = path->regs[unwind_code_sp];
	unsigned long target = path->ip + insn->off;
	enum step step;
	unsigned int i;

	for (i = 0; i < UNWIND_CODE_NR_REGS; i++) {
		if (insn->clobbers & BIT(i))
			path->regs[i] = (struct code_value) {};
	}
	path->wrote |= insn->writes;
	path_name_sp(path);

	switch (insn->op) {
	case UNWIND_CODE_NOP:
	case UNWIND_CODE_OTHER:
		return GO_ON;
	case UNWIND_CODE_MOVE:
		step = path_move(path, insn);
		if (step != GO_ON)
			return step;
		break;
	case UNWIND_CODE_LOAD:
		v = value_plus(path_reg(path, insn->base), insn->off);
		path_note_base(path, v);
		path_set(path, insn->reg, path_load(path, v));
		break;
	case UNWIND_CODE_STORE:
		v = value_plus(path_to(path, insn->base), insn->off);
		path_note_base(path, v);
		path_store(path, v, insn->width, path_reg(path, insn->reg), false);
		break;
	case UNWIND_CODE_PUSH:
		path_push(path, path_reg(path, insn->reg));
		break;
	case UNWIND_CODE_PUSH_MEM:
		v = value_plus(path_reg(path, insn->base), insn->off);
		path_note_base(path, v);
		path_push(path, path_load(path, v));
		break;
	case UNWIND_CODE_POP:
		v = path_pop(path);
		path_set(path, insn->reg, v);
		break;
	case UNWIND_CODE_POP_MEM:
		v = path_pop(path);
		path_store(path, value_plus(path_to(path, insn->base), insn->off),
			   path->code->word, v, false);
		break;
	case UNWIND_CODE_LEAVE:
		path->regs[unwind_code_sp] = path_frame(path);
		path_note_frame(path);
		path->regs[unwind_code_fp] = path_pop(path);
		break;
	case UNWIND_CODE_RETURN:
		return !path_returns_elsewhere(path) && path_return_at(path, sp) ? FOUND : NO_WAY;
	case UNWIND_CODE_JUMP:
		if (insn->off > MAX_FUNCTION || insn->off < -MAX_FUNCTION) {
			path->jumped = path_ends(path);
			if (path->jumped)
				return FOUND;
		}
		if (path_was_here(path) || path_exits(path, target))
			return NO_WAY;
		path->ip = target;
		return GO_ON;
	case UNWIND_CODE_BRANCH:
		return path_branch(path, target) ? GO_ON : NO_WAY;
	case UNWIND_CODE_JUMP_REG:
		return path_jump(path, path_reg(path, insn->reg));
	case UNWIND_CODE_CALL:
	case UNWIND_CODE_CALL_OTHER:
		return path_call(path, insn);
	default:
		return NO_WAY;
	}
	path_note_frame(path);
	return GO_ON;
}

static bool path_follow(struct code_path *path)
{
	struct unwind_code *code = path->code;
	struct unwind_code_insn insn;
	enum step step = GO_ON;

	while (step == GO_ON && path->insns && path->nr_written <= MAX_WRITTEN) {
		if (!code_read_insn(code, path->ip, &insn))
			break;
		path->ip += insn.len;
		code->end = path->ip;
		path->insns--;
		path_note_use(path, &insn);
		step = path_step(path, &insn);
	}
	path->frame_seen |= path->fp_is_frame;
	return step == FOUND;
}

static bool code_same_rule(const struct unwind_code *a, const struct unwind_code *b)
{
	return a->by_fp == b->by_fp && a->by_mem == b->by_mem && a->cfa_off == b->cfa_off &&
	       (!a->by_mem || (a->mem_reg == b->mem_reg && a->mem_off == b->mem_off));
}

static bool code_same_fp(const struct unwind_code *a, const struct unwind_code *b)
{
	return a->fp_saved == b->fp_saved && a->fp_lost == b->fp_lost &&
	       a->fp_at_fp == b->fp_at_fp && (!a->fp_saved || a->fp_off == b->fp_off);
}

static void path_begin(struct code_path *path, struct unwind_code *code, unsigned long ip)
{
	u16 scratch = unwind_code_scratch(code->word);
	unsigned int i;

	memset(path, 0, offsetof(struct code_path, written));
	path->code = code;
	path->branches = code->memory[1];
	path->forks = code->memory[2];
	path->calls = code->memory[3];
	path->ip = ip;
	path->insns = MAX_INSNS;
	for (i = 0; code->word == sizeof(u64) && i < UNWIND_CODE_NR_REGS; i++) {
		if (!(scratch & BIT(i)))
			path->regs[i] = (struct code_value) { .kind = REG, .nr = i };
	}
	path->regs[unwind_code_sp] = (struct code_value) { .kind = SP };
	path->regs[unwind_code_fp] = (struct code_value) { .kind = FP };
}

/*
 * Follow all paths until one gives a rule.
 *
 * Which registers may hold the return address?  A register that a path copies
 * may hold it.  So may a register that no path copies, except in two cases: a path
 * overwrites the register, by its first call at the latest; or a path jumps to an
 * unknown address, because compilers do that only while the return address is on
 * the stack.
 */
static bool path_search(struct code_path *path)
{
	bool found;
	u16 any = 0;

	path->code->live = ~0;
	do {
		found = path_follow(path);
		if (!path->called)
			any |= path->used;
	} while (!found && path_next(path));
	if (path->left_first)
		path->code->live = any;
	else
		path->code->live |= any;
	return found;
}

/*
 * After a call the rule is doubtful: the path may have continued in another
 * function.  After a jump that seems to leave the function, the rule is doubtful, too: the
 * target may be in the same function.  But the rule of a usual frame with a frame pointer is
 * certain if the code uses memory below the frame pointer before any call.
 */
static bool path_is_doubtful(const struct code_path *path)
{
	const struct unwind_code *code = path->code;

	if (code->by_fp && code->fp_saved && code->cfa_off == 2 * (s32)code->word &&
	    path->fp_is_base)
		return false;
	return path->called || path->jumped;
}

/* No path gave a rule: if a path set the stack pointer from its first fp, guess a usual frame. */
static bool path_guess(struct code_path *path)
{
	path->nr_written = 0;
	path->forgot = false;
	return path->frame_seen && path_return_by_fp(path);
}

/**
 * unwind_code_find - find the rule of an address in the code
 * @code: the code; the rule is filled in
 * @ip: address of the next instruction to run in the frame
 *
 * Return: false if no path gives a rule, or two paths disagree.
 */
bool unwind_code_find(struct unwind_code *code, unsigned long ip)
{
	struct code_path *path = code->memory[0];
	struct unwind_code first;
	bool found;

	path_begin(path, code, ip);
	found = path_search(path);
	code->fp_is_base = path->fp_is_base;
	if (!found)
		found = path_guess(path);
	if (!found)
		return false;
	code->is_doubtful = path_is_doubtful(path);

	first = *code;
	path->insns = min_t(unsigned int, path->insns, MAX_MORE);
	for (found = false; !found && path_next(path);)
		found = path_follow(path);
	if (found && !code_same_rule(code, &first)) {
		/* the two paths disagree: there is no rule, but @live of the first one is valid */
		code->live = first.live;
		code->fp_is_base = false;
		return false;
	}
	if (found && !code_same_fp(code, &first)) {
		first.fp_saved = false;
		first.fp_at_fp = false;
		first.fp_lost = true;
	}
	*code = first;
	return true;
}

/* The registers that an instruction writes to, except sp in push, pop, leave, call and return. */
static u16 code_written_by(const struct unwind_code_insn *insn)
{
	switch (insn->op) {
	case UNWIND_CODE_MOVE:
	case UNWIND_CODE_LOAD:
	case UNWIND_CODE_POP:
		return insn->clobbers | code_reg_bit(insn->reg);
	case UNWIND_CODE_LEAVE:
		return insn->clobbers | code_reg_bit(unwind_code_fp);
	}
	return insn->clobbers;
}

/* Does an instruction change neither sp nor fp, and is the next instruction executed after it? */
static bool frame_keeps_pointers(const struct unwind_code_insn *insn)
{
	return insn->op <= UNWIND_CODE_STORE &&
	       !(code_written_by(insn) & (BIT(unwind_code_sp) | BIT(unwind_code_fp)));
}

/**
 * struct code_frame - the frame of a function with a frame pointer
 * @ip: the address for which the frame is wanted
 * @body: where the prologue ends
 * @size: distance of the frame pointer from the stack pointer at the end of the prologue, in
 *	  bytes
 * @pushed: bytes pushed since the prologue or the last branch or call
 * @is_left: after the current instruction, the frame pointer may no longer be that of the frame
 * @left_from: the lowest target of branches and jumps that were reached with @is_left set
 * @left_to: the highest of these targets
 */
struct code_frame {
	unsigned long	ip;
	unsigned long	body;
	s64		size;
	s64		pushed;
	bool		is_left;
	unsigned long	left_from;
	unsigned long	left_to;
};

/* Find the size of the frame that a prologue at @ip sets up, and the end of the prologue. */
static bool prologue_size(struct unwind_code *code, unsigned long ip, struct code_frame *frame)
{
	struct unwind_code_insn insn;
	s64 fp = -1, sp = 0;
	unsigned int i;

	for (i = 0; i < MAX_PROLOGUE; i++, ip += insn.len) {
		if (!code_read_insn(code, ip, &insn))
			break;
		if (insn.op == UNWIND_CODE_MOVE && insn.reg == unwind_code_fp &&
		    insn.base == unwind_code_sp && fp < 0)
			fp = insn.off;
		else if (insn.op == UNWIND_CODE_MOVE && insn.reg == unwind_code_sp &&
			 insn.base == unwind_code_sp)
			sp += insn.off;
		else if (insn.op == UNWIND_CODE_PUSH || insn.op == UNWIND_CODE_PUSH_MEM)
			sp -= code->word;
		else if (!frame_keeps_pointers(&insn))
			break;
	}
	frame->size = fp - sp;
	frame->body = ip;
	return fp >= 0;
}

/**
 * unwind_code_goes_on - does a function only jump to another one?
 * @code: the code
 * @ip: the function's address
 * @to: set to the address of the other one; 0 if the jump is indirect
 *
 * Return: true for the entries of procedure linkage tables, and for functions that only
 *	   set arguments before they jump.
 */
bool unwind_code_goes_on(struct unwind_code *code, unsigned long ip, unsigned long *to)
{
	struct unwind_code_insn insn;
	unsigned int i;

	for (i = 0; i < MAX_JUST; i++) {
		if (!code_read_insn(code, ip, &insn))
			return false;
		ip += insn.len;
		switch (insn.op) {
		case UNWIND_CODE_NOP:
		case UNWIND_CODE_OTHER:
		case UNWIND_CODE_MOVE:
		case UNWIND_CODE_LOAD:
			break;
		case UNWIND_CODE_JUMP_REG:
			*to = 0;
			return true;
		case UNWIND_CODE_JUMP:
			*to = ip + insn.off;
			return true;
		default:
			return false;
		}
	}
	return false;
}

/* Does execution never continue with the next instruction? */
static bool code_insn_is_last(const struct unwind_code_insn *insn)
{
	return insn->op == UNWIND_CODE_JUMP || insn->op == UNWIND_CODE_JUMP_REG ||
	       insn->op == UNWIND_CODE_RETURN || insn->op == UNWIND_CODE_END;
}

/**
 * unwind_code_may_land - may a function of libgcc be about to land at a handler?
 * @code: the code
 * @ip: the address of the function's next instruction
 *
 * Return: false if a path from @ip on makes two calls, or returns to the caller by leave and ret;
 *	   true if none does, or none that is short enough to be found.
 */
bool unwind_code_may_land(struct unwind_code *code, unsigned long ip)
{
	struct { unsigned long ip; unsigned int calls; } starts[MAX_STARTS] = { { ip, 0 } };
	unsigned int nr = 1, done, calls, left = MAX_TO_LANDING;
	struct unwind_code_insn insn;
	u8 last;

	for (done = 0; done < nr; done++) {
		ip = starts[done].ip;
		calls = starts[done].calls;
		last = UNWIND_CODE_NOP;
		for (; left && code_read_insn(code, ip, &insn); left--) {
			ip += insn.len;
			if (insn.op == UNWIND_CODE_CALL || insn.op == UNWIND_CODE_CALL_OTHER)
				calls++;
			if (calls == 2 ||
			    (insn.op == UNWIND_CODE_RETURN && last == UNWIND_CODE_LEAVE))
				return false;
			if ((insn.op == UNWIND_CODE_BRANCH || insn.op == UNWIND_CODE_JUMP) &&
			    nr < MAX_STARTS) {
				starts[nr].ip = ip + insn.off;
				starts[nr++].calls = calls;
			}
			if (code_insn_is_last(&insn))
				break;
			last = insn.op;
		}
	}
	return true;
}

/* Update the stack pointer for an instruction. False if its new value is not known. */
static bool straight_sp(const struct unwind_code *code, const struct unwind_code_insn *insn,
			unsigned long *sp)
{
	switch (insn->op) {
	case UNWIND_CODE_PUSH:
	case UNWIND_CODE_PUSH_MEM:
		*sp -= code->word;
		break;
	case UNWIND_CODE_POP:
	case UNWIND_CODE_POP_MEM:
		*sp += code->word;
		return insn->reg != unwind_code_sp;
	case UNWIND_CODE_MOVE:
		if (insn->reg == unwind_code_sp)
			*sp += insn->off;
		return insn->reg != unwind_code_sp || insn->base == unwind_code_sp;
	case UNWIND_CODE_LOAD:
		return insn->reg != unwind_code_sp;
	case UNWIND_CODE_LEAVE:
		return false;
	}
	return !(insn->clobbers & BIT(unwind_code_sp));
}

/**
 * unwind_code_is_straight - is code between two addresses straight-line code?
 * @code: the code
 * @at: the address of an instruction
 * @ip: the same address or a higher one
 * @sp: the stack pointer at @at; changed to that at @ip
 * @high: raised to the highest stack pointer between @at and @ip
 *
 * Behind a call that does not return, another function may begin.  That function would begin with
 * its return address on top of the stack, and could pop it.  So no instruction behind a call may
 * raise the stack pointer.
 *
 * Return: true if, assuming that calls return, each instruction is executed before @ip is reached,
 *	   the stack pointer is known, and no instruction after a call raises it.
 */
bool unwind_code_is_straight(struct unwind_code *code, unsigned long at, unsigned long ip,
			     unsigned long *sp, unsigned long *high)
{
	struct unwind_code_insn insn;
	unsigned long before;
	bool called = false;

	for (; at < ip; at += insn.len) {
		if (!code_read_insn(code, at, &insn) ||
		    insn.op == UNWIND_CODE_BRANCH || code_insn_is_last(&insn))
			return false;
		before = *sp;
		if (insn.aligns_sp)
			*sp = ALIGN_DOWN(*sp, 16);
		else if (!straight_sp(code, &insn, sp))
			return false;
		if (called && *sp > before)
			return false;
		called |= insn.op == UNWIND_CODE_CALL || insn.op == UNWIND_CODE_CALL_OTHER;
		*high = max(*high, *sp);
	}
	return at == ip;
}

/*
 * Did the compiler write the breakpoint before @end?  Compilers write several in a row, or a branch
 * over one.  A debugger's breakpoint replaces the first byte of an instruction.  The other bytes of
 * the instruction follow, and no branch leads to them.
 */
static bool code_is_own_trap(const struct unwind_code *code, unsigned long end,
			     unsigned long target, bool after_trap)
{
	u8 bytes[2];

	return after_trap || target == end ||
	       (code->read(code->ctx, end - 1, bytes, 2) == 2 && bytes[1] == bytes[0]);
}

static bool insn_moves_sp(const struct unwind_code_insn *insn)
{
	return insn->op == UNWIND_CODE_MOVE && insn->reg == unwind_code_sp &&
	       insn->base == unwind_code_sp;
}

/* Does an instruction set sp in another way than sp = fp or sp += number? */
static bool insn_sets_sp(const struct unwind_code_insn *insn)
{
	if (insn->op == UNWIND_CODE_MOVE && insn->base == unwind_code_fp && !insn->off)
		return false;
	return (code_written_by(insn) & BIT(unwind_code_sp)) && !insn_moves_sp(insn);
}

/* Update code_frame::pushed for an instruction behind the prologue. */
static void frame_push(struct code_frame *frame, const struct unwind_code *code,
		       const struct unwind_code_insn *insn)
{
	if (insn_moves_sp(insn))
		frame->pushed -= insn->off;
	else if (insn->op == UNWIND_CODE_PUSH || insn->op == UNWIND_CODE_PUSH_MEM)
		frame->pushed += code->word;
	else if (insn->op == UNWIND_CODE_POP || insn->op == UNWIND_CODE_POP_MEM)
		frame->pushed -= code->word;
	else if (insn->op >= UNWIND_CODE_LEAVE || insn_sets_sp(insn))
		frame->pushed = 0;
}

/*
 * Update @is_left for the address @end, after @insn: once the function has removed its frame,
 * the frame pointer is the caller's.  Branches and jumps after the removal lead to code without
 * a frame, too: assume no frame from their lowest target to the first jump, return or trap after
 * their highest target.  Branches after @frame->ip or before the prologue are not seen.
 */
static void frame_leave(struct code_frame *frame, const struct unwind_code_insn *insn,
			unsigned long end)
{
	const unsigned long target = end + insn->off;

	if (frame->is_left && target <= frame->ip &&
	    (insn->op == UNWIND_CODE_BRANCH || insn->op == UNWIND_CODE_JUMP)) {
		frame->left_from = min(frame->left_from, target);
		frame->left_to = max(frame->left_to, target);
	}
	if (!code_insn_is_last(insn)) {
		frame->is_left |= code_written_by(insn) & BIT(unwind_code_fp);
	} else {
		frame->is_left = false;
		if (end > frame->left_to) {
			frame->left_from = ~0UL;
			frame->left_to = 0;
		}
	}
	frame->is_left |= frame->left_from <= end;
}

/* As unwind_code_is_one(). @frame, if any, is updated from the end of the prologue to @ip. */
static bool prologue_fits(struct unwind_code *code, unsigned long at, unsigned long ip,
			  struct code_frame *frame)
{
	bool trap, after_trap = false, taken_down = false;
	struct unwind_code_insn insn;
	unsigned long far = at, target = 0;
	unsigned int i;

	for (i = 0; i < MAX_INSNS && at < ip; i++) {
		if (!code_read_insn(code, at, &insn))
			return false;
		at += insn.len;
		trap = insn.op == UNWIND_CODE_END && insn.len == 1;
		if (trap && !code_is_own_trap(code, at, target, after_trap))
			return false;
		after_trap = trap;
		target = 0;
		/* after the frame was removed, a jump leads to another function */
		if (insn.op == UNWIND_CODE_BRANCH || (insn.op == UNWIND_CODE_JUMP && !taken_down)) {
			target = at + insn.off;
			if (insn.op == UNWIND_CODE_BRANCH || !frame || !frame->is_left)
				far = max(far, target);
		}
		taken_down = insn.op == UNWIND_CODE_LEAVE ||
			     (insn.op == UNWIND_CODE_POP && insn.reg == unwind_code_fp);
		if (code_insn_is_last(&insn) && far < at)
			return false;
		if (!frame || at <= frame->body)
			continue;
		/* the call in front of @ip has not returned, and its arguments are on the stack */
		if (at == ip && code->returned &&
		    (insn.op == UNWIND_CODE_CALL || insn.op == UNWIND_CODE_CALL_OTHER))
			break;
		frame_leave(frame, &insn, at);
		frame_push(frame, code, &insn);
	}
	return at == ip;
}

/**
 * unwind_code_is_one - is the code between two addresses part of a single function?
 * @code: the code
 * @at: the address of an instruction
 * @ip: an address behind it
 *
 * Return: true if the instructions from @at on reach @ip, and if a branch or jump leads past each
 *	   of them that never continues with the next instruction.
 */
bool unwind_code_is_one(struct unwind_code *code, unsigned long at, unsigned long ip)
{
	return prologue_fits(code, at, ip, NULL);
}

/**
 * unwind_code_prologue - find the address at which a function sets its frame pointer
 * @code: the code
 * @start: address of the function, or 0
 * @saves_fp: set to true if the last push before that address pushes the caller's frame pointer, so
 *	      that the frame pointer leads to it
 *
 * Return: that address; 0 if the function sets none.
 */
unsigned long unwind_code_prologue(struct unwind_code *code, unsigned long start, bool *saves_fp)
{
	struct unwind_code_insn insn;
	unsigned long ip;

	*saves_fp = false;
	for (ip = start; start && ip - start <= MAX_ENTRY; ip += insn.len) {
		if (!code_read_insn(code, ip, &insn) || code_insn_is_last(&insn))
			return 0;
		if (insn.op == UNWIND_CODE_MOVE && insn.reg == unwind_code_fp &&
		    insn.base == unwind_code_sp)
			return ip;
		if (insn.op == UNWIND_CODE_PUSH)
			*saves_fp = insn.reg == unwind_code_fp;
		else if (!frame_keeps_pointers(&insn))
			*saves_fp = false;
	}
	return 0;
}

/* Does code lead to an address, without jumps, and save no frame pointer on the way? */
static bool code_has_no_prologue(struct unwind_code *code, unsigned long at, unsigned long ip)
{
	struct unwind_code_insn insn;
	unsigned int i;

	for (i = 0; i < MAX_INSNS && at < ip; i++, at += insn.len) {
		if (!code_read_insn(code, at, &insn) ||
		    ((insn.op == UNWIND_CODE_PUSH || insn.op == UNWIND_CODE_STORE) &&
		     insn.reg == unwind_code_fp))
			return false;
	}
	return at == ip;
}

/*
 * Is @frame->ip HotSpot's deoptimization handler? Before HotSpot replaces a frame, it overwrites
 * the return address that leads to this frame with the address of the handler, which follows the
 * function, pushes its own address and jumps.  No instructions of the function lead to it.  With
 * frame pointers, each function begins with a prologue, and HotSpot uses the register for nothing
 * else; without them, functions save the register.
 */
static bool frame_is_handled(struct unwind_code *code, const struct code_frame *frame)
{
	u8 bytes[UNWIND_CODE_SELF_BYTES];

	return code->word == sizeof(u64) &&
	       code->read(code->ctx, frame->ip, bytes, sizeof(bytes)) == sizeof(bytes) &&
	       unwind_code_pushes_itself(bytes, frame->ip) &&
	       code_has_no_prologue(code, frame->body, frame->ip);
}

/*
 * @frame is the frame that the last prologue in front of @frame->ip sets up. Can this frame have
 * @size bytes at @frame->ip? @size includes arguments that were pushed for a call.
 */
static bool frame_is_of(struct unwind_code *code, struct code_frame *frame, s64 size)
{
	if ((frame->size != size && (frame->size <= 0 || frame->size > size)) ||
	    !IS_ALIGNED(size, code->word))
		return false;
	if (!prologue_fits(code, code->prologue, frame->ip, frame))
		return frame->size == size && frame_is_handled(code, frame);
	size -= frame->size;
	return !frame->is_left && (!size || size == frame->pushed);
}

/**
 * unwind_code_has_frame - does the function of an address set up a frame of this size?
 * @code: the code; @prologue is filled in
 * @ip: address in the code, not the first of a function
 * @size: distance of the frame pointer from the stack pointer at @ip, in bytes
 *
 * Finds the last prologue in front of @ip that sets a frame pointer.  The prologue belongs to
 * the function of @ip if the instructions from the prologue lead to @ip, or if @ip is the
 * function's deoptimization handler.
 *
 * Return: true if it does, and @ip is the handler or lies between the setup and the removal of the
 *	   frame.
 */
bool unwind_code_has_frame(struct unwind_code *code, unsigned long ip, unsigned long size)
{
	unsigned long at, low = ip > MAX_BODY ? ip - MAX_BODY : 0;
	u8 bytes[64 + UNWIND_CODE_FRAME_BYTES];
	struct code_frame frame = { .ip = ip, .left_from = ~0UL };
	int i;

	for (at = ALIGN_DOWN(ip, 64); at >= low; at -= 64) {
		memset(bytes, 0, sizeof(bytes));
		if (!code->read(code->ctx, at, bytes, 64))
			return false;
		code->read(code->ctx, at + 64, bytes + 64, UNWIND_CODE_FRAME_BYTES);
		for (i = 63; i >= 0; i--) {
			code->prologue = at + i;
			if (code->prologue < ip &&
			    unwind_code_sets_frame(bytes + i, code->word) &&
			    prologue_size(code, code->prologue, &frame))
				return frame_is_of(code, &frame, size);
		}
	}
	return false;
}

/**
 * unwind_code_keeps - which registers does a function not change?
 * @code: the code
 * @start: address of the function
 * @ip: address of the next instruction to run in it
 *
 * Reads all instructions of the function, up to the last one that is reached by a
 * branch. Fails if the function calls another one or jumps elsewhere.
 *
 * Return: bit mask of the registers that none of its instructions writes to; 0 if that
 *	   is not known or if @ip is not one of its instructions.
 */
u16 unwind_code_keeps(struct unwind_code *code, unsigned long start, unsigned long ip)
{
	unsigned long at = start, end, target, far = start;
	u16 keeps = (u16)~code_reg_bit(unwind_code_sp);
	struct unwind_code_insn insn;
	bool is_in = false;
	unsigned int i;

	for (i = 0; i < MAX_INSNS && keeps; i++, at = end) {
		if (!code_read_insn(code, at, &insn))
			return 0;
		end = at + insn.len;
		is_in |= at == ip;
		keeps &= ~code_written_by(&insn);

		switch (insn.op) {
		case UNWIND_CODE_JUMP:
		case UNWIND_CODE_BRANCH:
			target = end + insn.off;
			if (target < start || target - start > MAX_BODY)
				return 0;
			far = max(far, target);
			break;
		case UNWIND_CODE_JUMP_REG:
		case UNWIND_CODE_CALL:
		case UNWIND_CODE_CALL_OTHER:
		case UNWIND_CODE_END:
			return 0;
		}
		if ((insn.op == UNWIND_CODE_JUMP || insn.op == UNWIND_CODE_RETURN) &&
		    far < end)
			return is_in ? keeps : 0;
	}
	return 0;
}

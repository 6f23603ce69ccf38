// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules from machine code, for code without tables.
 *
 * Wherever a function is, it gets from there to its return, and at the return
 * instruction the stack pointer is at the return address (System V ABI, AMD64
 * supplement, section 3.2).  So one path from an address to a return tells where the
 * return address lies now: the instructions on it are carried out with symbols for
 * the values of the stack pointer and of the frame pointer, and with nothing known of
 * all else.  Compilers keep the depth of the stack the same on all paths to an
 * address, so any path will do.
 *
 * Three more things on a path tell as much: a stack pointer that is computed or loaded
 * from the frame pointer, so that this is the frame's own; a push of the caller's frame
 * pointer that is then replaced by the stack pointer, which is done at the beginning
 * of a function, above the return address; and a jump to an address that was popped.
 */

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>

#include "code.h"

/* how many instructions are looked at for one address */
#define MAX_INSNS	2048
/* a second path is to tell the same, if one is found with so many more */
#define MAX_MORE	384
/* a long path is noted at places so far apart, in bytes, and so many of them */
#define NOTE_DISTANCE	256
#define MAX_NOTES	24
/* how far in front of an address its function may begin, in bytes */
#define MAX_BODY	SZ_16K
#define MAX_PROLOGUE	24
/* branches that are remembered, as paths end where another one has been */
#define MAX_BRANCHES	48
/* ... and those of which the other direction is still to be tried */
#define MAX_FORKS	12
/* words that the path itself wrote to the stack */
#define MAX_WRITTEN	16
#define MAX_OFFSET	SZ_16M
/* further away is another function, in bytes */
#define MAX_FUNCTION	SZ_16K
/* where compilers begin functions, in bytes */
#define FUNCTION_ALIGN	16

enum value_kind {
	UNKNOWN,
	SP,		/* the stack pointer at the start of the path, plus off */
	FP,		/* the frame pointer then, plus off */
	AT_SP,		/* the word that was on the stack then at SP plus off */
	AT_FP,
};

struct code_value {
	s32	off;
	u8	kind;
};

struct code_written {
	struct code_value	place;
	struct code_value	val;
};

/* where a path may go on as well, with what matters most of what was known there */
struct code_fork {
	unsigned long	ip;
	struct code_value	sp;
	struct code_value	fp;
	bool		fp_is_frame;
};

struct code_note {
	unsigned long	ip;
	s32		sp;
};

/**
 * struct code_path - a path, and what is known where it has come to
 * @code: what it goes through
 * @ip: address of the next instruction
 * @regs: the registers
 * @written: what it wrote to the stack, the last MAX_WRITTEN words
 * @nr_written: how many
 * @branches: conditional branches that were come to
 * @nr_branches: how many
 * @forks: their other directions that are still to be tried
 * @nr_forks: how many
 * @fp_is_frame: the stack pointer was found from the frame pointer
 * @used: bit mask of the registers whose first values were copied
 * @dead: bit mask of those that were overwritten before that
 * @left: the path ended with a jump to an address that is not known
 * @fp_is_base: what lies below the first value of the frame pointer was used
 * @notes: places where the stack pointer and the frame pointer were known
 * @nr_notes: how many
 * @insns: how many more instructions may be looked at
 */
struct code_path {
	struct unwind_code	*code;
	unsigned long		ip;
	struct code_value		regs[UNWIND_CODE_NR_REGS];
	struct code_written		written[MAX_WRITTEN];
	unsigned int		nr_written;
	unsigned long		branches[MAX_BRANCHES];
	unsigned int		nr_branches;
	struct code_fork		forks[MAX_FORKS];
	unsigned int		nr_forks;
	bool			fp_is_frame;
	u16			used;
	u16			dead;
	bool			left;
	bool			fp_is_base;
	struct code_note		notes[MAX_NOTES];
	unsigned int		nr_notes;
	unsigned int		insns;
};

static struct code_value value_plus(struct code_value v, s64 off)
{
	if (!off)
		return v;
	off += v.off;
	if ((v.kind != SP && v.kind != FP) || off > MAX_OFFSET || off < -MAX_OFFSET)
		return (struct code_value) {};
	v.off = off;
	return v;
}

static struct code_value path_reg(const struct code_path *path, u8 reg)
{
	return reg < UNWIND_CODE_NR_REGS ? path->regs[reg] : (struct code_value) {};
}

/* Has it come from the stack? */
static bool is_place(struct code_value v)
{
	return v.kind == AT_SP || v.kind == AT_FP;
}

static struct code_value place_of(struct code_value v)
{
	v.kind = v.kind == AT_SP ? SP : FP;
	return v;
}

static struct code_value place_behind(const struct code_path *path, struct code_value v)
{
	return value_plus(place_of(v), path->code->word);
}

static u16 reg_bit(u8 reg)
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
	return a.kind == b.kind && a.off == b.off;
}

static struct code_written *path_find_written(struct code_path *path, struct code_value place)
{
	unsigned int i, nr = min_t(unsigned int, path->nr_written, MAX_WRITTEN);

	for (i = 0; i < nr; i++) {
		if (value_same(path->written[i].place, place))
			return &path->written[i];
	}
	return NULL;
}

/* Nothing has been there since the start of the path but what was written on it. */
static bool is_below(struct code_value place)
{
	return place.kind == SP && place.off < 0;
}

static void path_store(struct code_path *path, struct code_value place, struct code_value val)
{
	struct code_written *w;

	if (place.kind != SP && place.kind != FP)
		return;
	w = path_find_written(path, place);
	if (!w && !val.kind && is_below(place))
		return;
	if (!w)
		w = &path->written[path->nr_written++ % MAX_WRITTEN];
	w->place = place;
	w->val = val;
}

static struct code_value path_load(struct code_path *path, struct code_value place)
{
	struct code_written *w;

	if (place.kind != SP && place.kind != FP)
		return (struct code_value) {};
	w = path_find_written(path, place);
	if (w)
		return w->val;
	if (is_below(place))
		return (struct code_value) {};
	place.kind = place.kind == SP ? AT_SP : AT_FP;
	return place;
}

static void path_push(struct code_path *path, struct code_value val)
{
	struct code_value sp = value_plus(path->regs[unwind_code_sp],
				     -(s64)path->code->word);

	path->regs[unwind_code_sp] = sp;
	path_store(path, sp, val);
}

static struct code_value path_pop(struct code_path *path)
{
	struct code_value sp = path->regs[unwind_code_sp];

	path->regs[unwind_code_sp] = value_plus(sp, path->code->word);
	return path_load(path, sp);
}

/*
 * What functions may destroy by the ABI.  Those that destroy more have callers that
 * know.
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
 * The return address lies at @place, or was taken from the place that the word
 * written there came from.
 */
static bool path_return_at(struct code_path *path, struct code_value place)
{
	struct unwind_code *code = path->code;
	struct code_value fp = path->regs[unwind_code_fp];

	place = path_load(path, place);
	if (place.kind != AT_SP && place.kind != AT_FP)
		return false;

	code->by_fp = place.kind == AT_FP;
	code->cfa_off = place.off + code->word;
	code->fp_off = fp.off - code->cfa_off;
	code->fp_saved = fp.kind == place.kind;
	code->fp_lost = !code->fp_saved && !(fp.kind == FP && !fp.off);
	code->extends = false;
	return true;
}

/* The frame pointer leads to the caller's, and that to the return address. */
static bool path_return_by_fp(struct code_path *path)
{
	struct unwind_code *code = path->code;

	code->by_fp = true;
	code->cfa_off = 2 * code->word;
	code->fp_off = -2 * (s32)code->word;
	code->fp_saved = true;
	code->fp_lost = false;
	code->extends = true;
	return true;
}

/* Has the stack pointer been found from what the frame pointer was? */
static void path_note_frame(struct code_path *path)
{
	u8 kind = path->regs[unwind_code_sp].kind;

	if (kind == FP || kind == AT_FP)
		path->fp_is_frame = true;
}

/*
 * False if this sets up a frame, whose return address lies above the frame pointer
 * that was pushed.
 */
static bool path_move(struct code_path *path, const struct unwind_code_insn *insn)
{
	struct code_value v = value_plus(path_reg(path, insn->base), insn->off);
	const struct code_value caller = { .kind = FP };
	struct code_written *w;

	if (insn->reg == unwind_code_fp && insn->base == unwind_code_sp &&
	    value_same(path->regs[unwind_code_fp], caller)) {
		w = path_find_written(path, v);
		if (w && value_same(w->val, caller))
			return false;
	}
	path_set(path, insn->reg, v);
	return true;
}

/* Go on behind a branch, and keep where it leads to.  False if a path was here before. */
static bool path_branch(struct code_path *path, unsigned long target)
{
	unsigned int i, nr = min_t(unsigned int, path->nr_branches, MAX_BRANCHES);

	for (i = 0; i < nr; i++) {
		if (path->branches[i] == path->ip)
			return false;
	}
	path->branches[path->nr_branches++ % MAX_BRANCHES] = path->ip;
	if (path->nr_forks < MAX_FORKS)
		path->forks[path->nr_forks++] = (struct code_fork) {
			.ip = target,
			.sp = path->regs[unwind_code_sp],
			.fp = path->regs[unwind_code_fp],
			.fp_is_frame = path->fp_is_frame,
		};
	return true;
}

/* Go on where the last branch leads to that was passed.  False if there is none. */
static bool path_next_fork(struct code_path *path)
{
	const struct code_fork *fork;

	if (!path->nr_forks)
		return false;
	fork = &path->forks[--path->nr_forks];
	memset(path->regs, 0, sizeof(path->regs));
	path->regs[unwind_code_sp] = fork->sp;
	path->regs[unwind_code_fp] = fork->fp;
	path->fp_is_frame = fork->fp_is_frame;
	path->ip = fork->ip;
	path->nr_written = 0;
	path->nr_notes = 0;
	return true;
}

enum step {
	GO_ON,
	FOUND,
	NO_WAY,
};

/*
 * May the next instruction be the first of another function?  Then what was called
 * may be one that does not return.
 */
static bool path_at_function(const struct code_path *path)
{
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	unsigned long ip = path->ip;
	struct unwind_code_insn insn;
	unsigned int nr;

	while (!IS_ALIGNED(ip, FUNCTION_ALIGN)) {
		nr = path->code->read(path->code->ctx, ip, bytes, sizeof(bytes));
		if (!unwind_code_decode(bytes, nr, path->code->word, &insn) ||
		    insn.op != UNWIND_CODE_NOP)
			return false;
		/* Go's compiler ends blocks like this */
		if (insn.len == 1)
			return true;
		ip += insn.len;
	}
	return true;
}

static void path_note_base(struct code_path *path, struct code_value place)
{
	if (place.kind == FP && place.off < 0)
		path->fp_is_base = true;
}

/* What becomes of the registers' first values? */
static void path_note_use(struct code_path *path, const struct unwind_code_insn *insn)
{
	u16 from = 0, to = insn->clobbers;

	switch (insn->op) {
	case UNWIND_CODE_MOVE:
		from = reg_bit(insn->base);
		to |= reg_bit(insn->reg);
		break;
	case UNWIND_CODE_LOAD:
	case UNWIND_CODE_POP:
		to |= reg_bit(insn->reg);
		break;
	case UNWIND_CODE_STORE:
	case UNWIND_CODE_PUSH:
	case UNWIND_CODE_JUMP_REG:
		from = reg_bit(insn->reg);
		break;
	}
	path->used |= from & ~path->dead;
	path->dead |= to & ~path->used;
}

static enum step path_call(struct code_path *path, const struct unwind_code_insn *insn)
{
	/* a call of the next instruction is a push of its address */
	if (insn->op == UNWIND_CODE_CALL && !insn->off) {
		path_push(path, (struct code_value) {});
		return GO_ON;
	}
	if (path_at_function(path))
		return NO_WAY;
	path_forget(path);
	/* functions of 32-bit code may take their arguments off the stack */
	if (path->code->word == sizeof(u32))
		path->regs[unwind_code_sp] = (struct code_value) {};
	return GO_ON;
}

/* A function that goes on in another one has its caller's frame pointer just popped. */
static bool path_is_at_end(const struct code_path *path)
{
	struct code_value fp = path->regs[unwind_code_fp];

	return is_place(fp) &&
	       value_same(place_behind(path, fp), path->regs[unwind_code_sp]);
}

/* A jump to an address that was popped is a return. */
static enum step path_jump(struct code_path *path, struct code_value to)
{
	if (is_place(to) &&
	    value_same(place_behind(path, to), path->regs[unwind_code_sp]))
		return path_return_at(path, place_of(to)) ? FOUND : NO_WAY;
	if (path_is_at_end(path))
		return path_return_at(path, path->regs[unwind_code_sp]) ? FOUND : NO_WAY;
	path->left = true;
	return NO_WAY;
}

/* Carry out one instruction; path->ip is behind it already. */
static enum step path_step(struct code_path *path, const struct unwind_code_insn *insn)
{
	struct code_value v, sp = path->regs[unwind_code_sp];
	unsigned long target = path->ip + insn->off;
	unsigned int i;

	for (i = 0; i < UNWIND_CODE_NR_REGS; i++) {
		if (insn->clobbers & BIT(i))
			path->regs[i] = (struct code_value) {};
	}

	switch (insn->op) {
	case UNWIND_CODE_NOP:
	case UNWIND_CODE_OTHER:
		return GO_ON;
	case UNWIND_CODE_MOVE:
		if (path_move(path, insn))
			break;
		v = value_plus(path_reg(path, insn->base), insn->off);
		v = value_plus(v, path->code->word);
		return path_return_at(path, v) ? FOUND : NO_WAY;
	case UNWIND_CODE_LOAD:
		v = value_plus(path_reg(path, insn->base), insn->off);
		path_note_base(path, v);
		path_set(path, insn->reg, path_load(path, v));
		break;
	case UNWIND_CODE_STORE:
		v = value_plus(path_reg(path, insn->base), insn->off);
		path_note_base(path, v);
		path_store(path, v, path_reg(path, insn->reg));
		break;
	case UNWIND_CODE_PUSH:
		path_push(path, path_reg(path, insn->reg));
		break;
	case UNWIND_CODE_POP:
		v = path_pop(path);
		path_set(path, insn->reg, v);
		break;
	case UNWIND_CODE_LEAVE:
		path->regs[unwind_code_sp] = path->regs[unwind_code_fp];
		path_note_frame(path);
		path->regs[unwind_code_fp] = path_pop(path);
		break;
	case UNWIND_CODE_RETURN:
		return path_return_at(path, sp) ? FOUND : NO_WAY;
	case UNWIND_CODE_JUMP:
		if ((insn->off > MAX_FUNCTION || insn->off < -MAX_FUNCTION) &&
		    path_is_at_end(path))
			return path_return_at(path, sp) ? FOUND : NO_WAY;
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

/* At some places of a path the frame pointer is what it was and the stack pointer known. */
static bool path_is_simple(const struct code_path *path)
{
	const struct code_value fp = { .kind = FP };

	return path->regs[unwind_code_sp].kind == SP &&
	       value_same(path->regs[unwind_code_fp], fp);
}

/* The rule of another place on the path is known: it is the same but for the depth. */
static bool path_use_known(struct code_path *path)
{
	struct unwind_code *code = path->code, known = *code;
	s32 sp = path->regs[unwind_code_sp].off;

	if (!code->known || !code->known(code->ctx, path->ip, &known))
		return false;
	code->by_fp = known.by_fp;
	code->cfa_off = known.cfa_off + (known.by_fp ? 0 : sp);
	code->fp_off = known.fp_off;
	code->fp_saved = known.fp_saved;
	code->fp_lost = known.fp_lost;
	code->extends = known.extends;
	code->end = path->ip;
	return true;
}

static bool path_come_to(struct code_path *path, unsigned long from)
{
	if (from / NOTE_DISTANCE == path->ip / NOTE_DISTANCE || !path_is_simple(path))
		return false;
	if (path_use_known(path))
		return true;
	if (path->nr_notes < MAX_NOTES)
		path->notes[path->nr_notes++] = (struct code_note) {
			.ip = path->ip, .sp = path->regs[unwind_code_sp].off,
		};
	return false;
}

static void path_tell(const struct code_path *path)
{
	struct unwind_code *code = path->code, rule;
	unsigned int i;

	for (i = 0; code->note && i < path->nr_notes; i++) {
		rule = *code;
		if (!rule.by_fp)
			rule.cfa_off -= path->notes[i].sp;
		code->note(code->ctx, path->notes[i].ip, &rule);
	}
}

static bool path_follow(struct code_path *path)
{
	unsigned long from;

	struct unwind_code *code = path->code;
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	struct unwind_code_insn insn;
	enum step step = GO_ON;
	unsigned int nr;

	while (step == GO_ON && path->insns) {
		nr = code->read(code->ctx, path->ip, bytes, sizeof(bytes));
		if (!unwind_code_decode(bytes, nr, code->word, &insn))
			break;
		from = path->ip;
		path->ip += insn.len;
		code->end = path->ip;
		path->insns--;
		path_note_use(path, &insn);
		step = path_step(path, &insn);
		if (step == GO_ON && path_come_to(path, from))
			step = FOUND;
	}
	if (step != FOUND && path->fp_is_frame)
		return path_return_by_fp(path);
	return step == FOUND;
}

static bool same_rule(const struct unwind_code *a, const struct unwind_code *b)
{
	return a->by_fp == b->by_fp && a->cfa_off == b->cfa_off;
}

static bool same_fp(const struct unwind_code *a, const struct unwind_code *b)
{
	return a->fp_saved == b->fp_saved && a->fp_lost == b->fp_lost &&
	       (!a->fp_saved || a->fp_off == b->fp_off);
}

/**
 * unwind_code_find - find the rule of an address in the code
 * @code: the code; the rule is filled in
 * @ip: address of the next instruction to run in the frame
 *
 * Return: 0, or -ENOENT if no path that was followed tells, or two tell otherwise.
 */
int unwind_code_find(struct unwind_code *code, unsigned long ip)
{
	struct unwind_code first;
	struct code_path path;
	bool found;

	memset(&path, 0, sizeof(path));
	path.code = code;
	path.ip = ip;
	path.insns = MAX_INSNS;
	path.regs[unwind_code_sp].kind = SP;
	path.regs[unwind_code_fp].kind = FP;

	found = path_follow(&path);
	/* code jumps to a function only with the return address on the stack */
	code->live = path.left ? path.used : ~path.dead;
	while (!found && path_next_fork(&path))
		found = path_follow(&path);
	code->fp_is_base = path.fp_is_base;
	if (!found)
		return -ENOENT;
	path_tell(&path);

	first = *code;
	found = false;
	path.insns = min_t(unsigned int, path.insns, MAX_MORE);
	while (!found && path_next_fork(&path))
		found = path_follow(&path);
	if (found && !same_rule(code, &first))
		return -ENOENT;
	if (found && !same_fp(code, &first)) {
		first.fp_saved = false;
		first.fp_lost = true;
	}
	*code = first;
	return 0;
}

/* How far above the stack pointer a prologue at @ip sets the frame pointer. */
static bool prologue_size(struct unwind_code *code, unsigned long ip, s64 *size)
{
	struct unwind_code_insn insn;
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	s64 fp = -1, sp = 0;
	unsigned int nr, i;

	for (i = 0; i < MAX_PROLOGUE; i++, ip += insn.len) {
		nr = code->read(code->ctx, ip, bytes, sizeof(bytes));
		if (!unwind_code_decode(bytes, nr, code->word, &insn))
			break;
		if (insn.op == UNWIND_CODE_MOVE && insn.reg == unwind_code_fp &&
		    insn.base == unwind_code_sp && fp < 0)
			fp = insn.off;
		else if (insn.op == UNWIND_CODE_MOVE && insn.reg == unwind_code_sp &&
			 insn.base == unwind_code_sp)
			sp += insn.off;
		else if (insn.op == UNWIND_CODE_PUSH)
			sp -= code->word;
		else if (insn.op > UNWIND_CODE_STORE ||
			 (insn.clobbers & (BIT(unwind_code_sp) | BIT(unwind_code_fp))))
			break;
	}
	*size = fp - sp;
	return fp >= 0;
}

/**
 * unwind_code_has_frame - does the code set up a frame of this size?
 * @code: the code
 * @ip: address in it, not the first of a function
 * @size: distance of the frame pointer from the stack pointer at @ip, in bytes
 *
 * What counts is the last prologue in front of @ip that sets up a frame pointer.
 *
 * Return: true if it leaves the two so far apart.
 */
bool unwind_code_has_frame(struct unwind_code *code, unsigned long ip, unsigned long size)
{
	unsigned long at, low = ip > MAX_BODY ? ip - MAX_BODY : 0;
	u8 bytes[64 + UNWIND_CODE_FRAME_BYTES];
	s64 has;
	int i;

	for (at = ALIGN_DOWN(ip, 64); at >= low; at -= 64) {
		memset(bytes, 0, sizeof(bytes));
		if (!code->read(code->ctx, at, bytes, 64))
			return false;
		code->read(code->ctx, at + 64, bytes + 64, UNWIND_CODE_FRAME_BYTES);
		for (i = 63; i >= 0; i--) {
			if (at + i < ip &&
			    unwind_code_sets_frame(bytes + i, code->word) &&
			    prologue_size(code, at + i, &has))
				return has >= 0 && (unsigned long)has == size;
		}
	}
	return false;
}

/* The registers that an instruction writes to, but for the stack pointer. */
static u16 written_by(const struct unwind_code_insn *insn)
{
	switch (insn->op) {
	case UNWIND_CODE_MOVE:
	case UNWIND_CODE_LOAD:
	case UNWIND_CODE_POP:
		return insn->clobbers | reg_bit(insn->reg);
	case UNWIND_CODE_LEAVE:
		return insn->clobbers | reg_bit(unwind_code_fp);
	}
	return insn->clobbers;
}

/**
 * unwind_code_keeps - which registers does a function leave alone?
 * @code: the code
 * @start: address of the function
 * @ip: address in it of the instruction that is to run next
 *
 * All instructions are read, from the first to the one behind which no branch leads.
 * Nothing is known of a function that calls another one or that goes on elsewhere.
 *
 * Return: bit mask of the registers that none of its instructions writes to; 0 if that
 *	   cannot be told or if @ip is not an instruction of it.
 */
u16 unwind_code_keeps(struct unwind_code *code, unsigned long start, unsigned long ip)
{
	unsigned long at = start, end, target, far = start;
	u16 keeps = (u16)~reg_bit(unwind_code_sp);
	struct unwind_code_insn insn;
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	bool is_in = false;
	unsigned int nr, i;

	for (i = 0; i < MAX_INSNS && keeps; i++, at = end) {
		nr = code->read(code->ctx, at, bytes, sizeof(bytes));
		if (!unwind_code_decode(bytes, nr, code->word, &insn))
			return 0;
		end = at + insn.len;
		is_in |= at == ip;
		keeps &= ~written_by(&insn);

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

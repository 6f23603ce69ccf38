// SPDX-License-Identifier: GPL-2.0
/*
 * The effect of x86 instructions on the registers and words that unwinding by code follows.
 *
 * An unknown instruction ends a path.  For a known instruction, all general registers that it
 * writes to must be given.  So the instructions that write to general registers are listed by
 * opcode map.  All other instructions of a map are unknown or write to no general register.
 *
 * Opcodes: Intel SDM, volume 2, appendix A.
 */

#include <linux/string.h>
#include <linux/types.h>

#include <asm/insn.h>

#include "code.h"

const u8 unwind_code_sp = 4;
const u8 unwind_code_fp = 5;

#define RAX	0
#define RCX	1
#define RDX	2
#define RBX	3
#define RSI	6
#define RDI	7

#define REG(nr)	((u16)(1U << (nr)))

/* an instruction's ModR/M byte, and the fields that belong to it */
struct operands {
	u8	mod;
	u8	reg;
	u8	rm;	/* a register; for memory, the base register or UNWIND_CODE_NO_REG */
	u8	ext;	/* reg without REX.R: part of the opcode */
	bool	full;	/* the operands have the size of a word of the stack */
	bool	plain;	/* the address in memory is base plus displacement, without a segment */
};

static bool x86_has_prefix(const struct insn *insn, u8 prefix)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (insn->prefixes.bytes[i] == prefix)
			return true;
	}
	return false;
}

/* The prefix that is part of the opcode: 1 for 66, 2 for f3, 3 for f2. */
static u8 simd_prefix(const struct insn *insn)
{
	if (insn->vex_prefix.nbytes)
		return insn_vex_p_bits((struct insn *)insn);
	if (x86_has_prefix(insn, 0xf3))
		return 2;
	if (x86_has_prefix(insn, 0xf2))
		return 3;
	return x86_has_prefix(insn, 0x66);
}

/* The bits R, X and B at their places in REX. VEX and EVEX prefixes have them inverted. */
static u8 x86_rex_bits(const struct insn *insn)
{
	u8 vex = ~insn->vex_prefix.bytes[1];

	if (insn->vex_prefix.nbytes)
		return vex >> 5 & (insn->vex_prefix.nbytes == 2 ? 4 : 7);
	return insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
}

static void x86_get_operands(const struct insn *insn, unsigned int word, struct operands *o)
{
	u8 rex = x86_rex_bits(insn);
	u8 modrm = insn->modrm.bytes[0];

	o->mod = X86_MODRM_MOD(modrm);
	o->ext = X86_MODRM_REG(modrm);
	o->reg = o->ext | (X86_REX_R(rex) ? 8 : 0);
	o->rm = X86_MODRM_RM(modrm) | (X86_REX_B(rex) ? 8 : 0);
	o->full = insn->opnd_bytes == word;
	o->plain = insn->addr_bytes == word && !x86_has_prefix(insn, 0x64) &&
		   !x86_has_prefix(insn, 0x65);
	if (o->mod == 3)
		return;
	if (insn->sib.nbytes) {
		u8 sib = insn->sib.bytes[0];

		if (X86_SIB_INDEX(sib) != 4 || X86_REX_X(rex))
			o->plain = false;
		o->rm = X86_SIB_BASE(sib) | (X86_REX_B(rex) ? 8 : 0);
		if (!o->mod && X86_SIB_BASE(sib) == 5)
			o->plain = false;
	} else if (!o->mod && X86_MODRM_RM(modrm) == 5) {
		o->plain = false;
	}
	if (!o->plain)
		o->rm = UNWIND_CODE_NO_REG;
}

/* Bit mask of the register in the r/m operand; 0 if the operand is in memory. */
static u16 x86_rm_bit(const struct operands *o)
{
	return o->mod == 3 ? REG(o->rm) : 0;
}

/* The register of a byte operand: without REX, 4 to 7 are ah to bh. */
static u16 x86_byte_bit(const struct insn *insn, u8 reg)
{
	return insn->rex_prefix.nbytes || reg < 4 ? REG(reg) : REG(reg & 3);
}

/* As x86_rm_bit(), if the operand is a byte. */
static u16 x86_byte_rm_bit(const struct insn *insn, const struct operands *o)
{
	return o->mod == 3 ? x86_byte_bit(insn, o->rm) : 0;
}

static void x86_set_insn(struct unwind_code_insn *to, u8 op, u8 reg, u8 base, s32 off)
{
	to->op = op;
	to->reg = reg;
	to->base = base;
	to->off = off;
}

/* mov between a register and the r/m operand */
static void decode_mov(const struct insn *insn, const struct operands *o, bool to_rm,
		       struct unwind_code_insn *to)
{
	s32 disp = insn->displacement.value;

	if (o->mod == 3) {
		u8 dst = to_rm ? o->rm : o->reg, src = to_rm ? o->reg : o->rm;

		if (o->full)
			x86_set_insn(to, UNWIND_CODE_MOVE, dst, src, 0);
		else
			to->clobbers = REG(dst);
	} else if (to_rm) {
		x86_set_insn(to, UNWIND_CODE_STORE, o->full ? o->reg : UNWIND_CODE_NO_REG,
			     o->rm, disp);
	} else if (o->full && o->plain) {
		x86_set_insn(to, UNWIND_CODE_LOAD, o->reg, o->rm, disp);
	} else {
		to->clobbers = REG(o->reg);
	}
}

/* The eight operations of opcodes 80 to 83, with an immediate operand. */
static void decode_group1(const struct insn *insn, const struct operands *o,
			  struct unwind_code_insn *to)
{
	s32 imm = insn->immediate.value;

	if (o->ext == 7)	/* cmp */
		return;
	if (o->mod != 3)
		return;
	if (o->full && (o->ext == 0 || (o->ext == 5 && imm != (s32)0x80000000)))
		x86_set_insn(to, UNWIND_CODE_MOVE, o->rm, o->rm, o->ext ? -imm : imm);
	else
		to->clobbers = REG(o->rm);
	to->aligns_sp = o->full && o->ext == 4 && imm == -16 && o->rm == unwind_code_sp;
}

/* push or pop of the r/m operand; @op is UNWIND_CODE_PUSH or UNWIND_CODE_POP */
static void decode_push_pop(const struct insn *insn, const struct operands *o, u8 op,
			    struct unwind_code_insn *to)
{
	if (o->mod == 3)
		x86_set_insn(to, op, o->rm, 0, 0);
	else
		x86_set_insn(to, op == UNWIND_CODE_PUSH ?
			     UNWIND_CODE_PUSH_MEM : UNWIND_CODE_POP_MEM,
			     UNWIND_CODE_NO_REG, o->plain ? o->rm : UNWIND_CODE_NO_REG,
			     insn->displacement.value);
}

/* ff: inc, dec, call, far call, jmp, far jmp, push */
static bool decode_group5(const struct insn *insn, const struct operands *o,
			  struct unwind_code_insn *to)
{
	u8 reg = o->mod == 3 ? o->rm : UNWIND_CODE_NO_REG;

	switch (o->ext) {
	case 0:
	case 1:
		to->clobbers = x86_rm_bit(o);
		return true;
	case 2:
		to->op = UNWIND_CODE_CALL_OTHER;
		return true;
	case 4:
		x86_set_insn(to, UNWIND_CODE_JUMP_REG, reg, 0, 0);
		return true;
	case 6:
		decode_push_pop(insn, o, UNWIND_CODE_PUSH, to);
		return true;
	}
	return false;
}

/* Does a 66 prefix make the operand 16 bits wide, so that it is not a word of the stack? */
static bool x86_is_short(const struct insn *insn)
{
	return x86_has_prefix(insn, 0x66);
}

/* One-byte opcodes without a ModR/M byte. A register operand is in the low bits of the opcode. */
static bool decode_one_byte_short(const struct insn *insn, unsigned int word,
				  struct unwind_code_insn *to)
{
	u8 op = insn->opcode.bytes[0];
	u8 rex = insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;
	u8 reg = (op & 7) | (X86_REX_B(rex) ? 8 : 0);

	switch (op) {
	case 0x40 ... 0x4f:	/* inc, dec; prefixes in 64-bit code */
		to->clobbers = REG(op & 7);
		return word == 4;
	case 0x50 ... 0x57:
		x86_set_insn(to, UNWIND_CODE_PUSH, reg, 0, 0);
		return !x86_is_short(insn);
	case 0x58 ... 0x5f:
		x86_set_insn(to, UNWIND_CODE_POP, reg, 0, 0);
		return !x86_is_short(insn);
	case 0x68:
	case 0x6a:
	case 0x9c:		/* pushf */
		x86_set_insn(to, UNWIND_CODE_PUSH, UNWIND_CODE_NO_REG, 0, 0);
		return !x86_is_short(insn);
	case 0x9d:		/* popf */
		x86_set_insn(to, UNWIND_CODE_POP, UNWIND_CODE_NO_REG, 0, 0);
		return !x86_is_short(insn);
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:	/* loop, jrcxz */
		x86_set_insn(to, UNWIND_CODE_BRANCH, 0, 0, insn->immediate.value);
		if (op >= 0xe0 && op < 0xe3)
			to->clobbers = REG(RCX);
		return true;
	case 0x90 ... 0x97:	/* xchg with ax */
		to->op = UNWIND_CODE_NOP;
		return op == 0x90 && !X86_REX_B(rex);
	case 0x98:		/* cbw and so on */
	case 0x9f:		/* lahf */
	case 0x04: case 0x05: case 0x0c: case 0x0d: case 0x14: case 0x15:
	case 0x1c: case 0x1d: case 0x24: case 0x25: case 0x2c: case 0x2d:
	case 0x34: case 0x35:
	case 0xa0: case 0xa1:
		to->clobbers = REG(RAX);
		return true;
	case 0x99:
		to->clobbers = REG(RDX);
		return true;
	case 0x9b:		/* wait */
	case 0x9e:		/* sahf */
	case 0x3c: case 0x3d:
	case 0xa2: case 0xa3:
	case 0xa8: case 0xa9:
	case 0xf5: case 0xf8: case 0xf9: case 0xfc: case 0xfd:
		return true;
	case 0xcc:		/* int3 */
	case 0xf4:		/* hlt */
		to->op = UNWIND_CODE_END;
		return true;
	case 0xa4 ... 0xa7:	/* movs, cmps, stos, lods, scas */
	case 0xaa ... 0xaf:
		to->clobbers = REG(RAX) | REG(RCX) | REG(RSI) | REG(RDI);
		return true;
	case 0xb0 ... 0xb7:	/* mov to a byte register; ah to bh are parts of ax to bx */
		to->clobbers = x86_byte_bit(insn, reg);
		return true;
	case 0xb8 ... 0xbf:
		to->clobbers = REG(reg);
		return true;
	case 0xc2:		/* ret that also removes arguments: not supported */
		to->op = UNWIND_CODE_END;
		return !x86_is_short(insn);
	case 0xc3:
		to->op = UNWIND_CODE_RETURN;
		return !x86_is_short(insn);
	case 0xc9:
		to->op = UNWIND_CODE_LEAVE;
		return !x86_is_short(insn);
	case 0xe8:
		x86_set_insn(to, UNWIND_CODE_CALL, 0, 0, insn->immediate.value);
		return !x86_is_short(insn);
	case 0xe9:
	case 0xeb:
		x86_set_insn(to, UNWIND_CODE_JUMP, 0, 0, insn->immediate.value);
		return !x86_is_short(insn);
	}
	return false;
}

/* One-byte opcodes with a ModR/M byte. */
static bool decode_one_byte(const struct insn *insn, const struct operands *o,
			    unsigned int word, struct unwind_code_insn *to)
{
	u8 op = insn->opcode.bytes[0];

	switch (op) {
	case 0x38 ... 0x3b:	/* cmp */
	case 0x84: case 0x85:	/* test */
		return true;
	case 0x00: case 0x08: case 0x10: case 0x18: case 0x20: case 0x28: case 0x30:
		to->clobbers = x86_byte_rm_bit(insn, o);
		return true;
	case 0x01: case 0x09: case 0x11: case 0x19: case 0x21: case 0x29: case 0x31:
		to->clobbers = x86_rm_bit(o);
		return true;
	case 0x02: case 0x0a: case 0x12: case 0x1a: case 0x22: case 0x2a: case 0x32:
		to->clobbers = x86_byte_bit(insn, o->reg);
		return true;
	case 0x03: case 0x0b: case 0x13: case 0x1b: case 0x23: case 0x2b: case 0x33:
	case 0x69: case 0x6b:	/* imul */
		to->clobbers = REG(o->reg);
		return true;
	case 0x63:		/* movsxd */
		to->clobbers = word == 8 ? REG(o->reg) : x86_rm_bit(o);
		return true;
	case 0x80 ... 0x83:
		/* opcode 82 is valid in 32-bit code only */
		if (!(op & 1) && o->mod == 3 && o->ext != 7) {
			to->clobbers = x86_byte_bit(insn, o->rm);
			return true;
		}
		decode_group1(insn, o, to);
		return true;
	case 0x86: case 0x87:	/* xchg, mostly to take a lock */
		to->clobbers = op == 0x86 ? x86_byte_bit(insn, o->reg) : REG(o->reg);
		if (o->full && o->mod != 3)
			x86_set_insn(to, UNWIND_CODE_STORE, o->reg, o->rm,
				     insn->displacement.value);
		return o->mod != 3;
	case 0x88:
		to->clobbers = x86_byte_rm_bit(insn, o);
		return true;
	case 0x8a:
		to->clobbers = x86_byte_bit(insn, o->reg);
		return true;
	case 0x89:
		decode_mov(insn, o, true, to);
		return true;
	case 0x8b:
		decode_mov(insn, o, false, to);
		return true;
	case 0x8c:		/* mov from a segment register */
		to->clobbers = x86_rm_bit(o);
		return true;
	case 0x8d:
		if (o->mod == 3)
			return false;
		if (o->full && o->plain)
			x86_set_insn(to, UNWIND_CODE_MOVE, o->reg, o->rm,
				     insn->displacement.value);
		else
			to->clobbers = REG(o->reg);
		return true;
	case 0x8f:
		if (o->ext || x86_is_short(insn))
			return false;
		decode_push_pop(insn, o, UNWIND_CODE_POP, to);
		return true;
	case 0xc0: case 0xc1:
	case 0xd0 ... 0xd3:	/* shifts */
		to->clobbers = op & 1 ? x86_rm_bit(o) : x86_byte_rm_bit(insn, o);
		return true;
	case 0xc6: case 0xc7:
		if (o->ext)
			return false;	/* xabort, xbegin */
		to->clobbers = op & 1 ? x86_rm_bit(o) : x86_byte_rm_bit(insn, o);
		return true;
	case 0xd8 ... 0xdf:	/* x87; fnstsw writes to ax */
		to->clobbers = op == 0xdf && o->mod == 3 ? REG(RAX) : 0;
		return true;
	case 0xf6: case 0xf7:
		if (o->ext < 2)		/* test */
			return true;
		if (o->ext < 4)		/* not, neg */
			to->clobbers = op & 1 ? x86_rm_bit(o) : x86_byte_rm_bit(insn, o);
		else			/* mul, imul, div, idiv */
			to->clobbers = REG(RAX) | REG(RDX);
		return true;
	case 0xfe:
		to->clobbers = x86_byte_rm_bit(insn, o);
		return o->ext < 2;
	case 0xff:
		return !x86_is_short(insn) && decode_group5(insn, o, to);
	}
	return false;
}

/* Opcodes after 0f. Instructions with VEX and EVEX prefixes share this map. */
static bool decode_two_byte(const struct insn *insn, const struct operands *o, u8 op,
			    struct unwind_code_insn *to)
{
	u8 rex = insn->rex_prefix.nbytes ? insn->rex_prefix.bytes[0] : 0;

	switch (op) {
	case 0x0b:		/* ud2 */
		to->op = UNWIND_CODE_END;
		return true;
	case 0x05:		/* syscall */
		to->clobbers = REG(RAX) | REG(RCX) | REG(11);
		return true;
	case 0x0d:		/* prefetch */
	case 0x18:		/* prefetch, nop, endbr */
	case 0x1a: case 0x1b: case 0x1c: case 0x1e:
	case 0x77:		/* emms, vzeroupper */
	case 0xa3:		/* bt */
	case 0xc2: case 0xc3: case 0xc6:
		/* rdsspq has the opcode of a nop, but writes to a register */
		if (op == 0x1e && o->mod == 3)
			to->clobbers = REG(o->rm);
		return true;
	case 0x1f:
		to->op = UNWIND_CODE_NOP;
		return true;
	case 0x31:		/* rdtsc */
		to->clobbers = REG(RAX) | REG(RDX);
		return true;
	case 0xa2:		/* cpuid */
		to->clobbers = REG(RAX) | REG(RBX) | REG(RCX) | REG(RDX);
		return true;
	case 0x40 ... 0x4f:	/* cmov; opmasks with VEX */
		to->clobbers = insn->vex_prefix.nbytes ? 0 : REG(o->reg);
		return true;
	case 0x2c: case 0x2d:	/* cvttss2si, cvtss2si */
	case 0x50:		/* movmskps */
	case 0x78: case 0x79:	/* vcvttss2usi with EVEX */
	case 0xaf: case 0xb6: case 0xb7: case 0xb8:
	case 0xbc ... 0xbf:
	case 0xc5:		/* pextrw */
	case 0xd7:		/* pmovmskb */
		to->clobbers = REG(o->reg);
		return true;
	case 0x7e:		/* movd, movq; with f3, movq to an SSE register */
		to->clobbers = simd_prefix(insn) == 2 ? 0 : x86_rm_bit(o);
		return true;
	case 0x90 ... 0x9f:	/* setcc; kmov with VEX */
		if (insn->vex_prefix.nbytes)
			to->clobbers = op == 0x93 ? REG(o->reg) : 0;
		else
			to->clobbers = x86_byte_rm_bit(insn, o);
		return true;
	case 0x80 ... 0x8f:
		x86_set_insn(to, UNWIND_CODE_BRANCH, 0, 0, insn->immediate.value);
		return !x86_is_short(insn);
	case 0xa4: case 0xa5: case 0xac: case 0xad:	/* shld, shrd */
	case 0xab: case 0xb3: case 0xbb:		/* bts, btr, btc */
		to->clobbers = x86_rm_bit(o);
		return true;
	case 0xba:
		to->clobbers = o->ext == 4 ? 0 : x86_rm_bit(o);
		return true;
	case 0xae:		/* fences; ldmxcsr; rdfsbase */
		to->clobbers = x86_rm_bit(o);
		return true;
	case 0xb0: case 0xb1:	/* cmpxchg */
		to->clobbers = REG(RAX) | (op & 1 ? x86_rm_bit(o) : x86_byte_rm_bit(insn, o));
		return true;
	case 0xc0: case 0xc1:	/* xadd */
		to->clobbers = op & 1 ? REG(o->reg) | x86_rm_bit(o) :
					x86_byte_bit(insn, o->reg) | x86_byte_rm_bit(insn, o);
		return true;
	case 0xc7:		/* cmpxchg8b, rdrand */
		to->clobbers = REG(RAX) | REG(RDX) | x86_rm_bit(o);
		return true;
	case 0xc8 ... 0xcf:	/* bswap */
		to->clobbers = REG((op & 7) | (X86_REX_B(rex) ? 8 : 0));
		return true;
	case 0x10 ... 0x17:
	case 0x28 ... 0x2b:
	case 0x2e: case 0x2f:
	case 0x51 ... 0x76:
	case 0x7c: case 0x7d: case 0x7f:
	case 0xc4:
	case 0xd0 ... 0xd6:
	case 0xd8 ... 0xfe:
		return true;
	}
	return false;
}

/* The maps of 0f 38 and 0f 3a. */
static bool decode_three_byte(const struct insn *insn, const struct operands *o, u8 map,
			      u8 op, struct unwind_code_insn *to)
{
	if (map == 3) {
		if (op == 0xf0)				/* rorx */
			to->clobbers = REG(o->reg);
		else if (op >= 0x60 && op <= 0x63)	/* pcmpestri */
			to->clobbers = REG(RCX);
		else if (op >= 0x14 && op <= 0x17)	/* pextr */
			to->clobbers = x86_rm_bit(o);
		return true;
	}
	if (op >= 0xe0) {	/* cmpccxadd, movbe, crc32, adx; andn, bextr and their like */
		to->clobbers = REG(o->reg) | x86_rm_bit(o);
		if (insn->vex_prefix.nbytes)
			to->clobbers |= REG(~(insn->vex_prefix.bytes[2] >> 3) & 15);
	}
	return true;
}

/* 0 for the opcodes of one byte, 1 for those after 0f, 2 and 3 after 0f 38 and 0f 3a */
static unsigned int x86_opcode_map(struct insn *insn)
{
	if (insn->vex_prefix.nbytes)
		return insn_vex_m_bits(insn);
	if (insn->opcode.nbytes < 3)
		return insn->opcode.nbytes - 1;
	return insn->opcode.bytes[1] == 0x38 ? 2 : 3;
}

/* The size of the operand: 8 or 4 bytes. With an EVEX prefix, insn->opnd_bytes is wrong. */
static unsigned int x86_wide_bytes(const struct insn *insn)
{
	if (insn->vex_prefix.nbytes)
		return insn_vex_w_bit((struct insn *)insn) ? 8 : 4;
	return insn->opnd_bytes == 8 ? 8 : 4;
}

static unsigned int x86_vector_bytes(const struct insn *insn)
{
	const u8 *vex = insn->vex_prefix.bytes;

	if (insn->vex_prefix.nbytes == 4)
		return 16 << (vex[3] >> 5 & 3);
	if (!insn->vex_prefix.nbytes)
		return 16;
	return X86_VEX_L(vex[insn->vex_prefix.nbytes - 1]) ? 32 : 16;
}

/* Bytes stored by fst, fstenv, fist and so on: by the opcode (d9, db, dd, df), and by ext. */
static const u8 x87_bytes[4][8] = {
	{ 0, 0, 4, 4, 0, 0, 28, 2 },
	{ 0, 4, 4, 4, 0, 0, 0, 10 },
	{ 0, 8, 8, 8, 0, 0, 0, 2 },
	{ 0, 2, 2, 2, 0, 0, 10, 8 },
};

static unsigned int stored_one_byte(const struct insn *insn, const struct operands *o, u8 op)
{
	unsigned int bytes = op & 1 ? insn->opnd_bytes : 1;

	switch (op) {
	case 0x00: case 0x08: case 0x10: case 0x18: case 0x20: case 0x28: case 0x30:
	case 0x01: case 0x09: case 0x11: case 0x19: case 0x21: case 0x29: case 0x31:
	case 0x86 ... 0x89:	/* xchg, mov */
	case 0xc0: case 0xc1:
	case 0xc6: case 0xc7:
	case 0xd0 ... 0xd3:	/* shifts */
		return bytes;
	case 0x80 ... 0x83:
		return o->ext == 7 ? 0 : bytes;
	case 0x8c:
		return 2;
	case 0xd9: case 0xdb: case 0xdd: case 0xdf:
		return x87_bytes[op >> 1 & 3][o->ext];
	case 0xf6: case 0xf7:
		return o->ext == 2 || o->ext == 3 ? bytes : 0;
	case 0xfe: case 0xff:
		return o->ext < 2 ? bytes : 0;
	}
	return 0;
}

static unsigned int stored_two_byte(const struct insn *insn, const struct operands *o, u8 op)
{
	u8 prefix = simd_prefix(insn);

	switch (op) {
	case 0x11:
		return prefix < 2 ? x86_vector_bytes(insn) : prefix == 2 ? 4 : 8;
	case 0x13: case 0x17: case 0xd6:
		return 8;
	case 0x29: case 0x2b:
		return x86_vector_bytes(insn);
	case 0x7f: case 0xe7:
		return prefix ? x86_vector_bytes(insn) : 8;
	case 0x7e:
		return prefix == 2 ? 0 : x86_wide_bytes(insn);
	case 0x90 ... 0x9f:	/* setcc; kmov with VEX */
		if (!insn->vex_prefix.nbytes)
			return 1;
		return op == 0x91 ? 8 : 0;
	case 0xa4: case 0xa5: case 0xac: case 0xad:
	case 0xb1: case 0xc1: case 0xc3:
		return insn->opnd_bytes;
	case 0xae:		/* stmxcsr */
		return o->ext == 3 ? 4 : 0;
	case 0xb0: case 0xc0:
		return 1;
	case 0xba:
		return o->ext > 4 ? insn->opnd_bytes : 0;
	case 0xc7:
		return o->ext == 1 ? 2 * x86_wide_bytes(insn) : 0;
	}
	return 0;
}

static unsigned int stored_three_byte(const struct insn *insn, u8 map, u8 op)
{
	if (map == 2) {
		switch (op) {
		case 0x2e: case 0x2f: case 0x8e:	/* vmaskmov, vpmaskmov */
			return insn->vex_prefix.nbytes ? x86_vector_bytes(insn) : 0;
		case 0xe0 ... 0xef:	/* cmpccxadd */
			return x86_wide_bytes(insn);
		case 0xf1: case 0xf9:	/* movbe, movdiri */
			return simd_prefix(insn) == 3 ? 0 : insn->opnd_bytes;
		}
		return 0;
	}
	switch (op) {
	case 0x14:
		return 1;
	case 0x15:
		return 2;
	case 0x16:
		return x86_wide_bytes(insn);
	case 0x17:
		return 4;
	case 0x19: case 0x39:	/* vextract of 16 bytes, and of 32 */
		return 16;
	case 0x1b: case 0x3b:
		return 32;
	case 0x1d:		/* vcvtps2ph */
		return x86_vector_bytes(insn) / 2;
	}
	return 0;
}

/*
 * Bytes that an instruction writes to its operand in memory.  Some instructions are not listed,
 * such as those that save the whole state of the FPU or scatter the elements of a vector: no
 * function writes a return address with them.
 */
static unsigned int x86_stored_bytes(const struct insn *insn, const struct operands *o,
				     unsigned int map, u8 op)
{
	if (!insn->modrm.nbytes || o->mod == 3)
		return 0;
	switch (map) {
	case 0:
		return stored_one_byte(insn, o, op);
	case 1:
		return stored_two_byte(insn, o, op);
	default:
		return stored_three_byte(insn, map, op);
	}
}

/* Instructions that x86_stored_bytes() does not list may write to their operand in memory. */
static bool x86_may_write(const struct insn *insn, const struct operands *o, unsigned int map,
			  u8 op)
{
	if (insn->modrm.nbytes)
		return o->mod != 3;
	if (map == 1)
		return op == 0x05;	/* syscall */
	/* mov to an absolute address, movs, stos */
	return !map && ((op >= 0xa2 && op <= 0xa5) || op == 0xaa || op == 0xab);
}

/* jcc, setcc and cmov */
static bool x86_uses_flags(const struct insn *insn, unsigned int map, u8 op)
{
	if (insn->vex_prefix.nbytes)
		return false;
	if (!map)
		return op >= 0x70 && op <= 0x7f;
	return map == 1 && ((op >= 0x40 && op <= 0x4f) || (op >= 0x80 && op <= 0x9f));
}

static bool x86_decode_opcode(const struct insn *insn, const struct operands *o,
			      unsigned int map, u8 op, unsigned int word,
			      struct unwind_code_insn *to)
{
	switch (map) {
	case 0:
		return insn->modrm.nbytes ? decode_one_byte(insn, o, word, to) :
					    decode_one_byte_short(insn, word, to);
	case 1:
		return decode_two_byte(insn, o, op, to);
	case 2:
	case 3:
		return decode_three_byte(insn, o, map, op, to);
	default:
		return false;
	}
}

/**
 * unwind_code_decode - find out what an instruction does
 * @bytes: the code
 * @nr: bytes in @bytes
 * @word: bytes of a stack word of the code, 4 or 8
 * @to: filled in
 *
 * Return: false if the instruction is not known.
 */
bool unwind_code_decode(const u8 *bytes, unsigned int nr, unsigned int word,
			struct unwind_code_insn *to)
{
	struct operands o = {};
	struct insn insn;
	unsigned int map;
	u8 op;

	if (!nr || insn_decode(&insn, bytes, nr, word == 8 ? INSN_MODE_64 : INSN_MODE_32))
		return false;
	/* the length of unknown opcodes is unknown; REX2, for more registers, is not supported */
	if ((insn.opcode.nbytes > 2 && !insn.attr) || insn.rex_prefix.nbytes > 1)
		return false;
	*to = (struct unwind_code_insn) { .op = UNWIND_CODE_OTHER, .len = insn.length };

	if (insn.modrm.nbytes)
		x86_get_operands(&insn, word, &o);

	op = insn.opcode.bytes[insn.opcode.nbytes - 1];
	map = x86_opcode_map(&insn);
	if (!x86_decode_opcode(&insn, &o, map, op, word, to))
		return false;
	to->width = x86_stored_bytes(&insn, &o, map, op);
	if (to->width && to->op == UNWIND_CODE_OTHER)
		x86_set_insn(to, UNWIND_CODE_STORE, UNWIND_CODE_NO_REG, o.rm,
			     insn.displacement.value);
	/* with EVEX, a displacement of one byte is in units of the size of the operand */
	if (to->width && insn.vex_prefix.nbytes == 4 && insn.displacement.nbytes == 1)
		to->off *= to->width;
	to->writes = to->op == UNWIND_CODE_OTHER && x86_may_write(&insn, &o, map, op);
	to->uses_flags = x86_uses_flags(&insn, map, op);
	return true;
}

/**
 * unwind_code_scratch - the registers that a function may destroy
 * @word: bytes of a stack word of the code, 4 or 8
 *
 * Source: System V ABI, AMD64 supplement, figure 3.4; i386 supplement, section 2.2.1.
 *
 * Return: a bit mask.
 */
u16 unwind_code_scratch(unsigned int word)
{
	u16 scratch = REG(RAX) | REG(RCX) | REG(RDX);

	return word == 4 ? scratch : scratch | REG(RSI) | REG(RDI) | 0x0f00;
}

/**
 * unwind_code_pushes_itself - does 64-bit code push its own address?
 * @bytes: its first UNWIND_CODE_SELF_BYTES bytes
 * @ip: its address
 *
 * Return: true if it begins with "mov $ip,%r10; push %r10" or "call .+5; subq $5,(%rsp)".
 */
bool unwind_code_pushes_itself(const u8 *bytes, u64 ip)
{
	static const u8 call[] = { 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0x2c, 0x24, 5 };
	static const u8 mov[] = { 0x49, 0xba }, push[] = { 0x41, 0x52 };

	return !memcmp(bytes, call, sizeof(call)) ||
	       (!memcmp(bytes, mov, sizeof(mov)) && !memcmp(bytes + 2, &ip, sizeof(ip)) &&
		!memcmp(bytes + 10, push, sizeof(push)));
}

/**
 * unwind_code_enters - do these bytes enter Guile's compiled code?
 * @bytes: the UNWIND_CODE_ENTER_BYTES bytes before an instruction
 *
 * Return: true if they are an indirect jump with a REX.W prefix, which it does not need. Guile
 *	   writes this prefix, and so do tail calls of Windows programs.
 */
bool unwind_code_enters(const u8 *bytes)
{
	return (bytes[0] & 0xfe) == 0x48 && bytes[1] == 0xff && (bytes[2] & 0xf8) == 0xe0;
}

/**
 * unwind_code_sets_frame - may an instruction set the frame pointer from the stack pointer?
 * @bytes: its first UNWIND_CODE_FRAME_BYTES bytes
 * @word: bytes of a stack word of the code, 4 or 8
 *
 * Return: true if it is a mov from the stack pointer, or a lea relative to it.
 */
bool unwind_code_sets_frame(const u8 *bytes, unsigned int word)
{
	if (word == 8 && *bytes++ != 0x48)
		return false;
	return (bytes[0] == 0x89 && bytes[1] == 0xe5) ||
	       (bytes[0] == 0x8b && bytes[1] == 0xec) ||
	       (bytes[0] == 0x8d && (bytes[1] & 0x3f) == 0x2c && bytes[2] == 0x24);
}

/**
 * unwind_code_saves_fp - does code set the frame pointer to where it saved the caller's?
 * @bytes: code: UNWIND_CODE_SAVE_BYTES in front of an instruction that sets the frame pointer,
 *	   then UNWIND_CODE_SAVE_BYTES from that instruction on
 * @word: bytes of a stack word of the code, 4 or 8
 *
 * Return: true for push %rbp; mov %rsp,%rbp, and for mov %rbp,x(%rsp); lea x(%rsp),%rbp.
 */
bool unwind_code_saves_fp(const u8 *bytes, unsigned int word)
{
	const u8 *insn = bytes + UNWIND_CODE_SAVE_BYTES, *save;
	unsigned int rex = word == sizeof(u64), offset;

	/* push %rbp is 55; push %r13 is 41 55 */
	if (insn[rex] != 0x8d)
		return insn[-1] == 0x55 && (!rex || insn[-2] != 0x41);
	/* the ModR/M byte of the lea tells whether it has an offset, of 8 or 32 bits */
	switch (insn[rex + 1] & 0xc0) {
	case 0:
		offset = 0;
		break;
	case 0x40:
		offset = 1;
		break;
	case 0x80:
		offset = 4;
		break;
	default:
		return false;
	}
	save = insn - rex - 3 - offset;
	return (!rex || save[0] == insn[0]) && save[rex] == 0x89 &&
	       !memcmp(save + rex + 1, insn + rex + 1, 2 + offset);
}

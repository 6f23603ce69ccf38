// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of steps by the tables of an object, and of steps over signal frames
 * without tables.  The object is made by hand in a user mapping.
 */

#include <kunit/test.h>
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_cache.h>
#include <linux/unwind_deferred.h>

#include <asm/sigframe.h>
#include <asm/unwind_walk.h>

#include "cache.h"
#include "cfi.h"
#include "elf_tables.h"
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif
#include "tables.h"
#include "unwind.h"

#define BOTH_METHODS	(BIT(UNWIND_METHOD_FP) | BIT(UNWIND_METHOD_EH_FRAME))

/* offsets in the object */
#define HDR		0x200
#define CIE		0x8000
#define FDE		(CIE + 4 + sizeof(cie))
#define CODE		0x9000
#define CODE_BYTES	0x100
#define OBJECT_BYTES	0xa000
#define MAX_ROWS	1023
#define INSNS		15

struct object {
	struct elf64_hdr	elf;
	struct elf64_phdr	ph[2];
};

struct table {
	u8	version, enc_frame, enc_count, enc_table;
	s32	eh_frame;
	u32	nr;
	struct {
		s32	ip, fde;
	}	rows[MAX_ROWS];
};

/* version 1, "zR", factors 1 and -8, register 16; pcrel sdata4; CFA = rsp + 8, ra at CFA - 8 */
static const u8 cie[] = {
	0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
};

static unsigned long map_as(struct kunit *test, size_t size, unsigned long flags)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_ANONYMOUS | flags, 0);
	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user mapping");
	KUNIT_ASSERT_LT_MSG(test, addr, (unsigned long)TASK_SIZE, "no user mapping");
	return addr;
}

/* Shared mappings, because adjacent private ones may be merged. */
static unsigned long map_shared(struct kunit *test, size_t size, unsigned long flags)
{
	return map_as(test, size, MAP_SHARED | flags);
}

static void write_user(struct kunit *test, unsigned long addr, const void *from, size_t len)
{
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)addr, from, len), 0);
}

static void put_word(struct kunit *test, unsigned long addr, unsigned long val)
{
	write_user(test, addr, &val, sizeof(val));
}

static void put_headers(struct kunit *test, unsigned long base)
{
	struct object object = {
		.elf = {
			.e_machine = UNWIND_ARCH_MACHINE_64,
			.e_phoff = offsetof(struct object, ph),
			.e_phentsize = sizeof(struct elf64_phdr),
			.e_phnum = 2,
		},
		.ph = {
			{ .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = OBJECT_BYTES },
			{
				.p_type = PT_GNU_EH_FRAME, .p_vaddr = HDR,
				.p_memsz = sizeof(struct table),
			},
		},
	};

	memcpy(object.elf.e_ident, ELFMAG, SELFMAG);
	object.elf.e_ident[EI_CLASS] = ELFCLASS64;
	object.elf.e_ident[EI_DATA] = ELFDATA2LSB;
	write_user(test, base, &object, sizeof(object));
}

/* Write a table of functions of four bytes each. The last function is the one at CODE. */
static void put_table(struct kunit *test, unsigned long base, u32 nr)
{
	struct table *table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, table);
	table->version = 1;
	table->enc_frame = 0x1b;
	table->enc_count = 0x03;
	table->enc_table = 0x3b;
	table->eh_frame = CIE - HDR - 4;
	table->nr = nr;
	for (i = 0; i < nr; i++) {
		table->rows[i].ip = CODE - HDR - 4 * (nr - 1 - i);
		table->rows[i].fde = FDE - HDR;
	}
	write_user(test, base + HDR, table, sizeof(*table));
}

/* Write a CIE, and an FDE of the code.  The FDE has INSNS bytes of CFA instructions. */
static void put_entry(struct kunit *test, unsigned long base, const u8 *insns)
{
	struct {
		u32	cie_len;
		u8	cie[sizeof(cie)];
		u32	len, distance;
		s32	start;
		u32	range;
		u8	augmentation, insns[INSNS];
		u32	end;
	} entry = {
		.cie_len = sizeof(cie),
		.len = 17 + INSNS,
		.distance = FDE + 4 - CIE,
		.start = CODE - (FDE + 8),
		.range = CODE_BYTES,
	};

	memcpy(entry.cie, cie, sizeof(cie));
	memcpy(entry.insns, insns, sizeof(entry.insns));
	write_user(test, base + CIE, &entry, sizeof(entry));
}

static void put_object(struct kunit *test, unsigned long base, u32 rows, const u8 *insns)
{
	put_headers(test, base);
	put_table(test, base, rows);
	put_entry(test, base, insns);
}

static unsigned long make_object(struct kunit *test, u32 rows, const u8 *insns)
{
	unsigned long base = map_shared(test, OBJECT_BYTES, 0);

	put_object(test, base, rows, insns);
	return base;
}

static struct unwind_walk state_at(struct kunit *test, unsigned long ip,
				   unsigned long sp, unsigned int word)
{
	struct unwind_cfi *cfi = kunit_kzalloc(test, sizeof(*cfi), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cfi);
	return (struct unwind_walk) {
		.ip = ip, .insn = ip, .sp = sp, .word = word, .exact = true,
		.methods = BOTH_METHODS, .table_bytes = SZ_64K, .faults = 64,
		.deadline = jiffies + 60 * HZ, .cfi = cfi,
#ifdef CONFIG_UNWIND_USER_FILES
		.changes = unwind_files_changes(),
#endif
	};
}

static const u8 no_insns[INSNS];
static const u8 sp_plus_16[INSNS] = { 0x0e, 16 };
static const u8 bx_plus_8[INSNS] = { 0x0c, 3, 8 };
/* saved rbp at rbp, saved rbx at rbp - 16, CFA = *(rbp - 8) */
static const u8 realigning[INSNS] = {
	0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x70, 0x0f, 3, 0x76, 0x78, 0x06,
};

/* CFA = rsp, ra in rdi */
static const u8 ra_in_di[INSNS] = { 0x0e, 0, 0x09, 16, 5 };

static void by_tables(struct kunit *test)
{
	unsigned long base = make_object(test, 1, sp_plus_16);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);

	put_word(test, stack + 8, base + CODE + 0x20);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 16);
	KUNIT_EXPECT_EQ(test, state.frames[UNWIND_METHOD_EH_FRAME], 1);
}

#ifdef CONFIG_UNWIND_USER_CODE
/* A cached rule of code without tables does not hide the tables of a new object at this address. */
static void rule_of_earlier_code(struct kunit *test)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_CODE };
	unsigned long base = make_object(test, 1, sp_plus_16);
	struct unwind_walk state = state_at(test, base + CODE + 8, 0, 8);
	struct unwind_cache_state begun;
	struct unwind_full_rule full = {};

	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&begun));
	unwind_cache_add_rule(&begun, unwind_rule_key(&state), &rule, &full);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.kind, UNWIND_RULE_FRAME);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 16);
}
#endif

static s32 cfa_off_at(struct unwind_walk *state)
{
	struct unwind_user_rule rule;
	struct unwind_full_rule full;

	return unwind_eh_frame_rule(state, &rule, &full) ? -1 : rule.cfa_off;
}

/* Map the file of an object twice: shared for writing, and private for execution. */
static unsigned long map_object_twice(struct kunit *test, unsigned long *shared)
{
	struct file *file = shmem_kernel_file_setup("kunit", OBJECT_BYTES, EMPTY_VMA_FLAGS);
	unsigned long base;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	*shared = kunit_vm_mmap(test, file, 0, OBJECT_BYTES, PROT_READ | PROT_WRITE,
				MAP_SHARED, 0);
	base = kunit_vm_mmap(test, file, 0, OBJECT_BYTES, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE, 0);
	fput(file);
	KUNIT_ASSERT_LT(test, *shared, (unsigned long)TASK_SIZE);
	KUNIT_ASSERT_LT(test, base, (unsigned long)TASK_SIZE);
	put_object(test, *shared, 1, no_insns);
	return base;
}

/* Without memory to cache an object, its rules are not cached, as no unmap would drop them. */
static void no_memory_for_object(struct kunit *test)
{
	unsigned long shared, base = map_object_twice(test, &shared);
	struct unwind_walk state = state_at(test, base + CODE + 8, 0, 8);
	struct unwind_cache_state begun;
	struct unwind_user_rule rule;
	struct unwind_full_rule full;
	unsigned int flags;
	s32 cfa_off;

	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&begun));
	KUNIT_ASSERT_NE(test, begun.gen, 0);
	flags = memalloc_noreclaim_save();
	cfa_off = cfa_off_at(&state);
	memalloc_noreclaim_restore(flags);
	KUNIT_EXPECT_EQ(test, cfa_off, 8);
	KUNIT_EXPECT_EQ(test, unwind_cache_find_rule(unwind_rule_key(&state), false, &rule, &full),
			UNWIND_NONE);

	/* as if another object had been loaded there */
	__unwind_user_invalidate(current->mm, base, base + OBJECT_BYTES);
	put_object(test, shared, 1, sp_plus_16);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 16);
	KUNIT_EXPECT_EQ(test, unwind_cache_find_rule(unwind_rule_key(&state), false, &rule, &full),
			0);
}

/*
 * Tables that are in the page cache, but not mapped, are not read while a hole is being punched
 * into their file: see read_cached().
 */
static void punched(struct kunit *test)
{
	unsigned long shared, base = map_object_twice(test, &shared);
	struct unwind_walk state = state_at(test, base + CODE + 8, 0, 8);
	struct address_space *mapping;

	mmap_read_lock(current->mm);
	mapping = vma_lookup(current->mm, base)->vm_file->f_mapping;
	mmap_read_unlock(current->mm);
	state.no_faults = true;
	filemap_invalidate_lock(mapping);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), -1);
	filemap_invalidate_unlock(mapping);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 8);
}

/*
 * A CIE that has been read is kept.  It is read again after an unmap, and for each frame if
 * its memory is writable.
 */
static void cie_later(struct kunit *test)
{
	unsigned long base, shared, byte = CIE + 4 + sizeof(cie) - 5;
	struct unwind_walk state;
	const u8 later[] = { 16, 24 };
	unsigned int left;

	base = map_object_twice(test, &shared);
	state = state_at(test, base + CODE + 8, 0, 8);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 8);
	state.ip++;
	left = state.table_bytes;
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 8);
	KUNIT_EXPECT_LT(test, left - state.table_bytes, 2 * UNWIND_CFI_WINDOW);

	write_user(test, shared + byte, &later[0], 1);
	__unwind_user_invalidate(current->mm, base, base + OBJECT_BYTES);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 16);

	base = make_object(test, 1, no_insns);
	state.ip = base + CODE + 8;
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 8);
	write_user(test, base + byte, &later[1], 1);
	KUNIT_EXPECT_EQ(test, cfa_off_at(&state), 24);
}

static void check_kept(struct kunit *test, struct unwind_walk *state,
		       unsigned int slot, unsigned long want)
{
	unsigned long val = 0;

	KUNIT_EXPECT_TRUE(test, state->in_memory & BIT(slot));
	KUNIT_EXPECT_FALSE(test, state->lost & BIT(slot));
	KUNIT_EXPECT_EQ(test, unwind_read_word(state, state->kept[slot], &val), 0);
	KUNIT_EXPECT_EQ(test, val, want);
}

/* A realigned stack: CFA and saved registers are found by the frame pointer. */
static void realigned_stack(struct kunit *test)
{
	unsigned long base = make_object(test, 1, realigning);
	unsigned long stack = map_shared(test, SZ_4K, 0), fp = stack + 0x100;
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);

	put_word(test, fp, 1);
	put_word(test, fp - 8, stack + 0x300);
	put_word(test, fp - 16, 2);
	put_word(test, stack + 0x300 - 8, base + CODE + 0x20);

	state.kept[UNWIND_SLOT_FP] = fp;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 0x300);
	check_kept(test, &state, UNWIND_SLOT_FP, 1);
	check_kept(test, &state, UNWIND_SLOT_BX, 2);

	/* the frame pointer is now 1, an address that is not mapped */
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_FAULT);

	state = state_at(test, base + CODE + 8, stack + 0x300, 8);
	state.kept[UNWIND_SLOT_FP] = fp;
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_BAD);
	state.lost = BIT(UNWIND_SLOT_FP);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_STOP);
}

/* As in vfork(): the return address is in a register that is known only in the innermost frame. */
static void in_register(struct kunit *test)
{
	unsigned long base = make_object(test, 1, ra_in_di);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);
	struct pt_regs regs = { .di = base + CODE + 0x20 };

	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_STOP);
	state.regs = &regs;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack);

	state = state_at(test, base + CODE + 8, stack, 8);
	regs.di = TASK_SIZE_MAX;
	state.regs = &regs;
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_BAD);
}

/* CFA = REG + 8 */
#define CFA_BY(reg)	{ 0x0c, (reg), 8 }

struct volatile_case {
	const char	*name;
	u8		insns[INSNS];
	size_t		at;	/* offset of the register in struct pt_regs */
	bool		is_32;
	bool		in_syscall;
};

#define REG(name)	offsetof(struct pt_regs, name)

static const struct volatile_case volatile_cases[] = {
	{ "ax",			CFA_BY(0),  REG(ax),  false, false },
	{ "dx",			CFA_BY(1),  REG(dx),  false, true },
	{ "cx",			CFA_BY(2),  REG(cx),  false, false },
	{ "cx of 32-bit code",	CFA_BY(2),  REG(cx),  true,  true },
	{ "si",			CFA_BY(4),  REG(si),  false, true },
	{ "di",			CFA_BY(5),  REG(di),  false, true },
	{ "r8",			CFA_BY(8),  REG(r8),  false, true },
	{ "r9",			CFA_BY(9),  REG(r9),  false, true },
	{ "r10",		CFA_BY(10), REG(r10), false, true },
	{ "r11",		CFA_BY(11), REG(r11), false, false },
};

KUNIT_ARRAY_PARAM_DESC(volatile_case, volatile_cases, name);

/*
 * OpenSSL's assembly keeps the stack pointer in rax or r11.  Even a cached rule works
 * only in frames where the register is known.
 */
static void volatile_register(struct kunit *test)
{
	const struct volatile_case *c = test->param_value;
	unsigned long base = make_object(test, 1, c->insns);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct pt_regs regs = {
		.cs = c->is_32 ? __USER32_CS : __USER_CS, .orig_ax = -1,
	};
	struct unwind_walk state;
	int i, ret;

	*(unsigned long *)((void *)&regs + c->at) = stack + 0x80;
	put_word(test, stack + 0x80, base + CODE + 0x20);
	for (i = 0; i < 2; i++) {
		state = state_at(test, base + CODE + 8, stack, 8);
		state.regs = &regs;
		KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
		KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
		KUNIT_EXPECT_EQ(test, state.sp, stack + 0x88);
	}

	/* In a caller's frame, these registers are not known. */
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_STOP);

	state = state_at(test, base + CODE + 8, stack, 8);
	regs.orig_ax = 1;
	state.regs = &regs;
	ret = unwind_user_next(&state);
	KUNIT_EXPECT_EQ(test, ret, c->in_syscall ? 0 : UNWIND_STOP);
}

/* If a register from which a walk may start changes, the checksum of all registers changes. */
static void register_checksum(struct kunit *test)
{
	const struct volatile_case *c = test->param_value;
	struct pt_regs regs = { .cs = __USER_CS, .orig_ax = -1 };
	unsigned long *reg = (void *)&regs + c->at, sum;

	sum = arch_unwind_others(&regs, true);
	*reg += 8;
	KUNIT_EXPECT_NE(test, arch_unwind_others(&regs, true), sum);

	/* without ax, the checksum is the same after a system call has set its result */
	sum = arch_unwind_others(&regs, false);
	regs.ax = -EINTR;
	KUNIT_EXPECT_EQ(test, arch_unwind_others(&regs, false), sum);
}

/* OpenSSL: CFA = *(rsp + 8 + 8 * r9) + 8 */
static const u8 cfa_by_index[INSNS] = {
	0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8,
};

static void by_expression(struct kunit *test)
{
	unsigned long base = make_object(test, 1, cfa_by_index);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);
	struct pt_regs regs = { .cs = __USER_CS, .r9 = 2 };

	put_word(test, stack + 8 + 16, stack + 0x100);
	put_word(test, stack + 0x100, base + CODE + 0x20);
	state.regs = &regs;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 0x108);

	/* r9 is not known in a caller's frame */
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_STOP);

	/* first, the word cannot be read; second, its value is not above sp */
	state = state_at(test, base + CODE + 8, stack, 8);
	state.regs = &regs;
	regs.r9 = -1UL << 32;
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_FAULT);
	regs.r9 = 3;
	state.sp += 0x40;
	put_word(test, state.sp + 8 + 24, state.sp - 8);
	put_word(test, state.sp - 8, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_BAD);
}

/* As in longjmp(): CFA = rdi, return address in rdx, stack pointer in r8 */
static const u8 sp_in_register[INSNS] = { 0x0c, 5, 0, 0x09, 16, 1, 0x09, 7, 8 };

static void sp_is_not_cfa(struct kunit *test)
{
	unsigned long base = make_object(test, 1, sp_in_register);
	unsigned long stack = map_shared(test, SZ_4K, 0), data = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack + 64, 8);
	struct pt_regs regs = {
		.cs = __USER_CS, .di = data, .dx = base + CODE + 0x20,
		.r8 = stack + 128,
	};

	state.regs = &regs;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 128);

	/* The stack pointer of a caller must not be lower than that of its callee. */
	state = state_at(test, base + CODE + 8, stack + 64, 8);
	state.regs = &regs;
	regs.r8 = stack + 32;
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_BAD);
}

/* Haskell's StgRun(): CFA = rsp, return address at CFA + 0x40, stack pointer = rsp + 0x48 */
static const u8 sp_by_sp[INSNS] = { 0x0c, 7, 0, 0x11, 16, 0x78, 0x16, 7, 3, 0x77, 0xc8, 0 };

static void sp_is_sp_plus(struct kunit *test)
{
	unsigned long base = make_object(test, 1, sp_by_sp);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);

	put_word(test, stack + 0x40, base + CODE + 0x20);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 0x48);
}

static void put_call(struct kunit *test, unsigned long end, unsigned long target)
{
	s32 distance = target - end;

	write_user(test, end - 5, "\xe8", 1);
	write_user(test, end - 4, &distance, sizeof(distance));
}

#ifdef CONFIG_UNWIND_USER_CODE
struct callee_case {
	const char	*name;
	const char	*code;
	u8		len;
	u8		at;	/* the instruction that is to run next */
	bool		kept;
};

#define CALLEE(name, at, kept, code)	{ name, code, sizeof(code) - 1, at, kept }

static const struct callee_case callee_cases[] = {
	CALLEE("ret",			0, true,  "\xc3"),
	CALLEE("inc %rcx",		0, true,  "\x48\xff\xc1\xc3"),
	CALLEE("inc %rax",		0, false, "\x48\xff\xc0\xc3"),
	CALLEE("inc %rax, later",	0, false, "\x90\x48\xff\xc0\xc3"),
	CALLEE("add %cl,%ah",		0, false, "\x00\xcc\xc3"),
	CALLEE("xor %ah,%cl",		0, true,  "\x30\xe1\xc3"),
	CALLEE("mov %ecx,%eax",		0, false, "\x89\xc8\xc3"),
	CALLEE("mov %rcx,%rax",		0, false, "\x48\x89\xc8\xc3"),
	CALLEE("mov %rax,%rcx",		0, true,  "\x48\x89\xc1\xc3"),
	CALLEE("mov (%rcx),%rax",	0, false, "\x48\x8b\x01\xc3"),
	CALLEE("mov %rax,(%rcx)",	0, true,  "\x48\x89\x01\xc3"),
	CALLEE("push %rax, pop %rax",	0, false, "\x50\x58\xc3"),
	CALLEE("push %rax, pop %rcx",	0, true,  "\x50\x59\xc3"),
	CALLEE("leave",			0, true,  "\xc9\xc3"),
	CALLEE("cpuid",			0, false, "\x0f\xa2\xc3"),
	CALLEE("mul %rcx",		0, false, "\x48\xf7\xe1\xc3"),
	CALLEE("mulx",			0, false, "\xc4\xe2\xfb\xf6\xd1\xc3"),
	CALLEE("setae %r12b",		0, true,  "\x41\x0f\x93\xc4\xc3"),
	CALLEE("seta %r12b",		0, true,  "\x41\x0f\x97\xc4\xc3"),
	CALLEE("kmovw %k1,%eax",	0, false, "\xc5\xf8\x93\xc1\xc3"),
	CALLEE("kmovw %k1,%ecx",	0, true,  "\xc5\xf8\x93\xc9\xc3"),
	CALLEE("seta %al",		0, false, "\x0f\x97\xc0\xc3"),
	CALLEE("seta %ah",		0, false, "\x0f\x97\xc4\xc3"),
	CALLEE("seta %spl",		0, true,  "\x40\x0f\x97\xc4\xc3"),
	CALLEE("vpxor",			0, true,  "\xc5\xf9\xef\xc0\xc3"),
	CALLEE("aesenc",		0, true,  "\x66\x0f\x38\xdc\xc1\xc3"),
	CALLEE("a loop",		1, true,  "\x90\x75\xfd\xc3"),
	CALLEE("a loop with inc %rax",	3, false, "\x48\xff\xc0\x75\xfb\xc3"),
	CALLEE("ret and more",		0, false, "\x74\x01\xc3\x48\xff\xc0\xc3"),
	CALLEE("ret and more, kept",	3, true,  "\x74\x01\xc3\x90\xc3"),
	CALLEE("jmp to the next",	0, true,  "\xeb\x00\xc3"),
	CALLEE("behind the end",	1, false, "\xc3\x90\xc3"),
	CALLEE("within an instruction",	1, false, "\x48\xff\xc1\xc3"),
	CALLEE("jmp before it",		0, false, "\xeb\xf0"),
	CALLEE("jmp far away",		0, false, "\xe9\x00\x00\x01\x00"),
	CALLEE("jmp *%rcx",		0, false, "\xff\xe1"),
	CALLEE("call",			0, false, "\xe8\x00\x00\x00\x00\xc3"),
	CALLEE("call *%rcx",		0, false, "\xff\xd1\xc3"),
	CALLEE("syscall",		0, false, "\x0f\x05\xc3"),
	CALLEE("no instruction",	0, false, "\x90\x06\xc3"),
	CALLEE("int3",			0, false, "\x90\xcc\xc3"),
};

KUNIT_ARRAY_PARAM_DESC(callee_case, callee_cases, name);

static const u8 ax_plus_8[INSNS] = CFA_BY(0);

/* OpenSSL's AES-GCM keeps its CFA in rax, and calls functions that do not change rax. */
static void left_alone(struct kunit *test)
{
	const struct callee_case *c = test->param_value;
	unsigned long callee = make_object(test, 1, no_insns) + CODE;
	unsigned long caller = make_object(test, 1, ax_plus_8) + CODE;
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct pt_regs regs = {
		.cs = __USER_CS, .orig_ax = -1, .ip = callee + c->at, .ax = stack + 0x80,
	};
	struct unwind_walk state = state_at(test, callee + c->at, stack, 8), two;

	write_user(test, callee, c->code, c->len);
	put_call(test, caller + 0x20, callee);
	put_word(test, stack, caller + 0x20);
	put_word(test, stack + 0x80, caller + 0x30);

	state.regs = &regs;
	state.start = &regs;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_ASSERT_EQ(test, state.ip, caller + 0x20);
	two = state;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), c->kept ? 0 : UNWIND_STOP);
	if (!c->kept)
		return;
	KUNIT_EXPECT_EQ(test, state.ip, caller + 0x30);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 0x88);
	KUNIT_EXPECT_EQ_MSG(test, unwind_user_next(&state), UNWIND_STOP, "the third frame");

	state = two;
	regs.orig_ax = 1;
	KUNIT_EXPECT_EQ_MSG(test, unwind_user_next(&state), UNWIND_STOP, "a system call");
	regs.orig_ax = -1;
	write_user(test, caller + 0x1b, "\x90\x90\x90\xff\xd1", 5);
	KUNIT_EXPECT_EQ_MSG(test, unwind_user_next(&state), UNWIND_STOP, "an indirect call");
	put_call(test, caller + 0x20, callee + 0x80);
	KUNIT_EXPECT_EQ_MSG(test, unwind_user_next(&state), UNWIND_STOP, "another function");
}
#endif

/* CFA = rsp + 16; rbp and rax are saved, in either order of the instructions */
static const u8 landing[INSNS] = { 0x0e, 16, 0x86, 2, 0x80, 3 };
static const u8 landing_cold[INSNS] = { 0x0e, 16, 0x80, 3, 0x86, 2 };
/* CFA = rsp + 16; rax is saved */
static const u8 ax_saved[INSNS] = { 0x0e, 16, 0x80, 3 };

struct landing_case {
	const char	*name;
	const char	*code;
	u8		len;
	bool		goes_on;
	u16		nops;	/* before the code */
};

#define LANDING(name, goes_on, code)	{ name, code, sizeof(code) - 1, goes_on }
#define CALL	"\xe8\x00\x00\x00\x00"

static const struct landing_case landing_cases[] = {
	LANDING("two calls",		true,  CALL CALL "\xff\xe1"),
	LANDING("calls of %rcx",	true,  "\xff\xd1\xff\xd1\xff\xe1"),
	LANDING("movaps",		true,  "\x0f\x29\x8d\xb0\xfd\xff\xff" CALL CALL),
	LANDING("a branch over ret",	true,  "\x74\x01\xc3" CALL CALL),
	LANDING("a call, a jump back",	true,  CALL "\xeb\xf9"),
	LANDING("leave, ret",		true,  "\x74\x02\xc9\xc3\xff\xe1"),
	LANDING("one call",		false, CALL "\xff\xe1" CALL),
	LANDING("ret",			false, "\xc3" CALL CALL),
	LANDING("mov %rcx,%rsp, ret",	false, "\x48\x89\xcc\xc3\xc9\xc3"),
	LANDING("jmp *%rcx",		false, "\x48\x89\xcc\x59\xff\xe1" CALL CALL),
	LANDING("a shadow stack",	false,
		"\xf3\x48\x0f\x1e\xc8\x48\x85\xc0\x74\x02\xeb\x05"
		"\xf3\x48\x0f\xae\xe9\x77\xf9\x59\xff\xe1" CALL CALL),
	LANDING("a loop",		false, "\x90\xeb\xfd"),
	LANDING("many branches",	false, "\x74\x00\x74\x00\x74\x00\x74\x00\x74\x00\x74\x00"
					       "\x74\x00\x74\x00\x74\x00\x74\x00\xc3"),
	LANDING("no instruction",	false, "\x06" CALL CALL),
	{ "calls far away", CALL CALL, 10, false, .nops = 256 },
};

KUNIT_ARRAY_PARAM_DESC(landing_case, landing_cases, name);

static void put_landing(struct kunit *test, const struct landing_case *c, unsigned long at)
{
	u16 i;

	for (i = 0; i < c->nops; i++)
		write_user(test, at + i, "\x90", 1);
	write_user(test, at + i, c->code, c->len);
}

static bool lands(const struct landing_case *c)
{
	return !IS_ENABLED(CONFIG_UNWIND_USER_CODE) || !c->goes_on;
}

/* Cache the rule of a frame. */
static void know_landing(struct kunit *test, struct unwind_walk *state)
{
	struct unwind_cache_state begun;
	struct unwind_user_rule rule;
	struct unwind_full_rule full;

	KUNIT_ASSERT_EQ(test, unwind_eh_frame_rule(state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.kind, UNWIND_RULE_LANDING);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&begun));
	unwind_cache_add_rule(&begun, unwind_rule_key(state), &rule, &full);
}

/* At the end of libgcc's functions that throw, the tables do not lead to the caller. */
static void at_landing(struct kunit *test)
{
	const struct landing_case *c = test->param_value;
	unsigned long stack = map_shared(test, SZ_4K, 0), code;
	struct unwind_walk state;
	int i;

	for (i = 0; i < 4; i++) {
		/* the second walk of each entry is by the cached rule */
		if (i % 2 == 0) {
			code = make_object(test, 1, i ? landing_cold : landing) + CODE;
			put_landing(test, c, code + 8);
			put_word(test, stack, stack + 0x80);
			put_word(test, stack + 8, code + 0x20);
		}
		state = state_at(test, code + 8, stack, 8);
		state.exact = i < 2;
		state.back = i >= 2;
		if (i % 2)
			know_landing(test, &state);
		KUNIT_ASSERT_EQ(test, unwind_user_next(&state), lands(c) ? UNWIND_STOP : 0);
		KUNIT_EXPECT_EQ(test, !!(state.lost & BIT(UNWIND_SLOT_FP)), lands(c));
		if (!lands(c)) {
			KUNIT_EXPECT_EQ(test, state.ip, code + 0x20);
			KUNIT_EXPECT_EQ(test, state.sp, stack + 16);
			KUNIT_EXPECT_EQ(test, state.kept[UNWIND_SLOT_FP], stack);
		}
	}
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
static void at_landing_in_place(struct kunit *test)
{
	const struct landing_case *c = test->param_value;
	unsigned long code = make_object(test, 1, landing) + CODE;
	unsigned long stack = map_shared(test, SZ_4K, 0), entries[1];
	struct unwind_stacktrace trace = { .entries = entries };
	struct unwind_walk state = state_at(test, code + 8, stack, 8);

	put_landing(test, c, code + 8);
	put_word(test, stack + 8, code + 0x20);
	know_landing(test, &state);
	state.quick = true;
	state.in_place = true;
	KUNIT_EXPECT_FALSE(test, unwind_quick_steps(&state, &trace, 1));
	KUNIT_EXPECT_FALSE(test, state.missed);
	KUNIT_EXPECT_EQ(test, trace.nr, !lands(c));
	KUNIT_EXPECT_EQ(test, !!(state.lost & BIT(UNWIND_SLOT_FP)), lands(c));
}
#endif

/* mcount() saves rax, but does not throw. */
static void saves_ax(struct kunit *test)
{
	unsigned long code = make_object(test, 1, ax_saved) + CODE;
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, code + 8, stack, 8);

	write_user(test, code + 8, "\xc3", 1);
	put_word(test, stack + 8, code + 0x20);
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, code + 0x20);
}

/* An odd stack pointer is the program's: it does not mean that there may be another one. */
static void odd_sp(struct kunit *test)
{
	unsigned long code = make_object(test, 1, sp_plus_16) + CODE;
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, code + 8, stack + 0x101, 8);

	put_call(test, code + 0x20, code);
	put_word(test, stack + 0x100 - 24, stack + 0x180);
	put_word(test, stack + 0x188, code + 0x20);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_FAULT);
}

/* Return how many bytes a step reads from tables with this number of rows. */
static unsigned int table_bytes(struct kunit *test, u32 rows)
{
	unsigned long base = make_object(test, rows, sp_plus_16);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state;
	unsigned int spent, i;

	put_word(test, stack + 8, base + CODE + 0x20);
	state = state_at(test, base + CODE + 8, stack, 8);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), 0);
	spent = SZ_64K - state.table_bytes;

	for (i = 0; i <= spent; i++) {
		state = state_at(test, base + CODE + 8, stack, 8);
		state.table_bytes = i;
		KUNIT_EXPECT_EQ_MSG(test, unwind_user_next(&state),
				    i < spent ? UNWIND_FAULT : 0, "%u of %u bytes", i, spent);
	}
	return spent;
}

/*
 * Reads of headers, entry and search are charged to the budget. No read begins that would exceed
 * the budget.
 */
static void table_budget(struct kunit *test)
{
	unsigned int one = table_bytes(test, 1);

	KUNIT_EXPECT_GE(test, one, sizeof(struct object) + offsetof(struct table, rows) +
				   sizeof(cie) + 17 + INSNS + 3 * 4);
	/* ten steps of the search instead of one, and 8 rows to check, instead of one */
	KUNIT_EXPECT_EQ(test, table_bytes(test, MAX_ROWS),
			one + 9 * sizeof(s32) + 7 * sizeof(struct unwind_elf_row));
}

/* A table that is read without an object; bytes from @hole on, up to @hole_end, cannot be read. */
struct lone_table {
	struct table	table;
	u64		hole, hole_end;
};

static int read_lone_table(void *ctx, u64 pos, void *to, size_t len)
{
	struct lone_table *lone = ctx;

	if (pos + len > sizeof(lone->table) || (pos < lone->hole_end && pos + len > lone->hole))
		return -EFAULT;
	memcpy(to, (u8 *)&lone->table + pos, len);
	return 0;
}

static int order_of(struct lone_table *lone)
{
	struct unwind_elf elf = { .read = read_lone_table, .ctx = lone };
	struct unwind_elf_table table;

	return unwind_elf_table(&elf, 0, 0, sizeof(lone->table), &table);
}

static int order_with(struct lone_table *lone, u32 row, s32 ip)
{
	s32 was = lone->table.rows[row].ip;
	int ret;

	lone->table.rows[row].ip = ip;
	ret = order_of(lone);
	lone->table.rows[row].ip = was;
	return ret;
}

static int order_without(struct lone_table *lone, u32 row)
{
	lone->hole = offsetof(struct table, rows[row]);
	lone->hole_end = offsetof(struct table, rows[row + 1]);
	return order_of(lone);
}

/* The order of the first row, of eight in the middle and of the last one is checked. */
static void order_of_rows(struct kunit *test)
{
	struct lone_table *lone = kunit_kzalloc(test, sizeof(*lone), GFP_KERNEL);
	const u32 middle = MAX_ROWS / 2, last = MAX_ROWS - 1;
	s32 ip;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, lone);
	lone->table.version = 1;
	lone->table.enc_frame = 0x1b;
	lone->table.enc_count = 0x03;
	lone->table.enc_table = 0x3b;
	lone->table.nr = MAX_ROWS;
	for (i = 0; i < MAX_ROWS; i++)
		lone->table.rows[i].ip = 4 * (i - middle);

	ip = lone->table.rows[middle].ip;
	KUNIT_EXPECT_EQ(test, order_of(lone), 0);
	KUNIT_EXPECT_EQ(test, order_with(lone, middle + 1, ip), 0);
	for (i = middle - 4; i < middle + 3; i++)
		KUNIT_EXPECT_EQ(test, order_with(lone, i + 1, lone->table.rows[i].ip - 1),
				-ENODATA);
	KUNIT_EXPECT_EQ(test, order_with(lone, 0, ip), -ENODATA);
	KUNIT_EXPECT_EQ(test, order_with(lone, last, ip), -ENODATA);

	/* if one of these cannot be read, only the one in the middle must be */
	KUNIT_EXPECT_EQ(test, order_without(lone, 0), 0);
	KUNIT_EXPECT_EQ(test, order_without(lone, last), 0);
	KUNIT_EXPECT_EQ(test, order_without(lone, middle), -EFAULT);
	KUNIT_EXPECT_EQ(test, order_without(lone, middle + 3), 0);
	KUNIT_EXPECT_EQ(test, order_with(lone, 0, ip + 1), -ENODATA);
	KUNIT_EXPECT_EQ(test, order_with(lone, last, ip - 1), -ENODATA);
}

#define FAR_OFF	0x10000000UL	/* an arbitrary address, which is only compared */

static void know_object(unsigned int n, u32 nr)
{
	unsigned long start = FAR_OFF + n * PAGE_SIZE;
	struct unwind_object object = {
		.start = start, .end = start + PAGE_SIZE,
		.code_start = start, .code_end = start + PAGE_SIZE,
		.nr = nr, .word = 8,
	};
	struct unwind_cache_state state;

	if (unwind_cache_begin(&state))
		unwind_cache_add_object(&state, &object);
}

static bool rule_is_known(unsigned long ip)
{
	struct unwind_user_rule rule;
	struct unwind_full_rule full;

	return !unwind_cache_find_rule(ip, false, &rule, &full);
}

static bool object_is_known(unsigned int n)
{
	struct unwind_object object;

	return !unwind_cache_find_object(FAR_OFF + n * PAGE_SIZE, &object);
}

/* A rule of 64-bit code is not used for 32-bit code at the same address. */
static void other_word(struct kunit *test)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME };
	struct unwind_walk wide = state_at(test, FAR_OFF, 0, 8);
	struct unwind_walk narrow = state_at(test, FAR_OFF, 0, 4);
	struct unwind_cache_state begun;
	struct unwind_full_rule full = {};

	map_shared(test, SZ_4K, 0);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&begun));
	unwind_cache_add_rule(&begun, unwind_rule_key(&wide), &rule, &full);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&wide, &rule, &full), 0);
	KUNIT_EXPECT_NE(test, unwind_eh_frame_rule(&narrow, &rule, &full), 0);
	unwind_cache_add_rule(&begun, unwind_rule_key(&narrow), &rule, &full);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&narrow, &rule, &full), 0);
}

static void know_rule(struct kunit *test)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME };
	struct unwind_full_rule full = {};
	struct unwind_cache_state state;

	know_object(0, 1);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state));
	unwind_cache_add_rule(&state, FAR_OFF, &rule, &full);
	KUNIT_ASSERT_TRUE(test, rule_is_known(FAR_OFF));
}

/* Objects without tables are evicted first. An object with tables is evicted with its rules. */
static void many_objects(struct kunit *test)
{
	unsigned int n;

	map_shared(test, SZ_4K, 0);
	know_rule(test);
	for (n = 1; n <= 1000; n++) {
		know_object(n, 0);
		KUNIT_ASSERT_TRUE(test, object_is_known(n));
		KUNIT_ASSERT_TRUE(test, object_is_known(0));
	}
	KUNIT_EXPECT_TRUE(test, rule_is_known(FAR_OFF));

	for (n = 1; n <= 2000; n++) {
		know_object(n, 1);
		KUNIT_ASSERT_TRUE(test, object_is_known(n));
	}
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	KUNIT_EXPECT_FALSE(test, rule_is_known(FAR_OFF));
}

/* An unmap drops nothing outside its range. */
static void one_of_objects(struct kunit *test)
{
	unsigned int n;

	map_shared(test, SZ_4K, 0);
	for (n = 1; n <= 100; n++)
		know_object(n, n % 2);
	know_rule(test);
	for (n = 1; n <= 100; n++) {
		__unwind_user_invalidate(current->mm, FAR_OFF + n * PAGE_SIZE,
					 FAR_OFF + (n + 1) * PAGE_SIZE);
		KUNIT_ASSERT_FALSE(test, object_is_known(n));
		KUNIT_ASSERT_TRUE(test, n == 100 || object_is_known(n + 1));
		KUNIT_ASSERT_TRUE(test, object_is_known(0));
		KUNIT_ASSERT_TRUE(test, rule_is_known(FAR_OFF));
	}
	__unwind_user_invalidate(current->mm, FAR_OFF + PAGE_SIZE - 1, FAR_OFF + PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	KUNIT_EXPECT_FALSE(test, rule_is_known(FAR_OFF));
}

/* An object that is mapped over a known one replaces it. */
static void other_mapping(struct kunit *test)
{
	struct unwind_object object = {
		.start = FAR_OFF, .end = FAR_OFF + 2 * PAGE_SIZE,
		.code_start = FAR_OFF, .code_end = FAR_OFF + 2 * PAGE_SIZE,
		.nr = 1, .word = 8,
	};
	struct unwind_cache_state state;

	map_shared(test, SZ_4K, 0);
	know_rule(test);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state));
	unwind_cache_add_object(&state, &object);
	KUNIT_EXPECT_TRUE(test, object_is_known(1));
	KUNIT_EXPECT_FALSE(test, rule_is_known(FAR_OFF));
}

/* Results of reads through a possibly stale TLB entry are not cached. */
static void flush_pending(struct kunit *test)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME };
	struct unwind_full_rule full = {};
	struct unwind_cache_state state;
	bool began;

	map_shared(test, SZ_4K, 0);
	inc_tlb_flush_pending(current->mm);
	began = unwind_cache_begin(&state);
	know_object(0, 1);
	if (began)
		unwind_cache_add_rule(&state, FAR_OFF, &rule, &full);
	dec_tlb_flush_pending(current->mm);
	KUNIT_ASSERT_TRUE(test, began);
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	KUNIT_EXPECT_FALSE(test, rule_is_known(FAR_OFF));

	/* A search that began while the flush was pending must not add its rule later, either. */
	unwind_cache_add_rule(&state, FAR_OFF, &rule, &full);
	KUNIT_EXPECT_FALSE(test, rule_is_known(FAR_OFF));
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state));
	unwind_cache_add_rule(&state, FAR_OFF, &rule, &full);
	KUNIT_EXPECT_TRUE(test, rule_is_known(FAR_OFF));
}

/*
 * Anonymous code may have tables.  If the budget does not suffice to look for them, the
 * walk ends and does not use the frame pointer.
 */
static void no_budget(struct kunit *test)
{
	unsigned long base = map_as(test, OBJECT_BYTES, MAP_PRIVATE);
	unsigned long stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, base + CODE + 8, stack, 8);
	unsigned int i;

	put_object(test, base, 1, sp_plus_16);
	put_word(test, stack + 8, base + CODE + 0x20);
	for (i = 0; i < sizeof(struct object); i++) {
		state.table_bytes = i;
		KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_FAULT);
		KUNIT_EXPECT_EQ(test, state.frames[UNWIND_METHOD_FP], 0);
	}
}

/* A rule with the CFA in rbx: after a step by the frame pointer, rbx is unknown. */
static void lost_register(struct kunit *test)
{
	unsigned long base = make_object(test, 1, bx_plus_8);
	unsigned long text = map_shared(test, SZ_4K, 0), stack = map_shared(test, SZ_4K, 0);
	struct unwind_walk state = state_at(test, text, stack, 8);
	struct pt_regs regs = {};

	write_user(test, text, "\x90\x90\x90\x90", 4);
	write_user(test, base + CODE + 0x1b, "\xe8\0\0\0\0", 5);
	put_word(test, stack + 72, base + CODE + 0x20);
	put_word(test, stack + 192, base + CODE + 0x30);

	/* no register holds a return address: all of @regs are 0 */
	state.regs = &regs;
	state.kept[UNWIND_SLOT_FP] = stack + 64;
	state.kept[UNWIND_SLOT_BX] = stack + 192;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x20);
	KUNIT_EXPECT_EQ(test, state.frames[UNWIND_METHOD_FP], 1);
	KUNIT_EXPECT_EQ(test, unwind_user_next(&state), UNWIND_STOP);

	state.lost = 0;
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, base + CODE + 0x30);
}

#ifdef CONFIG_IA32_EMULATION
struct restorer_case {
	const char	*name;
	u8		code[8];
	bool		rt;
	/* offset in the code, and bytes of the frame that have been popped by then */
	u8		offset, popped;
};

#define SIGRETURN	{ 0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80 }
#define RT_SIGRETURN	{ 0xb8, 173, 0, 0, 0, 0xcd, 0x80 }

static const struct restorer_case restorer_cases[] = {
	{ "sigreturn",			SIGRETURN, false, 0, 0 },
	{ "sigreturn, mov",		SIGRETURN, false, 1, 4 },
	{ "sigreturn, int",		SIGRETURN, false, 6, 4 },
	{ "sigreturn, in the call",	SIGRETURN, false, 8, 4 },
	{ "rt_sigreturn",		RT_SIGRETURN, true, 0, 0 },
	{ "rt_sigreturn, int",		RT_SIGRETURN, true, 5, 0 },
	{ "rt_sigreturn, in the call",	RT_SIGRETURN, true, 7, 0 },
};

KUNIT_ARRAY_PARAM_DESC(restorer_case, restorer_cases, name);

static void put_sigcontext(struct kunit *test, unsigned long addr, unsigned long text,
			   unsigned long stack)
{
	const struct sigcontext_32 sc = {
		.ip = text + 0x200, .sp = stack + 0xf00, .bp = 1, .bx = 2, .si = 3,
		.di = 4,
	};

	write_user(test, addr, &sc, sizeof(sc));
}

static void restorer_32(struct kunit *test)
{
	const struct restorer_case *c = test->param_value;
	unsigned long text = map_shared(test, SZ_4K, MAP_32BIT);
	unsigned long stack = map_shared(test, SZ_4K, MAP_32BIT), frame = stack + 0x40;
	struct unwind_walk state;
	unsigned int slot;
	unsigned long val;

	write_user(test, text, c->code, sizeof(c->code));
	put_sigcontext(test, frame +
		       (c->rt ? offsetof(struct rt_sigframe_ia32, uc.uc_mcontext) :
				offsetof(struct sigframe_ia32, sc)), text, stack);

	/* the handler has returned and popped its return address */
	state = state_at(test, text + c->offset, frame + 4 + c->popped, 4);
	state.back = c->offset == (c->rt ? 7 : 8);	/* after the system call */
	KUNIT_ASSERT_EQ(test, unwind_user_next(&state), 0);
	KUNIT_EXPECT_EQ(test, state.ip, text + 0x200);
	KUNIT_EXPECT_EQ(test, state.sp, stack + 0xf00);
	KUNIT_EXPECT_TRUE(test, state.exact);
	for (slot = 0; slot < 4; slot++) {
		KUNIT_EXPECT_EQ(test, unwind_read_word(&state, state.kept[slot], &val), 0);
		KUNIT_EXPECT_EQ(test, val, slot + 1);
	}

	/* a handler never returns into the middle of the restorer */
	state = state_at(test, text + c->offset, frame + 4 + c->popped, 4);
	state.exact = false;
	state.back = 1;
	if (c->offset)
		KUNIT_EXPECT_LT(test, unwind_user_next(&state), 0);
}
#endif

static struct kunit_case eh_frame_cases[] = {
	KUNIT_CASE(by_tables),
	KUNIT_CASE(odd_sp),
	KUNIT_CASE(no_memory_for_object),
	KUNIT_CASE(punched),
	KUNIT_CASE(cie_later),
	KUNIT_CASE(realigned_stack),
	KUNIT_CASE(in_register),
	KUNIT_CASE_PARAM(volatile_register, volatile_case_gen_params),
	KUNIT_CASE_PARAM(register_checksum, volatile_case_gen_params),
	KUNIT_CASE(by_expression),
	KUNIT_CASE(sp_is_not_cfa),
	KUNIT_CASE(sp_is_sp_plus),
	KUNIT_CASE_PARAM(at_landing, landing_case_gen_params),
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	KUNIT_CASE_PARAM(at_landing_in_place, landing_case_gen_params),
#endif
	KUNIT_CASE(saves_ax),
#ifdef CONFIG_UNWIND_USER_CODE
	KUNIT_CASE_PARAM(left_alone, callee_case_gen_params),
	KUNIT_CASE(rule_of_earlier_code),
#endif
	KUNIT_CASE(table_budget),
	KUNIT_CASE(order_of_rows),
	KUNIT_CASE(other_word),
	KUNIT_CASE(many_objects),
	KUNIT_CASE(one_of_objects),
	KUNIT_CASE(other_mapping),
	KUNIT_CASE(flush_pending),
	KUNIT_CASE(no_budget),
	KUNIT_CASE(lost_register),
#ifdef CONFIG_IA32_EMULATION
	KUNIT_CASE_PARAM(restorer_32, restorer_case_gen_params),
#endif
	{}
};

static struct kunit_suite eh_frame_suite = {
	.name = "unwind_eh_frame",
	.test_cases = eh_frame_cases,
};

kunit_test_suite(eh_frame_suite);

MODULE_DESCRIPTION("Tests of unwinding by .eh_frame");
MODULE_LICENSE("GPL");

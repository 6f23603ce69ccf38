// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of objects without a usable table in .eh_frame_hdr, such as static programs of
 * glibc: find .eh_frame, and in it the FDE of an address.
 *
 * Section headers have the address and size of .eh_frame.  They are not mapped, so they are read
 * from the file.  If there are none, .eh_frame begins at the address in .eh_frame_hdr, and ends
 * at its terminator.  The entries of .eh_frame are not sorted.  So the section is read once, from
 * the process's memory, and a sorted index of it is kept in kernel memory with the mm's cache.
 *
 * The file and the section are not trusted.  Section headers are only used to find a place
 * in the object's own segments.  The index only gives the entry that may cover an address.
 * cfi.c reads the entry in the process's memory and checks whether it covers the address, as
 * for the rows of .eh_frame_hdr.
 *
 * Formats: System V ABI, chapter 4 (sections); Linux Standard Base Core 5.0,
 * section 10.6.1 (.eh_frame).
 */

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/unwind_walk.h>

#include "cache.h"
#include "cfi.h"
#include "eh_index.h"
#include "memory_file.h"
#include "task.h"
#include "unwind.h"

/* a linked program has some 30 sections */
#define MAX_SECTIONS	256
/*
 * The index takes 8 bytes for each FDE, and 12 more while it is made: 2 MiB and 3 MiB
 * at most.  An object that exceeds a limit is unwound like one without tables.  A static
 * program of glibc has some 50 KiB of .eh_frame with 1,200 FDEs.
 */
#define MAX_ROWS	(256 * 1024U)
/* how long threads wait for the thread that makes the index, in jiffies */
#define MAX_WAIT	(HZ / 10 + 1)
/* the smallest FDE: length and CIE pointer of 4 bytes each, start and size of 2 bytes each */
#define MIN_FDE		12

#define SHT_X86_64_UNWIND	0x70000001

#define EH_FRAME	".eh_frame"
#define PLT		".plt"

/* Where to read a file: it has code mapped at @ip. */
struct index_reader {
	struct unwind_walk	*state;
	unsigned long			ip;
};

static int index_read_file(void *ctx, u64 pos, void *to, size_t len)
{
	struct index_reader *reader = ctx;
	u64 end;

	if (check_add_overflow(pos, len, &end) || end > S64_MAX)
		return -EINVAL;
	if (!unwind_may_read(reader->state, len))
		return -EFAULT;
	return unwind_read_file(reader->state, reader->ip, pos, to, len);
}

/* Have the section headers not been stripped, and is this a linked program? */
static bool index_has_sections(const struct unwind_elf *elf, unsigned int word)
{
	u32 size = word == sizeof(u64) ? sizeof(struct elf64_shdr) : sizeof(struct elf32_shdr);

	return elf->word == word && elf->sections.pos && elf->names < elf->sections.nr &&
	       elf->sections.nr <= MAX_SECTIONS && elf->sections.size == size;
}

static int index_read_section(const struct unwind_elf *elf, u32 i, struct elf64_shdr *section)
{
	struct elf32_shdr sh;
	u64 pos;
	int ret;

	if (check_add_overflow(elf->sections.pos, (u64)i * elf->sections.size, &pos))
		return -EINVAL;
	if (elf->word == sizeof(u64))
		return elf->read(elf->ctx, pos, section, sizeof(*section));
	ret = elf->read(elf->ctx, pos, &sh, sizeof(sh));
	if (ret)
		return ret;
	*section = (struct elf64_shdr) {
		.sh_name = sh.sh_name,
		.sh_type = sh.sh_type,
		.sh_flags = sh.sh_flags,
		.sh_addr = sh.sh_addr,
		.sh_offset = sh.sh_offset,
		.sh_size = sh.sh_size,
	};
	return 0;
}

/* If name and flags say that the section is .eh_frame or .plt, save its address and size. */
static int index_note_section(const struct unwind_elf *elf, const struct elf64_shdr *names,
			      const struct elf64_shdr *section,
			      struct unwind_eh_sections *found)
{
	bool is_code = section->sh_flags & SHF_EXECINSTR;
	char name[sizeof(EH_FRAME)];
	u64 pos;
	int ret;

	if ((section->sh_type != SHT_PROGBITS && section->sh_type != SHT_X86_64_UNWIND) ||
	    !(section->sh_flags & SHF_ALLOC))
		return 0;
	if (names->sh_size < sizeof(name) || section->sh_name > names->sh_size - sizeof(name))
		return 0;
	if (check_add_overflow((u64)names->sh_offset, (u64)section->sh_name, &pos))
		return -EINVAL;
	ret = elf->read(elf->ctx, pos, name, sizeof(name));
	if (ret)
		return ret;

	if (is_code && !memcmp(name, PLT, sizeof(PLT))) {
		found->plt = section->sh_addr;
		found->plt_size = section->sh_size;
	}
	if (!is_code && !memcmp(name, EH_FRAME, sizeof(name))) {
		if (section->sh_size > UNWIND_EH_FRAME_MAX)
			return -E2BIG;
		found->eh_frame = section->sh_addr;
		found->eh_frame_size = section->sh_size;
	}
	return 0;
}

/**
 * unwind_eh_index_sections - find .eh_frame by the section headers of a file
 * @state: the walk, whose budget is charged
 * @ip: address of code that is mapped from the file
 * @word: bytes of an address in it
 * @found: filled in
 *
 * The values are those in the file, and are not checked.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0; -EFAULT if the file cannot be read now; or another error if there is
 *	   no such file or section.
 */
int unwind_eh_index_sections(struct unwind_walk *state, unsigned long ip,
			     unsigned int word, struct unwind_eh_sections *found)
{
	struct index_reader reader = { .state = state, .ip = ip };
	struct unwind_elf elf = { .read = index_read_file, .ctx = &reader };
	struct elf64_shdr names, section;
	int ret;
	u32 i;

	*found = (struct unwind_eh_sections) {};
	ret = unwind_elf_open(&elf);
	if (!ret && !index_has_sections(&elf, word))
		ret = -EINVAL;
	if (!ret)
		ret = index_read_section(&elf, elf.names, &names);
	for (i = 0; !ret && i < elf.sections.nr; i++)
		ret = index_read_section(&elf, i, &section) ?:
		      index_note_section(&elf, &names, &section, found);
	if (ret)
		return ret;
	return found->eh_frame_size ? 0 : -ENOENT;
}

/* a row before sorting; @end is the end of its function */
struct scan_row {
	u32	ip;
	u32	end;
	u32	fde;
};

/**
 * struct scan - reads a section from one end to the other
 * @state: the walk
 * @object: the object of the section
 * @rows: the rows that were found
 * @nr: number of @rows
 * @max: allocated number of @rows
 * @sorted: @rows are sorted already
 */
struct scan {
	struct unwind_walk	*state;
	const struct unwind_object	*object;
	struct scan_row			*rows;
	u32				nr;
	u32				max;
	bool				sorted;
};

static int scan_read(void *ctx, unsigned long addr, void *to, size_t len)
{
	struct scan *scan = ctx;

	return unwind_read(scan->state, addr, to, len);
}

/*
 * A linker that does not edit .eh_frame sets the address of removed code to 0, which is the
 * address of the ELF header in a shared object; or it sets the field to 0, so that code seems to
 * begin at the field itself.
 */
static bool scan_is_removed(const struct unwind_object *object, unsigned long start)
{
	return start <= object->start || start - object->table < object->eh_frame_size;
}

/*
 * Add a row for the code that an FDE covers. cfi.c returns that range when it is called
 * for an address that no function has.
 */
static int scan_fde(struct scan *scan, unsigned long fde)
{
	const struct unwind_object *object = scan->object;
	struct unwind_cfi *cfi = scan->state->cfi;
	struct unwind_full_rule rule;
	struct scan_row *row;
	int ret;

	ret = unwind_cfi_rule(cfi, fde, ULONG_MAX, &rule);
	if (ret == -EFAULT)
		return ret;
	/* skip entries that cannot be decoded, and those of code that the linker removed */
	if (ret != -ENOENT || cfi->row_start >= cfi->row_end ||
	    cfi->row_end > object->end || scan_is_removed(object, cfi->row_start))
		return 0;
	if (scan->nr == scan->max)
		return -E2BIG;

	row = &scan->rows[scan->nr];
	row->ip = cfi->row_start - object->start;
	row->end = cfi->row_end - object->start;
	row->fde = fde - object->start;
	if (scan->nr && row[-1].ip > row->ip)
		scan->sorted = false;
	scan->nr++;
	return 0;
}

static int scan_section(struct scan *scan)
{
	const struct unwind_object *object = scan->object;
	unsigned long at = object->table, end = at + object->eh_frame_size;
	struct {
		u32	len;
		u32	cie;	/* 0: this is a CIE */
	} entry;
	int ret;

	for (; end - at >= sizeof(entry); at += sizeof(entry.len) + entry.len) {
		cond_resched();
		if (fatal_signal_pending(current) ||
		    time_after(jiffies, scan->state->deadline))
			return -EFAULT;
		if (unwind_read(scan->state, at, &entry, sizeof(entry)))
			return -EFAULT;
		if (!entry.len)
			break;
		/* no linker writes entries of 4 GiB, with their longer length field */
		if (entry.len < sizeof(entry.cie) ||
		    entry.len > end - at - sizeof(entry.len))
			return -EINVAL;
		ret = entry.cie ? scan_fde(scan, at) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct scan_row *one = a, *other = b;

	cond_resched();
	return one->ip < other->ip ? -1 : one->ip > other->ip;
}

/* If functions overlap, the right entry is unknown, so use none of them. */
static void refuse_overlaps(struct scan_row *rows, u32 nr)
{
	u32 i, last = 0;	/* of the rows so far, the one that ends last */

	for (i = 1; i < nr; i++) {
		if (rows[i].ip < rows[last].end) {
			rows[i].fde = 0;
			rows[last].fde = 0;
		}
		if (rows[i].end > rows[last].end)
			last = i;
	}
}

/*
 * Allocate single pages only.  vmalloc() requires that it may reclaim memory: do so once, and do
 * not invoke the OOM killer.
 */
static void *index_alloc(size_t size)
{
	if (size <= PAGE_SIZE)
		return kmalloc(size, UNWIND_GFP | __GFP_ACCOUNT);
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
}

static int index_make(struct scan *scan, struct unwind_eh_index **to)
{
	struct unwind_eh_index *index;
	u32 i;

	if (!scan->nr)
		return -ENOENT;
	if (!scan->sorted)
		sort(scan->rows, scan->nr, sizeof(*scan->rows), compare_rows, NULL);
	refuse_overlaps(scan->rows, scan->nr);

	index = index_alloc(struct_size(index, rows, scan->nr));
	if (!index)
		return -ENOMEM;
	index->start = scan->object->start;
	index->nr = scan->nr;
	for (i = 0; i < scan->nr; i++) {
		index->rows[i].ip = scan->rows[i].ip;
		index->rows[i].fde = scan->rows[i].fde;
	}
	*to = index;
	return 0;
}

static int index_section(struct unwind_walk *state,
			 const struct unwind_object *object,
			 struct unwind_eh_index **index)
{
	struct scan scan = { .state = state, .object = object, .sorted = true };
	struct unwind_cfi *cfi = state->cfi;
	int ret;

	scan.max = min_t(u32, object->eh_frame_size / MIN_FDE, MAX_ROWS);
	scan.rows = index_alloc(scan.max * sizeof(*scan.rows));
	if (!scan.rows)
		return -ENOMEM;

	/* allow no entries outside the section: the cache is not notified of changes to them */
	cfi->read = scan_read;
	cfi->ctx = &scan;
	cfi->start = object->table;
	cfi->limit = object->table + object->eh_frame_size;
	cfi->data = 0;
	cfi->word = object->word;
	ret = scan_section(&scan) ?: index_make(&scan, index);
	kvfree(scan.rows);
	return ret;
}

/*
 * Wait until another thread has made the index, which takes some milliseconds.  That thread
 * may have to wait for pages, so limit the time.
 */
static enum unwind_result wait_for_index(unsigned long ip)
{
	struct unwind_object object;
	int ticks;

	for (ticks = 0; ticks < MAX_WAIT; ticks++) {
		if (unwind_cache_find_object(ip, &object) || !object.indexing ||
		    fatal_signal_pending(current))
			break;
		schedule_timeout_killable(1);
	}
	return UNWIND_RETRY;
}

/* How many failed attempts does an error count as?  A later walk may have memory. */
static unsigned int failed_tries(int error)
{
	if (!error || error == -ENOMEM)
		return 0;
	return error == -EFAULT ? 1 : UNWIND_INDEX_TRIES;
}

/**
 * unwind_eh_index_build - make the index of an object, and cache it
 * @state: the walk
 * @ip: address in the object
 * @object: the object, which has an .eh_frame that is not indexed
 *
 * If several threads of a process need the index at the same time, one of them
 * makes it.  After a permanent error, or a few temporary ones, the object is cached as
 * one without tables.  A walk that takes no page faults neither makes it nor waits for it: a
 * real-time task must not sleep here, and a task that serves I/O may have to provide the pages.
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_RETRY to look up the object again, which may have an index now; or UNWIND_FAULT,
 *	   also if the task must not allocate.
 */
enum unwind_result unwind_eh_index_build(struct unwind_walk *state, unsigned long ip,
					 const struct unwind_object *object)
{
	struct unwind_eh_index *index = NULL;
	int ret;

	if (state->no_faults || !unwind_task_may_allocate())
		return UNWIND_FAULT;
	if (!unwind_cache_claim_index(&state->tables, ip))
		return wait_for_index(ip);
	ret = index_section(state, object, &index);
	unwind_cache_end_index(&state->tables, ip, index, failed_tries(ret));
	return ret == -EFAULT || ret == -ENOMEM ? UNWIND_FAULT : UNWIND_RETRY;
}

/**
 * unwind_eh_stub_rule - the rule of a stub in a procedure linkage table
 * @state: the frame
 * @object: the object
 * @ip: linear user address
 * @full: filled in
 *
 * Linkers write no FDE for the procedure linkage table of a static program. It has only
 * stubs of one instruction, an indirect jump. So at a stub, the stack is as at the entry
 * of a function.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0, -ENOENT if this is no stub, or -EFAULT.
 */
int unwind_eh_stub_rule(struct unwind_walk *state, const struct unwind_object *object,
			unsigned long ip, struct unwind_full_rule *full)
{
	unsigned long plt = object->start + object->plt;
	u8 insn[UNWIND_ARCH_STUB_BYTES];
	int slot;

	if (!state->exact || ip - plt >= object->plt_size)
		return -ENOENT;
	if (unwind_read(state, ip, insn, sizeof(insn)))
		return -EFAULT;
	if (!arch_unwind_is_stub(insn))
		return -ENOENT;

	*full = (struct unwind_full_rule) {
		.cfa_reg = UNWIND_REG_SP,
		.cfa_off = object->word,
		.ra_where = UNWIND_AT_CFA,
		.ra_off = -(s32)object->word,
	};
	for (slot = 0; slot < UNWIND_NR_KEPT; slot++)
		full->kept_where[slot] = UNWIND_SAME;
	/* set only the end of the row: code before this stub may need another rule */
	state->cfi->row_end = plt + object->plt_size;
	return 0;
}

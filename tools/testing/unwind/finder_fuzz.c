// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: a process with arbitrary mappings and contents, and an address in
 * it, for kernel/unwind/object.c, eh_index.c, eh_frame.c and the functions that they
 * call.  Besides errors that the sanitizers find, it checks that the reads of memory are
 * within the limits of the search; that the address, the code and the table lie in the
 * object that is found; that the binary search finds the same row as a linear one;
 * that only allowed results are cached; and that no lock stays held.
 */

#include <errno.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "eh_index.h"
#include "memory_file.h"
#include "finder_fuzz.h"
#include "fuzz_check.h"
#include "object.h"
#include "tables.h"

#define BASE		0x500000UL
#define MAX_TABLES	(64 * 1024)
/* reads for each of 9 possible objects: ELF header, at most 64 program headers, .eh_frame_hdr */
#define MAX_OBJECT	(9 * (1 + 64 + 1))
/* in addition: 32 steps of the search, the row, and the entries in windows, some of them short */
#define MAX_SEARCH	(MAX_OBJECT + 33 + MAX_TABLES / UNWIND_CFI_WINDOW + 64)
/* reads of a file: ELF header, header of the section of names, header and name of each section */
#define MAX_FILE_READS	(9 * (2 + 2 * 256))
/* reads for an index: length, FDE and CIE of each entry, in a few windows */
#define MAX_MAPS_BYTES	(FINDER_FUZZ_MAPS * 64 * 4096U)
#define MAX_INDEX	(2 * MAX_MAPS_BYTES)
/* a search is repeated twice if memory was unmapped during it */
#define MAX_READS	(3 * MAX_SEARCH)

struct process {
	u8			flags;
	unsigned int		reads;
	const u8		*bytes;
	size_t			nr;
	struct mm_struct	mm;
	struct vm_area_struct	maps[FINDER_FUZZ_MAPS];
	size_t			from[FINDER_FUZZ_MAPS];
	struct file		files[256];
	struct unwind_object	object;	/* the object that was found last */
	bool			kept;
	bool			kept_rule;
	bool			indexing;
	bool			no_index;
	struct unwind_eh_index	*index;
	unsigned int		file_reads;
	bool			unread;	/* a read of memory has failed */
	bool			untold;	/* memory was read that may change without notice */
	unsigned long		ip;	/* address of the requested rule */
};

static struct process process;
static struct task_struct task = { .mm = &process.mm };
struct task_struct *const current = &task;

/* read a byte of memory, and note whether it may change without notice */
static int read_byte(unsigned long addr, u8 *to)
{
	const struct vm_area_struct *map;
	size_t at;
	int i;

	for (i = 0; i < process.mm.nr_maps; i++) {
		map = &process.maps[i];
		if (addr < map->vm_start || addr >= map->vm_end)
			continue;
		if (!(map->vm_flags & VM_READ))
			return -EFAULT;
		if ((map->vm_flags & VM_WRITE) ||
		    !(map->vm_file || (map->vm_flags & VM_EXEC)))
			process.untold = true;
		at = process.from[i] + (addr - map->vm_start);
		*to = at < process.nr ? process.bytes[at] : 0;
		return 0;
	}
	return -EFAULT;
}

int unwind_read(struct unwind_walk *state, unsigned long addr, void *to,
		size_t len)
{
	u8 *bytes = to;
	size_t i;

	(void)state;
	CHECK(len && len <= UNWIND_CFI_WINDOW);
	CHECK(++process.reads <= (process.indexing ? MAX_INDEX : MAX_READS));
	CHECK(!process.mm.readers);
	for (i = 0; i < len; i++) {
		if (read_byte(addr + i, bytes + i)) {
			process.unread = true;
			return -EFAULT;
		}
		if ((process.flags & FINDER_FUZZ_WRITER) && i % 7 == 0)
			bytes[i] ^= process.reads * 29;
	}
	return 0;
}

/* Return a byte of a file. The mappings of the file define its contents; other bytes are 0. */
static u8 file_byte(const struct file *file, u64 pos)
{
	const struct vm_area_struct *map;
	u64 from;
	size_t at;
	int i;

	for (i = 0; i < process.mm.nr_maps; i++) {
		map = &process.maps[i];
		from = map->vm_pgoff * PAGE_SIZE;
		if (map->vm_file != file || pos < from ||
		    pos - from >= map->vm_end - map->vm_start)
			continue;
		at = process.from[i] + (pos - from);
		return at < process.nr ? process.bytes[at] : 0;
	}
	return 0;
}

int unwind_read_file(struct unwind_walk *state, unsigned long addr, u64 pos,
		     void *to, size_t len)
{
	struct vm_area_struct *map = vma_lookup(&process.mm, addr);
	u8 *bytes = to;
	size_t i;

	(void)state;
	CHECK(len && len <= UNWIND_CFI_WINDOW);
	CHECK(pos <= INT64_MAX && len <= INT64_MAX - pos);
	CHECK(++process.file_reads <= 4 * MAX_FILE_READS);
	CHECK(!process.mm.readers);
	CHECK(map && map->vm_file && !(map->vm_flags & VM_WRITE));
	if (pos > 1U << 20)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		bytes[i] = file_byte(map->vm_file, pos + i);
		if ((process.flags & FINDER_FUZZ_WRITER) && i % 7 == 0)
			bytes[i] ^= process.file_reads * 29;
	}
	return 0;
}

static void check_eh_frame(const struct unwind_object *object)
{
	CHECK(!object->transient);
	CHECK(object->table >= object->start && object->table < object->end);
	CHECK(object->eh_frame_size <= object->end - object->table);
	CHECK(object->table >= object->stay_start);
	CHECK(object->table + object->eh_frame_size <= object->stay_end);
	CHECK(object->end - object->start <= UINT32_MAX);
	CHECK(!object->base);
}

static void check_object(const struct unwind_object *object, unsigned long ip)
{
	CHECK(object->start <= ip && ip < object->end);
	CHECK(object->code_start <= ip && ip < object->code_end);
	CHECK(object->code_start >= object->start);
	CHECK(object->code_end <= object->end);
	if (object->eh_frame_size)
		check_eh_frame(object);
	if (!object->nr || object->eh_frame_size)
		return;
	CHECK(object->word == sizeof(u32) || object->word == sizeof(u64));
	CHECK(object->base >= object->start);
	CHECK(object->table > object->base && object->table <= object->end);
	CHECK(object->nr <= (object->end - object->table) / sizeof(u64));
}

/* what follows a function, as the input decides: a restorer, other code, or unreadable memory */
enum unwind_result unwind_sigframe_behind(struct unwind_walk *state, unsigned long ip,
					  struct unwind_full_rule *full)
{
	CHECK(ip == process.ip && state->cfi->row_end == ip + 1);
	if (!(process.flags & FINDER_FUZZ_RESTORER))
		return UNWIND_NONE;
	process.untold = true;
	if (process.flags & FINDER_FUZZ_DYING)
		return UNWIND_FAULT;
	memset(full, 0, sizeof(*full));
	full->signal = true;
	return UNWIND_FOUND;
}

static u64 rule_key(void)
{
	return process.ip | (process.flags & FINDER_FUZZ_32BIT ? 1UL << UNWIND_KEY_WORD : 0);
}

/* the cache has no rules; the input decides whether it has the last object */
enum unwind_result unwind_cache_find_rule(u64 key, bool missed, struct unwind_user_rule *rule,
					  struct unwind_full_rule *full)
{
	(void)missed;
	(void)rule;
	(void)full;
	CHECK(key == rule_key());
	return UNWIND_NONE;
}

enum unwind_result unwind_cache_find_object(unsigned long ip, struct unwind_object *object)
{
	if (!process.kept || !(process.flags & FINDER_FUZZ_KEPT ||
			       process.index || process.no_index))
		return UNWIND_NONE;
	check_object(&process.object, ip);
	*object = process.object;
	return UNWIND_FOUND;
}

bool unwind_cache_begin(struct unwind_cache_state *state)
{
	memset(state, 0x55, sizeof(*state));
	return true;
}

bool unwind_cache_holds(const struct unwind_cache_state *state)
{
	(void)state;
	return !(process.flags & FINDER_FUZZ_UNMAPPED);
}

void unwind_cache_add_rule(const struct unwind_cache_state *state,
			   u64 key, const struct unwind_user_rule *rule,
			   const struct unwind_full_rule *full)
{
	(void)full;
	CHECK(unwind_cache_holds(state));
	CHECK(!process.unread);
	CHECK(!process.untold);
	process.kept_rule = true;
	CHECK(key == rule_key());
	CHECK(rule->kind <= UNWIND_RULE_LANDING);
}

bool unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object)
{
	(void)state;
	check_object(object, process.ip);
	CHECK(!object->transient);
	process.object = *object;
	process.kept = true;
	/* the rule depends on what is read from here on: the table, then the entry */
	process.unread = false;
	process.untold = false;
	return true;
}

bool unwind_cache_claim_index(const struct unwind_cache_state *state,
			      unsigned long ip)
{
	(void)state;
	CHECK(ip == process.ip && !process.indexing);
	if (process.index || (process.flags & FINDER_FUZZ_UNMAPPED))
		return false;
	CHECK(process.kept && process.object.eh_frame_size);
	process.reads = 0;
	process.indexing = true;
	return true;
}

/* Check that no function has two entries, and that all entries are in the object's .eh_frame. */
static void check_index(const struct unwind_eh_index *index)
{
	const struct unwind_object *object = &process.object;
	const struct unwind_eh_row *row;
	u32 i;

	CHECK(index->nr && index->start == object->start);
	CHECK(index->nr <= object->eh_frame_size);
	for (i = 0; i < index->nr; i++) {
		row = &index->rows[i];
		CHECK(index->start + row->ip < object->end);
		CHECK(!row->fde || index->start + row->fde >= object->table);
		CHECK(!row->fde || index->start + row->fde <
				   object->table + object->eh_frame_size);
		CHECK(!i || row[-1].ip < row->ip ||
		      (row[-1].ip == row->ip && !row->fde && !row[-1].fde));
	}
}

void unwind_cache_end_index(const struct unwind_cache_state *state,
			    unsigned long ip, struct unwind_eh_index *index,
			    unsigned int tries)
{
	(void)state;
	CHECK(ip == process.ip && process.indexing);
	process.reads = 0;
	process.indexing = false;
	process.index = index;
	if (index) {
		CHECK(!tries);
		check_index(index);
		process.object.nr = index->nr;
	} else if (tries == UNWIND_INDEX_TRIES) {
		process.no_index = true;
		process.object.eh_frame_size = 0;
	}
}

int unwind_cache_find_fde(unsigned long ip, unsigned long *fde)
{
	CHECK(ip == process.ip && process.index);
	return unwind_eh_index_find(process.index, ip, fde);
}

struct row {
	s32	ip;
	s32	fde;
};

static bool read_row(unsigned long table, u32 i, struct row *row)
{
	u8 *to = (u8 *)row;
	size_t at;

	for (at = 0; at < sizeof(*row); at++) {
		if (read_byte(table + i * sizeof(*row) + at, to + at))
			return false;
	}
	return true;
}

/* the last row at @ip or before it; false if the table is not sorted or has two equal addresses */
static bool last_row(const struct unwind_object *object, unsigned long ip,
		     unsigned long *fde)
{
	s64 want = ip - object->base;
	struct row row, best = {};
	s64 before = INT64_MIN;
	bool any = false;
	u32 i;

	for (i = 0; i < object->nr && i < 4096; i++) {
		if (!read_row(object->table, i, &row) || row.ip <= before)
			return false;
		before = row.ip;
		if (row.ip > want)
			continue;
		best = row;
		any = true;
	}
	*fde = object->base + best.fde;
	return any && i == object->nr;
}

/* The linker wraps unwind_cfi_rule(), so that each call of the finder can be checked. */
extern typeof(unwind_cfi_rule) __real_unwind_cfi_rule, __wrap_unwind_cfi_rule;

int __wrap_unwind_cfi_rule(struct unwind_cfi *cfi, unsigned long fde,
			   unsigned long ip, struct unwind_full_rule *rule)
{
	struct unwind_object object;
	unsigned long want;

	if (process.indexing) {
		CHECK(ip == ULONG_MAX && !cfi->data);
		CHECK(cfi->start == process.object.table);
		CHECK(cfi->limit == cfi->start + process.object.eh_frame_size);
		return __real_unwind_cfi_rule(cfi, fde, ip, rule);
	}
	CHECK(ip == process.ip);
	CHECK(cfi->start <= ip && ip < cfi->limit);
	CHECK(cfi->word == (process.flags & FINDER_FUZZ_32BIT ? 4 : 8));
	if (process.kept && !(process.flags & FINDER_FUZZ_WRITER)) {
		object = process.object;
		CHECK(cfi->start == object.start && cfi->limit == object.end);
		CHECK(cfi->data == object.base);
		CHECK(object.eh_frame_size || !last_row(&object, ip, &want) || want == fde);
	}
	process.unread = false;
	process.untold = false;
	return __real_unwind_cfi_rule(cfi, fde, ip, rule);
}

static unsigned long vm_flags(u8 vm)
{
	static const unsigned long flags[] = {
		VM_READ, VM_WRITE, VM_EXEC, VM_SHARED, VM_IO, VM_HUGETLB,
	};
	unsigned long all = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		all |= vm & (1U << i) ? flags[i] : 0;
	return all;
}

static void lay_maps(const struct finder_fuzz *in)
{
	unsigned long at = BASE, size = 0;
	int i, nr = in->nr_maps % (FINDER_FUZZ_MAPS + 1);

	for (i = 0; i < nr; i++)
		size += (in->maps[i].gap + in->maps[i].pages % 64 + 1) * PAGE_SIZE;
	if (in->flags & FINDER_FUZZ_TOP)
		at = TASK_SIZE_MAX - size;

	for (i = 0; i < nr; i++) {
		const struct finder_fuzz_map *from = &in->maps[i];
		struct vm_area_struct *map = &process.maps[i];

		map->vm_start = at + from->gap * PAGE_SIZE;
		map->vm_end = map->vm_start + (from->pages % 64 + 1) * PAGE_SIZE;
		map->vm_flags = vm_flags(from->vm);
		map->vm_pgoff = from->pgoff;
		map->vm_file = from->file ? &process.files[from->file] : NULL;
		process.from[i] = from->from * FINDER_FUZZ_UNIT;
		at = map->vm_end;
	}
	process.mm.maps = process.maps;
	process.mm.nr_maps = nr;
	process.mm.dying = in->flags & FINDER_FUZZ_DYING;
}

/* The address to look up: in or just after the mapping that the input selects, if there is one. */
static unsigned long chosen_address(const struct finder_fuzz *in)
{
	unsigned long offset = in->ip[0] | in->ip[1] << 8 | in->ip[2] << 16;
	const struct vm_area_struct *map;

	if (!process.mm.nr_maps)
		return offset;
	map = &process.maps[in->at % process.mm.nr_maps];
	return map->vm_start + offset % (map->vm_end - map->vm_start + PAGE_SIZE);
}

static void find_object(struct unwind_walk *state, unsigned long ip)
{
	struct unwind_object object;
	int ret;

	process.reads = 0;
	memset(&object, 0xaa, sizeof(object));
	ret = unwind_object_at(state, ip, &object);
	CHECK(process.reads <= MAX_OBJECT);
	CHECK(!process.mm.readers);
	CHECK(!ret || ret == UNWIND_NONE || ret == UNWIND_STOP || ret == UNWIND_FAULT);
	if (!ret)
		check_object(&object, ip);
}

/* Return the result of unwind_eh_frame_rule(), or -ENODATA if the input is too short. */
int finder_fuzz_run(const u8 *data, size_t size, struct unwind_user_rule *rule,
		    struct unwind_full_rule *full)
{
	const struct finder_fuzz *in = (const void *)data;
	struct unwind_cfi cfi;
	struct unwind_walk state = { .cfi = &cfi, .table_bytes = MAX_TABLES };
	int ret;

	if (size < sizeof(*in))
		return -ENODATA;
	free(process.index);
	memset(&process, 0, sizeof(process));
	process.flags = in->flags;
	process.bytes = data + sizeof(*in);
	process.nr = size - sizeof(*in);
	lay_maps(in);

	state.word = in->flags & FINDER_FUZZ_32BIT ? 4 : 8;
	state.exact = in->flags & FINDER_FUZZ_EXACT;
	state.back = !state.exact;
	process.ip = chosen_address(in);
	state.ip = process.ip + state.back;
	unwind_cfi_init(&cfi);
	find_object(&state, process.ip);

	process.reads = 0;
	memset(rule, 0xaa, sizeof(*rule));
	ret = unwind_eh_frame_rule(&state, rule, full);
	CHECK(!process.mm.readers);
	CHECK(state.table_bytes <= MAX_TABLES);
	CHECK(!ret || ret == UNWIND_NONE || ret == UNWIND_STOP || ret == UNWIND_FAULT ||
	      ret == UNWIND_STALE || ret == UNWIND_NOT_CODE);
	CHECK(ret || (rule->kind > UNWIND_RULE_NONE && rule->kind <= UNWIND_RULE_LANDING));
	return ret;
}

/* Was a rule cached in the last run? */
bool finder_fuzz_kept_rule(void)
{
	return process.kept_rule;
}

/* Was an index made in the last run? */
bool finder_fuzz_indexed(void)
{
	return process.index;
}

/* Was an object cached in the last run? */
bool finder_fuzz_kept_object(void)
{
	return process.kept;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct unwind_user_rule rule;
	struct unwind_full_rule full;

	finder_fuzz_run(data, size, &rule, &full);
	return 0;
}

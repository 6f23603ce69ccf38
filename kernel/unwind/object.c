// SPDX-License-Identifier: GPL-2.0
/*
 * Find the loaded object that has the code at an address, and its .eh_frame_hdr.
 *
 * The first mapped page of an object holds its ELF header and program headers.  It is in
 * the mapping of the address or in one not far below.  The search looks at the contents of
 * memory, not at names or at the contents of files, so the vDSO, deleted files, memfds and text
 * that was copied to huge pages are objects too.  If the mapping of the address has a file,
 * the mapping of the header must have the same file.
 */

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>

#ifdef CONFIG_UNWIND_USER_EH_INDEX
#include "eh_index.h"
#endif
#include "elf_tables.h"
#ifdef CONFIG_UNWIND_USER_FILES
#include "file.h"
#endif
#include "object.h"

/* how many mappings below the code to search for the header of its object */
#define MAX_MAPPINGS_BELOW	8

static bool may_begin_object(struct vm_area_struct *vma,
			     struct vm_area_struct *code)
{
	if (!(vma->vm_flags & VM_READ) ||
	    (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_HUGETLB)))
		return false;
	if (vma != code && !code->vm_file && (vma->vm_flags & VM_SHARED))
		return false;
	if (!vma->vm_file)
		return !code->vm_file;
	if (vma->vm_pgoff)
		return false;
	return !code->vm_file ||
	       file_inode(vma->vm_file) == file_inode(code->vm_file);
}

/**
 * struct places - the mappings in which the object of an address may begin
 * @begin: their start addresses, nearest first
 * @is_code: for each of them: whether it is executable
 * @nr: their number
 * @code_has_file: the mapping of the code has a file
 * @code_may_change: the mapping of the code is writable, or shared: then the file was opened for
 *		     writing
 * @file_start: if @code_has_file: where offset 0 of the file would be if the mapping of the code
 *		extended down to it
 */
struct places {
	unsigned long	begin[MAX_MAPPINGS_BELOW + 1];
	bool		is_code[MAX_MAPPINGS_BELOW + 1];
	int		nr;
	bool		code_has_file;
	bool		code_may_change;
	unsigned long	file_start;
};

/* List the mappings in which the object may begin, and describe the mapping of the code. */
static enum unwind_result list_places(unsigned long ip, struct places *places,
				      struct unwind_object *code)
{
	VMA_ITERATOR(vmi, current->mm, ip);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma, *first;
	int i;

	if (mmap_read_lock_killable(mm))
		return UNWIND_FAULT;

	first = vma_find(&vmi, ip + 1);
	if (!first || !(first->vm_flags & VM_EXEC)) {
		mmap_read_unlock(mm);
		return UNWIND_NONE;
	}
	code->start = first->vm_start;
	code->end = first->vm_end;
	code->code_start = first->vm_start;
	code->code_end = first->vm_end;

	places->nr = 0;
	places->code_has_file = first->vm_file;
	places->code_may_change = first->vm_flags & (VM_WRITE | VM_SHARED);
	code->transient = places->code_may_change;
	places->file_start = first->vm_start - first->vm_pgoff * PAGE_SIZE;

	vma = first;
	for (i = 0; vma && i <= MAX_MAPPINGS_BELOW; i++) {
		if (may_begin_object(vma, first)) {
			places->is_code[places->nr] = vma->vm_flags & VM_EXEC;
			places->begin[places->nr++] = vma->vm_start;
		}
		vma = vma_prev(&vmi);
	}
	mmap_read_unlock(mm);
	return UNWIND_FOUND;
}

/* Where to read an object in memory: its first byte is at @begin. */
struct object_reader {
	struct unwind_walk	*state;
	unsigned long			begin;
};

static int object_read(void *ctx, u64 pos, void *to, size_t len)
{
	struct object_reader *reader = ctx;

	if (!unwind_may_read(reader->state, len) ||
	    unwind_read(reader->state, reader->begin + pos, to, len))
		return -EFAULT;
	return 0;
}

/**
 * struct layout - values from program headers, relative to the load address
 * @first: lowest address of a PT_LOAD
 * @last: end of the highest PT_LOAD
 * @zero: address of the beginning of the file
 * @eh_hdr: address of .eh_frame_hdr
 * @eh_hdr_size: its size; 0 if there is none
 */
struct layout {
	u64	first;
	u64	last;
	u64	zero;
	u64	eh_hdr;
	u64	eh_hdr_size;
};

static int note_segment(struct layout *layout, const struct elf64_phdr *segment)
{
	u64 vaddr = segment->p_vaddr, offset = segment->p_offset, end;

	if (check_add_overflow(vaddr, (u64)segment->p_memsz, &end) || end > TASK_SIZE_MAX)
		return -EINVAL;

	if (segment->p_type == PT_GNU_EH_FRAME) {
		layout->eh_hdr = vaddr;
		layout->eh_hdr_size = segment->p_memsz;
	}
	if (segment->p_type == PT_LOAD) {
		layout->first = min(layout->first, vaddr & PAGE_MASK);
		layout->last = max(layout->last, end);
		if (offset < PAGE_SIZE)
			layout->zero = min(layout->zero, vaddr - offset);
	}
	return 0;
}

static int object_read_layout(const struct unwind_elf *elf, struct layout *layout)
{
	struct elf64_phdr segment;
	int ret;
	u32 i;

	*layout = (struct layout) { .first = U64_MAX, .zero = U64_MAX };
	for (i = 0; i < elf->segments.nr; i++) {
		ret = unwind_elf_segment(elf, i, &segment) ?: note_segment(layout, &segment);
		if (ret)
			return ret;
	}
	return layout->zero == U64_MAX ? -ENOENT : 0;
}

/*
 * To save space, a linker may let two segments share a page of the file.  If the page has the ELF
 * header, a second copy of the header is mapped some pages higher, and the tables seem to fit that
 * copy, too.  So require that the code is mapped from the file offset that its program header
 * gives.  If code was copied to other memory, the offset is unknown: then refuse a header in an
 * executable mapping if it may be the second copy.
 */
static bool segment_fits(const struct elf64_phdr *segment,
			 const struct layout *layout,
			 const struct places *places, int i)
{
	u64 file_start = segment->p_vaddr - segment->p_offset;

	if (places->code_has_file)
		return places->begin[i] - layout->zero + file_start ==
		       places->file_start;
	return !places->is_code[i] || file_start == layout->zero ||
	       segment->p_offset >= PAGE_SIZE;
}

/*
 * Returns 0 if the program headers describe @ip as code that is mapped where they place
 * it; -ENODATA if they do not; -EFAULT if they cannot be read.
 */
static int check_code(const struct unwind_elf *elf, const struct layout *layout,
		      const struct places *places, int at, unsigned long ip)
{
	u64 vaddr = ip - (places->begin[at] - layout->zero);
	struct elf64_phdr segment;
	u32 i;

	for (i = 0; i < elf->segments.nr; i++) {
		if (unwind_elf_segment(elf, i, &segment))
			return -EFAULT;
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
		    vaddr >= (segment.p_vaddr & PAGE_MASK) &&
		    (vaddr & PAGE_MASK) < segment.p_vaddr + segment.p_memsz &&
		    segment_fits(&segment, layout, places, at))
			return 0;
	}
	return -ENODATA;
}

/*
 * May the tables be cached?  The cache is notified of changes to file mappings and to executable
 * mappings (<linux/unwind_cache.h>), but not of changes to other mappings, nor of writes through a
 * mapping.  The end of the entries of .eh_frame may not be known.  So save the range of the
 * mapping: when an entry is read, its place is compared with this range.
 */
static bool tables_stay(unsigned long start, unsigned long end,
			struct unwind_object *object)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool stay;

	if (mmap_read_lock_killable(mm))
		return false;
	vma = vma_lookup(mm, start);
	stay = vma && end <= vma->vm_end && !(vma->vm_flags & (VM_WRITE | VM_SHARED)) &&
	       (vma->vm_file || (vma->vm_flags & VM_EXEC)) &&
	       start >= object->start && end <= object->end;
	object->stay_start = stay ? max(vma->vm_start, object->start) : 0;
	object->stay_end = stay ? min(vma->vm_end, object->end) : 0;
	mmap_read_unlock(mm);
	return stay;
}

/*
 * Returns 0 if .eh_frame_hdr has a table that can be searched; -EFAULT if it cannot be read; or
 * -ENODATA if there is no table or it has an unsupported form.  @eh_frame is set to the address of
 * .eh_frame, or to 0 if that has an unsupported form, too.
 */
static int object_read_table(const struct unwind_elf *elf, unsigned long begin,
			     unsigned long addr, u64 size, struct unwind_object *object,
			     unsigned long *eh_frame)
{
	struct unwind_elf_table table = {};
	int ret = -ENODATA;

	if (addr >= object->start && addr <= object->end && size <= object->end - addr)
		ret = unwind_elf_table(elf, addr - begin, addr, size, &table);
	*eh_frame = table.eh_frame;
	if (ret)
		return ret;
	object->base = table.base;
	object->table = table.rows;
	object->nr = table.nr;
	object->transient = !tables_stay(addr, table.rows + table.nr * sizeof(u64), object) ||
			    !tables_stay(table.eh_frame, table.eh_frame + sizeof(u32), object);
	return 0;
}

#ifdef CONFIG_UNWIND_USER_EH_INDEX
/* The most bytes from @start that .eh_frame can have, if only its start is known; or 0. */
static u64 eh_frame_room(unsigned long start, struct unwind_object *object)
{
	if (start < object->start || start >= object->end ||
	    !tables_stay(start, start + sizeof(u32), object))
		return 0;
	return min_t(u64, object->stay_end - start, UNWIND_EH_FRAME_MAX);
}

/*
 * Without a table in .eh_frame_hdr, find .eh_frame by the section headers, or else by the address
 * in .eh_frame_hdr.  Such an .eh_frame needs an index, which pays only if the index can be cached:
 * so ignore one that may change without notice.
 */
static int find_eh_frame(struct unwind_walk *state, const struct places *places,
			 unsigned long ip, unsigned long bias, unsigned long start,
			 struct unwind_object *object)
{
	struct unwind_eh_sections found = {};
	unsigned long plt;
	u64 size;
	int ret = -ENOENT;

	if (places->code_may_change)
		return 0;
	if (places->code_has_file)
		ret = unwind_eh_index_sections(state, ip, object->word, &found);
	if (ret == -EFAULT)
		return ret;
	if (!ret)
		start = bias + found.eh_frame;
	size = ret ? eh_frame_room(start, object) : found.eh_frame_size;
	if (!size || start < object->start || start >= object->end ||
	    size > object->end - start || object->end - object->start > U32_MAX ||
	    !tables_stay(start, start + size, object))
		return 0;
	object->table = start;
	object->eh_frame_size = size;

	plt = bias + found.plt;
	if (plt >= object->start && plt < object->end &&
	    found.plt_size <= object->end - plt) {
		object->plt = plt - object->start;
		object->plt_size = found.plt_size;
	}
	return 0;
}
#endif

/* Does an object begin here, and does it contain the address? */
static int object_from(struct unwind_walk *state,
		       const struct places *places, int at, unsigned long ip,
		       struct unwind_object *object)
{
	unsigned long bias, eh_frame, begin = places->begin[at];
	struct object_reader reader = { .state = state, .begin = begin };
	struct unwind_elf elf = { .read = object_read, .ctx = &reader };
	struct layout layout;
	int ret;

	ret = unwind_elf_open(&elf) ?: object_read_layout(&elf, &layout);
	if (ret)
		return ret;

	bias = begin - layout.zero;
	*object = (struct unwind_object) {
		.start = bias + layout.first,
		.end = bias + layout.last,
		.word = elf.word,
	};
	if (ip < object->start || ip >= object->end)
		return -ENOENT;
	ret = check_code(&elf, &layout, places, at, ip);
	if (ret)
		return ret;

	ret = object_read_table(&elf, begin, bias + layout.eh_hdr, layout.eh_hdr_size, object,
				&eh_frame);
#ifdef CONFIG_UNWIND_USER_EH_INDEX
	if (ret == -ENODATA)
		return find_eh_frame(state, places, ip, bias, eh_frame, object);
#endif
	return ret == -ENODATA ? 0 : ret;
}

/**
 * unwind_object_at - find the object that has the code at an address
 * @state: the walk, whose fault budget is charged
 * @ip: linear user address
 * @object: filled in; if no object has the address, for instance that of code made at
 *	    run time, filled in with the mapping as an object without tables
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_FOUND; UNWIND_NONE if the address is not executable; UNWIND_FAULT if a possible
 *	   header of the object cannot be read now; or UNWIND_STOP if its headers or tables have an
 *	   unsupported form.
 */
enum unwind_result unwind_object_at(struct unwind_walk *state, unsigned long ip,
				    struct unwind_object *object)
{
	struct places places __uninitialized;
	struct unwind_object code = {};
	bool no_code = false, unread = false, refused = false;
	enum unwind_result listed;
	int i, ret;

	listed = list_places(ip, &places, &code);
	if (listed)
		return listed;

	for (i = 0; i < places.nr; i++) {
		ret = object_from(state, &places, i, ip, object);
		if (!ret) {
			object->code_start = max(code.code_start, object->start);
			object->code_end = min(code.code_end, object->end);
			object->transient |= code.transient;
			return UNWIND_FOUND;
		}
		no_code |= ret == -ENODATA;
		unread |= ret == -EFAULT;
		refused |= ret == -EOPNOTSUPP || ret == -EINVAL;
	}
	/*
	 * If a header could not be read, fail: the object may have tables, even without a file,
	 * as the vDSO does.
	 */
	if (unread)
		return UNWIND_FAULT;
	if (refused)
		return UNWIND_STOP;
	/*
	 * Code without tables can be cached even if it is writable: writes do not give it
	 * tables.  If an object was found that does not have @ip as code, do not cache the mapping
	 * as code without tables: the object may have code elsewhere in the mapping.
	 */
	code.transient = no_code;
	*object = code;
	return UNWIND_FOUND;
}

/**
 * unwind_keep_object - cache an object
 * @state: the walk
 * @object: the object
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if the object is in the cache now.
 */
bool unwind_keep_object(struct unwind_walk *state, struct unwind_object *object)
{
#ifdef CONFIG_UNWIND_USER_FILES
	/* the cache takes over this reference */
	object->file = state->held;
	if (object->file)
		refcount_inc(&object->file->refs);
#endif
	return unwind_cache_add_object(&state->tables, object);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of a file: read its headers, find its mappings in a process, and decode
 * rules.
 *
 * All data are read from the page cache of the file.  If a page is missing in a walk, the tables
 * in the process's memory are read instead (eh_frame.c), which brings it in for the next walk.
 * Addresses are those that the file was linked for.  A process uses the file's rules only if
 * it has mapped the tables from that file, at the places that the program headers give, not
 * writable, and without private pages; so the process has the same bytes.  Changes of such a
 * mapping are reported to cache.c (<linux/unwind_cache.h>), and file.c is notified when the
 * file is opened for writing.
 *
 * For uncommon cases the tables in the process's memory are read (eh_frame.c): rules without a
 * compact form or that use the code's address, and objects without a usable .eh_frame_hdr or with
 * relocated tables.
 */

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include <asm/unwind_walk.h>

#include "cache.h"
#include "cfi.h"
#include "elf_tables.h"
#include "file.h"
#include "file_elf.h"
#include "object.h"
#include "unwind.h"

/* the most mappings of a segment with tables */
#define MAX_SEGMENT_MAPPINGS	8

/**
 * struct reader - reads a file, a folio at a time
 * @state: the walk, whose budgets are charged
 * @mapping: the file's page cache
 * @folio: the folio that was read last, with a reference; or NULL
 * @index: the number of the page that was read last
 * @bytes: the content of that page; or NULL
 * @known: the known file whose tables are read; NULL while its headers are read
 * @layout: the layout of @known, to look up addresses
 * @last: the segment of the last address
 * @rows: offset of the sorted table in the file
 */
struct reader {
	struct unwind_walk		*state;
	struct address_space			*mapping;
	struct folio				*folio;
	pgoff_t					index;
	const void				*bytes;
	struct unwind_file			*known;
	const struct unwind_file_layout		*layout;
	const struct unwind_file_segment	*last;
	u64					rows;
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/** @open: the open file, if missing pages are to be read in; else NULL */
	struct file				*open;
#endif
};

static void reader_end(struct reader *reader)
{
	if (reader->folio)
		folio_put(reader->folio);
	reader->folio = NULL;
	reader->bytes = NULL;
}

/*
 * May a device write to the folio, even if the file is not open for writing? A page is
 * pinned through a writable mapping, but the pin can outlive the mapping.  A small folio
 * with many references counts as pinned only if these are not from mappings.
 */
static bool is_pinned(struct folio *folio)
{
	int mapped;

	if (likely(!folio_maybe_dma_pinned(folio)))
		return false;
	if (folio_test_large(folio))
		return true;
	mapped = folio_mapcount(folio);
	/*
	 * Read the reference count between two reads of the mapcount, which
	 * must be equal.
	 */
	smp_rmb();
	/* half of the bias, as unmaps between the two reads make the difference smaller */
	if (folio_ref_count(folio) - mapped >= GUP_PIN_COUNTING_BIAS / 2)
		return true;
	/*
	 * Read the mapcount again after the reference count.  No writer pairs with this: a pin
	 * that lasts is in the reference count, whenever that is read.
	 */
	smp_rmb();
	return folio_mapcount(folio) != mapped;
}

static int reader_get(struct reader *reader, pgoff_t index)
{
	struct folio *folio;

	reader_end(reader);
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/* a page that tmpfs does not have is in swap, or a hole */
	if (reader->open && reader->mapping->a_ops->read_folio)
		folio = read_mapping_folio(reader->mapping, index, reader->open);
	else
#endif
		folio = filemap_get_folio(reader->mapping, index);
	if (IS_ERR(folio))
		return -EFAULT;
	reader->folio = folio;
	if (!folio_test_uptodate(folio))
		return -EFAULT;
	return is_pinned(folio) ? -EBUSY : 0;
}

/* Find the page that is to be read next. It is not in high memory: see CONFIG_UNWIND_USER. */
static int reader_turn_to(struct reader *reader, pgoff_t index)
{
	struct page *page;
	int ret;

	reader->bytes = NULL;
	/* not folio_contains(): a folio of tmpfs may be in the swap cache, too */
	if (!reader->folio ||
	    index - reader->folio->index >= folio_nr_pages(reader->folio)) {
		ret = reader_get(reader, index);
		if (ret) {
			reader_end(reader);
			return ret;
		}
	}
	page = folio_file_page(reader->folio, index);
	if (PageHWPoison(page))
		return -EFAULT;
	reader->index = index;
	reader->bytes = page_address(page);
	return 0;
}

/* Copy a few words: this is faster than memcpy(). */
static void reader_copy_words(void *to, const void *from, size_t len)
{
	for (; len >= sizeof(u64); len -= sizeof(u64)) {
		put_unaligned(get_unaligned((const u64 *)from), (u64 *)to);
		/* Prevent the compiler from replacing the loop by a call of memcpy(). */
		OPTIMIZER_HIDE_VAR(to);
		to += sizeof(u64);
		from += sizeof(u64);
	}
	if (len >= sizeof(u32)) {
		put_unaligned(get_unaligned((const u32 *)from), (u32 *)to);
		to += sizeof(u32);
		from += sizeof(u32);
		len -= sizeof(u32);
	}
	for (; len; len--)
		*(u8 *)to++ = *(const u8 *)from++;
}

/* Read bytes of one page. */
static int reader_copy(struct reader *reader, u64 pos, void *to, size_t len)
{
	pgoff_t index = pos >> PAGE_SHIFT;
	int ret;

	if (!reader->bytes || index != reader->index) {
		ret = reader_turn_to(reader, index);
		if (ret)
			return ret;
	}
	reader_copy_words(to, reader->bytes + offset_in_page(pos), len);
	return 0;
}

/* Read bytes of the file. The caller has checked that they are before its end. */
static int reader_read(struct reader *reader, u64 pos, void *to, size_t len)
{
	size_t part;
	int ret;

	for (; len; pos += part, to += part, len -= part) {
		part = min_t(size_t, len, PAGE_SIZE - offset_in_page(pos));
		ret = reader_copy(reader, pos, to, part);
		if (ret)
			return ret;
	}
	return 0;
}

static int reader_read_at(void *ctx, u64 pos, void *to, size_t len)
{
	struct reader *reader = ctx;
	u64 size = i_size_read(reader->mapping->host);

	if (pos > size || len > size - pos)
		return -EINVAL;
	if (!unwind_may_read(reader->state, len))
		return -EFAULT;
	return reader_read(reader, pos, to, len);
}

/* Does the mapping of a segment, up to the end of its last page, contain an address? */
static bool segment_maps(const struct unwind_file_segment *segment, u64 vaddr, u64 len)
{
	u64 size = PAGE_ALIGN(segment->vaddr + segment->size) - segment->vaddr;

	return vaddr >= segment->vaddr && vaddr - segment->vaddr <= size &&
	       len <= size - (vaddr - segment->vaddr);
}

static bool segment_has(const struct unwind_file_segment *segment, u64 vaddr, u64 len)
{
	return vaddr >= segment->vaddr && vaddr - segment->vaddr <= segment->size &&
	       len <= segment->size - (vaddr - segment->vaddr);
}

/* The index of the segment with an address, or -1. */
static int segment_of(const struct unwind_file_layout *layout, u64 vaddr, u64 len)
{
	int i;

	for (i = 0; i < layout->nr_segments; i++) {
		if (segment_has(&layout->segment[i], vaddr, len))
			return i;
	}
	return -1;
}

/*
 * Read bytes of the tables for cfi.c, from one of two segments.  Bytes after the end of the
 * file are 0, as in a mapping.
 */
static int read_tables(void *ctx, unsigned long vaddr, void *to, size_t len)
{
	struct reader *reader = ctx;
	const struct unwind_file_layout *layout = reader->layout;
	u64 pos, size;

	if (!reader->last || !segment_maps(reader->last, vaddr, len)) {
		reader->last = &layout->segment[layout->tables[1]];
		if (!segment_maps(reader->last, vaddr, len))
			reader->last = &layout->segment[layout->tables[0]];
		if (!segment_maps(reader->last, vaddr, len))
			return -EOPNOTSUPP;
	}
	pos = vaddr - reader->last->vaddr + reader->last->offset;
	size = i_size_read(reader->mapping->host);
	if (unlikely(pos < size && len > size - pos)) {
		memset(to + (size - pos), 0, len - (size - pos));
		len = size - pos;
	}
	return reader_read_at(reader, pos, to, len);
}

/* Note a program header. @hdr_size is set to the size of .eh_frame_hdr. */
static int note_phdr(struct unwind_file_layout *layout, const struct elf64_phdr *ph,
		     u64 *hdr_size)
{
	struct unwind_file_segment *segment;
	u64 end;

	if (check_add_overflow(ph->p_vaddr, ph->p_memsz, &end) || end > TASK_SIZE_MAX ||
	    ph->p_filesz > ph->p_memsz || ph->p_offset > S64_MAX)
		return -EINVAL;
	if (ph->p_type == PT_GNU_EH_FRAME) {
		layout->hdr = ph->p_vaddr;
		*hdr_size = ph->p_memsz;
	}
	if (ph->p_type != PT_LOAD)
		return 0;
	if (layout->nr_segments == UNWIND_FILE_SEGMENTS ||
	    (ph->p_vaddr - ph->p_offset) % PAGE_SIZE)
		return -EINVAL;
	segment = &layout->segment[layout->nr_segments++];
	segment->vaddr = ph->p_vaddr;
	segment->offset = ph->p_offset;
	segment->size = ph->p_filesz;
	segment->flags = ph->p_flags;
	layout->first = min(layout->first, ph->p_vaddr & PAGE_MASK);
	layout->last = max(layout->last, end);
	return 0;
}

static int file_read_table(const struct unwind_elf *elf, struct unwind_file_layout *layout,
			   u64 size)
{
	int at = segment_of(layout, layout->hdr, size), entries;
	struct unwind_elf_table table;
	int ret;

	if (at < 0)
		return -EINVAL;
	ret = unwind_elf_table(elf, layout->hdr - layout->segment[at].vaddr +
			       layout->segment[at].offset, layout->hdr, size, &table);
	if (ret)
		return ret;
	entries = segment_of(layout, table.eh_frame, sizeof(u32));
	if (entries < 0 || (layout->segment[at].flags & PF_W) ||
	    (layout->segment[entries].flags & PF_W))
		return -EINVAL;
	layout->tables[0] = at;
	layout->tables[1] = entries;
	layout->table = table.rows;
	layout->nr = table.nr;
	return 0;
}

/*
 * Returns 0; -EFAULT or -EBUSY if the headers cannot be read now; or another error if their
 * form is not supported.
 */
static int file_read_layout(struct reader *reader, struct unwind_file_layout *layout)
{
	struct unwind_elf elf = { .read = reader_read_at, .ctx = reader };
	struct elf64_phdr ph;
	u64 hdr_size = 0;
	int ret;
	u32 i;

	*layout = (struct unwind_file_layout) { .first = U64_MAX };
	ret = unwind_elf_open(&elf);
	layout->word = elf.word;
	layout->entry = elf.entry;
	for (i = 0; !ret && i < elf.segments.nr; i++)
		ret = unwind_elf_segment(&elf, i, &ph) ?: note_phdr(layout, &ph, &hdr_size);
	if (ret)
		return ret;
	if (!hdr_size || layout->last - layout->first > U32_MAX)
		return -EINVAL;
	return file_read_table(&elf, layout, hdr_size);
}

/* The mapping at an address, if it maps code from a file; else NULL. Under the mmap lock. */
static struct vm_area_struct *code_mapping(unsigned long ip)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, ip);

	return vma && (vma->vm_flags & VM_EXEC) && !(vma->vm_flags & VM_WRITE) &&
	       unwind_is_plain_file(vma) ? vma : NULL;
}

static bool has_layout(const struct unwind_file *known)
{
	/* pairs with unwind_file_set_layout() */
	return smp_load_acquire(&known->has_layout);
}

/*
 * Read and store the layout of a file.  If its tables cannot be used, store a layout without
 * FDEs.  The headers are read after the file was made known, so if they change, the file
 * becomes dead.  If a page is missing, or may be pinned, store nothing, as the tables may be
 * usable later.
 */
static int find_layout(struct unwind_walk *state, struct file *file,
		       struct unwind_file *known)
{
	struct reader reader = { .state = state, .mapping = file->f_mapping };
	struct unwind_file_layout layout;
	int ret;

	if (has_layout(known))
		return 0;
	ret = file_read_layout(&reader, &layout);
	reader_end(&reader);
	if (ret == -EFAULT || ret == -EBUSY)
		return ret;
	if (ret)
		layout.nr = 0;
	return unwind_file_set_layout(known, &layout) ? 0 : -EAGAIN;
}

/**
 * unwind_file_at_is_dead - has the file of a known object been opened for writing?
 * @ip: linear user address of the object
 *
 * Context: Task context of a user task.
 * Return: true if tables that were read before the call may have changed; false if there
 *	   is no such object. If the object was dropped meanwhile, unwind_cache_holds()
 *	   returns false.
 */
bool unwind_file_at_is_dead(unsigned long ip)
{
	bool dead;

	/* read file->dead after the tables */
	smp_rmb();
	dead = unwind_cache_file_is_dead(ip);
	/* read file->dead before the reads of unwind_cache_holds() */
	smp_rmb();
	return unlikely(dead);
}

/**
 * unwind_file_entry - the entry point of the file that has the code at an address
 * @ip: linear user address
 * @base: load address of the wanted object
 * @entry: set to the linear address of the entry point; 0 if the code is of another object
 *
 * Context: Task context of a user task.
 * Return: false if no file is known there.
 */
bool unwind_file_entry(unsigned long ip, unsigned long base, unsigned long *entry)
{
	struct unwind_file *file;
	bool is_known = false;
	unsigned long bias;

	rcu_read_lock();
	file = unwind_cache_find_file(ip, &bias);
	if (file && !unwind_file_is_dead(file)) {
		*entry = bias == base ? base + file->layout.entry : 0;
		is_known = true;
	}
	rcu_read_unlock();
	return is_known;
}

/* The segment with the code at an offset of the file, or NULL if there are none or several. */
static const struct unwind_file_segment *
code_segment(const struct unwind_file_layout *layout, u64 pos)
{
	const struct unwind_file_segment *segment, *found = NULL;
	int i;

	for (i = 0; i < layout->nr_segments; i++) {
		segment = &layout->segment[i];
		if (!(segment->flags & PF_X) || pos < (segment->offset & PAGE_MASK) ||
		    pos >= segment->offset + segment->size)
			continue;
		if (found)
			return NULL;
		found = segment;
	}
	return found;
}

/*
 * Is the whole segment mapped in this process, with the file's unmodified bytes? A mapping that has
 * or had private pages has an anon_vma.
 */
static bool segment_is_mapped(const struct unwind_file_segment *segment,
			      const struct inode *inode, unsigned long bias)
{
	unsigned long start = (segment->vaddr & PAGE_MASK) + bias;
	unsigned long end = segment->vaddr + segment->size + bias;
	u64 pos = segment->offset & PAGE_MASK;
	unsigned int mappings = MAX_SEGMENT_MAPPINGS;
	struct vm_area_struct *vma;

	for (; start < end; pos += vma->vm_end - start, start = vma->vm_end) {
		vma = mappings-- ? vma_lookup(current->mm, start) : NULL;
		if (!vma || !vma->vm_file || file_inode(vma->vm_file) != inode ||
		    !unwind_is_plain_file(vma) || (vma->vm_flags & VM_WRITE) ||
		    vma->anon_vma ||
		    ((u64)vma->vm_pgoff << PAGE_SHIFT) + (start - vma->vm_start) != pos)
			return false;
	}
	return true;
}

/* Fill in the object from the layout. Under the mmap lock. @vma is the mapping of the code. */
static int place_object(const struct unwind_file *known, struct vm_area_struct *vma,
			unsigned long ip, struct unwind_object *object)
{
	const struct inode *inode = file_inode(vma->vm_file);
	const struct unwind_file_layout *layout = &known->layout;
	const struct unwind_file_segment *segment, *tables;
	u64 pos;

	if (!layout->nr)
		return -EOPNOTSUPP;
	pos = ((u64)vma->vm_pgoff << PAGE_SHIFT) + (ip - vma->vm_start);
	segment = code_segment(layout, pos);
	if (!segment)
		return -EOPNOTSUPP;

	*object = (struct unwind_object) {
		.bias = ip - pos + segment->offset - segment->vaddr,
		.nr = layout->nr,
		.word = layout->word,
		.by_file = true,
	};
	object->start = layout->first + object->bias;
	object->end = layout->last + object->bias;
	object->base = layout->hdr + object->bias;
	object->table = layout->table + object->bias;
	object->code_start = max3(vma->vm_start, object->start,
				  (segment->vaddr & PAGE_MASK) + object->bias);
	object->code_end = min3(vma->vm_end, object->end,
				PAGE_ALIGN(segment->vaddr + segment->size + object->bias));
	tables = &layout->segment[layout->tables[1]];
	object->stay_start = tables->vaddr + object->bias;
	object->stay_end = object->stay_start + tables->size;
	if (object->start >= object->end || ip < object->code_start || ip >= object->code_end)
		return -EOPNOTSUPP;
	if (!segment_is_mapped(tables, inode, object->bias))
		return -EOPNOTSUPP;
	if (layout->tables[0] != layout->tables[1] &&
	    !segment_is_mapped(&layout->segment[layout->tables[0]], inode, object->bias))
		return -EOPNOTSUPP;
	return 0;
}

/* Find the object at an address. If the layout of its file is not known, set @open to the file. */
static int find_known_object(unsigned long ip, struct unwind_object *object,
			     struct unwind_file **known, struct file **open)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = -EOPNOTSUPP;

	*known = NULL;
	if (mmap_read_lock_killable(mm))
		return ret;
	vma = code_mapping(ip);
	*known = vma ? unwind_file_find(file_inode(vma->vm_file)) : NULL;
	if (*known && has_layout(*known))
		ret = place_object(*known, vma, ip, object);
	else if (vma)
		*open = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	return ret;
}

/* Make the file known. */
static int make_known(struct unwind_walk *state, struct file *open,
		      struct unwind_file **known)
{
	struct unwind_file *file = *known ?: unwind_file_get(file_inode(open));

	if (IS_ERR(file))
		return PTR_ERR(file);
	*known = file;
	return find_layout(state, open, file);
}

/*
 * Find the object at an address, if its rules are those of a file.  @held is set to the file, with
 * a reference, if changes of it are noticed; else to NULL.
 *
 * Returns 0; or an error if the rules must be read from memory: -EOPNOTSUPP if they may be cached;
 * -EAGAIN if they may not be cached because the file is being written to; -EBUSY, -EFAULT or
 * -ENOMEM if they may not be cached for another reason.
 */
static int file_object(struct unwind_walk *state, unsigned long ip,
		       struct unwind_object *object, struct unwind_file **held)
{
	struct unwind_file *made;
	struct file *open = NULL;
	int ret;

	ret = find_known_object(ip, object, held, &open);
	if (open) {
		ret = make_known(state, open, held);
		fput(open);
	}
	if (open && !ret) {
		made = *held;
		open = NULL;
		ret = find_known_object(ip, object, held, &open);
		/* the file has died, or the mapping has changed */
		if (*held != made || open)
			ret = -EAGAIN;
		if (open)
			fput(open);
		unwind_file_put(made);
	}
	if (*held && unwind_file_is_dead(*held)) {
		unwind_file_put(*held);
		*held = NULL;
		ret = -EAGAIN;
	}
	return ret;
}

/*
 * Handle an error of file_object(), after which rules are read from memory. These rules may
 * be cached only if the error is -EOPNOTSUPP. After -EAGAIN (the file is being written to), they
 * must not even be used if a file with rules was opened for writing since the walk began.
 */
static enum unwind_result note_file_error(struct unwind_walk *state, int ret, bool *unkept)
{
	*unkept = ret != -EOPNOTSUPP;
	return ret == -EAGAIN && unwind_files_changes() != state->changes ? UNWIND_STALE :
									    UNWIND_NONE;
}

/**
 * unwind_file_find_object - find an object whose rules are those of a file, and cache it
 * @state: the walk, whose budgets are charged; @state->held is set to the file
 * @ip: linear user address
 * @object: filled in. If it cannot be cached, its rules are read from memory instead
 * @unkept: if the result is UNWIND_NONE: set if the rules must not be cached
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_FOUND; UNWIND_NONE if the rules must be read from memory; UNWIND_STALE if the file
 *	   has just been opened for writing.
 */
enum unwind_result unwind_file_find_object(struct unwind_walk *state, unsigned long ip,
					   struct unwind_object *object, bool *unkept)
{
	int ret = file_object(state, ip, object, &state->held);

	if (ret)
		return note_file_error(state, ret, unkept);
	/* the quick steps did not know the object */
	state->missed = false;
	if (!unwind_keep_object(state, object) || unwind_cache_find_object(ip, object)) {
		object->unkept = true;
		object->by_file = false;
	}
	return UNWIND_FOUND;
}

/**
 * unwind_file_end_search - put the file that unwind_file_find_object() has found
 * @state: the walk
 * @ret: result of the search
 *
 * Context: Task context of a user task; may sleep.
 * Return: @ret, or UNWIND_STALE if the file may have changed during the search.
 */
enum unwind_result unwind_file_end_search(struct unwind_walk *state, enum unwind_result ret)
{
	struct unwind_file *held = state->held;

	/* read file->dead after the tables */
	smp_rmb();
	if (held && unwind_file_is_dead(held))
		ret = UNWIND_STALE;
	unwind_file_put(held);
	state->held = NULL;
	return ret;
}

/* Read the address of a row, or find it among those that each search compares first. */
static int file_read_row(void *ctx, u32 row, u32 step, s64 *ip)
{
	struct reader *reader = ctx;
	s32 val = step < UNWIND_FILE_PROBES ? READ_ONCE(reader->known->probes[step]) : 0;
	int ret;

	if (!val) {
		if (!unwind_may_read(reader->state, sizeof(val)))
			return -EFAULT;
		ret = reader_copy(reader, reader->rows + (u64)row * sizeof(struct unwind_elf_row),
				  &val, sizeof(val));
		if (ret)
			return ret;
		if (step < UNWIND_FILE_PROBES)
			unwind_file_add_probe(reader->known, step, val);
	}
	*ip = val;
	return 0;
}

/**
 * struct function - the function of an address, from the sorted table
 * @fde: FDE of the last function that begins at the address or before it
 * @start: start of that function
 * @next: start of the next one; 0 if there is none
 */
struct function {
	u64	fde;
	u64	start;
	u64	next;
};

static int elf_find_function(struct reader *reader, u64 vaddr, struct function *function)
{
	const struct unwind_file_layout *layout = reader->layout;
	const struct unwind_file_segment *segment = &layout->segment[layout->tables[0]];
	s64 want = vaddr - layout->hdr;
	struct unwind_elf_row rows[2];
	u32 nr;
	int ret;

	reader->rows = layout->table - segment->vaddr + segment->offset;
	/* no row may extend across the end of a page */
	if (want != (s32)want || !IS_ALIGNED(reader->rows, sizeof(s32)) ||
	    reader->rows + layout->nr * sizeof(rows[0]) > i_size_read(reader->mapping->host))
		return -ENOENT;
	ret = unwind_search_rows(layout->nr, want, file_read_row, reader, &nr);
	if (ret)
		return ret;
	if (!nr)
		return -ENOENT;
	ret = read_tables(reader, layout->table + (nr - 1) * sizeof(rows[0]), rows,
			  sizeof(rows[0]) * (nr < layout->nr ? 2 : 1));
	if (ret)
		return ret;
	*function = (struct function) {
		.fde = layout->hdr + rows[0].fde,
		.start = layout->hdr + rows[0].ip,
		.next = nr < layout->nr ? layout->hdr + rows[1].ip : 0,
	};
	return 0;
}

/*
 * FDEs may overlap.  The sorted table decides which one is used for an address, so cut a row
 * to the addresses for which the table leads to its FDE.
 */
static void clip_row(struct unwind_cfi *cfi, const struct function *function)
{
	cfi->row_start = max_t(u64, cfi->row_start, function->start);
	if (function->next)
		cfi->row_end = min_t(u64, cfi->row_end, function->next);
}

static int elf_decode_function(struct reader *reader, const struct function *function,
			       u64 vaddr, struct unwind_full_rule *full)
{
	const struct unwind_file_layout *layout = reader->layout;
	struct unwind_cfi *cfi = reader->state->cfi;

	cfi->read = read_tables;
	cfi->ctx = reader;
	cfi->start = layout->first;
	cfi->limit = layout->last;
	cfi->data = layout->hdr;
	cfi->word = layout->word;
	return unwind_cfi_rule(cfi, function->fde, vaddr, full);
}

/*
 * Decode the rule of an address. state->cfi then has the range for which the rule is valid.
 * Returns as unwind_file_rule().
 */
static enum unwind_result elf_decode_rule(struct reader *reader, u64 vaddr,
					  struct unwind_user_rule *rule,
					  struct unwind_full_rule *full)
{
	struct unwind_cfi *cfi = reader->state->cfi;
	struct function function = {};
	int ret;

	ret = elf_find_function(reader, vaddr, &function) ?:
	      elf_decode_function(reader, &function, vaddr, full);
	reader_end(reader);
	if (ret == -ENOENT && function.next > vaddr && vaddr >= cfi->row_end) {
		/* code between two functions, without tables */
		*rule = (struct unwind_user_rule) { .kind = UNWIND_RULE_NONE };
		cfi->row_start = cfi->row_end;
		cfi->row_end = function.next;
		clip_row(cfi, &function);
		return UNWIND_FOUND;
	}
	/* a missing page may be pinned, so that it changes without notice, too */
	if (ret)
		return ret == -EFAULT || ret == -EBUSY ? UNWIND_FAULT : UNWIND_NONE;
	clip_row(cfi, &function);
	unwind_compact_rule(full, reader->layout->word, rule);
	/* uncommon rules, and rules that depend on the code's address, come from memory */
	if (rule->kind == UNWIND_RULE_FULL || cfi->ip_used)
		return UNWIND_NONE;
	if (vaddr + 1 >= cfi->row_end)
		return UNWIND_FOUND_LAST;
	cfi->row_end--;
	return UNWIND_FOUND;
}

/* Forget the last CIE if it was read from another file or from memory. */
static void begin_decoding(struct unwind_walk *state, const struct unwind_file *known)
{
	if (state->of_file != known->serial)
		unwind_cfi_moved(state->cfi);
	state->of_file = known->serial;
}

/*
 * Find the rule, under RCU and without a reference.  The process has an object of the file in its
 * cache, so it had the inode mapped, and the memory of an inode is freed a grace period after its
 * last mapping.  If the object is dropped meanwhile, the caller refuses the result.
 * @grow: set to the file, with a reference, if its rules need more room
 */
static enum unwind_result file_decode_rule(struct unwind_walk *state, unsigned long ip,
					   struct unwind_user_rule *rule,
					   struct unwind_full_rule *full, struct unwind_file **grow)
{
	enum unwind_result ret = UNWIND_NONE;
	struct reader reader = { .state = state };
	struct unwind_cfi *cfi = state->cfi;
	struct unwind_file *known;
	unsigned long bias;
	int added;

	rcu_read_lock();
	known = unwind_cache_find_file(ip, &bias);
	if (!known)
		goto unlock;
	/* another process may have added the rule before this process knew the object */
	ret = UNWIND_FOUND;
	if (!state->missed && unwind_file_peek(known, ip - bias, rule))
		goto unlock;
	ret = UNWIND_STALE;
	if (unwind_file_is_dead(known))
		goto unlock;
	reader.known = known;
	reader.layout = &known->layout;
	reader.mapping = known->inode->i_mapping;
	begin_decoding(state, known);
	ret = elf_decode_rule(&reader, ip - bias, rule, full);
	if (ret >= 0)
		state->found[UNWIND_FOUND_FILE]++;
	if (ret)
		goto unlock;
	added = unwind_file_add_rule(known, cfi->row_start, cfi->row_end, ip - bias, rule);
	if (added == -ESTALE)
		ret = UNWIND_STALE;
	if (added == -ENOSPC && refcount_inc_not_zero(&known->refs))
		*grow = known;
unlock:
	rcu_read_unlock();
	return ret;
}

/**
 * unwind_file_rule - find a rule in the tables of a file
 * @state: the walk, whose budgets are charged
 * @ip: linear user address, of code in a known object that has a file
 * @rule: filled in
 * @full: overwritten
 *
 * Context: Task context of a user task; may sleep.
 * Return: UNWIND_FOUND; UNWIND_FOUND_LAST if a signal restorer may follow @ip, so that @rule has
 *	   not been kept; UNWIND_RETRY if the mapping has changed; UNWIND_STALE if the file has
 *	   changed, so that its tables are no longer those of the frame; UNWIND_NONE if the tables
 *	   in memory must be used; UNWIND_FAULT if these must be used, but their rules must not be
 *	   cached, because the tables may change without notice.
 */
enum unwind_result unwind_file_rule(struct unwind_walk *state, unsigned long ip,
				    struct unwind_user_rule *rule, struct unwind_full_rule *full)
{
	struct unwind_file *grow = NULL;
	enum unwind_result ret;

	ret = file_decode_rule(state, ip, rule, full, &grow);
	if (grow) {
		unwind_file_grow(grow);
		unwind_file_put(grow);
	}
	if (!ret)
		unwind_cache_add_file_rule(&state->tables, unwind_rule_key(state), rule);
	else if (ret != UNWIND_FOUND_LAST)
		return ret;
	return unwind_cache_knows(&state->tables) ? ret : UNWIND_RETRY;
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* Must the search for all rows end, for this error, or for its limits? */
static int decode_must_end(struct unwind_walk *state, int ret)
{
	if (!state->table_bytes)
		return -ENOSPC;
	return ret == -EFAULT || ret == -EBUSY ? ret : 0;
}

/*
 * Decode the rows of a function, in order.  Rules without a compact form are of the kind
 * UNWIND_RULE_FULL.  If the entry is broken, the rows end there.  A rule that depends on the
 * address, as in procedure linkage tables, is a row of one byte; linkers make it depend only on the
 * offset in a page, which is the same in memory.  The last byte of the function is left out: see
 * elf_decode_rule().
 */
static int elf_decode_rows(struct reader *reader, const struct function *function,
			   unwind_file_row_t add, void *ctx)
{
	struct unwind_cfi *cfi = reader->state->cfi;
	struct unwind_user_rule rule, last = {};
	u64 vaddr = function->start, start = 0, end = 0;
	struct unwind_full_rule full;
	int ret = 0, err;

	while (!ret) {
		err = elf_decode_function(reader, function, vaddr, &full);
		ret = decode_must_end(reader->state, err);
		if (ret || err)
			break;
		clip_row(cfi, function);
		if (cfi->row_end <= vaddr)
			break;
		unwind_compact_rule(&full, reader->layout->word, &rule);
		if (end)
			ret = add(ctx, start, end, &last);
		start = vaddr;
		end = cfi->row_end;
		last = rule;
		vaddr = end;
		cond_resched();
	}
	return ret ?: end > start + 1 ? add(ctx, start, end - 1, &last) : 0;
}

/**
 * unwind_file_decode - decode all rows of a file
 * @state: for the limit of bytes, and for scratch memory
 * @known: the file, with a layout
 * @open: the same file, open
 * @add: called with each row, in the order of the sorted table
 * @ctx: for @add
 *
 * Reads missing pages of the tables from the file, except on tmpfs.
 *
 * Context: Task context, with a reference to @known; may sleep.
 * Return: 0; an error of @add; -ENOSPC if the limit of bytes was reached; or another error if the
 *	   tables cannot be read now.
 */
int unwind_file_decode(struct unwind_walk *state, struct unwind_file *known,
		       struct file *open, unwind_file_row_t add, void *ctx)
{
	struct reader reader = {
		.state = state,
		.mapping = open->f_mapping,
		.known = known,
		.layout = &known->layout,
		.open = open,
	};
	const struct unwind_file_layout *layout = reader.layout;
	struct unwind_elf_row row, next = {};
	struct function function;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < layout->nr; i++) {
		row = next;
		if (!i)
			ret = read_tables(&reader, layout->table, &row, sizeof(row));
		if (!ret && i + 1 < layout->nr)
			ret = read_tables(&reader, layout->table + (i + 1) * sizeof(next), &next,
					  sizeof(next));
		if (ret)
			break;
		function = (struct function) {
			.fde = layout->hdr + row.fde,
			.start = layout->hdr + row.ip,
			.next = i + 1 < layout->nr ? layout->hdr + next.ip : 0,
		};
		ret = elf_decode_rows(&reader, &function, add, ctx);
		cond_resched();
	}
	reader_end(&reader);
	return ret;
}
#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * Reading files that the current task maps, from the page cache.
 */

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "memory_file.h"
#include "task.h"
#include "unwind.h"

/* The file whose page cache a page fault at @addr would map; put it with fput(). */
static struct file *get_plain_file(unsigned long addr)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct file *file = ERR_PTR(-EOPNOTSUPP);

	if (mmap_read_lock_killable(mm))
		return ERR_PTR(-EFAULT);
	vma = vma_lookup(mm, addr);
	if (vma && unwind_is_plain_file(vma))
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	return file;
}

/*
 * Add a new folio to the page cache, and begin to read it.  Like a page fault, take the invalidate
 * lock, which truncation and hole punching hold while no page may enter the page cache.  The lock
 * of the folio excludes them while it is being read.
 */
static struct folio *begin_to_read_folio(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	/* do not reclaim memory, see UNWIND_GFP */
	gfp_t gfp = readahead_gfp_mask(mapping) & ~__GFP_DIRECT_RECLAIM;
	struct folio *folio;
	int ret = -EAGAIN;

	folio = folio_alloc(gfp, mapping_min_folio_order(mapping));
	if (!folio)
		return ERR_PTR(-ENOMEM);
	if (filemap_invalidate_trylock_shared(mapping)) {
		ret = filemap_add_folio(mapping, folio, mapping_align_index(mapping, index), gfp);
		if (!ret)
			ret = mapping->a_ops->read_folio(file, folio);
		filemap_invalidate_unlock_shared(mapping);
	}
	if (!ret)
		return folio;
	folio_put(folio);
	/* a positive value is AOP_TRUNCATED_PAGE */
	return ERR_PTR(ret < 0 ? ret : -EAGAIN);
}

/*
 * Read a folio of a file into the page cache.  Unlike read_mapping_folio(), wait in a killable
 * state, even if another task is reading it.  The folio may not be up to date.
 */
static struct folio *bring_in_folio(struct file *file, unsigned long index)
{
	struct folio *folio = filemap_get_folio(file->f_mapping, index);

	if (IS_ERR(folio))
		folio = begin_to_read_folio(file, index);
	if (!IS_ERR(folio) && folio_wait_locked_killable(folio)) {
		folio_put(folio);
		return ERR_PTR(-EINTR);
	}
	return folio;
}

/* Read without updating the access time, as that may have to wait for the file system. */
static int read_file_page(struct file *file, u64 pos, void *to, size_t len, bool wait)
{
	pgoff_t index = pos >> PAGE_SHIFT;
	struct folio *folio;
	struct page *page;
	int ret = -EFAULT;

	folio = wait ? bring_in_folio(file, index) :
		       filemap_get_folio(file->f_mapping, index);
	if (IS_ERR(folio))
		return ret;
	page = folio_file_page(folio, index);
	if (folio_test_uptodate(folio) && !PageHWPoison(page)) {
		memcpy_from_page(to, page, offset_in_page(pos), len);
		ret = 0;
	}
	folio_put(folio);
	return ret;
}

static int read_plain_file(struct file *file, u64 pos, void *to, size_t len, bool wait)
{
	size_t part;

	for (; len; pos += part, to += part, len -= part) {
		part = min_t(size_t, len, PAGE_SIZE - offset_in_page(pos));
		if (read_file_page(file, pos, to, part, wait))
			return -EFAULT;
	}
	return 0;
}

/**
 * unwind_read_file - read a few bytes of a file that is mapped
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address of code that is mapped from the file
 * @pos: offset in the file; @pos + @len is at most S64_MAX
 * @to: where to put the bytes
 * @len: how many
 *
 * The bytes need not be mapped.  Like a page fault, this reads the page cache of a
 * privately mapped file, and does not call read() of the file system.  So no permission is
 * checked, and the walk does not wait for a fanotify listener: the listener may be the
 * task itself.  If a page is missing, the wait for it can be killed.  As with page faults, a
 * dying task and a uprobe handler do not wait, and no task waits for a server.  Memory of tmpfs,
 * which has no read_folio(), is not read from swap.
 *
 * Context: Task context of a user task, without the mmap lock; may sleep.
 * Return: 0; -EFAULT if the bytes are not in memory now; -EOPNOTSUPP if unwind_is_plain_file()
 *	   is false for the mapping of @addr, or without a mapping; -EINVAL if the file is shorter.
 */
int unwind_read_file(struct unwind_walk *state, unsigned long addr, u64 pos,
		     void *to, size_t len)
{
	struct file *file;
	int ret;

	file = get_plain_file(addr);
	if (IS_ERR(file))
		return PTR_ERR(file);

	if (pos + len > i_size_read(file->f_mapping->host))
		ret = -EINVAL;
	else
		ret = read_plain_file(file, pos, to, len, false);
	if (ret == -EFAULT && state->faults && file->f_mapping->a_ops->read_folio &&
	    unwind_may_await_file(file) && !unwind_task_is_dying() &&
	    !time_after(jiffies, state->deadline)) {
		state->faults--;
		ret = read_plain_file(file, pos, to, len, true);
	}
	fput(file);
	return ret;
}

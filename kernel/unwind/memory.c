// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the current task's user memory for the unwinder.
 *
 * The program controls the registers and so the addresses.  Resident memory is read with page
 * faults off, as in an interrupt.  Missing pages are faulted in only in private mappings, and only
 * if the fault has no side effects: it must not grow a stack, fill a hole of shared memory, map a
 * device, or wait for a userfaultfd handler or a file system's server, which may be the very
 * thread that is being unwound.  A task that must not wait takes no page fault at all.  Nor does a
 * task that serves I/O, and a real-time task if kernel.unwind_user_realtime says so.
 */

#include <linux/fs.h>
#include <linux/gfs2_ondisk.h>
#include <linux/jiffies.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/pagemap.h>
#include <linux/pagewalk.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <linux/userfaultfd_k.h>

#ifdef CONFIG_UNWIND_USER_CODE
#include "no_tables.h"
#endif
#include "task.h"
#include "unwind.h"

/*
 * Was the walk requested by a uprobe handler?  Handlers run in an RCU tasks trace section, whose
 * grace period would wait for the page that the walk waits for, and user space may provide it.
 */
bool unwind_in_uprobe_handler(void)
{
	return current->utask && current->utask->auprobe;
}

/*
 * May a walk wait for pages of a file?  Not if another machine or a process returns them: it may
 * never do so, and the process may be the one that is being unwound.  A mapping of a file on
 * overlayfs is one of the file in its layer.
 */
bool unwind_may_await_file(const struct file *file)
{
	const struct super_block *sb = file->f_mapping->host->i_sb;

	/* FUSE, but not virtiofs */
	if (sb->s_type->fs_flags & FS_HAS_SUBTYPE)
		return false;
	switch (sb->s_magic) {
	case AFS_FS_MAGIC:
	case CEPH_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
	case GFS2_MAGIC:
	case NFS_SUPER_MAGIC:
	case OCFS2_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case 0x20030528:	/* OrangeFS, whose constant is in no shared header */
		return false;
	default:
		return true;
	}
}

static bool is_plain_memory(struct vm_area_struct *vma)
{
	const vm_flags_t no = VM_SHARED | VM_HUGETLB | VM_IO | VM_PFNMAP;

	return (vma->vm_flags & VM_READ) && !(vma->vm_flags & no) &&
	       !userfaultfd_armed(vma);
}

static bool mapping_is_plain_memory(unsigned long addr, size_t len)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool plain;

	if (mmap_read_lock_killable(mm))
		return false;

	vma = vma_lookup(mm, addr);
	plain = vma && len <= vma->vm_end - addr && is_plain_memory(vma) &&
		(!vma->vm_file || unwind_may_await_file(vma->vm_file));

	mmap_read_unlock(mm);
	return plain;
}

/* Read resident memory with page faults off, in words as far as possible. */
static int read_resident(const void __user *from, void *to, size_t len)
{
	pagefault_disable();
	if (!user_read_access_begin(from, len))
		goto refused;
	for (; len >= sizeof(u64); len -= sizeof(u64)) {
		unsafe_get_user(*(u64 *)to, (u64 __user *)from, fault);
		to += sizeof(u64);
		from += sizeof(u64);
	}
	for (; len; len--)
		unsafe_get_user(*(u8 *)to++, (u8 __user *)from++, fault);
	user_read_access_end();
	pagefault_enable();
	return 0;

fault:
	user_read_access_end();
refused:
	pagefault_enable();
	return -EFAULT;
}

/* Without this callback, the page table walk would split a huge PMD. */
static int check_pmd_none(pmd_t *pmd, unsigned long addr, unsigned long next,
			  struct mm_walk *walk)
{
	pmd_t entry = pmdp_get_lockless(pmd);
	bool *none = walk->private;

	*none = false;
	if (!pmd_present(entry) || pmd_leaf(entry))
		walk->action = ACTION_CONTINUE;
	return 0;
}

/* Called only if there is a page table, with its lock held. */
static int check_pte_none(pte_t *pte, unsigned long addr, unsigned long next,
			  struct mm_walk *walk)
{
	bool *none = walk->private;

	*none = pte_none(ptep_get(pte));
	return 0;
}

/*
 * True if the page table has no entry for the page: then a private mapping of a
 * file has the file's bytes there.  An entry of any kind counts, as a swap entry
 * or a page being migrated can be a private copy.  False if the OOM reaper is freeing the
 * memory of a dying task: the reaper marks the mm, and then also removes the entries of
 * private copies.
 */
static bool is_unpopulated(struct vm_area_struct *vma, unsigned long page)
{
	static const struct mm_walk_ops ops = {
		.pmd_entry	= check_pmd_none,
		.pte_entry	= check_pte_none,
		.walk_lock	= PGWALK_RDLOCK,
	};
	bool none = true;

	if (walk_page_range_vma(vma, page, page + PAGE_SIZE, &ops, &none))
		return false;
	return none && !check_stable_address_space(vma->vm_mm);
}

/* Does a page fault only map the page cache of a file?  The mmap lock is held. */
bool unwind_is_plain_file(struct vm_area_struct *vma)
{
	return is_plain_memory(vma) && !vma_is_anonymous(vma) &&
	       vma->vm_ops->map_pages == filemap_map_pages &&
	       arch_vma_access_permitted(vma, false, false, false);
}

/*
 * Check after the copy whether the bytes are right.  If the folio still belongs
 * to the file, it did so during the copy: a truncated folio does not come
 * back.  If the page table has no entry for @addr, the task has no private copy
 * of the page, or its copy has been discarded.  So a read by the task itself
 * would also return the file's bytes.
 */
static int copy_cached(struct vm_area_struct *vma, unsigned long addr, void *to,
		       size_t len)
{
	struct address_space *mapping = vma->vm_file->f_mapping;
	pgoff_t index = linear_page_index(vma, addr);
	struct folio *folio = filemap_get_folio(mapping, index);
	int ret = -EFAULT;
	struct page *page;

	if (IS_ERR(folio))
		return ret;
	page = folio_file_page(folio, index);
	if (!folio_test_uptodate(folio) || PageHWPoison(page))
		goto put;

	memcpy_from_page(to, page, offset_in_page(addr), len);
	if (READ_ONCE(folio->mapping) == mapping &&
	    index < DIV_ROUND_UP(i_size_read(mapping->host), PAGE_SIZE) &&
	    is_unpopulated(vma, addr & PAGE_MASK))
		ret = 0;
put:
	folio_put(folio);
	return ret;
}

/*
 * Read from the page cache what is not in the page table, for instance code of a
 * process that was just forked.  Do not fault it in: a page fault could wait for a page of the
 * file that was evicted meanwhile, for a private copy in swap, or for memory for a page table.
 *
 * Hole punching unmaps pages first, which the cache of rules notices, and removes them from the
 * page cache later.  In ext4, XFS and others, the invalidate lock excludes a read in between, whose
 * result would be cached.  Not so in Btrfs, tmpfs and NFS, nor if FUSE or NFS drop pages that the
 * server has changed.  Truncation sets the new size before the unmap.
 */
static int read_cached(unsigned long addr, void *to, size_t len)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = -EFAULT;

	/* even a dying task may wait for this lock: exit waits for it as well */
	if (mmap_read_lock_killable(mm))
		return ret;

	vma = vma_lookup(mm, addr);
	if (vma && unwind_is_plain_file(vma) &&
	    filemap_invalidate_trylock_shared(vma->vm_file->f_mapping)) {
		ret = copy_cached(vma, addr, to, len);
		filemap_invalidate_unlock_shared(vma->vm_file->f_mapping);
	}

	mmap_read_unlock(mm);
	return ret;
}

static int read_without_fault(unsigned long addr, void *to, size_t len)
{
	size_t part;

	for (; len; addr += part, to += part, len -= part) {
		part = min_t(size_t, len, PAGE_SIZE - offset_in_page(addr));
		if (read_resident((void __user *)addr, to, part) &&
		    read_cached(addr, to, part))
			return -EFAULT;
	}
	return 0;
}

static int read_with_fault(struct unwind_walk *state, unsigned long addr,
			   void *to, size_t len)
{
	if (!state->faults || !mapping_is_plain_memory(addr, len))
		return -EFAULT;
	state->faults--;
	return copy_from_user(to, (void __user *)addr, len) ? -EFAULT : 0;
}

/*
 * Read a few bytes of the current task's memory, at most a page.  @addr is linear and may have any
 * value.  Returns 0, or -EFAULT if the bytes are not resident, and cannot or must not be faulted
 * in.
 */
int unwind_read(struct unwind_walk *state, unsigned long addr, void *to,
		size_t len)
{
	const void __user *from = (const void __user *)addr;

	if (!read_resident(from, to, len))
		return 0;
#ifdef CONFIG_UNWIND_USER_EH_FRAME
	if (state->quick)
		return -EFAULT;
#endif
	if (!access_ok(from, len) || time_after(jiffies, state->deadline))
		return -EFAULT;
	cond_resched();

	if (!state->no_faults && !unwind_task_is_dying() &&
	    !read_with_fault(state, addr, to, len))
		return 0;
	return read_without_fault(addr, to, len);
}

/* unwind_read_word() for a word of 32 bits, or an unaligned one. */
int __unwind_read_word(struct unwind_walk *state, unsigned long addr,
		       unsigned long *val)
{
	u32 val32 = 0;
	int ret = -EFAULT;

	if (IS_ALIGNED(addr, state->word))
		ret = unwind_read_int(state, addr, &val32);
	*val = val32;
	return ret;
}

static bool copy_mapping(const struct vm_area_struct *vma, struct unwind_mapping *mapping)
{
	if (!vma)
		return false;
	*mapping = (struct unwind_mapping) {
		.start = vma->vm_start,
		.end = vma->vm_end,
		.exec = vma->vm_flags & VM_EXEC,
		.of_file = vma->vm_file,
		.writable = vma->vm_flags & VM_WRITE,
	};
	return true;
}

/*
 * Look up the mapping of an address.  If it is not known, because the task is killed, @mapping is
 * of an executable file, and without addresses.  Returns false if nothing is mapped there.
 */
bool unwind_find_mapping(unsigned long addr, struct unwind_mapping *mapping)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool found;

	*mapping = (struct unwind_mapping) { .exec = true, .of_file = true };
#ifdef CONFIG_PER_VMA_LOCK
	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		copy_mapping(vma, mapping);
		vma_end_read(vma);
		return true;
	}
#endif
	if (mmap_read_lock_killable(mm))
		return true;
	found = copy_mapping(vma_lookup(mm, addr), mapping);
	mmap_read_unlock(mm);
	return found;
}

/* Are two addresses mapped, and not by the same mapping at any time of this call? */
bool unwind_other_mapping(unsigned long a, unsigned long b)
{
	struct unwind_mapping of_a, of_b;

	return unwind_find_mapping(a, &of_a) && unwind_find_mapping(b, &of_b) &&
	       of_a.end && of_b.end &&
	       !(b >= of_a.start && b < of_a.end) && !(a >= of_b.start && a < of_b.end);
}

#ifdef CONFIG_UNWIND_USER_CODE
/*
 * Is code at an address still where a linker put it?  True if that is not known.  SBCL moves code
 * in its core file, which it maps writable.
 */
bool unwind_is_fixed(unsigned long addr)
{
	struct unwind_mapping mapping;

	return unwind_find_mapping(addr, &mapping) && mapping.of_file && !mapping.writable;
}

/*
 * A value of the program's auxiliary vector, which has words of the program's size, or 0 if there
 * is none.  PR_SET_MM can change the vector meanwhile.
 */
unsigned long unwind_auxv(struct unwind_walk *state, unsigned long type)
{
	const unsigned long *auxv = current->mm->saved_auxv;
	const u32 *auxv32 = (const u32 *)auxv;
	bool is_32 = state->word == sizeof(u32);
	unsigned int i;

	for (i = 0; i < AT_VECTOR_SIZE; i += 2) {
		unsigned long key = is_32 ? READ_ONCE(auxv32[i]) : READ_ONCE(auxv[i]);

		if (key == type)
			return is_32 ? READ_ONCE(auxv32[i + 1]) : READ_ONCE(auxv[i + 1]);
		if (key == AT_NULL)
			break;
	}
	return 0;
}

/* The stack pointer that the program was started with.  PR_SET_MM can change it meanwhile. */
unsigned long unwind_start_stack(void)
{
	return READ_ONCE(current->mm->start_stack);
}
#endif /* CONFIG_UNWIND_USER_CODE */

// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the current task's user memory for the unwinder.
 *
 * The program controls the registers and so the addresses.  Resident memory is read
 * with page faults off, as in an interrupt.  Missing pages are faulted in only in
 * private mappings, and only if the fault has no side effects: it must not grow a
 * stack, fill a hole of shared memory, map a device, or wait for a userfaultfd
 * handler or a file system's server, which may be the very thread that is being unwound.  The
 * mapping is checked before the fault; a program that remaps meanwhile can defeat the check.
 * What must not be faulted in is read from the page cache, if it is there.  A task that must not
 * wait takes no page fault at all.  Nor does a task that serves I/O, and a real-time task if
 * kernel.unwind_user_realtime says so.
 */

#include <linux/fs.h>
#include <linux/highmem.h>
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

/**
 * unwind_in_uprobe_handler - was the walk requested by a uprobe handler?
 *
 * uprobe handlers run in an RCU tasks trace section, which may sleep, but delays the grace
 * period.  So the walk must not wait for a page: if user space provides the page, the wait can
 * take any time.
 *
 * Context: Task context of a user task.
 * Return: true if it was.
 */
bool unwind_in_uprobe_handler(void)
{
#ifdef CONFIG_UPROBES
	return current->utask && current->utask->auprobe;
#else
	return false;
#endif
}

/**
 * unwind_may_await_file - may a walk wait for pages of a file?
 * @file: the file
 *
 * Not if another machine or a process returns them: it may never do so, and the process may be
 * the one that is being unwound.  A mapping of a file on overlayfs is one of the file in its
 * layer.
 *
 * Context: Any.
 * Return: true if it may.
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
	case NFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
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

/**
 * unwind_is_plain_file - does a page fault only map the page cache of a file?
 * @vma: the mapping
 *
 * Context: The mmap lock is held.
 * Return: true if so.
 */
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
	if (vma && unwind_is_plain_file(vma))
		ret = copy_cached(vma, addr, to, len);

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

static int read_with_fault(struct unwind_user_state *state, unsigned long addr,
			   void *to, size_t len)
{
	if (!state->faults || !mapping_is_plain_memory(addr, len))
		return -EFAULT;
	state->faults--;
	return copy_from_user(to, (void __user *)addr, len) ? -EFAULT : 0;
}

/**
 * unwind_read - read a few bytes of the current task's memory
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address, any value
 * @to: where to put the bytes
 * @len: how many, at most a page
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0, or -EFAULT if the bytes are not resident, and cannot or must not be faulted in.
 */
int unwind_read(struct unwind_user_state *state, unsigned long addr, void *to,
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

static int get_resident_word(unsigned long addr, unsigned int word,
			     unsigned long *val)
{
	u32 val32;
	int ret;

	pagefault_disable();
	if (word == sizeof(u32)) {
		ret = get_user(val32, (u32 __user *)addr);
		*val = val32;
	} else {
		ret = get_user(*val, (unsigned long __user *)addr);
	}
	pagefault_enable();
	return ret;
}

/**
 * __unwind_read_word - read one word of the current task's stack
 * @state: the walk, which knows the size of a word
 * @addr: linear user address, any value
 * @val: where to put the word, zero-extended
 *
 * The out-of-line half of unwind_read_word().
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0, or -EFAULT if @addr is unaligned, or the word is not resident and
 *	   may not be faulted in.
 */
int __unwind_read_word(struct unwind_user_state *state, unsigned long addr,
		       unsigned long *val)
{
	u32 val32 = 0;
	int ret;

	if (!IS_ALIGNED(addr, state->word))
		return -EFAULT;
	if (!get_resident_word(addr, state->word, val))
		return 0;

	if (state->word == sizeof(*val))
		return unwind_read(state, addr, val, sizeof(*val));
	ret = unwind_read(state, addr, &val32, sizeof(val32));
	*val = val32;
	return ret;
}

/**
 * unwind_is_mapped - is an address mapped?
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is, or if that is not known.
 */
bool unwind_is_mapped(unsigned long addr)
{
	struct mm_struct *mm = current->mm;
	bool mapped;

	if (mmap_read_lock_killable(mm))
		return true;
	mapped = vma_lookup(mm, addr);
	mmap_read_unlock(mm);
	return mapped;
}

/**
 * unwind_other_mapping - do two addresses lie in different mappings?
 * @a: linear user address, any value
 * @b: another linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if both are mapped, and not by the same mapping.
 */
bool unwind_other_mapping(unsigned long a, unsigned long b)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma_a, *vma_b;
	bool other;

	if (mmap_read_lock_killable(mm))
		return false;

	vma_a = vma_lookup(mm, a);
	vma_b = vma_lookup(mm, b);
	other = vma_a && vma_b && vma_a != vma_b;

	mmap_read_unlock(mm);
	return other;
}

static bool vma_is_executable(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_EXEC;
}

static bool vma_is_of_file(struct vm_area_struct *vma)
{
	return vma->vm_file;
}

#ifdef CONFIG_UNWIND_USER_CODE
/* Is code still where a linker put it? SBCL moves code in its core file, which it maps writable. */
static bool vma_is_fixed(struct vm_area_struct *vma)
{
	return vma->vm_file && !(vma->vm_flags & VM_WRITE);
}
#endif

/*
 * Call @is for the mapping of an address, and set the range of the mapping unless @start is NULL;
 * true if the mapping cannot be looked up now.
 */
static bool ask_range(unsigned long addr, bool (*is)(struct vm_area_struct *vma),
		      unsigned long *start, unsigned long *end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool answer;

#ifdef CONFIG_PER_VMA_LOCK
	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		answer = is(vma);
		if (start) {
			*start = vma->vm_start;
			*end = vma->vm_end;
		}
		vma_end_read(vma);
		return answer;
	}
#endif
	if (mmap_read_lock_killable(mm))
		return true;
	vma = vma_lookup(mm, addr);
	answer = vma && is(vma);
	if (vma && start) {
		*start = vma->vm_start;
		*end = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return answer;
}

static bool ask_mapping(unsigned long addr, bool (*is)(struct vm_area_struct *vma))
{
	return ask_range(addr, is, NULL, NULL);
}

/**
 * unwind_is_executable - is memory at an address executable?
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is, or if that is not known.
 */
bool unwind_is_executable(unsigned long addr)
{
	return ask_mapping(addr, vma_is_executable);
}

static bool vma_is_executable_file(struct vm_area_struct *vma)
{
	return vma_is_executable(vma) && vma_is_of_file(vma);
}

/**
 * unwind_is_executable_file - is a file mapped at an address for execution?
 * @addr: linear user address, any value
 * @start: set to the start of the mapping, or unchanged if there is none
 * @end: set to its end
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is, or if that is not known.
 */
bool unwind_is_executable_file(unsigned long addr, unsigned long *start, unsigned long *end)
{
	return ask_range(addr, vma_is_executable_file, start, end);
}

/**
 * unwind_is_of_file - is a file mapped at an address?
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is, or if that is not known; false for anonymous memory, and if nothing
 *	   is mapped there.
 */
bool unwind_is_of_file(unsigned long addr)
{
	return ask_mapping(addr, vma_is_of_file);
}

#ifdef CONFIG_UNWIND_USER_CODE
/**
 * unwind_is_fixed - is a file mapped at an address, and not writable there?
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: true if it is, or if that is not known; false if nothing is mapped there.
 */
bool unwind_is_fixed(unsigned long addr)
{
	return ask_mapping(addr, vma_is_fixed);
}

/**
 * unwind_auxv - a value of the program's auxiliary vector
 * @state: the walk, which knows the size of a word
 * @type: AT_* of <linux/auxvec.h>
 *
 * The vector has words of the program's size.  PR_SET_MM can change it meanwhile.
 *
 * Context: Task context of a user task.
 * Return: the value, or 0 if there is none.
 */
unsigned long unwind_auxv(struct unwind_user_state *state, unsigned long type)
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

/**
 * unwind_start_stack - the address of a program's arguments on its stack
 *
 * Context: Task context of a user task.
 * Return: the stack pointer that the program was started with.  PR_SET_MM can change it
 * meanwhile.
 */
unsigned long unwind_start_stack(void)
{
	return READ_ONCE(current->mm->start_stack);
}
#endif /* CONFIG_UNWIND_USER_CODE */

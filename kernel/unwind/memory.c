// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the current task's user memory for the unwinder.
 *
 * The registers that lead here hold whatever the program put into them.  What is
 * resident is read with page faults off, as in an interrupt.  What is not is
 * brought in only from private memory, and only if that does no more: it must not
 * grow a stack, fill a hole of shared memory, map a device, or wait for a
 * userfaultfd handler, which may well be the very thread that is being unwound.
 * Where nothing may be waited for, what a file has in memory is mapped.
 */

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <linux/userfaultfd_k.h>

#include "unwind.h"

/*
 * A task that is being killed must not wait for a page: past SIGNAL_GROUP_EXIT
 * a further SIGKILL would not wake it, and an execve in another thread, which has
 * taken its SIGKILL already, waits for its end.
 */
static bool task_is_dying(void)
{
	return (current->flags & PF_EXITING) ||
	       (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT) ||
	       READ_ONCE(current->signal->group_exec_task) ||
	       fatal_signal_pending(current);
}

/*
 * uprobe handlers run in an RCU section that a page of a file must not hold up:
 * its file system may be in user space.
 */
static bool in_uprobe_handler(void)
{
#ifdef CONFIG_UPROBES
	return current->utask && current->utask->auprobe;
#else
	return false;
#endif
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
		(vma_is_anonymous(vma) || !in_uprobe_handler());

	mmap_read_unlock(mm);
	return plain;
}

static bool file_page_is_cached(struct vm_area_struct *vma, unsigned long addr)
{
	struct folio *folio;
	bool valid;

	if (!vma->vm_file)
		return false;
	folio = filemap_get_folio(vma->vm_file->f_mapping,
				  linear_page_index(vma, addr));
	if (IS_ERR(folio))
		return false;
	valid = folio_test_uptodate(folio);
	folio_put(folio);
	return valid;
}

/*
 * A page of a file that is in memory, and only not in the page table: to map it
 * takes no wait.  Unwind tables of a program that has just forked are like that.
 * -EAGAIN if another task has the page or the mm locked.
 */
static int try_map_cached_page(unsigned long addr)
{
	const unsigned int flags = FAULT_FLAG_ALLOW_RETRY |
				   FAULT_FLAG_RETRY_NOWAIT;
	struct mm_struct *mm = current->mm;
	vm_fault_t fault = VM_FAULT_SIGSEGV;
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return -EAGAIN;

	vma = vma_lookup(mm, addr);
	if (vma && is_plain_memory(vma) && file_page_is_cached(vma, addr))
		fault = handle_mm_fault(vma, addr, flags, NULL);

	/* told not to wait, it has kept the lock */
	mmap_read_unlock(mm);
	if (fault & (VM_FAULT_ERROR | VM_FAULT_COMPLETED))
		return -EFAULT;
	return fault & VM_FAULT_RETRY ? -EAGAIN : 0;
}

/*
 * Threads that end together map the same tables, each with the page locked for a
 * moment: until it goes on, if it was preempted there.
 */
static bool map_cached_page(struct unwind_user_state *state, unsigned long addr)
{
	int ret = try_map_cached_page(addr);

	for (; ret == -EAGAIN && state->waits; state->waits--) {
		schedule_timeout_uninterruptible(1);
		ret = try_map_cached_page(addr);
	}
	return !ret;
}

/* How a page that is not in the page table may be had. */
enum bring_in {
	BRING_IN_NO,
	BRING_IN_MAPPED,	/* it is there now: read without page faults */
	BRING_IN_FAULT,		/* read with page faults */
};

static enum bring_in bring_in(struct unwind_user_state *state,
			      unsigned long addr, size_t len)
{
	unsigned long last = addr + len - 1;
	bool two_pages = (addr ^ last) & PAGE_MASK;
	bool dying = task_is_dying();

	if (!access_ok((void __user *)addr, len) || state->quick ||
	    !state->faults || time_after(jiffies, state->deadline))
		return BRING_IN_NO;
	state->faults--;
	cond_resched();

	if ((dying || in_uprobe_handler()) && map_cached_page(state, addr) &&
	    (!two_pages || map_cached_page(state, last)))
		return BRING_IN_MAPPED;
	if (dying || !mapping_is_plain_memory(addr, len))
		return BRING_IN_NO;
	return BRING_IN_FAULT;
}

/* With page faults off: what is there, in words as far as it goes. */
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

/**
 * unwind_read - read a few bytes of the current task's memory
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address, any value
 * @to: where to put the bytes
 * @len: how many, at most a page
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0, or -EFAULT when the bytes are not there or not worth the wait.
 */
int unwind_read(struct unwind_user_state *state, unsigned long addr, void *to,
		size_t len)
{
	const void __user *from = (const void __user *)addr;

	if (!read_resident(from, to, len))
		return 0;
	switch (bring_in(state, addr, len)) {
	case BRING_IN_MAPPED:
		return read_resident(from, to, len);
	case BRING_IN_FAULT:
		return copy_from_user(to, from, len) ? -EFAULT : 0;
	default:
		return -EFAULT;
	}
}

static int get_word(unsigned long addr, unsigned int word, unsigned long *val)
{
	u32 val32;
	int ret;

	if (word == sizeof(u32)) {
		ret = get_user(val32, (u32 __user *)addr);
		*val = val32;
		return ret;
	}
	return get_user(*val, (unsigned long __user *)addr);
}

static int get_resident_word(unsigned long addr, unsigned int word,
			     unsigned long *val)
{
	int ret;

	pagefault_disable();
	ret = get_word(addr, word, val);
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
 * Context: Task context of a user task; may sleep, unless the walk is @quick.
 * Return: 0, or -EFAULT when @addr is unaligned, the word is not there or not
 *	   worth the wait.
 */
int __unwind_read_word(struct unwind_user_state *state, unsigned long addr,
		       unsigned long *val)
{
	if (!IS_ALIGNED(addr, state->word))
		return -EFAULT;
	if (!get_resident_word(addr, state->word, val))
		return 0;

	switch (bring_in(state, addr, state->word)) {
	case BRING_IN_MAPPED:
		return get_resident_word(addr, state->word, val);
	case BRING_IN_FAULT:
		return get_word(addr, state->word, val);
	default:
		return -EFAULT;
	}
}

/**
 * unwind_read_s32 - read four bytes of the current task's memory
 * @state: the walk, whose fault budget is charged
 * @addr: linear user address, any value
 * @val: where to put them
 *
 * As unwind_read(), and quicker.
 *
 * Context: Task context of a user task; may sleep.
 * Return: 0, or -EFAULT when the bytes are not there or not worth the wait.
 */
int unwind_read_s32(struct unwind_user_state *state, unsigned long addr,
		    s32 *val)
{
	s32 __user *from = (s32 __user *)addr;
	int ret;

	pagefault_disable();
	ret = get_user(*val, from);
	pagefault_enable();
	return ret ? unwind_read(state, addr, val, sizeof(*val)) : 0;
}

/**
 * unwind_is_mapped - is there anything at an address?
 * @addr: linear user address, any value
 *
 * Context: Task context of a user task; may sleep.
 * Return: false if nothing is mapped there.
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
 * @b: the other
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

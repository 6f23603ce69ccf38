/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_UNWIND_CACHE_H
#define _LINUX_UNWIND_CACHE_H

#include <linux/mm.h>

#ifdef CONFIG_UNWIND_USER_EH_FRAME

void __unwind_user_invalidate(struct mm_struct *mm, unsigned long start,
			      unsigned long end);
void __unwind_user_mm_exit(struct mm_struct *mm);

/**
 * unwind_user_mm_init - initialize a new mm, without a cache
 * @mm: the mm, not yet visible
 */
static inline void unwind_user_mm_init(struct mm_struct *mm)
{
	RCU_INIT_POINTER(mm->unwind_cache, NULL);
}

/**
 * unwind_user_invalidate - report that pages were unmapped or moved, or will be protected
 * @vma: the mapping, with its old flags
 * @start: first address
 * @end: first address after the range
 *
 * Rules and objects are cached only while code and tables cannot be written to, so code whose
 * protection changes, and a mapping that becomes writable, must be reported, too.
 *
 * Context: Any task.  If the mapping itself is removed, too, remove it first, or hold a
 *	    lock that every search for the mapping takes.  Until the call returns, nothing else
 *	    may be mapped in the range.  Before a change of the protection, hold the mmap
 *	    lock for writing.
 */
static inline void unwind_user_invalidate(struct vm_area_struct *vma,
					  unsigned long start, unsigned long end)
{
	struct mm_struct *mm = vma->vm_mm;

	if (!vma->vm_file && !(vma->vm_flags & VM_EXEC))
		return;
	/*
	 * This may miss a cache that is just being made.  An unmap has removed the mapping
	 * under the mmap lock, so a search that found the mapping has ended, or sees the new
	 * count of unmaps.  With a truncation or MADV_DONTNEED the mapping stays, but then a
	 * search that may read an old page sees that a TLB flush is pending.
	 */
	if (unlikely(rcu_access_pointer(mm->unwind_cache)))
		__unwind_user_invalidate(mm, start, end);
}

/**
 * unwind_user_mm_exit - free the cache of an mm without users
 * @mm: the mm
 *
 * Context: Task context.
 */
static inline void unwind_user_mm_exit(struct mm_struct *mm)
{
	if (unlikely(rcu_access_pointer(mm->unwind_cache)))
		__unwind_user_mm_exit(mm);
}

#else /* !CONFIG_UNWIND_USER_EH_FRAME */

static inline void unwind_user_mm_init(struct mm_struct *mm) {}
static inline void unwind_user_invalidate(struct vm_area_struct *vma,
					  unsigned long start, unsigned long end) {}
static inline void unwind_user_mm_exit(struct mm_struct *mm) {}

#endif /* !CONFIG_UNWIND_USER_EH_FRAME */

#endif /* _LINUX_UNWIND_CACHE_H */

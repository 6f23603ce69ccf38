/* SPDX-License-Identifier: GPL-2.0 */
/* The mappings of the simulated process, in a sorted array. */
#ifndef _UNWIND_FINDER_LINUX_MM_H
#define _UNWIND_FINDER_LINUX_MM_H

#include <limits.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <stdint.h>

#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define S64_MAX		INT64_MAX
#define S64_MIN		INT64_MIN
#define U64_MAX		UINT64_MAX
#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#ifndef offset_in_page
#define offset_in_page(addr)	((unsigned long)(addr) & ~PAGE_MASK)
#endif
#ifndef TASK_SIZE_MAX
#define TASK_SIZE_MAX	((1UL << 47) - PAGE_SIZE)
#endif

#define VM_READ		0x1UL
#define VM_WRITE	0x2UL
#define VM_EXEC		0x4UL
#define VM_SHARED	0x8UL
#define VM_PFNMAP	0x400UL
#define VM_IO		0x4000UL
#define VM_HUGETLB	0x400000UL

struct inode {
	int	nr;
};

struct file {
	struct inode	inode;
	const char	*path;
};

/* @asked: the finder has looked this mapping up */
struct vm_area_struct {
	bool		asked;
	unsigned long	vm_start;
	unsigned long	vm_end;
	unsigned long	vm_flags;
	unsigned long	vm_pgoff;
	struct file	*vm_file;
};

/* @readers: number of holders of its lock; @dying: no one gets the lock any more */
struct mm_struct {
	struct vm_area_struct	*maps;
	int			nr_maps;
	int			readers;
	bool			dying;
};

/* @at: index of the mapping returned last; at first, of the first that ends above the address */
struct vma_iterator {
	struct mm_struct	*mm;
	int			at;
};

static inline struct vma_iterator vma_iterator_at(struct mm_struct *mm,
						  unsigned long addr)
{
	struct vma_iterator vmi = { .mm = mm };

	while (vmi.at < mm->nr_maps && mm->maps[vmi.at].vm_end <= addr)
		vmi.at++;
	return vmi;
}

#define VMA_ITERATOR(name, mm, addr)					\
	struct vma_iterator name = vma_iterator_at(mm, addr)

static inline struct vm_area_struct *vma_find(struct vma_iterator *vmi,
					      unsigned long max)
{
	struct vm_area_struct *vma = vmi->mm->maps + vmi->at;

	if (vmi->at >= vmi->mm->nr_maps || vma->vm_start >= max)
		return NULL;
	vma->asked = true;
	return vma;
}

static inline struct vm_area_struct *vma_lookup(struct mm_struct *mm,
						unsigned long addr)
{
	struct vma_iterator vmi = vma_iterator_at(mm, addr);
	struct vm_area_struct *vma = vma_find(&vmi, addr + 1);

	return vma && vma->vm_start <= addr ? vma : NULL;
}

static inline struct vm_area_struct *vma_prev(struct vma_iterator *vmi)
{
	if (!vmi->at)
		return NULL;
	vmi->mm->maps[--vmi->at].asked = true;
	return vmi->mm->maps + vmi->at;
}

static inline struct inode *file_inode(struct file *file)
{
	return &file->inode;
}

static inline int mmap_read_lock_killable(struct mm_struct *mm)
{
	if (mm->dying)
		return -1;
	mm->readers++;
	return 0;
}

static inline void mmap_read_unlock(struct mm_struct *mm)
{
	mm->readers--;
}

#endif /* _UNWIND_FINDER_LINUX_MM_H */

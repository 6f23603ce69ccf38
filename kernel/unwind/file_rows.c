// SPDX-License-Identifier: GPL-2.0
/*
 * All rows of a file's unwind tables, decoded in the background for walks in place.
 *
 * A row takes six bytes: where it begins, and the number of its rule.  A file has few different
 * rules.  The rows are read from the page cache, like single rules of files, and are valid until
 * the file is opened for writing.  The work holds the file open, so its file system cannot be
 * unmounted meanwhile.
 */

#include <linux/atomic.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "cache.h"
#include "cfi.h"
#include "file.h"
#include "file_elf.h"
#include "task.h"

/* the most rows of a file: 6 MiB.  What follows these is searched for as without rows. */
#define MAX_ROWS	SZ_1M
#define FIRST_ROWS	1024
/* the most bytes of tables that are read for each FDE of a file on average, and for one file */
#define MAX_FDE_BYTES	SZ_4K
#define MAX_BYTES	SZ_256M
/* how many files one task may request at a time */
#define MAX_FILES	8

/* how many files may wait for this: each is open meanwhile */
#define MAX_QUEUED	64

/* one file at a time, so that profiled programs keep at most one CPU busy */
static struct workqueue_struct *rows_queue;
static atomic_t nr_queued = ATOMIC_INIT(0);

#define ROWS_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)
#define HASH_BITS	16

struct rows_work {
	struct work_struct	work;
	struct unwind_file	*known;
	struct file		*open;
};

/**
 * struct builder - rows while they are collected
 * @first: addresses are relative to this one
 * @end: end of the last row
 * @starts: as in struct unwind_file_rows
 * @ids: likewise
 * @nr: number of rows
 * @max: how many there is room for
 * @rules: the different rules
 * @nr_rules: their number
 * @max_rules: how many there is room for
 * @hash: the index of a rule plus 1, by a hash of the rule; 0 if there is none
 * @seed: of the hash, so that nobody can make rules that collide
 */
struct builder {
	u64			first;
	u32			end;
	u32			*starts;
	u16			*ids;
	u32			nr;
	u32			max;
	struct unwind_user_rule	*rules;
	u32			nr_rules;
	u32			max_rules;
	u16			*hash;
	u32			seed;
};

/* Enlarge an array. Returns false if there is no memory. */
static bool grow_array(void **array, u32 nr, u32 max, size_t size)
{
	void *larger = kvmalloc_array(max, size, ROWS_GFP);

	if (!larger)
		return false;
	if (nr)
		memcpy(larger, *array, nr * size);
	kvfree(*array);
	*array = larger;
	return true;
}

static int append_row(struct builder *b, u32 start, u16 id)
{
	u32 max = b->max * 2 ?: FIRST_ROWS;

	if (b->nr && b->ids[b->nr - 1] == id)
		return 0;
	/* one is left for the end, see build_rows() */
	if (b->nr == MAX_ROWS - 1 && id != UNWIND_ROW_UNKNOWN)
		return -ENOSPC;
	if (b->nr == b->max) {
		if (max > MAX_ROWS)
			return -ENOSPC;
		if (!grow_array((void **)&b->starts, b->nr, max, sizeof(*b->starts)) ||
		    !grow_array((void **)&b->ids, b->nr, max, sizeof(*b->ids)))
			return -ENOMEM;
		b->max = max;
	}
	b->starts[b->nr] = start;
	b->ids[b->nr++] = id;
	return 0;
}

/* The index of a rule. UNWIND_ROW_UNKNOWN if walks in place cannot use it, or of too many rules. */
static u16 id_of_rule(struct builder *b, const struct unwind_user_rule *rule)
{
	u32 at = jhash(rule, sizeof(*rule), b->seed) >> (32 - HASH_BITS);
	u32 max = b->max_rules * 2 ?: 64;

	if (rule->kind != UNWIND_RULE_END && rule->kind <= UNWIND_RULE_FULL)
		return UNWIND_ROW_UNKNOWN;
	/* at most half of the hash table is in use */
	for (; b->hash[at]; at = (at + 1) % BIT(HASH_BITS)) {
		if (!memcmp(&b->rules[b->hash[at] - 1], rule, sizeof(*rule)))
			return b->hash[at] - 1;
	}
	if (b->nr_rules == b->max_rules) {
		if (max > BIT(HASH_BITS - 1) ||
		    !grow_array((void **)&b->rules, b->nr_rules, max, sizeof(*rule)))
			return UNWIND_ROW_UNKNOWN;
		b->max_rules = max;
	}
	b->rules[b->nr_rules] = *rule;
	b->hash[at] = ++b->nr_rules;
	return b->nr_rules - 1;
}

static int add_row(void *ctx, u64 start, u64 end, const struct unwind_user_rule *rule)
{
	struct builder *b = ctx;
	int ret = 0;

	if (start < b->first || end <= start || end - b->first >= U32_MAX)
		return -EINVAL;
	/* not in order */
	if (start - b->first < b->end)
		return -EINVAL;
	if (start - b->first > b->end)
		ret = append_row(b, b->end, UNWIND_ROW_UNKNOWN);
	if (!ret)
		ret = append_row(b, start - b->first, id_of_rule(b, rule));
	if (!ret)
		b->end = end - b->first;
	return ret;
}

static void number_pages(const struct builder *b, u32 *pages, u32 nr_pages)
{
	u32 page, row = 0;

	for (page = 0; page < nr_pages; page++) {
		while (row < b->nr && b->starts[row] >> PAGE_SHIFT < page)
			row++;
		pages[page] = row;
	}
	pages[nr_pages] = b->nr;
}

/* Put all into one allocation. */
static struct unwind_file_rows *finish_rows(const struct builder *b)
{
	u32 nr_pages = (b->end >> PAGE_SHIFT) + 1;
	struct unwind_file_rows *rows;
	size_t bytes;

	bytes = sizeof(*rows) + (nr_pages + 1) * sizeof(*rows->pages) +
		b->nr * (sizeof(*rows->starts) + sizeof(*rows->ids)) +
		b->nr_rules * sizeof(*rows->rules);
	rows = kvmalloc(bytes, ROWS_GFP);
	if (!rows)
		return NULL;
	rows->bytes = bytes;
	rows->nr_pages = nr_pages;
	rows->pages = (u32 *)(rows + 1);
	rows->starts = rows->pages + nr_pages + 1;
	rows->rules = (struct unwind_user_rule *)(rows->starts + b->nr);
	rows->ids = (u16 *)(rows->rules + b->nr_rules);
	number_pages(b, rows->pages, nr_pages);
	memcpy(rows->starts, b->starts, b->nr * sizeof(*b->starts));
	memcpy(rows->rules, b->rules, b->nr_rules * sizeof(*b->rules));
	memcpy(rows->ids, b->ids, b->nr * sizeof(*b->ids));
	return rows;
}

/*
 * What was decoded until a limit was reached, or the table was out of order, is of use, too.  If
 * the tables cannot be read now, try again later.
 */
static void build_rows(struct unwind_file *known, struct file *open,
		       struct unwind_walk *state, struct builder *b)
{
	struct unwind_file_rows *rows;
	int ret;

	b->first = known->layout.first;
	state->table_bytes = min_t(u64, (u64)known->layout.nr * MAX_FDE_BYTES, MAX_BYTES);
	unwind_cfi_init(state->cfi);
	ret = unwind_file_decode(state, known, open, add_row, b);
	if (!state->table_bytes)
		ret = -ENOSPC;
	if (ret && ret != -ENOSPC && ret != -EINVAL)
		return;
	if (!b->nr || append_row(b, b->end, UNWIND_ROW_UNKNOWN))
		return;
	rows = finish_rows(b);
	if (rows && !unwind_file_set_rows(known, rows))
		kvfree(rows);
}

static void make_rows(struct unwind_file *known, struct file *open)
{
	struct unwind_walk *state = kzalloc_obj(*state, ROWS_GFP);
	struct unwind_cfi *cfi = kmalloc_obj(*cfi, ROWS_GFP);
	struct builder b = {
		.hash = kvcalloc(BIT(HASH_BITS), sizeof(*b.hash), ROWS_GFP),
		.seed = get_random_u32(),
	};

	if (state && cfi && b.hash) {
		state->cfi = cfi;
		build_rows(known, open, state, &b);
	}
	kvfree(b.starts);
	kvfree(b.ids);
	kvfree(b.rules);
	kvfree(b.hash);
	kfree(cfi);
	kfree(state);
}

static void do_rows_work(struct work_struct *work)
{
	struct rows_work *rows = container_of(work, struct rows_work, work);

	/* the file may have been queued twice, or have died */
	if (unwind_file_lacks_rows(rows->known))
		make_rows(rows->known, rows->open);
	fput(rows->open);
	unwind_file_put(rows->known);
	kfree(rows);
	atomic_dec(&nr_queued);
}

/*
 * Find the file that is mapped at an address, if its rows should be decoded.  Do not wait for the
 * lock: the removal of any client waits for this one.
 */
static bool find_file(unsigned long addr, struct rows_work *rows)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return false;
	vma = vma_lookup(mm, addr);
	rows->known = vma && vma->vm_file ? unwind_file_find(file_inode(vma->vm_file)) : NULL;
	if (rows->known)
		rows->open = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	return rows->known;
}

static void request_rows(unsigned long addr)
{
	struct rows_work *rows;

	/* several tasks may exceed the limit a little */
	if (atomic_read(&nr_queued) >= MAX_QUEUED)
		return;
	rows = kmalloc_obj(*rows, UNWIND_GFP);
	if (!rows)
		return;
	if (!find_file(addr, rows)) {
		kfree(rows);
		return;
	}
	if (!unwind_file_claim_rows(rows->known)) {
		fput(rows->open);
		unwind_file_put(rows->known);
		kfree(rows);
		return;
	}
	atomic_inc(&nr_queued);
	INIT_WORK(&rows->work, do_rows_work);
	queue_work(rows_queue, &rows->work);
}

/**
 * unwind_file_make_rows - decode the rows of the files that the current task has used
 *
 * Context: Task context of a user task; may sleep.
 */
void unwind_file_make_rows(void)
{
	unsigned long addrs[MAX_FILES];
	unsigned int i, nr;

	if (!rows_queue || !unwind_task_may_allocate())
		return;
	nr = unwind_cache_without_rows(addrs, MAX_FILES);
	for (i = 0; i < nr; i++)
		request_rows(addrs[i]);
}

static int __init unwind_rows_setup(void)
{
	rows_queue = alloc_ordered_workqueue("unwind_rows", 0);
	return rows_queue ? 0 : -ENOMEM;
}
subsys_initcall(unwind_rows_setup);

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind rules of files, shared by all processes that map them.
 */
#ifndef _KERNEL_UNWIND_FILE_H
#define _KERNEL_UNWIND_FILE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "rules.h"

struct inode;

#define UNWIND_FILE_SEGMENTS	8

/**
 * struct unwind_file_segment - a PT_LOAD segment
 * @vaddr: link-time address
 * @offset: offset in the file
 * @size: number of bytes in the file
 * @flags: PF_*
 */
struct unwind_file_segment {
	u64	vaddr;
	u64	offset;
	u64	size;
	u32	flags;
} __packed __aligned(4);

/**
 * struct unwind_file_layout - values from the headers of a file
 * @segment: the PT_LOAD segments
 * @nr_segments: their number
 * @tables: indexes in @segment of the segments with .eh_frame_hdr and .eh_frame
 * @word: bytes of an address, 4 or 8
 * @nr: number of FDEs in @table; 0 if the table cannot be used
 * @first: start of the lowest segment
 * @last: end of the highest segment
 * @entry: address of the entry point
 * @hdr: address of .eh_frame_hdr
 * @table: address of the sorted table in .eh_frame_hdr
 */
struct unwind_file_layout {
	struct unwind_file_segment	segment[UNWIND_FILE_SEGMENTS];
	u8				nr_segments;
	u8				tables[2];
	u8				word;
	u32				nr;
	u64				first;
	u64				last;
	u64				entry;
	u64				hdr;
	u64				table;
};

/*
 * All binary searches of a table compare the same row first, and then one of two rows at each step.
 * The addresses of all rows that the first UNWIND_FILE_STEPS steps can compare are cached.
 */
#define UNWIND_FILE_STEPS	7
#define UNWIND_FILE_PROBES	(BIT(UNWIND_FILE_STEPS) - 1)

/**
 * struct unwind_file - a file, and the rules decoded from its tables
 * @node: in the hash table of files, until the file is dead
 * @lru: in the list of files, until the file is dead
 * @rcu: frees it
 * @refs: one for the hash table, and one for each known object
 * @lock: held by writers of @displaced, @rules, @layout, @probes and @dead
 * @displaced: for unwind_rules_count_displaced()
 * @inode: the inode; may be dereferenced only with a reference to it, or under RCU if the
 *	   file was found by an object of the current process
 * @serial: a unique number
 * @used: used since the last search for files to evict
 * @dead: it was opened for writing, or its inode has gone
 * @has_layout: @layout is filled in
 * @layout: values from the headers
 * @rules: rules by link-time address; may be evicted
 * @probes: addresses of the rows that binary searches of the sorted table compare first; 0 if
 *	    not known. This is a binary tree: element 0 is for the middle row; after element n,
 *	    a search continues at 2n + 1 for lower addresses, else at 2n + 2
 */
struct unwind_file {
	struct hlist_node		node;
	struct list_head		lru;
	struct rcu_head			rcu;
	refcount_t			refs;
	spinlock_t			lock;	/* for writers */
	u32				displaced;
	struct inode			*inode;
	u64				serial;
	bool				used;
	bool				dead;
	bool				has_layout;
	struct unwind_file_layout	layout;
	struct unwind_rule_table __rcu	*rules;
	s32				probes[UNWIND_FILE_PROBES];
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	/** @rows: all rows, for walks in place; may be evicted */
	struct unwind_file_rows __rcu	*rows;
	/** @rows_next: not before this time, in jiffies, are the rows decoded again */
	unsigned long			rows_next;
	/** @rows_pause: how long before that time this was done last, in jiffies */
	unsigned long			rows_pause;
#endif
};

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/**
 * struct unwind_file_rows - all rows of a file, in the order of their addresses
 * @rcu: frees it
 * @bytes: its memory
 * @nr_pages: number of pages of addresses from the first segment to the last row
 * @pages: for each page, the index of the first row that begins in it or after it; then the number
 *	   of rows
 * @starts: where each row begins, relative to the first segment
 * @rules: the different rules
 * @ids: for each row, the index of its rule; UNWIND_ROW_UNKNOWN if it has none here
 */
struct unwind_file_rows {
	struct rcu_head		rcu;
	size_t			bytes;
	u32			nr_pages;
	u32			*pages;
	u32			*starts;
	struct unwind_user_rule	*rules;
	u16			*ids;
};

#define UNWIND_ROW_UNKNOWN	0xffff

bool unwind_file_set_rows(struct unwind_file *file, struct unwind_file_rows *rows);
bool unwind_file_look(struct unwind_file *file, u64 vaddr, struct unwind_user_rule *rule);
bool unwind_file_lacks_rows(const struct unwind_file *file);
bool unwind_file_wants_rows(const struct unwind_file *file);
bool unwind_file_claim_rows(struct unwind_file *file);
void unwind_file_make_rows(void);
#endif

/*
 * A row is hashed by the granules of the address space that it covers.  Granules have four
 * sizes.  A row uses the smallest size with which UNWIND_ROW_GRANULES granules cover its length.
 * All rows of a granule share a set of two entries, so the smallest granules have only 16 bytes:
 * prologues have many short rows.
 */
#define UNWIND_ROW_SIZES	4
#define UNWIND_ROW_GRANULES	4

static __always_inline unsigned int unwind_row_shift(unsigned int i)
{
	return i ? 3 + 3 * i : 4;
}

/* The key of a row: its start in the lower half, its length in the upper half. */
static inline u64 unwind_row_key(u32 start, u32 len)
{
	return (u64)len << 32 | start;
}

static inline u64 unwind_row_hash(u32 addr, unsigned int i)
{
	return unwind_rules_hash((u64)(addr >> unwind_row_shift(i)) * UNWIND_ROW_SIZES + i);
}

static __always_inline bool unwind_row_read(const struct unwind_rule_entry *entry,
					    u32 addr, struct unwind_user_rule *rule)
{
	/* pairs with the release in write_entry() */
	u32 seq = smp_load_acquire(&entry->seq);
	u64 key = READ_ONCE(entry->key);

	return addr - (u32)key < key >> 32 && unwind_rules_read(entry, seq, rule);
}

extern atomic64_t unwind_files_dead;
extern unsigned int unwind_files_max_kb;

/**
 * unwind_file_is_dead - has the file been opened for writing?
 * @file: the file
 *
 * Context: Any.
 * Return: true if so: from now on its contents may differ from its rules.
 */
static inline bool unwind_file_is_dead(const struct unwind_file *file)
{
	return READ_ONCE(file->dead);
}

/**
 * unwind_files_changes - how many files have died because they may be written to
 *
 * Context: Any.
 * Return: the number.  unwind_file_is_dead() is already true for all files counted in it.
 */
static inline u64 unwind_files_changes(void)
{
	/* pairs with the release in kill_changing_file() */
	return atomic64_read_acquire(&unwind_files_dead);
}

struct unwind_file *unwind_file_find(const struct inode *inode);
struct unwind_file *unwind_file_get(struct inode *inode);
void unwind_file_put(struct unwind_file *file);
bool unwind_file_set_layout(struct unwind_file *file,
			    const struct unwind_file_layout *layout);
bool unwind_file_peek(struct unwind_file *file, u64 vaddr, struct unwind_user_rule *rule);
void unwind_file_grow(struct unwind_file *file);
void unwind_file_add_probe(struct unwind_file *file, unsigned int i, s32 ip);
int unwind_file_add_rule(struct unwind_file *file, u64 start, u64 end, u64 at,
			 const struct unwind_user_rule *rule);
void unwind_files_trim(void);
void unwind_files_stat(unsigned long *nr, unsigned long *bytes);

#endif /* _KERNEL_UNWIND_FILE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules of files: the known files, and the rules that were decoded from their tables.
 *
 * A file is identified by its inode.  Its rules are valid until it is opened for writing.
 * Then it is dead: its rules are freed, it is not found any more, and the next walk of each
 * process drops the objects of the file (unwind_cache_use()).
 *
 *	unwind_file_get()			get_write_access()
 *
 *	take files_lock				increment i_writecount (full barrier)
 *	set UNWIND_FILE_BIT			if UNWIND_FILE_BIT is set:
 *	smp_mb__after_atomic()				take files_lock, kill the file
 *	if i_writecount > 0: give up		change the file
 *	put the file into the hash table
 *	release files_lock
 *
 * At least one of the two sees the other.  Documentation/core-api/unwind-files.rst has the
 * proof, and says how long the inode of a known file may be used.
 *
 * Locks: files_lock protects the hash table, the list and UNWIND_FILE_BIT.  Each file has a
 * lock for its rules, which nests in files_lock or the lock of an mm's cache; no other lock
 * nests in it.  Readers are under RCU.  The hash table holds a reference to a file until the
 * file is dead.  Each object of the file in a process holds a reference, too.
 *
 * Memory: files and rules take at most unwind_files_max_kb.  Files with objects cannot be evicted,
 * and any user can have many of them.  So the files alone, without their rules, take at most half
 * of that memory, and a file that is refused for this evicts no rules.
 */

#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/unwind_file.h>

#include "file.h"
#include "task.h"

/* from 512 bytes to 512 KiB for a file's rules: 16 to 16,384 entries */
#define FIRST_RULES_BITS	4
#define MAX_RULES_BITS	14
/* a displaced rule must be decoded again, so grow soon */
#define RULES_SPILL	1

/* how many files to check in one attempt to evict one */
#define MAX_LOOKS	16
/* how many attempts may fail within the whole limit */
#define MAX_TRIES	8
/* the most attempts to evict a file or rules, to make room for one table or file */
#define MAX_ROUNDS	1024
/* how long not to look for a file to evict after all files had objects, in jiffies */
#define FULL_TIME	(HZ / 10)

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/* how long to wait before rows of a file are decoded again, in jiffies: at first, and at most */
#define FIRST_ROWS_PAUSE	(60 * HZ)
#define MAX_ROWS_PAUSE		(3600 * HZ)
#endif

unsigned int unwind_files_max_kb __read_mostly = 16 * 1024;
atomic64_t unwind_files_dead __read_mostly = ATOMIC64_INIT(0);

static DEFINE_HASHTABLE(files, 12);
static LIST_HEAD(files_lru);
static DEFINE_SPINLOCK(files_lock);
static unsigned long nr_files;
static u64 last_serial;
static atomic_long_t files_bytes;	/* files and rules */
static atomic_long_t alone_bytes;	/* files without their rules */
static unsigned long full_since;	/* all files had objects at this time, in jiffies */

static_assert(UNWIND_FILE_BIT == AS_UNWIND_RULES);

/*
 * Does the page cache of a file of this file system change only through writers of its
 * inode on this machine?  Files of network, cluster and user space file systems also change
 * in other ways.  A file on overlayfs is mapped from the file system of its layer.
 */
static bool is_known_filesystem(const struct super_block *sb)
{
	/* files on internal mounts can be open for writing without being counted */
	if (sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return false;
	switch (sb->s_magic) {
	case EXT4_SUPER_MAGIC:	/* also of ext2 and ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
		return true;
	case EROFS_SUPER_MAGIC_V1:
		/* Without a block device, the data are from fscache or a file, and may change. */
		return sb->s_bdev;
	default:
		return false;
	}
}

static bool is_shareable(const struct inode *inode)
{
	return S_ISREG(inode->i_mode) && !IS_DAX(inode) && !IS_SWAPFILE(inode) &&
	       inode->i_mapping == &inode->i_data && is_known_filesystem(inode->i_sb);
}

static struct unwind_file *files_find(const struct inode *inode)
{
	struct unwind_file *file;

	hash_for_each_possible_rcu(files, file, node, (unsigned long)inode,
				   lockdep_is_held(&files_lock)) {
		if (file->inode == inode)
			return file;
	}
	return NULL;
}

/* Write only if needed, as all CPUs read this cache line. */
static void files_note_use(struct unwind_file *file)
{
	if (!READ_ONCE(file->used))
		WRITE_ONCE(file->used, true);
}

static void free_rules(struct unwind_rule_table *rules)
{
	if (!rules)
		return;
	atomic_long_sub(unwind_rules_bytes(rules->bits), &files_bytes);
	unwind_rules_free(rules);
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
static bool take_rows(struct unwind_file *file)
{
	struct unwind_file_rows *rows;

	spin_lock(&file->lock);
	rows = rcu_replace_pointer(file->rows, NULL, lockdep_is_held(&file->lock));
	spin_unlock(&file->lock);
	if (!rows)
		return false;
	atomic_long_sub(rows->bytes, &files_bytes);
	kvfree_rcu(rows, rcu);
	return true;
}
#else
static bool take_rows(struct unwind_file *file)
{
	return false;
}
#endif

static bool take_rules(struct unwind_file *file)
{
	struct unwind_rule_table *rules;
	bool taken = take_rows(file);

	spin_lock(&file->lock);
	rules = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	RCU_INIT_POINTER(file->rules, NULL);
	spin_unlock(&file->lock);
	free_rules(rules);
	return rules || taken;
}

/* The size of a struct unwind_file, as kmalloc() rounds it up. */
static size_t file_bytes(void)
{
	return kmalloc_size_roundup(sizeof(struct unwind_file));
}

static void files_uncharge_one(void)
{
	atomic_long_sub(file_bytes(), &alone_bytes);
	atomic_long_sub(file_bytes(), &files_bytes);
}

static void files_free(struct unwind_file *file)
{
	files_uncharge_one();
	kfree_rcu(file, rcu);
}

/**
 * unwind_file_put - put a reference to a file
 * @file: the file, or NULL
 *
 * Context: Any but interrupts.
 */
void unwind_file_put(struct unwind_file *file)
{
	if (!file || !refcount_dec_and_test(&file->refs))
		return;
	take_rules(file);
	files_free(file);
}

/*
 * Remove a file from the hash table. The caller gets the table's reference, and holds files_lock.
 */
static void unlink_file(struct unwind_file *file)
{
	lockdep_assert_held(&files_lock);
	hash_del_rcu(&file->node);
	list_del(&file->lru);
	WRITE_ONCE(nr_files, nr_files - 1);
}

/* Make a file unusable, so that nothing is added to it. The caller holds files_lock. */
static void kill_file(struct unwind_file *file)
{
	unlink_file(file);
	spin_lock(&file->lock);
	WRITE_ONCE(file->dead, true);
	spin_unlock(&file->lock);
}

/*
 * Kill a file that may be written to.  Under files_lock, with a reference to the inode.
 *
 * A writer that finds the bit clear changes the file without waiting for the lock.  A walk that
 * sees such a change also sees that the file is dead and that its death was counted.
 */
static void kill_changing_file(struct unwind_file *file, struct inode *inode)
{
	kill_file(file);
	/* count the death after the file is dead; pairs with unwind_files_changes() */
	atomic64_inc_return_release(&unwind_files_dead);
	/* pairs with the full barrier of the increment in get_write_access() */
	smp_mb__before_atomic();
	clear_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
}

/**
 * __unwind_user_file_change - a file may change from now on
 * @inode: the inode, with a reference
 *
 * The out-of-line half of unwind_user_file_change().
 *
 * Context: Any but interrupts.
 */
void __unwind_user_file_change(struct inode *inode)
{
	struct unwind_file *file;

	spin_lock(&files_lock);
	file = files_find(inode);
	if (file)
		kill_changing_file(file, inode);
	else
		/* the file was evicted */
		clear_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
	spin_unlock(&files_lock);
	if (!file)
		return;
	take_rules(file);
	unwind_file_put(file);
}
EXPORT_SYMBOL(__unwind_user_file_change);

/* Evict the file, if no object refers to it. Under files_lock. */
static bool take_file(struct unwind_file *file)
{
	/* readers that find it meanwhile get no reference */
	if (!refcount_dec_if_one(&file->refs))
		return false;
	unlink_file(file);
	take_rules(file);
	files_free(file);
	return true;
}

/*
 * Evict a file, or its rules, if it was not used since the last check. With @alone, evict
 * only files without objects. Under files_lock.
 */
static bool take_unused(struct unwind_file *file, bool alone)
{
	if (alone && refcount_read(&file->refs) > 1)
		return false;
	if (READ_ONCE(file->used)) {
		WRITE_ONCE(file->used, false);
		return false;
	}
	return take_file(file) || (!alone && take_rules(file));
}

/*
 * Have all files objects? Then each frame in any other file asks in vain, so do not take files_lock
 * each time.
 */
static bool files_are_full(void)
{
	const unsigned long since = READ_ONCE(full_since);

	return time_in_range_open(jiffies, since, since + FULL_TIME);
}

/* Evict a file or rules. Walks that still use the rules continue, and decode missing rules anew. */
static bool files_make_room(bool alone)
{
	unsigned int looks = MAX_LOOKS;
	struct unwind_file *file;
	bool made = false;

	spin_lock(&files_lock);
	while (!made && looks-- && !list_empty(&files_lru)) {
		file = list_first_entry(&files_lru, struct unwind_file, lru);
		list_move_tail(&file->lru, &files_lru);
		made = take_unused(file, alone);
	}
	spin_unlock(&files_lock);
	return made;
}

/*
 * Add @bytes to @sum, but never exceed @max, not even for a moment: other tasks would then fail
 * although there is room.
 */
static bool files_add_to(atomic_long_t *sum, long max, long bytes)
{
	long now = atomic_long_read(sum);

	do {
		if (now > max - bytes)
			return false;
	} while (!atomic_long_try_cmpxchg(sum, &now, now + bytes));
	return true;
}

/* enough to look twice at each file */
static unsigned long tries_for_all(void)
{
	return 2 * READ_ONCE(nr_files) / MAX_LOOKS + 2;
}

static bool files_charge_to(atomic_long_t *sum, long max, long bytes)
{
	const bool alone = sum == &alone_bytes;
	unsigned long tries = alone ? tries_for_all() : MAX_TRIES;
	unsigned int rounds = MAX_ROUNDS;

	if (bytes > max)
		return false;
	while (!files_add_to(sum, max, bytes)) {
		if (alone && !tries)
			WRITE_ONCE(full_since, jiffies);
		if (!tries || !rounds || fatal_signal_pending(current))
			return false;
		if (alone && files_are_full())
			return false;
		/* this clears @used, so a second pass can evict files in use */
		if (files_make_room(alone))
			rounds--;
		else
			tries--;
		cond_resched();
	}
	return true;
}

/* Charge @bytes to the limit. False if they may not be allocated. */
static bool files_charge(size_t bytes)
{
	return files_charge_to(&files_bytes, READ_ONCE(unwind_files_max_kb) * 1024L, bytes);
}

static bool files_charge_one(void)
{
	const size_t bytes = file_bytes();

	if (!files_charge_to(&alone_bytes, READ_ONCE(unwind_files_max_kb) * 512L, bytes))
		return false;
	if (files_charge(bytes))
		return true;
	atomic_long_sub(bytes, &alone_bytes);
	return false;
}

/**
 * unwind_files_trim - evict rules and files until they take at most unwind_files_max_kb
 *
 * Files with objects remain, without rules.  Gives up if the task is killed.
 *
 * Context: Task context, may sleep.
 */
void unwind_files_trim(void)
{
	unsigned long tries = tries_for_all();

	while (atomic_long_read(&files_bytes) > READ_ONCE(unwind_files_max_kb) * 1024L) {
		if (fatal_signal_pending(current) || (!files_make_room(false) && !--tries))
			return;
		cond_resched();
	}
}

/**
 * unwind_file_peek - the rule at an address, if it is known
 * @file: the file
 * @vaddr: link-time address
 * @rule: filled in
 *
 * Context: Under RCU.
 * Return: false if it is not known.
 */
bool unwind_file_peek(struct unwind_file *file, u64 vaddr, struct unwind_user_rule *rule)
{
	const struct unwind_rule_table *table = rcu_dereference(file->rules);
	const struct unwind_rule_entry *set;
	u32 addr = vaddr - file->layout.first;
	unsigned int i;

	if (!table)
		return false;
	files_note_use(file);
#pragma GCC unroll 4
	for (i = 0; i < UNWIND_ROW_SIZES; i++) {
		set = unwind_rules_set(table, unwind_row_hash(addr, i));
		if (unwind_row_read(&set[0], addr, rule) || unwind_row_read(&set[1], addr, rule))
			return true;
	}
	return false;
}

#ifdef CONFIG_UNWIND_USER_IN_PLACE
/**
 * unwind_file_set_rows - keep all rows of a file
 * @file: the file, with a reference
 * @rows: the rows, read after unwind_file_get(); on success they belong to the file
 *
 * Context: Task context, also of a kernel thread; may sleep.
 * Return: false if the file is dead or has rows, or if there is no room.
 */
bool unwind_file_set_rows(struct unwind_file *file, struct unwind_file_rows *rows)
{
	bool kept;

	if (!files_charge(rows->bytes))
		return false;
	spin_lock(&file->lock);
	kept = !file->dead && !rcu_access_pointer(file->rows);
	if (kept)
		rcu_assign_pointer(file->rows, rows);
	spin_unlock(&file->lock);
	if (!kept)
		atomic_long_sub(rows->bytes, &files_bytes);
	return kept;
}

/* Find the rule of an address in all rows of a file.  False if it is not known. */
static bool find_row(const struct unwind_file_rows *rows, u64 addr, struct unwind_user_rule *rule)
{
	u32 low, high, mid;

	if (addr >> PAGE_SHIFT >= rows->nr_pages)
		return false;
	low = rows->pages[addr >> PAGE_SHIFT];
	high = rows->pages[(addr >> PAGE_SHIFT) + 1];
	/* rows below low begin at @addr or before it; rows from high on begin after it */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (rows->starts[mid] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || rows->ids[low - 1] == UNWIND_ROW_UNKNOWN)
		return false;
	*rule = rows->rules[rows->ids[low - 1]];
	return true;
}

/**
 * unwind_file_look - as unwind_file_peek(), but from all rows of the file if these are known
 * @file: the file
 * @vaddr: link-time address
 * @rule: filled in
 *
 * Context: Any, under RCU.
 * Return: false if it is not known.
 */
bool unwind_file_look(struct unwind_file *file, u64 vaddr, struct unwind_user_rule *rule)
{
	const struct unwind_file_rows *rows = rcu_dereference(file->rows);

	if (rows && find_row(rows, vaddr - file->layout.first, rule)) {
		files_note_use(file);
		return true;
	}
	return unwind_file_peek(file, vaddr, rule);
}

/**
 * unwind_file_lacks_rows - could rows of a file be kept?
 * @file: the file
 *
 * Context: Any, under RCU or with a reference.
 * Return: false if it has rows, or is dead.
 */
bool unwind_file_lacks_rows(const struct unwind_file *file)
{
	return !rcu_access_pointer(file->rows) && !unwind_file_is_dead(file);
}

/**
 * unwind_file_wants_rows - should the rows of a file be decoded?
 * @file: the file
 *
 * Context: Any, under RCU or with a reference.
 * Return: true if they are missing, and that was not tried lately.
 */
bool unwind_file_wants_rows(const struct unwind_file *file)
{
	return unwind_file_lacks_rows(file) &&
	       /* pairs with unwind_file_set_layout() */
	       smp_load_acquire(&file->has_layout) && file->layout.nr &&
	       time_after_eq(jiffies, READ_ONCE(file->rows_next));
}

/**
 * unwind_file_claim_rows - let the caller decode the rows of a file
 * @file: the file, with a reference
 *
 * If that comes again within an hour, longer pauses follow: the rows may not fit into the limits.
 *
 * Context: Task context.
 * Return: false if they are not wanted, or somebody else decodes them.
 */
bool unwind_file_claim_rows(struct unwind_file *file)
{
	unsigned long next = READ_ONCE(file->rows_next), pause = READ_ONCE(file->rows_pause);

	if (time_after(jiffies, next + MAX_ROWS_PAUSE))
		pause = FIRST_ROWS_PAUSE;
	if (!unwind_file_wants_rows(file) ||
	    cmpxchg(&file->rows_next, next, jiffies + pause) != next)
		return false;
	WRITE_ONCE(file->rows_pause, min_t(unsigned long, 2 * pause, MAX_ROWS_PAUSE));
	return true;
}
#endif

static unsigned int row_size(u32 len)
{
	unsigned int i = 0;

	while (i < UNWIND_ROW_SIZES - 1 && len > UNWIND_ROW_GRANULES << unwind_row_shift(i))
		i++;
	return i;
}

/*
 * Add a row to the granules that it covers; a long row only to those around @at.  Return how many
 * rules were displaced.
 */
static unsigned int files_add_row(struct unwind_rule_table *table, u32 start, u32 len, u32 at,
				  const struct unwind_user_rule *rule)
{
	unsigned int i = row_size(len);
	u32 shift = unwind_row_shift(i), low = start >> shift;
	u32 high = (start + len - 1) >> shift, mid = at >> shift, n;
	unsigned int displaced = 0;

	if (high - low > UNWIND_ROW_GRANULES) {
		low = mid > low ? mid - 1 : low;
		high = mid < high ? mid + 1 : high;
	}
	for (n = low; n <= high; n++)
		displaced += unwind_rules_add(table, unwind_row_hash(n << shift, i),
					      unwind_row_key(start, len), rule);
	return displaced;
}

/* A very long row is copied for its first granules only, until it is added again. */
static void files_copy_row(struct unwind_rule_table *table, u64 key,
			   const struct unwind_user_rule *rule)
{
	u32 start = key, len = key >> 32;
	const struct unwind_rule_entry *set;

	/* copy the row only once, although it has an entry for each granule */
	set = unwind_rules_set(table, unwind_row_hash(start, row_size(len)));
	if (set[0].key != key && set[1].key != key)
		files_add_row(table, start, len, start, rule);
}

static bool want_room(const struct unwind_rule_table *table)
{
	return !table || (table->bits < MAX_RULES_BITS && unwind_rules_is_crowded(table));
}

/*
 * Have at least a quarter of the entries a rule?  If not, too many rules share a few sets, and a
 * larger table does not help.  Under RCU.
 */
static bool rules_are_many(const struct unwind_rule_table *table)
{
	unsigned long i, used = 0;

	for (i = 0; i < BIT(table->bits) && used < BIT(table->bits) / 4; i++)
		used += !(READ_ONCE(unwind_rules_entry(table, i)->seq) & 1);
	return used >= BIT(table->bits) / 4;
}

/* The wanted size of the rules' table, or 0 if it is large enough. */
static unsigned int wanted_bits(const struct unwind_file *file)
{
	struct unwind_rule_table *table;
	unsigned int bits = 0;

	rcu_read_lock();
	table = rcu_dereference(file->rules);
	if (!table) {
		bits = FIRST_RULES_BITS;
	} else if (want_room(table)) {
		unwind_rules_begin_growth(table);
		if (rules_are_many(table))
			bits = min_t(unsigned int, table->bits + 2, MAX_RULES_BITS);
	}
	rcu_read_unlock();
	return bits;
}

/*
 * Replace the table of a file. Return the table to be freed: the old one, or the new one if it is
 * not needed any more.
 */
static struct unwind_rule_table *replace_rules(struct unwind_file *file,
					       struct unwind_rule_table *table)
{
	struct unwind_rule_table *old;

	spin_lock(&file->lock);
	old = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	if (file->dead || (old && old->bits >= table->bits)) {
		old = table;
	} else {
		if (old)
			unwind_rules_copy(table, old, files_copy_row);
		file->displaced = 0;
		rcu_assign_pointer(file->rules, table);
	}
	spin_unlock(&file->lock);
	return old;
}

/**
 * unwind_file_grow - enlarge the table of a file's rules, if needed
 * @file: the file
 *
 * Context: Task context, with a reference to the file; may sleep.
 */
void unwind_file_grow(struct unwind_file *file)
{
	struct unwind_rule_table *table;
	unsigned int bits;

	/* the mark remains, for a task that may */
	if (!unwind_task_may_allocate())
		return;
	bits = wanted_bits(file);
	if (!bits || !files_charge(unwind_rules_bytes(bits)))
		return;
	table = unwind_rules_alloc(bits, UNWIND_GFP);
	if (!table) {
		atomic_long_sub(unwind_rules_bytes(bits), &files_bytes);
		return;
	}
	free_rules(replace_rules(file, table));
	/* the limit may be lower now than when the table was charged */
	unwind_files_trim();
}

static struct unwind_file *files_alloc(struct inode *inode)
{
	struct unwind_file *file;

	if (!unwind_task_may_allocate() || !files_charge_one())
		return NULL;
	file = kzalloc_obj(*file, UNWIND_GFP);
	if (!file) {
		files_uncharge_one();
		return NULL;
	}
	spin_lock_init(&file->lock);
	refcount_set(&file->refs, 2);
	file->inode = inode;
#ifdef CONFIG_UNWIND_USER_IN_PLACE
	file->rows_next = jiffies;
	file->rows_pause = FIRST_ROWS_PAUSE;
#endif
	return file;
}

/*
 * Make a file known.  Under files_lock, with a reference to the inode.  False if the file
 * is open for writing; then no reader has found it.
 */
static bool link_file(struct unwind_file *file, struct inode *inode)
{
	/* order the removal by known_file() before set_bit(); pairs with find_live_file() */
	smp_mb__before_atomic();
	set_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
	/*
	 * The bit is set before i_writecount is read.  Pairs with the full barrier of the
	 * increment in get_write_access().
	 */
	smp_mb__after_atomic();
	if (inode_is_open_for_write(inode)) {
		clear_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
		return false;
	}
	file->serial = ++last_serial;
	hash_add_rcu(files, &file->node, (unsigned long)inode);
	list_add_tail(&file->lru, &files_lru);
	WRITE_ONCE(nr_files, nr_files + 1);
	return true;
}

/*
 * Find the known file of an inode, under files_lock.  If a file of an earlier inode at the same
 * address is found, kill it and set @gone to it.
 */
static struct unwind_file *known_file(const struct inode *inode, struct unwind_file **gone)
{
	struct unwind_file *file = files_find(inode);

	if (!file || test_bit(UNWIND_FILE_BIT, &inode->i_data.flags))
		return file;
	kill_file(file);
	*gone = file;
	return NULL;
}

static struct unwind_file *add_file(struct inode *inode)
{
	struct unwind_file *file, *known, *gone = NULL;
	bool linked = false;

	file = files_alloc(inode);
	if (!file)
		return ERR_PTR(-ENOMEM);
	spin_lock(&files_lock);
	known = known_file(inode, &gone);
	if (known)
		refcount_inc(&known->refs);
	else
		linked = link_file(file, inode);
	spin_unlock(&files_lock);
	unwind_file_put(gone);
	if (linked)
		return file;
	files_uncharge_one();
	kfree(file);
	return known ?: ERR_PTR(-EAGAIN);
}

static struct unwind_file *find_live_file(const struct inode *inode)
{
	struct unwind_file *file;

	if (!test_bit(UNWIND_FILE_BIT, &inode->i_data.flags))
		return NULL;
	/* read the bit first, to find no file of an earlier inode; pairs with link_file() */
	smp_rmb();
	rcu_read_lock();
	file = files_find(inode);
	if (file && !refcount_inc_not_zero(&file->refs))
		file = NULL;
	rcu_read_unlock();
	if (file)
		files_note_use(file);
	return file;
}

/* May rules of this file be shared? 0, or an error of unwind_file_get(). */
static int files_check(const struct inode *inode)
{
	if (!is_shareable(inode))
		return -EOPNOTSUPP;
	if (!READ_ONCE(unwind_files_max_kb))
		return -ENOMEM;
	/*
	 * pages that could not be written back may be replaced by the disk's contents at any time
	 */
	return READ_ONCE(inode->i_data.wb_err) ? -EBUSY : 0;
}

/**
 * unwind_file_find - find a known file
 * @inode: its inode, with a reference
 *
 * Context: Task context.
 * Return: the file, to be put with unwind_file_put(); or NULL.
 */
struct unwind_file *unwind_file_find(const struct inode *inode)
{
	return files_check(inode) ? NULL : find_live_file(inode);
}

/**
 * unwind_file_get - find a file, or make it known
 * @inode: its inode, with a reference
 *
 * Context: Task context, may sleep.
 * Return: the file, to be put with unwind_file_put(); or -EOPNOTSUPP if rules of such files
 *	   are not shared; -EBUSY if a write-back has failed, so that its pages may change
 *	   without a writer; -ENOMEM if there is no room to make it known; or -EAGAIN if it is
 *	   being written to.
 */
struct unwind_file *unwind_file_get(struct inode *inode)
{
	struct unwind_file *file;
	int ret = files_check(inode);

	if (ret)
		return ERR_PTR(ret);
	file = find_live_file(inode);
	if (file)
		return file;
	return inode_is_open_for_write(inode) ? ERR_PTR(-EAGAIN) : add_file(inode);
}

/**
 * unwind_file_set_layout - store the layout of a file
 * @file: the file
 * @layout: the layout, read after unwind_file_get()
 *
 * Context: Task context, with a reference to the file; may sleep.
 * Return: false if the file is dead.
 */
bool unwind_file_set_layout(struct unwind_file *file,
			    const struct unwind_file_layout *layout)
{
	bool dead;

	spin_lock(&file->lock);
	dead = file->dead;
	/* another task may have stored the same */
	if (!dead && !file->has_layout) {
		file->layout = *layout;
		/* pairs with has_layout() of file_elf.c */
		smp_store_release(&file->has_layout, true);
	}
	spin_unlock(&file->lock);
	if (!dead && layout->nr)
		unwind_file_grow(file);
	return !dead;
}

/**
 * unwind_file_add_probe - keep an address of the sorted table
 * @file: the file
 * @i: index in unwind_file::probes
 * @ip: the address as in the table
 *
 * Context: Under RCU, or with a reference to the file.
 */
void unwind_file_add_probe(struct unwind_file *file, unsigned int i, s32 ip)
{
	spin_lock(&file->lock);
	if (!file->dead)
		WRITE_ONCE(file->probes[i], ip);
	spin_unlock(&file->lock);
}

/**
 * unwind_file_add_rule - keep a rule of a file
 * @file: the file
 * @start: first address for which the rule is valid, before relocation
 * @end: end of its range
 * @at: the address in the range that was looked up
 * @rule: the rule
 *
 * Context: Under RCU, or with a reference to the file.
 * Return: 0; -ENOSPC if unwind_file_grow() should enlarge the table; -ESTALE if the file
 *	   is dead, so that the rule may be from changed bytes.
 */
int unwind_file_add_rule(struct unwind_file *file, u64 start, u64 end, u64 at,
			 const struct unwind_user_rule *rule)
{
	u64 first = file->layout.first;
	struct unwind_rule_table *table;
	unsigned int nr;
	bool fits, dead;
	int ret = 0;

	fits = start >= first && at >= start && at < end && end - first <= U32_MAX;
	spin_lock(&file->lock);
	dead = file->dead;
	table = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	/* if another task has added the rule meanwhile, this replaces it: the key is the same */
	if (table && fits && !dead) {
		nr = files_add_row(table, start - first, end - start, at - first, rule);
		unwind_rules_count_displaced(table, &file->displaced, nr, RULES_SPILL);
	}
	if (want_room(table))
		ret = -ENOSPC;
	spin_unlock(&file->lock);
	return dead ? -ESTALE : ret;
}

/**
 * unwind_files_stat - number of known files, and their memory
 * @nr: filled in
 * @bytes: filled in
 *
 * Context: Any.
 */
void unwind_files_stat(unsigned long *nr, unsigned long *bytes)
{
	*nr = READ_ONCE(nr_files);
	*bytes = atomic_long_read(&files_bytes);
}

static unsigned long count_files(struct shrinker *shrinker, struct shrink_control *sc)
{
	return READ_ONCE(nr_files) ?: SHRINK_EMPTY;
}

static unsigned long shrink_files(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned long freed = 0;

	while (freed < sc->nr_to_scan && files_make_room(false))
		freed++;
	return freed ?: SHRINK_STOP;
}

static const unsigned int most_kb = 1024 * 1024;

/* If the limit is lowered, evict rules and files that exceed it. */
static int set_files_max(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			 loff_t *ppos)
{
	int ret = proc_douintvec_minmax(table, write, buffer, lenp, ppos);

	if (!ret && write)
		unwind_files_trim();
	return ret;
}

static struct ctl_table unwind_files_sysctls[] = {
	{
		.procname	= "unwind_user_files_max_kb",
		.data		= &unwind_files_max_kb,
		.maxlen		= sizeof(unwind_files_max_kb),
		.mode		= 0644,
		.proc_handler	= set_files_max,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&most_kb,
	},
};

static int __init unwind_files_setup(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "unwind_files");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_files;
	shrinker->scan_objects = shrink_files;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	register_sysctl("kernel", unwind_files_sysctls);
	return 0;
}
subsys_initcall(unwind_files_setup);

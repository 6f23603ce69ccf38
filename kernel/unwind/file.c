// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind rules of files: which files are known, and the rules that were found in their
 * tables.
 *
 * A file is known by its inode.  Its rules are valid until somebody opens it for writing.
 * Then it is dead: its rules go, it is not found any more, and the objects of processes that
 * are known by it are dropped with their rules when the next walk begins there
 * (unwind_cache_begin_walk()).  A walk that is under way goes on by the rules that it finds,
 * and reads no more of the dead file's tables: it ends there.  Later walks read them anew, and
 * go by them for all frames, those made before the change too: a program whose code is
 * rewritten under it goes on by the new bytes as well.
 *
 * Why no rule of changed bytes is kept.  All who change a file count themselves in
 * inode->i_writecount first (get_write_access()), a shared mapping that can be written to for
 * as long as it exists.
 *
 *	unwind_file_get()			get_write_access()
 *
 *	take files_lock				increment i_writecount (full barrier)
 *	set UNWIND_FILE_BIT			test UNWIND_FILE_BIT: take files_lock,
 *	smp_mb__after_atomic()				kill the file
 *	test i_writecount: make no file known	change the file
 *	put the file into the hash table
 *	release files_lock
 *
 * This is store buffering with full barriers: at least one of the two sees the other.  Nobody
 * finds a file before i_writecount was tested.  If the
 * writer comes first, and has gone again when i_writecount is tested, its changes were made
 * before it was counted down: __fput() follows a fully ordered decrement of f_count, and
 * truncation unlocks the inode.  So all that the decoder reads, which is after the test, is
 * as the writer has left it.  From then on each writer sees the bit, and sets file->dead
 * under file->lock before it changes anything.  What is decoded is kept under file->lock,
 * and only if the file is not dead.  If the decoder has the lock first, its reads come before
 * its unlock, which comes before the change.  If the writer has the lock first, the decoder
 * sees that the file is dead.  A second writer may find the bit clear while the first one is
 * still killing the file, and does not wait for it.  So the bit is cleared last, after the
 * file is dead and its death is counted (kill_changing_file()).
 *
 * No reference to the inode is held, and nobody tells when it is freed and its memory becomes
 * another file's inode.  But a new inode has the bit clear (inode_init_always()).  So whoever
 * finds a file by the address of an inode whose bit is clear has found one of an inode that
 * has gone, and removes it.  The inode of a file that is known is looked into only by who has
 * a reference to it, or has found the file under RCU by an object of its process: objects go
 * before the mapping gives its reference to the inode back, and inodes of the file systems
 * listed are freed a grace period after that.  If a file is dropped to make room for another,
 * its bit stays set until the next writer clears it.
 *
 * That holds only where nothing but these writers changes the page cache, so file systems
 * are listed (is_known_filesystem()).  Files that are made open, as memfds and System V
 * shared memory, are not counted in i_writecount.  They are on internal mounts.  Pages of a
 * file that devices may write to are not read (file_elf.c).  Whoever writes to the device
 * below a file system is not followed.
 *
 * Rules come from the page cache, never from the memory of a process (file_elf.c), and are
 * used for a process only where it maps the same bytes.
 *
 * Locks: files_lock is for the hash table, the list and UNWIND_FILE_BIT.  Each file has a
 * lock for its rules.  That is taken within files_lock or the lock of an mm's cache, and no
 * other is taken within it.  Readers are under RCU.  A file is referenced by the hash table
 * while it is live, and by each object of a process that is known by it.
 *
 * Memory: files and rules take unwind_files_max_kb at most.  Where that is reached, rules of
 * files that were not used since the last look make room, and files that no object refers to.
 * Files that objects refer to cannot be dropped, and any user can have many of them.  So files
 * without their rules take half of that memory at most, and a file that becomes known does
 * not displace rules of known files.
 */

#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unwind_file.h>

#include "file.h"
#include "task.h"

/* 262,144 bytes for a file's rules: 8192 entries */
#define MAX_RULES_BITS	13

/* how many files are looked at under the lock, for one that can make room, and how often */
#define MAX_LOOKS	16
#define MAX_TRIES	8
/* how many files make room for one table */
#define MAX_ROUNDS	1024

/* no reason to kill a process */
#define FILE_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN | __GFP_NOMEMALLOC)

unsigned int unwind_files_max_kb __read_mostly = 16 * 1024;
atomic64_t unwind_files_dead __read_mostly = ATOMIC64_INIT(0);

static DEFINE_HASHTABLE(files, 12);
static LIST_HEAD(files_lru);
static DEFINE_SPINLOCK(files_lock);
static unsigned long nr_files;
static u64 last_serial;
static atomic_long_t files_bytes;	/* files and rules */
static atomic_long_t alone_bytes;	/* files alone */

static_assert(UNWIND_FILE_BIT == AS_UNWIND_RULES);

/*
 * Does the page cache of a file of this file system change only through writers of its
 * inode on this machine?  Files of network, cluster and user space file systems also change
 * in other ways.  A mapping of a file on overlayfs is a mapping of the file below.
 */
static bool is_known_filesystem(const struct super_block *sb)
{
	/* what is made there is open for writing without being counted */
	if (sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return false;
	switch (sb->s_magic) {
	case EXT4_SUPER_MAGIC:	/* of ext2 and ext3, too */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
		return true;
	case EROFS_SUPER_MAGIC_V1:
		/* Without a device the data come from fscache or from a file, and may change. */
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

static bool take_rules(struct unwind_file *file)
{
	struct unwind_rule_table *rules;

	spin_lock(&file->lock);
	rules = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	RCU_INIT_POINTER(file->rules, NULL);
	spin_unlock(&file->lock);
	free_rules(rules);
	return rules;
}

/* What kmalloc() takes for a file. */
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
 * unwind_file_put - give a reference to a file back
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

/* Take a file off the hash table, whose reference passes to the caller, under files_lock. */
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
 * Under files_lock: somebody may write to the file.  The inode is referenced.
 *
 * A writer that finds the bit clear changes the file without waiting for the lock.  A walk that
 * sees such a change also sees that the file is dead and that its death was counted.
 */
static void kill_changing_file(struct unwind_file *file, struct inode *inode)
{
	kill_file(file);
	/* after it is dead; pairs with unwind_files_changes() */
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
		/* it had to make room */
		clear_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
	spin_unlock(&files_lock);
	if (!file)
		return;
	take_rules(file);
	unwind_file_put(file);
}
EXPORT_SYMBOL(__unwind_user_file_change);

/* Under files_lock: take the file, if no object refers to it. */
static bool take_file(struct unwind_file *file)
{
	/* who finds it meanwhile gets no reference any more */
	if (!refcount_dec_if_one(&file->refs))
		return false;
	unlink_file(file);
	take_rules(file);
	files_free(file);
	return true;
}

/*
 * Under files_lock: take a file or its rules, or @alone only a file, if it was not used since
 * the last look.
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

/* Walks that still use the rules go on, and find others by themselves. */
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

/* Never exceed @max, not even for a moment: other tasks would not find the room that is left. */
static bool files_add_to(atomic_long_t *sum, long max, long bytes)
{
	long now = atomic_long_read(sum);

	do {
		if (now > max - bytes)
			return false;
	} while (!atomic_long_try_cmpxchg(sum, &now, now + bytes));
	return true;
}

static bool files_charge_to(atomic_long_t *sum, long max, long bytes)
{
	unsigned int tries = MAX_TRIES, rounds = MAX_ROUNDS;

	if (bytes > max)
		return false;
	while (!files_add_to(sum, max, bytes)) {
		if (!rounds-- || fatal_signal_pending(current))
			return false;
		/* files that are in use are the first to make room the next time */
		if (!files_make_room(sum == &alone_bytes) && !--tries)
			return false;
		cond_resched();
	}
	return true;
}

/* May so much be allocated?  If so, it is counted. */
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
 * unwind_file_peek - the rule at an address, if it is known
 * @file: the file
 * @vaddr: address as the file was linked
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
	for (i = 0; i < UNWIND_ROW_SIZES; i++) {
		set = unwind_rules_set(table, unwind_row_hash(addr, i));
		if (unwind_row_read(&set[0], addr, rule) || unwind_row_read(&set[1], addr, rule))
			return true;
	}
	return false;
}

static unsigned int row_size(u32 len)
{
	unsigned int i = 0;

	while (i < UNWIND_ROW_SIZES - 1 && len > UNWIND_ROW_GRANULES << unwind_row_shift(i))
		i++;
	return i;
}

/* Add a row to the granules that it covers; of a long row, to those around @at only. */
static void files_add_row(struct unwind_rule_table *table, u32 start, u32 len, u32 at,
			  const struct unwind_user_rule *rule)
{
	unsigned int i = row_size(len);
	u32 shift = unwind_row_shift(i), low = start >> shift;
	u32 high = (start + len - 1) >> shift, mid = at >> shift, n;

	if (high - low > UNWIND_ROW_GRANULES) {
		low = mid > low ? mid - 1 : low;
		high = mid < high ? mid + 1 : high;
	}
	for (n = low; n <= high; n++)
		unwind_rules_add(table, unwind_row_hash(n << shift, i),
				 unwind_row_key(start, len), rule);
}

static u64 hash_of_row(u64 key)
{
	return unwind_row_hash((u32)key, row_size(key >> 32));
}

/* How large the rules' table should be, or 0 if it is large enough. */
static unsigned int wanted_bits(const struct unwind_file *file)
{
	const struct unwind_rule_table *table;
	unsigned int bits = UNWIND_RULES_FIRST;

	rcu_read_lock();
	table = rcu_dereference(file->rules);
	if (table && (!unwind_rules_is_crowded(table) || table->bits == MAX_RULES_BITS))
		bits = 0;
	else if (table)
		bits = min_t(unsigned int, table->bits + 2, MAX_RULES_BITS);
	rcu_read_unlock();
	return bits;
}

/* Give a file the new table, or return it if there is no use for it any more. */
static struct unwind_rule_table *replace_rules(struct unwind_file *file,
					       struct unwind_rule_table *table)
{
	struct unwind_rule_table *old;

	spin_lock(&file->lock);
	old = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	if (file->dead || (old && old->bits >= table->bits)) {
		old = table;
	} else {
		/* a row of many granules is found by its first one, until it is added again */
		if (old)
			unwind_rules_copy(table, old, hash_of_row);
		rcu_assign_pointer(file->rules, table);
	}
	spin_unlock(&file->lock);
	return old;
}

/**
 * unwind_file_grow - give a file's rules more room, if they need it
 * @file: the file
 *
 * Context: Task context, with a reference to the file; may sleep.
 */
void unwind_file_grow(struct unwind_file *file)
{
	struct unwind_rule_table *table;
	unsigned int bits = wanted_bits(file);

	if (!bits || !unwind_task_may_allocate())
		return;
	if (!files_charge(unwind_rules_bytes(bits)))
		return;
	table = unwind_rules_alloc(bits, FILE_GFP);
	if (!table)
		atomic_long_sub(unwind_rules_bytes(bits), &files_bytes);
	else
		free_rules(replace_rules(file, table));
}

static struct unwind_file *files_alloc(struct inode *inode)
{
	struct unwind_file *file;

	if (!unwind_task_may_allocate() || !files_charge_one())
		return NULL;
	file = kzalloc(sizeof(*file), FILE_GFP);
	if (!file) {
		files_uncharge_one();
		return NULL;
	}
	spin_lock_init(&file->lock);
	refcount_set(&file->refs, 2);
	file->inode = inode;
	return file;
}

/*
 * Under files_lock; the inode is referenced.  False if somebody may write to the file: then
 * nobody has found it.
 */
static bool link_file(struct unwind_file *file, struct inode *inode)
{
	/* the file of another inode has gone from the table; pairs with find_live_file() */
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
 * Find the known file of an inode, under files_lock.  A file of an earlier inode at the same
 * address is dropped.
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
	/* one of an inode that was at its address before has gone; pairs with link_file() */
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

/* May rules of such a file be shared?  0, or as unwind_file_get(). */
static int files_check(const struct inode *inode)
{
	if (!is_shareable(inode) || !READ_ONCE(unwind_files_max_kb))
		return -EOPNOTSUPP;
	/* what could not be written back may give way to what the disk has, at any time */
	return READ_ONCE(inode->i_data.wb_err) ? -EBUSY : 0;
}

/**
 * unwind_file_find - find a file that is known
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
 * unwind_file_get - make a file known, or find it
 * @inode: its inode, with a reference
 *
 * Context: Task context, may sleep.
 * Return: the file, to be put with unwind_file_put(); or -EOPNOTSUPP if rules of such files
 *	   are not shared; -EBUSY if it may change untold; -ENOMEM if there is no room, so that
 *	   changes of the file are not told; or -EAGAIN if it is being written to.
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
 * unwind_file_set_layout - note what the headers of a file say
 * @file: the file
 * @layout: what was read since unwind_file_get()
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
	/* another task may have noted the same */
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
 * @i: which, as struct unwind_file_probes says
 * @ip: the address, as the table has it
 *
 * Context: Under RCU, or with a reference to the file.
 */
void unwind_file_add_probe(struct unwind_file *file, unsigned int i, s32 ip)
{
	struct unwind_file_probes *probes = &file->probes;

	spin_lock(&file->lock);
	if (!file->dead) {
		WRITE_ONCE(probes->ip[i], ip);
		/* pairs with search_probes() of file_elf.c */
		smp_store_release(&probes->known, probes->known | BIT(i));
	}
	spin_unlock(&file->lock);
}

/**
 * unwind_file_add_rule - keep a rule of a file
 * @file: the file
 * @start: first address that the rule holds for, as the file was linked
 * @end: first one that it does not
 * @at: one in between that was asked for
 * @rule: the rule
 *
 * Context: Under RCU, or with a reference to the file.
 * Return: 0; -ENOSPC if unwind_file_grow() should give the rules more room; -ESTALE if the
 *	   file is dead, and the rule may be of changed bytes.
 */
int unwind_file_add_rule(struct unwind_file *file, u64 start, u64 end, u64 at,
			 const struct unwind_user_rule *rule)
{
	u64 first = file->layout.first;
	struct unwind_rule_table *table;
	bool fits, dead;
	int ret = 0;

	fits = start >= first && at >= start && at < end && end - first <= U32_MAX;
	spin_lock(&file->lock);
	dead = file->dead;
	table = rcu_dereference_protected(file->rules, lockdep_is_held(&file->lock));
	/* what another task has added meanwhile has the same key */
	if (table && fits && !dead)
		files_add_row(table, start - first, end - start, at - first, rule);
	if (!table || unwind_rules_is_crowded(table))
		ret = -ENOSPC;
	spin_unlock(&file->lock);
	return dead ? -ESTALE : ret;
}

/**
 * unwind_files_stat - how many files are known, and what they take
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
	return 0;
}
subsys_initcall(unwind_files_setup);

// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of rules of files: the addresses of a row, files that are written to, and the
 * limits of memory.  The inodes are made by hand.
 */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/unwind_cache.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_file.h>

#include "cache.h"
#include "cfi.h"
#include "file.h"
#include "file_elf.h"
#include "object.h"
#include "tables.h"
#include "unwind.h"

#define FIRST	0x400000UL	/* the address that a file was linked for */
#define LAST	(FIRST + SZ_16M)

static const struct unwind_file_layout layout = {
	.first = FIRST, .last = LAST, .word = 8, .nr = 1,
};

static void forget_inode(void *inode)
{
	unwind_user_file_change((struct inode *)inode);
}

static struct inode *make_inode(struct kunit *test)
{
	struct super_block *sb = kunit_kzalloc(test, sizeof(*sb), GFP_KERNEL);
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sb);
	KUNIT_ASSERT_NOT_NULL(test, inode);
	sb->s_magic = RAMFS_MAGIC;
	inode->i_sb = sb;
	inode->i_mode = S_IFREG;
	inode->i_mapping = &inode->i_data;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, forget_inode, inode), 0);
	return inode;
}

static struct unwind_file *get_file_with(struct kunit *test, struct inode *inode,
					 const struct unwind_file_layout *with)
{
	struct unwind_file *file = unwind_file_get(inode);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_TRUE(test, unwind_file_set_layout(file, with));
	return file;
}

static struct unwind_file *get_file_of(struct kunit *test, struct inode *inode)
{
	return get_file_with(test, inode, &layout);
}

/* Add a rule with cfa_off @n, which identifies it. */
static int add_rule(struct unwind_file *file, u64 start, u64 end, u64 at, int n)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME, .cfa_off = n };
	int ret = unwind_file_add_rule(file, start, end, at, &rule);

	if (ret == -ENOSPC)
		unwind_file_grow(file);
	return ret;
}

/* The number of the rule at an address, or -1. */
static int rule_at(struct unwind_file *file, u64 addr)
{
	struct unwind_user_rule rule;
	int n = -1;

	rcu_read_lock();
	if (unwind_file_peek(file, addr, &rule))
		n = rule.cfa_off;
	rcu_read_unlock();
	return n;
}

/* A row is found at the address that was looked up, and never outside its range. */
static void row_ranges(struct kunit *test)
{
	static const u32 lengths[] = { 1, 2, 63, 64, 65, 255, 256, 257, 2048, 2049, 5000, SZ_1M };
	struct unwind_file *file = get_file_of(test, make_inode(test));
	u64 start, end, at, addr;
	unsigned int i, which;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (which = 0; which < 3; which++) {
			start = FIRST + SZ_2M + 37 * i + which;
			end = start + lengths[i];
			at = which == 0 ? start : which == 1 ? end - 1 : start + lengths[i] / 2;
			KUNIT_ASSERT_NE(test, add_rule(file, start, end, at, i), -ESTALE);
			KUNIT_EXPECT_EQ(test, rule_at(file, at), i);
			KUNIT_EXPECT_NE(test, rule_at(file, start - 1), i);
			KUNIT_EXPECT_NE(test, rule_at(file, end), i);
			/* short rows are found at all their addresses */
			for (addr = start; lengths[i] <= 256 && addr < end; addr++)
				KUNIT_ASSERT_EQ(test, rule_at(file, addr), i);
			unwind_file_put(file);
			file = get_file_of(test, make_inode(test));
		}
	}
	unwind_file_put(file);
}

/* Adjacent rows are not mixed up, however many there are. */
static void many_rows(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned int n, found = 0;
	u64 start;

	for (n = 0; n < 4000; n++) {
		start = FIRST + 24 * n;
		KUNIT_ASSERT_NE(test, add_rule(file, start, start + 24, start + 7, n), -ESTALE);
		KUNIT_ASSERT_LT(test, rule_at(file, start - 1), (int)n);
		KUNIT_ASSERT_EQ(test, rule_at(file, start + 24), -1);
	}
	for (n = 0; n < 4000; n++) {
		int rule = rule_at(file, FIRST + 24 * n + 7);

		KUNIT_ASSERT_TRUE(test, rule == n || rule == -1);
		found += rule >= 0;
	}
	/* Some rules were displaced before the table grew. */
	KUNIT_EXPECT_GT(test, found, 3700);
	unwind_file_put(file);
}

/* After the table has grown, rows are found in nearly all of their granules. */
static void rows_in_grown_table(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned int n, i, found = 0;
	u64 start;

	for (n = 0; n < 500; n++) {
		start = FIRST + 200 * n;
		KUNIT_ASSERT_NE(test, add_rule(file, start, start + 200, start, n), -ESTALE);
	}
	for (n = 0; n < 500; n++) {
		for (i = 0; i < 200; i += 50)
			found += rule_at(file, FIRST + 200 * n + i) == n;
	}
	KUNIT_EXPECT_GT(test, found, 1800);
	unwind_file_put(file);
}

static void restore_max_kb(void *old)
{
	unwind_files_max_kb = (unsigned long)old;
}

static void set_max_kb(struct kunit *test, unsigned int kb)
{
	unsigned long old = unwind_files_max_kb;

	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, restore_max_kb, (void *)old), 0);
	unwind_files_max_kb = kb;
}

/* If a table cannot grow, later rules try to grow it again, but not each of them. */
static void refused_growth(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned int n, tries = 0;

	add_rule(file, FIRST, FIRST + 16, FIRST, 0);
	set_max_kb(test, 0);
	for (n = 1; n < 500; n++)
		tries += add_rule(file, FIRST + 16 * n, FIRST + 16 * n + 16, FIRST + 16 * n,
				  n) == -ENOSPC;
	KUNIT_EXPECT_GT(test, tries, 10);
	KUNIT_EXPECT_LT(test, tries, 100);
	unwind_file_put(file);
}

static unsigned int bits_of(struct unwind_file *file)
{
	const struct unwind_rule_table *table;
	unsigned int bits;

	rcu_read_lock();
	table = rcu_dereference(file->rules);
	bits = table ? table->bits : 0;
	rcu_read_unlock();
	return bits;
}

/* If a task that must not allocate finds a table crowded, another task enlarges it. */
static void postponed_growth(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned int n = 0, flags, before;

	add_rule(file, FIRST, FIRST + 16, FIRST, 0);
	before = bits_of(file);
	flags = memalloc_noreclaim_save();
	do {
		n++;
		KUNIT_ASSERT_LT(test, n, 500);
	} while (add_rule(file, FIRST + 16 * n, FIRST + 16 * n + 16, FIRST + 16 * n, n) != -ENOSPC);
	memalloc_noreclaim_restore(flags);
	KUNIT_EXPECT_EQ(test, bits_of(file), before);
	unwind_file_grow(file);
	KUNIT_EXPECT_GT(test, bits_of(file), before);
	unwind_file_put(file);
}

static bool key_is_1(u64 key, unsigned long start, unsigned long end)
{
	return key == 1;
}

static void add_to_first_set(struct unwind_rule_table *table, u64 key,
			     const struct unwind_user_rule *rule)
{
	unwind_rules_add(table, 0, key, rule);
}

/* If both entries of a set have a rule of one key, the newer rule is found in a larger table. */
static void newest_rule_in_grown_table(struct kunit *test)
{
	struct unwind_rule_table *from = unwind_rules_alloc(3, GFP_KERNEL);
	struct unwind_rule_table *to = unwind_rules_alloc(4, GFP_KERNEL);
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME, .cfa_off = 2 };

	if (from && to) {
		add_to_first_set(from, 2, &rule);
		add_to_first_set(from, 1, &rule);
		unwind_rules_drop(from, key_is_1, 0, 0);
		rule.cfa_off = 3;
		add_to_first_set(from, 2, &rule);
		unwind_rules_copy(to, from, add_to_first_set);
		rule.cfa_off = 0;
		KUNIT_EXPECT_TRUE(test, unwind_rules_read_if(unwind_rules_set(to, 0), 2, &rule));
		KUNIT_EXPECT_EQ(test, rule.cfa_off, 3);
	} else {
		KUNIT_FAIL(test, "no memory");
	}
	unwind_rules_free_now(from);
	unwind_rules_free_now(to);
}

/* A table does not grow for rows that would also displace each other in a larger table. */
static void rows_in_one_granule(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned long nr, before, bytes;
	unsigned int n;

	add_rule(file, FIRST, FIRST + 3, FIRST, 0);
	unwind_files_stat(&nr, &before);
	for (n = 0; n < 4000; n++)
		add_rule(file, FIRST + n % 4 * 3, FIRST + n % 4 * 3 + 3, FIRST + n % 4 * 3, n % 4);
	unwind_files_stat(&nr, &bytes);
	KUNIT_EXPECT_EQ(test, bytes, before);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 9), 3);
	unwind_file_put(file);
}

/* Rules outside the file's range, or for an address outside their row, are not kept. */
static void rows_outside(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));

	add_rule(file, FIRST - 8, FIRST + 8, FIRST + 4, 1);
	add_rule(file, FIRST + 8, FIRST + 16, FIRST + 16, 2);
	add_rule(file, FIRST + 8, FIRST + 8 + (1ULL << 32), FIRST + 8, 3);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 4), -1);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 8), -1);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 16), -1);
	unwind_file_put(file);
}

/* From the first writer on, rules are neither added nor found, and the file is not shared. */
static void written_to(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode), *again;
	u64 changes = unwind_files_changes();

	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), 1);
	again = unwind_file_get(inode);
	KUNIT_EXPECT_PTR_EQ(test, again, file);
	unwind_file_put(again);

	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	KUNIT_EXPECT_TRUE(test, unwind_file_is_dead(file));
	KUNIT_EXPECT_NE(test, unwind_files_changes(), changes);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), -1);
	KUNIT_EXPECT_EQ(test, add_rule(file, FIRST, FIRST + 8, FIRST, 1), -ESTALE);
	unwind_file_grow(file);
	KUNIT_EXPECT_EQ(test, add_rule(file, FIRST, FIRST + 8, FIRST, 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), -1);
	KUNIT_EXPECT_FALSE(test, unwind_file_set_layout(file, &layout));
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EAGAIN);

	put_write_access(inode);
	again = get_file_of(test, inode);
	KUNIT_EXPECT_NE(test, again->serial, file->serial);
	KUNIT_EXPECT_EQ(test, rule_at(again, FIRST), -1);
	unwind_file_put(again);
	unwind_file_put(file);
}

/* If headers were read before a writer came, the layout from these headers is refused. */
static void written_before_layout(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = unwind_file_get(inode);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	put_write_access(inode);
	KUNIT_EXPECT_FALSE(test, unwind_file_set_layout(file, &layout));
	unwind_file_put(file);
}

static int change_file(void *inode)
{
	unwind_user_file_change((struct inode *)inode);
	return 0;
}

/*
 * A second writer does not wait for the first one if UNWIND_FILE_BIT is clear.
 * So the first writer must mark the file dead before it clears the bit.  The
 * test holds file->lock, which blocks the first writer before the file is dead.
 */
static void written_by_two(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode);
	struct task_struct *writer;
	bool cleared;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU only");
	writer = kthread_create(change_file, inode, "unwind_file_writer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(writer));
	get_task_struct(writer);
	migrate_disable();
	kthread_bind(writer, cpumask_any_but(cpu_online_mask, smp_processor_id()));
	spin_lock(&file->lock);
	wake_up_process(writer);
	mdelay(50);
	cleared = !test_bit(UNWIND_FILE_BIT, &inode->i_data.flags);
	spin_unlock(&file->lock);
	migrate_enable();
	kthread_stop(writer);
	put_task_struct(writer);

	KUNIT_EXPECT_FALSE(test, cleared);
	/* if this fails, the thread has not run, so the check above proves nothing */
	KUNIT_EXPECT_TRUE(test, unwind_file_is_dead(file));
	KUNIT_EXPECT_FALSE(test, test_bit(UNWIND_FILE_BIT, &inode->i_data.flags));
	unwind_file_put(file);
}

/* An inode is freed without notice, and the inode of the next file gets the same address. */
static void inode_replaced(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode), *again;
	u64 changes = unwind_files_changes();

	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	/* as inode_init_always() sets it */
	inode->i_data.flags = 0;
	again = get_file_of(test, inode);
	KUNIT_EXPECT_NE(test, again->serial, file->serial);
	KUNIT_EXPECT_EQ(test, rule_at(again, FIRST), -1);
	KUNIT_EXPECT_TRUE(test, unwind_file_is_dead(file));
	/* no object refers to the dead file, so its death is not counted */
	KUNIT_EXPECT_EQ(test, unwind_files_changes(), changes);
	KUNIT_EXPECT_EQ(test, add_rule(file, FIRST, FIRST + 8, FIRST, 1), -ESTALE);
	unwind_file_put(file);
	file = get_file_of(test, inode);
	KUNIT_EXPECT_PTR_EQ(test, file, again);
	unwind_file_put(again);
	unwind_file_put(file);
}

/* Files are not shared on file systems that do not report all changes, such as network ones. */
static void not_shared(struct kunit *test)
{
	static const unsigned long magic[] = {
		FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, V9FS_MAGIC, OVERLAYFS_SUPER_MAGIC,
		CEPH_SUPER_MAGIC, SMB2_SUPER_MAGIC, MSDOS_SUPER_MAGIC, HUGETLBFS_MAGIC,
		EROFS_SUPER_MAGIC_V1, 0,
	};
	struct inode *inode = make_inode(test);
	struct address_space other = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(magic); i++) {
		inode->i_sb->s_magic = magic[i];
		KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	}
	inode->i_sb->s_magic = TMPFS_MAGIC;
	inode->i_sb->s_flags = SB_NOUSER;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	inode->i_sb->s_flags = SB_KERNMOUNT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	inode->i_sb->s_flags = 0;
	inode->i_flags = S_SWAPFILE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	inode->i_flags = 0;
	inode->i_mode = S_IFBLK;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	inode->i_mode = S_IFREG;
	inode->i_mapping = &other;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EOPNOTSUPP);
	inode->i_mapping = &inode->i_data;
	inode->i_data.wb_err = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(inode)), -EBUSY);
	inode->i_data.wb_err = 0;
	unwind_file_put(get_file_of(test, inode));
}

/*
 * Memory stays within the limit.  Files are found as long as objects refer to them, and
 * rules in use are not evicted.
 */
static void memory_bound(struct kunit *test)
{
	struct inode *referred = make_inode(test), *used = make_inode(test), *first, *inode;
	struct unwind_file *file = get_file_of(test, referred), *in_use, *again;
	unsigned long nr, bytes;
	u64 changes = unwind_files_changes(), serial;
	unsigned int n, i;

	unwind_files_stat(&nr, &bytes);
	set_max_kb(test, bytes / SZ_1K + 128);
	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	in_use = get_file_of(test, used);
	add_rule(in_use, FIRST, FIRST + 8, FIRST, 2);
	first = make_inode(test);
	again = get_file_of(test, first);
	serial = again->serial;
	unwind_file_put(again);
	for (n = 0; n < 500; n++) {
		inode = make_inode(test);
		again = unwind_file_get(inode);
		KUNIT_ASSERT_FALSE(test, IS_ERR(again));
		KUNIT_ASSERT_TRUE(test, unwind_file_set_layout(again, &layout));
		/* make the table grow: files without rules would only fill half of the limit */
		for (i = 0; i < 64; i++)
			add_rule(again, FIRST + 16 * i, FIRST + 16 * i + 8, FIRST + 16 * i, 3);
		unwind_file_put(again);
		unwind_files_stat(&nr, &bytes);
		KUNIT_ASSERT_LE(test, bytes, unwind_files_max_kb * SZ_1K);
		KUNIT_ASSERT_EQ(test, rule_at(in_use, FIRST), 2);
	}
	KUNIT_EXPECT_LT(test, nr, 300);
	/* the rules of @file were evicted, but the file is still known */
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), -1);
	KUNIT_EXPECT_FALSE(test, unwind_file_is_dead(file));
	again = unwind_file_get(referred);
	KUNIT_EXPECT_PTR_EQ(test, again, file);
	unwind_file_put(again);
	/* no object referred to this file, so it was evicted */
	again = get_file_of(test, first);
	KUNIT_EXPECT_NE(test, again->serial, serial);
	unwind_file_put(again);
	/* an eviction is not counted as a change, so no walk has to check its objects */
	KUNIT_EXPECT_EQ(test, unwind_files_changes(), changes);
	unwind_file_put(in_use);
	unwind_file_put(file);
}

/* If all files are in use, there is no room for others. */
static void no_room(struct kunit *test)
{
	static struct unwind_file *files[300];
	unsigned long nr, bytes, since = 0;
	struct unwind_file *file;
	unsigned int n, i;

	unwind_files_stat(&nr, &bytes);
	set_max_kb(test, bytes / SZ_1K + 32);
	for (n = 0; n < ARRAY_SIZE(files); n++) {
		since = jiffies;
		files[n] = unwind_file_get(make_inode(test));
		if (IS_ERR(files[n]))
			break;
	}
	KUNIT_EXPECT_GT(test, n, 8);
	KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(files));
	/* changes of the refused file would not be reported, so none of its rules are kept */
	KUNIT_EXPECT_EQ(test, PTR_ERR(files[n]), -ENOMEM);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_FALSE(test, unwind_file_is_dead(files[i]));
		unwind_file_put(files[i]);
	}
	/* now a file could be evicted, but nobody looks for one at once */
	file = unwind_file_get(make_inode(test));
	if (time_before(jiffies, since + HZ / 10))
		KUNIT_EXPECT_EQ(test, PTR_ERR(file), -ENOMEM);
	if (!IS_ERR(file))
		unwind_file_put(file);
	msleep(200);
	unwind_file_put(get_file_of(test, make_inode(test)));
	unwind_files_max_kb = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(make_inode(test))), -ENOMEM);
}

/* Files without objects are evicted for a new file at once, even if all of them were used. */
static void room_of_used_files(struct kunit *test)
{
	const size_t size = kmalloc_size_roundup(sizeof(struct unwind_file));
	unsigned long nr, bytes;
	struct unwind_file *file;
	struct inode *inode;
	unsigned int n;

	/* evict other files without objects: one that was not used would be found at once */
	set_max_kb(test, 0);
	unwind_files_trim();
	unwind_files_max_kb = 16 * SZ_1K;
	for (n = 0; n < 400; n++) {
		inode = make_inode(test);
		file = unwind_file_get(inode);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
		unwind_file_put(file);
		/* only the second time is a use */
		unwind_file_put(unwind_file_find(inode));
	}
	unwind_files_stat(&nr, &bytes);
	unwind_files_max_kb = 2 * nr * size / SZ_1K;
	file = unwind_file_get(make_inode(test));
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	unwind_file_put(file);
}

/* Nothing is evicted for a table that is larger than the limit. */
static void too_large(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));
	unsigned int n;

	/* add so many rules that the table has to grow; the next larger table has 2 KiB */
	for (n = 0; n < 64; n++)
		unwind_file_add_rule(file, FIRST + 16 * n, FIRST + 16 * n + 8, FIRST + 16 * n,
				     &(struct unwind_user_rule) { .kind = UNWIND_RULE_FRAME });
	KUNIT_ASSERT_NE(test, rule_at(file, FIRST + 16 * 63), -1);
	set_max_kb(test, 1);
	for (n = 0; n < 16; n++)
		unwind_file_grow(file);
	KUNIT_EXPECT_NE(test, rule_at(file, FIRST + 16 * 63), -1);
	unwind_file_put(file);
}

/* A lower limit evicts rules, and files without an object. */
static void lowered_limit(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test)), *other;
	unsigned long nr, bytes, before;
	unsigned int n;

	for (n = 0; n < 64; n++) {
		other = get_file_of(test, make_inode(test));
		add_rule(other, FIRST, FIRST + 8, FIRST, 1);
		unwind_file_put(other);
	}
	add_rule(file, FIRST, FIRST + 8, FIRST, 2);
	unwind_files_stat(&nr, &before);
	set_max_kb(test, before / SZ_1K / 2);
	unwind_files_trim();
	unwind_files_stat(&nr, &bytes);
	KUNIT_EXPECT_LE(test, bytes, unwind_files_max_kb * SZ_1K);
	KUNIT_EXPECT_GT(test, bytes, 0);
	unwind_files_max_kb = 0;
	unwind_files_trim();
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), -1);
	KUNIT_EXPECT_FALSE(test, unwind_file_is_dead(file));
	unwind_files_stat(&nr, &bytes);
	/* not all memory is freed: objects of running programs also refer to files */
	KUNIT_EXPECT_LT(test, bytes, before / 4);
	unwind_file_put(file);
}

/* A user with many files in use does not prevent other users from having rules. */
static void many_files(struct kunit *test)
{
	static struct unwind_file *files[300];
	struct unwind_file *old, *file;
	unsigned long nr, bytes;
	unsigned int n, i;

	unwind_files_stat(&nr, &bytes);
	set_max_kb(test, 2 * bytes / SZ_1K + 64);
	old = get_file_of(test, make_inode(test));
	add_rule(old, FIRST, FIRST + 8, FIRST, 1);
	for (n = 0; n < ARRAY_SIZE(files); n++) {
		files[n] = unwind_file_get(make_inode(test));
		if (IS_ERR(files[n]))
			break;
	}
	KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(files));
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, PTR_ERR(unwind_file_get(make_inode(test))), -ENOMEM);
		/* sooner, the next file would be refused without a search */
		msleep(110);
	}
	/*
	 * The refused files have displaced no rules, and there is still room
	 * for rules of known files.
	 */
	KUNIT_EXPECT_EQ(test, rule_at(old, FIRST), 1);
	unwind_files_stat(&nr, &bytes);
	KUNIT_EXPECT_LT(test, bytes, unwind_files_max_kb * SZ_1K * 3 / 4);
	file = files[0];
	KUNIT_EXPECT_TRUE(test, unwind_file_set_layout(file, &layout));
	add_rule(file, FIRST, FIRST + 8, FIRST, 2);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST), 2);
	KUNIT_EXPECT_EQ(test, rule_at(old, FIRST), 1);
	for (i = 0; i < n; i++)
		unwind_file_put(files[i]);
	unwind_file_put(old);
}

#define CODE	0x10000000UL	/* an arbitrary address, which is only compared */

static void attach_mm(struct kunit *test)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, SZ_4K, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user mapping");
}

/* Cache an object of @file at CODE + @n pages. With @by_file, its rules are those of the file. */
static void know_object_by(struct kunit *test, struct unwind_file *file, unsigned int n,
			   bool by_file)
{
	unsigned long start = CODE + n * PAGE_SIZE;
	struct unwind_object object = {
		.start = start, .end = start + PAGE_SIZE,
		.code_start = start, .code_end = start + PAGE_SIZE,
		.nr = 1, .word = 8, .file = file, .by_file = by_file, .bias = start - FIRST,
	};
	struct unwind_cache_state state;

	if (file)
		refcount_inc(&file->refs);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state));
	unwind_cache_add_object(&state, &object);
}

static void know_object(struct kunit *test, struct unwind_file *file, unsigned int n)
{
	know_object_by(test, file, n, file);
}

static bool object_is_known(unsigned int n)
{
	struct unwind_object object;

	return !unwind_cache_find_object(CODE + n * PAGE_SIZE, &object);
}

/* Drop the objects of dead files, as a walk does. */
static u64 begin_walk(void)
{
	struct unwind_walk state = { .changes = unwind_files_changes() };
	const struct unwind_rule_table *table;

	rcu_read_lock();
	unwind_cache_use(&state, &table);
	rcu_read_unlock();
	return state.changes;
}

static bool rule_is_known(unsigned int n)
{
	struct unwind_user_rule rule;
	struct unwind_full_rule full;

	return !unwind_cache_find_rule(CODE + n * PAGE_SIZE, false, &rule, &full);
}

/* The size of the process's table of rules. */
static unsigned int cache_bits(bool *crowded)
{
	struct unwind_walk state = { .changes = unwind_files_changes() };
	const struct unwind_rule_table *table;
	unsigned int bits = 0;

	rcu_read_lock();
	if (unwind_cache_use(&state, &table))
		bits = table->bits;
	rcu_read_unlock();
	*crowded = state.crowded;
	return bits;
}

/* As postponed_growth(), for the table of a process. */
static void postponed_growth_of_cache(struct kunit *test)
{
	struct unwind_user_rule rule = { .kind = UNWIND_RULE_FRAME };
	struct unwind_cache_state state;
	unsigned int n = 0, flags, before;
	bool crowded;

	attach_mm(test);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state));
	before = cache_bits(&crowded);
	do {
		unwind_cache_add_rule(&state, CODE + 16 * n, &rule, NULL);
		cache_bits(&crowded);
		KUNIT_ASSERT_LT(test, n++, 500);
	} while (!crowded);
	flags = memalloc_noreclaim_save();
	unwind_cache_grow_rules(0);
	memalloc_noreclaim_restore(flags);
	KUNIT_EXPECT_EQ(test, cache_bits(&crowded), before);
	KUNIT_EXPECT_TRUE(test, crowded);
	unwind_cache_grow_rules(0);
	KUNIT_EXPECT_GT(test, cache_bits(&crowded), before);
	KUNIT_EXPECT_FALSE(test, crowded);
}

/* All objects of a file use its rules. */
static void objects_of_file(struct kunit *test)
{
	struct unwind_file *file = get_file_of(test, make_inode(test));

	attach_mm(test);
	know_object(test, file, 0);
	know_object(test, file, 2);
	KUNIT_EXPECT_FALSE(test, rule_is_known(0));
	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	KUNIT_EXPECT_TRUE(test, rule_is_known(0));
	KUNIT_EXPECT_TRUE(test, rule_is_known(2));
	KUNIT_EXPECT_FALSE(test, rule_is_known(1));
	unwind_file_put(file);
}

/* When the next walk begins, the objects of a dead file are dropped, and no others. */
static void objects_of_dead_file(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode);
	struct unwind_file *other = get_file_of(test, make_inode(test));

	attach_mm(test);
	know_object(test, file, 0);
	know_object(test, other, 1);
	know_object(test, NULL, 2);
	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	add_rule(other, FIRST, FIRST + 8, FIRST, 2);
	KUNIT_EXPECT_TRUE(test, rule_is_known(0));
	KUNIT_EXPECT_TRUE(test, rule_is_known(1));

	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	/* a walk in progress still uses cached rules */
	KUNIT_EXPECT_TRUE(test, rule_is_known(0));
	begin_walk();
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	KUNIT_EXPECT_FALSE(test, rule_is_known(0));
	KUNIT_EXPECT_TRUE(test, object_is_known(1));
	KUNIT_EXPECT_TRUE(test, rule_is_known(1));
	KUNIT_EXPECT_TRUE(test, object_is_known(2));

	/* as if the object had been found before the file died */
	know_object(test, file, 0);
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	put_write_access(inode);
	know_object(test, file, 0);
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	unwind_file_put(other);
	unwind_file_put(file);
}

/* An object is dropped with its file, even if its rules are not from that file. */
static void objects_by_memory(struct kunit *test)
{
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode);

	attach_mm(test);
	know_object_by(test, file, 0, false);
	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	KUNIT_EXPECT_TRUE(test, object_is_known(0));
	KUNIT_EXPECT_FALSE(test, rule_is_known(0));
	KUNIT_EXPECT_FALSE(test, unwind_file_at_is_dead(CODE));

	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	put_write_access(inode);
	KUNIT_EXPECT_TRUE(test, unwind_file_at_is_dead(CODE));
	begin_walk();
	KUNIT_EXPECT_FALSE(test, object_is_known(0));
	unwind_file_put(file);
}

/* A walk that began before the file was opened for writing finds cached rules, but no new ones. */
static void written_during_walk(struct kunit *test)
{
	struct unwind_cfi *cfi = kunit_kzalloc(test, sizeof(*cfi), GFP_KERNEL);
	struct unwind_walk state = {
		.ip = CODE, .word = 8, .exact = true, .cfi = cfi, .faults = 1,
		.methods = BIT(UNWIND_METHOD_EH_FRAME), .table_bytes = SZ_64K,
		.deadline = jiffies + 60 * HZ,
	};
	struct inode *inode = make_inode(test);
	struct unwind_file *file = get_file_of(test, inode);
	struct unwind_full_rule full;
	struct unwind_user_rule rule;

	KUNIT_ASSERT_NOT_NULL(test, cfi);
	attach_mm(test);
	know_object(test, file, 0);
	add_rule(file, FIRST, FIRST + 8, FIRST, 1);
	state.changes = begin_walk();
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_FALSE(test, unwind_file_at_is_dead(CODE));

	KUNIT_ASSERT_EQ(test, get_write_access(inode), 0);
	put_write_access(inode);
	KUNIT_EXPECT_TRUE(test, unwind_file_at_is_dead(CODE));
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 1);
	state.ip += 8;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), UNWIND_STALE);
	unwind_file_put(file);
}

/* offsets in the file */
#define HDR	0x200
#define CIE	0x400
#define FDE	0x500
#define FDE_BYTES	0x20
#define ENTRY	0x8c0

/* version 1, "zR", factors 1 and -8, register 16; pcrel sdata4; CFA = rsp + 8, ra at CFA - 8 */
static const u8 cie[] = {
	20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
};

/* A row of the sorted table, and its FDE. */
struct function_row {
	u32	ip;
	u32	start;
	u32	size;
	u8	cfa_off;
};

/*
 * The FDE of the first row also covers the code of the other rows.  The FDE of the second row
 * does not cover the address of its row.
 */
static const struct function_row overlapping_rows[] = {
	{ 0x800, 0x800, 0x100, 16 },
	{ 0x840, 0x700, 0x8, 24 },
	{ 0x8c0, 0x8c0, 0x40, 32 },
};

static void put_fde(u8 *to, u32 at, const struct function_row *row)
{
	struct {
		u32	len, distance;
		s32	start;
		u32	size;
		u8	augmentation, insns[FDE_BYTES - 17];
	} __packed fde = {
		.len = FDE_BYTES - 4, .distance = at + 4 - CIE,
		.start = row->start - (at + 8), .size = row->size,
		.insns = { 0x0e, row->cfa_off },
	};

	BUILD_BUG_ON(sizeof(fde) != FDE_BYTES);
	memcpy(to + at, &fde, sizeof(fde));
}

static void put_tables(u8 *to, const struct function_row *rows, u32 nr)
{
	u32 i, entry[2];

	memcpy(to + CIE, cie, sizeof(cie));
	for (i = 0; i < nr; i++) {
		entry[0] = rows[i].ip - HDR;
		entry[1] = FDE + i * FDE_BYTES - HDR;
		memcpy(to + HDR + 12 + i * sizeof(entry), entry, sizeof(entry));
		put_fde(to, FDE + i * FDE_BYTES, &rows[i]);
	}
}

static void close_file(void *file)
{
	fput(file);
}

/* Make a file with tables. Its page cache is that of a new shmem file: @pages_file. */
static struct unwind_file *make_tables(struct kunit *test, const struct function_row *rows,
				       u32 nr, struct file **pages_file)
{
	struct unwind_file_layout with = {
		.segment = { { .vaddr = FIRST, .size = PAGE_SIZE, .flags = PF_R | PF_X } },
		.nr_segments = 1, .word = 8, .first = FIRST, .last = FIRST + PAGE_SIZE,
		.hdr = FIRST + HDR, .table = FIRST + HDR + 12, .nr = nr,
		.entry = FIRST + ENTRY,
	};
	struct file *pages = shmem_file_setup("unwind_file", PAGE_SIZE, EMPTY_VMA_FLAGS);
	u8 *bytes = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct inode *inode = make_inode(test);
	struct unwind_file *file;
	loff_t pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(pages));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, close_file, pages), 0);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	put_tables(bytes, rows, nr);
	KUNIT_ASSERT_EQ(test, kernel_write(pages, bytes, PAGE_SIZE, &pos), PAGE_SIZE);
	file = get_file_with(test, inode, &with);
	inode->i_mapping = pages->f_mapping;
	*pages_file = pages;
	return file;
}

static struct unwind_walk make_state(struct kunit *test)
{
	struct unwind_cfi *cfi = kunit_kzalloc(test, sizeof(*cfi), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cfi);
	return (struct unwind_walk) {
		.word = 8, .exact = true, .cfi = cfi, .faults = 1,
		.methods = BIT(UNWIND_METHOD_EH_FRAME), .table_bytes = SZ_64K,
		.deadline = jiffies + 60 * HZ, .changes = begin_walk(),
	};
}

/* A file with the FDEs of overlapping_rows, and a walk in its code. */
static struct unwind_file *walk_overlapping(struct kunit *test, struct unwind_walk *state,
					    struct file **pages)
{
	struct unwind_file *file;

	attach_mm(test);
	file = make_tables(test, overlapping_rows, ARRAY_SIZE(overlapping_rows), pages);
	know_object(test, file, 0);
	*state = make_state(test);
	return file;
}

/* The sorted table decides which FDE an address has, whatever rules are cached already. */
static void overlapping_fdes(struct kunit *test)
{
	struct unwind_walk state;
	struct unwind_full_rule full;
	struct unwind_user_rule rule;
	struct unwind_file *file;
	struct file *pages;

	file = walk_overlapping(test, &state, &pages);
	state.ip = CODE + 0x848;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), UNWIND_NONE);
	state.ip = CODE + 0x810;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 16);
	state.ip = CODE + 0x8c8;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	/* all three results come from the file */
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x810), 16);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x8c8), 32);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_FILE], 3);
	/* what the quick steps have missed is decoded at once */
	state.missed = true;
	state.ip = CODE + 0x810;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 16);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x810), 16);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_FILE], 4);
	unwind_file_put(file);
}

/*
 * A signal restorer may begin right after a function.  So the rule of a function's last address is
 * decoded from the file, but not shared.
 */
static void last_address(struct kunit *test)
{
	struct unwind_walk state;
	struct unwind_full_rule full;
	struct unwind_user_rule rule;
	struct unwind_file *file;
	struct file *pages;

	file = walk_overlapping(test, &state, &pages);
	state.ip = CODE + 0x8ff;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_FILE], 1);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_TABLES], 0);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x8ff), -1);

	KUNIT_ASSERT_EQ(test, get_write_access(file->inode), 0);
	put_write_access(file->inode);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), UNWIND_STALE);
	unwind_file_put(file);
}

/* A rule is not shared if its expression uses the code's address, as that differs by process. */
static void address_in_expression(struct kunit *test)
{
	/* CFA = rsp + 8 + (((rip & 15) >= 11) << 3) */
	static const u8 insns[] = {
		0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
	};
	loff_t pos = FDE + 2 * FDE_BYTES + FDE_BYTES - sizeof(insns);
	struct unwind_walk state;
	struct unwind_full_rule full;
	struct unwind_user_rule rule;
	struct unwind_file *file;
	struct file *pages;

	file = walk_overlapping(test, &state, &pages);
	KUNIT_ASSERT_EQ(test, kernel_write(pages, insns, sizeof(insns), &pos), sizeof(insns));
	state.ip = CODE + 0x8c8;
	/* the tables in memory cannot be read in this test */
	KUNIT_EXPECT_NE(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x8c8), -1);
	unwind_file_put(file);
}

/* The entry point of an object comes from its file, unless the file was written to. */
static void entry_of_file(struct kunit *test)
{
	const unsigned long base = CODE - FIRST;
	struct unwind_file *file;
	unsigned long entry;
	struct file *pages;

	attach_mm(test);
	file = make_tables(test, overlapping_rows, ARRAY_SIZE(overlapping_rows), &pages);
	KUNIT_EXPECT_FALSE(test, unwind_file_entry(CODE + 8, base, &entry));
	know_object(test, file, 0);
	KUNIT_EXPECT_TRUE(test, unwind_file_entry(CODE + 8, base, &entry));
	KUNIT_EXPECT_EQ(test, entry, CODE + ENTRY);
	KUNIT_EXPECT_TRUE(test, unwind_file_entry(CODE + 8, base + PAGE_SIZE, &entry));
	KUNIT_EXPECT_EQ(test, entry, 0);

	KUNIT_ASSERT_EQ(test, get_write_access(file->inode), 0);
	put_write_access(file->inode);
	KUNIT_EXPECT_FALSE(test, unwind_file_entry(CODE + 8, base, &entry));
	unwind_file_put(file);
}

/* A rule of a file stays valid as long as its object, whatever else is unmapped. */
static void unmapped_elsewhere(struct kunit *test)
{
	struct unwind_walk state;
	struct unwind_full_rule full;
	struct unwind_user_rule rule;
	struct unwind_file *file;
	struct file *pages;

	file = walk_overlapping(test, &state, &pages);
	state.ip = CODE + 0x8c8;
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&state.tables));
	__unwind_user_invalidate(current->mm, CODE + SZ_1M, CODE + SZ_1M + PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, unwind_cache_holds(&state.tables));
	KUNIT_EXPECT_EQ(test, unwind_file_rule(&state, state.ip, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	__unwind_user_invalidate(current->mm, CODE, CODE + PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, unwind_cache_knows(&state.tables));
	unwind_file_put(file);
}

/* A device may write to a pinned page at any time, so no rule from such a page is cached. */
static void pinned_page(struct kunit *test)
{
	struct inode *other = make_inode(test);
	struct unwind_object object = { .nr = ARRAY_SIZE(overlapping_rows), .word = 8 };
	struct unwind_cache_state begun;
	struct unwind_walk state;
	struct unwind_full_rule full;
	struct unwind_user_rule rule;
	struct unwind_file *file;
	unsigned long addr;
	struct file *pages;
	struct folio *folio;

	file = make_tables(test, overlapping_rows, ARRAY_SIZE(overlapping_rows), &pages);
	addr = kunit_vm_mmap(test, pages, 0, PAGE_SIZE, PROT_READ, MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user mapping");
	folio = filemap_get_folio(pages->f_mapping, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	KUNIT_ASSERT_FALSE(test, folio_test_large(folio));

	object.start = addr;
	object.end = addr + PAGE_SIZE;
	object.code_start = object.start;
	object.code_end = object.end;
	object.stay_start = object.start;
	object.stay_end = object.end;
	object.base = addr + HDR;
	object.table = addr + HDR + 12;
	object.bias = addr - FIRST;
	object.file = file;
	object.by_file = true;
	refcount_inc(&file->refs);
	KUNIT_ASSERT_TRUE(test, unwind_cache_begin(&begun));
	unwind_cache_add_object(&begun, &object);

	state = make_state(test);
	state.ip = addr + 0x8c8;
	/* the death of another file does not matter */
	unwind_file_put(get_file_of(test, other));
	KUNIT_ASSERT_EQ(test, get_write_access(other), 0);
	put_write_access(other);
	KUNIT_ASSERT_NE(test, unwind_files_changes(), state.changes);
	folio_ref_add(folio, GUP_PIN_COUNTING_BIAS);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	folio_ref_sub(folio, GUP_PIN_COUNTING_BIAS);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_FILE], 0);
	KUNIT_EXPECT_EQ(test, rule_at(file, FIRST + 0x8c8), -1);
	KUNIT_EXPECT_EQ(test, unwind_cache_find_rule(unwind_rule_key(&state), false, &rule, &full),
			UNWIND_NONE);

	/* a missing page may be pinned, too, so a rule from it is not cached */
	state.faults = 0;
	folio_clear_uptodate(folio);
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	folio_mark_uptodate(folio);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	KUNIT_EXPECT_EQ(test, unwind_cache_find_rule(unwind_rule_key(&state), false, &rule, &full),
			UNWIND_NONE);

	state.faults = 1;
	KUNIT_EXPECT_EQ(test, unwind_eh_frame_rule(&state, &rule, &full), 0);
	KUNIT_EXPECT_EQ(test, rule.cfa_off, 32);
	KUNIT_EXPECT_EQ(test, state.found[UNWIND_FOUND_FILE], 1);
	KUNIT_EXPECT_EQ(test, unwind_cache_find_rule(unwind_rule_key(&state), false, &rule, &full),
			0);
	folio_put(folio);
	unwind_file_put(file);
}

static struct kunit_case file_cases[] = {
	KUNIT_CASE(row_ranges),
	KUNIT_CASE(many_rows),
	KUNIT_CASE(rows_in_grown_table),
	KUNIT_CASE(refused_growth),
	KUNIT_CASE(postponed_growth),
	KUNIT_CASE(newest_rule_in_grown_table),
	KUNIT_CASE(rows_in_one_granule),
	KUNIT_CASE(rows_outside),
	KUNIT_CASE(written_to),
	KUNIT_CASE(written_before_layout),
	KUNIT_CASE(written_by_two),
	KUNIT_CASE(inode_replaced),
	KUNIT_CASE(not_shared),
	KUNIT_CASE(memory_bound),
	KUNIT_CASE(no_room),
	KUNIT_CASE(room_of_used_files),
	KUNIT_CASE(too_large),
	KUNIT_CASE(lowered_limit),
	KUNIT_CASE(many_files),
	KUNIT_CASE(postponed_growth_of_cache),
	KUNIT_CASE(objects_of_file),
	KUNIT_CASE(objects_of_dead_file),
	KUNIT_CASE(objects_by_memory),
	KUNIT_CASE(written_during_walk),
	KUNIT_CASE(overlapping_fdes),
	KUNIT_CASE(last_address),
	KUNIT_CASE(address_in_expression),
	KUNIT_CASE(entry_of_file),
	KUNIT_CASE(unmapped_elsewhere),
	KUNIT_CASE(pinned_page),
	{}
};

static struct kunit_suite file_suite = {
	.name = "unwind_file",
	.test_cases = file_cases,
};

kunit_test_suite(file_suite);

MODULE_DESCRIPTION("Tests of unwind rules of files");
MODULE_LICENSE("GPL");

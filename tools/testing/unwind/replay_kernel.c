// SPDX-License-Identifier: GPL-2.0
/*
 * What the walker of kernel/unwind/ needs of the kernel, in user space: the mappings of one
 * process, and a cache, which keeps everything.  A program also defines unwind_read(),
 * __unwind_read_word() and unwind_read_file().
 */

#include <errno.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_walk.h>
#include <asm/ptrace.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "cfi.h"
#include "eh_index.h"
#include "no_tables.h"
#include "replay_kernel.h"
#include "rules.h"
#include "tables.h"

#define MAX_OBJECTS	256

struct rule {
	u64 key;
	struct unwind_user_rule	rule;
	struct unwind_full_rule	full;
};

static struct vm_area_struct maps[MAX_MAPS];
struct mm_struct mm = { .maps = maps };
static struct task_struct task = { .mm = &mm };
struct task_struct *const current = &task;
struct pt_regs replay_regs;

static struct file files[MAX_MAPS];
static struct rule rules[MAX_RULES];
unsigned int nr_rules;
static struct unwind_object objects[MAX_OBJECTS];
static unsigned int nr_objects;
enum unwind_result the_end;
unsigned long the_sp;

void exit_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(2);
}

/* the mappings */

bool unwind_find_mapping(unsigned long addr, struct unwind_mapping *mapping)
{
	const struct vm_area_struct *vma = vma_lookup(&mm, addr);

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

bool unwind_other_mapping(unsigned long a, unsigned long b)
{
	struct vm_area_struct *x = vma_lookup(&mm, a), *y = vma_lookup(&mm, b);

	return x && y && x != y;
}

bool unwind_is_fixed(unsigned long addr)
{
	const struct vm_area_struct *vma = vma_lookup(&mm, addr);

	return vma && vma->vm_file && !(vma->vm_flags & VM_WRITE);
}

/* A saved walk has neither the auxiliary vector nor the start of the stack. */
unsigned long unwind_auxv(struct unwind_walk *state, unsigned long type)
{
	return 0;
}

unsigned long unwind_start_stack(void)
{
	return 0;
}

/* Find the file with this inode number, or add it. */
static struct file *find_file(int inode, const char *path)
{
	int i;

	for (i = 0; i < mm.nr_maps; i++) {
		if (maps[i].vm_file && maps[i].vm_file->inode.nr == inode)
			return maps[i].vm_file;
	}
	files[i].inode.nr = inode;
	files[i].path = path ? strdup(path) : NULL;
	return &files[i];
}

/* START-END PERMS OFFSET DEVICE INODE [PATH], as in /proc/PID/maps */
bool add_map(const char *line)
{
	struct vm_area_struct *vma = &maps[mm.nr_maps];
	char perms[8], path[4096] = "";
	unsigned long start, end, offset;
	int inode;

	if (mm.nr_maps == MAX_MAPS - 1 ||
	    sscanf(line, "%lx-%lx %7s %lx %*s %d %4095s", &start, &end, perms, &offset,
		   &inode, path) < 5)
		return false;
	*vma = (struct vm_area_struct) {
		.vm_start = start, .vm_end = end, .vm_pgoff = offset / PAGE_SIZE,
		.vm_flags = (perms[0] == 'r' ? VM_READ : 0) | (perms[1] == 'w' ? VM_WRITE : 0) |
			    (perms[2] == 'x' ? VM_EXEC : 0) | (perms[3] == 's' ? VM_SHARED : 0),
		.vm_file = inode ? find_file(inode, path) : NULL,
	};
	mm.nr_maps++;
	return true;
}

/* The cache for one walk: it keeps everything. */

bool has_cache;
/* May the task allocate memory? Without memory, the walker searches no code. */
bool has_memory = true;

/*
 * The table of the quick steps, with the rules that earlier walks have found.  It grows until all
 * fit, as the kernel's does in time.
 */
#define MIN_TABLE_BITS	7
#define MAX_TABLE_BITS	11

static struct unwind_rule_table *table;
static bool table_is_new;

static struct unwind_rule_table *new_table(void)
{
	const unsigned int nr_pages = (1 << MAX_TABLE_BITS) / UNWIND_RULE_PAGE;
	struct unwind_rule_table *new;
	unsigned int i;

	new = calloc(1, sizeof(*new) + nr_pages * sizeof(new->pages[0]));
	for (i = 0; new && i < nr_pages; i++) {
		new->pages[i] = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
		if (!new->pages[i])
			new = NULL;
	}
	if (!new)
		exit_error("no memory");
	return new;
}

static bool add_to_table(u64 key, const struct unwind_user_rule *rule)
{
	struct unwind_rule_entry *entry = unwind_rules_set(table, unwind_rules_hash(key));

	if (!(entry->seq & 1))
		entry++;
	if (!(entry->seq & 1))
		return false;
	*entry = (struct unwind_rule_entry) { .key = key, .rule = *rule };
	return true;
}

/* Returns false if there are too few entries. */
static bool fill_table(unsigned int bits)
{
	bool fits = true;
	unsigned int i;

	table->shift = unwind_rules_shift(bits);
	for (i = 0; i < 1U << bits; i++)
		unwind_rules_entry(table, i)->seq = 1;
	for (i = nr_rules; i--;) {
		if (rules[i].rule.kind != UNWIND_RULE_FULL)
			fits &= add_to_table(rules[i].key, &rules[i].rule);
	}
	return fits;
}

struct unwind_cache *unwind_cache_use(struct unwind_walk *state,
				      const struct unwind_rule_table **to)
{
	unsigned int bits = MIN_TABLE_BITS;

	(void)state;
	if (!has_cache)
		return NULL;
	if (!table)
		table = new_table();
	if (!table_is_new) {
		while (!fill_table(bits) && bits < MAX_TABLE_BITS)
			bits += 2;
		table_is_new = true;
	}
	*to = table;
	return (struct unwind_cache *)rules;
}

void forget_rules(void)
{
	nr_rules = 0;
	table_is_new = false;
}

void unwind_cache_need_all_regs(void)
{
}

void unwind_cache_grow_rules(unsigned int least)
{
}

enum unwind_result unwind_cache_find_rule(u64 key, bool missed, struct unwind_user_rule *rule,
					  struct unwind_full_rule *full)
{
	unsigned int i = nr_rules;

	while (i--) {
		if (rules[i].key == key) {
			*rule = rules[i].rule;
			*full = rules[i].full;
			return UNWIND_FOUND;
		}
	}
	return UNWIND_NONE;
}

void unwind_cache_add_rule(const struct unwind_cache_state *state, u64 key,
			   const struct unwind_user_rule *rule,
			   const struct unwind_full_rule *full)
{
	(void)state;
	if (nr_rules == MAX_RULES)
		return;
	rules[nr_rules].key = key;
	rules[nr_rules].rule = *rule;
	if (full)
		rules[nr_rules].full = *full;
	nr_rules++;
	table_is_new = false;
}

void forget_objects(void)
{
	nr_objects = 0;
}

static struct unwind_object *object_of(unsigned long ip)
{
	unsigned int i;

	for (i = 0; i < nr_objects; i++) {
		if (ip >= objects[i].code_start && ip < objects[i].code_end)
			return &objects[i];
	}
	return NULL;
}

enum unwind_result unwind_cache_find_object(unsigned long ip, struct unwind_object *object)
{
	const struct unwind_object *one = object_of(ip);

	if (!one)
		return UNWIND_NONE;
	*object = *one;
	return UNWIND_FOUND;
}

bool unwind_cache_add_object(const struct unwind_cache_state *state,
			     const struct unwind_object *object)
{
	(void)state;
	if (nr_objects == MAX_OBJECTS)
		return false;
	objects[nr_objects++] = *object;
	return true;
}

bool unwind_cache_begin(struct unwind_cache_state *state)
{
	state->gen = 1;
	return true;
}

bool unwind_cache_holds(const struct unwind_cache_state *state)
{
	(void)state;
	return true;
}

bool unwind_cache_claim_index(const struct unwind_cache_state *state, unsigned long ip)
{
	struct unwind_object *object = object_of(ip);

	(void)state;
	return object && object->eh_frame_size && !object->index;
}

void unwind_cache_end_index(const struct unwind_cache_state *state, unsigned long ip,
			    struct unwind_eh_index *index, unsigned int tries)
{
	struct unwind_object *object = object_of(ip);

	(void)state;
	if (!object)
		return;
	if (index) {
		object->index = index;
		object->nr = index->nr;
	} else if (tries == UNWIND_INDEX_TRIES) {
		object->eh_frame_size = 0;
		object->table = 0;
	}
}

int unwind_cache_find_fde(unsigned long ip, unsigned long *fde)
{
	const struct unwind_object *object = object_of(ip);

	return object && object->index ? unwind_eh_index_find(object->index, ip, fde) : -EAGAIN;
}

/* parts of the kernel that these walks do not have */

enum unwind_result unwind_sigframe(struct unwind_walk *state, struct unwind_full_rule *full)
{
	(void)state;
	(void)full;
	return UNWIND_NONE;
}

bool unwind_is_restorer(struct unwind_walk *state, unsigned long addr)
{
	(void)state;
	(void)addr;
	return false;
}

enum unwind_result unwind_sigframe_behind(struct unwind_walk *state, unsigned long ip,
					  struct unwind_full_rule *full)
{
	(void)state;
	(void)ip;
	(void)full;
	return UNWIND_NONE;
}

u8 unwind_user_realtime = UNWIND_REALTIME_AS_OTHERS;

u8 unwind_methods_enabled(void)
{
	return (1 << UNWIND_NR_METHODS) - 1;
}

void unwind_count_walk(const struct unwind_walk *state, enum unwind_result end)
{
	the_end = end;
	the_sp = state->sp;
}

void walk_stack_to(struct unwind_stacktrace *trace, unsigned int max)
{
	static unsigned long entries[MAX_ENTRIES];

	trace->entries = entries;
	trace->nr = 0;
	unwind_walk(trace, max);
}

void walk_stack(struct unwind_stacktrace *trace)
{
	walk_stack_to(trace, MAX_ENTRIES);
}

void read_maps(int tid)
{
	char name[64], line[8192];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	file = fopen(name, "r");
	if (!file)
		exit_error("%s: %s", name, strerror(errno));
	mm.nr_maps = 0;
	while (fgets(line, sizeof(line), file)) {
		if (!add_map(line))
			exit_error("%s: too many mappings, or an invalid line: %s", name, line);
	}
	fclose(file);
}

bool unwind_in_uprobe_handler(void)
{
	return false;
}

unsigned long unwind_uprobe_return(struct return_instance **next, unsigned long slot,
				   unsigned long ra)
{
	return ra;
}

void unwind_uprobe_undo(struct unwind_walk *state)
{
}

void unwind_uprobe_begin(struct unwind_walk *state)
{
}

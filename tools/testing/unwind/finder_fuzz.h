/* SPDX-License-Identifier: GPL-2.0 */
/* The input of finder_fuzz: a process, as the finder sees it. */
#ifndef _FINDER_FUZZ_H
#define _FINDER_FUZZ_H

#include <linux/types.h>

#define FINDER_FUZZ_32BIT	1	/* 32-bit code runs */
#define FINDER_FUZZ_WRITER	2	/* bytes change while they are read */
#define FINDER_FUZZ_UNMAPPED	4	/* memory is unmapped during each search */
#define FINDER_FUZZ_DYING	8	/* the task is being killed */
#define FINDER_FUZZ_EXACT	16	/* the address is not a return address */
#define FINDER_FUZZ_KEPT	32	/* objects are cached, so later searches find them */
#define FINDER_FUZZ_TOP		64	/* mappings end at the end of user addresses */
#define FINDER_FUZZ_RESTORER	128	/* each function is followed by a restorer */
#define FINDER_FUZZ_MAPS	12

/* struct finder_fuzz_map::vm */
#define FINDER_FUZZ_READ	1
#define FINDER_FUZZ_WRITE	2
#define FINDER_FUZZ_EXEC	4
#define FINDER_FUZZ_SHARED	8
#define FINDER_FUZZ_IO		16
#define FINDER_FUZZ_HUGETLB	32

/* unit of struct finder_fuzz_map::from, in bytes of the contents */
#define FINDER_FUZZ_UNIT	64

/**
 * struct finder_fuzz_map - a mapping; each one is above the one before
 * @gap: pages between it and the one below
 * @pages: its size in pages, minus one
 * @file: number of its file; 0: anonymous
 * @pgoff: first page in the file
 * @vm: FINDER_FUZZ_READ...
 * @from: offset of its first byte in the contents; bytes after the contents are zeros
 */
struct finder_fuzz_map {
	u8	gap;
	u8	pages;
	u8	file;
	u8	pgoff;
	u8	vm;
	u8	from;
};

/**
 * struct finder_fuzz - start of an input; the contents follow
 * @flags: FINDER_FUZZ_*
 * @nr_maps: number of mappings
 * @at: index of the mapping with the address
 * @ip: offset of the address in the mapping
 * @maps: the mappings
 */
struct finder_fuzz {
	u8			flags;
	u8			nr_maps;
	u8			at;
	u8			ip[3];
	struct finder_fuzz_map	maps[FINDER_FUZZ_MAPS];
};

struct unwind_full_rule;
struct unwind_user_rule;

int finder_fuzz_run(const u8 *data, size_t size, struct unwind_user_rule *rule,
		    struct unwind_full_rule *full);
bool finder_fuzz_kept_rule(void);
bool finder_fuzz_kept_object(void);
bool finder_fuzz_indexed(void);

#endif /* _FINDER_FUZZ_H */

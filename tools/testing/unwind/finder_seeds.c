// SPDX-License-Identifier: GPL-2.0
/*
 * Make seeds for finder_fuzz: processes with a small object or two, laid out as
 * loaders do it.  Each is tested first, and must give the expected result.
 *
 *	finder_seeds FOLDER
 */

#include <errno.h>
#include <linux/elf.h>
#include <linux/kernel.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "finder_fuzz.h"
#include "unwind.h"

#define PAGE		4096
#define HDR		384	/* offset of .eh_frame_hdr */
#define FUNCTIONS	5
#define CIE		(HDR + 12 + FUNCTIONS * 8)
#define SHDRS		768	/* offset of the section headers */
#define NAMES		(SHDRS + 3 * 64)
#define FUNCTION	64	/* distance of functions */
#define CODE		48	/* bytes of code in each function */
#define PROLOGUE	4	/* bytes of each prologue */

enum broken { NOTHING, FAR_PHDRS, MANY_PHDRS, HUGE_HDR, FAR_HDR, SHORT_HDR, ENCODING, COUNT,
	      MOVED, PACKED, NOT_CODE, TWO_FDES, NO_SECTIONS, OTHER_NAME, FAR_SECTION,
	      HUGE_SECTION, FAR_NAMES, BAD_LENGTH, MANY_SECTIONS, WRAPPED, NO_COUNT,
	      OTHER_POINTER, NO_END, REMOVED };

/**
 * struct seed - a process with one object, and the expected result
 * @name: description
 * @word: 4 or 8
 * @flags: FINDER_FUZZ_*
 * @text: number of the object's page with the functions; 0 stands for 1
 * @vaddr: address that the object was linked for
 * @nr_maps: number of @maps
 * @maps: the mappings
 * @at: index of the mapping with the functions
 * @ip: the address to look up, as offset from the first function
 * @ret: expected return value of unwind_eh_frame_rule()
 * @words: expected offset of the CFA, in words
 * @broken: the part that is not as linkers write it
 * @anew: the rule must not be cached
 * @signal: the rule is that of a signal frame
 * @sections: the object has section headers, but no .eh_frame_hdr
 */
struct seed {
	const char		*name;
	unsigned int		word;
	u8			flags;
	u8			text;
	u32			vaddr;
	u8			nr_maps;
	struct finder_fuzz_map	maps[FINDER_FUZZ_MAPS];
	u8			at;
	int			ip;
	int			ret;
	int			words;
	enum broken		broken;
	bool			anew;
	bool			signal;
	bool			sections;
};

#define MAP_R(page, nr)	{ 0, (nr) - 1, 1, page, FINDER_FUZZ_READ, 0 }
#define MAP_X(page, nr)	{ 0, (nr) - 1, 1, page, FINDER_FUZZ_READ | FINDER_FUZZ_EXEC, 255 }
#define MAP_W(page, nr)	{ 0, (nr) - 1, 1, page, FINDER_FUZZ_READ | FINDER_FUZZ_WRITE, 255 }

/* mappings, and the index of the one with the functions */
#define AS_LINKED	.nr_maps = 2, .maps = { MAP_R(0, 1), MAP_X(1, 1) }, .at = 1
#define VDSO		.nr_maps = 1, .at = 0,					\
	.maps = { { 3, 1, 0, 0, FINDER_FUZZ_READ | FINDER_FUZZ_EXEC, 0 } }
#define OTHER_FILE	.nr_maps = 2, .at = 1,					\
	.maps = { MAP_R(0, 1), { 0, 0, 2, 1, FINDER_FUZZ_EXEC, 255 } }
#define NO_CODE		.nr_maps = 2, .maps = { MAP_R(0, 1), MAP_R(1, 1) }, .at = 1
#define ABOVE_ANOTHER	.nr_maps = 4, .at = 3,					\
	.maps = { MAP_R(0, 1), MAP_X(1, 1), MAP_R(0, 1), MAP_X(1, 1) }
#define OF_MANY		.nr_maps = 6, .at = 5,					\
	.maps = { MAP_R(0, 1), MAP_X(1, 1), MAP_R(2, 1), MAP_W(3, 1),		\
		  MAP_R(4, 1), MAP_X(5, 1) }

#define SECTIONS	AS_LINKED, .sections = true

/* the file has one page, which is mapped twice or was copied to other memory */
#define TWICE(low, high) .nr_maps = 2, .at = 1, .broken = PACKED,		\
	.maps = { { 0, 0, low, 0, FINDER_FUZZ_READ, 0 },			\
		  { 0, 0, high, 0, FINDER_FUZZ_READ | FINDER_FUZZ_EXEC, 0 } }

/* a second copy of the entries, writable or not */
#define WRITTEN_TABLES	.nr_maps = 3, .at = 1,					\
	.maps = { MAP_R(0, 1), MAP_X(1, 1),					\
		  { 0, 0, 1, 2, FINDER_FUZZ_READ | FINDER_FUZZ_WRITE, 0 } }
#define MORE_TABLES	.nr_maps = 3, .at = 1,					\
	.maps = { MAP_R(0, 1), MAP_X(1, 1), MAP_R(2, 1) }

/* an address in a function, before or after its prologue */
#define EARLY(n)	.ip = (n) * FUNCTION
#define LATE(n)		.ip = (n) * FUNCTION + CODE - 1

static const struct seed seeds[] = {
	{ "first", 8, AS_LINKED, EARLY(0), .words = 1 },
	{ "middle", 8, AS_LINKED, LATE(2), .words = 4 },
	{ "last", 8, .flags = FINDER_FUZZ_EXACT, AS_LINKED, LATE(4), .words = 6 },
	{ "32-bit", 4, AS_LINKED, LATE(1), .words = 3 },
	{ "prelinked", 8, .vaddr = 0x400000, AS_LINKED, LATE(3), .words = 5 },
	{ "vdso", 8, VDSO, .ip = PAGE + FUNCTION, .words = 1 },
	{ "top", 8, .flags = FINDER_FUZZ_TOP, AS_LINKED, LATE(1), .words = 3 },
	{ "known", 8, .flags = FINDER_FUZZ_KEPT, AS_LINKED, LATE(1), .words = 3 },
	{ "above", 8, ABOVE_ANOTHER, EARLY(2), .words = 1 },
	{ "many", 8, .text = 5, OF_MANY, LATE(0), .words = 2 },
	{ "before", 8, VDSO, .ip = PAGE - 1, .ret = UNWIND_NONE },
	{ "between", 8, AS_LINKED, .ip = CODE, .ret = UNWIND_NONE },
	{ "other-file", 8, OTHER_FILE, .ret = UNWIND_NONE },
	{ "other-word", 8, .flags = FINDER_FUZZ_32BIT, AS_LINKED, .ret = UNWIND_STOP },
	{ "unmapped", 8, .flags = FINDER_FUZZ_UNMAPPED, AS_LINKED, .ret = UNWIND_STALE },
	{ "dying", 8, .flags = FINDER_FUZZ_DYING, AS_LINKED, .ret = UNWIND_FAULT },
	{ "no-code", 8, NO_CODE, .ret = UNWIND_NOT_CODE },
	{ "far-phdrs", 8, AS_LINKED, .ret = UNWIND_STOP, .broken = FAR_PHDRS },
	{ "many-phdrs", 8, AS_LINKED, .ret = UNWIND_STOP, .broken = MANY_PHDRS },
	{ "huge-hdr", 8, AS_LINKED, .ret = UNWIND_NONE, .broken = HUGE_HDR },
	{ "far-hdr", 8, AS_LINKED, .ret = UNWIND_NONE, .broken = FAR_HDR },
	{ "short-hdr", 8, AS_LINKED, LATE(2), .words = 4, .broken = SHORT_HDR },
	{ "encoding", 8, AS_LINKED, LATE(1), .words = 3, .broken = ENCODING },
	{ "count", 4, AS_LINKED, LATE(3), .words = 5, .broken = COUNT },
	{ "no-count", 8, AS_LINKED, LATE(4), .words = 6, .broken = NO_COUNT },
	{ "other-pointer", 8, AS_LINKED, .ret = UNWIND_NONE, .broken = OTHER_POINTER },
	{ "no-end", 8, AS_LINKED, .ret = UNWIND_NONE, .broken = NO_END },
	{ "more-tables", 8, MORE_TABLES, LATE(1), .words = 3, .broken = MOVED, .anew = true },
	{ "written-tables", 8, WRITTEN_TABLES, LATE(1), .words = 3, .broken = MOVED,
	  .anew = true },
	{ "restorer", 8, .flags = FINDER_FUZZ_RESTORER, AS_LINKED, LATE(1), .signal = true,
	  .anew = true },
	{ "restorer-exact", 8, .flags = FINDER_FUZZ_RESTORER | FINDER_FUZZ_EXACT, AS_LINKED,
	  LATE(1), .words = 3, .anew = true },
	{ "restorer-far", 8, .flags = FINDER_FUZZ_RESTORER, AS_LINKED, EARLY(1), .words = 1 },
	{ "packed", 8, TWICE(1, 1), LATE(3), .words = 5 },
	{ "packed-32-bit", 4, TWICE(1, 1), LATE(3), .words = 5 },
	{ "packed-copied", 8, TWICE(0, 0), LATE(3), .words = 5, .anew = true },
	{ "not-code", 8, AS_LINKED, .ret = UNWIND_NONE, .broken = NOT_CODE },
	{ "no-map", 8, AS_LINKED, .ip = PAGE, .ret = UNWIND_NOT_CODE },
	{ "sections", 8, SECTIONS, LATE(2), .words = 4 },
	{ "sections-first", 8, SECTIONS, EARLY(0), .words = 1 },
	{ "sections-last", 8, SECTIONS, LATE(4), .words = 6 },
	{ "sections-32-bit", 4, SECTIONS, LATE(2), .words = 4 },
	{ "sections-static", 8, .vaddr = 0x400000, SECTIONS, LATE(1), .words = 3 },
	{ "sections-between", 8, SECTIONS, .ip = CODE, .ret = UNWIND_NONE },
	{ "sections-writer", 8, .flags = FINDER_FUZZ_WRITER, SECTIONS, .ret = UNWIND_NONE },
	{ "sections-unmapped", 8, .flags = FINDER_FUZZ_UNMAPPED, SECTIONS, .ret = UNWIND_STALE },
	{ "sections-written", 8, .sections = true, .nr_maps = 2, .at = 1, .ret = UNWIND_NONE,
	  .maps = { { 0, 0, 1, 0, FINDER_FUZZ_READ | FINDER_FUZZ_WRITE, 0 }, MAP_X(1, 1) } },
	{ "sections-no-file", 8, .sections = true, .ip = PAGE + FUNCTION, VDSO,
	  .ret = UNWIND_NONE },
	{ "two-fdes", 8, SECTIONS, LATE(2), .words = 0, .broken = TWO_FDES },
	{ "two-fdes-other", 8, SECTIONS, LATE(1), .words = 3, .broken = TWO_FDES },
	{ "removed", 8, SECTIONS, LATE(1), .words = 3, .broken = REMOVED },
	{ "no-sections", 8, SECTIONS, .ret = UNWIND_NONE, .broken = NO_SECTIONS },
	{ "other-name", 8, SECTIONS, .ret = UNWIND_NONE, .broken = OTHER_NAME },
	{ "far-section", 8, SECTIONS, .ret = UNWIND_NONE, .broken = FAR_SECTION },
	{ "huge-section", 8, SECTIONS, .ret = UNWIND_NONE, .broken = HUGE_SECTION },
	{ "wrapped", 8, SECTIONS, .ret = UNWIND_NONE, .broken = WRAPPED },
	{ "far-names", 8, SECTIONS, .ret = UNWIND_NONE, .broken = FAR_NAMES },
	{ "bad-length", 8, SECTIONS, .ret = UNWIND_NONE, .broken = BAD_LENGTH },
	{ "many-sections", 8, SECTIONS, .ret = UNWIND_NONE, .broken = MANY_SECTIONS },
};

/* an input under construction, with @nr bytes of contents */
struct image {
	struct finder_fuzz	head;
	u8			bytes[PAGE];
	unsigned int		nr;
};

/* offset of the first function */
static unsigned int text_of(const struct seed *seed)
{
	return (seed->text ? seed->text : 1) * PAGE;
}

static void put_bytes(struct image *to, const void *bytes, size_t nr)
{
	memcpy(to->bytes + to->nr, bytes, nr);
	to->nr += nr;
}

static void put_u32(struct image *to, u32 val)
{
	put_bytes(to, &val, sizeof(val));
}

static void put_elf(struct image *to, const struct seed *seed)
{
	unsigned int sections = seed->sections && seed->broken != NO_SECTIONS ? SHDRS : 0;
	struct elf64_hdr e64 = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
		.e_machine = EM_X86_64, .e_phnum = seed->broken == MANY_PHDRS ? 65 : 3,
		.e_phoff = seed->broken == FAR_PHDRS ? PAGE : sizeof(e64),
		.e_phentsize = sizeof(struct elf64_phdr),
		.e_shoff = sections, .e_shstrndx = 2,
		.e_shnum = seed->broken == MANY_SECTIONS ? 257 : 3,
		.e_shentsize = sizeof(struct elf64_shdr),
	};
	struct elf32_hdr e32 = {
		.e_shoff = sections, .e_shnum = 3, .e_shstrndx = 2,
		.e_shentsize = sizeof(struct elf32_shdr),
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB },
		.e_machine = EM_386, .e_phoff = sizeof(e32), .e_phnum = 3,
		.e_phentsize = sizeof(struct elf32_phdr),
	};

	if (seed->word == 8)
		put_bytes(to, &e64, sizeof(e64));
	else
		put_bytes(to, &e32, sizeof(e32));
}

static void put_segment(struct image *to, const struct seed *seed, u32 type, u32 flags,
			u32 vaddr, u32 size)
{
	u32 offset = seed->broken == PACKED && (flags & PF_X) ? vaddr - PAGE : vaddr;
	struct elf64_phdr p64 = { .p_type = type, .p_flags = flags, .p_offset = offset,
		.p_vaddr = seed->vaddr + vaddr, .p_filesz = size, .p_memsz = size };
	struct elf32_phdr p32 = { .p_type = type, .p_flags = flags, .p_offset = offset,
		.p_vaddr = seed->vaddr + vaddr, .p_filesz = size, .p_memsz = size };

	if (seed->word == 8)
		put_bytes(to, &p64, sizeof(p64));
	else
		put_bytes(to, &p32, sizeof(p32));
}

static void put_cie(struct image *to, unsigned int word)
{
	static const u8 augmentation[] = { 1, 'z', 'R', 0, 1 };
	/* data alignment, return address register, pointer encoding; CFA = sp + word */
	const u8 tail64[] = { 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x80 | 16, 1, 0, 0 };
	const u8 tail32[] = { 0x7c, 8, 1, 0x1b, 0x0c, 4, 4, 0x80 | 8, 1, 0, 0 };

	put_u32(to, 20);
	put_u32(to, 0);
	put_bytes(to, augmentation, sizeof(augmentation));
	put_bytes(to, word == 8 ? tail64 : tail32, sizeof(tail64));
}

/* With MOVED, the distance from an FDE to its code is wrong by this number of bytes. */
static unsigned int moved_by(const struct seed *seed)
{
	return seed->broken == MOVED ? 2 * PAGE : 0;
}

static void put_fde(struct image *to, const struct seed *seed, unsigned int cie, unsigned int n)
{
	/* DW_CFA_advance_loc, DW_CFA_def_cfa_offset */
	const u8 program[] = { 0, 0x40 | PROLOGUE, 0x0e, (2 + n) * seed->word, 0, 0, 0, 0 };
	unsigned int code = text_of(seed) + n * FUNCTION - moved_by(seed);

	put_u32(to, 20);
	put_u32(to, to->nr - cie);
	put_u32(to, code - to->nr);
	put_u32(to, CODE);
	put_bytes(to, program, sizeof(program));
}

/* an FDE of removed code, which seems to have two pages from the start of the object on */
static void put_removed_fde(struct image *to, const struct seed *seed, unsigned int cie)
{
	unsigned int at = to->nr;
	u32 range[2] = { -(at + 8), 2 * PAGE };

	put_fde(to, seed, cie, 0);
	memcpy(to->bytes + at + 8, range, sizeof(range));
}

/* the first four bytes of .eh_frame_hdr */
static u32 hdr_encodings(const struct seed *seed)
{
	if (seed->broken == OTHER_POINTER)
		return 0x3b030301;
	return seed->broken == ENCODING ? 0x3b0b1b01 : 0x3b031b01;
}

static void put_tables(struct image *to, const struct seed *seed)
{
	unsigned int n, cie = CIE;

	put_u32(to, hdr_encodings(seed));
	put_u32(to, cie - to->nr);
	put_u32(to, seed->broken == NO_COUNT ? 0 : FUNCTIONS + (seed->broken == COUNT));
	for (n = 0; n < FUNCTIONS; n++) {
		put_u32(to, text_of(seed) + n * FUNCTION - HDR);
		put_u32(to, moved_by(seed) + cie + 24 + (FUNCTIONS - 1 - n) * 24 - HDR);
	}
	put_cie(to, seed->word);
	for (n = FUNCTIONS; n-- > 0;)
		put_fde(to, seed, cie, n);
	if (seed->broken == TWO_FDES)
		put_fde(to, seed, cie, 2);
	if (seed->broken == REMOVED)
		put_removed_fde(to, seed, cie);
	if (seed->broken == BAD_LENGTH || seed->broken == NO_END)
		put_u32(to, PAGE);
	put_u32(to, 0);
}

static void put_section(struct image *to, const struct seed *seed, u32 name, u32 type,
			u64 addr, u32 offset, u64 size)
{
	struct elf64_shdr s64 = { .sh_name = name, .sh_type = type, .sh_flags = SHF_ALLOC,
		.sh_addr = addr, .sh_offset = offset, .sh_size = size };
	struct elf32_shdr s32 = { .sh_name = name, .sh_type = type, .sh_flags = SHF_ALLOC,
		.sh_addr = addr, .sh_offset = offset, .sh_size = size };

	if (seed->word == 8)
		put_bytes(to, &s64, sizeof(s64));
	else
		put_bytes(to, &s32, sizeof(s32));
}

/* headers of three sections: SHT_NULL, .eh_frame, and the names; then the names */
static void put_sections(struct image *to, const struct seed *seed, u32 end)
{
	static const char names[] = "\0.text\0.eh_frame";
	u64 addr = seed->vaddr + CIE, size = end - CIE;

	if (seed->broken == FAR_SECTION)
		addr += 9 * PAGE;
	if (seed->broken == HUGE_SECTION)
		size = 5 * PAGE;
	if (seed->broken == WRAPPED)
		addr = -8ULL;
	to->nr = SHDRS;
	put_section(to, seed, 0, SHT_NULL, 0, 0, 0);
	put_section(to, seed, seed->broken == OTHER_NAME ? 1 : 7, SHT_PROGBITS, addr, CIE, size);
	put_section(to, seed, 0, SHT_STRTAB, 0, NAMES,
		    seed->broken == FAR_NAMES ? 12 : sizeof(names));
	to->nr = NAMES;
	put_bytes(to, names, sizeof(names));
}

static u32 table_bytes(const struct seed *seed)
{
	if (seed->broken == HUGE_HDR)
		return -1U;
	return seed->broken == SHORT_HDR || seed->broken == NO_END ? 8 : 12 + FUNCTIONS * 8;
}

static void make_image(struct image *to, const struct seed *seed)
{
	memset(to, 0, sizeof(*to));
	to->head.flags = seed->flags | (seed->word == 4 ? FINDER_FUZZ_32BIT : 0);
	to->head.nr_maps = seed->nr_maps;
	to->head.at = seed->at;
	to->head.ip[0] = seed->ip;
	to->head.ip[1] = seed->ip >> 8;
	memcpy(to->head.maps, seed->maps, sizeof(seed->maps));

	put_elf(to, seed);
	put_segment(to, seed, PT_LOAD, PF_R, 0, PAGE);
	put_segment(to, seed, PT_LOAD, seed->broken == NOT_CODE ? PF_R : PF_R | PF_X,
		    text_of(seed), PAGE + moved_by(seed));
	put_segment(to, seed, seed->sections ? PT_NULL : PT_GNU_EH_FRAME, PF_R,
		    seed->broken == FAR_HDR ? 9 * PAGE : HDR, table_bytes(seed));
	to->nr = HDR;
	put_tables(to, seed);
	if (seed->sections)
		put_sections(to, seed, to->nr);
}

static int check_image(const struct image *image, size_t size, const struct seed *seed)
{
	struct unwind_user_rule rule;
	struct unwind_full_rule full;
	int cfa_off = seed->words * (int)seed->word;
	int ret = finder_fuzz_run((const u8 *)image, size, &rule, &full);

	bool kept_wrongly = seed->broken == NOT_CODE && finder_fuzz_kept_object();
	bool signal = !ret && rule.kind == UNWIND_RULE_FULL && full.signal;

	bool indexed = seed->sections && !seed->ret;

	if (ret == seed->ret && !kept_wrongly && (!indexed || finder_fuzz_indexed()) &&
	    (ret || ((signal || rule.cfa_off == cfa_off) && signal == seed->signal &&
		     finder_fuzz_kept_rule() == !seed->anew)))
		return 0;
	fprintf(stderr, "finder_seeds: %s: the result is %d", seed->name, ret);
	if (!ret)
		fprintf(stderr, ", CFA = sp%+d, kept: %d", rule.cfa_off,
			finder_fuzz_kept_rule());
	fprintf(stderr, "; it should be %d, CFA = sp%+d\n", seed->ret, cfa_off);
	return -1;
}

static int write_seed(const struct image *image, size_t size, const char *folder,
		      const char *name)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "wb");
	if (!out) {
		perror(path);
		return -1;
	}
	fwrite(image, size, 1, out);
	return fclose(out);
}

int main(int argc, char **argv)
{
	struct image image;
	size_t size;
	u32 i;
	int bad = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: finder_seeds FOLDER\n");
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(seeds); i++) {
		make_image(&image, &seeds[i]);
		size = offsetof(struct image, bytes) + image.nr;
		if (check_image(&image, size, &seeds[i]) ||
		    write_seed(&image, size, argv[1], seeds[i].name))
			bad = 1;
	}
	return bad;
}

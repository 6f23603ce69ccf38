// SPDX-License-Identifier: GPL-2.0
/* The .eh_frame of an ELF file of this machine; the file stays mapped. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi_elf.h"

/* offsets of fields in the ELF header and in a section header */
struct layout {
	unsigned int word;
	unsigned int shoff, shentsize, shnum, shstrndx;
	unsigned int addr, offset, size;
};

static const struct layout layout_32 = {
	.word = 4, .shoff = 32, .shentsize = 46, .shnum = 48, .shstrndx = 50,
	.addr = 12, .offset = 16, .size = 20,
};

static const struct layout layout_64 = {
	.word = 8, .shoff = 40, .shentsize = 58, .shnum = 60, .shstrndx = 62,
	.addr = 16, .offset = 24, .size = 32,
};

static unsigned long read_field(const u8 *at, unsigned int size)
{
	unsigned long val = 0;

	memcpy(&val, at, size);
	return val;
}

static int find_tables(struct cfi_elf *elf, const u8 *map, const struct layout *l)
{
	const u8 *sections = map + read_field(map + l->shoff, l->word);
	unsigned int each = read_field(map + l->shentsize, 2);
	unsigned int nr = read_field(map + l->shnum, 2), i;
	const char *names;

	names = (const char *)map +
		read_field(sections + each * read_field(map + l->shstrndx, 2) + l->offset,
			   l->word);
	for (i = 0; i < nr; i++, sections += each) {
		if (strcmp(names + read_field(sections, 4), ".eh_frame") ||
		    read_field(sections + 4, 4) == SHT_NOBITS)
			continue;
		elf->bytes = map + read_field(sections + l->offset, l->word);
		elf->addr = read_field(sections + l->addr, l->word);
		elf->size = read_field(sections + l->size, l->word);
		elf->word = l->word;
		return 0;
	}
	return -1;
}

static const u8 *map_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	void *map = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 64)
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/**
 * cfi_elf_open - find a file's .eh_frame
 * @elf: filled in
 * @name: path of the file
 *
 * Return: 0, or -1 with a line on stderr.
 */
int cfi_elf_open(struct cfi_elf *elf, const char *name)
{
	const u8 *map = map_file(name);

	if (!map || memcmp(map, ELFMAG, SELFMAG)) {
		fprintf(stderr, "%s: cannot be read as an ELF file\n", name);
		return -1;
	}
	elf->file = map;
	if (find_tables(elf, map, map[EI_CLASS] == ELFCLASS64 ? &layout_64 : &layout_32)) {
		fprintf(stderr, "%s: no .eh_frame\n", name);
		return -1;
	}
	return 0;
}

/**
 * cfi_elf_read - the read function of struct unwind_cfi
 * @ctx: a struct cfi_elf
 * @addr: address to read from
 * @to: the bytes go there
 * @len: number of bytes
 *
 * Return: 0 or -EFAULT.
 */
int cfi_elf_read(void *ctx, unsigned long addr, void *to, size_t len)
{
	const struct cfi_elf *elf = ctx;

	if (addr < elf->addr || addr - elf->addr > elf->size ||
	    len > elf->size - (addr - elf->addr))
		return -EFAULT;
	memcpy(to, elf->bytes + (addr - elf->addr), len);
	return 0;
}

/**
 * cfi_elf_code - read code
 * @elf: the file
 * @addr: address to read from
 * @to: the bytes go there
 * @len: number of bytes
 *
 * Return: the number of bytes that were read.
 */
unsigned int cfi_elf_code(const struct cfi_elf *elf, unsigned long addr, u8 *to,
			  unsigned int len)
{
	const bool is_64 = elf->word == 8;
	const u8 *ph = elf->file + read_field(elf->file + (is_64 ? 32 : 28), elf->word);
	unsigned int nr = read_field(elf->file + (is_64 ? 56 : 44), 2), i;
	unsigned long offset, vaddr, size;

	for (i = 0; i < nr; i++, ph += is_64 ? 56 : 32) {
		offset = read_field(ph + (is_64 ? 8 : 4), elf->word);
		vaddr = read_field(ph + (is_64 ? 16 : 8), elf->word);
		size = read_field(ph + (is_64 ? 32 : 16), elf->word);
		if (read_field(ph, 4) != PT_LOAD || addr < vaddr || addr - vaddr >= size)
			continue;
		if (len > size - (addr - vaddr))
			len = size - (addr - vaddr);
		memcpy(to, elf->file + offset + (addr - vaddr), len);
		return len;
	}
	return 0;
}

/**
 * cfi_elf_fde - find the next FDE
 * @elf: the tables
 * @pos: offset to start from; moved behind the FDE
 * @fde: set to its offset
 *
 * Return: true if there is another one.
 */
bool cfi_elf_fde(const struct cfi_elf *elf, size_t *pos, size_t *fde)
{
	unsigned long len;

	while (*pos + 8 <= elf->size) {
		*fde = *pos;
		len = read_field(elf->bytes + *pos, 4);
		if (!len || len == 0xffffffff)
			return false;
		*pos += 4 + len;
		if (read_field(elf->bytes + *fde + 4, 4))
			return true;
	}
	return false;
}

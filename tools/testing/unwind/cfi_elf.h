/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _CFI_ELF_H
#define _CFI_ELF_H

#include <linux/types.h>

/**
 * struct cfi_elf - the .eh_frame of a file
 * @bytes: its contents
 * @addr: address of its first byte
 * @size: number of bytes
 * @word: bytes of an address, 4 or 8
 * @file: the whole file
 */
struct cfi_elf {
	const u8	*bytes;
	unsigned long	addr;
	size_t		size;
	unsigned int	word;
	const u8	*file;
};

int cfi_elf_open(struct cfi_elf *elf, const char *name);
int cfi_elf_read(void *ctx, unsigned long addr, void *to, size_t len);
unsigned int cfi_elf_code(const struct cfi_elf *elf, unsigned long addr, u8 *to,
			  unsigned int len);
bool cfi_elf_fde(const struct cfi_elf *elf, size_t *pos, size_t *fde);

#endif /* _CFI_ELF_H */

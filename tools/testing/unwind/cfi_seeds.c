// SPDX-License-Identifier: GPL-2.0
/*
 * Make seeds for cfi_fuzz from every STEPth FDE of files.
 *
 *	cfi_seeds FOLDER STEP FILE...
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi_elf.h"
#include "cfi_fuzz.h"

#define MAX_ENTRY	2048

/* size of the entry at an offset, with its length field; 0 if it is not usable as a seed */
static size_t entry_size(const struct cfi_elf *elf, size_t pos)
{
	u32 len;

	if (pos > elf->size - 4)
		return 0;
	memcpy(&len, elf->bytes + pos, sizeof(len));
	return len && len <= MAX_ENTRY && len <= elf->size - pos - 4 ? len + 4 : 0;
}

static int write_seed(const struct cfi_elf *elf, size_t fde, const char *folder, int nr)
{
	struct cfi_fuzz head = { .flags = elf->word == 4 ? CFI_FUZZ_32BIT : 0 };
	size_t cie, cie_size, fde_size = entry_size(elf, fde);
	char name[4096];
	u32 distance;
	FILE *out;

	memcpy(&distance, elf->bytes + fde + 4, sizeof(distance));
	if (distance > fde + 4 || !fde_size)
		return -1;
	cie = fde + 4 - distance;
	cie_size = entry_size(elf, cie);
	if (!cie_size)
		return -1;

	head.fde[0] = cie_size;
	head.fde[1] = cie_size >> 8;
	head.ip[0] = nr * 7;
	distance = cie_size + 4;
	snprintf(name, sizeof(name), "%s/%d-%zx", folder, nr, fde);
	out = fopen(name, "wb");
	if (!out)
		return -1;
	fwrite(&head, sizeof(head), 1, out);
	fwrite(elf->bytes + cie, cie_size, 1, out);
	fwrite(elf->bytes + fde, 4, 1, out);
	fwrite(&distance, sizeof(distance), 1, out);
	fwrite(elf->bytes + fde + 8, fde_size - 8, 1, out);
	return fclose(out);
}

/* the first byte of each expression is its length */
static int write_expressions(const char *folder)
{
	static const char * const exprs[] = {
		"\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08",
		"\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
		"\x05\x76\x00\x06\x23\x08", "\x04\x13\x77\x10\x06",
	};
	static const unsigned char lengths[] = { 11, 12, 6, 5 };
	struct cfi_fuzz head = { .flags = CFI_FUZZ_EXPR };
	char name[4096];
	unsigned int i;
	FILE *out;

	for (i = 0; i < 8; i++) {
		if (i == 4)
			head.flags |= CFI_FUZZ_CFA;
		snprintf(name, sizeof(name), "%s/expression-%u", folder, i);
		out = fopen(name, "wb");
		if (!out)
			return -1;
		fwrite(&head, sizeof(head), 1, out);
		fwrite(exprs[i % 4], lengths[i % 4], 1, out);
		if (fclose(out))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int i, nr = 0, step = argc > 3 ? atoi(argv[2]) : 0;
	size_t pos, fde;

	if (step <= 0) {
		fprintf(stderr, "usage: cfi_seeds FOLDER STEP FILE...\n");
		return 2;
	}
	for (i = 3; i < argc; i++) {
		struct cfi_elf elf;
		int seen = 0;

		if (cfi_elf_open(&elf, argv[i]))
			return 1;
		for (pos = 0; cfi_elf_fde(&elf, &pos, &fde);) {
			if (seen++ % step == 0 && write_seed(&elf, fde, argv[1], nr++))
				nr--;
		}
	}
	return nr && !write_expressions(argv[1]) ? 0 : 1;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Decode the stores of instructions with kernel/unwind/code_x86.c, for scripts/test/code-stores.
 *
 *	code_stores reads lines of hexadecimal bytes, and writes for each: base register, offset
 *	               and size of a store; "-" if it is not a store, "?" if unknown
 */

#include <stdio.h>

#include "code.h"

int main(void)
{
	struct unwind_code_insn insn;
	u8 bytes[UNWIND_CODE_INSN_BYTES];
	unsigned int nr, byte;
	char line[256], *at;
	int len;

	while (fgets(line, sizeof(line), stdin)) {
		at = line;
		for (nr = 0; nr < sizeof(bytes) && sscanf(at, "%2x%n", &byte, &len) == 1; nr++) {
			bytes[nr] = byte;
			at += len;
		}
		if (!unwind_code_decode(bytes, nr, sizeof(u64), &insn))
			puts("?");
		else if (insn.op != UNWIND_CODE_STORE)
			puts("-");
		else
			printf("%d %d %u\n", insn.base == UNWIND_CODE_NO_REG ? -1 : insn.base,
			       insn.off, insn.width);
	}
	return 0;
}

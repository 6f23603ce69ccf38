/* SPDX-License-Identifier: GPL-2.0 */
/* The input of cfi_fuzz, which cfi_seeds makes from the tables of real programs. */
#ifndef _CFI_FUZZ_H
#define _CFI_FUZZ_H

#include <linux/types.h>

#define CFI_FUZZ_32BIT		1	/* tables of 32-bit code */
#define CFI_FUZZ_WRITER		2	/* bytes change while they are read */
#define CFI_FUZZ_DATA		4	/* the base of data-relative pointers is known */
#define CFI_FUZZ_EXPR		8	/* the bytes are an expression, not tables */
#define CFI_FUZZ_CFA		16	/* the expression begins with the CFA on its stack */

/**
 * struct cfi_fuzz - start of an input; the tables follow
 * @flags: CFI_FUZZ_*
 * @fde: offset of the FDE in the tables
 * @ip: offset of the address in the range of the FDE
 */
struct cfi_fuzz {
	u8	flags;
	u8	fde[2];
	u8	ip[2];
};

#endif /* _CFI_FUZZ_H */

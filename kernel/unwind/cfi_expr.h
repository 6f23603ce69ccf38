/* SPDX-License-Identifier: GPL-2.0 */
/* DWARF expressions in call frame information. */
#ifndef _KERNEL_UNWIND_CFI_EXPR_H
#define _KERNEL_UNWIND_CFI_EXPR_H

#include "cfi_bytes.h"

/* bases of a value that are not registers (UNWIND_REG_*) */
#define CFI_BASE_CFA	UNWIND_REG_NR
#define CFI_BASE_NONE	(UNWIND_REG_NR + 1)

/**
 * struct cfi_value - the value of an expression
 * @off: offset from the base
 * @add: the number to add after @deref
 * @base: UNWIND_REG_*, CFI_BASE_CFA, or CFI_BASE_NONE for a number
 * @index: if @scale is not 0: UNWIND_REG_*, to be multiplied by @scale and added to the base
 * @scale: see @index
 * @deref: the value is not that sum + @off, but the word in memory there, plus @add
 */
struct cfi_value {
	s64	off;
	s64	add;
	u8	base;
	u8	index;
	u8	scale;
	bool	deref;
};

bool cfi_expr(struct unwind_cfi_bytes *b, bool have_cfa, struct cfi_value *value);

#endif /* _KERNEL_UNWIND_CFI_EXPR_H */

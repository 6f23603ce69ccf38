// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: kernel/unwind/code.c reads arbitrary bytes as code.  The bytes may
 * change while they are read.  Besides errors that the sanitizers find, it checks that the
 * search ends after a limited number of reads, and that its rule is consistent.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "fuzz_check.h"

/* memory for searches: each of its parts has at most 4096 bytes */
static u64 memory[UNWIND_CODE_PARTS][512];
#define MEMORY	{ memory[0], memory[1], memory[2], memory[3] }

#define BASE		0x500000UL
/* An instruction is read at most twice: the second time if it may follow a function's end. */
#define MAX_READS	(32 * 1024)
#define MAX_OFFSET	(1 << 25)

static const u8 *bytes;
static size_t nr_bytes;
static unsigned int reads;
static bool writer;

static unsigned int read_code(void *ctx, unsigned long addr, u8 *to, unsigned int len)
{
	unsigned int i;

	(void)ctx;
	CHECK(len && len <= 64);
	CHECK(++reads <= MAX_READS);
	if (addr < BASE || addr >= BASE + nr_bytes)
		return 0;
	if (len > BASE + nr_bytes - addr)
		len = BASE + nr_bytes - addr;
	memcpy(to, bytes + (addr - BASE), len);
	for (i = 0; writer && i < len; i += 5)
		to[i] ^= reads * 31;
	return len;
}

static void check_rule(const struct unwind_code *code)
{
	CHECK(code->cfa_off <= MAX_OFFSET && code->cfa_off >= -MAX_OFFSET);
	if (code->fp_saved)
		CHECK(code->fp_off <= 2 * MAX_OFFSET && code->fp_off >= -2 * MAX_OFFSET);
	CHECK(!(code->fp_saved && code->fp_lost));
	CHECK(!code->fp_at_fp || (code->fp_saved && !code->by_fp && !code->by_mem));
	CHECK(!(code->by_fp && code->by_mem));
	if (code->by_mem) {
		CHECK(code->mem_reg < UNWIND_CODE_NR_REGS);
		CHECK(!(unwind_code_scratch(code->word) & (1U << code->mem_reg)));
		CHECK(code->mem_off <= MAX_OFFSET && code->mem_off >= -MAX_OFFSET);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct unwind_code code = {
		.read = read_code, .memory = MEMORY,
	};
	bool saves_fp;

	if (size < 3)
		return 0;
	code.word = data[0] & 1 ? 4 : 8;
	writer = data[0] & 2;
	code.fp_above_sp = data[0] & ~7;
	bytes = data + 2;
	nr_bytes = size - 2;

	reads = 0;
	if (unwind_code_find(&code, BASE + data[1] % nr_bytes))
		check_rule(&code);
	reads = 0;
	unwind_code_has_frame(&code, BASE + nr_bytes, data[1] * 8);
	unwind_code_prologue(&code, BASE + data[1], &saves_fp);
	reads = 0;
	CHECK(!(unwind_code_keeps(&code, BASE, BASE + data[1] % nr_bytes) &
		(1U << unwind_code_sp)));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_MUTATE_H
#define __TESTS_DEFERRED_CALLCHAIN_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "header.h"

/*
 * The last byte of the feature bits chooses how to read a file.  A pipe has no feature
 * bits: there, the size of the input chooses.
 */
#define DEFERRED_WAYS		8
#define DEFERRED_WAY_OFFSET	(sizeof(struct perf_file_header) - 1)

bool deferred_mutate__is_piped(const u8 *data, size_t size);

/*
 * Interface of libFuzzer, which sets these names.  libFuzzer implements the first two
 * functions: LLVMFuzzerRunDriver() calls @read with many inputs.  LLVMFuzzerMutate() changes
 * some of the @size bytes at @data, and returns the new size, at most @max.
 */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*read)(const u8 *data, size_t size));
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed);

#endif /* __TESTS_DEFERRED_CALLCHAIN_MUTATE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_MUTATE_H
#define __TESTS_DEFERRED_CALLCHAIN_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "header.h"

/*
 * How to read a file is chosen by a byte of it: the last one of the features.  What
 * came through a pipe has none; its size chooses.
 */
#define DEFERRED_WAYS		8
#define DEFERRED_WAY_OFFSET	(sizeof(struct perf_file_header) - 1)

bool deferred_mutate__is_piped(const u8 *data, size_t size);

/*
 * Names that libFuzzer's interface gives.  The first two are its own: call @read with
 * more and more inputs; change some of @size bytes, to no more than @max.
 */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*read)(const u8 *data, size_t size));
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed);

#endif /* __TESTS_DEFERRED_CALLCHAIN_MUTATE_H */

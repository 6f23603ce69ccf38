/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __TESTS_DEFERRED_CALLCHAIN_MODEL_H
#define __TESTS_DEFERRED_CALLCHAIN_MODEL_H

#include <stdbool.h>
#include <linux/types.h>

bool deferred_model__run(u64 seed);

#endif /* __TESTS_DEFERRED_CALLCHAIN_MODEL_H */

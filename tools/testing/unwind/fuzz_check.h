/* SPDX-License-Identifier: GPL-2.0 */
/* For fuzzer targets: a failed check ends the run. */
#ifndef _FUZZ_CHECK_H
#define _FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(good)							\
do {									\
	if (!(good)) {							\
		fprintf(stderr, "%s:%d: failed check: %s\n", __FILE__, __LINE__, #good);	\
		abort();						\
	}								\
} while (0)

#endif /* _FUZZ_CHECK_H */

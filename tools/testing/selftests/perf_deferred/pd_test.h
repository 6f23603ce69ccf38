/* SPDX-License-Identifier: GPL-2.0 */
/* Run a program's tests, each in a child process, and report them as TAP. */
#ifndef PD_TEST_H
#define PD_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "pd_compiler.h"

#define PD_PASS	0
#define PD_FAIL	1
#define PD_SKIP	4

struct pd_test {
	const char *name;
	int (*run)(void);
};

#define PD_TEST(fn)	{ .name = #fn, .run = fn }

/* Each program defines these; the library has main(). */
extern const struct pd_test pd_tests[];
extern const size_t pd_nr_tests;

/* Return why the tests cannot run, or NULL. By default, they require deferral. */
const char *pd_unmet(void);

/* Print a message. pd_fail() returns PD_FAIL, and pd_skip() PD_SKIP: "reported results". */
int pd_fail(const char *fmt, ...) PD_ATTR(format(printf, 1, 2));
int pd_skip(const char *fmt, ...) PD_ATTR(format(printf, 1, 2));
void pd_note(const char *fmt, ...) PD_ATTR(format(printf, 1, 2));

/* Scale a count or a time by PERF_DEFERRED_SCALE; at least 1. */
unsigned long pd_scale(unsigned long count);
/* Is so little work requested that the kernel must be slow, like one with KASAN? */
bool pd_slow(void);
/* Return @hz, or a lower sampling rate on a slow kernel, to leave time for the workload. */
unsigned int pd_hz(unsigned int hz);

#define PD_CHECK(cond, ...)				\
	do {						\
		int pd_bad_##__LINE__ = !(cond);	\
							\
		if (pd_bad_##__LINE__)			\
			return pd_fail(__VA_ARGS__);	\
	} while (0)

#define PD_TRY(call)					\
	do {						\
		int pd_ret_##__LINE__ = (call);		\
							\
		if (pd_ret_##__LINE__)			\
			return pd_ret_##__LINE__;	\
	} while (0)

#endif /* PD_TEST_H */

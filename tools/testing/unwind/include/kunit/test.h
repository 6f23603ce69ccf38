/* SPDX-License-Identifier: GPL-2.0 */
/* The part of KUnit that kernel/unwind/cfi_kunit.c needs, for user space. */
#ifndef _UNWIND_KUNIT_TEST_H
#define _UNWIND_KUNIT_TEST_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/unaligned.h>

struct kunit {
	const void	*param_value;
	bool		failed;
	jmp_buf		abort;
	void		*memory[512];
	unsigned int	nr_memory;
};

struct kunit_case {
	const char	*name;
	void		(*run_case)(struct kunit *test);
	const void	*(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char		*name;
	struct kunit_case	*test_cases;
};

extern struct kunit_suite *kunit_the_suite;

#define KUNIT_PARAM_DESC_SIZE	128
#define KUNIT_CASE(fn)			{ .name = #fn, .run_case = (fn) }
#define KUNIT_CASE_PARAM(fn, gen)					\
	{ .name = #fn, .run_case = (fn), .generate_params = (gen) }

#define KUNIT_ARRAY_PARAM_DESC(id, array, member)			\
static const void *id##_gen_params(const void *prev, char *desc)	\
{									\
	const __typeof__((array)[0]) *next = prev ? prev : (array) - 1;	\
									\
	if (++next == (array) + ARRAY_SIZE(array))			\
		return NULL;						\
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", next->member);	\
	return next;							\
}

#define kunit_test_suite(suite) struct kunit_suite *kunit_the_suite = &(suite)

static inline void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	void *p = calloc(1, size);

	(void)gfp;
	if (test->nr_memory == ARRAY_SIZE(test->memory))
		abort();
	test->memory[test->nr_memory++] = p;
	return p;
}

#define KUNIT_CHECK(test, good, fmt, ...)				\
do {									\
	if (good)							\
		break;							\
	(test)->failed = true;						\
	printf("# %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__);	\
} while (0)

#define KUNIT_COMPARE(test, a, op, b)					\
do {									\
	long long _a = (long long)(a), _b = (long long)(b);		\
									\
	KUNIT_CHECK(test, _a op _b, #a " is %#llx (%lld), not " #op	\
		    " %#llx (%lld)", _a, _a, _b, _b);			\
} while (0)

#define KUNIT_EXPECT_EQ(test, a, b)	KUNIT_COMPARE(test, a, ==, b)
#define KUNIT_EXPECT_LE(test, a, b)	KUNIT_COMPARE(test, a, <=, b)
#define KUNIT_EXPECT_TRUE(test, a)	KUNIT_COMPARE(test, !!(a), ==, 1)
#define KUNIT_EXPECT_FALSE(test, a)	KUNIT_COMPARE(test, !!(a), ==, 0)
#define KUNIT_EXPECT_STREQ(test, a, b)					\
	KUNIT_CHECK(test, !strcmp(a, b), "\"%s\", not \"%s\"", a, b)

#define KUNIT_EXPECT_EQ_MSG(test, a, b, fmt, ...)			\
do {									\
	bool _was = (test)->failed;					\
									\
	(test)->failed = false;						\
	KUNIT_EXPECT_EQ(test, a, b);					\
	KUNIT_CHECK(test, !(test)->failed, fmt, ##__VA_ARGS__);		\
	(test)->failed |= _was;						\
} while (0)

#define KUNIT_ASSERT_EQ(test, a, b)					\
do {									\
	KUNIT_EXPECT_EQ(test, a, b);					\
	if ((test)->failed)						\
		longjmp((test)->abort, 1);				\
} while (0)

#define KUNIT_ASSERT_NOT_NULL(test, p)					\
do {									\
	if (!(p))							\
		abort();						\
} while (0)

#endif /* _UNWIND_KUNIT_TEST_H */

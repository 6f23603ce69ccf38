// SPDX-License-Identifier: GPL-2.0
/* Run the suite of kernel/unwind/cfi_kunit.c in user space; prints TAP. */

#include <kunit/test.h>

static unsigned int tests, bad;

static void run_one(const struct kunit_case *kase, const void *param,
		    const char *desc)
{
	static struct kunit test;

	memset(&test, 0, sizeof(test));
	test.param_value = param;
	if (!setjmp(test.abort))
		kase->run_case(&test);
	while (test.nr_memory)
		free(test.memory[--test.nr_memory]);
	if (test.failed)
		bad++;
	printf("%s %u - %s%s%s\n", test.failed ? "not ok" : "ok", ++tests,
	       kase->name, *desc ? ": " : "", desc);
}

int main(void)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const struct kunit_case *kase;
	const void *param;

	for (kase = kunit_the_suite->test_cases; kase->name; kase++) {
		param = NULL;
		*desc = '\0';
		if (!kase->generate_params) {
			run_one(kase, NULL, desc);
			continue;
		}
		while ((param = kase->generate_params(param, desc)))
			run_one(kase, param, desc);
	}
	printf("1..%u\n", tests);
	return bad ? 1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The runner that every unit test links, over Check's.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/space.h"

/* Only there to end a test that hangs, however slow the machine. */
#define TIMEOUT_S 240

int unit_run_each(const char *name, const TTest *const tests[], size_t nr_tests,
		  size_t nr_subjects)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int nr_run, nr_failed;

	for (size_t i = 0; i < nr_tests; i++)
		tcase_add_loop_test(tcase, tests[i], 0, (int)nr_subjects);
	tcase_set_timeout(tcase, TIMEOUT_S);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_VERBOSE);
	nr_run = srunner_ntests_run(runner);
	nr_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (nr_run != (int)(nr_tests * nr_subjects))
		printf("%s: only %d tests ran\n", name, nr_run);
	return nr_failed || !nr_run ? EXIT_FAILURE : EXIT_SUCCESS;
}

int unit_run(const char *name, const TTest *const tests[], size_t nr_tests)
{
	return unit_run_each(name, tests, nr_tests, 1);
}

/* check-tsan has it: the kernel's limit would be one for the sanitizer, too. */
void kf_tsan_limit(size_t more) __attribute__((weak));

void unit_limit_address_space(size_t more)
{
	size_t mapped = space_bytes(SPACE_MAPPED);
	struct rlimit limit;

	if (kf_tsan_limit) {
		kf_tsan_limit(more);
		return;
	}
	ck_assert_uint_ne(mapped, 0);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	if (more != SIZE_MAX)
		limit.rlim_cur = mapped + more;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The runner that every unit test links, over Check's.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

/* Only there to end a test that hangs, however slow the machine. */
#define TIMEOUT_S 240

int unit_run(const char *name, const TTest *const tests[], size_t nr_tests)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int nr_run, nr_failed;

	for (size_t i = 0; i < nr_tests; i++)
		tcase_add_test(tcase, tests[i]);
	tcase_set_timeout(tcase, TIMEOUT_S);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_VERBOSE);
	nr_run = srunner_ntests_run(runner);
	nr_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (nr_run != (int)nr_tests)
		printf("%s: %d of %zu tests ran\n", name, nr_run, nr_tests);
	return nr_failed || !nr_run ? EXIT_FAILURE : EXIT_SUCCESS;
}

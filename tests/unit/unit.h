/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the unit tests share: running a suite.
 *
 * A test is a function of Check's whose name is the fact that it shows; a file
 * lists its tests in one table and hands it to unit_run(). What they assert is
 * theirs.
 */
#ifndef KF_TESTS_UNIT_H
#define KF_TESTS_UNIT_H

#include <check.h>
#include <stddef.h>

#include "tests/chance.h"

/*
 * As ck_assert(), which writes to a pipe each time, but free until it fails:
 * for checks that run millions of times.
 */
#define UNIT_REQUIRE(cond)                         \
	do {                                       \
		if (!(cond))                       \
			ck_abort_msg("%s", #cond); \
	} while (0)

/*
 * Whether the child of a process with threads may start some: ThreadSanitizer
 * ends it then.
 */
#ifdef KF_THREAD_SANITIZER
#define UNIT_CHILDREN_START_THREADS 0
#else
#define UNIT_CHILDREN_START_THREADS 1
#endif

/* Whether malloc fails within a limit on addresses: a sanitizer's ends us. */
#if defined(KF_THREAD_SANITIZER) || defined(__SANITIZE_ADDRESS__)
#define UNIT_MALLOC_HAS_AN_END 0
#else
#define UNIT_MALLOC_HAS_AN_END 1
#endif

/**
 * unit_run() - run tests, each in a process of its own, and print a summary
 * @name:	what is tested, such as "base/rbtree"
 * @tests:	the tests
 * @nr_tests:	how many
 *
 * Context: main().
 * Return: the exit status: 0 when all passed, 1 when one failed or none ran.
 */
int unit_run(const char *name, const TTest *const tests[], size_t nr_tests);

/**
 * unit_run_each() - as unit_run(), each test once for each of several subjects
 * @name:	what is tested
 * @tests:	the tests; Check's _i tells a test which subject it is about
 * @nr_tests:	how many
 * @nr_subjects: _i is below this
 *
 * Context: main().
 * Return: the exit status: 0 when all passed, 1 when one failed or none ran.
 */
int unit_run_each(const char *name, const TTest *const tests[], size_t nr_tests,
		  size_t nr_subjects);

/**
 * unit_limit_address_space() - let this process have little more than it has
 * @more:	bytes that it may still map; SIZE_MAX: no limit any more, for
 *		the end of the test, as a sanitizer's report needs memory
 *
 * Context: a test.
 */
void unit_limit_address_space(size_t more);

#endif

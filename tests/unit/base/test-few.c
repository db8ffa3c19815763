/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/few.h: each as the C library's function for it, on all strings of few
 * letters; and what is copied is that and no more.
 */
#include "base/few.h"

#include <string.h>

#include "tests/unit/unit.h"

#define LETTERS 4 /* of which the last ends a string */
#define LENGTH 5
#define STRINGS 1024 /* LETTERS to the power of LENGTH */

/* The @n-th string, behind whose end there are letters too. */
static void spell(char text[LENGTH + 1], unsigned int n)
{
	for (int i = 0; i < LENGTH; i++, n /= LETTERS)
		text[i] = "ab\377"[n % LETTERS];
	text[LENGTH] = '\0';
}

START_TEST(strings_are_looked_at_as_by_libc)
{
	for (unsigned int n = 0; n < STRINGS; n++) {
		char s[LENGTH + 1];

		spell(s, n);
		ck_assert_uint_eq(kf_few_length(s), strlen(s));
		for (const char *c = "ab\377c"; *c; c++) {
			ck_assert_ptr_eq(kf_few_find(s, *c), strchr(s, *c));
			ck_assert_ptr_eq(kf_few_find_last(s, *c),
					 strrchr(s, *c));
		}
	}
}
END_TEST

START_TEST(strings_are_compared_as_by_libc)
{
	for (unsigned int n = 0; n < STRINGS * STRINGS; n += 7) {
		char a[LENGTH + 1], b[LENGTH + 1];
		size_t nr = n % (LENGTH + 1);

		spell(a, n % STRINGS);
		spell(b, n / STRINGS);
		ck_assert_int_eq(kf_few_same(a, b), !strcmp(a, b));
		ck_assert_int_eq(kf_few_alike(a, b, nr), !memcmp(a, b, nr));
	}
}
END_TEST

START_TEST(copy_is_as_long_as_told)
{
	for (size_t nr = 0; nr < 40; nr++) {
		char from[64], to[64], want[64];

		for (size_t i = 0; i < sizeof(from); i++)
			from[i] = (char)(i + 1);
		memset(to, 0, sizeof(to));
		memset(want, 0, sizeof(want));
		memcpy(want + 3, from + 5, nr);
		kf_few_copy(to + 3, from + 5, nr);
		ck_assert_mem_eq(to, want, sizeof(to));
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		strings_are_looked_at_as_by_libc,
		strings_are_compared_as_by_libc,
		copy_is_as_long_as_told,
	};

	return unit_run("base/few", tests, KF_ARRAY_SIZE(tests));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base/bits.h against the slow and plain way to compute the same.
 */
#include "base/bits.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "tests/unit/unit.h"

#define TOP ((size_t)1 << 63)

START_TEST(ilog2_is_the_number_of_halvings)
{
	uint64_t state = 1;

	for (int i = 0; i < 100000; i++) {
		size_t x = chance_next(&state) >> (i % 64);
		unsigned int halvings = 0;

		if (!x)
			continue;
		for (size_t y = x; y > 1; y /= 2)
			halvings++;
		ck_assert_uint_eq(kf_ilog2(x), halvings);
	}
	ck_assert_uint_eq(kf_ilog2(1), 0);
	ck_assert_uint_eq(kf_ilog2(SIZE_MAX), 63);
}
END_TEST

START_TEST(only_64_numbers_are_powers_of_two)
{
	for (unsigned int i = 0; i < 64; i++) {
		size_t power = (size_t)1 << i;

		ck_assert(kf_is_pow2(power));
		for (unsigned int j = 0; j < i; j++)
			ck_assert(!kf_is_pow2(power | (size_t)1 << j));
	}
	ck_assert(!kf_is_pow2(0));
	ck_assert(!kf_is_pow2(SIZE_MAX));
}
END_TEST

START_TEST(pow2_up_is_the_least_power_not_below)
{
	size_t power = 1;

	ck_assert_uint_eq(kf_pow2_up(0), 1);
	for (size_t x = 1; x < 5000; x++) {
		if (power < x)
			power *= 2;
		ck_assert_uint_eq(kf_pow2_up(x), power);
	}
	ck_assert_uint_eq(kf_pow2_up(TOP - 1), TOP);
	ck_assert_uint_eq(kf_pow2_up(TOP), TOP);
}
END_TEST

START_TEST(pow2_up_of_more_than_the_greatest_power_is_0)
{
	ck_assert_uint_eq(kf_pow2_up(TOP + 1), 0);
	ck_assert_uint_eq(kf_pow2_up(SIZE_MAX), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		ilog2_is_the_number_of_halvings,
		only_64_numbers_are_powers_of_two,
		pow2_up_is_the_least_power_not_below,
		pow2_up_of_more_than_the_greatest_power_is_0,
	};

	return unit_run("base/bits", tests, KF_ARRAY_SIZE(tests));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sample/ages.c: live samples are in the stats file with their births, freed
 * ones count for their stack by lifetime; tables have an end.
 */
#include "config.h"

#include "sample/internal.h"
#include "stats/internal.h"

#include "tests/unit/unit.h"

#define MS 1000000ULL

static const struct kf_stats_sample born = {
	.address = 0x7000,
	.bytes = 4096,
	.weight = 524288,
	.born = 5 * MS,
	.stack = 3,
};

static const struct kf_stats_sample *sample(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_sample *all = kf_stats_area(KF_AREA_SAMPLES, &nr);

	UNIT_REQUIRE(i < nr);
	return &all[i];
}

static const struct kf_stats_lifetimes *lifetimes(uint32_t i)
{
	uint32_t nr;
	struct kf_stats_lifetimes *all = kf_stats_area(KF_AREA_LIFETIMES, &nr);

	UNIT_REQUIRE(i < nr);
	return &all[i];
}

START_TEST(spans_end_at_powers_of_ten)
{
	uint64_t end = MS;

	ck_assert_uint_eq(kf_stats_span(0), 0);
	for (unsigned int i = 0; i + 1 < KF_STATS_SPANS; i++, end *= 10) {
		ck_assert_uint_eq(kf_stats_span(end - 1), i);
		ck_assert_uint_eq(kf_stats_span(end), i + 1);
	}
	ck_assert_uint_eq(kf_stats_span(UINT64_MAX), KF_STATS_SPANS - 1);
}
END_TEST

START_TEST(a_live_sample_has_an_entry_until_it_is_freed)
{
	struct kf_stats_sample want = born;

	kf_stats_init();
	kf_ages_came(7, &born);
	want.pinned = KF_STATS_PINNED_UNKNOWN;
	ck_assert_mem_eq(sample(7), &want, sizeof(want));
	ck_assert_uint_eq(sample(6)->address, 0);
	kf_ages_pinned(7, 256);
	ck_assert_uint_eq(sample(7)->pinned, 256);
	kf_ages_gone(7, &born, 8 * MS, false);
	ck_assert_uint_eq(sample(7)->address, 0);
}
END_TEST

START_TEST(a_freed_one_counts_for_its_stack_by_lifetime)
{
	const struct kf_stats_lifetimes *l;
	uint64_t variance = kf_sample_variance(born.bytes, born.weight);

	kf_stats_init();
	kf_ages_came(0, &born);
	kf_ages_gone(0, &born, born.born + 1, false);
	kf_ages_gone(0, &born, born.born + 20 * MS, true);
	kf_ages_gone(0, &born, born.born + 30 * MS, false);
	/* a clock that goes back */
	kf_ages_gone(0, &born, born.born - 1, false);
	l = lifetimes(3);
	ck_assert_uint_eq(l->bytes[0], 2 * born.weight);
	ck_assert_uint_eq(l->bytes[1], 0);
	ck_assert_uint_eq(l->bytes[2], 2 * born.weight);
	ck_assert_uint_eq(l->variance[2], 2 * variance);
	ck_assert_uint_eq(l->foreign, born.weight);
	ck_assert_uint_eq(l->foreign_variance, variance);
	ck_assert_uint_eq(lifetimes(2)->bytes[0], 0);
}
END_TEST

/* Records may have more numbers than the table entries. */
START_TEST(what_finds_no_room_has_no_age_but_a_lifetime)
{
	const uint32_t end =
		(KF_AT_MORE - KF_AT_SAMPLES) / sizeof(struct kf_stats_sample);
	uint32_t nr;

	kf_stats_init();
	kf_ages_came(end - 1, &born);
	ck_assert_uint_eq(sample(end - 1)->address, born.address);
	kf_ages_came(end, &born);
	kf_stats_area(KF_AREA_SAMPLES, &nr);
	ck_assert_uint_eq(nr, end);
	kf_ages_gone(end, &born, born.born + 1, false);
	ck_assert_uint_eq(lifetimes(3)->bytes[0], born.weight);
	ck_assert_uint_eq(sample(end - 1)->address, born.address);
}
END_TEST

START_TEST(without_memory_nothing_is_entered)
{
	uint32_t nr;

	kf_stats_init();
	unit_limit_address_space(0);
	kf_ages_came(0, &born);
	kf_ages_gone(0, &born, born.born + 1, false);
	unit_limit_address_space(SIZE_MAX);
	ck_assert_ptr_null(kf_stats_area(KF_AREA_SAMPLES, &nr));
	ck_assert_ptr_null(kf_stats_area(KF_AREA_LIFETIMES, &nr));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		spans_end_at_powers_of_ten,
		a_live_sample_has_an_entry_until_it_is_freed,
		a_freed_one_counts_for_its_stack_by_lifetime,
		what_finds_no_room_has_no_age_but_a_lifetime,
		without_memory_nothing_is_entered,
	};

	return unit_run("sample/ages", tests, KF_ARRAY_SIZE(tests));
}

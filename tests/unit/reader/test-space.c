/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/space.c: ranges overlap where a plain array of bytes says so.
 */
#include "config.h"

#include "reader/space.h"
#include "tests/unit/unit.h"

#include <string.h>

#define NR_GRAINS (1u << 19) /* of 8 bytes: 4 MiB */
#define NR_RANGES 2000

static unsigned char covered[NR_GRAINS];

struct range {
	uint64_t first;
	uint64_t nr;
};

static bool any_covered(const struct range *r)
{
	return memchr(covered + r->first, 1, r->nr);
}

/* Mostly small ones, a few over many pages. */
static struct range random_range(uint64_t *state)
{
	uint64_t most = chance_below(state, 8) ? 20 : NR_GRAINS / 8;
	struct range r = {.nr = 1 + chance_below(state, most)};

	r.first = chance_below(state, NR_GRAINS - r.nr);
	return r;
}

static void require_empty(const struct kf_space *s)
{
	for (int i = 0; i < KF_SPACE_FLOORS; i++)
		ck_assert_uint_eq(s->floors[i].nr, 0);
}

static struct range live[NR_RANGES];
static size_t nr_live;

/* From @base on. Returns whether it was covered. */
static bool cover_one(struct kf_space *s, uint64_t base, struct range r, int i)
{
	int rc = kf_space_cover(s, base + 8 * r.first, 8 * r.nr - i % 8);

	UNIT_REQUIRE(rc == any_covered(&r));
	if (rc)
		return false;
	memset(covered + r.first, 1, r.nr);
	live[nr_live++] = r;
	return true;
}

static void uncover_one(struct kf_space *s, uint64_t base, size_t k)
{
	struct range r = live[k];

	live[k] = live[--nr_live];
	kf_space_uncover(s, base + 8 * r.first, 8 * r.nr);
	memset(covered + r.first, 0, r.nr);
}

/* @base is where nodes of every floor meet. */
static void compare(uint64_t base)
{
	uint64_t state = base + 1;
	struct kf_space s;
	int nr_covered = 0;

	kf_space_init(&s);
	for (int i = 0; i < 30000; i++) {
		if (nr_live < NR_RANGES && chance_below(&state, 2))
			nr_covered +=
				cover_one(&s, base, random_range(&state), i);
		else if (nr_live)
			uncover_one(&s, base, chance_below(&state, nr_live));
	}
	ck_assert_int_gt(nr_covered, 1000);
	while (nr_live)
		uncover_one(&s, base, 0);
	require_empty(&s);
	kf_space_release(&s);
}

START_TEST(overlaps_are_as_in_an_array)
{
	compare(0);
	compare((1ULL << 39) - (2 << 20));
	compare((1ULL << 47) - (4 << 20));
}
END_TEST

START_TEST(block_without_bytes_covers_its_address)
{
	struct kf_space s;

	kf_space_init(&s);
	ck_assert_int_eq(kf_space_cover(&s, 64, 0), 0);
	ck_assert_int_eq(kf_space_cover(&s, 64, 0), 1);
	ck_assert_int_eq(kf_space_cover(&s, 72, 0), 0);
	kf_space_uncover(&s, 64, 0);
	ck_assert_int_eq(kf_space_cover(&s, 56, 16), 0);
	kf_space_release(&s);
}
END_TEST

START_TEST(largest_block_is_cheap_and_found)
{
	struct kf_space s;

	kf_space_init(&s);
	ck_assert_int_eq(kf_space_cover(&s, 4104, KF_SPACE_MAX_SIZE), 0);
	for (int i = 0; i < KF_SPACE_FLOORS; i++)
		ck_assert_uint_le(s.floors[i].nr, 257);
	ck_assert_int_eq(kf_space_cover(&s, 4096, 8), 0);
	ck_assert_int_eq(kf_space_cover(&s, 1ULL << 46, 1), 1);
	ck_assert_int_eq(kf_space_cover(&s, KF_SPACE_MAX_SIZE + 4096, 8), 1);
	ck_assert_int_eq(kf_space_cover(&s, KF_SPACE_MAX_SIZE + 4104, 8), 0);
	ck_assert_int_eq(kf_space_cover(&s, 0, 1ULL << 30), 1);
	kf_space_uncover(&s, 4104, KF_SPACE_MAX_SIZE);
	kf_space_uncover(&s, 4096, 8);
	kf_space_uncover(&s, KF_SPACE_MAX_SIZE + 4104, 8);
	require_empty(&s);
	kf_space_release(&s);
}
END_TEST

/* As a damaged file may name it. */
START_TEST(range_beyond_the_last_address_is_cut)
{
	struct kf_space s;

	kf_space_init(&s);
	ck_assert_int_eq(kf_space_cover(&s, UINT64_MAX - 7, 1 << 20), 0);
	ck_assert_int_eq(kf_space_cover(&s, UINT64_MAX, 1), 1);
	kf_space_uncover(&s, UINT64_MAX - 7, 1 << 20);
	require_empty(&s);
	kf_space_release(&s);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		overlaps_are_as_in_an_array,
		block_without_bytes_covers_its_address,
		largest_block_is_cheap_and_found,
		range_beyond_the_last_address_is_cut,
	};

	return unit_run("reader/space", tests, KF_ARRAY_SIZE(tests));
}

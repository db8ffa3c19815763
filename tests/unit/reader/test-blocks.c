/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/blocks.c and reader/map.c: what is put is found until it is taken,
 * against a plain array.
 */
#include "config.h"

#include "reader/blocks.h"
#include "tests/unit/unit.h"

#include <string.h>

#define NR_ADDRESSES 5000

START_TEST(block_is_taken_as_it_was_put)
{
	const struct kf_block block = {.address = 0x7fffdeadbee0,
				       .size = UINT64_MAX,
				       .time = UINT64_MAX - 1,
				       .thread = KF_BLOCK_MAX_THREAD,
				       .function = KF_BLOCK_MAX_FUNCTION,
				       .align_log2 = 63,
				       .flag = true};
	struct kf_block old, got;
	struct kf_blocks b;

	kf_blocks_init(&b);
	ck_assert(!kf_blocks_take(&b, block.address, &got));
	ck_assert_int_eq(kf_blocks_put(&b, &block, &old), 0);
	ck_assert(!kf_blocks_take(&b, block.address + 16, &got));
	ck_assert(kf_blocks_take(&b, block.address, &got));
	ck_assert_uint_eq(got.address, block.address);
	ck_assert_uint_eq(got.size, block.size);
	ck_assert_uint_eq(got.time, block.time);
	ck_assert_uint_eq(got.thread, block.thread);
	ck_assert_uint_eq(got.function, block.function);
	ck_assert_uint_eq(got.align_log2, block.align_log2);
	ck_assert(got.flag);
	ck_assert(!kf_blocks_take(&b, block.address, &got));
	ck_assert_uint_eq(b.map.nr, 0);
	kf_blocks_release(&b);
}
END_TEST

START_TEST(fields_too_large_are_cut_to_their_limits)
{
	const struct kf_block block = {.address = 16,
				       .thread = UINT32_MAX,
				       .function = UINT8_MAX,
				       .align_log2 = UINT8_MAX};
	struct kf_block old, got;
	struct kf_blocks b;

	kf_blocks_init(&b);
	ck_assert_int_eq(kf_blocks_put(&b, &block, &old), 0);
	ck_assert(kf_blocks_take(&b, 16, &got));
	ck_assert_uint_eq(got.thread, KF_BLOCK_MAX_THREAD);
	ck_assert_uint_eq(got.function, KF_BLOCK_MAX_FUNCTION);
	ck_assert_uint_eq(got.align_log2, KF_BLOCK_MAX_ALIGN_LOG2);
	kf_blocks_release(&b);
}
END_TEST

START_TEST(second_block_at_an_address_gives_the_first_back)
{
	struct kf_block block = {.address = 32, .size = 1}, old;
	struct kf_blocks b;

	kf_blocks_init(&b);
	ck_assert_int_eq(kf_blocks_put(&b, &block, &old), 0);
	block.size = 2;
	ck_assert_int_eq(kf_blocks_put(&b, &block, &old), 1);
	ck_assert_uint_eq(old.size, 1);
	ck_assert_uint_eq(b.map.nr, 1);
	kf_blocks_release(&b);
}
END_TEST

static void add_up(const struct kf_block *block, void *arg)
{
	uint64_t *sum = arg;

	*sum += block->size;
}

/* Addresses near each other, as of slabs, and many times the same ones. */
START_TEST(random_blocks_are_as_in_an_array)
{
	static uint64_t size[NR_ADDRESSES];
	uint64_t state = 7, sum = 0, seen = 0, nr = 0;
	struct kf_blocks b;

	kf_blocks_init(&b);
	for (int i = 0; i < 400000; i++) {
		size_t k = chance_below(&state, NR_ADDRESSES);
		struct kf_block block = {.address = 0x7f0000000000 + 16 * k,
					 .size = 1 +
						 (chance_next(&state) >> 40)};
		struct kf_block old;

		if (size[k] && i % 3) {
			UNIT_REQUIRE(kf_blocks_take(&b, block.address, &old));
			UNIT_REQUIRE(old.size == size[k]);
			size[k] = 0;
		} else if (i % 3) {
			UNIT_REQUIRE(!kf_blocks_take(&b, block.address, &old));
		} else {
			UNIT_REQUIRE(kf_blocks_put(&b, &block, &old) ==
				     !!size[k]);
			UNIT_REQUIRE(!size[k] || old.size == size[k]);
			size[k] = block.size;
		}
	}
	for (size_t k = 0; k < NR_ADDRESSES; k++) {
		sum += size[k];
		nr += !!size[k];
	}
	kf_blocks_each(&b, add_up, &seen);
	ck_assert_uint_gt(nr, 0);
	ck_assert_uint_eq(b.map.nr, nr);
	ck_assert_uint_eq(seen, sum);
	kf_blocks_release(&b);
	kf_blocks_release(&b);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		block_is_taken_as_it_was_put,
		fields_too_large_are_cut_to_their_limits,
		second_block_at_an_address_gives_the_first_back,
		random_blocks_are_as_in_an_array,
	};

	return unit_run("reader/blocks", tests, KF_ARRAY_SIZE(tests));
}

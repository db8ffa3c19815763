/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * engines/tlsf-pool.c against a list of what was handed out: contents stay, and
 * all that its header says of blocks, lists, bits and sums holds after each
 * operation.
 */
#include "engines/tlsf-pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "tests/pattern.h"
#include "tests/unit/unit.h"

#define NR_POOLS 3
#define NR_BLOCKS 400
#define NR_OPERATIONS 60000

static struct kf_tlsf tlsf;
static struct kf_tlsf_pool pools[NR_POOLS];
static unsigned int nr_pools;
static char memory[NR_POOLS][1 << 20] __attribute__((aligned(4096)));

struct held {
	unsigned char *p; /* NULL: nothing */
	size_t size;
	uint64_t key;
};

static struct held blocks[NR_BLOCKS];

static void add_pool(size_t bytes)
{
	UNIT_REQUIRE(
		kf_tlsf_add(&tlsf, memory[nr_pools], bytes, &pools[nr_pools]));
	nr_pools++;
}

static size_t bytes_of(const struct kf_tlsf_block *b)
{
	return b->head & ~KF_TLSF_FLAGS;
}

static struct kf_tlsf_block *behind(struct kf_tlsf_block *b)
{
	return (struct kf_tlsf_block *)((char *)b + bytes_of(b));
}

struct sums {
	size_t bytes, free, nr_free, nr_used;
};

/* Neighbours agree on each other, and no two of them are free. */
static void check_pool(const struct kf_tlsf_pool *pool, struct sums *sums)
{
	struct kf_tlsf_block *b = (struct kf_tlsf_block *)pool->start;
	struct kf_tlsf_block *before = NULL;

	for (; (char *)b < pool->end; before = b, b = behind(b)) {
		bool free = b->head & KF_TLSF_FREE;

		UNIT_REQUIRE((uintptr_t)b % KF_TLSF_ALIGN == 0);
		UNIT_REQUIRE(bytes_of(b) >= KF_TLSF_BLOCK_MIN);
		UNIT_REQUIRE(!(b->head & KF_TLSF_BEFORE_FREE) ==
			     !(before && before->head & KF_TLSF_FREE));
		UNIT_REQUIRE(!(free && b->head & KF_TLSF_BEFORE_FREE));
		if (b->head & KF_TLSF_BEFORE_FREE)
			UNIT_REQUIRE(b->before == before);
		UNIT_REQUIRE(kf_tlsf_look(pool, &b->next) ==
			     (free ? KF_TLSF_IS_FREE : KF_TLSF_IS_USED));
		sums->bytes += bytes_of(b);
		sums->free += free ? bytes_of(b) : 0;
		sums->nr_free += free;
		sums->nr_used += !free;
	}
	UNIT_REQUIRE((char *)b == pool->end);
	UNIT_REQUIRE(bytes_of(b) == 0 && !(b->head & KF_TLSF_FREE));
	if (b->head & KF_TLSF_BEFORE_FREE)
		UNIT_REQUIRE(b->before == before);
}

/* The least size of a list, from the paper's definition. */
static size_t least(unsigned int power, unsigned int step)
{
	if (!power)
		return (size_t)step * 16;
	return ((size_t)512 << (power - 1)) +
	       step * ((size_t)16 << (power - 1));
}

static size_t check_list(unsigned int power, unsigned int step)
{
	const struct kf_tlsf_block *prev = NULL;
	const struct kf_tlsf_block *b = tlsf.list[power][step];
	size_t nr = 0;

	UNIT_REQUIRE(!b == !(tlsf.steps[power] >> step & 1));
	for (; b; prev = b, b = b->next, nr++) {
		UNIT_REQUIRE(b->prev == prev);
		UNIT_REQUIRE(b->head & KF_TLSF_FREE);
		UNIT_REQUIRE(bytes_of(b) >= least(power, step));
		UNIT_REQUIRE(bytes_of(b) < least(power, step + 1));
	}
	return nr;
}

static void check_all(size_t nr_used)
{
	struct sums sums = {0};
	size_t nr = 0;

	for (unsigned int i = 0; i < nr_pools; i++)
		check_pool(&pools[i], &sums);
	for (unsigned int power = 0; power < KF_TLSF_POWERS; power++) {
		UNIT_REQUIRE(!tlsf.steps[power] == !(tlsf.powers >> power & 1));
		for (unsigned int step = 0; step < KF_TLSF_STEPS; step++)
			nr += check_list(power, step);
	}
	UNIT_REQUIRE(nr == sums.nr_free);
	UNIT_REQUIRE(tlsf.nr_free == sums.nr_free);
	UNIT_REQUIRE(tlsf.free == sums.free);
	UNIT_REQUIRE(tlsf.bytes == sums.bytes);
	UNIT_REQUIRE(sums.nr_used == nr_used);
}

static const struct kf_tlsf_pool *pool_of(const void *p)
{
	for (unsigned int i = 0; i < nr_pools; i++) {
		if ((const char *)p >= pools[i].start &&
		    (const char *)p < pools[i].end)
			return &pools[i];
	}
	return NULL;
}

static size_t largest_free(const struct kf_tlsf_pool *pool)
{
	struct kf_tlsf_block *b = (void *)pool->start;
	size_t largest = 0;

	for (; (char *)b < pool->end; b = behind(b)) {
		if (b->head & KF_TLSF_FREE)
			largest = KF_MAX(largest, bytes_of(b));
	}
	return largest;
}

/* Whether a free block is as large as the header promises to find. */
static bool must_fit(size_t size, size_t align)
{
	size_t need = size + 8 + (align > 16 ? align + 16 : 0);

	need = KF_MAX(need, (size_t)32) + need / 32 + 16;
	for (unsigned int i = 0; i < nr_pools; i++) {
		if (largest_free(&pools[i]) >= need)
			return true;
	}
	return false;
}

static size_t some_size(uint64_t *state)
{
	size_t limit = (size_t)1 << chance_below(state, 17);

	return 1 + chance_below(state, limit);
}

static size_t take(struct held *h, uint64_t *state)
{
	size_t size = some_size(state);
	size_t align = chance_below(state, 3)
			       ? 16
			       : (size_t)16 << chance_below(state, 9);
	bool must = must_fit(size, align);

	h->p = kf_tlsf_alloc(&tlsf, size, align);
	if (!h->p) {
		UNIT_REQUIRE(!must);
		return 0;
	}
	UNIT_REQUIRE((uintptr_t)h->p % align == 0);
	UNIT_REQUIRE(kf_tlsf_usable(h->p) >= size);
	UNIT_REQUIRE(kf_tlsf_usable(h->p) <= KF_MAX(size + 31, (size_t)40));
	UNIT_REQUIRE(pool_of(h->p));
	h->size = kf_tlsf_usable(h->p);
	h->key = chance_next(state);
	pattern_fill(h->p, h->size, h->key);
	return 1;
}

static size_t drop(struct held *h)
{
	const struct kf_tlsf_pool *pool = pool_of(h->p);

	UNIT_REQUIRE(pattern_holds(h->p, h->size, h->key));
	kf_tlsf_free(&tlsf, h->p);
	UNIT_REQUIRE(kf_tlsf_look(pool, h->p) == KF_TLSF_IS_FREE);
	h->p = NULL;
	return 1;
}

static void resize(struct held *h, uint64_t *state)
{
	size_t size = some_size(state);
	size_t usable;

	if (!kf_tlsf_resize(&tlsf, h->p, size)) {
		UNIT_REQUIRE(size > h->size);
		UNIT_REQUIRE(kf_tlsf_usable(h->p) == h->size);
		return;
	}
	usable = kf_tlsf_usable(h->p);
	UNIT_REQUIRE(usable >= size);
	UNIT_REQUIRE(pattern_holds(h->p, KF_MIN(usable, h->size), h->key));
	h->size = usable;
	pattern_fill(h->p, h->size, h->key);
}

START_TEST(random_operations_keep_contents_and_invariants)
{
	uint64_t state = 11;
	size_t nr_used = 0;

	add_pool(sizeof(memory[0]));
	for (int i = 0; i < NR_OPERATIONS; i++) {
		struct held *h = &blocks[chance_below(&state, NR_BLOCKS)];

		if (!h->p)
			nr_used += take(h, &state);
		else if (chance_below(&state, 3) == 0)
			resize(h, &state);
		else
			nr_used -= drop(h);
		check_all(nr_used);
		if (i == NR_OPERATIONS / 3 || i == NR_OPERATIONS / 2)
			add_pool(200000 + (size_t)i);
	}
	for (size_t i = 0; i < NR_BLOCKS; i++)
		nr_used -= blocks[i].p ? drop(&blocks[i]) : 0;
	check_all(0);
	/* All is merged again: one block a pool. */
	UNIT_REQUIRE(tlsf.nr_free == NR_POOLS && tlsf.free == tlsf.bytes);
}
END_TEST

START_TEST(every_size_fits_the_pool_that_it_needs_and_none_a_word_less)
{
	for (size_t size = 1; size < 300000; size += 1 + size / 61) {
		size_t need = kf_tlsf_need(size, 16);
		void *p;

		UNIT_REQUIRE(need <= size + size / 31 + 64);
		memset(&tlsf, 0, sizeof(tlsf));
		nr_pools = 0;
		add_pool(need);
		p = kf_tlsf_alloc(&tlsf, size, 16);
		UNIT_REQUIRE(p);
		UNIT_REQUIRE(!kf_tlsf_alloc(&tlsf, size, 16));
		kf_tlsf_free(&tlsf, p);
		check_all(0);

		memset(&tlsf, 0, sizeof(tlsf));
		UNIT_REQUIRE(
			!kf_tlsf_add(&tlsf, memory[0], need - 16, &pools[0]) ||
			!kf_tlsf_alloc(&tlsf, size, 16));
	}
}
END_TEST

START_TEST(every_alignment_fits_the_pool_that_it_needs)
{
	for (size_t align = 16; align <= 65536; align *= 2) {
		for (size_t size = 1; size < 3000; size += 97) {
			unsigned char *p;

			memset(&tlsf, 0, sizeof(tlsf));
			nr_pools = 0;
			add_pool(kf_tlsf_need(size, align));
			p = kf_tlsf_alloc(&tlsf, size, align);
			UNIT_REQUIRE(p && (uintptr_t)p % align == 0);
			memset(p, 0xff, kf_tlsf_usable(p));
			check_all(1);
			kf_tlsf_free(&tlsf, p);
			check_all(0);
		}
	}
}
END_TEST

START_TEST(what_no_pool_can_hold_is_refused)
{
	static const size_t sizes[] = {
		(size_t)1 << 20, KF_TLSF_MAX,  KF_TLSF_MAX + 1, (size_t)1 << 48,
		(size_t)1 << 62, SIZE_MAX - 8, SIZE_MAX};

	add_pool(sizeof(memory[0]));
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		ck_assert_ptr_null(kf_tlsf_alloc(&tlsf, sizes[i], 16));
		ck_assert_ptr_null(kf_tlsf_alloc(&tlsf, 1, KF_TLSF_MAX << 1));
		ck_assert_ptr_null(kf_tlsf_alloc(&tlsf, sizes[i], KF_TLSF_MAX));
	}
	ck_assert_uint_eq(kf_tlsf_need(KF_TLSF_MAX + 1, 16), SIZE_MAX);
	ck_assert_uint_eq(kf_tlsf_need(1, KF_TLSF_MAX << 1), SIZE_MAX);
	ck_assert_uint_eq(kf_tlsf_need(KF_TLSF_MAX, KF_TLSF_MAX), SIZE_MAX);
	ck_assert_uint_lt(kf_tlsf_need(KF_TLSF_MAX, 16), SIZE_MAX);
	check_all(0);
}
END_TEST

START_TEST(pools_of_any_place_and_size_are_taken_or_refused_whole)
{
	for (size_t shift = 0; shift < 32; shift++) {
		for (size_t bytes = 0; bytes < 200; bytes++) {
			char *start = memory[0] + shift;
			bool taken;

			memset(&tlsf, 0, sizeof(tlsf));
			memset(memory[0], 0x55, 300);
			taken = kf_tlsf_add(&tlsf, start, bytes, &pools[0]);
			nr_pools = taken;
			check_all(0);
			UNIT_REQUIRE(taken || bytes < KF_TLSF_POOL_MIN + 15);
			/* Not a byte outside is written. */
			UNIT_REQUIRE(!shift || start[-1] == 0x55);
			UNIT_REQUIRE(start[bytes] == 0x55);
			UNIT_REQUIRE(!taken || kf_tlsf_alloc(&tlsf, 24, 16));
		}
	}
	ck_assert(!kf_tlsf_add(&tlsf, memory[0], 2 * KF_TLSF_MAX, &pools[0]));
}
END_TEST

START_TEST(pools_side_by_side_are_not_merged)
{
	add_pool(4096);
	ck_assert(kf_tlsf_add(&tlsf, memory[0] + 4096, 4096, &pools[1]));
	nr_pools = 2;
	check_all(0);
	ck_assert_ptr_null(kf_tlsf_alloc(&tlsf, 6000, 16));
	ck_assert_ptr_nonnull(kf_tlsf_alloc(&tlsf, 4000, 16));
	ck_assert_ptr_nonnull(kf_tlsf_alloc(&tlsf, 4000, 16));
}
END_TEST

START_TEST(block_made_outside_joins_when_it_is_freed)
{
	void *p = kf_tlsf_make(memory[0], 4096, &pools[0]);

	ck_assert_uint_ge(kf_tlsf_usable(p), 4096 - 32);
	memset(p, 0xff, kf_tlsf_usable(p));
	ck_assert_int_eq(kf_tlsf_look(&pools[0], p), KF_TLSF_IS_USED);
	kf_tlsf_adopt(&tlsf, &pools[0]);
	nr_pools = 1;
	check_all(1);
	kf_tlsf_free(&tlsf, p);
	check_all(0);
	ck_assert_ptr_eq(kf_tlsf_alloc(&tlsf, 1000, 16), p);
}
END_TEST

START_TEST(what_is_no_block_is_told_from_one)
{
	static char outside[64];
	char *p, *q;
	size_t head;

	add_pool(65536);
	p = kf_tlsf_alloc(&tlsf, 1000, 16);
	q = kf_tlsf_alloc(&tlsf, 1000, 16);
	memset(p, 0, 1000);
	ck_assert_int_eq(kf_tlsf_look(pools, p), KF_TLSF_IS_USED);
	for (size_t i = 1; i < 1000; i++)
		UNIT_REQUIRE(kf_tlsf_look(pools, p + i) == KF_TLSF_IS_NONE);
	memset(p, 0x41, 1000);
	for (size_t i = 1; i < 1000; i++)
		UNIT_REQUIRE(kf_tlsf_look(pools, p + i) == KF_TLSF_IS_NONE);
	ck_assert_int_eq(kf_tlsf_look(pools, outside), KF_TLSF_IS_NONE);
	ck_assert_int_eq(kf_tlsf_look(pools, NULL), KF_TLSF_IS_NONE);
	ck_assert_int_eq(kf_tlsf_look(pools, pools->start), KF_TLSF_IS_NONE);
	ck_assert_int_eq(kf_tlsf_look(pools, pools->end), KF_TLSF_IS_NONE);
	/* Merged with the one behind, and with the one before. */
	kf_tlsf_free(&tlsf, q);
	ck_assert_int_eq(kf_tlsf_look(pools, q), KF_TLSF_IS_FREE);
	/* What looks like a head is none, as the block behind knows better. */
	head = (size_t)(pools->end - (p + 48));
	memcpy(p + 56, &head, sizeof(head));
	ck_assert_int_eq(kf_tlsf_look(pools, p + 64), KF_TLSF_IS_NONE);
	kf_tlsf_free(&tlsf, p);
	ck_assert_int_eq(kf_tlsf_look(pools, p), KF_TLSF_IS_FREE);
	ck_assert_int_eq(kf_tlsf_look(pools, q), KF_TLSF_IS_FREE);
}
END_TEST

START_TEST(what_was_done_is_told)
{
	char *p, *q;

	add_pool(65536);
	p = kf_tlsf_alloc(&tlsf, 1000, 16);
	ck_assert_uint_eq(tlsf.did.splits, 1);
	q = kf_tlsf_alloc(&tlsf, 1000, 4096);
	ck_assert_uint_eq(tlsf.did.splits, 2);
	ck_assert_uint_eq(tlsf.did.split[0].left_over, (size_t)(q - p) - 1008);
	ck_assert_uint_eq(tlsf.did.split[1].kept, 1008);
	ck_assert_uint_eq(tlsf.did.split[0].kept,
			  1008 + tlsf.did.split[1].left_over);
	kf_tlsf_free(&tlsf, p);
	ck_assert_uint_eq(tlsf.did.merged, 1);
	ck_assert_uint_eq(tlsf.did.splits, 0);
	ck_assert_ptr_eq(tlsf.did.run, p - KF_TLSF_BLOCK_HEAD);
	ck_assert_uint_eq(tlsf.did.had, 1008);
	ck_assert_uint_eq(tlsf.did.has, (size_t)(q - p));
	kf_tlsf_free(&tlsf, q);
	check_all(0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		random_operations_keep_contents_and_invariants,
		every_size_fits_the_pool_that_it_needs_and_none_a_word_less,
		every_alignment_fits_the_pool_that_it_needs,
		what_no_pool_can_hold_is_refused,
		pools_of_any_place_and_size_are_taken_or_refused_whole,
		pools_side_by_side_are_not_merged,
		block_made_outside_joins_when_it_is_freed,
		what_is_no_block_is_told_from_one,
		what_was_done_is_told,
	};

	return unit_run("engines/tlsf-pool", tests, KF_ARRAY_SIZE(tests));
}

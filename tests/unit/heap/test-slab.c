/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/slab.c: slab offsets (colouring) spread the first blocks of slabs, and
 * aligned blocks stay aligned.
 */
#include "config.h"

#include "heap/large.h"
#include "heap/heap.h"
#include "engines/host.h"
#include "pages/pages.h"
#include "stats/stats.h"
#include "tests/unit/unit.h"

#define NR_SLABS 64
#define NR_OFFSETS (KF_PAGE / KF_SLAB_OFFSET_STEP)

static struct kf_heap *start(void)
{
	kf_stats_init();
	kf_host_init();
	return kf_heap_get();
}

static struct kf_slab *make(struct kf_heap *heap, unsigned int class)
{
	struct kf_slab *slab;

	kf_heap_enter(heap);
	slab = kf_slab_make(heap, class);
	kf_heap_leave(heap);
	UNIT_REQUIRE(slab);
	return slab;
}

/* The number of different offsets that NR_SLABS new slabs have. */
static size_t offsets(struct kf_heap *heap, unsigned int class)
{
	bool seen[NR_OFFSETS] = {false};
	size_t nr = 0;

	for (int i = 0; i < NR_SLABS; i++) {
		const struct kf_slab *slab = make(heap, class);
		size_t before =
			(size_t)(kf_slab_blocks(slab) - slab->run.start);
		size_t used = before + slab->capacity * slab->size;

		ck_assert_uint_lt(before, KF_PAGE);
		ck_assert_uint_le(used, kf_run_bytes(&slab->run));
		nr += !seen[slab->first_offset];
		seen[slab->first_offset] = true;
	}
	UNIT_REQUIRE(nr == 1 || !seen[NR_OFFSETS / 2]);
	return nr;
}

START_TEST(slabs_of_larger_blocks_begin_differently)
{
	struct kf_heap *heap = start();

	/* 14 blocks leave 1024 of 16 pages: 16 places but two of 512. */
	ck_assert_uint_ge(offsets(heap, kf_class_of(4608)), 14);
	ck_assert_uint_ge(offsets(heap, kf_class_of(7168)), 14);
	/* 51 leave 256. */
	ck_assert_uint_ge(offsets(heap, kf_class_of(1280)), 4);
}
END_TEST

START_TEST(others_begin_with_their_pages)
{
	struct kf_heap *heap = start();

	for (size_t size = 16; size <= KF_TINY_MAX; size += 16)
		ck_assert_uint_eq(offsets(heap, kf_class_of(size)), 1);
	for (size_t size = KF_TINY_MAX; size <= KF_SMALL_MAX; size *= 2) {
		ck_assert_uint_eq(offsets(heap, kf_class_of(size)), 1);
		ck_assert_uint_eq(make(heap, kf_class_of(size))->first_offset,
				  0);
	}
}
END_TEST

START_TEST(offset_blocks_are_told_from_other_addresses)
{
	struct kf_heap *heap = start();
	unsigned int class = kf_class_of(4608);
	bool zeroed;
	char *p;

	for (int i = 0; i < 200; i++) {
		const struct kf_slab *slab;

		p = kf_heap_alloc(heap, class, 4608, false, &zeroed);
		slab = kf_slab_at(p);
		UNIT_REQUIRE(slab && slab->first_offset);
		UNIT_REQUIRE(kf_slab_is_block(slab, p));
		UNIT_REQUIRE(!kf_slab_is_block(slab, slab->run.start));
		UNIT_REQUIRE(!kf_slab_is_block(slab, p + 16));
		UNIT_REQUIRE(!kf_slab_is_block(slab, p - 16));
		UNIT_REQUIRE(p + 4608 <= kf_run_end(&slab->run));
	}
}
END_TEST

static void free_block(void *p)
{
	ck_assert_int_eq(kf_host_free(p, 0), KONF_FINE);
}

START_TEST(blocks_are_aligned_beside_offset_ones)
{
	static void *plain[KF_NR_CLASSES], *aligned[KF_NR_CLASSES];
	struct kf_heap *heap = start();
	size_t usable;

	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++)
		plain[class] = kf_host_alloc(kf_class_bytes(class), 16, false,
					     0, &usable);
	for (size_t align = 32; align <= KF_PAGE; align *= 2) {
		for (unsigned int class = 1; class < KF_NR_CLASSES; class ++) {
			size_t size = kf_class_bytes(class) - 1;
			void *p = kf_host_alloc(size, align, false, 0, &usable);

			UNIT_REQUIRE(p && (uintptr_t)p % align == 0);
			UNIT_REQUIRE(usable >= size);
			aligned[class] = p;
		}
		for (unsigned int class = 1; class < KF_NR_CLASSES; class ++)
			free_block(aligned[class]);
	}
	for (unsigned int class = 1; class < KF_NR_CLASSES; class ++)
		free_block(plain[class]);
	kf_heap_flush(heap);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), 0);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		slabs_of_larger_blocks_begin_differently,
		others_begin_with_their_pages,
		offset_blocks_are_told_from_other_addresses,
		blocks_are_aligned_beside_offset_ones,
	};

	return unit_run("heap/slab", tests, KF_ARRAY_SIZE(tests));
}

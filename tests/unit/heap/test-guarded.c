/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/guarded.c: a block is alone on its page, what is beside it and what was
 * freed is closed, and an address tells what its access is.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "engines/host.h"
#include "heap/guarded.h"
#include "heap/marked.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define LIVE 4
#define NR_SLOTS (LIVE * KF_GUARDED_SLOTS_EACH)
#define NR_THREADS 4
#define NR_ROUNDS 3000

static unsigned int nr_reports, nr_gone;
static const void *reported;

static void report(struct kf_guarded_slot *slot, const void *at)
{
	nr_reports++;
	reported = at;
}

static void gone(const void *p, size_t usable, uint32_t mark, bool freed)
{
	UNIT_REQUIRE(mark == 7 && freed);
	__atomic_fetch_add(&nr_gone, 1, __ATOMIC_RELAXED);
}

static void start(void)
{
	kf_stats_init();
	kf_thread_exit_init(kf_heap_detach);
	kf_host_init();
	kf_heap_get();
	kf_mark_hooks.gone = gone;
	ck_assert(kf_guarded_start(LIVE, report));
	kf_guarded_close();
}

static char *take(size_t size, size_t align)
{
	char *p = kf_guarded_alloc(size, align, true, 7);

	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq((uintptr_t)p % align, 0);
	ck_assert_uint_eq(kf_host_usable(p), size);
	ck_assert_uint_eq(kf_mark_of(p), 7);
	for (size_t i = 0; i < size; i++)
		UNIT_REQUIRE(!p[i]);
	memset(p, 0xff, size);
	return p;
}

static char *page_of(const void *p)
{
	return (char *)KF_ALIGN_DOWN((uintptr_t)p, (uintptr_t)KF_PAGE);
}

static void give(void *p)
{
	ck_assert_int_eq(kf_host_free(p, kf_host_usable(p)), KONF_FINE);
}

START_TEST(block_is_at_either_end_of_its_page)
{
	static const size_t sizes[] = {1, 16, 24, 100, 1000, 4095, 4096};
	unsigned int left = 0, right = 0;

	start();
	for (size_t i = 0; i < 140; i++) {
		size_t size = sizes[i % KF_ARRAY_SIZE(sizes)];
		char *p = take(size, 16), *page = page_of(p);

		if (p == page)
			left++;
		else
			right++;
		UNIT_REQUIRE(p == page || page + KF_PAGE - (p + size) < 16);
		UNIT_REQUIRE(!kf_vm_is_readable(page - 1));
		UNIT_REQUIRE(!kf_vm_is_readable(page + KF_PAGE));
		give(p);
		UNIT_REQUIRE(!kf_vm_is_readable(p));
	}
	ck_assert_uint_gt(left, 30);
	ck_assert_uint_gt(right, 30);
	ck_assert_uint_eq(nr_gone, 140);
	ck_assert_uint_eq(nr_reports, 0);
}
END_TEST

START_TEST(alignment_is_kept)
{
	start();
	for (size_t align = 16; align <= KF_PAGE; align *= 2) {
		for (int i = 0; i < 8; i++)
			give(take(300, align));
	}
	ck_assert(kf_guarded_may(KF_PAGE, KF_PAGE));
	ck_assert(!kf_guarded_may(KF_PAGE + 1, 16));
	ck_assert(!kf_guarded_may(16, 2 * KF_PAGE));
}
END_TEST

START_TEST(slot_freed_longest_ago_is_used_first)
{
	char *pages[NR_SLOTS];

	start();
	for (int i = 0; i < NR_SLOTS; i++) {
		char *p = take(64, 16);

		pages[i] = page_of(p);
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(pages[i], pages[j]);
		give(p);
	}
	for (int i = 0; i < 3 * NR_SLOTS; i++) {
		char *p = take(64, 16);

		ck_assert_ptr_eq(page_of(p), pages[i % NR_SLOTS]);
		give(p);
	}
}
END_TEST

START_TEST(live_blocks_have_a_limit_and_are_counted)
{
	char *p[LIVE];
	size_t live;

	start();
	live = kf_heap_live();
	for (int i = 0; i < LIVE; i++)
		p[i] = take(100, 16);
	ck_assert_ptr_null(kf_guarded_alloc(100, 16, false, 7));
	ck_assert_uint_eq(kf_heap_live(), live + LIVE * 100);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), LIVE * 100);
	ck_assert_uint_eq(kf_guarded_nr_live(), LIVE);
	give(p[2]);
	p[2] = take(50, 16);
	ck_assert_uint_eq(kf_heap_live(), live + LIVE * 100 - 50);
	for (int i = 0; i < LIVE; i++)
		give(p[i]);
	ck_assert_uint_eq(kf_heap_live(), live);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
	ck_assert_uint_eq(kf_guarded_nr_live(), 0);
}
END_TEST

START_TEST(address_tells_what_its_access_is)
{
	struct kf_guarded_slot *slot, *other;
	bool first;
	char *p;

	start();
	p = take(64, 16);
	ck_assert_int_eq(kf_guarded_judge(page_of(p) - 1, &slot),
			 KF_GUARDED_UNDERFLOW);
	ck_assert_ptr_eq(slot->block, p);
	ck_assert_int_eq(kf_guarded_judge(page_of(p) + KF_PAGE, &slot),
			 KF_GUARDED_OVERFLOW);
	ck_assert_ptr_eq(slot->block, p);
	ck_assert_int_eq(kf_guarded_judge(page_of(p) + 2 * KF_PAGE, &other),
			 KF_GUARDED_WILD);
	ck_assert(!kf_guarded_slot_of(page_of(p) + 2 * KF_PAGE));
	give(p);
	ck_assert_int_eq(kf_guarded_judge(p, &other), KF_GUARDED_AFTER_FREE);
	ck_assert_ptr_eq(other, slot);
	ck_assert_int_eq(kf_guarded_judge(page_of(p) - 1, &other),
			 KF_GUARDED_AFTER_FREE);
	ck_assert_int_eq(kf_guarded_check(p), KONF_DOUBLE_FREE);
	ck_assert_int_eq(kf_guarded_check(p + 1), KONF_INVALID_POINTER);
	ck_assert_int_eq(kf_host_free(p, 0), KONF_DOUBLE_FREE);
	ck_assert_int_eq(kf_host_free(page_of(p) - 16, 0),
			 KONF_INVALID_POINTER);
	ck_assert(kf_guarded_tell(slot));
	ck_assert(!kf_guarded_tell(slot));
	ck_assert(kf_guarded_admit(p, &first) && first);
	ck_assert(kf_guarded_admit(p, &first) && !first);
	ck_assert(kf_vm_is_readable(p));
	ck_assert_int_eq(p[63], (char)0xff);
}
END_TEST

START_TEST(told_slot_serves_no_other_block)
{
	struct kf_guarded_slot *slot;
	char *p, *other;

	start();
	p = take(64, 16);
	kf_guarded_judge(page_of(p) - 1, &slot);
	ck_assert(kf_guarded_tell(slot));
	give(p);
	/* The program may go on to use it. */
	ck_assert(kf_vm_is_readable(p));
	for (int i = 0; i < 3 * NR_SLOTS; i++) {
		other = take(64, 16);
		ck_assert_ptr_ne(page_of(other), page_of(p));
		give(other);
	}
}
END_TEST

START_TEST(bytes_written_behind_a_block_are_found_at_its_free)
{
	char *p = NULL;

	start();
	for (size_t over = 0; over < 4; over++) {
		unsigned int before = nr_reports;

		p = take(20, 16);
		p[20 + over] = 1;
		give(p);
		ck_assert_uint_eq(nr_reports, before + 1);
		ck_assert_ptr_eq(reported, p + 20 + over);
	}
}
END_TEST

START_TEST(open_pool_has_no_closed_page)
{
	char *live, *freed, *start_of = NULL;

	start();
	live = take(64, 16);
	freed = take(64, 16);
	give(freed);
	start_of = kf_guarded_pool[0].start;
	kf_guarded_open();
	for (size_t i = 0; i < kf_run_bytes(&kf_guarded_pool[0]); i += KF_PAGE)
		UNIT_REQUIRE(kf_vm_is_readable(start_of + i));
	ck_assert_int_eq(freed[0], (char)0xff);
	give(take(64, 16));
	kf_guarded_close();
	for (size_t i = 0; i < kf_run_bytes(&kf_guarded_pool[0]); i += KF_PAGE)
		UNIT_REQUIRE(kf_vm_is_readable(start_of + i) ==
			     (start_of + i == page_of(live)));
	give(live);
	ck_assert(!kf_vm_is_readable(live));
}
END_TEST

static void *churn(void *arg)
{
	for (unsigned int i = 0; i < NR_ROUNDS; i++) {
		size_t size = 1 + (i * 37) % KF_PAGE;
		char *p = kf_guarded_alloc(size, 16, i % 2, 7);

		if (!p)
			continue;
		memset(p, (int)i, size);
		UNIT_REQUIRE(p[size - 1] == (char)i);
		UNIT_REQUIRE(kf_host_usable(p) == size);
		UNIT_REQUIRE(!kf_host_free(p, size));
	}
	return arg;
}

static void *toggle(void *arg)
{
	for (int i = 0; i < NR_ROUNDS / 10; i++) {
		kf_guarded_open();
		kf_guarded_close();
	}
	return arg;
}

START_TEST(threads_share_the_slots_while_they_open_and_close)
{
	pthread_t thread[NR_THREADS + 1];

	start();
	for (int i = 0; i < NR_THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, churn, NULL),
				 0);
	ck_assert_int_eq(
		pthread_create(&thread[NR_THREADS], NULL, toggle, NULL), 0);
	for (int i = 0; i <= NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(kf_guarded_nr_live(), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_large), 0);
	ck_assert_uint_eq(nr_reports, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		block_is_at_either_end_of_its_page,
		alignment_is_kept,
		slot_freed_longest_ago_is_used_first,
		live_blocks_have_a_limit_and_are_counted,
		address_tells_what_its_access_is,
		told_slot_serves_no_other_block,
		bytes_written_behind_a_block_are_found_at_its_free,
		open_pool_has_no_closed_page,
		threads_share_the_slots_while_they_open_and_close,
	};

	return unit_run("heap/guarded", tests, KF_ARRAY_SIZE(tests));
}

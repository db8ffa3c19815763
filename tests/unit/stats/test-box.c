/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/box.c: rings of events in the place of slots, read back by who reads
 * the file.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stats/box.h"
#include "sys/thread.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

#define RING (4 * KF_STATS_EVENTS) /* what 256 events come to */
#define NR_THREADS 8
#define CHILD_OK 23

static struct kf_box box;

static struct kf_slot *begin(uint32_t events)
{
	struct kf_slot *slot;

	support_publish();
	kf_box_init(events);
	kf_box_share(kf_stats_slot_take());
	slot = kf_stats_slot_take();
	kf_stats_slot_label(slot, KF_SLOT_IN_USE);
	return slot;
}

static bool is_chunk(const struct kf_stats_chunk *c)
{
	return c->state == KF_SLOT_FREE && c->slot;
}

/* What a chunk has of a kind. */
static unsigned int in_chunk(const struct kf_stats_chunk *c,
			     enum kf_box_kind kind, uint64_t *sum)
{
	unsigned int nr = 0;

	for (unsigned int k = 0; k < KF_STATS_EVENTS; k++) {
		const struct kf_stats_event *e = &c->event[k];

		if (e->when >> KF_STATS_EVENT_TIME_BITS != kind)
			continue;
		*sum += e->bytes;
		nr++;
	}
	return nr;
}

/* What the file has of a kind; @sum: out: of its bytes. */
static unsigned int in_file(enum kf_box_kind kind, uint64_t *sum)
{
	char *bytes = support_check(kf_stats_path());
	const struct kf_stats_header *h = (void *)bytes;
	unsigned int nr = 0;

	*sum = 0;
	for (uint32_t i = 0; i < h->slots.nr; i++) {
		const void *slot = kf_image_slot(bytes, i);

		if (is_chunk(slot))
			nr += in_chunk(slot, kind, sum);
	}
	free(bytes);
	return nr;
}

/* Chunks that the file has. */
static unsigned int nr_chunks(void)
{
	char *bytes = support_check(kf_stats_path());
	const struct kf_stats_header *h = (void *)bytes;
	unsigned int nr = 0;

	for (uint32_t i = 0; i < h->slots.nr; i++)
		nr += is_chunk((const void *)kf_image_slot(bytes, i));
	free(bytes);
	return nr;
}

static void put(unsigned int nr)
{
	for (unsigned int i = 1; i <= nr; i++)
		kf_box_put(KF_BOX_purge, 16, i);
}

START_TEST(ring_holds_the_last_events)
{
	unsigned int nr = 1000;
	uint64_t sum;

	kf_box_attach(&box, begin(256));
	put(nr);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum), RING);
	ck_assert_uint_eq(sum, (uint64_t)RING * nr - RING * (RING - 1) / 2);
	ck_assert_uint_eq(in_file(KF_BOX_thread_start, &sum), 0);
}
END_TEST

START_TEST(few_events_take_one_chunk)
{
	uint64_t sum;

	kf_box_attach(&box, begin(256));
	put(KF_STATS_EVENTS - 1);
	ck_assert_uint_eq(nr_chunks(), 1);
	put(1);
	ck_assert_uint_eq(nr_chunks(), 2);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum), KF_STATS_EVENTS);
	ck_assert_uint_eq(in_file(KF_BOX_thread_start, &sum), 1);
	ck_assert_uint_eq(sum, (uint64_t)getpid());
}
END_TEST

START_TEST(zero_events_take_nothing)
{
	struct kf_slot *slot = begin(0);

	put(1);
	kf_box_attach(&box, slot);
	put(1000);
	kf_box_refill(16);
	kf_box_detach();
	ck_assert_uint_eq(nr_chunks(), 0);
}
END_TEST

START_TEST(first_thread_takes_over_what_was_before)
{
	struct kf_slot *slot = begin(256);
	static struct kf_box second;
	uint64_t sum;

	put(3);
	ck_assert_uint_eq(nr_chunks(), 1);
	kf_box_attach(&box, slot);
	put(4);
	ck_assert_uint_eq(nr_chunks(), 1);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum), 7);
	kf_box_detach();
	put(1);
	ck_assert_uint_eq(nr_chunks(), 2);
	kf_box_attach(&second, kf_stats_slot_take());
	put(1);
	ck_assert_uint_eq(nr_chunks(), 3);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum), 9);
}
END_TEST

START_TEST(refills_are_told_once_a_tick)
{
	uint64_t sum, now, then;
	unsigned int nr = 1;

	kf_box_attach(&box, begin(4096));
	then = kf_now_coarse_ns();
	do {
		kf_box_refill(64);
		now = kf_now_coarse_ns();
		nr += now != then;
		then = now;
	} while (nr < 5);
	/* A tick may fall between the two looks at the clock. */
	ck_assert_uint_ge(in_file(KF_BOX_refill, &sum), 3);
	ck_assert_uint_le(in_file(KF_BOX_refill, &sum), nr);
}
END_TEST

/* In the ring that the thread has, of its own or shared. */
static void look_at_rows(void)
{
	uint64_t sum;

	put(1);
	for (unsigned int i = 0; i < 130; i++)
		kf_box_put(i % 2 ? KF_BOX_large_free : KF_BOX_large_alloc, 16,
			   i);
	ck_assert_uint_eq(in_file(KF_BOX_large_alloc, &sum), 3);
	ck_assert_uint_eq(sum, 0 + 64 + 128);
	ck_assert_uint_eq(in_file(KF_BOX_large_free, &sum), 3);
	put(1);
	for (unsigned int i = 0; i < 4; i++)
		kf_box_put(KF_BOX_large_alloc, 16, 7);
	ck_assert_uint_eq(in_file(KF_BOX_large_alloc, &sum), 5);
}

START_TEST(of_large_blocks_in_a_row_two_in_64_are_told)
{
	kf_box_attach(&box, begin(4096));
	look_at_rows();
}
END_TEST

START_TEST(shared_ring_has_rows_too)
{
	begin(4096);
	look_at_rows();
}
END_TEST

static void *put_many(void *unused)
{
	put(10000);
	return unused;
}

START_TEST(threads_share_a_ring_and_tear_none_of_its_events)
{
	pthread_t thread[NR_THREADS];
	unsigned int nr;
	uint64_t sum;

	begin(256);
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_create(&thread[i], NULL, put_many, NULL));
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_join(thread[i], NULL));
	nr = in_file(KF_BOX_purge, &sum);
	/* One whose writer was overtaken by a whole round may be missing. */
	ck_assert_uint_le(nr, RING);
	ck_assert_uint_ge(nr, RING - NR_THREADS);
	ck_assert_uint_eq(in_file(KF_BOX_none, &sum), RING - nr);
}
END_TEST

START_TEST(ring_ends_with_what_it_has_where_there_is_no_more)
{
	uint64_t sum;

	kf_box_attach(&box, begin(256));
	kf_stats.max_slots = kf_stats.nr_slots;
	put(1000);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum) % KF_STATS_EVENTS, 0);
	ck_assert_uint_lt(in_file(KF_BOX_purge, &sum), RING);
	ck_assert_uint_gt(in_file(KF_BOX_purge, &sum), 0);
}
END_TEST

START_TEST(threads_have_their_slots_beside_the_rings)
{
	static struct kf_box many[KF_STATS_MAX_SLOTS / 2 - 2];
	struct kf_slot *slot = begin(256);

	for (size_t i = 0; i < KF_ARRAY_SIZE(many); i++) {
		kf_box_attach(&many[i], slot);
		put(RING);
		slot = kf_stats_slot_take();
	}
	ck_assert_uint_eq(kf_word_get(KF_WORD_lost_slots), 0);
}
END_TEST

START_TEST(child_begins_with_an_empty_ring)
{
	struct kf_stats_conf conf = support_conf();
	uint64_t sum;
	pid_t pid;

	kf_box_attach(&box, begin(256));
	put(5);
	kf_stats_prepare_fork();
	pid = fork();
	if (!pid) {
		kf_stats_fork_child();
		kf_box_put(KF_BOX_forked, 0, 0);
		kf_stats_publish(&conf, true);
		put(2);
		if (in_file(KF_BOX_purge, &sum) != 2 ||
		    in_file(KF_BOX_forked, &sum) != 1)
			_exit(1);
		_exit(CHILD_OK);
	}
	kf_stats_parent_fork();
	ck_assert_int_eq(WEXITSTATUS(support_join(pid)), CHILD_OK);
	ck_assert_uint_eq(in_file(KF_BOX_purge, &sum), 5);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		ring_holds_the_last_events,
		few_events_take_one_chunk,
		zero_events_take_nothing,
		first_thread_takes_over_what_was_before,
		refills_are_told_once_a_tick,
		of_large_blocks_in_a_row_two_in_64_are_told,
		shared_ring_has_rows_too,
		threads_share_a_ring_and_tear_none_of_its_events,
		ring_ends_with_what_it_has_where_there_is_no_more,
		threads_have_their_slots_beside_the_rings,
		child_begins_with_an_empty_ring,
	};

	return unit_run("stats/box", tests, KF_ARRAY_SIZE(tests));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/events.c: rings become one list by time, and what is not whole is left
 * out.
 */
#include "config.h"

#include "stats/box.h"
#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct fixture f;

/* Slot 0 is main's, slots 2 and 3 are its ring; 1 is another thread's, 4 of it.
 */
static void make(void)
{
	support_begin();
	fixture_make(&f, 5);
	f.slots[0].tid = 100;
	f.slots[1].state = KF_SLOT_IDLE;
	f.slots[1].tid = 200;
	memcpy(f.slots[1].name, "worker", sizeof("worker"));
}

static void put(unsigned int chunk, uint32_t slot, uint32_t index,
		unsigned int place, enum kf_box_kind kind, uint64_t time,
		uint64_t bytes)
{
	struct kf_stats_chunk *c = (void *)&f.slots[chunk];

	c->slot = slot;
	c->index = index;
	c->event[place] = (struct kf_stats_event){
		.when = (uint64_t)kind << KF_STATS_EVENT_TIME_BITS | time,
		.bytes = bytes,
	};
}

static struct kf_snapshot read_file(unsigned int tables)
{
	struct kf_snapshot s;

	support_write(&f, "events");
	ck_assert_int_eq(kf_snapshot_read_with(AT_FDCWD, support_path("events"),
					       tables, &s),
			 KF_READ_OK);
	return s;
}

START_TEST(events_of_all_rings_are_in_order)
{
	struct kf_snapshot s;

	make();
	put(3, 1, 1, 0, KF_BOX_map, 50, 5);
	put(2, 1, 0, 82, KF_BOX_map, 10, 1);
	put(2, 1, 0, 83, KF_BOX_unmap, 30, 3);
	put(4, 2, 0, 0, KF_BOX_purge, 20, 2);
	put(4, 2, 0, 1, KF_BOX_purge, 40, 4);
	s = read_file(KF_TABLE_EVENTS);
	ck_assert_uint_eq(s.nr_events, 5);
	for (unsigned int i = 0; i < 5; i++) {
		bool mine = i % 2 == 0;

		ck_assert_uint_eq(s.events[i].time_ns, 10 * (i + 1));
		ck_assert_uint_eq(s.events[i].bytes, i + 1);
		ck_assert_int_eq(s.events[i].tid, mine ? 100 : 200);
		ck_assert_str_eq(s.events[i].thread, mine ? "main" : "worker");
	}
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(events_of_one_time_keep_the_order_of_their_ring)
{
	struct kf_snapshot s;

	make();
	/* The ring went round: what is oldest stands behind place 1. */
	for (unsigned int i = 0; i < KF_STATS_EVENTS; i++)
		put(2, 1, 0, i, KF_BOX_large_alloc, i < 2 ? 9 : 5,
		    i < 2 ? KF_STATS_EVENTS + i : i);
	s = read_file(KF_TABLE_EVENTS);
	ck_assert_uint_eq(s.nr_events, KF_STATS_EVENTS);
	for (unsigned int i = 0; i < s.nr_events; i++)
		ck_assert_uint_eq(s.events[i].bytes, i + 2);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(threads_that_had_the_ring_before_are_told)
{
	static const int32_t tids[] = {150, 150, 160, 160, 160, 200, 200};
	struct kf_snapshot s;

	make();
	put(4, 2, 0, 0, KF_BOX_map, 1, 0);
	put(4, 2, 0, 1, KF_BOX_thread_end, 2, 150);
	put(4, 2, 0, 2, KF_BOX_thread_start, 3, 160);
	put(4, 2, 0, 3, KF_BOX_map, 4, 0);
	put(4, 2, 0, 4, KF_BOX_thread_end, 5, 160);
	put(4, 2, 0, 5, KF_BOX_thread_start, 6, 200);
	put(4, 2, 0, 6, KF_BOX_map, 7, 0);
	s = read_file(KF_TABLE_EVENTS);
	ck_assert_uint_eq(s.nr_events, KF_ARRAY_SIZE(tids));
	for (unsigned int i = 0; i < s.nr_events; i++) {
		ck_assert_int_eq(s.events[i].tid, tids[i]);
		ck_assert_str_eq(s.events[i].thread,
				 tids[i] == 200 ? "worker" : "");
	}
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(events_that_are_being_written_are_left_out)
{
	struct kf_snapshot s;

	make();
	put(2, 1, 0, 0, KF_BOX_map, 1, 11);
	put(2, 1, 0, 1, KF_BOX_none, 0, 22);
	put(2, 1, 0, 2, KF_BOX_map, 3, 33);
	s = read_file(KF_TABLE_EVENTS);
	ck_assert_uint_eq(s.nr_events, 2);
	ck_assert_uint_eq(s.events[1].bytes, 33);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(chunks_count_nothing)
{
	struct kf_snapshot s;

	make();
	for (unsigned int i = 0; i < KF_STATS_EVENTS; i++)
		put(2, 1, 0, i, KF_BOX_corruption, i + 1, UINT64_MAX);
	s = read_file(0);
	ck_assert_uint_eq(s.nr_events, 0);
	ck_assert_uint_eq(s.nr_threads, 2);
	ck_assert_uint_eq(s.totals.mallocs, 0);
	ck_assert_uint_eq(kf_snapshot_value(&s, "calloc_calls"), 0);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(chunk_of_no_slot_is_left_out)
{
	struct kf_snapshot s;

	make();
	put(2, 77, 0, 0, KF_BOX_map, 1, 1);
	put(3, UINT32_MAX, 0, 0, KF_BOX_map, 1, 1);
	put(4, 2, UINT32_MAX, 0, KF_BOX_map, 1, 1);
	s = read_file(KF_TABLE_EVENTS);
	ck_assert_uint_eq(s.nr_events, 1);
	kf_snapshot_release(&s);
}
END_TEST

START_TEST(garbage_in_chunks_is_read_to_its_end)
{
	struct kf_snapshot s;
	unsigned int seed = 1;

	make();
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 2; i < 5; i++) {
			uint64_t *word = (void *)&f.slots[i];

			for (size_t k = 0; k < sizeof(f.slots[i]) / 8; k++)
				word[k] = (uint64_t)rand_r(&seed) << 40 ^
					  (uint64_t)rand_r(&seed);
			f.slots[i].state = KF_SLOT_FREE;
			((struct kf_stats_chunk *)(void *)word)->slot =
				1 + round % 5;
		}
		s = read_file(KF_TABLE_EVENTS);
		ck_assert_uint_eq(s.nr_events, 3 * KF_STATS_EVENTS);
		for (unsigned int i = 1; i < s.nr_events; i++)
			ck_assert_uint_le(s.events[i - 1].time_ns,
					  s.events[i].time_ns);
		kf_snapshot_release(&s);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		events_of_all_rings_are_in_order,
		events_of_one_time_keep_the_order_of_their_ring,
		threads_that_had_the_ring_before_are_told,
		events_that_are_being_written_are_left_out,
		chunks_count_nothing,
		chunk_of_no_slot_is_left_out,
		garbage_in_chunks_is_read_to_its_end,
	};

	return unit_run("reader/events", tests, KF_ARRAY_SIZE(tests));
}

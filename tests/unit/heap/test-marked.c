/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/marked.c: a block keeps its mark until it goes, and somebody hears of
 * that, once, with its size.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/large.h"
#include "heap/marked.h"
#include "engines/host.h"
#include "pages/pages.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define NR_BLOCKS 2000
#define BYTES 200
#define CHILD_OK 23

static __thread size_t usable; /* of the last block */
static void *blocks[NR_BLOCKS];

/* What the hooks were told; atomic. */
static uint64_t nr_freed, freed_bytes, nr_taken, taken_bytes, nr_came;
static uint32_t next_mark, last_mark;

static uint32_t next(uint32_t old, size_t before, size_t after)
{
	return next_mark;
}

static void gone(const void *p, size_t bytes, uint32_t mark, bool freed)
{
	UNIT_REQUIRE(mark);
	__atomic_fetch_add(freed ? &nr_freed : &nr_taken, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(freed ? &freed_bytes : &taken_bytes, bytes,
			   __ATOMIC_RELAXED);
	__atomic_store_n(&last_mark, mark, __ATOMIC_RELAXED);
}

static void came(const void *p, size_t bytes, uint32_t mark)
{
	UNIT_REQUIRE(mark == next_mark && kf_mark_of(p) == mark);
	UNIT_REQUIRE(kf_host_usable(p) == bytes);
	nr_came++;
}

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_thread_exit_init(kf_heap_detach);
	kf_host_init();
	kf_mark_hooks = (struct kf_mark_hooks){
		.next = next, .gone = gone, .came = came};
}

static void *take(size_t size, uint32_t mark)
{
	void *p = mark ? kf_marked_alloc(size, 16, false, mark, &usable)
		       : kf_host_alloc(size, 16, false, 0, &usable);

	UNIT_REQUIRE(p && usable >= size && usable == kf_host_usable(p));
	UNIT_REQUIRE(kf_mark_of(p) == mark);
	memset(p, 0xff, usable);
	return p;
}

static void drop(void *p)
{
	UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
}

static void *resize(void *p, size_t size)
{
	enum konf_misuse wrong;

	p = kf_host_realloc(p, size, &wrong);
	UNIT_REQUIRE(p && wrong == KONF_FINE);
	usable = kf_host_usable(p);
	return p;
}

static void in_a_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void check_all_is_home(void)
{
	kf_host_trim(0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs_made),
			  kf_word_get(KF_WORD_slabs_freed));
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), 0);
	ck_assert_uint_eq(kf_heap_live(), 0);
}

START_TEST(block_of_any_size_has_its_mark_until_it_goes)
{
	static const size_t sizes[] = {1,     100,   1024,   5000,
				       32768, 50000, 1 << 20};
	size_t bytes = 0;

	start();
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		blocks[i] = take(sizes[i], (uint32_t)i + 7);
		bytes += usable;
	}
	ck_assert_uint_eq(kf_heap_live(), bytes);
	for (size_t i = 0; i < KF_ARRAY_SIZE(sizes); i++) {
		UNIT_REQUIRE(kf_mark_of(blocks[i]) == i + 7);
		drop(blocks[i]);
		ck_assert_uint_eq(last_mark, i + 7);
	}
	ck_assert_uint_eq(nr_freed, KF_ARRAY_SIZE(sizes));
	ck_assert_uint_eq(freed_bytes, bytes);
	check_all_is_home();
}
END_TEST

START_TEST(marks_survive_full_blocks_around_them)
{
	start();
	for (size_t size = 1; size <= 32768; size = size * 5 / 4 + 7) {
		for (uint32_t i = 0; i < 100; i++)
			blocks[i] = take(size, i + 1);
		for (uint32_t i = 0; i < 100; i++) {
			UNIT_REQUIRE(kf_mark_of(blocks[i]) == i + 1);
			drop(blocks[i]);
		}
	}
	check_all_is_home();
}
END_TEST

START_TEST(aligned_and_zeroed_blocks_are_what_they_are_called)
{
	start();
	for (size_t align = 16; align <= 1 << 20; align *= 4) {
		for (size_t size = 8; size < 200000; size = size * 7 + 3) {
			char *p;

			drop(take(size, 5));
			p = kf_marked_alloc(size, align, true, 9, &usable);
			UNIT_REQUIRE(p && (uintptr_t)p % align == 0);
			for (size_t i = 0; i < usable; i++)
				UNIT_REQUIRE(p[i] == 0);
			UNIT_REQUIRE(kf_mark_of(p) == 9);
			drop(p);
		}
	}
	check_all_is_home();
}
END_TEST

START_TEST(other_blocks_have_no_mark)
{
	void *small, *large;

	start();
	drop(take(100000, 3));
	drop(take(100, 3));
	small = take(100, 0);
	large = take(100000, 0);
	ck_assert_uint_eq(kf_mark_of((char *)small + 16), 0);
	ck_assert_uint_eq(kf_mark_of(&small), 0);
	ck_assert_uint_eq(kf_mark_of(NULL), 0);
	drop(small);
	drop(large);
	ck_assert_uint_eq(nr_freed, 2);
}
END_TEST

START_TEST(realloc_takes_the_old_state_and_gives_the_new)
{
	static const size_t to[] = {90,	   150,	  20,	  5000,
				    60000, 70000, 400000, 50};
	void *p;

	start();
	for (uint32_t mark = 0; mark < 2; mark++) {
		size_t had;

		p = take(100, 4);
		next_mark = mark;
		for (size_t i = 0; i < KF_ARRAY_SIZE(to); i++) {
			bool marked = kf_mark_of(p);

			had = kf_host_usable(p);
			nr_taken = taken_bytes = nr_came = 0;
			p = resize(p, to[i]);
			ck_assert_uint_eq(nr_taken, marked);
			ck_assert_uint_eq(taken_bytes, marked ? had : 0);
			ck_assert_uint_eq(nr_came, mark ? 1 : 0);
			ck_assert_uint_eq(kf_mark_of(p), mark);
		}
		next_mark = 0;
		drop(p);
	}
	ck_assert_uint_eq(nr_freed, 1);
	check_all_is_home();
}
END_TEST

START_TEST(realloc_keeps_contents_where_a_mark_has_to_move_it)
{
	unsigned char *p, *to;

	start();
	p = take(100, 0);
	for (unsigned char i = 0; i < 100; i++)
		p[i] = i;
	next_mark = 8;
	to = resize(p, 100);
	UNIT_REQUIRE(to != p && kf_mark_of(to) == 8);
	for (unsigned char i = 0; i < 100; i++)
		UNIT_REQUIRE(to[i] == i);
	ck_assert_uint_eq(nr_freed + nr_taken, 0);
	drop(to);
	check_all_is_home();
}
END_TEST

static void *take_all(void *unused)
{
	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		blocks[i] = take(BYTES, i + 1);
	return NULL;
}

static void *drop_all(void *unused)
{
	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		drop(blocks[i]);
	return NULL;
}

static void *take_and_drop_others(void *unused)
{
	for (uint32_t i = 0; i < NR_BLOCKS; i++) {
		drop(blocks[i]);
		blocks[i] = take(BYTES, 0);
		UNIT_REQUIRE(!kf_slab_has_marks(kf_slab_at(blocks[i])));
	}
	return NULL;
}

START_TEST(block_that_another_thread_frees_goes_home)
{
	start();
	take_all(NULL);
	in_a_thread(drop_all, NULL);
	ck_assert_uint_eq(nr_freed, NR_BLOCKS);
	ck_assert_uint_eq(kf_heap_live(), 0);
	check_all_is_home();
}
END_TEST

START_TEST(threads_do_not_hand_out_marked_blocks_of_others_again)
{
	start();
	take_all(NULL);
	in_a_thread(take_and_drop_others, NULL);
	ck_assert_uint_eq(nr_freed, NR_BLOCKS);
}
END_TEST

static void *tell_heap(void *heap)
{
	*(struct kf_heap **)heap = kf_marked_heap(kf_heap_get());
	return NULL;
}

START_TEST(heap_of_an_ended_thread_is_adopted_with_its_marked_blocks)
{
	struct kf_heap *first = NULL, *second = NULL;

	start();
	kf_heap_get();
	in_a_thread(tell_heap, &first);
	in_a_thread(take_all, NULL);
	in_a_thread(tell_heap, &second);
	ck_assert_ptr_eq(first, second);
	in_a_thread(drop_all, NULL);
	ck_assert_uint_eq(nr_freed, NR_BLOCKS);
	check_all_is_home();
}
END_TEST

START_TEST(threads_that_share_a_heap_have_marked_blocks_too)
{
	start();
	kf_large_conf.arena_max = 1;
	kf_heap_get();
	in_a_thread(take_all, NULL);
	in_a_thread(drop_all, NULL);
	ck_assert_uint_eq(nr_freed, NR_BLOCKS);
	check_all_is_home();
}
END_TEST

static bool stop;

static void *take_and_drop(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *p[64];

		for (uint32_t i = 0; i < 64; i++)
			p[i] = take(1 + i * 77, i % 2 ? i : 0);
		for (uint32_t i = 0; i < 64; i++)
			drop(p[i]);
	}
	return NULL;
}

static int child_job(void)
{
	uint64_t before;

	kf_host_fork_done(true);
	before = nr_freed;
	drop_all(NULL);
	take_all(NULL);
	drop_all(NULL);
	return nr_freed - before == 2 * NR_BLOCKS ? CHILD_OK : 1;
}

START_TEST(forked_child_has_the_blocks_and_their_marks)
{
	pthread_t thread;
	int status;

	start();
	take_all(NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, take_and_drop, NULL), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		kf_host_fork_prepare();
		pid = fork();
		if (pid == 0)
			_exit(child_job());
		kf_host_fork_done(false);
		UNIT_REQUIRE(waitpid(pid, &status, 0) == pid);
		UNIT_REQUIRE(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), CHILD_OK);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	drop_all(NULL);
	check_all_is_home();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		block_of_any_size_has_its_mark_until_it_goes,
		marks_survive_full_blocks_around_them,
		aligned_and_zeroed_blocks_are_what_they_are_called,
		other_blocks_have_no_mark,
		realloc_takes_the_old_state_and_gives_the_new,
		realloc_keeps_contents_where_a_mark_has_to_move_it,
		block_that_another_thread_frees_goes_home,
		threads_do_not_hand_out_marked_blocks_of_others_again,
		heap_of_an_ended_thread_is_adopted_with_its_marked_blocks,
		threads_that_share_a_heap_have_marked_blocks_too,
		forked_child_has_the_blocks_and_their_marks,
	};

	return unit_run("heap/marked", tests, KF_ARRAY_SIZE(tests));
}

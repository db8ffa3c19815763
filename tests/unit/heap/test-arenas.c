/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/bin.c, slab.c and arenas.c: who has which heap, and that every
 * block and slab comes home.
 */
#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/large.h"
#include "engines/host.h"
#include "heap/remote.h"
#include "pages/pages.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define NR_BLOCKS 2000
#define BYTES 224 /* the last class of its group, so that it is made itself */

static __thread size_t usable; /* of the last block */
static void *blocks[NR_BLOCKS];

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_thread_exit_init(kf_heap_detach);
	kf_host_init();
}

static void in_a_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *take_all(void *unused)
{
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		blocks[i] = kf_host_alloc(BYTES, 16, false, 0, &usable);
		UNIT_REQUIRE(blocks[i]);
	}
	return NULL;
}

static void *drop_all(void *unused)
{
	for (size_t i = 0; i < NR_BLOCKS; i++)
		UNIT_REQUIRE(kf_host_free(blocks[i], 0) == KONF_FINE);
	return NULL;
}

static void *take_and_drop_all(void *unused)
{
	take_all(unused);
	return drop_all(unused);
}

static void *tell_heap(void *heap)
{
	*(struct kf_heap **)heap = kf_heap_get();
	return NULL;
}

static struct kf_slab *slab_of(void *p)
{
	return kf_container_of(kf_map_get(p), struct kf_slab, run);
}

static void check_all_is_home(void)
{
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), 0);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs_made),
			  kf_word_get(KF_WORD_slabs_freed));
	ck_assert_uint_eq(kf_heap_live_small(), 0);
}

START_TEST(heap_of_an_ended_thread_is_adopted)
{
	struct kf_heap *first = NULL, *second = NULL;

	start();
	kf_heap_get();
	in_a_thread(tell_heap, &first);
	ck_assert_int_eq(first->counters.state, KF_COUNTERS_IDLE);
	in_a_thread(tell_heap, &second);
	ck_assert_ptr_eq(first, second);
	ck_assert_ptr_ne(first, kf_heap_self());
	ck_assert_uint_eq(kf_word_get(KF_WORD_arenas), 2);
	ck_assert_uint_eq(kf_word_get(KF_WORD_arena_reuses), 1);
	ck_assert_uint_eq(kf_word_get(KF_WORD_threads), 1);
}
END_TEST

START_TEST(thread_beyond_arena_max_is_a_guest)
{
	struct kf_heap *heap = &(struct kf_heap){0};

	start();
	kf_large_conf.arena_max = 1;
	kf_heap_get();
	in_a_thread(tell_heap, &heap);
	ck_assert_ptr_null(heap);
	ck_assert_uint_eq(kf_word_get(KF_WORD_arenas), 1);
}
END_TEST

START_TEST(what_guests_freed_goes_home_when_scavenged)
{
	start();
	kf_large_conf.arena_max = 1;
	kf_heap_get();
	in_a_thread(take_and_drop_all, NULL);
	ck_assert_uint_gt(kf_word_get(KF_WORD_slabs), 0);
	kf_heap_scavenge();
	check_all_is_home();
}
END_TEST

START_TEST(what_another_thread_freed_goes_home_when_flushed)
{
	struct kf_heap *heap;

	start();
	take_all(NULL);
	in_a_thread(drop_all, NULL);
	heap = kf_heap_get();
	ck_assert_ptr_nonnull(heap->inbox);
	kf_heap_flush(heap);
	ck_assert_uint_eq(heap->front.slot->scalar[KF_SLOT_remote_collected],
			  NR_BLOCKS);
	ck_assert_uint_eq(heap->front.slot->scalar[KF_SLOT_carved], 0);
	check_all_is_home();
}
END_TEST

START_TEST(what_was_freed_into_an_idle_heap_goes_home_when_scavenged)
{
	struct kf_heap *heap;

	start();
	heap = kf_heap_get();
	in_a_thread(take_all, NULL);
	ck_assert_uint_gt(kf_word_get(KF_WORD_slabs), 0);
	drop_all(NULL);
	kf_remote_send_all(heap);
	kf_heap_scavenge();
	check_all_is_home();
}
END_TEST

/* All in one go, and never more than a little is under way. */
START_TEST(blocks_of_others_wait_in_outboxes_within_the_credit)
{
	struct kf_heap *heap;
	uint64_t waiting = 0;

	start();
	heap = kf_heap_get();
	in_a_thread(take_all, NULL);
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		struct kf_heap *owner = kf_slab_owner(slab_of(blocks[i]));
		void *before = owner->inbox;

		UNIT_REQUIRE(kf_host_free(blocks[i], 0) == KONF_FINE);
		waiting += slab_of(blocks[i])->size;
		if (owner->inbox != before)
			waiting = 0;
		ck_assert_uint_le(waiting, KF_BUDGET);
	}
	ck_assert_uint_eq(heap->front.slot->scalar[KF_SLOT_remote_frees],
			  NR_BLOCKS);
}
END_TEST

/* So that nobody waits for an owner that sleeps. */
START_TEST(blocks_of_others_are_handed_out_again)
{
	struct kf_heap *heap;
	void *p = NULL;

	start();
	heap = kf_heap_get();
	in_a_thread(take_all, NULL);
	UNIT_REQUIRE(kf_host_alloc(BYTES, 16, false, 0, &usable));
	ck_assert(heap->reuse);
	/* From here on a block of its own may be one that others gave. */
	ck_assert(!kf_cache_used);
	UNIT_REQUIRE(kf_host_free(blocks[0], 0) == KONF_FINE);
	ck_assert(kf_cache_used);
	for (size_t i = 0; i < NR_BLOCKS && p != blocks[0]; i++)
		p = kf_host_alloc(BYTES, 16, false, 0, &usable);
	ck_assert_ptr_eq(p, blocks[0]);
	ck_assert_int_eq(heap->budget, KF_BUDGET);
	UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
	ck_assert_int_lt(heap->budget, KF_BUDGET);
	kf_heap_flush(heap);
	ck_assert_ptr_nonnull(kf_slab_owner(slab_of(p))->inbox);
}
END_TEST

START_TEST(empty_slab_is_kept_for_another_class_until_trimmed)
{
	struct kf_heap *heap;
	size_t made, slabs;
	void *p;

	start();
	heap = kf_heap_get();
	take_all(NULL);
	drop_all(NULL);
	ck_assert_uint_gt(heap->runs.nr_pages, 0);
	made = kf_word_get(KF_WORD_slabs_made);
	slabs = kf_word_get(KF_WORD_slabs);
	p = kf_host_alloc(2 * BYTES, 16, false, 0, &usable);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs_made), made + 1);
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), slabs);
	UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
	kf_heap_flush(heap);
	ck_assert_uint_eq(heap->runs.nr_pages, 0);
	check_all_is_home();
}
END_TEST

START_TEST(one_cache_serves_slabs_and_large_blocks)
{
	const size_t size = 16 * KF_PAGE;
	struct kf_pages_sums sums;
	unsigned char *at;

	start();
	/* The first slab of the largest class has two blocks. */
	ck_assert_uint_eq(size, 2 * KF_SMALL_MAX);
	at = kf_host_alloc(size, 16, false, 0, &usable);
	memset(at, 1, size);
	UNIT_REQUIRE(kf_host_free(at, 0) == KONF_FINE);
	ck_assert_ptr_eq(kf_host_alloc(KF_SMALL_MAX, 16, false, 0, &usable),
			 at);
	ck_assert_ptr_eq(slab_of(at + KF_PAGE), slab_of(at));
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), size);
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_large_kept), 0);
	ck_assert_ptr_null(kf_pages_check(&sums));
	UNIT_REQUIRE(kf_host_free(at, 0) == KONF_FINE);
	ck_assert_ptr_eq(kf_host_alloc(size, 16, true, 0, &usable), at);
	UNIT_REQUIRE(!at[0] && !at[size - 1]);
	ck_assert_ptr_null(kf_slab_at(at + KF_PAGE));
	ck_assert_uint_eq(kf_word_get(KF_WORD_slabs), 0);
	ck_assert_ptr_null(kf_pages_check(&sums));
}
END_TEST

START_TEST(zeroed_large_block_of_a_slabs_run_is_zero)
{
	const size_t size = 2 * KF_SMALL_MAX;
	unsigned char *at;

	start();
	/* Of fresh pages, which read as zeroes then. */
	at = kf_host_alloc(KF_SMALL_MAX, 16, false, 0, &usable);
	memset(at, 1, KF_SMALL_MAX);
	UNIT_REQUIRE(kf_host_free(at, 0) == KONF_FINE);
	ck_assert_ptr_eq(kf_host_alloc(size, 16, true, 0, &usable), at);
	for (size_t i = 0; i < size; i++)
		UNIT_REQUIRE(!at[i]);
}
END_TEST

START_TEST(slab_is_carved_a_page_at_a_time)
{
	struct kf_slab *slab;

	start();
	slab = slab_of(kf_host_alloc(BYTES, 16, false, 0, &usable));
	ck_assert_uint_gt(slab->carved, 1);
	ck_assert_uint_le(slab->carved * slab->size, KF_PAGE);
	ck_assert_uint_eq(slab->carved, slab->used);
}
END_TEST

/* What the classes say is what the slots' sum says, and goes with the slabs. */
START_TEST(classes_tell_their_slabs_and_what_is_carved)
{
	const struct kf_stats_class *c;
	uint64_t bytes = 0;

	start();
	c = &kf_stats_classes[kf_class_of(BYTES)];
	take_all(NULL);
	ck_assert_int_ge(c->carved, NR_BLOCKS);
	ck_assert_int_ge(c->slabs, NR_BLOCKS * BYTES / (64 * KF_KIB));
	for (unsigned int i = 1; i < KF_NR_CLASSES; i++)
		bytes += (uint64_t)kf_stats_classes[i].carved *
			 kf_class_bytes(i);
	ck_assert_uint_eq(bytes, kf_heap_sum(KF_SLOT_carved));
	drop_all(NULL);
	kf_heap_flush(kf_heap_self());
	kf_heap_trim(kf_heap_self());
	ck_assert_int_eq(c->carved, 0);
	ck_assert_int_eq(c->slabs, 0);
}
END_TEST

START_TEST(block_is_one_at_its_start_and_when_carved)
{
	struct kf_slab *slab;
	char *p;

	start();
	p = kf_host_alloc(BYTES, 16, false, 0, &usable);
	slab = slab_of(p);
	ck_assert(kf_slab_is_block(slab, p));
	ck_assert(!kf_slab_is_block(slab, p + 16));
	ck_assert(!kf_slab_is_block(slab, p - 1));
	ck_assert(!kf_slab_is_block(slab, slab->run.start - slab->size));
	ck_assert(!kf_slab_is_block(
		slab, slab->run.start + (size_t)slab->carved * slab->size));
}
END_TEST

START_TEST(full_slab_is_off_the_list_until_a_block_is_freed)
{
	struct kf_slab *slab;

	start();
	take_all(NULL);
	slab = slab_of(blocks[0]);
	ck_assert(slab->owner & KF_SLAB_FULL);
	ck_assert(kf_list_empty(&slab->link));
	ck_assert_int_eq(kf_host_free(blocks[0], 0), KONF_FINE);
	ck_assert(!(slab->owner & KF_SLAB_FULL));
	ck_assert(!kf_list_empty(&slab->link));
	ck_assert_uint_eq(slab->used, slab->carved - 1);
	ck_assert(!(slab_of(blocks[NR_BLOCKS - 1])->owner & KF_SLAB_FULL));
}
END_TEST

/* Which is there for good once its last blocks are not taken again. */
START_TEST(sparse_slab_is_left_to_become_empty)
{
	struct kf_slab *sparse, *dense;
	size_t i, last = NR_BLOCKS - 1;

	start();
	take_all(NULL);
	sparse = slab_of(blocks[0]);
	for (i = 1; slab_of(blocks[i]) == sparse; i++)
		UNIT_REQUIRE(kf_host_free(blocks[i], 0) == KONF_FINE);
	dense = slab_of(blocks[i]);
	UNIT_REQUIRE(kf_host_free(blocks[i], 0) == KONF_FINE);
	/* Use up what the bin and the last slab have left. */
	for (last = 0; last < NR_BLOCKS; last++) {
		void *p = kf_host_alloc(BYTES, 16, false, 0, &usable);

		UNIT_REQUIRE(slab_of(p) != sparse);
		if (slab_of(p) == dense)
			break;
	}
	ck_assert_uint_lt(last, NR_BLOCKS);
	ck_assert_uint_eq(sparse->used, 1);
}
END_TEST

static sem_t known, over;

static void *have_a_heap(void *heap)
{
	tell_heap(heap);
	sem_post(&known);
	sem_wait(&over);
	return NULL;
}

/* In a child of a fork, where @running was another thread's. */
static int look_at_child(struct kf_heap *self, const struct kf_heap *running,
			 const struct kf_heap *idle)
{
	struct kf_heap *heap;

	if (running->counters.state != KF_COUNTERS_LOST ||
	    idle->counters.state != KF_COUNTERS_IDLE)
		return 2;
	if (self->inbox || kf_heap_self() != self)
		return 3;
	if (!UNIT_CHILDREN_START_THREADS)
		return 0;
	in_a_thread(tell_heap, &heap);
	if (heap != idle)
		return 4;
	in_a_thread(tell_heap, &heap);
	return heap == running ? 5 : 0;
}

/*
 * The kernel copies a thread's heap while the thread runs on, and what it sends
 * as well: neither is whole in the child.
 */
START_TEST(heap_that_another_thread_has_is_nobodys_in_a_child)
{
	struct kf_heap *self, *running, *idle;
	pthread_t thread;
	int status;
	pid_t pid;

	start();
	self = kf_heap_get();
	sem_init(&known, 0, 0);
	sem_init(&over, 0, 0);
	in_a_thread(tell_heap, &idle);
	ck_assert_int_eq(pthread_create(&thread, NULL, have_a_heap, &running),
			 0);
	sem_wait(&known);
	if (running == idle)
		in_a_thread(tell_heap, &idle);
	ck_assert_ptr_ne(running, idle);
	kf_host_fork_prepare();
	self->inbox = (struct kf_run *)(void *)blocks;
	pid = fork();
	if (!pid) {
		kf_host_fork_done(true);
		_exit(look_at_child(self, running, idle));
	}
	self->inbox = NULL;
	kf_host_fork_done(false);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(running->counters.state, KF_COUNTERS_IN_USE);
	sem_post(&over);
	pthread_join(thread, NULL);
}
END_TEST

/* As clone does it, which calls no handlers; a fork before has told nothing. */
START_TEST(child_that_nobody_prepared_for_trusts_no_heap)
{
	struct kf_heap *self, *idle;
	int status;
	pid_t pid;

	start();
	self = kf_heap_get();
	in_a_thread(tell_heap, &idle);
	kf_host_fork_prepare();
	UNIT_REQUIRE(idle->counters.idle_at_fork);
	kf_host_fork_done(false);
	self->inbox = (struct kf_run *)(void *)blocks;
	pid = fork();
	if (!pid) {
		kf_host_fork_done(true);
		_exit(idle->counters.state != KF_COUNTERS_LOST ||
		      self->inbox != NULL);
	}
	self->inbox = NULL;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* The words of the remote lists are of another epoch in the child. */
START_TEST(what_was_freed_before_a_fork_goes_home_in_the_child)
{
	int status;
	pid_t pid;

	start();
	kf_heap_get();
	take_all(NULL);
	in_a_thread(drop_all, NULL);
	ck_assert_ptr_nonnull(kf_heap_self()->inbox);
	kf_host_fork_prepare();
	pid = fork();
	if (!pid) {
		kf_host_fork_done(true);
		kf_heap_flush(kf_heap_self());
		_exit(kf_word_get(KF_WORD_slabs) != 0);
	}
	kf_host_fork_done(false);
	ck_assert_ptr_null(kf_heap_self()->inbox_at_fork);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	kf_heap_flush(kf_heap_self());
	check_all_is_home();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		heap_that_another_thread_has_is_nobodys_in_a_child,
		child_that_nobody_prepared_for_trusts_no_heap,
		what_was_freed_before_a_fork_goes_home_in_the_child,
		heap_of_an_ended_thread_is_adopted,
		thread_beyond_arena_max_is_a_guest,
		what_guests_freed_goes_home_when_scavenged,
		what_another_thread_freed_goes_home_when_flushed,
		what_was_freed_into_an_idle_heap_goes_home_when_scavenged,
		blocks_of_others_wait_in_outboxes_within_the_credit,
		blocks_of_others_are_handed_out_again,
		empty_slab_is_kept_for_another_class_until_trimmed,
		one_cache_serves_slabs_and_large_blocks,
		zeroed_large_block_of_a_slabs_run_is_zero,
		slab_is_carved_a_page_at_a_time,
		classes_tell_their_slabs_and_what_is_carved,
		block_is_one_at_its_start_and_when_carved,
		full_slab_is_off_the_list_until_a_block_is_freed,
		sparse_slab_is_left_to_become_empty,
	};

	return unit_run("heap/arenas", tests, KF_ARRAY_SIZE(tests));
}

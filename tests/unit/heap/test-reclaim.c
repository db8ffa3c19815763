/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/reclaim.c: an owner is kept out of a held heap, whatever else happens,
 * and waits for nothing else.
 */
#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "engines/host.h"
#include "heap/audit.h"
#include "heap/fast.h"
#include "heap/large.h"
#include "heap/marked.h"
#include "heap/reclaim.h"
#include "heap/remote.h"
#include "pages/pages.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define HOLD_US 30000
#define NR_CHANGES 1000000
#define NR_TRIES 2000 /* of a millisecond each */

static sem_t is_held;
static bool let_go;  /* atomic */
static bool entered; /* atomic */

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.dirty_max = SIZE_MAX / 2;
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_thread_exit_init(kf_heap_detach);
	kf_process_membarrier_init();
	kf_host_init();
	kf_process_know();
	kf_process_see();
	ck_assert_int_eq(sem_init(&is_held, 0, 0), 0);
}

static bool comes_true(const bool *word)
{
	for (int i = 0; i < NR_TRIES && !kf_load_acquire(word); i++)
		usleep(1000);
	return kf_load(word);
}

/* As another thread that reclaims, but slowly. */
static void hold(struct kf_heap *heap)
{
	kf_store(&heap->held, true);
	sem_post(&is_held);
	usleep(HOLD_US);
	kf_store(&let_go, true);
	kf_store_release(&heap->held, false);
}

static void *hold_with_lock(void *heap)
{
	UNIT_REQUIRE(kf_arenas_lock());
	hold(heap);
	UNIT_REQUIRE(comes_true(&entered));
	kf_arenas_unlock();
	return NULL;
}

static void *hold_and_change(void *heap)
{
	kf_process_change();
	hold(heap);
	return NULL;
}

static void enter_while(void *(*fn)(void *heap))
{
	struct kf_heap *heap = kf_heap_get();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, heap), 0);
	ck_assert_int_eq(sem_wait(&is_held), 0);
	kf_heap_enter(heap);
	ck_assert(kf_load(&let_go));
	kf_store_release(&entered, true);
	kf_heap_leave(heap);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(owner_does_not_wait_for_the_lock_of_who_holds_the_heap)
{
	start();
	enter_while(hold_with_lock);
}
END_TEST

/* A thread that sleeps sees late that the process is recorded or sampled. */
START_TEST(owner_waits_when_it_has_not_seen_the_state_of_the_process)
{
	start();
	enter_while(hold_and_change);
	ck_assert(!kf_process_is_current());
}
END_TEST

/* The handler came when the heap was marked busy, but not seen to be held. */
START_TEST(handler_that_interrupts_its_owner_at_the_entrance_waits)
{
	struct kf_heap *heap;

	start();
	heap = kf_heap_get();
	heap->busy++;
	enter_while(hold_and_change);
	heap->busy--;
}
END_TEST

static void take_and_free(size_t bytes, uint32_t mark)
{
	size_t usable;
	void *p = kf_host_alloc(bytes, 16, false, mark, &usable);

	UNIT_REQUIRE(p);
	kf_mark_set(p, 0);
	UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
}

/* Make and dispose of slabs, each with blocks that other threads may reclaim.
 */
static void *change_slabs(void *unused)
{
	for (int i = 0; i < NR_CHANGES; i++) {
		take_and_free(KF_SPARSE_MIN + 1, 0);
		take_and_free(KF_TINY_MAX, i % 8 == 0);
	}
	kf_heap_flush(kf_heap_self());
	kf_store(&entered, true);
	return NULL;
}

START_TEST(siblings_with_one_slot_are_counted_right)
{
	pthread_t thread;

	start();
	kf_heap_get();
	ck_assert_int_eq(pthread_create(&thread, NULL, change_slabs, NULL), 0);
	while (!kf_load(&entered))
		kf_heap_reclaim();
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	kf_heap_scavenge();
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_carved), 0);
}
END_TEST

#define NR_MEDIUM 200
#define MEDIUM ((size_t)4096)

static void *medium[NR_MEDIUM];

static void take_medium(void)
{
	size_t usable;

	for (int i = 0; i < NR_MEDIUM; i++) {
		medium[i] = kf_host_alloc(MEDIUM, 16, false, 0, &usable);
		UNIT_REQUIRE(medium[i]);
	}
}

/* All but each eighth, which keeps its slab. */
static void keep_medium(void)
{
	struct kf_heap *heap = kf_heap_self();

	for (int i = 0; i < NR_MEDIUM; i++)
		UNIT_REQUIRE(
			i % 8 == 0 ||
			kf_fast_keep(heap, kf_slab_at(medium[i]), medium[i]));
}

/* Sleeps with a block cache, and goes on without it. */
static void *sleep_with_a_cache(void *unused)
{
	take_medium();
	keep_medium();
	UNIT_REQUIRE(kf_heap_self()->kept > 0);
	sem_post(&is_held);
	UNIT_REQUIRE(comes_true(&let_go));
	ck_assert_int_eq(kf_heap_self()->kept, 0);
	for (int i = 0; i < NR_MEDIUM; i += 8)
		UNIT_REQUIRE(kf_host_free(medium[i], 0) == KONF_FINE);
	take_medium();
	keep_medium();
	kf_heap_flush(kf_heap_self());
	kf_store(&entered, true);
	return NULL;
}

static void start_sleeper(pthread_t *thread)
{
	start();
	kf_heap_get();
	ck_assert_int_eq(pthread_create(thread, NULL, sleep_with_a_cache, NULL),
			 0);
	ck_assert_int_eq(sem_wait(&is_held), 0);
}

START_TEST(block_cache_of_a_sleeper_goes_back_to_its_slabs)
{
	uint64_t slabs, taken;
	pthread_t thread;

	start_sleeper(&thread);
	slabs = kf_word_get(KF_WORD_slabs);
	kf_heap_reclaim();
	taken = kf_heap_sum(KF_SLOT_taken);
	/* Each slab of eight blocks and more has one that is live. */
	ck_assert_uint_le(kf_word_get(KF_WORD_slabs), slabs);
	ck_assert_uint_eq(taken, NR_MEDIUM / 8 * MEDIUM);
	kf_store_release(&let_go, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_taken), NR_MEDIUM / 8 * MEDIUM);
	ck_assert_ptr_null(kf_pages_check(&(struct kf_pages_sums){0}));
}
END_TEST

/* The sleeper is to report it, in a call of its own. */
START_TEST(damaged_block_cache_is_left_alone)
{
	pthread_t thread;
	struct kf_heap *heap;

	start_sleeper(&thread);
	*(void **)medium[NR_MEDIUM - 1] = medium;
	kf_heap_reclaim();
	UNIT_REQUIRE(kf_arenas_lock());
	heap = kf_arenas_next(NULL);
	while (heap && !heap->kept)
		heap = kf_arenas_next(heap);
	kf_arenas_unlock();
	UNIT_REQUIRE(heap);
	ck_assert_ptr_eq(
		kf_audit_cached(&heap->cache[kf_class_of(MEDIUM)], UINT64_MAX),
		medium[NR_MEDIUM - 1]);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		owner_does_not_wait_for_the_lock_of_who_holds_the_heap,
		owner_waits_when_it_has_not_seen_the_state_of_the_process,
		handler_that_interrupts_its_owner_at_the_entrance_waits,
		siblings_with_one_slot_are_counted_right,
		block_cache_of_a_sleeper_goes_back_to_its_slabs,
		damaged_block_cache_is_left_alone,
	};

	return unit_run("heap/reclaim", tests, KF_ARRAY_SIZE(tests));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap/bin.c: what the counters say of bins and block caches is what lies
 * there, whatever threads allocate, free, flush and leave behind.
 */
#include "config.h"

#include <pthread.h>

#include "engines/host.h"
#include "heap/fast.h"
#include "heap/large.h"
#include "heap/marked.h"
#include "heap/reclaim.h"
#include "heap/remote.h"
#include "pages/pages.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "tests/unit/unit.h"

#define NR_THREADS 4 /* one of them without a heap of its own */
#define NR_ROUNDS 20
#define NR_STEPS 20000
#define NR_PLACES 3000

static void *place[NR_PLACES]; /* atomic */
static pthread_barrier_t barrier;

static void start(void)
{
	kf_stats_init();
	kf_pages_conf.tick_ms = UINT32_MAX;
	kf_large_conf.arena_max = NR_THREADS;
	kf_thread_exit_init(kf_heap_detach);
	kf_process_membarrier_init();
	kf_host_init();
	kf_process_know();
	kf_process_see();
	kf_heap_get();
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
}

/* As malloc and free do it. */
static void *take(struct kf_heap *heap, size_t size, uint32_t mark)
{
	size_t usable;
	bool zeroed;
	void *p = NULL;

	if (heap && !mark)
		p = kf_fast_pop(heap, size, true, &usable, &zeroed);
	if (!p)
		p = kf_host_alloc(size, 16, false, mark, &usable);
	UNIT_REQUIRE(p);
	if (mark)
		kf_mark_set(p, 0);
	return p;
}

static void give(struct kf_heap *heap, void *p)
{
	struct kf_slab *slab = p ? kf_slab_at(p) : NULL;

	if (!p)
		return;
	if (heap && kf_fast_free(&heap->front, p, &slab)) {
		if (kf_slab_unuse(slab))
			kf_slab_emptied_alone(heap, slab);
	} else if (heap && kf_fast_keep(heap, slab, p)) {
		return;
	} else if (heap && kf_heap_may_free_small(slab, p)) {
		kf_heap_free_small(heap, slab, p);
	} else {
		UNIT_REQUIRE(kf_host_free(p, 0) == KONF_FINE);
	}
}

static size_t any_size(uint64_t *chance)
{
	size_t most = KF_SMALL_MAX >> chance_below(chance, 11);

	return 1 + chance_below(chance, most);
}

static void now_and_then(struct kf_heap *heap, uint64_t *chance)
{
	switch (chance_below(chance, 4000)) {
	case 0:
		kf_heap_flush(heap);
		break;
	case 1:
		kf_heap_trim(heap);
		break;
	case 2:
		kf_remote_send_cached(heap);
		break;
	}
}

static void work(uint64_t *chance)
{
	struct kf_heap *heap = kf_heap_get();

	for (int i = 0; i < NR_STEPS; i++) {
		void **at = &place[chance_below(chance, NR_PLACES)];
		uint32_t mark = chance_below(chance, 50) == 0;
		void *p = NULL;

		if (chance_below(chance, 2))
			p = take(heap, any_size(chance), mark);
		give(heap, __atomic_exchange_n(at, p, __ATOMIC_ACQ_REL));
		if (heap)
			now_and_then(heap, chance);
	}
}

static void *work_between_looks(void *arg)
{
	uint64_t chance = (uintptr_t)arg;

	kf_process_see();
	for (int i = 0; i < NR_ROUNDS; i++) {
		work(&chance);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static uint64_t length_of(const void *block)
{
	uint64_t nr = 0;

	for (; block; block = kf_link_next(block))
		nr++;
	return nr;
}

static uint64_t kept_by(const struct kf_heap *heap)
{
	uint64_t bytes = 0;

	for (unsigned int c = 1; heap && c < KF_NR_CLASSES; c++) {
		bytes += length_of(kf_bin_first(&heap->front.bin[c])) *
			 kf_class_bytes(c);
		if (c > KF_NR_TINY)
			bytes += heap->cache[c].nr * kf_class_bytes(c);
	}
	for (unsigned int i = 0; heap && i < KF_NR_OUTBOXES; i++) {
		const struct kf_outbox *box = &heap->outbox[i];

		if (box->slab && box->slab->size > KF_TINY_MAX)
			bytes += box->nr * box->slab->size;
	}
	return heap && heap->marked ? bytes + kept_by(heap->marked) : bytes;
}

/* The heap's own blocks are told apart from others', and their bytes known. */
static void look_at_cache(const struct kf_heap *heap)
{
	int64_t own = 0;

	for (unsigned int c = 1; c < KF_NR_CLASSES; c++) {
		const struct kf_cached *cache = &heap->cache[c];
		uint32_t others = 0, nr = 0;
		void *p = cache->first;

		for (; p; p = kf_link_next(p), nr++)
			others += kf_slab_owner(kf_slab_at(p)) != heap;
		UNIT_REQUIRE(cache->nr == nr && cache->others == others);
		own += (int64_t)((nr - others) * kf_class_bytes(c));
	}
	ck_assert_int_eq(heap->kept, own);
}

static uint64_t gone_from(const struct kf_slot *slot)
{
	uint64_t bytes = 0;

	for (unsigned int c = 1; c < KF_NR_CLASSES; c++) {
		uint64_t nr = slot->class[c].mallocs;

		if (c > KF_NR_TINY)
			nr -= slot->class[c].frees;
		bytes += nr * kf_class_bytes(c);
	}
	return bytes;
}

/* While no other thread allocates or frees. */
static void look(bool may_be_none)
{
	struct kf_heap *heap = kf_heap_self();
	struct kf_heap *shared = kf_heap_shared_lock();
	uint64_t kept = kept_by(heap) + kept_by(shared);
	uint64_t gone =
		gone_from(heap->front.slot) + gone_from(kf_counters_guest.slot);

	UNIT_REQUIRE(kf_arenas_lock());
	for (heap = NULL; (heap = kf_arenas_next(heap)) != NULL;) {
		look_at_cache(heap);
		kept += kept_by(heap);
		gone += gone_from(heap->front.slot);
	}
	kf_arenas_unlock();
	kf_heap_shared_unlock();
	ck_assert(kept || may_be_none);
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_taken) - gone, kept);
}

START_TEST(counters_tell_the_bytes_in_bins_and_block_caches)
{
	pthread_t thread[NR_THREADS];

	start();
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_create(&thread[i], NULL,
					     work_between_looks, (void *)i));
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		look(false);
		if (i % 4 == 0)
			kf_heap_reclaim();
		look(false);
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	look(false);
	for (int i = 0; i < NR_PLACES; i++)
		give(kf_heap_self(), place[i]);
	look(false);
	/* A heap that is flushed may send blocks to one that was before. */
	for (int i = 0; i < NR_THREADS; i++) {
		kf_heap_flush(kf_heap_self());
		kf_heap_flush(kf_heap_shared_lock());
		kf_heap_shared_unlock();
		kf_heap_scavenge();
		look(true);
	}
	ck_assert_uint_eq(kf_heap_sum(KF_SLOT_carved), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		counters_tell_the_bytes_in_bins_and_block_caches,
	};

	return unit_run("heap/bin", tests, KF_ARRAY_SIZE(tests));
}

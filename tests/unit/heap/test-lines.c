/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * No cache line is written by two threads on the fast paths: what each of many
 * threads writes there is collected by its address.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "heap/large.h"
#include "heap/fast.h"
#include "engines/host.h"
#include "tests/unit/unit.h"

#define NR_THREADS 64
#define NR_SIZES 6
#define LINES_MAX 64

static const size_t sizes[NR_SIZES] = {16, 64, 200, 1024, 5000, 32768};

struct line {
	uintptr_t number;
	int thread;
};

static struct line lines[NR_THREADS * LINES_MAX];
static size_t nr_lines;
static struct kf_heap *heaps[NR_THREADS];
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

static void add(int thread, const void *p)
{
	uintptr_t number = (uintptr_t)p / KF_CACHE_LINE;

	for (size_t i = 0; i < nr_lines; i++) {
		if (lines[i].number == number && lines[i].thread == thread)
			return;
	}
	ck_assert_uint_lt(nr_lines, KF_ARRAY_SIZE(lines));
	lines[nr_lines++] = (struct line){number, thread};
}

/* What malloc and free of a block write, besides the block. */
static void add_of(int thread, size_t size, void *p)
{
	struct kf_slab *slab = kf_slab_at(p);
	size_t offset = kf_class_of(size) * sizeof(struct kf_bin);
	struct kf_heap *heap = kf_heap_self();

	UNIT_REQUIRE(slab && kf_slab_owner(slab) == heap);
	add(thread, (char *)heap->front.bin + offset);
	add(thread, kf_slot_pair(heap->front.slot, offset));
	add(thread, &slab->local);
	add(thread, &slab->used);
}

static void *work(void *arg)
{
	int thread = (int)(intptr_t)arg;
	void *p[NR_SIZES];
	size_t usable;

	for (size_t i = 0; i < NR_SIZES; i++) {
		p[i] = kf_host_alloc(sizes[i], 16, false, 0, &usable);
		UNIT_REQUIRE(p[i]);
	}
	pthread_barrier_wait(&together);
	pthread_mutex_lock(&one);
	heaps[thread] = kf_heap_self();
	for (size_t i = 0; i < NR_SIZES; i++)
		add_of(thread, sizes[i], p[i]);
	pthread_mutex_unlock(&one);
	/* Nobody adopts another's heap while there is something to see. */
	pthread_barrier_wait(&together);
	for (size_t i = 0; i < NR_SIZES; i++)
		UNIT_REQUIRE(kf_host_free(p[i], sizes[i]) == KONF_FINE);
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void run(void)
{
	pthread_t threads[NR_THREADS];

	kf_stats_init();
	kf_host_init();
	UNIT_REQUIRE(!pthread_barrier_init(&together, NULL, NR_THREADS));
	for (intptr_t i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(
			!pthread_create(&threads[i], NULL, work, (void *)i));
	for (int i = 0; i < NR_THREADS; i++)
		UNIT_REQUIRE(!pthread_join(threads[i], NULL));
}

START_TEST(no_line_is_written_by_two_threads)
{
	run();
	ck_assert_uint_ge(nr_lines, NR_THREADS * (size_t)NR_SIZES);
	qsort(lines, nr_lines, sizeof(lines[0]), by_number);
	for (size_t i = 1; i < nr_lines; i++)
		ck_assert_uint_ne(lines[i].number, lines[i - 1].number);
}
END_TEST

/* Others write the inbox: not where the owner writes all the time. */
START_TEST(inbox_has_a_line_of_its_own)
{
	run();
	for (int i = 0; i < NR_THREADS; i++) {
		uintptr_t inbox = (uintptr_t)&heaps[i]->inbox / KF_CACHE_LINE;

		for (size_t k = 0; k < nr_lines; k++)
			ck_assert_uint_ne(lines[k].number, inbox);
		ck_assert_uint_eq((uintptr_t)&heaps[i]->inbox % KF_CACHE_LINE,
				  0);
		ck_assert_uint_eq(sizeof(struct kf_heap) -
					  offsetof(struct kf_heap, inbox),
				  KF_CACHE_LINE);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		no_line_is_written_by_two_threads,
		inbox_has_a_line_of_its_own,
	};

	return unit_run("heap/lines", tests, KF_ARRAY_SIZE(tests));
}

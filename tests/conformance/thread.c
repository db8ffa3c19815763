/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads: the smallest stack, destructors at thread exit, keys, blocks that
 * outlive their thread, cancellation.
 */
#include "case.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every call of the family that a small stack has to bear. */
static void *use_everything(void *arg)
{
	void *p = malloc(1), *q = NULL;

	p = realloc(p, 1000);
	p = realloc(p, 100000);
	CHECK(p);
	free(p);
	free(calloc(10, 1000));
	p = malloc(8 * KF_MIB_BYTES);
	CHECK(p);
	p = realloc(p, 16 * KF_MIB_BYTES);
	CHECK(p);
	free(p);
	CHECK_EQ(posix_memalign(&q, 1 << 20, 100), 0);
	free(q);
	for (size_t n = 1; n < 70000; n += 1 + n / 5) {
		p = malloc(n);
		CHECK(p);
		memset(p, 1, n);
		free(p);
	}
	mallinfo2();
	malloc_trim(0);
	return arg;
}

static pthread_key_t key_for_exit;

static void exit_with_blocks(void *arg)
{
	use_everything(NULL);
	free(arg);
}

static void *use_everything_and_exit(void *arg)
{
	CHECK_EQ(pthread_setspecific(key_for_exit, malloc(50)), 0);
	return use_everything(arg);
}

CASE(threads_with_the_smallest_stack_can_do_everything)
{
	long smallest = sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attr;
	pthread_t thread;

	if (smallest < PTHREAD_STACK_MIN)
		smallest = PTHREAD_STACK_MIN;
	CHECK_EQ(pthread_key_create(&key_for_exit, exit_with_blocks), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)smallest), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(pthread_create(&thread, &attr, use_everything_and_exit,
					NULL),
			 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
}

#define NR_KEYS 200

static pthread_key_t keys[NR_KEYS];
static int destroyed;

static void destroy(void *p)
{
	CHECK(kf_filled(p, 40, 3));
	free(p);
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

static void *set_all_keys(void *arg)
{
	for (int i = 0; i < NR_KEYS; i++) {
		char *p = malloc(40);

		CHECK(p);
		kf_fill(p, 40, 3);
		CHECK_EQ(pthread_setspecific(keys[i], p), 0);
	}
	for (int i = 0; i < NR_KEYS; i++)
		CHECK(kf_filled(pthread_getspecific(keys[i]), 40, 3));
	return arg;
}

CASE(keys_from_32_on_work_and_are_destroyed)
{
	for (int i = 0; i < NR_KEYS; i++)
		CHECK_EQ(pthread_key_create(&keys[i], destroy), 0);
	for (int i = 0; i < 10; i++)
		kf_in_thread(set_all_keys, NULL);
	CHECK_EQ(destroyed, 10 * NR_KEYS);
}

/* The first thing this thread does is to make the C library allocate. */
static void *set_a_late_key_first(void *arg)
{
	CHECK_EQ(pthread_setspecific(keys[NR_KEYS - 1], arg), 0);
	CHECK(pthread_getspecific(keys[NR_KEYS - 1]) == arg);
	return arg;
}

static void count_only(void *p)
{
	destroyed += p != NULL;
}

CASE(a_late_key_may_be_the_first_thing_a_thread_sets)
{
	for (int i = 0; i < NR_KEYS; i++)
		CHECK_EQ(pthread_key_create(&keys[i], count_only), 0);
	for (int i = 0; i < 10; i++)
		kf_in_thread(set_a_late_key_first, &destroyed);
	CHECK_EQ(destroyed, 10);
}

static pthread_key_t again;
static int rounds;

static void allocate_and_rearm(void *p)
{
	CHECK(kf_filled(p, 3000, rounds));
	free(p);
	free(calloc(1, 200000));
	p = malloc(3000);
	CHECK(p);
	rounds++;
	kf_fill(p, 3000, rounds);
	if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		CHECK_EQ(pthread_setspecific(again, p), 0);
	else
		free(p);
}

static void *arm(void *arg)
{
	char *p = malloc(3000);

	CHECK(p);
	kf_fill(p, 3000, 0);
	CHECK_EQ(pthread_setspecific(again, p), 0);
	return arg;
}

CASE(key_destructors_allocate_in_all_four_rounds)
{
	/* The one key is made before any thread, the other after many. */
	CHECK_EQ(pthread_key_create(&again, allocate_and_rearm), 0);
	kf_in_thread(arm, NULL);
	CHECK_EQ(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
	for (int i = 0; i < 20; i++)
		kf_in_thread(use_everything, NULL);
	CHECK_EQ(pthread_key_delete(again), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_key_create(&again, allocate_and_rearm), 0);
	rounds = 0;
	kf_in_thread(arm, NULL);
	CHECK_EQ(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
}

static void allocate_first(void *p)
{
	p = malloc(500);
	CHECK(p);
	kf_fill(p, 500, 1);
	CHECK(kf_filled(p, 500, 1));
	free(p);
	destroyed++;
}

static void *set_without_malloc(void *arg)
{
	pthread_setspecific(again, arg);
	return arg;
}

CASE(a_thread_may_allocate_first_in_a_destructor)
{
	CHECK_EQ(pthread_key_create(&again, allocate_first), 0);
	for (int i = 0; i < 20; i++)
		kf_in_thread(set_without_malloc, &destroyed);
	CHECK_EQ(destroyed, 20);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static void *leave_tls_destructors(void *arg)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(__cxa_thread_atexit_impl(allocate_first, NULL,
						  &__dso_handle),
			 0);
	return arg;
}

CASE(tls_destructors_allocate_and_free)
{
	for (int i = 0; i < 10; i++)
		kf_in_thread(leave_tls_destructors, NULL);
	CHECK_EQ(destroyed, 100);
}

/* libc frees these itself, after all destructors of the thread have run. */
static void *leave_blocks_to_libc(void *arg)
{
	char *text = strerror(kf_size(123456));

	CHECK(text && strstr(text, "123456"));
	CHECK(!dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere"));
	CHECK(!dlopen("/no/such/library.so", RTLD_NOW));
	return arg;
}

CASE(blocks_that_libc_frees_at_thread_exit_do_no_harm)
{
	for (int i = 0; i < 50; i++)
		kf_in_thread(leave_blocks_to_libc, NULL);
}

static unsigned char *left[3000];

static void *leave_blocks(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		left[i] = malloc(1 + i * 5);
		CHECK(left[i]);
		kf_fill(left[i], 1 + i * 5, i);
	}
	return arg;
}

static void *check_and_free(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		CHECK(kf_filled(left[i], 1 + i * 5, i));
		free(left[i]);
	}
	return arg;
}

CASE(blocks_outlive_their_thread_and_any_thread_frees_them)
{
	for (int i = 0; i < 5; i++) {
		kf_in_thread(leave_blocks, NULL);
		kf_in_thread(use_everything, NULL);
		if (i % 2)
			check_and_free(NULL);
		else
			kf_in_thread(check_and_free, NULL);
	}
}

static void *grow_block(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		left[i] = realloc(left[i], 20 + i * 6);
		CHECK(left[i] && kf_filled(left[i], 1 + i * 5, i));
		kf_fill(left[i], 1 + i * 5, i);
	}
	return arg;
}

CASE(any_thread_reallocs_any_block)
{
	leave_blocks(NULL);
	kf_in_thread(grow_block, NULL);
	check_and_free(NULL);
	kf_in_thread(leave_blocks, NULL);
	grow_block(NULL);
	kf_in_thread(check_and_free, NULL);
}

static volatile int reached;

static void *allocate_with_cancel_pending(void *arg)
{
	FILE *null = arg;

	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	use_everything(NULL);
	malloc_stats();
	malloc_usable_size(NULL);
	mallopt(M_TOP_PAD, 4096);
	CHECK(!malloc(kf_size(SIZE_MAX)));
	reached = 1;
	(void)null;
	pthread_testcancel();
	reached = 2;
	return arg;
}

CASE(no_call_of_the_family_is_a_cancellation_point)
{
	pthread_t thread;
	void *result;

	CHECK_EQ(pthread_create(&thread, NULL, allocate_with_cancel_pending,
				NULL),
		 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK_EQ(reached, 1);
}

static void release(void *p)
{
	free(p);
}

static void *allocate_until_cancelled(void *arg)
{
	void *p = malloc(1000);

	pthread_cleanup_push(release, p);
	for (;;) {
		use_everything(NULL);
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return arg;
}

CASE(threads_cancelled_among_allocations_do_no_harm)
{
	pthread_t thread[4];

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL,
						allocate_until_cancelled, NULL),
				 0);
		use_everything(NULL);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(pthread_cancel(thread[i]), 0);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(pthread_join(thread[i], NULL), 0);
	}
}

static void *allocate_much(void *arg)
{
	unsigned char *p[100];

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 100; i++) {
			p[i] = malloc(1 + (i * 37 + round) % 3000);
			CHECK(p[i]);
			kf_fill(p[i], 1 + (i * 37 + round) % 3000, round);
		}
		for (int i = 0; i < 100; i++) {
			CHECK(kf_filled(p[i], 1 + (i * 37 + round) % 3000,
					round));
			free(p[i]);
		}
	}
	return arg;
}

CASE(with_one_arena_for_all_threads_they_still_work)
{
	pthread_t thread[8];

	CHECK_EQ(mallopt(M_ARENA_MAX, 1), 1);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, allocate_much, NULL),
			 0);
	allocate_much(NULL);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void *loop_forever(void *arg)
{
	for (;;)
		use_everything(NULL);
	return arg;
}

static void start_loops(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread, NULL, loop_forever, NULL), 0);
	use_everything(NULL);
}

CASE(exit_while_other_threads_allocate_is_clean)
{
	start_loops();
	exit(0);
}

CASE(return_from_main_while_other_threads_allocate_is_clean)
{
	start_loops();
}

static void *end_the_process(void *arg)
{
	use_everything(NULL);
	usleep(1000);
	exit(0);
	return arg;
}

CASE(the_process_lives_on_when_the_main_thread_ends_first)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, end_the_process, NULL), 0);
	use_everything(NULL);
	pthread_exit(NULL);
}

CASE(the_library_starts_no_thread_of_its_own)
{
	static char status[1 << 14];
	char *line;

	use_everything(NULL);
	CHECK(kf_read_file("/proc/self/status", status, sizeof(status)) > 0);
	line = strstr(status, "\nThreads:");
	CHECK(line);
	CHECK_EQ(strtoul(line + 9, NULL, 10), 1);
}

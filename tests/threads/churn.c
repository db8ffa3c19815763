/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that come and go, and blocks that go from thread to thread: memory
 * and arenas stay bounded, contents stay whole.
 */
#include "tests/conformance/case.h"
#include "reader/reader.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_ABREAST 4
#define NR_LEFT 40

struct visitor {
	pthread_t thread;
	unsigned char *left[NR_LEFT];
};

static size_t size_of(int i)
{
	return 1 + (size_t)i * 97 % 3000 + (i % 20 ? 0 : 150000);
}

static void *visit(void *arg)
{
	struct visitor *v = arg;

	for (int i = 0; i < NR_LEFT; i++) {
		unsigned char *p = malloc(size_of(i));

		v->left[i] = malloc(size_of(i + 1));
		CHECK(p && v->left[i]);
		kf_fill(v->left[i], size_of(i + 1), i);
		free(p);
	}
	return arg;
}

static void receive(struct visitor *v)
{
	for (int i = 0; i < NR_LEFT; i++) {
		CHECK(kf_filled(v->left[i], size_of(i + 1), i));
		free(v->left[i]);
	}
}

/* A word of this process' own stats file; -1 under another malloc. */
static int64_t own_word(const char *name)
{
	const char *dir = getenv("KONFISCATOR_DIR");
	const char *dirs[] = {dir, NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;
	int64_t value = -1;

	if (!dir || kf_files_find(&find, &files))
		return -1;
	for (unsigned int i = 0; i < files.nr; i++)
		if (files.file[i].snap.result == KF_READ_OK &&
		    files.file[i].snap.id.pid == getpid())
			value = (int64_t)kf_snapshot_value(&files.file[i].snap,
							   name);
	kf_files_release(&files);
	return value;
}

/* 0 under ThreadSanitizer, whose own memory grows. */
static size_t churn_resident(void)
{
#ifdef KF_THREAD_SANITIZER
	return 0;
#else
	return kf_resident();
#endif
}

CASE(ten_thousand_short_threads_leave_memory_and_arenas_bounded)
{
	static struct visitor v[NR_ABREAST];
	size_t early = 0;

	for (int round = 0; round < 10000 / NR_ABREAST; round++) {
		for (int i = 0; i < NR_ABREAST; i++)
			CHECK_EQ(pthread_create(&v[i].thread, NULL, visit,
						&v[i]),
				 0);
		for (int i = 0; i < NR_ABREAST; i++) {
			CHECK_EQ(pthread_join(v[i].thread, NULL), 0);
			receive(&v[i]);
		}
		if (round == 200)
			early = churn_resident();
	}
	CHECK(churn_resident() < early + 16 * KF_MIB_BYTES);
	CHECK(mallinfo2().uordblks < 4 * KF_MIB_BYTES);
	/* Threads that overlap, the main one, and a few that end late. */
	CHECK(own_word("arenas") <= NR_ABREAST + 12);
	CHECK(own_word("threads") <= NR_ABREAST + 12);
}

static void *wait_at(void *arg)
{
	void *p = malloc(1000);

	CHECK(p);
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	free(p);
	return NULL;
}

#define NR_AT_ONCE 200

CASE(arenas_of_ended_threads_are_taken_over)
{
	static pthread_t thread[NR_AT_ONCE];
	pthread_barrier_t barrier;
	int64_t first = 0;

	for (int round = 0; round < 4; round++) {
		pthread_barrier_init(&barrier, NULL, NR_AT_ONCE + 1);
		for (int i = 0; i < NR_AT_ONCE; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, wait_at,
						&barrier),
				 0);
		pthread_barrier_wait(&barrier);
		if (!round)
			first = own_word("arenas");
		CHECK(own_word("arenas") <= first + 2);
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < NR_AT_ONCE; i++)
			CHECK_EQ(pthread_join(thread[i], NULL), 0);
		pthread_barrier_destroy(&barrier);
	}
}

/* A ring for one producer and one consumer. */
#define RING 64

struct channel {
	pthread_t producer, consumer;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	unsigned char *ring[RING];
	unsigned int put, taken, total;
};

static size_t message_size(unsigned int i)
{
	return 8 + i * 131 % 2000 + (i % 500 ? 0 : 200000);
}

static void *produce(void *arg)
{
	struct channel *c = arg;

	for (unsigned int i = 0; i < c->total; i++) {
		unsigned char *p = malloc(message_size(i));

		CHECK(p);
		kf_fill(p, message_size(i), i);
		pthread_mutex_lock(&c->lock);
		while (c->put - c->taken == RING)
			pthread_cond_wait(&c->moved, &c->lock);
		c->ring[c->put++ % RING] = p;
		pthread_cond_signal(&c->moved);
		pthread_mutex_unlock(&c->lock);
	}
	return arg;
}

static void *consume(void *arg)
{
	struct channel *c = arg;

	for (unsigned int i = 0; i < c->total; i++) {
		unsigned char *p;

		pthread_mutex_lock(&c->lock);
		while (c->put == c->taken)
			pthread_cond_wait(&c->moved, &c->lock);
		p = c->ring[c->taken++ % RING];
		pthread_cond_signal(&c->moved);
		pthread_mutex_unlock(&c->lock);
		CHECK(kf_filled(p, message_size(i), i));
		free(p);
	}
	return arg;
}

#define NR_CHANNELS 4

CASE(messages_freed_by_their_receiver_are_whole_and_leave_nothing)
{
	static struct channel c[NR_CHANNELS];
	size_t before = mallinfo2().uordblks, resident = churn_resident();

	for (int i = 0; i < NR_CHANNELS; i++) {
		pthread_mutex_init(&c[i].lock, NULL);
		pthread_cond_init(&c[i].moved, NULL);
		c[i].total = 50000;
		CHECK_EQ(pthread_create(&c[i].producer, NULL, produce, &c[i]),
			 0);
		CHECK_EQ(pthread_create(&c[i].consumer, NULL, consume, &c[i]),
			 0);
	}
	for (int i = 0; i < NR_CHANNELS; i++) {
		CHECK_EQ(pthread_join(c[i].producer, NULL), 0);
		CHECK_EQ(pthread_join(c[i].consumer, NULL), 0);
	}
	/* Two hundred thousand messages of 1 KiB went through. */
	CHECK(mallinfo2().uordblks < before + 4 * KF_MIB_BYTES);
	CHECK(churn_resident() < resident + 64 * KF_MIB_BYTES);
}

static pthread_key_t key;
static unsigned char *exchange[64];

/* Frees what an earlier thread left at its exit, and leaves a block itself. */
static void exchange_at_exit(void *arg)
{
	size_t place = (size_t)arg % 64;
	unsigned char *mine = malloc(500 + place * 100), *theirs;

	CHECK(mine);
	kf_fill(mine, 500 + place * 100, place);
	theirs = __atomic_exchange_n(&exchange[place], mine, __ATOMIC_ACQ_REL);
	if (theirs) {
		CHECK(kf_filled(theirs, 500 + place * 100, place));
		free(theirs);
	}
}

static void *set_key(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	free(malloc(100));
	return NULL;
}

CASE(blocks_pass_between_the_exit_destructors_of_threads)
{
	pthread_t thread[8];

	CHECK_EQ(pthread_key_create(&key, exchange_at_exit), 0);
	for (size_t round = 0; round < 250; round++) {
		for (size_t i = 0; i < 8; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, set_key,
						(void *)(64 + round % 4 + i)),
				 0);
		for (int i = 0; i < 8; i++)
			CHECK_EQ(pthread_join(thread[i], NULL), 0);
	}
	for (int i = 0; i < 64; i++)
		free(exchange[i]);
}

static unsigned char *shared[256];

/* Takes a block another thread put, changes its size, puts it back. */
static void *swap_blocks(void *arg)
{
	unsigned int state = (unsigned int)(size_t)arg;

	for (int i = 0; i < 60000; i++) {
		unsigned int place;
		unsigned char *p;
		size_t n;

		state = state * 1103515245u + 12345u;
		place = state >> 16 & 255;
		n = 64 + (state >> 8) % 4000;
		p = __atomic_exchange_n(&shared[place], NULL, __ATOMIC_ACQ_REL);
		if (p)
			CHECK(kf_filled(p, 64, place));
		p = realloc(p, n);
		CHECK(p && malloc_usable_size(p) >= n);
		kf_fill(p, 64, place);
		p = __atomic_exchange_n(&shared[place], p, __ATOMIC_ACQ_REL);
		free(p);
	}
	return NULL;
}

CASE(eight_threads_realloc_and_free_each_others_blocks)
{
	pthread_t thread[8];

	for (size_t i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, swap_blocks,
					(void *)(i + 1)),
			 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	for (unsigned int i = 0; i < 256; i++) {
		if (shared[i])
			CHECK(kf_filled(shared[i], 64, i));
		free(shared[i]);
	}
}

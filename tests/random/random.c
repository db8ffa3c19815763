/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random operations on the heap, in one thread or several, checking contents.
 *
 * Every block is filled with a pattern of its own and checked before it is
 * resized or released, so that a block given out twice, moved wrongly or
 * written to by the allocator is found. Threads hand blocks to each other
 * through mailboxes, and end and are made anew several times, so that their
 * heaps change hands. It tests whatever malloc the process has; the script
 * beside it preloads the library.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/chance.h"
#include "tests/pattern.h"

#define MAX_THREADS 64
#define NR_BLOCKS 1500
#define NR_LETTERS 512
#define NR_ROUNDS 5
#define MIN_ALIGNMENT 16

struct block {
	unsigned char *at; /* NULL: none */
	size_t bytes;	   /* that hold the pattern */
	uint64_t key;	   /* of the pattern */
};

/* What other threads sent to one; @lock guards the rest. */
struct mailbox {
	pthread_mutex_t lock;
	struct block letters[NR_LETTERS];
	size_t nr;
};

struct worker {
	unsigned int number;
	uint64_t state; /* of chance_next() */
	struct block blocks[NR_BLOCKS];
	uint64_t nr_done;  /* operations, over all rounds */
	const char *doing; /* for the message of a failure */
	struct mailbox mailbox;
};

static struct worker workers[MAX_THREADS];
static unsigned int nr_threads = 1;
static uint64_t nr_operations = 1000000;
static uint64_t seed = 1;

static void broken(const struct worker *worker, const struct block *block,
		   const char *what)
{
	fprintf(stderr,
		"random: %s: %s, block %p of %zu bytes, thread %u, "
		"operation %llu: --seed %llu --threads %u --operations %llu\n",
		worker->doing, what, (void *)block->at, block->bytes,
		worker->number, (unsigned long long)worker->nr_done,
		(unsigned long long)seed, nr_threads,
		(unsigned long long)nr_operations);
	exit(EXIT_FAILURE);
}

/* Mostly small, as programs do; each power of two as likely as its fellows. */
static size_t random_size(uint64_t *state)
{
	uint64_t kind = chance_below(state, 1000);

	if (kind < 900)
		return chance_below(state, 1 + (2 << chance_below(state, 10)));
	if (kind < 990)
		return chance_below(state, 40000);
	if (kind < 999)
		return chance_below(state, 400000);
	return chance_below(state, 4000000);
}

static void check(const struct worker *worker, const struct block *block)
{
	if (!pattern_holds(block->at, block->bytes, block->key))
		broken(worker, block, "contents are damaged");
}

/* A fresh or grown block: all of it may be written, sometimes the slack too. */
static void fill(struct worker *worker, struct block *block, size_t alignment)
{
	if ((uintptr_t)block->at % alignment)
		broken(worker, block, "address is not aligned");
	block->key = chance_next(&worker->state);
	if (chance_below(&worker->state, 8) == 0) {
		size_t usable = malloc_usable_size(block->at);

		if (usable < block->bytes)
			broken(worker, block, "usable size is too small");
		block->bytes = usable;
	}
	pattern_fill(block->at, block->bytes, block->key);
}

static void obtained(const struct worker *worker, const struct block *block)
{
	if (!block->at)
		broken(worker, block, "got NULL");
}

static void allocate(struct worker *worker, struct block *block)
{
	block->bytes = random_size(&worker->state);
	worker->doing = "malloc";
	block->at = malloc(block->bytes);
	obtained(worker, block);
	fill(worker, block, MIN_ALIGNMENT);
}

static void allocate_zeroed(struct worker *worker, struct block *block)
{
	size_t each = 1 + chance_below(&worker->state, 32);
	size_t nr = random_size(&worker->state) / each;

	block->bytes = nr * each;
	worker->doing = "calloc";
	block->at = calloc(nr, each);
	obtained(worker, block);
	if (!pattern_is_zero(block->at, block->bytes))
		broken(worker, block, "memory is not zero");
	fill(worker, block, MIN_ALIGNMENT);
}

static void allocate_aligned(struct worker *worker, struct block *block)
{
	size_t alignment = (size_t)8 << chance_below(&worker->state, 11);
	void *at;

	block->bytes = random_size(&worker->state);
	worker->doing = "posix_memalign";
	if (chance_below(&worker->state, 2)) {
		block->at = posix_memalign(&at, alignment, block->bytes) ? NULL
									 : at;
	} else {
		worker->doing = "aligned_alloc";
		/* C wants a multiple, and so do the sanitizers. */
		block->bytes += -block->bytes % alignment;
		block->at = aligned_alloc(alignment, block->bytes);
	}
	obtained(worker, block);
	fill(worker, block, alignment);
}

static void resize(struct worker *worker, struct block *block)
{
	struct block old = *block;
	size_t kept;

	worker->doing = "realloc";
	check(worker, block);
	/* To a size of its own, or a little up or down, as growing text does */
	if (chance_below(&worker->state, 2))
		block->bytes += chance_below(&worker->state, 64);
	else
		block->bytes = random_size(&worker->state);
	block->bytes += !block->bytes;
	block->at = realloc(old.at, block->bytes);
	obtained(worker, block);
	kept = old.bytes < block->bytes ? old.bytes : block->bytes;
	if (!pattern_holds(block->at, kept, old.key))
		broken(worker, block, "contents were lost");
	fill(worker, block, MIN_ALIGNMENT);
}

/*
 * ThreadSanitizer looks up names where it finds a race, also one that it is
 * told to say nothing of, and errno is what that leaves.
 */
#ifdef KF_THREAD_SANITIZER
#define ERRNO_IS_KEPT false
#else
#define ERRNO_IS_KEPT true
#endif

static void release(struct worker *worker, struct block *block)
{
	int before = errno;

	worker->doing = "free";
	check(worker, block);
	free(block->at);
	if (ERRNO_IS_KEPT && errno != before)
		broken(worker, block, "errno was changed");
	block->at = NULL;
}

/* Give a block to another thread; a full mailbox leaves it here. */
static void send(struct worker *worker, struct block *block)
{
	struct mailbox *box =
		&workers[chance_below(&worker->state, nr_threads)].mailbox;

	pthread_mutex_lock(&box->lock);
	if (box->nr < NR_LETTERS) {
		box->letters[box->nr++] = *block;
		block->at = NULL;
	}
	pthread_mutex_unlock(&box->lock);
}

static void receive(struct worker *worker)
{
	struct mailbox *box = &worker->mailbox;
	struct block letters[16];
	size_t nr = 0;

	pthread_mutex_lock(&box->lock);
	while (nr < sizeof(letters) / sizeof(letters[0]) && box->nr)
		letters[nr++] = box->letters[--box->nr];
	pthread_mutex_unlock(&box->lock);
	while (nr--) {
		if (chance_below(&worker->state, 4) == 0)
			resize(worker, &letters[nr]);
		release(worker, &letters[nr]);
	}
}

static void operate(struct worker *worker)
{
	struct block *block =
		&worker->blocks[chance_below(&worker->state, NR_BLOCKS)];
	uint64_t kind = chance_below(&worker->state, 100);

	if (block->at && kind < 25)
		resize(worker, block);
	else if (block->at && kind < 50 && nr_threads > 1)
		send(worker, block);
	else if (block->at)
		release(worker, block);
	else if (kind < 60)
		allocate(worker, block);
	else if (kind < 80)
		allocate_zeroed(worker, block);
	else
		allocate_aligned(worker, block);
	if (kind == 0)
		free(NULL);
	if (kind % 8 == 1)
		receive(worker);
	worker->nr_done++;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t nr = nr_operations / nr_threads / NR_ROUNDS;

	while (nr--)
		operate(worker);
	return NULL;
}

/* One life of every thread; a single one is the main thread. */
static void run_round(void)
{
	pthread_t threads[MAX_THREADS];

	if (nr_threads == 1) {
		work(&workers[0]);
		return;
	}
	for (unsigned int i = 0; i < nr_threads; i++) {
		errno = pthread_create(&threads[i], NULL, work, &workers[i]);
		if (errno) {
			perror("random: pthread_create");
			exit(EXIT_FAILURE);
		}
	}
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}

/* What is left over is all intact; the main thread releases it. */
static void release_all(void)
{
	for (unsigned int i = 0; i < nr_threads; i++) {
		struct worker *worker = &workers[i];

		while (worker->mailbox.nr)
			receive(worker);
		for (size_t j = 0; j < NR_BLOCKS; j++) {
			if (worker->blocks[j].at)
				release(worker, &worker->blocks[j]);
		}
	}
}

static uint64_t parse(const char *option, const char *s, uint64_t most)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || !value || value > most) {
		fprintf(stderr, "random: --%s %s: wanted 1 to %llu\n", option,
			s, (unsigned long long)most);
		exit(2);
	}
	return value;
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'},
		{"operations", required_argument, NULL, 'o'},
		{"seed", required_argument, NULL, 's'},
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			nr_threads = parse("threads", optarg, MAX_THREADS);
		else if (c == 'o')
			nr_operations = parse("operations", optarg, 1ull << 40);
		else if (c == 's')
			seed = parse("seed", optarg, UINT64_MAX);
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	uint64_t nr_done = 0;
	Dl_info info;

	parse_options(argc, argv);
	for (unsigned int i = 0; i < nr_threads; i++) {
		workers[i].number = i;
		workers[i].state = seed * MAX_THREADS + i;
		pthread_mutex_init(&workers[i].mailbox.lock, NULL);
	}
	for (int i = 0; i < NR_ROUNDS; i++)
		run_round();
	release_all();
	for (unsigned int i = 0; i < nr_threads; i++)
		nr_done += workers[i].nr_done;
	if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info))
		info.dli_fname = "?";
	printf("%llu operations in %u threads, seed %llu, on malloc of %s\n",
	       (unsigned long long)nr_done, nr_threads,
	       (unsigned long long)seed, info.dli_fname);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rss SCENARIO [PARTS]: what memory a process has at fixed moments.
 *
 * phases: blocks of 64 to 512 bytes, then of 1 to 8 KiB, then of 64 to 512 KiB,
 * all of one kind freed before the next.
 * idle-threads: 64 threads that used 2 MiB each and sleep; then the first
 * thread allocates a little for three seconds, then it calls malloc_trim().
 * sleeping-owners: four threads sleep, and the first frees what they allocated;
 * then as above.
 * peak-then-idle: all of 256 MiB is freed, then nothing for three seconds.
 * light-use: the same, and a little is allocated meanwhile.
 * growing-vectors: two vectors that grow by an eighth in turn.
 * producer-consumer: one thread frees what another allocates, of which at most
 * 4096 blocks are on the way.
 * thread-pools: twenty times eight threads that do mixed work and end.
 *
 * The amounts are for PARTS = 100, in hundredths of them else. Prints in one
 * line, for each moment, its name, the resident KiB and how many of them are
 * private and dirty, with colons between; what there was at the start is left
 * out.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/chance.h"

#define MIB ((size_t)1 << 20)
#define MAX_BLOCKS ((size_t)4 << 20)
#define IDLE_THREADS 64
#define OWNERS 4
#define WORKERS 8
#define RING 4096

struct pile {
	void **block;
	size_t nr;
	uint64_t chance;
};

static size_t parts = 100;
static long start_rss, start_dirty;

static void fail(const char *what)
{
	fprintf(stderr, "rss: %s\n", what);
	_Exit(1);
}

static void *table(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	if (pthread_create(thread, NULL, run, arg))
		fail("pthread_create");
}

/* KiB behind a word of a file in /proc/self. */
static long kib_of(const char *file, const char *word)
{
	static char text[65536];
	FILE *f = fopen(file, "r");
	const char *at;

	if (!f)
		fail(file);
	setvbuf(f, NULL, _IONBF, 0);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	at = strstr(text, word);
	return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

static void look(const char *moment)
{
	long rss = kib_of("/proc/self/smaps_rollup", "\nRss:");
	long dirty = kib_of("/proc/self/smaps_rollup", "\nPrivate_Dirty:");

	if (moment)
		printf("%s:%ld:%ld ", moment, rss - start_rss,
		       dirty - start_dirty);
	start_rss = moment ? start_rss : rss;
	start_dirty = moment ? start_dirty : dirty;
}

static void look_at_peak(void)
{
	printf("peak:%ld:- ",
	       kib_of("/proc/self/status", "\nVmHWM:") - start_rss);
}

static void rest(int seconds)
{
	nanosleep(&(struct timespec){seconds, 0}, NULL);
}

static void *take(size_t size)
{
	void *p = malloc(size);

	if (!p)
		fail("no memory");
	return memset(p, 1, size);
}

static void fill(struct pile *pile, size_t bytes, size_t least, size_t most)
{
	while (bytes >= least && pile->nr < MAX_BLOCKS) {
		size_t size =
			least + chance_below(&pile->chance, most - least + 1);

		size = size < bytes ? size : bytes;
		pile->block[pile->nr++] = take(size);
		bytes -= size;
	}
}

static void empty(struct pile *pile)
{
	for (size_t i = 0; i < pile->nr; i++)
		free(pile->block[i]);
	pile->nr = 0;
}

static void fill_mixed(struct pile *pile, size_t bytes)
{
	fill(pile, bytes / 2, 16, 512);
	fill(pile, bytes / 4, 1024, 16384);
	fill(pile, bytes / 4, 40000, 200000);
}

static struct pile new_pile(uint64_t seed)
{
	return (struct pile){table(MAX_BLOCKS * sizeof(void *)), 0, seed};
}

static void phases(void)
{
	struct pile pile = new_pile(1);
	size_t bytes = MIB * parts;

	fill(&pile, bytes, 64, 512);
	look("small");
	empty(&pile);
	fill(&pile, bytes, 1024, 8192);
	look("medium");
	empty(&pile);
	fill(&pile, bytes, 65536, 524288);
	look("large");
	empty(&pile);
	look("freed");
}

static void use_lightly(void)
{
	for (int i = 0; i < 30; i++) {
		void *small[64];

		nanosleep(&(struct timespec){0, 100000000}, NULL);
		for (int k = 0; k < 64; k++)
			small[k] = take(100);
		for (int k = 0; k < 64; k++)
			free(small[k]);
		free(take(100000));
	}
}

/* Print what other threads have after calls of the first, and after a trim. */
static void look_later(void)
{
	use_lightly();
	look("3-s-later");
	malloc_trim(0);
	look("trimmed");
}

static pthread_barrier_t done;

static void *use_and_sleep(void *arg)
{
	struct pile *pile = arg;

	fill_mixed(pile, MIB / 50 * parts);
	empty(pile);
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

static void idle_threads(void)
{
	static struct pile pile[IDLE_THREADS];
	pthread_t thread;

	pthread_barrier_init(&done, NULL, IDLE_THREADS + 1);
	for (size_t i = 0; i < IDLE_THREADS; i++) {
		pile[i] = new_pile(i);
		start_thread(&thread, use_and_sleep, &pile[i]);
	}
	pthread_barrier_wait(&done);
	look("idle");
	look_later();
}

static void *fill_and_sleep(void *arg)
{
	fill(arg, MIB / 2 * parts, 64, 1024);
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

static void sleeping_owners(void)
{
	static struct pile pile[OWNERS];
	pthread_t thread;

	pthread_barrier_init(&done, NULL, OWNERS + 1);
	for (size_t i = 0; i < OWNERS; i++) {
		pile[i] = new_pile(i);
		start_thread(&thread, fill_and_sleep, &pile[i]);
	}
	pthread_barrier_wait(&done);
	look("full");
	for (size_t i = 0; i < OWNERS; i++)
		empty(&pile[i]);
	look("freed");
	look_later();
}

static void peak(void (*then)(void))
{
	struct pile pile = new_pile(1);

	fill_mixed(&pile, MIB * 256 / 100 * parts);
	look("full");
	empty(&pile);
	look("freed");
	then();
	look("3-s-later");
}

static void idle(void)
{
	rest(3);
}

static void growing_vectors(void)
{
	for (size_t i = 0; i < parts; i++) {
		char *p = NULL, *q = NULL;

		for (size_t n = 0, to; n < 3000000; n = to) {
			to = n + 37 + n / 8;
			p = realloc(p, to);
			q = realloc(q, to);
			if (!p || !q)
				fail("no memory");
			memset(p + n, 1, to - n);
			memset(q + n, 1, to - n);
		}
		free(p);
		free(q);
	}
	look_at_peak();
	look("freed");
}

static void *ring[RING];
static sem_t full, room;

static void *consume(void *unused)
{
	(void)unused;
	for (size_t i = 0;; i++) {
		sem_wait(&full);
		if (!ring[i % RING])
			return NULL;
		free(ring[i % RING]);
		sem_post(&room);
	}
}

static void put(size_t i, void *p)
{
	sem_wait(&room);
	ring[i % RING] = p;
	sem_post(&full);
}

static void producer_consumer(void)
{
	uint64_t chance = 1;
	pthread_t thread;
	size_t i = 0;

	sem_init(&full, 0, 0);
	sem_init(&room, 0, RING);
	start_thread(&thread, consume, NULL);
	for (; i < 10000 * parts; i++)
		put(i, take(16 + chance_below(&chance, 4000)));
	put(i, NULL);
	pthread_join(thread, NULL);
	look_at_peak();
	look("freed");
}

static void *work(void *arg)
{
	struct pile *pile = arg;

	for (int i = 0; i < 4; i++) {
		fill_mixed(pile, MIB / 25 * parts);
		empty(pile);
	}
	return NULL;
}

static void thread_pools(void)
{
	struct pile pile[WORKERS];
	pthread_t thread[WORKERS];

	for (size_t i = 0; i < WORKERS; i++)
		pile[i] = new_pile(i);
	for (int turn = 0; turn < 20; turn++) {
		for (size_t i = 0; i < WORKERS; i++)
			start_thread(&thread[i], work, &pile[i]);
		for (size_t i = 0; i < WORKERS; i++)
			pthread_join(thread[i], NULL);
	}
	look_at_peak();
	look("ended");
}

static void peak_then_idle(void)
{
	peak(idle);
}

static void light_use(void)
{
	peak(use_lightly);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"phases", phases},
	{"idle-threads", idle_threads},
	{"sleeping-owners", sleeping_owners},
	{"peak-then-idle", peak_then_idle},
	{"light-use", light_use},
	{"growing-vectors", growing_vectors},
	{"producer-consumer", producer_consumer},
	{"thread-pools", thread_pools},
};

int main(int argc, char **argv)
{
	if (argc == 3)
		parts = strtoul(argv[2], NULL, 10);
	free(take(1));
	look(NULL);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (argc < 2 || strcmp(argv[1], scenarios[i].name) != 0)
			continue;
		scenarios[i].run();
		putchar('\n');
		fflush(stdout);
		_Exit(0);
	}
	fputs("usage: rss SCENARIO [PARTS]\n", stderr);
	return 2;
}

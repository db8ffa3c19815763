/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same mixed work in rounds, for so many seconds: threads that end, blocks
 * that go from thread to thread, tags, forks, purges. After each round all that
 * the program holds is as it was after the one before; so what it has in RAM
 * must be, too.
 *
 *	soak SECONDS
 *
 * Who runs it may switch samples and recordings meanwhile. Prints, of the first
 * fifth of the rounds behind the first one and of the last: bytes in RAM, in
 * the middle; then blocks that are live but should not be.
 */
#include "konfiscator.h"
#include "reader/reader.h"
#include "tests/space.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_WORKERS 4
#define NR_BLOCKS 2000
#define NR_STEPS 30000
#define NR_SHARED 64
#define MAX_ROUNDS 1000000
#define FEWEST_ROUNDS 10
#define BALLAST (16u << 20) /* what the program always has */

static void *shared[NR_SHARED]; /* atomic */
static uint64_t *resident;	/* of each round */

static void fail(const char *what)
{
	fprintf(stderr, "soak: %s\n", what);
	_Exit(1);
}

static unsigned int chance(unsigned int *state, unsigned int below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 8) % below;
}

static size_t some_size(unsigned int *state)
{
	switch (chance(state, 100)) {
	case 0:
		return 1 + chance(state, 1000000);
	case 1:
	case 2:
		return 1 + chance(state, 60000);
	default:
		return 1 + chance(state, 1000);
	}
}

/* The first byte is the last one's: a block of others' use shows. */
static void *make(unsigned int *state)
{
	size_t size = some_size(state);
	unsigned char *p = chance(state, 4) ? malloc(size) : calloc(1, size);

	if (!p)
		fail("there is no memory");
	p[0] = p[size - 1] = (unsigned char)size;
	return p;
}

static void step(void **block, unsigned int *state)
{
	void **place = &block[chance(state, NR_BLOCKS)];

	if (!*place) {
		*place = make(state);
	} else if (chance(state, 8) == 0) {
		void *p = realloc(*place, some_size(state));

		if (!p)
			fail("there is no memory");
		*place = p;
	} else if (chance(state, 8) == 0) {
		*place = __atomic_exchange_n(&shared[chance(state, NR_SHARED)],
					     *place, __ATOMIC_ACQ_REL);
	} else {
		free(*place);
		*place = NULL;
	}
}

static void *work(void *arg)
{
	void **block = calloc(NR_BLOCKS, sizeof(*block));
	unsigned int state = *(unsigned int *)arg;

	if (!block)
		fail("there is no memory");
	for (unsigned int i = 0; i < NR_STEPS; i++) {
		bool tagged = chance(&state, 50) == 0;

		if (tagged)
			konf_tag_push("soak");
		step(block, &state);
		if (tagged)
			konf_tag_pop();
	}
	for (unsigned int i = 0; i < NR_BLOCKS; i++)
		free(block[i]);
	free(block);
	return NULL;
}

static void fork_once(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		free(malloc(3000));
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("a child did not end well");
}

static void do_round(void)
{
	pthread_t thread[NR_WORKERS];
	unsigned int seed[NR_WORKERS];

	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		seed[i] = i + 1;
		if (pthread_create(&thread[i], NULL, work, &seed[i]))
			fail("a thread cannot be made");
	}
	fork_once();
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int i = 0; i < NR_SHARED; i++) {
		free(shared[i]);
		shared[i] = NULL;
	}
	malloc_trim(0);
}

static int by_size(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static uint64_t middle(uint64_t *value, unsigned int nr)
{
	qsort(value, nr, sizeof(*value), by_size);
	return value[nr / 2];
}

/* This process' own file; found once, as to look for it allocates. */
static const char *own_file(void)
{
	static char path[4096];
	const char *dirs[] = {getenv("KONFISCATOR_DIR"), NULL};
	struct kf_find find = {.dirs = dirs};
	struct kf_files files;

	if (path[0])
		return path;
	if (kf_files_find(&find, &files))
		fail("the stats files cannot be read");
	for (unsigned int i = 0; i < files.nr; i++) {
		const struct kf_file *file = &files.file[i];

		if (file->snap.result == KF_READ_OK &&
		    file->snap.id.pid == getpid())
			snprintf(path, sizeof(path), "%s/%s", file->dir,
				 file->name);
	}
	kf_files_release(&files);
	return path;
}

/* Blocks that are live by the counters, those of the reader included. */
static int64_t live_blocks(void)
{
	struct kf_snapshot s;
	const struct kf_totals *t = &s.totals;
	int64_t live;

	if (kf_snapshot_read(AT_FDCWD, own_file(), &s) != KF_READ_OK)
		fail("the stats file cannot be read");
	live = (int64_t)t->live_blocks;
	if (t->live + t->rounding + t->cached + t->free + t->metadata !=
	    t->held)
		fail("the parts of the heap are not the heap");
	if (kf_snapshot_value(&s, "threads") != 1)
		fail("threads that have ended are counted, or one is not");
	kf_snapshot_release(&s);
	return live;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	int64_t before = 0, after;
	unsigned int nr = 0, fifth;
	void *ballast = malloc(BALLAST);

	if (!ballast)
		return 2;
	memset(ballast, 1, BALLAST);
	resident = calloc(MAX_ROUNDS, sizeof(*resident));
	if (!resident)
		return 2;
	while (nr < MAX_ROUNDS && (nr < FEWEST_ROUNDS || time(NULL) < until)) {
		do_round();
		if (!nr && own_file())
			before = live_blocks();
		resident[nr] = space_bytes(SPACE_RESIDENT);
		if (!resident[nr++])
			fail("/proc/self/statm cannot be read");
	}
	after = live_blocks();
	fifth = nr / 5;
	printf("%llu %llu %lld %u\n",
	       (unsigned long long)middle(resident + fifth, fifth),
	       (unsigned long long)middle(resident + nr - fifth, fifth),
	       (long long)(after - before), nr);
	free(resident);
	free(ballast);
	return 0;
}

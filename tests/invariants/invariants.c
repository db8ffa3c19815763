/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Eight threads allocate and free, and know what they did. A hundred times
 * they stand still, and what the stats file says is held against what they
 * know: calls and live blocks of every size class, bytes, and the states of
 * the heap, which add up to what is held. While they run the file is read as
 * well: only what holds at every moment is asked then.
 *
 * Then the program forks: the child's file counts from 0, upon the blocks
 * that it inherited. Last, all is freed, and the counts are as at the start.
 *
 * A case of the conformance runner, so that a hang is ended; runs under the
 * library only. The main thread allocates nothing between the first look and
 * the last.
 */
#include "observe.h"
#include "tests/conformance/case.h"

#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS 8
#define NR_PAUSES 100
#define NR_STEPS 1500
#define NR_PLACES 4096

extern char **environ;

/* What one thread did; written by it alone, read while it stands still. */
struct worker {
	pthread_t thread;
	unsigned int random;
	uint64_t mallocs, frees;
	int64_t bytes;
	uint64_t class_mallocs[KF_STATS_NR_CLASSES];
	uint64_t class_frees[KF_STATS_NR_CLASSES];
} __attribute__((aligned(64)));

static struct worker workers[NR_THREADS];
static pthread_barrier_t barrier;
static volatile bool last;
static void *place[NR_PLACES];
static int to_observer, from_observer;
static struct kf_seen first, now;
static bool is_default; /* engine */

static void start_observer(void)
{
	const char *dir = getenv("KONFISCATOR_DIR");
	char *argv[] = {(char *)"observer", (char *)dir, NULL};
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	pid_t pid;

	CHECK(dir);
	CHECK(!pipe(in) && !pipe(out));
	CHECK(!posix_spawn_file_actions_init(&actions));
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, in[1]);
	posix_spawn_file_actions_addclose(&actions, out[0]);
	CHECK(!unsetenv("LD_PRELOAD"));
	CHECK(!posix_spawn(&pid, kf_beside("observer"), &actions, NULL, argv,
			   environ));
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	to_observer = in[1];
	from_observer = out[0];
}

static void look(struct kf_seen *seen)
{
	pid_t pid = getpid();
	size_t have = 0;

	CHECK_EQ(write(to_observer, &pid, sizeof(pid)), sizeof(pid));
	while (have < sizeof(*seen)) {
		ssize_t n = read(from_observer, (char *)seen + have,
				 sizeof(*seen) - have);

		CHECK(n > 0);
		have += (size_t)n;
	}
	CHECK_EQ(seen->found, 1);
	CHECK_EQ(seen->nr_classes, KF_STATS_NR_CLASSES);
}

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

/*
 * The class of a usable size, as the contract of the file has it. Blocks of the
 * default engine have the size of their class.
 */
static unsigned int class_of(size_t usable)
{
	for (unsigned int i = 1; i < KF_STATS_NR_CLASSES; i++) {
		if (first.class[i].bytes >= usable) {
			CHECK(first.class[i].bytes == usable || !is_default);
			return i;
		}
	}
	return 0;
}

static void *take(struct worker *w)
{
	unsigned int r = next_random(&w->random);
	size_t n = r % 64 ? next_random(&w->random) % 2000
			  : next_random(&w->random) % 400000;
	size_t usable;
	void *p;

	switch (r >> 6 & 7) {
	case 0:
		p = calloc(1, n);
		break;
	case 1:
		p = memalign(64, n);
		break;
	default:
		p = malloc(n);
	}
	CHECK(p);
	usable = malloc_usable_size(p);
	w->mallocs++;
	w->bytes += (int64_t)usable;
	w->class_mallocs[class_of(usable)]++;
	return p;
}

static void give(struct worker *w, void *p)
{
	size_t usable;

	if (!p)
		return;
	usable = malloc_usable_size(p);
	w->frees++;
	w->bytes -= (int64_t)usable;
	w->class_frees[class_of(usable)]++;
	free(p);
}

/* Any thread frees what any thread put. */
static void work(struct worker *w)
{
	for (int i = 0; i < NR_STEPS; i++) {
		unsigned int r = next_random(&w->random);
		void *p = r & 1 ? take(w) : NULL;

		give(w, __atomic_exchange_n(&place[(r >> 1) % NR_PLACES], p,
					    __ATOMIC_ACQ_REL));
	}
}

static void *work_between_pauses(void *arg)
{
	struct worker *w = arg;

	/* Have an arena before the first look. */
	free(malloc(1));
	for (;;) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if (last)
			return NULL;
		work(w);
	}
}

/* What holds at every moment: the words change together. */
static void check_states(const struct kf_seen *s)
{
	const struct kf_totals *t = &s->totals;

	CHECK_EQ(t->live + t->rounding + t->cached + t->free + t->metadata,
		 t->held);
	/* What pools hold of metadata is counted with both. */
	if (is_default)
		CHECK_EQ(s->slabs + s->large + s->free_runs + s->metadata,
			 s->mapped);
	CHECK(s->slabs + s->large + s->free_runs + s->metadata + s->pools >=
	      s->mapped);
	CHECK_EQ(t->held, s->mapped - s->purged + s->elsewhere);
	CHECK(s->purged <= s->free_runs);
}

static size_t anonymous_resident(void)
{
	char text[4096], *line;

	CHECK(kf_read_file("/proc/self/status", text, sizeof(text)) > 0);
	line = strstr(text, "\nRssAnon:");
	CHECK(line);
	return strtoul(line + 9, NULL, 10) << 10;
}

static void check_classes(void)
{
	for (unsigned int c = 0; c < KF_STATS_NR_CLASSES; c++) {
		uint64_t mallocs = 0, frees = 0;

		for (int i = 0; i < NR_THREADS; i++) {
			mallocs += workers[i].class_mallocs[c];
			frees += workers[i].class_frees[c];
		}
		CHECK_EQ(now.class[c].mallocs - first.class[c].mallocs,
			 mallocs);
		CHECK_EQ(now.class[c].frees - first.class[c].frees, frees);
	}
}

/* What holds only where no thread runs: the counts are exact. */
static void check_counts(void)
{
	const struct kf_totals *a = &first.totals, *b = &now.totals;
	uint64_t mallocs = 0, frees = 0;
	int64_t bytes = 0;

	for (int i = 0; i < NR_THREADS; i++) {
		mallocs += workers[i].mallocs;
		frees += workers[i].frees;
		bytes += workers[i].bytes;
	}
	CHECK_EQ(b->mallocs - a->mallocs, mallocs);
	CHECK_EQ(b->frees - a->frees, frees);
	CHECK_EQ(b->live_blocks - a->live_blocks, mallocs - frees);
	CHECK_EQ(b->mallocs - b->frees + b->inherited_blocks, b->live_blocks);
	/* Others' blocks are less than their classes, which these go by. */
	if (is_default)
		CHECK_EQ(b->allocated - b->freed - a->allocated + a->freed,
			 bytes);
	CHECK_EQ(b->live + b->rounding - a->live - a->rounding, bytes);
	check_classes();
	/* No page of the heap is left out; 8 MiB for stacks and the rest. */
	if (!now.elsewhere)
		CHECK(anonymous_resident() < b->held + 8 * KF_MIB_BYTES);
}

/* The reader gives up on a writer that gets no processor: look again. */
static void look_between_changes(struct kf_seen *s)
{
	for (int i = 0; i < 50; i++) {
		look(s);
		if (s->slabs + s->large + s->free_runs + s->metadata +
			    s->pools >=
		    s->mapped)
			return;
	}
}

static void check_while_running(void)
{
	static struct kf_seen running;
	uint64_t mallocs = now.totals.mallocs;

	for (int i = 0; i < 2; i++) {
		look_between_changes(&running);
		check_states(&running);
		CHECK(running.totals.mallocs >= mallocs);
		mallocs = running.totals.mallocs;
	}
}

#define NR_OF_CHILD 1000

/* The child frees 300 of its parent's blocks and makes a thousand. */
static void check_in_child(void)
{
	const struct kf_totals *t = &now.totals;
	uint64_t live = now.totals.live_blocks, bytes = t->live + t->rounding;
	struct worker mine = {.random = 1};
	static void *own[NR_OF_CHILD];

	for (int i = 0, nr = 0; nr < 300; i++) {
		CHECK(i < NR_PLACES);
		nr += place[i] != NULL;
		give(&mine, place[i]);
	}
	for (int i = 0; i < NR_OF_CHILD; i++)
		own[i] = take(&mine);
	look(&now);
	check_states(&now);
	CHECK_EQ(t->mallocs, NR_OF_CHILD);
	CHECK_EQ(t->frees, 300);
	CHECK_EQ(t->inherited_blocks, live);
	CHECK_EQ(t->live_blocks, live + NR_OF_CHILD - 300);
	CHECK_EQ(t->live + t->rounding, bytes + (uint64_t)mine.bytes);
	for (int i = 0; i < NR_OF_CHILD; i++)
		give(&mine, own[i]);
	_exit(0);
}

static void fork_and_check(void)
{
	pid_t pid = fork();

	if (!pid)
		check_in_child();
	kf_reap(pid);
	look(&now);
	check_states(&now);
	check_counts();
}

CASE(counts_and_states_are_true_at_a_hundred_pauses_of_eight_threads)
{
	const char *engine = getenv("KONFISCATOR_ENGINE");

	is_default = !engine || !strcmp(engine, "firstfit");
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	start_observer();
	for (int i = 0; i < NR_THREADS; i++) {
		workers[i].random = (unsigned int)i + 1;
		CHECK_EQ(pthread_create(&workers[i].thread, NULL,
					work_between_pauses, &workers[i]),
			 0);
	}
	pthread_barrier_wait(&barrier);
	look(&first);
	check_states(&first);
	now = first;
	for (int pause = 0; pause < NR_PAUSES; pause++) {
		pthread_barrier_wait(&barrier);
		check_while_running();
		pthread_barrier_wait(&barrier);
		look(&now);
		check_states(&now);
		check_counts();
	}
	CHECK(now.totals.live_blocks > first.totals.live_blocks + 300);
	fork_and_check();
	for (int i = 0; i < NR_PLACES; i++)
		give(&workers[0], place[i]);
	look(&now);
	check_states(&now);
	check_counts();
	CHECK_EQ(now.totals.live_blocks, first.totals.live_blocks);
	last = true;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
}

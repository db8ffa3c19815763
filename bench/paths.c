/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * paths CALL BYTES BLOCKS ROUNDS: one path through malloc and free, over and
 * over, for bench/micro.py and bench/instructions.py.
 *
 * A round takes BLOCKS blocks of BYTES bytes and then gives them back, in the
 * order they came. With one block that is the fastest path, with many what
 * fills and drains the caches. CALL is
 *
 *	malloc, calloc	who takes them
 *	remote		malloc, and another thread frees
 *	beside		malloc, while another thread does the same
 *	apart		malloc, while another process does the same
 *	tagged		malloc, under a tag of konfiscator.h
 *	tag		enters a tag and leaves it; takes no block
 *	realloc		resizes them to twice the bytes, and back in the next
 *	random		replaces BLOCKS of BLOCKS at random, 16 to BYTES bytes
 *
 * A quarter of the rounds comes first and is not counted. Printed are ns per
 * pair (realloc: per call) on the clock of the one or two threads at work;
 * beside and apart: the mean of the two. The slower of two would be slower than
 * one by what any two runs differ.
 */
#include "bench/programs/common.h"

#include "konfiscator.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline))

static uint64_t bytes = 64;
static uint64_t nr_blocks = 1;
static uint64_t rounds = 1000000;

static const struct bench_arg args[] = {
	{"BYTES", &bytes, 1, 1ULL << 32},
	{"BLOCKS", &nr_blocks, 1, 1 << 24},
	{"ROUNDS", &rounds, 4, 1ULL << 40},
};

static __thread void **blocks;
static uint64_t seed = 42;

/* One call of the C library a loop: instructions.py counts below these. */
static NOT_INLINE void take_malloc(void)
{
	size_t i;

	for (i = 0; i < nr_blocks; i++) {
		char *p = malloc(bytes);

		if (!p)
			bench_fail("no memory for a block of bytes", bytes);
		*p = 1;
		blocks[i] = p;
	}
}

static NOT_INLINE void take_calloc(void)
{
	size_t i;

	for (i = 0; i < nr_blocks; i++) {
		char *p = calloc(1, bytes);

		if (!p || *p)
			bench_fail("no zeroes in a block of bytes", bytes);
		*p = 1;
		blocks[i] = p;
	}
}

static NOT_INLINE void give_free(void)
{
	size_t i;

	for (i = 0; i < nr_blocks; i++)
		free(blocks[i]);
}

static NOT_INLINE void resize(size_t to)
{
	size_t i;

	for (i = 0; i < nr_blocks; i++) {
		char *p = realloc(blocks[i], to);

		if (!p || *p != 1)
			bench_fail("no block any more of bytes", to);
		blocks[i] = p;
	}
}

static void round_malloc(uint64_t round)
{
	(void)round;
	take_malloc();
	give_free();
}

static void round_calloc(uint64_t round)
{
	(void)round;
	take_calloc();
	give_free();
}

static void round_realloc(uint64_t round)
{
	resize(round % 2 ? bytes : 2 * bytes);
}

static void round_random(uint64_t round)
{
	size_t i;

	(void)round;
	for (i = 0; i < nr_blocks; i++) {
		size_t at = bench_below(&seed, nr_blocks);
		char *p = malloc(bench_between(&seed, 16, bytes));

		if (!p)
			bench_fail("no memory for a block up to", bytes);
		*p = 1;
		free(blocks[at]);
		blocks[at] = p;
	}
}

/* The other thread, and whose turn it is. */
static sem_t taken, given;
static double seconds_away;

static void *free_remotely(void *table)
{
	uint64_t round;
	double start;

	blocks = table;
	for (round = 0; round < rounds / 4 + rounds; round++) {
		sem_wait(&taken);
		start = bench_now();
		give_free();
		if (round >= rounds / 4)
			seconds_away += bench_now() - start;
		sem_post(&given);
	}
	return NULL;
}

/* The time to hand on is nobody's. */
static double run_remote(void)
{
	double seconds = 0, start;
	pthread_t thread;
	uint64_t round;

	sem_init(&taken, 0, 0);
	sem_init(&given, 0, 0);
	if (pthread_create(&thread, NULL, free_remotely, blocks))
		bench_fail("no thread beside this", 1);
	for (round = 0; round < rounds / 4 + rounds; round++) {
		start = bench_now();
		take_malloc();
		if (round >= rounds / 4)
			seconds += bench_now() - start;
		sem_post(&taken);
		sem_wait(&given);
	}
	pthread_join(thread, NULL);
	return seconds + seconds_away;
}

static double run_local(void (*run)(uint64_t round))
{
	uint64_t round;
	double start;

	for (round = 0; round < rounds / 4; round++)
		run(round);
	start = bench_now();
	for (; round < rounds / 4 + rounds; round++)
		run(round);
	return bench_now() - start;
}

static struct two {
	pthread_barrier_t begin;
	double seconds[2];
} * two;

static void *run_one_of_two(void *seconds)
{
	blocks = bench_table(nr_blocks, sizeof(*blocks));
	pthread_barrier_wait(&two->begin);
	*(double *)seconds = run_local(round_malloc);
	return NULL;
}

static void begin_two(void)
{
	pthread_barrierattr_t attr;

	two = mmap(NULL, sizeof(*two), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (two == MAP_FAILED)
		bench_fail("no memory for two", sizeof(*two));
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&two->begin, &attr, 2);
}

static double mean_of_two(void)
{
	return (two->seconds[0] + two->seconds[1]) / 2;
}

static double run_beside(void)
{
	pthread_t thread;

	begin_two();
	if (pthread_create(&thread, NULL, run_one_of_two, &two->seconds[1]))
		bench_fail("no thread beside this", 1);
	run_one_of_two(&two->seconds[0]);
	pthread_join(thread, NULL);
	return mean_of_two();
}

static double run_apart(void)
{
	int status = 1;
	pid_t pid;

	begin_two();
	pid = fork();
	if (pid < 0)
		bench_fail("no process beside this", 1);
	run_one_of_two(&two->seconds[pid == 0]);
	if (!pid)
		_exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		bench_fail("the process beside this ended with", status);
	return mean_of_two();
}

static double run_tagged(void)
{
	double seconds;

	konf_tag_push("tagged");
	seconds = run_local(round_malloc);
	konf_tag_pop();
	return seconds;
}

static void round_tag(uint64_t round)
{
	size_t i;

	(void)round;
	for (i = 0; i < nr_blocks; i++) {
		konf_tag_push("a tag");
		konf_tag_pop();
	}
}

static const struct {
	const char *name;
	void (*run)(uint64_t round);
	double (*run_all)(void);
} calls[] = {
	{"malloc", round_malloc, NULL},	  {"calloc", round_calloc, NULL},
	{"realloc", round_realloc, NULL}, {"random", round_random, NULL},
	{"remote", NULL, run_remote},	  {"beside", NULL, run_beside},
	{"apart", NULL, run_apart},	  {"tagged", NULL, run_tagged},
	{"tag", round_tag, NULL},
};

int main(int argc, char **argv)
{
	size_t i = 0, nr = sizeof(calls) / sizeof(calls[0]);
	double seconds;

	while (argc > 1 && i < nr && strcmp(calls[i].name, argv[1]))
		i++;
	if (argc < 2 || i == nr) {
		fputs("paths: the first argument is not malloc, calloc, "
		      "realloc, random, remote, beside, apart, tagged or tag\n",
		      stderr);
		return 2;
	}
	bench_args(argc - 1, argv + 1, args, sizeof(args) / sizeof(args[0]));
	blocks = bench_table(nr_blocks, sizeof(*blocks));
	if (calls[i].run == round_realloc)
		take_malloc();
	seconds = calls[i].run ? run_local(calls[i].run) : calls[i].run_all();
	printf("%.3f\n", seconds * 1e9 / (double)(rounds * nr_blocks));
	return 0;
}

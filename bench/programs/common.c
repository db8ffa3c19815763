/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of the benchmark programs' common code that no loop is made of.
 */
#include "bench/programs/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bench_queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_cond_t less;
	size_t capacity;
	size_t first;
	size_t nr;
	void *at[];
};

static void (*thread_run)(struct bench_thread *self);
static pthread_barrier_t thread_start;

static void wrong(const char *value, const struct bench_arg *arg)
{
	fprintf(stderr,
		"%s: %s \"%s\" is not a number from %" PRIu64 " to %" PRIu64
		"\n",
		program_invocation_short_name, arg->name, value, arg->min,
		arg->max);
	exit(2);
}

void bench_args(int argc, char **argv, const struct bench_arg *args, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && (int)i + 1 < argc; i++) {
		const char *value = argv[i + 1];
		char *end = NULL;

		errno = 0;
		*args[i].value = strtoull(value, &end, 10);
		if (errno || value[0] < '0' || value[0] > '9' || *end ||
		    *args[i].value < args[i].min ||
		    *args[i].value > args[i].max)
			wrong(value, &args[i]);
	}
	if ((size_t)argc <= nr + 1)
		return;
	fprintf(stderr,
		"%s: argument \"%s\" is one too many, allowed are:", argv[0],
		argv[nr + 1]);
	for (i = 0; i < nr; i++)
		fprintf(stderr, " %s", args[i].name);
	fputc('\n', stderr);
	exit(2);
}

void bench_range(const char *name, uint64_t min, uint64_t max)
{
	if (min <= max)
		return;
	fprintf(stderr,
		"%s: %s from %" PRIu64 " to %" PRIu64
		": the first must be at most the second\n",
		program_invocation_short_name, name, min, max);
	exit(2);
}

void bench_fail(const char *what, uint64_t number)
{
	fprintf(stderr, "%s: %s: %" PRIu64 "\n", program_invocation_short_name,
		what, number);
	_exit(1);
}

static void *thread_main(void *argument)
{
	struct bench_thread *self = argument;

	pthread_barrier_wait(&thread_start);
	thread_run(self);
	return NULL;
}

void bench_threads(unsigned int nr, void (*run)(struct bench_thread *self))
{
	static struct bench_thread threads[BENCH_MAX_THREADS];
	static pthread_t ids[BENCH_MAX_THREADS];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		threads[i].index = i;
		threads[i].chance = i + 1;
	}
	if (nr == 1) {
		run(&threads[0]);
		return;
	}
	thread_run = run;
	pthread_barrier_init(&thread_start, NULL, nr);
	for (i = 0; i < nr; i++) {
		int err =
			pthread_create(&ids[i], NULL, thread_main, &threads[i]);

		if (err)
			bench_fail("pthread_create failed with error", err);
	}
	for (i = 0; i < nr; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&thread_start);
}

void bench_detach(void *(*run)(void *argument), void *argument)
{
	pthread_attr_t detached;
	pthread_t id;
	int err;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&id, &detached, run, argument);
	if (err)
		bench_fail("pthread_create failed with error", err);
	pthread_attr_destroy(&detached);
}

struct bench_queue *bench_queue_new(size_t capacity)
{
	struct bench_queue *queue =
		bench_table(1, sizeof(*queue) + capacity * sizeof(void *));

	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	pthread_cond_init(&queue->less, NULL);
	queue->capacity = capacity;
	return queue;
}

void bench_queue_put(struct bench_queue *queue, void *pointer)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->nr == queue->capacity)
		pthread_cond_wait(&queue->less, &queue->lock);
	queue->at[(queue->first + queue->nr++) % queue->capacity] = pointer;
	pthread_cond_signal(&queue->more);
	pthread_mutex_unlock(&queue->lock);
}

void *bench_queue_take(struct bench_queue *queue)
{
	void *pointer;

	pthread_mutex_lock(&queue->lock);
	while (!queue->nr)
		pthread_cond_wait(&queue->more, &queue->lock);
	pointer = queue->at[queue->first];
	queue->first = (queue->first + 1) % queue->capacity;
	queue->nr--;
	pthread_cond_signal(&queue->less);
	pthread_mutex_unlock(&queue->lock);
	return pointer;
}

/* What was sent to a thread; each on a cache line of its own. */
static struct inbox {
	_Alignas(64) _Atomic(struct bench_parcel *) first;
} inboxes[BENCH_MAX_THREADS];

struct bench_parcel *bench_parcel_new(void)
{
	struct bench_parcel *parcel;

	return bench_got(malloc(sizeof(*parcel)), sizeof(*parcel));
}

void bench_send(struct bench_parcel *parcel, unsigned int to)
{
	struct inbox *inbox = &inboxes[to];

	parcel->next = atomic_load(&inbox->first);
	while (!atomic_compare_exchange_weak(&inbox->first, &parcel->next,
					     parcel))
		;
}

void bench_receive(unsigned int index)
{
	struct bench_parcel *parcel =
		atomic_exchange(&inboxes[index].first, NULL);

	while (parcel) {
		struct bench_parcel *next = parcel->next;
		int i;

		for (i = 0; i < BENCH_PARCEL; i++)
			bench_free(parcel->blocks[i]);
		free(parcel);
		parcel = next;
	}
}

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

uint64_t bench_resident(void)
{
	unsigned long total, resident, file;
	char text[128];
	ssize_t got;
	int fd;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		bench_fail("/proc/self/statm cannot be read, error", errno);
	text[got] = '\0';
	if (sscanf(text, "%lu %lu %lu", &total, &resident, &file) != 3)
		bench_fail("/proc/self/statm has another form, of bytes", got);
	return (uint64_t)(resident - file) * (uint64_t)sysconf(_SC_PAGESIZE);
}

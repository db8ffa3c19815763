/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * worker_pool [FILE]: allocations of a worker count for the tags of the thread
 * that made the request. Writes its tags to FILE, as JSON.
 *
 *	cc -pthread worker_pool.c -o worker_pool
 *	konfiscator run -- ./worker_pool tags.json
 *	konfiscator tags --aggregate=^worker tags.json
 */
#define _GNU_SOURCE
#include <konfiscator.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_WORKERS 2
#define NR_JOBS 30

struct job {
	struct konf_tags tags; /* of the thread that made the request */
	size_t size;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct job jobs[NR_JOBS];
	int nr_made;
	int nr_taken;
	void *answers[NR_JOBS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

/* Request a result of that many bytes. */
static void ask(size_t size)
{
	pthread_mutex_lock(&pool.lock);
	pool.jobs[pool.nr_made++] = (struct job){konf_tag_capture(), size};
	pthread_cond_signal(&pool.news);
	pthread_mutex_unlock(&pool.lock);
}

static int next_job(void)
{
	int job = -1;

	pthread_mutex_lock(&pool.lock);
	while (pool.nr_taken == pool.nr_made && pool.nr_taken < NR_JOBS)
		pthread_cond_wait(&pool.news, &pool.lock);
	if (pool.nr_taken < NR_JOBS)
		job = pool.nr_taken++;
	/* let the other threads stop waiting */
	if (pool.nr_taken == NR_JOBS)
		pthread_cond_broadcast(&pool.news);
	pthread_mutex_unlock(&pool.lock);
	return job;
}

static void *work(void *name)
{
	int i;

	pthread_setname_np(pthread_self(), name);
	while ((i = next_job()) >= 0) {
		unsigned int nr = konf_tag_adopt(pool.jobs[i].tags);

		pool.answers[i] = malloc(pool.jobs[i].size);
		konf_tag_pop_all(nr);
	}
	return NULL;
}

static void login(void)
{
	KONF_TAG_SCOPE("login");

	for (int i = 0; i < 10; i++)
		ask(100);
}

static void search(void)
{
	static const char *const tags[] = {"search", "index"};

	konf_tag_push_all(tags, 2);
	for (int i = 0; i < 20; i++)
		ask(4000);
	konf_tag_pop_all(2);
}

int main(int argc, char **argv)
{
	static char names[NR_WORKERS][16];
	pthread_t workers[NR_WORKERS];
	int rc = 0;

	for (int i = 0; i < NR_WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker/%d", i);
		pthread_create(&workers[i], NULL, work, names[i]);
	}
	login();
	search();
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(workers[i], NULL);
	if (argc > 1)
		rc = konf_tag_write(argv[1], KONF_TAG_JSON);
	if (rc)
		fprintf(stderr, "worker_pool: %s: %s\n", argv[1], strerror(rc));
	return rc ? 1 : 0;
}

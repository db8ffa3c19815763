/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many threads at once: crowd THREADS BLOCKS
 *
 * Each allocates so many blocks of 3000 bytes, and all stand still with them
 * until a line comes on standard input; then each frees its own. A line on
 * standard output says that they stand still. Ends with 77 where the kernel
 * gives no more threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK 65536
#define BLOCK 3000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int nr_ready;
static int is_over;
static int nr_blocks;

static void *run(void *unused)
{
	void **block = malloc((size_t)nr_blocks * sizeof(*block));

	for (int i = 0; i < nr_blocks; i++) {
		block[i] = malloc(BLOCK);
		memset(block[i], 1, BLOCK);
	}
	pthread_mutex_lock(&lock);
	nr_ready++;
	pthread_cond_broadcast(&changed);
	while (!is_over)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < nr_blocks; i++)
		free(block[i]);
	free(block);
	return unused;
}

int main(int argc, char **argv)
{
	int nr = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
	pthread_t *thread =
		mmap(NULL, (size_t)nr * sizeof(*thread), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	if (nr <= 0 || thread == MAP_FAILED)
		return 2;
	nr_blocks = (int)strtol(argv[2], NULL, 10);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < nr; i++) {
		if (pthread_create(&thread[i], &attr, run, NULL))
			return 77;
	}
	pthread_mutex_lock(&lock);
	while (nr_ready < nr)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	if (read(0, &argc, 1) < 0)
		return 1;
	pthread_mutex_lock(&lock);
	is_over = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

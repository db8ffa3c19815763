/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * parts: a program with known memory beside its heap: 4 MiB of a memfd, 8 MiB
 * of an anonymous mapping, two threads with 4 MiB of stack each; with an
 * argument also a block of 16 MiB that is never touched. Stays until its
 * standard input ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1u << 20)

static pthread_barrier_t barrier;

/* Volatile, so that no compiler leaves out what nobody uses. */
static void *volatile kept;

static void *thread(void *unused)
{
	char room[4 * MIB];

	(void)unused;
	kept = memset(room, 1, sizeof(room));
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void *touched(size_t size, int flags, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return memset(p, 1, size);
}

int main(int argc, char **argv)
{
	size_t untouched = argc > 1 && argv[1] ? 16 * MIB : 0;
	int fd = memfd_create("parts", 0);
	pthread_t id;
	char c;

	if (fd < 0 || ftruncate(fd, 4 * MIB))
		return 1;
	kept = touched(4 * MIB, MAP_SHARED, fd);
	kept = touched(8 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	kept = malloc(untouched);
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&id, NULL, thread, NULL))
			return 1;
	}
	pthread_barrier_wait(&barrier);
	return read(0, &c, 1) < 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * maps: maps, unmaps and moves memory past malloc in known functions, says
 * "ready", and ends at the end of its input.
 *
 *	maps		three threads, a signal handler, and a forked child
 *	maps later	only map_hole(), each time it is sent a line
 *	maps errors	prints results and errno of calls that fail
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define ROUNDS 2000
#define NOINLINE __attribute__((noinline))

static void *in_handler; /* what the handler of the signal mapped */

static void maps_check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "maps: %s\n", what);
	exit(1);
}

/* Touches all of it. */
static char *maps_fill(void *p, size_t size)
{
	maps_check(p != MAP_FAILED, "out of memory");
	memset(p, 1, size);
	return p;
}

static void *maps_new(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* 20 MiB of 24 are left, in two parts, of which half is touched. */
static NOINLINE char *map_hole(void)
{
	char *p = maps_new(24 * MIB);

	maps_fill(p, 10 * MIB);
	maps_check(!munmap(p + 12 * MIB, 4 * MIB), "munmap");
	return p;
}

static NOINLINE char *map_moved(void)
{
	char *p = maps_fill(maps_new(2 * MIB), 2 * MIB);

	p = mremap(p, 2 * MIB, 6 * MIB, MREMAP_MAYMOVE);
	return maps_fill(p, 6 * MIB);
}

/* Other mappings take its place: a file's, and one that is too short. */
static NOINLINE char *map_replaced(void)
{
	char *p = maps_new(3 * MIB);
	int fd = memfd_create("maps", 0);

	maps_fill(p, 3 * MIB);
	maps_check(fd >= 0 && !ftruncate(fd, (off_t)MIB), "memfd_create");
	p = mmap(p, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	maps_fill(p, MIB);
	close(fd);
	p = mmap(p + MIB, 32 * KIB, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return maps_fill(p, 32 * KIB);
}

/* Nothing of these stays. */
static NOINLINE void map_and_unmap(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *p = maps_new(256 * KIB);

		maps_fill(p, KIB);
		maps_check(!munmap(p, 256 * KIB), "munmap");
	}
}

static NOINLINE void map_in_handler(int sig)
{
	int saved = errno;

	(void)sig;
	in_handler = maps_new(MIB);
	errno = saved;
}

static NOINLINE void *map_in_thread(void *arg)
{
	char **at = arg;

	*at = maps_fill(maps_new(4 * MIB), 4 * MIB);
	map_and_unmap();
	return NULL;
}

/* Not resident, though mapped. */
static NOINLINE char *map_untouched(void)
{
	return mmap(NULL, 512 * MIB, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void maps_handle(void)
{
	struct sigaction action = {.sa_handler = map_in_handler};

	maps_check(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	maps_check(!raise(SIGUSR1), "raise");
	maps_fill(in_handler, MIB);
}

static void maps_in_threads(void)
{
	static char *of[3];
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		maps_check(!pthread_create(&thread[i], NULL, map_in_thread,
					   &of[i]),
			   "pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static void maps_wait(const char *who)
{
	char end;

	printf("%s %d\n", who, (int)getpid());
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
}

static void maps_in_child(void)
{
	pid_t pid;

	if (fork()) {
		maps_wait("ready");
		while ((pid = wait(NULL)) > 0)
			;
		return;
	}
	/* its own stats file */
	for (volatile size_t i = 0; i < 100; i++)
		free(malloc(100000 + 1000 * i));
	map_moved();
	maps_wait("child");
}

#define FAILS(call)                                                  \
	do {                                                         \
		long result;                                         \
                                                                     \
		errno = 0;                                           \
		result = (long)(call);                               \
		printf("%s: %ld, errno %d\n", #call, result, errno); \
	} while (0)

static void maps_errors(void)
{
	char *p = maps_new(MIB);
	int none = 0;

	FAILS(maps_new(MIB) == MAP_FAILED); /* errno stays */
	FAILS(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	FAILS(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, -1, 0));
	FAILS(mmap(NULL, MIB, PROT_READ, MAP_ANONYMOUS, -1, 0));
	FAILS(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 7));
	FAILS(mmap(NULL, SIZE_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0));
	FAILS(mmap(NULL, (size_t)1 << 48, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	FAILS(mmap(p + 1, MIB, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	FAILS(munmap(NULL, 0));
	FAILS(munmap(p, 0));
	FAILS(munmap(p + 1, MIB));
	FAILS(munmap(p, SIZE_MAX));
	FAILS(mremap(p + 1, MIB, MIB, MREMAP_MAYMOVE));
	FAILS(mremap(p, MIB, 0, 0));
	FAILS(mremap(p, MIB, (size_t)1 << 48, MREMAP_MAYMOVE));
	FAILS(mremap(p, MIB, MIB, 0x100));
	FAILS(mremap(p, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, p));
	FAILS(mremap(&none, MIB, MIB, MREMAP_MAYMOVE));
	FAILS(mremap(p, MIB, MIB / 2, 0) == p);
	FAILS(munmap(p, MIB));
	FAILS(mremap(p, MIB, 2 * MIB, MREMAP_MAYMOVE));
}

static int maps_later(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		map_hole();
		puts("mapped");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "later"))
		return maps_later();
	if (argc > 1 && !strcmp(argv[1], "errors")) {
		maps_errors();
		return 0;
	}
	map_hole();
	map_moved();
	map_replaced();
	map_untouched();
	maps_handle();
	maps_in_threads();
	maps_in_child();
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that maps memory itself in every way that mapped.bt follows, beside
 * blocks that malloc maps, and what it does not follow: small, shared and
 * failed mappings. It prints what is left of each function's mappings, in
 * bytes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define THREADS 3
#define EACH 8

#define MAPS(name)                                                           \
	static __attribute__((noinline)) char *name(size_t size)             \
	{                                                                    \
		char *volatile p = mmap(NULL, size, PROT_READ | PROT_WRITE,  \
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); \
                                                                             \
		if (p == MAP_FAILED)                                         \
			exit(1);                                             \
		return p;                                                    \
	}

MAPS(whole)
MAPS(cut_begin)
MAPS(cut_end)
MAPS(gone)
MAPS(reserve)
MAPS(small)
MAPS(in_thread)
MAPS(in_handler)

/* As runtimes do: memory takes the place of reserved addresses, by and by. */
static __attribute__((noinline)) void commit(char *at)
{
	for (size_t i = 0; i < 3; i++) {
		if (mmap(at + i * MIB, MIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			exit(1);
	}
}

static void handle(int sig)
{
	(void)sig;
	in_handler(MIB);
}

static int work(void *arg)
{
	(void)arg;
	for (int i = 0; i < EACH; i++)
		in_thread(MIB);
	return 0;
}

static __attribute__((noinline)) void refused(void)
{
	if (mmap(NULL, (size_t)1 << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0) != MAP_FAILED)
		exit(1);
}

static __attribute__((noinline)) void shared(void)
{
	if (mmap(NULL, MIB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		exit(1);
}

static __attribute__((noinline)) void allocate(void)
{
	static void *volatile block;

	for (int i = 0; i < 8; i++) {
		block = malloc(40 * MIB);
		if (i & 1)
			free(block);
	}
}

int main(void)
{
	thrd_t thread[THREADS];
	char *p;

	whole(3 * MIB);
	whole(5 * MIB + 1);
	p = cut_begin(4 * MIB);
	munmap(p, MIB);
	munmap(p + MIB, MIB);
	p = cut_end(4 * MIB);
	munmap(p + 3 * MIB, MIB);
	munmap(p + MIB, 2 * MIB);
	munmap(gone(2 * MIB), 2 * MIB);
	p = gone(2 * MIB);
	munmap(p, MIB);
	munmap(p + MIB, MIB);
	commit(reserve(8 * MIB));
	small(4096);
	refused();
	shared();
	allocate();
	for (int i = 0; i < THREADS; i++)
		if (thrd_create(&thread[i], work, NULL) != thrd_success)
			return 1;
	for (int i = 0; i < THREADS; i++)
		thrd_join(thread[i], NULL);
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	printf("whole %zu\ncut_begin %zu\ncut_end %zu\nreserve %zu\ncommit %zu\n",
	       8 * MIB + 4096, 2 * MIB, MIB, 5 * MIB, 3 * MIB);
	printf("in_thread %zu\nin_handler %zu\n", THREADS * EACH * MIB, MIB);
	fflush(stdout);
	/* so that its functions can be named */
	sleep(2);
	return 0;
}

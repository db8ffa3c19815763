/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that allocates from its first instruction on: before the
 * constructors of any library, in its own, then as its argument says. Its exit
 * status is 0 where all was well.
 */
#include "case.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char *from_preinit, *from_constructor;
static int handled;

static unsigned char *take(unsigned int seed)
{
	unsigned char *p = calloc(1, 100);

	CHECK(p && kf_all(p, 100, 0));
	p = realloc(p, 3000);
	CHECK(p && kf_all(p, 100, 0));
	free(malloc(200000));
	kf_fill(p, 3000, seed);
	return p;
}

static void at_fork(void)
{
	free(take(9));
	handled++;
}

static void preinit(void)
{
	pthread_atfork(at_fork, at_fork, at_fork);
	from_preinit = take(1);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*preinit_entry)(void) = preinit;

__attribute__((constructor(101))) static void constructor(void)
{
	from_constructor = take(2);
	CHECK(kf_filled(from_preinit, 3000, 1));
}

/* Blocks up to @most bytes, grown once and checked. */
static void work(size_t most)
{
	for (size_t n = 1; n < most; n += 1 + n / 7) {
		unsigned char *p = malloc(n);

		CHECK(p);
		kf_fill(p, n, 3);
		p = realloc(p, 2 * n);
		CHECK(p && kf_filled(p, n, 3));
		free(p);
	}
}

struct link {
	struct link *next;
	size_t bytes;
};

static size_t take_all(size_t each, struct link **chain)
{
	size_t total = 0;

	for (;;) {
		struct link *l;

		errno = 0;
		l = malloc(each);
		if (!l)
			break;
		memset(l, 1, each);
		l->next = *chain;
		*chain = l;
		total += each;
	}
	CHECK_EQ(errno, ENOMEM);
	return total;
}

static void drop_all(struct link **chain)
{
	while (*chain) {
		struct link *next = (*chain)->next;

		free(*chain);
		*chain = next;
	}
}

/* Until nothing is left, at several sizes; what was freed comes back. */
static size_t exhaust(void)
{
	static const size_t sizes[] = {5 << 20, 200000, 9000, 1000, 48};
	size_t most = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++) {
			struct link *chain = NULL;
			size_t total = take_all(sizes[i], &chain);

			most = total > most ? total : most;
			errno = 0;
			CHECK(!calloc(1, 1ul << 30) && errno == ENOMEM);
			drop_all(&chain);
			if (round)
				malloc_trim(0);
		}
	}
	return most;
}

static void *work_in_thread(void *arg)
{
	work(300000);
	return arg;
}

static void threads(void)
{
	pthread_t thread[8];

	for (int round = 0; round < 5; round++) {
		int nr = 0;

		while (nr < 8 &&
		       !pthread_create(&thread[nr], NULL, work_in_thread, NULL))
			nr++;
		CHECK(nr > 2);
		while (nr)
			pthread_join(thread[--nr], NULL);
	}
}

static void fork_twice(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(handled == 2 * i + 2 ? 0 : 1);
		kf_reap(pid);
	}
	CHECK_EQ(handled, 4);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "work";

	CHECK(from_preinit && kf_filled(from_preinit, 3000, 1));
	CHECK(from_constructor && kf_filled(from_constructor, 3000, 2));
	free(from_preinit);
	if (!strcmp(what, "exhaust"))
		exhaust();
	else if (!strcmp(what, "most"))
		CHECK(exhaust() > 180 * KF_MIB_BYTES);
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "fork"))
		fork_twice();
	else
		work(3 * KF_MIB_BYTES);
	free(from_constructor);
	return 0;
}

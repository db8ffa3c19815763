/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cases CASE [ARG]: allocates known numbers of large blocks, each of which is a
 * sample at a mean distance of 1K, in circumstances that are not usual. A site
 * is known by the size of its blocks: for each a line says "bytes BYTES
 * NUMBER", in usable bytes. For a thread of each kind a line says "end
 * ADDRESS": which return address its stacks end with.
 *
 *	loading OBJECT	before, during and after dlopen(), while two threads
 *			allocate; OBJECT has a constructor and plug(), which
 *			make a block of 120000 and one of 140000 bytes
 *	handling	in handlers of signals, on the stack and on another
 *	forking		in eight children, while two threads allocate
 *	tagged		under tags, and by none
 */
#include "konfiscator.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NR_THREADS 2

/* Sizes, a page apart at least. */
enum {
	BEFORE = 100000,
	DURING = 120000,
	PLUGGED = 140000,
	AFTER = 160000,
	WORK = 180000,
	HANDLED = 200000,
	CHILD = 220000,
	RED = 240000,
	BLUE = 260000,
	PLAIN = 280000,
};

#define LOADS 40
#define CHILDREN 8

static atomic_bool over;
static atomic_uint worked;

/* Volatile, so that no compiler leaves out a block that nobody uses. */
NOINLINE static void *make(size_t size)
{
	void *volatile p = malloc(size);

	if (!p)
		abort();
	return p;
}

static void many(size_t size, unsigned int nr)
{
	while (nr--)
		make(size);
}

/* It makes one more of them to see. */
static void tell(size_t size, unsigned int nr)
{
	void *p = make(size);

	printf("bytes %zu %u\n", malloc_usable_size(p), nr + 1);
	free(p);
}

static void tell_end(void)
{
	void *frame[64];
	int nr = backtrace(frame, 64);

	printf("end 0x%lx\n", (unsigned long)(uintptr_t)frame[nr - 1]);
}

/* Blocks that go at once: they are samples whose stacks are taken, too. */
static void *work(void *arg)
{
	if (!arg)
		tell_end();
	while (!atomic_load(&over)) {
		free(make(WORK));
		atomic_fetch_add(&worked, 1);
	}
	return NULL;
}

static pthread_t thread[NR_THREADS];

static void begin_work(void)
{
	for (uintptr_t i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			abort();
	}
	while (atomic_load(&worked) < 100)
		usleep(1000);
}

static void end_work(void)
{
	atomic_store(&over, true);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	tell(WORK, atomic_load(&worked));
}

static int loading(const char *path)
{
	many(BEFORE, 11);
	begin_work();
	for (int i = 0; i < LOADS; i++) {
		void *object = dlopen(path, RTLD_NOW);
		void (*plug)(void) = NULL;

		if (object)
			plug = (void (*)(void))dlsym(object, "plug");
		if (!plug) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		plug();
		dlclose(object);
	}
	end_work();
	many(AFTER, 13);
	tell(BEFORE, 11);
	tell(DURING, LOADS);
	tell(PLUGGED, LOADS);
	tell(AFTER, 13);
	return 0;
}

static void handle(int sig)
{
	make(HANDLED);
}

static int handling(const char *unused)
{
	struct sigaction act = {.sa_handler = handle};
	stack_t other = {.ss_size = 1 << 16};

	other.ss_sp = malloc(other.ss_size);
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	for (int i = 0; i < 23; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		make(BEFORE);
	}
	tell(HANDLED, 2 * 23);
	tell(BEFORE, 23);
	return 0;
}

/* As the parent's, but for the site. */
NOINLINE static void be_a_child(void)
{
	many(CHILD, 23);
	make(BEFORE);
	_exit(0);
}

static int forking(const char *unused)
{
	int status = 0, all = 0;

	many(BEFORE, 11);
	begin_work();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			be_a_child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		all |= status;
	}
	end_work();
	tell(BEFORE, 11);
	return all != 0;
}

static int tagged(const char *unused)
{
	konf_tag_push("red");
	many(RED, 23);
	konf_tag_push("blue");
	many(BLUE, 11);
	free(make(PLAIN));
	konf_tag_pop();
	konf_tag_pop();
	many(PLAIN, 7);
	tell(RED, 23);
	tell(BLUE, 11);
	tell(PLAIN, 8);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *arg);
	} cases[] = {
		{"loading", loading},
		{"handling", handling},
		{"forking", forking},
		{"tagged", tagged},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases);
	     i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		tell_end();
		return cases[i].run(argc > 2 ? argv[2] : NULL);
	}
	return 2;
}

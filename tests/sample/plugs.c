/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plugs SAMPLES SEED OBJECT...: eight threads load two of eight objects each,
 * make blocks in random chains of calls through them, and close them, all the
 * time. Timers interrupt them anywhere; their handlers use the stack and,
 * where a thread is not in malloc, allocate too.
 *
 * A block's size in pages says which calls have made it:
 *
 *	FIRST + (((depth * OBJECTS + outer) * KINDS + kind) * OBJECTS + inner) *
 *		KINDS + kind
 *
 * be_busy() -> down() DEPTH[depth] times -> function @kind of object @outer ->
 * back() -> function @kind of object @inner -> malloc. Blocks of HANDLED pages
 * are those of the handlers. At the end a line says "blocks N handled N shared
 * N": the last is the number of addresses where several objects were.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))

#define NR_THREADS 8
#define NR_OBJECTS 8
#define NR_KINDS 2
#define NR_DEPTHS 4
#define NR_PLACES 4096
#define PAGE 4096
#define FIRST 16
#define HANDLED 8000
#define EVERY_US 300

typedef void call_fn(size_t size, void (*back)(void *), void *arg);

/* What is left of a chain of calls. */
struct chain {
	call_fn *outer;
	call_fn *inner;
	size_t size;
};

static const unsigned int depths[NR_DEPTHS] = {0, 3, 21, 60};
static char **paths;
static unsigned long seed;
static atomic_long left;
static atomic_ulong nr_blocks, nr_handled, nr_signals;

/* Which objects were where, as bits. */
static struct {
	atomic_uintptr_t address;
	atomic_uint objects;
} places[NR_PLACES];

/* The thread is in no malloc, so a handler may allocate. */
static __thread volatile sig_atomic_t may_allocate
	__attribute__((tls_model("initial-exec")));

static void note(uintptr_t address, unsigned int object)
{
	size_t i = address * 0x9e3779b97f4a7c15 >> 52;

	for (int tries = 0; tries < NR_PLACES; tries++, i++) {
		uintptr_t none = 0;

		i %= NR_PLACES;
		if (!atomic_compare_exchange_strong(&places[i].address, &none,
						    address) &&
		    none != address)
			continue;
		atomic_fetch_or(&places[i].objects, 1u << object);
		return;
	}
}

static unsigned int shared(void)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < NR_PLACES; i++)
		nr += __builtin_popcount(places[i].objects) > 1;
	return nr;
}

/* The object's function calls this; it goes on with the inner one. */
NOINLINE static void back(void *arg)
{
	const struct chain *c = arg;

	c->inner(c->size, NULL, NULL);
	__asm__ volatile("");
}

NOINLINE static unsigned int down(unsigned int depth, struct chain *c)
{
	unsigned int nr = 0;

	if (depth)
		nr = down(depth - 1, c) + 1;
	else
		c->outer(0, back, c);
	/* no compiler makes a loop of it */
	__asm__ volatile("" : "+r"(nr));
	return nr;
}

static unsigned int chance(uint64_t *state, unsigned int below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (unsigned int)(*state >> 33) % below;
}

static call_fn **plug_in(unsigned int object, void **handle)
{
	call_fn **all = NULL;

	*handle = dlopen(paths[object], RTLD_NOW | RTLD_LOCAL);
	if (*handle)
		all = dlsym(*handle, "functions");
	if (!all) {
		fprintf(stderr, "plugs: %s\n", dlerror());
		abort();
	}
	note((uintptr_t)all[0], object);
	return all;
}

static void make_blocks(uint64_t *state, call_fn **outer, unsigned int out,
			call_fn **inner, unsigned int in, unsigned int nr)
{
	while (nr--) {
		unsigned int depth = chance(state, NR_DEPTHS);
		unsigned int first = chance(state, NR_KINDS);
		unsigned int last = chance(state, NR_KINDS);
		size_t code = depth * NR_OBJECTS + out;
		struct chain c = {outer[first], inner[last], 0};

		code = code * NR_KINDS + first;
		code = code * NR_OBJECTS + in;
		code = code * NR_KINDS + last;
		c.size = PAGE * (FIRST + code);
		if (down(depths[depth], &c) != depths[depth])
			abort();
		may_allocate = 1;
		for (volatile int i = 0; i < 1000; i++)
			;
		may_allocate = 0;
	}
}

static void *be_busy(void *arg)
{
	uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15 + (uintptr_t)arg;

	for (;;) {
		unsigned int out = chance(&state, NR_OBJECTS);
		unsigned int in = chance(&state, NR_OBJECTS);
		unsigned int nr = 1 + chance(&state, out % 2 ? 4 : 60);
		void *first, *second;
		call_fn **outer = plug_in(out, &first);
		call_fn **inner = plug_in(in, &second);

		if (atomic_fetch_sub(&left, nr) <= 0)
			break;
		make_blocks(&state, outer, out, inner, in, nr);
		atomic_fetch_add(&nr_blocks, nr);
		dlclose(first);
		dlclose(second);
	}
	return NULL;
}

/* Also in the middle of a malloc, of the walk of a stack, or of dlopen(). */
static void handle(int sig)
{
	volatile char used[2048];

	memset((void *)used, sig, sizeof(used));
	atomic_fetch_add(&nr_signals, used[7] != 0);
	if (may_allocate) {
		void *volatile block = malloc(PAGE * HANDLED);

		atomic_fetch_add(&nr_handled, block != NULL);
		free(block);
	}
}

static void every(int which, int sig, int us)
{
	struct sigaction action = {.sa_handler = handle,
				   .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, us}, {0, us}};

	sigaction(sig, &action, NULL);
	setitimer(which, &timer, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_THREADS];

	if (argc != 3 + NR_OBJECTS)
		return 2;
	atomic_store(&left, strtol(argv[1], NULL, 10));
	seed = strtoul(argv[2], NULL, 0);
	paths = argv + 3;
	every(ITIMER_REAL, SIGALRM, EVERY_US);
	every(ITIMER_PROF, SIGPROF, EVERY_US);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, be_busy, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	every(ITIMER_REAL, SIGALRM, 0);
	every(ITIMER_PROF, SIGPROF, 0);
	if (!nr_signals)
		return 3;
	printf("blocks %lu handled %lu shared %u\n", nr_blocks, nr_handled,
	       shared());
	return 0;
}

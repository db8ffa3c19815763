/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * noblock CALL POINTER: give a call of the malloc family a pointer that is no
 * block, and print what it returns. Without arguments: print all CALLs and
 * POINTERs, a pair a line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL 64
#define LARGE (256 << 10)

static char global[SMALL] __attribute__((aligned(16)));

/* The compiler must not know what the pointer is. */
static void *hide(void *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

static void *freed(size_t size)
{
	void *p = malloc(size);

	free(hide(p));
	return p;
}

static void *free_it(void *p)
{
	free(hide(p));
	return NULL;
}

/* A block that another thread has freed, which has ended. */
static void *freed_by_ended(void)
{
	void *p = malloc(SMALL);
	pthread_t thread;

	if (pthread_create(&thread, NULL, free_it, p) ||
	    pthread_join(thread, NULL))
		exit(2);
	return p;
}

static sem_t is_freed;

static void *free_and_stay(void *p)
{
	free(hide(p));
	sem_post(&is_freed);
	while (pause() < 0)
		;
	return p;
}

/* A block that another thread has freed, which does nothing since. */
static void *freed_by_another(void)
{
	void *p = malloc(SMALL);
	pthread_t thread;

	if (sem_init(&is_freed, 0, 0) ||
	    pthread_create(&thread, NULL, free_and_stay, p) ||
	    sem_wait(&is_freed))
		exit(2);
	return p;
}

/* A block of the C library's own malloc, whatever is preloaded. */
static void *of_c_library(void)
{
	void *library = dlopen("libc.so.6", RTLD_NOW);
	void *(*its_malloc)(size_t size) = NULL;

	if (library)
		*(void **)&its_malloc = dlsym(library, "malloc");
	if (!its_malloc)
		exit(2);
	return its_malloc(SMALL);
}

static const char *const pointers[] = {
	"NULL",
	"inside a small block",
	"inside a large block",
	"on the stack",
	"a global variable",
	"small block, freed",
	"large block, freed",
	"small block, freed by another thread",
	"small block, freed by a thread that ended",
	"small block of another thread, freed by the caller",
	"block of the C library's malloc",
};

static void *made(const char *name, void *on_stack)
{
	if (!strcmp(name, "NULL"))
		return NULL;
	if (!strcmp(name, "inside a small block"))
		return (char *)malloc(SMALL) + SMALL / 2;
	if (!strcmp(name, "inside a large block"))
		return (char *)malloc(LARGE) + LARGE / 2;
	if (!strcmp(name, "on the stack"))
		return on_stack;
	if (!strcmp(name, "a global variable"))
		return global;
	if (!strcmp(name, "small block, freed"))
		return freed(SMALL);
	if (!strcmp(name, "large block, freed"))
		return freed(LARGE);
	if (!strcmp(name, "small block of another thread, freed by the caller"))
		return malloc(SMALL); /* freed by the thread of the call */
	if (!strcmp(name, "small block, freed by another thread"))
		return freed_by_another();
	if (!strcmp(name, "small block, freed by a thread that ended"))
		return freed_by_ended();
	if (!strcmp(name, "block of the C library's malloc"))
		return of_c_library();
	exit(2);
}

static void run_free(void *p)
{
	free(p);
	puts("returns");
}

static void run_realloc(void *p)
{
	void *q;

	errno = 0;
	q = realloc(p, 2 * SMALL);
	puts(q ? "a block" : errno == ENOMEM ? "NULL, ENOMEM" : "NULL");
}

static void run_usable(void *p)
{
	size_t bytes = malloc_usable_size(p);

	puts(bytes ? "a size" : "0");
}

static const struct {
	const char *name;
	void (*run)(void *p);
} calls[] = {
	{"free", run_free},
	{"realloc", run_realloc},
	{"malloc_usable_size", run_usable},
};

struct call {
	void (*run)(void *p);
	void *p;
};

static void *free_and_call(void *arg)
{
	struct call *call = arg;

	free(hide(call->p));
	call->run(hide(call->p));
	return NULL;
}

static int run_of(void (*run)(void *p), const char *name)
{
	char on_stack[SMALL] __attribute__((aligned(16))) = {0};
	struct call call = {run, made(name, hide(on_stack))};
	pthread_t thread;

	if (strcmp(name, "small block of another thread, freed by the caller"))
		run(hide(call.p));
	else if (pthread_create(&thread, NULL, free_and_call, &call) ||
		 pthread_join(thread, NULL))
		return 2;
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		size_t nr =
			argc < 2 ? sizeof(pointers) / sizeof(pointers[0]) : 0;

		for (size_t k = 0; k < nr; k++)
			printf("%s %s\n", calls[i].name, pointers[k]);
		if (argc == 3 && !strcmp(argv[1], calls[i].name))
			return run_of(calls[i].run, argv[2]);
	}
	return argc < 2 ? 0 : 2;
}

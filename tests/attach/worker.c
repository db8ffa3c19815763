/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that knows its calls: it does what the lines of its input say, and
 * answers each with "ok" or a reason. Between two answers it calls malloc only
 * where that is written here.
 *
 *	attach, detach	by itself, with the library that is its argument
 *	hold N		allocate N blocks and keep them
 *	drop		free them
 *	grow		make each of them larger with realloc
 *	tiny N		allocate N blocks of 8 bytes, the half of them by
 *			realloc, and free them
 *	work N		N rounds, each of 7 blocks by 7 functions, all freed
 *	strdup		a block that the C library allocates
 *	load PATH	load a plugin and keep the block that it allocates
 *	asks		whether dlsym finds this library's malloc
 *	storm T		T threads that allocate until KF_GO exists
 *	trap		a handler of SIGTRAP that returns when KF_GO exists
 *	fork		a child that allocates and ends
 *	background PATH	load a plugin in another thread
 *	iterate		dl_iterate_phdr() until KF_GO exists
 *	end slowly	the program ends when KF_GO exists
 *	end		the program ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 100000
#define THREADS 64
#define SLOTS 64

static const char *library;
static char *held[MOST];
static unsigned int nr_held;
static volatile bool ends;

static void say(const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	if (write(1, line, (size_t)n) != n)
		_exit(3);
}

static const char *call(const char *name)
{
	void *handle = dlopen(library, RTLD_NOW);
	const char *(*fn)(unsigned long) = NULL;
	const char *why;

	if (handle)
		*(void **)&fn = dlsym(handle, name);
	if (!fn)
		return dlerror();
	why = fn(0);
	return why ? why : "ok";
}

static const char *hold(unsigned int nr)
{
	for (unsigned int i = 0; i < nr && nr_held < MOST; i++) {
		held[nr_held] = malloc(100);
		memset(held[nr_held++], 'h', 100);
	}
	return "ok";
}

static bool is_whole(const char *p)
{
	for (int i = 0; i < 100; i++) {
		if (p[i] != 'h')
			return false;
	}
	return true;
}

static const char *grow(void)
{
	for (unsigned int i = 0; i < nr_held; i++)
		held[i] = realloc(held[i], 5000);
	return "ok";
}

static const char *tiny(unsigned int nr)
{
	static uint64_t *block[MOST];

	for (unsigned int i = 0; i < nr && i < MOST; i++) {
		block[i] = malloc(i % 2 ? 8 : 5000);
		if (i % 2 == 0)
			block[i] = realloc(block[i], 8);
		*block[i] = i;
	}
	for (unsigned int i = 0; i < nr && i < MOST; i++) {
		if (*block[i] != i)
			return "a block was changed";
		free(block[i]);
	}
	return "ok";
}

static const char *drop(void)
{
	const char *answer = "ok";

	while (nr_held) {
		if (!is_whole(held[--nr_held]))
			answer = "a block was changed";
		free(held[nr_held]);
	}
	return answer;
}

static const char *work(unsigned int nr)
{
	void *volatile p[7];

	for (unsigned int i = 0; i < nr; i++) {
		p[0] = malloc(i % 5000);
		p[1] = calloc(7, i % 300);
		p[2] = realloc(NULL, 50);
		if (posix_memalign((void **)&p[3], 64, 100))
			return "posix_memalign failed";
		p[4] = memalign(256, 100);
		p[5] = aligned_alloc(128, 1000);
		p[6] = malloc(400000);
		if (malloc_usable_size(p[6]) < 400000)
			return "a usable size is wrong";
		for (int k = 0; k < 7; k++)
			free(p[k]);
	}
	return "ok";
}

static const char *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	void *(*make)(void) = NULL;

	if (handle)
		*(void **)&make = dlsym(handle, "plugin_make");
	if (!make)
		return dlerror();
	return make() ? "ok" : "no block";
}

static const char *asks(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);

	return handle && dlsym(handle, "malloc") ==
				       dlsym(RTLD_DEFAULT, "malloc")
		       ? "yes"
		       : "no";
}

static void *storm_thread(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	char *slot[SLOTS] = {0};

	while (!ends) {
		unsigned int i = (unsigned int)rand_r(&seed) % SLOTS;
		size_t n = (size_t)rand_r(&seed) % 3000 + 1;

		if (slot[i] && *slot[i] != (char)i)
			abort();
		if (n % 3 == 0) {
			slot[i] = realloc(slot[i], n);
		} else {
			free(slot[i]);
			slot[i] = n % 3 == 1 ? malloc(n) : memalign(64, n);
		}
		*slot[i] = (char)i;
	}
	for (int i = 0; i < SLOTS; i++)
		free(slot[i]);
	return NULL;
}

static void wait_to_go(void)
{
	while (access(getenv("KF_GO"), F_OK))
		usleep(10000);
}

static volatile bool trapped;

static void trap_handler(int signo)
{
	(void)signo;
	wait_to_go();
	trapped = true;
}

static const char *trap(void)
{
	static bool handled;

	if (!handled)
		signal(SIGTRAP, trap_handler);
	handled = true;
	trapped = false;
	raise(SIGTRAP);
	return trapped ? "ok" : "no signal";
}

static int go_on(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	wait_to_go();
	return 1;
}

static const char *iterate(void)
{
	return dl_iterate_phdr(go_on, NULL) == 1 ? "ok" : "no object";
}

static const char *storm(unsigned int nr)
{
	pthread_t thread[THREADS];

	ends = false;
	for (size_t i = 0; i < nr && i < THREADS; i++)
		pthread_create(&thread[i], NULL, storm_thread, (void *)i);
	wait_to_go();
	ends = true;
	for (size_t i = 0; i < nr && i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return "ok";
}

static const char *fork_one(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		work(100);
		_exit(drop() ? 0 : 1);
	}
	return waitpid(child, &status, 0) == child && !status ? "ok"
							      : "a child died";
}

static void *background_thread(void *path)
{
	if (!dlopen(path, RTLD_NOW))
		_exit(4);
	free(path);
	return NULL;
}

static const char *background(const char *path)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, background_thread, strdup(path))
		       ? "no thread"
		       : "ok";
}

static const char *obey(const char *line)
{
	unsigned int a = 0;
	char path[400];

	if (!strcmp(line, "attach"))
		return call("konfiscator_attach");
	if (!strcmp(line, "detach"))
		return call("konfiscator_detach");
	if (sscanf(line, "hold %u", &a) == 1)
		return hold(a);
	if (!strcmp(line, "drop"))
		return drop();
	if (!strcmp(line, "grow"))
		return grow();
	if (sscanf(line, "work %u", &a) == 1)
		return work(a);
	if (sscanf(line, "tiny %u", &a) == 1)
		return tiny(a);
	if (!strcmp(line, "strdup"))
		return strdup(line) ? "ok" : "no block";
	if (sscanf(line, "load %399[^\n]", path) == 1)
		return load(path);
	if (sscanf(line, "background %399[^\n]", path) == 1)
		return background(path);
	if (!strcmp(line, "asks"))
		return asks();
	if (sscanf(line, "storm %u", &a) == 1)
		return storm(a);
	if (!strcmp(line, "trap"))
		return trap();
	if (!strcmp(line, "iterate"))
		return iterate();
	if (!strcmp(line, "fork"))
		return fork_one();
	return "what?";
}

int main(int argc, char **argv)
{
	char line[512];
	size_t n = 0;

	library = argc > 1 ? argv[1] : "";
	while (n < sizeof(line) && read(0, &line[n], 1) == 1) {
		if (line[n++] != '\n')
			continue;
		line[n - 1] = '\0';
		if (!strcmp(line, "end slowly"))
			atexit(wait_to_go);
		if (!strncmp(line, "end", 3))
			break;
		say(obey(line));
		n = 0;
	}
	return 0;
}

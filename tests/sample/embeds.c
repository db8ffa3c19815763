/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * embeds LIBPYTHON ROUNDS: loads the library, runs code of Python and unloads
 * it, so many times, while other threads allocate. In the last round it says
 * "ready" and waits for the end of its input before it unloads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NR_THREADS 3
#define MANY (64 << 20)

static int over;

static void *allocate(void *arg)
{
	void *volatile block;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		block = malloc(20000);
		free(block);
	}
	return arg;
}

static void *find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "embeds: no %s\n", name);
		exit(1);
	}
	return symbol;
}

static void run_round(const char *path, int round, int last)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL), *other;
	void (*begin)(int);
	int (*run)(const char *), (*end)(void);
	char code[256];

	if (!library) {
		fprintf(stderr, "embeds: %s\n", dlerror());
		exit(1);
	}
	*(void **)&begin = find(library, "Py_InitializeEx");
	*(void **)&run = find(library, "PyRun_SimpleString");
	*(void **)&end = find(library, "Py_FinalizeEx");
	begin(0);
	/* an object that is no interpreter comes and goes */
	other = dlopen("libz.so.1", RTLD_NOW);
	if (other)
		dlclose(other);
	snprintf(code, sizeof(code),
		 "kept = []\n"
		 "def embedded%d():\n"
		 "    for i in range(1000):\n"
		 "        kept.append(bytes(10000))\n"
		 "embedded%d()\n",
		 round, round);
	if (run(code))
		exit(1);
	if (last) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	end();
	dlclose(library);
	if (dlopen(path, RTLD_NOW | RTLD_NOLOAD))
		return;
	/* The next one will be elsewhere. */
	mmap(NULL, MANY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	int rounds = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

	for (int i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, allocate, NULL))
			return 1;
	}
	for (int i = 0; i < rounds; i++)
		run_round(argv[1], i, i == rounds - 1);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * deaths WAY BLOCKS [MS]: leaks BLOCKS blocks of 256 bytes in leaky(), among
 * other allocations that are freed or stay, and dies: by kill (SIGKILL), abort,
 * segv, or oom, where it touches memory that is not the heap's until the kernel
 * kills it. With MS it waits for so long before.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LEAK 256
#define TABLE 1024
#define CHUNK (1 << 20)

static void *last; /* all of the leak hangs on it */
static void *table[TABLE];

__attribute__((noinline)) static void leaky(void)
{
	void **block = malloc(LEAK);

	if (!block)
		_exit(9);
	memset(block, 1, LEAK);
	*block = last;
	last = block;
}

/* Stays, but never grows beyond its table. */
__attribute__((noinline)) static void keep(unsigned int i)
{
	free(table[i % TABLE]);
	table[i % TABLE] = malloc(100 + i * 7919 % 900);
}

__attribute__((noinline)) static void work(unsigned int i)
{
	void *a = malloc(50 + i * 104729 % 950);
	void *b = calloc(1, 16 + i % 500);

	free(a);
	free(b);
}

static void die(const char *way)
{
	if (!strcmp(way, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(way, "abort"))
		abort();
	else if (!strcmp(way, "segv"))
		raise(SIGSEGV);
	while (!strcmp(way, "oom")) {
		char *more = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more == MAP_FAILED)
			break;
		memset(more, 1, CHUNK);
	}
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = {0};
	struct timespec wait = {0};
	unsigned long blocks;

	if (argc < 3 || setrlimit(RLIMIT_CORE, &no_core))
		return 2;
	blocks = strtoul(argv[2], NULL, 10);
	for (unsigned int i = 0; i < blocks; i++) {
		leaky();
		keep(i);
		work(i);
	}
	if (argc > 3) {
		wait.tv_nsec = strtol(argv[3], NULL, 10) * 1000000;
		nanosleep(&wait, NULL);
	}
	die(argv[1]);
	fprintf(stderr, "deaths: %s: it lives\n", argv[1]);
	return 3;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// Wrong frees of guarded blocks, of which each is one where every block is a
// sample: frees KIND. And what malloc says of such blocks.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_guarded(char *p, size_t size)
{
	return malloc_usable_size(p) == size;
}

// A block of 49 bytes: other blocks of this size have 64.
static char *guarded(void)
{
	for (int i = 0; i < 100000; i++) {
		char *p = malloc(49);

		if (is_guarded(p, 49))
			return p;
		free(p);
	}
	printf("no block was guarded\n");
	exit(2);
}

static void facts(void)
{
	struct mallinfo2 before = mallinfo2(), now;
	char *p = guarded(), *zeroed, *aligned = NULL;

	now = mallinfo2();
	printf("more in use: %d\n", now.uordblks - before.uordblks >= 49);
	memset(p, 'a', 49);
	p = realloc(p, 100);
	printf("kept: %d\n", p[0] == 'a' && p[48] == 'a');
	free(p);
	p = guarded();
	p = realloc(p, 100000);
	free(p);
	for (int i = 0; i < 40000; i++) {
		size_t size = 1 + i % 600;

		p = malloc(size);
		for (size_t more = 1; p && more < 40; more += 7)
			p = realloc(p, size + more);
		if (!p)
			printf("realloc gave no block\n");
		free(p);
	}
	for (int i = 0; i < 20000; i++) {
		zeroed = calloc(7, 7);
		for (int b = 0; b < 49; b++) {
			if (zeroed[b])
				printf("not zero\n");
		}
		memset(zeroed, 'z', 49);
		free(zeroed);
	}
	for (int i = 0; i < 20000; i++) {
		if (posix_memalign((void **)&aligned, 256, 300) ||
		    (uintptr_t)aligned % 256)
			printf("not aligned\n");
		free(aligned);
	}
}

// A filter that kills for each call but read, write, exit and sigreturn.
static void filtered(void)
{
	char *p = guarded(), *q = guarded();

	free(q);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		_exit(3);
	free(p);
	*(volatile char *)p = *(volatile char *)q;
	if (write(1, "filtered\n", 9) != 9)
		syscall(SYS_exit, 4);
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	char *p;

	if (!strcmp(argv[1], "facts")) {
		facts();
	} else if (!strcmp(argv[1], "filtered")) {
		filtered();
	} else if (!strcmp(argv[1], "double")) {
		p = guarded();
		free(p);
		free(p);
		free(p);
	} else if (!strcmp(argv[1], "inside")) {
		p = guarded();
		free(p + 16);
		free(p + 32);
		free(p);
	} else if (!strcmp(argv[1], "realloc")) {
		p = guarded();
		free(p);
		errno = 0;
		p = realloc(p, 60);
		printf("realloc gave %d errno %d\n", p != NULL,
		       errno == ENOMEM);
	}
	printf("done\n");
	return 0;
}

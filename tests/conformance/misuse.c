/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Misuse that is caught without any option: what is no block of ours is not
 * freed, nor a part of a large block, nor a large block twice in a row. The
 * process ends by abort(). Small blocks are freed without such a look.
 */
#include "case.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_aborts(void (*misuse)(size_t), size_t n)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		free(malloc(1));
		misuse(n);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGABRT);
}

static const size_t sizes[] = {40000, 70000, 200000, 500000, 5000000};
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void free_stack(size_t n)
{
	char block[64] __attribute__((aligned(16)));

	memset(block, 0, sizeof(block));
	free(kf_ptr(block + n));
}

CASE(free_of_the_stack_aborts)
{
	check_aborts(free_stack, 0);
	check_aborts(free_stack, 16);
	check_aborts(free_stack, 7);
}

static char static_block[256] __attribute__((aligned(16)));

static void free_static(size_t n)
{
	free(kf_ptr(static_block + n));
}

CASE(free_of_static_storage_aborts)
{
	check_aborts(free_static, 0);
	check_aborts(free_static, 64);
}

static void free_foreign(size_t n)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	free(p + n);
}

CASE(free_of_a_foreign_mapping_aborts)
{
	check_aborts(free_foreign, 0);
	check_aborts(free_foreign, 16);
	check_aborts(free_foreign, 65536);
}

static void free_far(size_t n)
{
	free((void *)n);
}

CASE(free_of_a_wild_pointer_aborts)
{
	check_aborts(free_far, 16);
	check_aborts(free_far, 0x123456789ab0);
	check_aborts(free_far, 0x7fffffff0000);
	check_aborts(free_far, 0xffffffff00000010);
	check_aborts(free_far, 0x8000000000000000);
	check_aborts(free_far, SIZE_MAX & ~15ul);
}

static void free_unaligned(size_t n)
{
	char *p = malloc(n);

	CHECK(p);
	free(p + (n > 8 ? 8 : 1));
}

CASE(free_of_an_unaligned_pointer_into_a_large_block_aborts)
{
	for (size_t i = 0; i < NR_SIZES; i++)
		check_aborts(free_unaligned, sizes[i]);
}

static void free_interior(size_t n)
{
	char *p = malloc(n);

	CHECK(p);
	free(p + n / 2 / 16 * 16);
}

CASE(free_of_the_middle_of_a_large_block_aborts)
{
	for (size_t i = 0; i < NR_SIZES; i++)
		check_aborts(free_interior, sizes[i]);
}

static void free_twice(size_t n)
{
	char *p = malloc(n);

	CHECK(p);
	free(p);
	free(kf_ptr(p));
}

CASE(free_of_a_large_block_twice_in_a_row_aborts)
{
	for (size_t i = 0; i < NR_SIZES; i++)
		check_aborts(free_twice, sizes[i]);
}

static void realloc_foreign(size_t n)
{
	free(realloc(kf_ptr(static_block), n));
}

CASE(realloc_of_static_storage_aborts)
{
	check_aborts(realloc_foreign, 10);
	check_aborts(realloc_foreign, 1000000);
}

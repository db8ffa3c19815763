// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What programs do wrong with a heap, each shape by itself, so that it can be
 * seen which malloc notices. What is done wrong in "wide" shapes is what the
 * published security tests of allocators do; "core" ones are a shorter list.
 *
 * Usage: shapes --list		a line for each: sets, name
 *	  shapes NAME BYTES	do it with a block of this size
 *
 * It ends with status 0 and "missed" where nobody noticed until the end, 1 and
 * "stopped" where the heap did not let it happen, or by a signal.
 */
#include <alloca.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CORE 1
#define WIDE 2

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

struct shape {
	const char *name;
	int sets;
	/* Whether the heap did not let it happen. */
	bool (*run)(size_t size);
};

/* Keeps the compiler from knowing where a pointer comes from. */
static char *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static char *take(size_t size)
{
	char *p = hide(malloc(size));

	if (!p) {
		fputs("shapes: no memory\n", stderr);
		exit(2);
	}
	return p;
}

static void give(char *p)
{
	free(hide(p));
}

static void churn(size_t size, size_t times)
{
	for (size_t i = 0; i < times; i++)
		give(take(size));
}

static bool free_twice(size_t size)
{
	char *p = take(size);

	give(p);
	give(p);
	return false;
}

static bool free_twice_later(size_t size)
{
	char *p = take(size);

	give(p);
	churn(size, 1024);
	give(p);
	return false;
}

static bool free_twice_around_another(size_t size)
{
	char *p = take(size), *q = take(size);

	give(p);
	give(q);
	give(p);
	return false;
}

static bool free_twice_then_reuse(size_t size)
{
	free_twice(size);
	churn(size, 256 * 1024);
	return false;
}

static bool free_twice_around_a_reuse(size_t size)
{
	char *p = take(size), *q;

	give(p);
	q = take(size);
	give(p);
	give(q);
	return false;
}

static bool free_wild(size_t size)
{
	give((char *)(uintptr_t)(size % 2 + 1));
	return false;
}

static bool free_alloca(size_t size)
{
	char *p = alloca(size);

	memset(p, 0, size);
	give(p);
	return false;
}

static bool free_stack(size_t size)
{
	char block[512 * 1024];

	memset(block, 0, size);
	give(block);
	return false;
}

static bool free_a_page_behind(size_t size)
{
	give(take(size) + 4096);
	return false;
}

static bool free_far_behind(size_t size)
{
	give(take(size) + GIB);
	return false;
}

static bool free_odd(size_t size)
{
	give(take(size) + 1);
	return false;
}

static bool free_off_by_8(size_t size)
{
	give(take(size) + 8);
	return false;
}

/* The middle of a block; of one of 8 bytes, what comes behind. */
static bool free_inside(size_t size)
{
	give(take(size) + (size < 64 ? 16 : size / 2));
	return false;
}

/* Flips bits, so that no value that was there before can hide it. */
static bool spoil(size_t size, ptrdiff_t at)
{
	char *p = take(size);

	p[at] ^= 'A';
	give(p);
	return false;
}

static bool spoil_1_behind(size_t size)
{
	return spoil(size, (ptrdiff_t)size);
}

static bool spoil_8_behind(size_t size)
{
	return spoil(size, (ptrdiff_t)size + 7);
}

static bool spoil_16_behind(size_t size)
{
	return spoil(size, (ptrdiff_t)size + 15);
}

static bool spoil_32_behind(size_t size)
{
	return spoil(size, (ptrdiff_t)size + 31);
}

static bool spoil_1_mib_behind(size_t size)
{
	return spoil(size, (ptrdiff_t)(size + MIB) - 1);
}

static bool spoil_1_before(size_t size)
{
	return spoil(size, -1);
}

static bool spoil_32_before(size_t size)
{
	return spoil(size, -32);
}

static bool spoil_1_mib_before(size_t size)
{
	return spoil(size, -(ptrdiff_t)MIB);
}

/* Nothing is freed afterwards: only the copy itself can be noticed. */
static bool copy(size_t size, ptrdiff_t at, size_t more)
{
	char *from = mmap(NULL, size + more, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p = take(size);

	if (from == MAP_FAILED)
		exit(2);
	memcpy(hide(p + at), hide(from), size + more);
	return false;
}

static bool copy_1_behind(size_t size)
{
	return copy(size, 0, 1);
}

static bool copy_32_behind(size_t size)
{
	return copy(size, 0, 32);
}

static bool copy_1_mib_behind(size_t size)
{
	return copy(size, 0, MIB);
}

static bool copy_1_before(size_t size)
{
	return copy(size, -1, 0);
}

static bool copy_32_before(size_t size)
{
	return copy(size, -32, 0);
}

static bool copy_1_mib_before(size_t size)
{
	return copy(size, -(ptrdiff_t)MIB, 0);
}

static bool write_freed(size_t size)
{
	char *p = take(size);

	give(p);
	memset(hide(p), 'A', size);
	return false;
}

static bool write_freed_then_reuse(size_t size)
{
	write_freed(size);
	churn(size, 256 * 1024);
	return false;
}

static bool is_zero(const char *p, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (p[i])
			return false;
	}
	return true;
}

static bool read_freed(size_t size)
{
	char *p = take(size);

	memset(p, 'A', size);
	give(p);
	return is_zero(hide(p), size);
}

/* Fresh and reused memory. */
static bool read_new(size_t size)
{
	char *p = take(size);

	if (!is_zero(p, size))
		return false;
	memset(p, 'A', size);
	give(p);
	for (int i = 0; i < 8; i++) {
		p = take(size);
		if (!is_zero(p, size))
			return false;
		memset(p, 'A', size);
		give(p);
	}
	return true;
}

static bool read_first_new(size_t size)
{
	return is_zero(take(size), size);
}

static bool take_impossible(size_t size)
{
	char *p = hide(malloc((size_t)-2 - size % 2));

	return !p && errno == ENOMEM;
}

static bool take_again(size_t size)
{
	char *p = take(size);

	give(p);
	return take(size) != p;
}

static bool take_half_again(size_t size)
{
	char *p = take(size);

	give(p);
	return take(size / 2) != p;
}

/* The old pointer stays what it was, whatever the heap does. */
static bool use_after_realloc(size_t size)
{
	char *p = take(8), *q = p;

	if (!hide(realloc(p, size > 1024 ? size : 1024)))
		exit(2);
	return hide(p) != hide(q);
}

static bool read_of_size_0(size_t size)
{
	volatile char *p = take(size - size);

	return *p && false;
}

static bool write_of_size_0(size_t size)
{
	char *p = take(size - size);

	*(volatile char *)p = 'A';
	return false;
}

static bool read_of_size_0_then_free(size_t size)
{
	volatile char *p = take(size - size);
	bool stopped = *p && false;

	give((char *)p);
	return stopped;
}

static bool write_of_size_0_then_free(size_t size)
{
	char *p = take(size - size);

	*(volatile char *)p = 'A';
	give(p);
	return false;
}

static bool execute(size_t size)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {0x90, 0x90, 0x90, 0xc3};
#elif defined(__aarch64__)
	static const unsigned char code[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
#error "say how to return on this machine"
#endif
	char *p = take(size);

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, p + sizeof(code));
	((void (*)(void))(uintptr_t)hide(p))();
	return false;
}

static const struct shape shapes[] = {
	{"double-free-immediate", CORE | WIDE, free_twice},
	{"double-free-delayed", CORE | WIDE, free_twice_later},
	{"double-free-interleaved", CORE | WIDE, free_twice_around_another},
	{"double-free-then-reuse", WIDE, free_twice_then_reuse},
	{"double-free-around-reuse", WIDE, free_twice_around_a_reuse},
	{"invalid-free-wild", WIDE, free_wild},
	{"invalid-free-alloca", WIDE, free_alloca},
	{"invalid-free-stack", CORE | WIDE, free_stack},
	{"invalid-free-close", WIDE, free_a_page_behind},
	{"invalid-free-far", WIDE, free_far_behind},
	{"invalid-free-unaligned", CORE | WIDE, free_odd},
	{"invalid-free-off-by-8", WIDE, free_off_by_8},
	{"invalid-free-inside", CORE, free_inside},
	{"overflow-1", CORE | WIDE, spoil_1_behind},
	{"overflow-8", CORE, spoil_8_behind},
	{"overflow-16", CORE, spoil_16_behind},
	{"overflow-32", WIDE, spoil_32_behind},
	{"overflow-1-mib", WIDE, spoil_1_mib_behind},
	{"underflow-1", WIDE, spoil_1_before},
	{"underflow-32", WIDE, spoil_32_before},
	{"underflow-1-mib", WIDE, spoil_1_mib_before},
	{"memcpy-overflow-1", WIDE, copy_1_behind},
	{"memcpy-overflow-32", WIDE, copy_32_behind},
	{"memcpy-overflow-1-mib", WIDE, copy_1_mib_behind},
	{"memcpy-underflow-1", WIDE, copy_1_before},
	{"memcpy-underflow-32", WIDE, copy_32_before},
	{"memcpy-underflow-1-mib", WIDE, copy_1_mib_before},
	{"write-after-free", CORE | WIDE, write_freed},
	{"write-after-free-then-reuse", WIDE, write_freed_then_reuse},
	{"read-after-free-zeroed", CORE | WIDE, read_freed},
	{"uninitialised-read", CORE, read_new},
	{"uninitialised-first-read", WIDE, read_first_new},
	{"impossibly-large", CORE | WIDE, take_impossible},
	{"quick-reuse", WIDE, take_again},
	{"quick-reuse-of-half", WIDE, take_half_again},
	{"use-after-realloc", WIDE, use_after_realloc},
	{"size-0-read", WIDE, read_of_size_0},
	{"size-0-write", WIDE, write_of_size_0},
	{"size-0-read-then-free", WIDE, read_of_size_0_then_free},
	{"size-0-write-then-free", WIDE, write_of_size_0_then_free},
	{"executable-heap", WIDE, execute},
};
#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int list(void)
{
	for (size_t i = 0; i < NR_SHAPES; i++)
		printf("%s%s%s %s\n", shapes[i].sets & CORE ? "core" : "",
		       shapes[i].sets == (CORE | WIDE) ? "," : "",
		       shapes[i].sets & WIDE ? "wide" : "", shapes[i].name);
	return 0;
}

static int usage(void)
{
	fputs("usage: shapes --list | shapes NAME BYTES\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const char missed[] = "missed\n", stopped[] = "stopped\n";
	size_t size;

	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	if (argc != 3)
		return usage();
	size = strtoul(argv[2], NULL, 10);
	if (size < 4 || size > 256 * 1024)
		return usage();
	for (size_t i = 0; i < NR_SHAPES; i++) {
		if (strcmp(shapes[i].name, argv[1]))
			continue;
		if (shapes[i].run(size))
			return write(1, stopped, sizeof(stopped) - 1) < 0 ? 2
									  : 1;
		return write(1, missed, sizeof(missed) - 1) < 0 ? 2 : 0;
	}
	return usage();
}

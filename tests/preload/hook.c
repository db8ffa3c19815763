// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A library that hears of pages by the names of memory calls, as those do that
 * keep a list of them: it allocates in each call, frees what it allocated in
 * the one before, waits for a lock of its own, and leaves errno as it likes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NR_KEPT = 64, NR_SIZES = 6 };

/* Calls of each kind: mmap, munmap, mremap, madvise. */
unsigned long hook_calls[4];

/* Which another thread holds while it allocates; its own calls come here too.
 */
pthread_mutex_t hook_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* An address, and how often it was in what went. */
const char *hook_watched;
unsigned long hook_heard;

static __thread int depth;
static void *kept[NR_KEPT];
static unsigned int next;

static void allocate(void)
{
	static const size_t sizes[NR_SIZES] = {24,    700,    9000,
					       40000, 200000, 3000000};
	void *p = malloc(sizes[next % NR_SIZES]);
	void *old;

	if (p)
		memset(p, 0x5a, 24);
	old = kept[next % NR_KEPT];
	kept[next % NR_KEPT] = p;
	next++;
	free(old);
}

static void hear(int kind, const void *addr, size_t size)
{
	uintptr_t from = (uintptr_t)addr;

	__atomic_add_fetch(&hook_calls[kind], 1, __ATOMIC_RELAXED);
	if (addr && (uintptr_t)hook_watched - from < size)
		__atomic_add_fetch(&hook_heard, 1, __ATOMIC_RELAXED);
	if (depth++ == 0) {
		pthread_mutex_lock(&hook_lock);
		allocate();
		pthread_mutex_unlock(&hook_lock);
	}
	depth--;
}

/* What a system call returned, and another errno. */
static long spoil(long result)
{
	if (result != -1)
		errno = EXDEV;
	return result;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	hear(0, flags & MAP_FIXED ? addr : NULL, size);
	return (void *)spoil(
		syscall(SYS_mmap, addr, size, prot, flags, fd, offset));
}

int munmap(void *addr, size_t size)
{
	hear(1, addr, size);
	return (int)spoil(syscall(SYS_munmap, addr, size));
}

void *mremap(void *addr, size_t old, size_t size, int flags, ...)
{
	va_list list;
	void *to;

	va_start(list, flags);
	to = va_arg(list, void *);
	va_end(list);
	hear(2, addr, old);
	return (void *)spoil(syscall(SYS_mremap, addr, old, size, flags, to));
}

int madvise(void *addr, size_t size, int advice)
{
	hear(3, advice == MADV_DONTNEED ? addr : NULL, size);
	return (int)spoil(syscall(SYS_madvise, addr, size, advice));
}

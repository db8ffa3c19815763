/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mmap, munmap and mremap, to note which stacks map memory past malloc
 * (sample/mappings.h). All calls are passed on as they are.
 *
 * The library's own calls by these names (sys/named.h) come here too, and are
 * not noted.
 *
 * mremap is declared here as it is called: the C library's header gives it any
 * number of arguments. What the caller did not give is passed on unread.
 */
#include "abi/abi.h"

#include "sample/mappings.h"
#include "sample/walk.h"
#include "sys/call.h"
#include "sys/next.h"

#include <errno.h>
#include <linux/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define FAILED ((void *)-1)

typedef void *map_fn(void *addr, size_t size, int prot, int flags, int fd,
		     long offset);
typedef int unmap_fn(void *addr, size_t size);
typedef void *remap_fn(void *old, size_t old_size, size_t size, int flags,
		       void *to);

__kf_public map_fn mmap;
__kf_public map_fn mmap64;
__kf_public unmap_fn munmap;
__kf_public remap_fn mremap;

/* NULL until the constructor: calls are made without the C library. Atomic. */
static struct {
	map_fn *mmap;
	map_fn *mmap64;
	unmap_fn *munmap;
	remap_fn *mremap;
} next;

#define FIND(name) kf_store(&next.name, (__typeof__(next.name))kf_next(#name))

/* Before attach.c leads these names here. */
__attribute__((constructor(102))) static void mmap_find(void)
{
	FIND(mmap);
	FIND(mmap64);
	FIND(munmap);
	FIND(mremap);
}

/* The result of a system call, as the C library gives it. */
static long mmap_result(long result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static void *mmap_call(map_fn *fn, void *addr, size_t size, int prot, int flags,
		       int fd, long offset)
{
	if (likely(fn))
		return fn(addr, size, prot, flags, fd, offset);
	return (void *)mmap_result(
		kf_sys(SYS_mmap, addr, size, prot, flags, fd, offset));
}

static bool mmap_is_private(int flags)
{
	return (flags & (MAP_TYPE | MAP_ANONYMOUS | MAP_STACK)) ==
	       (MAP_PRIVATE | MAP_ANONYMOUS);
}

/* @from: where the call came from */
static void mmap_note(void *p, size_t size, int flags, uintptr_t from)
{
	uint32_t stack = 0;

	if (p == FAILED)
		return;
	if (mmap_is_private(flags) && !kf_walk_is_own(from))
		stack = kf_mappings_stack(size);
	kf_mappings_put(p, size, stack);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define MAPS(name)                                                         \
	void *name(void *addr, size_t size, int prot, int flags, int fd,   \
		   long offset)                                            \
	{                                                                  \
		void *p = mmap_call(kf_load(&next.name), addr, size, prot, \
				    flags, fd, offset);                    \
                                                                           \
		mmap_note(p, size, flags, CALLER);                         \
		return p;                                                  \
	}

MAPS(mmap)
MAPS(mmap64)

/* In parentheses: tests/lint/banned.txt forbids calls by this name. */
int(munmap)(void *addr, size_t size)
{
	unmap_fn *fn = kf_load(&next.munmap);

	kf_mappings_take(addr, size);
	if (likely(fn))
		return fn(addr, size);
	return (int)mmap_result(kf_sys(SYS_munmap, addr, size));
}

static void *mremap_call(void *old, size_t old_size, size_t size, int flags,
			 void *to)
{
	remap_fn *fn = kf_load(&next.mremap);

	if (likely(fn))
		return fn(old, old_size, size, flags, to);
	return (void *)mmap_result(
		kf_sys(SYS_mremap, old, old_size, size, flags, to));
}

void *(mremap)(void *old, size_t old_size, size_t size, int flags, void *to)
{
	uint32_t stack = kf_mappings_take(old, old_size);
	void *p = mremap_call(old, old_size, size, flags, to);

	if (p != FAILED)
		kf_mappings_put(p, size, stack);
	if (stack && (p == FAILED || flags & MREMAP_DONTUNMAP))
		kf_mappings_put(old, old_size, stack);
	return p;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only door to the kernel's memory calls: see vm.h.
 */
#define _GNU_SOURCE
#include "sys/vm.h"

#include <errno.h>
#include <sys/mman.h>

static void *map(void *hint, size_t size, int prot, int flags)
{
	int saved = errno;
	void *p = mmap(hint, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		       -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

/* Cut a mapping down to @size bytes from @start. */
static void *cut(char *p, size_t mapped, char *start, size_t size)
{
	size_t head = (size_t)(start - p);
	size_t tail = mapped - head - size;

	/* What cannot be cut off stays mapped: addresses, no memory. */
	if (head && !kf_vm_unmap(p, head))
		return start;
	if (tail && !kf_vm_unmap(start + size, tail))
		return start;
	return start;
}

/*
 * The kernel places mappings below each other, so pieces of whole multiples
 * of the alignment come out aligned: the first try is nearly always right.
 */
static void *map_aligned(size_t size, size_t align, int prot, int flags)
{
	size_t round = KF_ALIGN_UP(size, align);
	char *p, *start;

	if (round < size || round + align < round)
		return NULL;
	p = map(NULL, round, prot, flags);
	if (!p)
		return NULL;
	if (!((uintptr_t)p & (align - 1)))
		return cut(p, round, p, size);
	if (!kf_vm_unmap(p, round))
		return NULL;
	p = map(NULL, size + align, prot, flags);
	if (!p)
		return NULL;
	start = (char *)KF_ALIGN_UP((uintptr_t)p, align);
	return cut(p, size + align, start, size);
}

void *kf_vm_reserve(size_t size, size_t align)
{
	return map_aligned(size, align, PROT_NONE, MAP_NORESERVE);
}

void *kf_vm_map(size_t size, size_t align)
{
	return map_aligned(size, align, PROT_READ | PROT_WRITE, 0);
}

bool kf_vm_commit(void *addr, size_t size)
{
	int saved = errno;
	int rc = mprotect(addr, size, PROT_READ | PROT_WRITE);

	errno = saved;
	return rc == 0;
}

bool kf_vm_decommit(void *addr, size_t size)
{
	return map(addr, size, PROT_NONE, MAP_NORESERVE | MAP_FIXED) != NULL;
}

bool kf_vm_purge(void *addr, size_t size)
{
	int saved = errno;
	int rc = madvise(addr, size, MADV_DONTNEED);

	errno = saved;
	return rc == 0;
}

bool kf_vm_unmap(void *addr, size_t size)
{
	int saved = errno;
	int rc = munmap(addr, size);

	errno = saved;
	return rc == 0;
}

bool kf_vm_resize(void *addr, size_t old, size_t size)
{
	int saved = errno;
	void *p = mremap(addr, old, size, 0);

	errno = saved;
	return p != MAP_FAILED;
}

void *kf_vm_move(void *addr, size_t old, size_t size, size_t align)
{
	int saved = errno;
	void *to = kf_vm_reserve(size, align);
	void *p;

	if (!to)
		return NULL;
	p = mremap(addr, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	errno = saved;
	if (p != MAP_FAILED)
		return p;
	if (!kf_vm_unmap(to, size))
		return NULL;
	return NULL;
}

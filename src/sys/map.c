/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mappings whose address is chosen by us: see map.h.
 */
#include "config.h"

#include "sys/map.h"

#include "sys/call.h"

#include <sys/auxv.h>
#include <sys/mman.h>

static long map(void *addr, size_t size, int prot, int flags, int fd,
		uint64_t offset)
{
	return kf_sys(SYS_mmap, addr, size, prot, flags, fd, offset);
}

/* Addresses of user space are positive, so a negative result is an errno. */
static void *address(long result)
{
	return result < 0 ? NULL : (void *)result;
}

size_t kf_map_page(void)
{
	return getauxval(AT_PAGESZ);
}

void *kf_map_reserve(size_t size)
{
	return address(map(NULL, size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void *kf_map_anon(void *addr, size_t size)
{
	int flags = MAP_ANONYMOUS | MAP_NORESERVE | (addr ? MAP_FIXED : 0);
	int prot = PROT_READ | PROT_WRITE;
	void *p = address(map(addr, size, prot, flags | MAP_PRIVATE, -1, 0));

	if (!p)
		p = address(map(addr, size, prot, flags | MAP_SHARED, -1, 0));
	return p;
}

int kf_map_file(void *addr, size_t size, int fd, uint64_t offset)
{
	long r = map(addr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     fd, offset);

	return r < 0 ? (int)r : 0;
}

bool kf_map_replace(void *from, size_t size, void *to)
{
	return kf_sys(SYS_mremap, from, size, size,
		      MREMAP_MAYMOVE | MREMAP_FIXED, to) >= 0;
}

void kf_map_drop(void *addr, size_t size)
{
	kf_sys(SYS_munmap, addr, size);
}

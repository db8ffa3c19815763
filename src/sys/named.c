/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory calls by the C library's names: see named.h.
 */
#include "config.h"

#include "sys/named.h"

#include "sys/call.h"
#include "sys/lock.h"
#include "sys/vm.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static bool begun; /* atomic */

void kf_named_begin(void)
{
	kf_store(&begun, true);
}

static bool by_name(void)
{
	if (KF_DEBUG && kf_lock_is_any_held())
		abort();
	return kf_load(&begun);
}

static void *named_map(size_t size)
{
	int saved = errno;
	void *p;

	kf_sys_note(SYS_mmap);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

static bool unmap(void *addr, size_t size)
{
	int saved = errno;
	int r;

	kf_sys_note(SYS_munmap);
	r = munmap(addr, size);
	errno = saved;
	return r == 0;
}

static bool named_purge(void *addr, size_t size)
{
	int saved = errno;
	int r;

	kf_sys_note(SYS_madvise);
	r = madvise(addr, size, MADV_DONTNEED);
	errno = saved;
	return r == 0;
}

static bool named_move(void *addr, size_t old, size_t size, int flags, void *to)
{
	int saved = errno;
	void *p;

	kf_sys_note(SYS_mremap);
	p = mremap(addr, old, size, flags, to);
	errno = saved;
	return p != MAP_FAILED;
}

static const struct kf_vm_names names = {named_map, unmap, named_purge};

void *kf_named_map(size_t size, size_t align)
{
	return by_name() ? kf_vm_map_by(&names, size, align)
			 : kf_vm_map(size, align);
}

bool kf_named_purge(void *addr, size_t size)
{
	return by_name() ? kf_vm_purge_by(&names, addr, size)
			 : kf_vm_purge(addr, size);
}

void kf_named_drop(void *addr, size_t size)
{
	if (!(by_name() ? unmap(addr, size) : kf_vm_unmap(addr, size)))
		kf_named_purge(addr, size);
}

bool kf_named_resize(void *addr, size_t old, size_t size)
{
	return by_name() ? named_move(addr, old, size, 0, NULL)
			 : kf_vm_resize(addr, old, size);
}

bool kf_named_move(void *addr, size_t old, size_t size, void *to)
{
	return by_name() ? named_move(addr, old, size,
				      MREMAP_MAYMOVE | MREMAP_FIXED, to)
			 : kf_vm_move(addr, old, size, to);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The aligned names of the malloc family, each with its own rules for a bad
 * alignment.
 */
#include "abi/abi.h"

#include "abi/own.h"
#include "abi/replaced.h"
#include "base/bits.h"
#include "engines/engine.h"
#include "mode/mode.h"
#include "sys/vm.h"

#include <errno.h>

void *kf_aligned_own(size_t align, size_t size)
{
	struct kf_front *front = kf_front_self;

	return front->mode->aligned(align, size, front);
}

void *kf_aligned(size_t align, size_t size)
{
	return unlikely(kf_malloc_replaced) ? kf_replaced_aligned(align, size)
					    : kf_aligned_own(align, size);
}

static void *invalid(void)
{
	errno = EINVAL;
	return NULL;
}

__kf_public int posix_memalign(void **out, size_t align, size_t size)
{
	int saved = errno;
	void *p;

	if (!kf_is_pow2(align) || align % sizeof(void *))
		return EINVAL;
	p = kf_aligned(align, size);
	/* errno says so too, as the C library leaves it: callers print it. */
	if (!p)
		return ENOMEM;
	errno = saved;
	*out = p;
	return 0;
}

__kf_public void *aligned_alloc(size_t align, size_t size)
{
	if (kf_is_pow2(align))
		return kf_aligned(align, size);
	if (kf_engine->rounds && kf_engine->rounds())
		return memalign(align, size);
	return invalid();
}

__kf_public void *memalign(size_t align, size_t size)
{
	if (align > SIZE_MAX / 2 + 1)
		return invalid();
	return kf_aligned(kf_pow2_up(align), size);
}

__kf_public void *valloc(size_t size)
{
	return kf_aligned(kf_vm_page(), size);
}

__kf_public void *pvalloc(size_t size)
{
	size_t page = kf_vm_page();
	size_t rounded = KF_ALIGN_UP(size, page);

	if (rounded < size)
		rounded = SIZE_MAX;
	return kf_aligned(page, rounded ? rounded : page);
}

KF_ALIAS(void *, __libc_memalign, (size_t align, size_t size), memalign);
KF_ALIAS(void *, __libc_valloc, (size_t size), valloc);
KF_ALIAS(void *, __libc_pvalloc, (size_t size), pvalloc);
KF_ALIAS(int, __posix_memalign, (void **out, size_t align, size_t size),
	 posix_memalign);

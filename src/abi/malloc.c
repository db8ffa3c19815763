/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc, free, calloc, realloc: the fast paths of mode/mode.h, and the rules
 * of C and POSIX for sizes.
 */
#include "abi/abi.h"

#include "core/core.h"
#include "mode/mode.h"

__kf_public KF_LEAF void *malloc(size_t size)
{
	return kf_front_malloc(kf_front_self, size);
}

__kf_public KF_LEAF void free(void *p)
{
	kf_front_free(kf_front_self, p);
}

__kf_public void *calloc(size_t nr, size_t size)
{
	struct kf_front *front = kf_front_self;
	const struct kf_bin *bin;
	size_t bytes, offset;
	void *p;

	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)))
		bytes = SIZE_MAX;
	if (unlikely(bytes > KF_TINY_MAX))
		return front->mode->zeroed(bytes, front);
	offset = kf_class_offset(bytes);
	p = kf_fast_alloc(front, offset);
	if (unlikely(!p))
		return front->mode->zeroed(bytes, front);
	/* A front with blocks is a heap's, whose slot is the thread's own. */
	front->slot->scalar[KF_SLOT_calloc_calls]++;
	bin = (const void *)((const char *)front + offset);
	kf_mode_zero(p, offset, bin->source & KF_BIN_ZEROED);
	kf_probe_alloc((uintptr_t)p, bytes, offset);
	return p;
}

__kf_public void *realloc(void *p, size_t size)
{
	struct kf_front *front = kf_front_self;

	return front->mode->resize(p, size, front);
}

__kf_public size_t malloc_usable_size(void *p)
{
	size_t bytes = kf_fast_usable(p);

	return likely(bytes) ? bytes : kf_usable(p);
}

extern __typeof__(malloc) kf_malloc __attribute__((alias("malloc")));
extern __typeof__(realloc) kf_realloc __attribute__((alias("realloc")));
extern __typeof__(free) kf_free __attribute__((alias("free")));
KF_ALIAS(void *, __libc_malloc, (size_t size), malloc);
KF_ALIAS(void, __libc_free, (void *p), free);
KF_ALIAS(void *, __libc_calloc, (size_t nr, size_t size), calloc);
KF_ALIAS(void *, __libc_realloc, (void *p, size_t size), realloc);

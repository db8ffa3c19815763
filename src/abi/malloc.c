/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc, free, calloc, realloc: the fast paths, the per-call probes, and
 * what C and POSIX say of sizes and errors.
 */
#include "abi/abi.h"

#include "abi/detour.h"
#include "abi/tagged.h"
#include "abi/tiny.h"
#include "core/direct.h"

#include <string.h>

static __noinline void *malloc_slow(size_t size)
{
	size_t usable;
	void *p = kf_alloc(size, 16, KF_CALL_MALLOC, &usable);

	if (likely(p))
		kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *malloc_direct(size_t size)
{
	size_t usable;
	void *p = kf_direct_alloc(kf_heap_self, size, &usable);

	if (unlikely(!p))
		return malloc_slow(size);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *malloc_other(size_t size)
{
	void *p = NULL;

	if (kf_heap_self == &kf_heap_detour && size <= KF_SMALL_MAX)
		p = kf_tagged_quick(kf_class_of(size) * sizeof(struct kf_bin),
				    size, KF_TAG_MALLOC);
	if (p)
		return p;
	if (kf_detour_is_due())
		return kf_detour_malloc(size);
	return kf_direct_may(kf_heap_self) ? malloc_direct(size)
					   : malloc_slow(size);
}

__noinline void *kf_malloc_more(size_t size)
{
	size_t usable;
	void *p = NULL;

	if (size <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_self, size, &usable);
	if (unlikely(!p))
		return malloc_other(size);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

KF_LEAF void *kf_malloc_missed(size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	void *p;

	if (heap == &kf_heap_detour) {
		p = kf_tagged_quick(KF_ALIGN_UP(size, (size_t)16), size,
				    KF_TAG_MALLOC);
		return likely(p) ? p : kf_detour_malloc(size);
	}
	return kf_direct_may(heap) ? malloc_direct(size) : kf_malloc_more(size);
}

__kf_public KF_LEAF void *malloc(size_t size)
{
	return kf_malloc_tiny(size);
}

static __noinline void free_direct(void *p)
{
	struct kf_heap *heap = kf_heap_self;
	size_t usable = kf_direct.to.usable_size(p);

	kf_probe_release((uintptr_t)p, usable);
	kf_direct_free(heap, p, usable);
}

/* What is of no slab: a large block, another engine's, NULL. */
static __noinline void free_other(void *p, struct kf_slab *slab)
{
	size_t usable;

	if (!p)
		return;
	if (kf_detour_is_due()) {
		kf_detour_free(p);
		return;
	}
	usable = kf_usable(p);
	kf_probe_release((uintptr_t)p, usable);
	kf_release(p, usable);
}

/* @slab is one where the kind of its run says so. */
KF_LEAF static __noinline void free_more(void *p, struct kf_slab *slab)
{
	enum kf_run_kind kind = slab->run.kind;

	if (kf_heap_self == &kf_heap_detour && kind == KF_RUN_SLAB) {
		if (unlikely(!kf_tagged_quick_free(p, slab)))
			kf_detour_free(p);
		return;
	}
	if (kind == KF_RUN_NONE && kf_direct_may(kf_heap_self) && p) {
		free_direct(p);
		return;
	}
	if (kind != KF_RUN_SLAB || kf_detour_is_due() ||
	    !kf_heap_may_give(kf_heap_self, slab, p)) {
		free_other(p, slab);
		return;
	}
	kf_probe_release((uintptr_t)p, slab->size);
	kf_heap_give(kf_heap_self, slab, p);
}

__kf_public KF_LEAF void free(void *p)
{
	struct kf_heap *heap = kf_heap_self;
	struct kf_slab *slab;

	if (unlikely(!kf_fast_free(heap, p, &slab))) {
		free_more(p, slab);
		return;
	}
	kf_probe_release((uintptr_t)p, slab->size);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

/* A fresh block is zero but for the link in its first word. */
static __always_inline_kf void zero(void *p, size_t usable,
				    const struct kf_bin *bin)
{
	if (bin->source & KF_BIN_ZEROED) {
		*(void **)p = NULL;
		return;
	}
	/* Knowing the range, compilers write a slow loop in its place. */
	__asm__("" : "+r"(usable));
	memset(p, 0, usable);
}

static __noinline void *calloc_more(size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	size_t usable;
	void *p = NULL;

	if (heap == &kf_heap_detour && size <= KF_SMALL_MAX) {
		p = kf_tagged_quick(kf_class_of(size) * sizeof(struct kf_bin),
				    size, KF_TAG_CALLOC);
		if (likely(p))
			return p;
	} else if (size <= KF_SMALL_MAX) {
		p = kf_fast_pop(heap, size, &usable);
	}
	if (p) {
		zero(p, usable, &heap->bin[kf_class_of(size)]);
	} else if (kf_detour_is_due()) {
		return kf_detour_calloc(size);
	} else {
		p = kf_alloc(size, 16, KF_CALL_CALLOC, &usable);
		if (unlikely(!p))
			return NULL;
	}
	kf_heap_stat(kf_heap_self, KF_SLOT_calloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

__kf_public void *calloc(size_t nr, size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	size_t bytes, offset;
	void *p;

	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)))
		bytes = SIZE_MAX;
	if (unlikely(bytes > KF_TINY_MAX))
		return calloc_more(bytes);
	offset = KF_ALIGN_UP(bytes, (size_t)16);
	p = kf_fast_alloc(heap, offset);
	if (unlikely(!p))
		return calloc_more(bytes);
	/* Who has a block in a bin is no guest. */
	heap->slot->scalar[KF_SLOT_calloc_calls]++;
	zero(p, offset, (void *)((char *)heap + offset));
	kf_probe_alloc((uintptr_t)p, bytes, offset);
	return p;
}

static void *realloc_new(size_t size)
{
	size_t usable;
	void *p = NULL;

	if (size <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_self, size, &usable);
	if (!p) {
		p = kf_alloc(size, 16, KF_CALL_REALLOC, &usable);
		if (unlikely(!p))
			return NULL;
	}
	kf_heap_stat(kf_heap_self, KF_SLOT_realloc_new, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

__kf_public void *realloc(void *p, size_t size)
{
	void *to;

	if (kf_detour_is_due())
		return kf_detour_realloc(p, size);
	if (!p) {
		to = realloc_new(size);
	} else if (!size) {
		free(p);
		to = NULL;
	} else {
		to = kf_heap_resize(kf_heap_self, p, size);
		if (!to)
			to = kf_resize(p, size);
		if (to)
			kf_probe_resize((uintptr_t)p, (uintptr_t)to, size);
	}
	kf_heap_stat(kf_heap_self, KF_SLOT_realloc_calls, 1);
	return to;
}

__kf_public void *reallocarray(void *p, size_t nr, size_t size)
{
	size_t bytes;

	/* Refused there as too large, and counted. */
	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)))
		bytes = SIZE_MAX;
	return realloc(p, bytes);
}

__kf_public size_t malloc_usable_size(void *p)
{
	return kf_usable(p);
}

extern __typeof__(malloc) kf_malloc __attribute__((alias("malloc")));
extern __typeof__(calloc) kf_calloc __attribute__((alias("calloc")));
extern __typeof__(realloc) kf_realloc __attribute__((alias("realloc")));
extern __typeof__(free) kf_free __attribute__((alias("free")));
KF_ALIAS(void, cfree, (void *p), free);
KF_ALIAS(void *, __libc_malloc, (size_t size), malloc);
KF_ALIAS(void, __libc_free, (void *p), free);
KF_ALIAS(void *, __libc_calloc, (size_t nr, size_t size), calloc);
KF_ALIAS(void *, __libc_realloc, (void *p, size_t size), realloc);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * malloc, free, calloc, realloc: the fast paths, the per-call probes, and
 * what C and POSIX say of sizes and errors.
 */
#include "abi/abi.h"

#include "abi/detour.h"
#include "abi/replaced.h"
#include "abi/tagged.h"
#include "abi/tiny.h"
#include "core/direct.h"
#include "engine/large.h"

#include <string.h>

static __noinline void *malloc_slow(size_t size)
{
	size_t usable;
	void *p = kf_alloc(size, 16, KF_CALL_MALLOC, &usable);

	if (likely(p))
		kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *count_asked(void *p, size_t size)
{
	size_t usable = kf_direct.to.usable_size(p);

	kf_direct_new(kf_heap_self, size, usable, kf_direct.elsewhere);
	kf_probe_alloc((uintptr_t)p, size, usable);
	kf_unknown(p);
	return p;
}

static __noinline void *count_direct(void *p, size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	size_t usable;

	if (!kf_direct_is_plain(heap, p))
		return count_asked(p, size);
	usable = kf_chunk_usable(kf_chunk_bytes(p));
	kf_direct_new(heap, size, usable, true);
	kf_probe_alloc((uintptr_t)p, size, usable);
	kf_unknown(p);
	return p;
}

static __noinline void *malloc_direct(size_t size)
{
	void *p = kf_direct_alloc(size);

	return likely(p) ? count_direct(p, size) : malloc_slow(size);
}

/* After kf_direct_may_look(). */
static __noinline void *malloc_direct_tiny(size_t size)
{
	void *p = kf_direct_alloc(size);
	size_t chunk, usable;

	if (unlikely(!p))
		return malloc_slow(size);
	chunk = kf_chunk_bytes(p);
	if (!kf_direct_is_tiny(chunk))
		return count_direct(p, size);
	usable = kf_chunk_usable(chunk);
	kf_direct_tiny_new(kf_heap_self, chunk, size, usable);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *malloc_large(size_t size)
{
	struct kf_run *run = kf_large_reuse(kf_heap_self, size);

	if (!run)
		return malloc_slow(size);
	kf_probe_alloc((uintptr_t)run->start, size, kf_run_bytes(run));
	return run->start;
}

/* Of any small size; @heap: kf_heap_self, a front. */
static inline void *tagged_more(struct kf_heap *heap, size_t size,
				enum kf_tag_call call)
{
	unsigned int class = kf_class_of(size);
	size_t offset = class * sizeof(struct kf_bin);
	size_t usable = kf_class_bytes(class);
	void *p = kf_fast_alloc(heap->behind, offset);

	if (unlikely(!p))
		return kf_tagged_refill(heap, offset, size, usable, call);
	return kf_tagged_bill(heap, heap->behind, offset, p, size, usable,
			      call);
}

__noinline void *kf_malloc_other(size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	void *p = NULL;

	if (kf_direct_may(heap) && size < KF_SIZE_LIMIT)
		return malloc_direct(size);
	if (heap->behind && size <= KF_SMALL_MAX)
		p = tagged_more(heap, size, KF_TAG_MALLOC);
	if (p)
		return p;
	if (kf_detour_is_due())
		return kf_detour_malloc_any(size);
	if (size > KF_SMALL_MAX && kf_heap_self->kept_lengths)
		return malloc_large(size);
	return malloc_slow(size);
}

static __noinline void *malloc_pop(size_t size)
{
	bool zeroed;
	size_t usable;
	void *p = NULL;

	if (size <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_self, size, true, &usable, &zeroed);
	if (unlikely(!p))
		return kf_malloc_other(size);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

KF_LEAF __noinline void *kf_malloc_more(size_t size)
{
	unsigned int class;
	void *p;

	if (unlikely(size - KF_TINY_MAX - 1 >= KF_SMALL_MAX - KF_TINY_MAX))
		return malloc_pop(size);
	class = kf_class_of_wide(size);
	p = kf_fast_reuse(kf_heap_self, class);
	if (unlikely(!p))
		return malloc_pop(size);
	kf_probe_alloc((uintptr_t)p, size, kf_class_bytes(class));
	return p;
}

/* Of at most KF_TINY_MAX bytes, for which a bin had none. */
static __noinline void *malloc_refilled(size_t size, struct kf_heap *heap)
{
	size_t offset = KF_ALIGN_UP(size, (size_t)16);
	void *p = kf_fast_share(heap, &offset);

	if (!p && likely(heap->has_bins && size))
		p = kf_heap_refill(heap, offset, size);
	if (unlikely(!p))
		return size ? kf_malloc_other(size) : kf_malloc_more(size);
	kf_probe_alloc((uintptr_t)p, size, offset);
	return p;
}

static __noinline void *untagged_missed(size_t size, struct kf_heap *heap)
{
	if (kf_direct_may_look(heap))
		return malloc_direct_tiny(size);
	return unlikely(heap->aside) ? kf_detour_malloc(size)
				     : malloc_refilled(size, heap);
}

static __noinline void *tagged_missed(size_t size, size_t offset,
				      struct kf_heap *heap)
{
	void *p = kf_tagged_refill(heap, offset, size, offset, KF_TAG_MALLOC);

	return likely(p) ? p : kf_detour_malloc_any(size);
}

static __always_inline_kf void *missed(size_t size, size_t offset,
				       struct kf_heap *front)
{
	struct kf_heap *heap = front->behind;
	void *p;

	if (!heap)
		return untagged_missed(size, front);
	p = kf_fast_alloc(heap, offset);
	if (unlikely(!p))
		return tagged_missed(size, offset, front);
	return kf_tagged_bill(front, heap, offset, p, size, offset,
			      KF_TAG_MALLOC);
}

KF_LEAF void *kf_malloc_missed(size_t size, size_t offset,
			       struct kf_heap *front)
{
	return missed(size, offset, front);
}

__kf_public KF_LEAF void *malloc(size_t size)
{
	struct kf_heap *front;
	size_t offset;
	void *p;

	if (unlikely(size > KF_TINY_MAX))
		return kf_malloc_more(size);
	p = kf_malloc_quick(size);
	if (likely(p))
		return p;
	front = kf_heap_self;
	offset = KF_ALIGN_UP(size, (size_t)16);
	/* What follows must not say which registers the fast path has. */
	__asm__("" : "+r"(front), "+r"(offset), "+r"(size) : : "memory");
	return missed(size, offset, front);
}

static __noinline void free_asked(void *p)
{
	size_t usable = kf_direct.to.usable_size(p);

	kf_probe_release((uintptr_t)p, usable);
	kf_direct_gone(kf_heap_self, usable, kf_direct.elsewhere);
	kf_direct.to.free(p);
}

static __noinline void free_direct(void *p)
{
	struct kf_heap *heap = kf_heap_self;
	size_t usable;

	if (!kf_direct_is_plain(heap, p)) {
		free_asked(p);
		return;
	}
	usable = kf_chunk_usable(kf_chunk_bytes(p));
	kf_probe_release((uintptr_t)p, usable);
	kf_direct_gone(heap, usable, true);
	kf_direct.to.free(p);
}

/* After kf_direct_may_look(). */
static inline void free_direct_tiny(struct kf_heap *heap, void *p)
{
	size_t chunk = kf_chunk_bytes(p), usable;

	if (!kf_direct_is_tiny(chunk)) {
		free_direct(p);
		return;
	}
	usable = kf_chunk_usable(chunk);
	kf_probe_release((uintptr_t)p, usable);
	kf_direct_tiny_gone(heap, chunk, usable);
	kf_direct.to.free(p);
}

/* What is of no slab: a large block, another engine's, NULL. */
__noinline void kf_free_other(void *p)
{
	size_t usable;

	if (!p)
		return;
	if (kf_detour_is_due()) {
		kf_detour_free_any(p);
		return;
	}
	usable = kf_usable(p);
	kf_probe_release((uintptr_t)p, usable);
	kf_release(p, usable);
}

/* What lies in a region, and in no slab. */
static __noinline void free_large(void *p)
{
	struct kf_run *run = kf_map_find(p);

	if (!run || !kf_large_may_keep(kf_heap_self, run, p)) {
		kf_free_other(p);
		return;
	}
	kf_probe_release((uintptr_t)p, kf_run_bytes(run));
	kf_large_free(kf_heap_self, run);
}

/* What the address map knows nothing of. */
static __noinline void free_elsewhere(void *p, struct kf_heap *heap)
{
	if (unlikely(kf_malloc_replaced) && p)
		kf_replaced_free(p);
	else if (p && kf_direct_may_look(heap))
		free_direct_tiny(heap, p);
	else if (p && kf_direct_may(heap))
		free_direct(p);
	else
		kf_free_other(p);
}

/* @slab's run is some; it is a slab where the kind says so. */
static __noinline void free_more(void *p, struct kf_slab *slab,
				 struct kf_heap *heap)
{
	enum kf_run_kind kind = slab->run.kind;

	if (heap->own == heap) {
		kf_detour_free(p, slab);
		return;
	}
	/* Inside of a tag, and of none. */
	if (heap->own && kf_glance(&slab->owner) == (uintptr_t)heap->own &&
	    !kf_slab_looks_free(slab, p)) {
		kf_tagged_push(heap->own, slab, p);
		return;
	}
	if (kind == KF_RUN_SLAB && kf_fast_keep(heap, slab, p)) {
		kf_probe_release((uintptr_t)p, slab->size);
		return;
	}
	if (kind == KF_RUN_REGION) {
		free_large(p);
		return;
	}
	if (kind != KF_RUN_SLAB || kf_detour_is_due() ||
	    !kf_heap_may_give(heap, slab, p)) {
		kf_free_other(p);
		return;
	}
	kf_probe_release((uintptr_t)p, slab->size);
	kf_heap_give(heap, slab, p);
}

static __always_inline_kf void free_missed(void *p, struct kf_slab *slab,
					   struct kf_heap *heap)
{
	/* As in malloc(). */
	__asm__("" : "+r"(p), "+r"(slab), "+r"(heap));
	if (kf_tagged_quick_free(heap, p, slab))
		return;
	if (slab->run.kind == KF_RUN_NONE)
		free_elsewhere(p, heap);
	else
		free_more(p, slab, heap);
}

__kf_public KF_LEAF void free(void *p)
{
	struct kf_heap *heap = kf_heap_self;
	struct kf_slab *slab;

	if (unlikely(!kf_fast_free(heap, p, &slab))) {
		free_missed(p, slab, heap);
		return;
	}
	kf_keep_in_argument(p);
	kf_probe_release((uintptr_t)p, slab->size);
	if (unlikely(--slab->used == 0))
		kf_slab_emptied_alone(heap, slab);
}

/* A fresh block is zero but for the link in its first word. */
static __always_inline_kf void zero(void *p, size_t usable, bool zeroed)
{
	if (zeroed) {
		*(void **)p = NULL;
		return;
	}
	/* Knowing the range, compilers write a slow loop in its place. */
	__asm__("" : "+r"(usable));
	memset(p, 0, usable);
}

static __noinline void *calloc_slow(size_t size)
{
	size_t usable;
	void *p = kf_alloc(size, 16, KF_CALL_CALLOC, &usable);

	if (unlikely(!p))
		return NULL;
	kf_heap_stat(kf_heap_self, KF_SLOT_calloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *calloc_direct(size_t size)
{
	void *p = kf_direct_calloc(size);

	if (unlikely(!p))
		return calloc_slow(size);
	kf_heap_self->slot->scalar[KF_SLOT_calloc_calls]++;
	return count_direct(p, size);
}

static __noinline void *calloc_fast(size_t size)
{
	struct kf_heap *heap = kf_heap_self;
	bool zeroed = false;
	size_t usable;
	void *p = NULL;

	if (heap->behind && size <= KF_SMALL_MAX) {
		p = tagged_more(heap, size, KF_TAG_CALLOC);
		if (likely(p))
			return p;
	} else if (size <= KF_SMALL_MAX) {
		p = kf_fast_pop(heap, size, true, &usable, &zeroed);
	}
	if (!p)
		return kf_detour_is_due() ? kf_detour_calloc(size)
					  : calloc_slow(size);
	zero(p, usable, zeroed);
	kf_heap_stat(kf_heap_self, KF_SLOT_calloc_calls, 1);
	kf_probe_alloc((uintptr_t)p, size, usable);
	return p;
}

static __noinline void *calloc_more(size_t size)
{
	return kf_direct_may(kf_heap_self) && size < KF_SIZE_LIMIT
		       ? calloc_direct(size)
		       : calloc_fast(size);
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
	zero(p, offset,
	     ((struct kf_bin *)(void *)((char *)heap + offset))->source &
		     KF_BIN_ZEROED);
	kf_probe_alloc((uintptr_t)p, bytes, offset);
	return p;
}

static void *realloc_new(size_t size)
{
	bool zeroed;
	size_t usable;
	void *p = NULL;

	if (size <= KF_SMALL_MAX)
		p = kf_fast_pop(kf_heap_self, size, true, &usable, &zeroed);
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

__kf_public size_t malloc_usable_size(void *p)
{
	size_t bytes = kf_fast_usable(p);

	return likely(bytes) ? bytes : kf_usable(p);
}

extern __typeof__(malloc) kf_malloc __attribute__((alias("malloc")));
extern __typeof__(calloc) kf_calloc __attribute__((alias("calloc")));
extern __typeof__(realloc) kf_realloc __attribute__((alias("realloc")));
extern __typeof__(free) kf_free __attribute__((alias("free")));
KF_ALIAS(void *, __libc_malloc, (size_t size), malloc);
KF_ALIAS(void, __libc_free, (void *p), free);
KF_ALIAS(void *, __libc_calloc, (size_t nr, size_t size), calloc);
KF_ALIAS(void *, __libc_realloc, (void *p, size_t size), realloc);

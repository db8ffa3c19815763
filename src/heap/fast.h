/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fast paths, inlined into the functions malloc, free and their relatives.
 *
 * One compare covers all rare cases, which the mode tells apart. In malloc the
 * bin has no block: the bin is empty, the size is 0, the front never has
 * blocks, or the first link is damaged. In free the slab's owner word is not
 * this front: the slab is full or another heap's, the block is a large one, the
 * pointer is NULL or no block, or the front owns no slabs. A second compare in
 * free finds a block that is free already.
 */
#ifndef KF_HEAP_FAST_H
#define KF_HEAP_FAST_H

#include "config.h"

#include "heap/boundary.h"
#include "heap/heap.h"

/* Count a call. Builds without counters show what counting costs. */
static __always_inline_kf void kf_fast_count(uint64_t *word)
{
	if (KF_COUNTERS)
		++*word;
}

/**
 * kf_fast_alloc() - pop a block of a class
 * @front:	the calling thread's
 * @offset:	of the class's bin and counters, in bytes: 16 times the class
 *
 * Context: any thread.
 * Return: the block, counted, or NULL: take the slow path.
 */
static __always_inline_kf void *kf_fast_alloc(struct kf_front *front,
					      size_t offset)
{
	void **block = kf_link_code(*(void **)((char *)front + offset));

	_Static_assert(offsetof(struct kf_front, bin) == 0, "bins come first");
	if (unlikely(!kf_link_leads_on(block)))
		return NULL;
	/* Keeps the compiler from adding the two into a register of its own. */
	__asm__("" : "+r"(front));
	*(void **)((char *)front + offset) = *block;
	*kf_slab_key(block) = 0;
	kf_fast_count(&kf_slot_pair(front->slot, offset)->mallocs);
	return block;
}

/* Whether a medium block may be handed out without a look at samples. */
static __always_inline_kf bool fast_may_take(struct kf_heap *heap,
					     unsigned int class, size_t bytes)
{
	return !kf_heap_sample_is_due(heap, class) &&
	       kf_countdown_may_pass(&heap->countdown, (int64_t)bytes);
}

/* kf_fast_reuse() inside kf_heap_enter(). */
static __always_inline_kf void *
fast_reuse_cached(struct kf_heap *heap, unsigned int class, size_t bytes)
{
	struct kf_cached *cache = &heap->cache[class];
	void *block = cache->first, *next;

	if (unlikely(!block) ||
	    unlikely(*kf_slab_key(block) != (uintptr_t)heap))
		return NULL;
	next = kf_link_next(block);
	if (kf_link_is_damaged(next))
		return NULL;
	heap->kept -= (int64_t)bytes;
	cache->nr--;
	cache->first = next;
	heap->countdown.left -= (int64_t)bytes;
	*(void **)block = NULL;
	*kf_slab_key(block) = 0;
	kf_fast_count(&heap->front.slot->class[class].mallocs);
	return block;
}

/**
 * kf_fast_reuse() - take the medium block of a class that was freed last
 * @heap:	the calling thread's
 * @class:	above KF_NR_TINY
 * @bytes:	of a block of the class
 *
 * Context: any thread.
 * Return: the block, counted, or NULL: none is cached, the first is another
 *	   heap's or has a damaged link, or a sample may be due.
 */
static __always_inline_kf void *kf_fast_reuse(struct kf_heap *heap,
					      unsigned int class, size_t bytes)
{
	void *block;

	if (unlikely(!kf_load(&heap->cache[class].first)) ||
	    !fast_may_take(heap, class, bytes))
		return NULL;
	kf_heap_enter(heap);
	block = fast_reuse_cached(heap, class, bytes);
	kf_heap_leave(heap);
	return block;
}

/**
 * kf_fast_fill() - a block of the bin of a class, which is filled if empty
 * @heap:	the calling thread's
 * @class:	not 0; if medium, kf_fast_reuse() has no block
 * @size:	bytes asked, at most KF_SMALL_MAX
 * @near:	whether a larger class may serve; its alignment may be less
 * @usable:	in: bytes of the class; out: usable bytes of the block
 * @zeroed:	out: whether the block reads as zeroes after its first word
 *
 * Context: any thread.
 * Return: the block, counted, or NULL: take the slow path.
 */
static inline void *kf_fast_fill(struct kf_heap *heap, unsigned int class,
				 size_t size, bool near, size_t *usable,
				 bool *zeroed)
{
	size_t offset = class * sizeof(struct kf_bin);
	void *p = NULL;

	*zeroed = false;
	/* A sample that a cached block is due for comes before the bin. */
	if (class <= KF_NR_TINY || (!kf_heap_sample_is_due(heap, class) &&
				    (!kf_load(&heap->cache[class].first) ||
				     fast_may_take(heap, class, *usable))))
		p = kf_fast_alloc(&heap->front, offset);
	if (unlikely(!p)) {
		p = kf_heap_refill(heap, offset, size, near);
		if (unlikely(!p))
			return NULL;
		*usable = kf_slab_at(p)->size;
		class = kf_class_of(*usable);
	}
	*zeroed = heap->front.bin[class].source & KF_BIN_ZEROED;
	return p;
}

/**
 * kf_fast_pop() - a block of any small size
 * @heap:	the calling thread's
 * @size:	bytes, at most KF_SMALL_MAX
 * @near:	as of kf_fast_fill()
 * @usable:	out: usable bytes of the block
 * @zeroed:	out: as of kf_fast_fill()
 *
 * Context: any thread.
 * Return: the block, counted, or NULL: take the slow path.
 */
static inline void *kf_fast_pop(struct kf_heap *heap, size_t size, bool near,
				size_t *usable, bool *zeroed)
{
	unsigned int class;
	void *p;

	if (size <= KF_TINY_MAX) {
		*usable = kf_class_offset(size);
		class = (unsigned int)(*usable >> 4);
	} else {
		class = kf_class_of_medium(size, usable);
		p = kf_fast_reuse(heap, class, *usable);
		if (p) {
			*zeroed = false;
			return p;
		}
	}
	return kf_fast_fill(heap, class, size, near, usable, zeroed);
}

/**
 * kf_resize_stays() - whether realloc leaves a small block where it is
 * @have:	usable bytes of the block
 * @size:	bytes wanted
 *
 * Context: any.
 * Return: false: the block is too small, or more than half of it would be
 *	   wasted.
 */
static inline bool kf_resize_stays(size_t have, size_t size)
{
	return size <= have && (size >= have / 2 || have <= 64);
}

/* Push a block to its slab's local list; @front is of the slab's heap. */
static __always_inline_kf void kf_fast_push(struct kf_front *front,
					    struct kf_slab *slab, void *p)
{
	kf_link_set(p, slab->local);
	*kf_slab_key(p) = (uintptr_t)front;
	slab->local = p;
	kf_fast_count(slab->frees);
}

/* Whether a pointer may be pushed; sets @slab to the address map's entry. */
static __always_inline_kf bool kf_fast_is_own(struct kf_front *front, void *p,
					      struct kf_slab **slab)
{
	struct kf_slab *s =
		kf_container_of(kf_map_peek(p), struct kf_slab, run);

	/* Keeps clang from computing this address twice. */
	kf_hide(s);
	*slab = s;
	_Static_assert(offsetof(struct kf_heap, front) == 0, "an owner word");
	return likely(KF_READ_ONCE(&s->owner) == (uintptr_t)front) &&
	       likely(*kf_slab_key(p) != (uintptr_t)front);
}

/**
 * kf_fast_free() - push a block to its slab's local list
 * kf_fast_free_sized() - the same, after a check of the size
 * @front:	the calling thread's
 * @p:		any pointer
 * @size:	bytes asked, as the program says
 * @slab:	out: the slab; if false is returned, the address map's entry,
 *		which may not be of a slab
 *
 * The caller decrements the slab's @used.
 *
 * Context: any thread.
 * Return: false: nothing was done, take the slow path.
 */
static __always_inline_kf bool kf_fast_free(struct kf_front *front, void *p,
					    struct kf_slab **slab)
{
	if (unlikely(!kf_fast_is_own(front, p, slab)))
		return false;
	kf_fast_push(front, *slab, p);
	return true;
}

static __always_inline_kf bool kf_fast_free_sized(struct kf_front *front,
						  void *p, size_t size,
						  struct kf_slab **slab)
{
	if (unlikely(!kf_fast_is_own(front, p, slab)) ||
	    unlikely(!kf_resize_stays((*slab)->size, size)))
		return false;
	kf_fast_push(front, *slab, p);
	return true;
}

/**
 * kf_fast_keep() - free a medium block of the calling thread to its block cache
 * @heap:	the calling thread's
 * @slab:	a slab, or another run of pages
 * @p:		an address in it
 *
 * The next request of the class takes the block. A slab of few blocks rarely
 * has more than one free block, so with local lists alone most refills of a
 * medium bin would have to search the slabs. Counts the free; fires no probe.
 *
 * Context: any thread.
 * Return: false: nothing was done, take the slow path.
 */
static inline bool kf_fast_keep(struct kf_heap *heap, struct kf_slab *slab,
				void *p)
{
	size_t offset = (size_t)((char *)slab->frees -
				 (char *)&heap->front.slot->class[0].frees);
	struct kf_cached *cache;

	if ((KF_READ_ONCE(&slab->owner) & ~KF_SLAB_FULL) !=
		    ((uintptr_t)heap | KF_SLAB_MEDIUM) ||
	    !kf_slab_is_block(slab, p) || *kf_slab_key(p) == (uintptr_t)heap ||
	    kf_is_sent(p) || unlikely(kf_load(&heap->kept) >= heap->kept_max))
		return false;
	cache = (void *)((char *)heap->cache + offset);
	kf_heap_enter(heap);
	heap->kept += (int64_t)slab->size;
	kf_link_set(p, cache->first);
	*kf_slab_key(p) = (uintptr_t)heap;
	cache->first = p;
	cache->nr++;
	kf_fast_count(slab->frees);
	kf_heap_leave(heap);
	return true;
}

/**
 * kf_fast_usable() - usable bytes of a small block
 * @p:	any pointer
 *
 * Context: any thread.
 * Return: bytes; 0: @p is no small block or looks free, ask the engine.
 */
static inline size_t kf_fast_usable(const void *p)
{
	const struct kf_slab *slab = kf_slab_at(p);

	return likely(slab && kf_slab_is_block(slab, p) &&
		      !kf_slab_looks_free(slab, p))
		       ? slab->size
		       : 0;
}

/**
 * kf_resize_room() - extra bytes for a block that realloc has to move
 * @have:	usable bytes of the block
 * @size:	bytes wanted
 *
 * A buffer that grows in small steps will grow again: with a quarter of room it
 * moves three times for each doubling instead of at each step. Room would be
 * too small for the next step of a buffer that grows in large steps.
 *
 * Context: any.
 * Return: bytes; 0 for a block that shrinks or grows by more than an eighth.
 */
size_t kf_resize_room(size_t have, size_t size);

/**
 * kf_resize_with_room() - bytes to ask for when a small block has to move
 * @have:	usable bytes of the block
 * @size:	bytes wanted
 *
 * Context: any.
 * Return: @size, plus room if the sum is at most KF_SMALL_MAX.
 */
size_t kf_resize_with_room(size_t have, size_t size);

#endif

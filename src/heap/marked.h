/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marked blocks: a block may carry a number, its mark. Hooks are called when
 * such a block is freed or resized.
 *
 * Small marked blocks come from slabs of their own, which have an array of
 * marks at the end. These slabs belong to a marked sibling of the thread's
 * heap. The sibling is made at first use, is adopted together with the heap,
 * and counts in the heap's slot. No thread points at the sibling's front, so
 * the fast path of free fails for its blocks, and only the mode looks at marks.
 * A large block has its mark in the run. Mark 0 means no mark: a block of a
 * marked slab may lose its mark.
 *
 * The block cache takes no blocks of another heap's marked slabs: they are sent
 * to their owner.
 */
#ifndef KF_HEAP_MARKED_H
#define KF_HEAP_MARKED_H

#include "heap/heap.h"

/*
 * Hooks for marked blocks, set before the first mark is given. They run in any
 * thread, inside free and realloc, and must not allocate or free.
 */
struct kf_mark_hooks {
	/*
	 * Returns the mark for the block that realloc is going to return, in
	 * place of a block with the mark @old. @before and @after are the bytes
	 * that the two blocks are counted with: usable bytes without room to
	 * grow.
	 */
	uint32_t (*next)(uint32_t old, size_t before, size_t after);
	/* There was no memory for the block that next() returned @mark for. */
	void (*lost)(uint32_t mark);
	/*
	 * A marked block ends: it is about to be freed (@freed), or realloc
	 * replaces it and may have moved it already.
	 */
	void (*gone)(const void *p, size_t usable, uint32_t mark, bool freed);
	/* realloc returns a block, with the mark that next() returned. */
	void (*came)(const void *p, size_t usable, uint32_t mark);
};

extern struct kf_mark_hooks kf_mark_hooks __kf_hidden;

/**
 * kf_marked_alloc() - allocate a block with a mark
 * @size:	bytes, not 0, below KF_SIZE_LIMIT
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @mark:	the mark, not 0
 * @usable:	out: usable bytes of the block
 *
 * The block is of the default engine, whichever engine serves. Calls no hook.
 *
 * Context: any thread.
 * Return: the block, counted, or NULL when the kernel has no more memory.
 */
void *kf_marked_alloc(size_t size, size_t align, bool zeroed, uint32_t mark,
		      size_t *usable) __must_check;

/**
 * kf_mark_of() - the mark of a block
 * @p:		any pointer
 *
 * Context: any thread; no other thread may free the block meanwhile.
 * Return: the mark; 0: no mark, or no block of the default engine.
 */
uint32_t kf_mark_of(const void *p);

/**
 * kf_mark_may() - whether a block can have a mark without being moved
 * @p:		a live block of the default engine
 * @mark:	the mark, or 0
 *
 * Context: any thread.
 * Return: false: the block would have to move.
 */
bool kf_mark_may(const void *p, uint32_t mark);

/**
 * kf_mark_set() - change the mark of a block; calls no hook
 * @p:		a live block, after kf_mark_may()
 * @mark:	the mark, or 0
 *
 * Context: the thread that uses the block.
 */
void kf_mark_set(void *p, uint32_t mark);

/**
 * kf_mark_leave() - remove the mark of a small block and call the hook gone()
 * @slab:	the block's slab, with marks
 * @p:		the block, about to be freed
 *
 * Context: the thread that frees the block, outside of kf_heap_enter().
 */
void kf_mark_leave(const struct kf_slab *slab, void *p);

/**
 * kf_mark_leave_large() - remove the mark of a large block and call gone()
 * @run:	the run of the block, about to be freed; it has a mark
 *
 * Context: the thread that frees the block.
 */
void kf_mark_leave_large(struct kf_run *run);

/**
 * kf_marked_heap() - the sibling for marked blocks; made at first use
 * @heap:	a heap
 *
 * Context: the heap's owner.
 * Return: the sibling, or NULL when there is no memory for it.
 */
struct kf_heap *kf_marked_heap(struct kf_heap *heap);

/* Whether a slab has an array of marks. */
static inline bool kf_slab_has_marks(const struct kf_slab *slab)
{
	return __atomic_load_n(&slab->owner, __ATOMIC_RELAXED) & KF_SLAB_MARKED;
}

/* The array of marks of a marked slab. */
static inline uint32_t *kf_slab_marks(const struct kf_slab *slab)
{
	return slab->run.marks;
}

/* The index of a marked slab's block; false: @p is not the start of a block. */
static inline bool kf_slab_place(const struct kf_slab *slab, const void *p,
				 size_t *place)
{
	uint64_t offset = (uint64_t)((const char *)p - slab->run.start);
	/* The quotient: Lemire and others, 2019. */
	unsigned __int128 i = (unsigned __int128)offset * slab->inverse;

	*place = (size_t)(i >> 64);
	return (uint64_t)i < slab->inverse;
}

/* The mark of a marked slab's block. */
static inline uint32_t *kf_slab_mark(const struct kf_slab *slab, const void *p)
{
	size_t place;

	kf_slab_place(slab, p, &place);
	return kf_slab_marks(slab) + place;
}

/* The mark for the block that realloc returns: kf_mark_hooks.next(). */
static inline uint32_t kf_mark_next(uint32_t old, size_t before, size_t after)
{
	return unlikely(kf_mark_hooks.next)
		       ? kf_mark_hooks.next(old, before, after)
		       : 0;
}

#endif

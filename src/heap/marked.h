/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marked blocks: a block may carry a number, and somebody hears when it goes.
 *
 * Small ones come from slabs of their own, with an array of marks at the end of
 * each. These belong to a marked sibling of the thread's heap, made at first
 * use, which lives and is adopted with it and counts in its slot. Their owner
 * word has a tag, and is no thread's heap in any case: so the fast path of free
 * fails for them, and only the slow path looks at marks. Large blocks have
 * their mark in the run. Mark 0 is none: what a marked slab gives may lose its
 * mark again.
 *
 * Blocks of another heap's marked slabs are not kept to be handed out again,
 * they go home.
 */
#ifndef KF_HEAP_MARKED_H
#define KF_HEAP_MARKED_H

#include "heap/heap.h"

/*
 * Who hears of marked blocks; set before the first mark is given. All may run
 * in any thread, inside free and realloc; none may allocate or free.
 */
struct kf_mark_hooks {
	/*
	 * The mark for a block that realloc gives the calling thread now, in
	 * place of one with the mark @old; @before and @after are the bytes
	 * that both are reckoned with: usable ones, but no room to grow.
	 */
	uint32_t (*next)(uint32_t old, size_t before, size_t after);
	/* There was no memory for a block with the mark that next() said. */
	void (*lost)(uint32_t mark);
	/*
	 * A marked block goes: freed, which is about to happen, or taken by
	 * realloc, which may have moved it already.
	 */
	void (*gone)(const void *p, size_t usable, uint32_t mark, bool freed);
	/* A block that realloc gave, with the mark that next() said. */
	void (*came)(const void *p, size_t usable, uint32_t mark);
};

extern struct kf_mark_hooks kf_mark_hooks __kf_hidden;

/**
 * kf_marked_alloc() - a block with a mark
 * @size:	bytes, not 0, below KF_SIZE_LIMIT
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @mark:	the mark, not 0
 * @usable:	out: its usable bytes
 *
 * Of the default engine, whatever engine serves. Calls no hook.
 *
 * Context: any thread.
 * Return: the block, counted, or NULL when the kernel has no more.
 */
void *kf_marked_alloc(size_t size, size_t align, bool zeroed, uint32_t mark,
		      size_t *usable) __must_check;

/**
 * kf_mark_of() - the mark of a block
 * @p:		any pointer
 *
 * Context: any thread; of a live block that nobody frees meanwhile.
 * Return: the mark; 0: none, or no block of the default engine.
 */
uint32_t kf_mark_of(const void *p);

/**
 * kf_mark_may() - whether a block where it is may have a mark
 * @p:		a live block of the default engine
 * @mark:	the mark
 *
 * Context: any thread.
 * Return: false where it would have to move.
 */
bool kf_mark_may(const void *p, uint32_t mark);

/**
 * kf_mark_set() - give a block another mark; calls no hook
 * @p:		a live block, after kf_mark_may()
 * @mark:	the mark
 *
 * Context: who owns the block.
 */
void kf_mark_set(void *p, uint32_t mark);

/**
 * kf_mark_leave() - tell that a small block is about to be freed
 * @slab:	its slab, with marks
 * @p:		the block; it has no mark afterwards
 *
 * Context: who frees it, outside of kf_heap_enter().
 */
void kf_mark_leave(const struct kf_slab *slab, void *p);

/**
 * kf_mark_leave_large() - tell that a large block is about to be freed
 * @run:	its run; it has no mark afterwards
 *
 * Context: who frees it.
 */
void kf_mark_leave_large(struct kf_run *run);

/**
 * kf_marked_heap() - the sibling for marked blocks
 * @heap:	a heap
 *
 * Context: the heap's owner.
 * Return: the sibling, or NULL when there is no memory for it.
 */
struct kf_heap *kf_marked_heap(struct kf_heap *heap);

/* Whether a slab's blocks have marks. */
static inline bool kf_slab_has_marks(const struct kf_slab *slab)
{
	return __atomic_load_n(&slab->owner, __ATOMIC_RELAXED) & KF_SLAB_MARKED;
}

/* The marks of a marked slab's blocks. */
static inline uint32_t *kf_slab_marks(const struct kf_slab *slab)
{
	return slab->run.marks;
}

/*
 * The place of a slab's block among the blocks; false: the address is inside of
 * one.
 */
static inline bool kf_slab_place(const struct kf_slab *slab, const void *p,
				 size_t *place)
{
	uint64_t offset = (uint64_t)((const char *)p - slab->run.start);
	/* The quotient, by the inverse: Lemire and others, 2019. */
	unsigned __int128 i = (unsigned __int128)offset * slab->inverse;

	*place = (size_t)(i >> 64);
	return (uint64_t)i < slab->inverse;
}

/* Where the mark of a marked slab's block is. */
static inline uint32_t *kf_slab_mark(const struct kf_slab *slab, const void *p)
{
	size_t place;

	kf_slab_place(slab, p, &place);
	return kf_slab_marks(slab) + place;
}

/* The mark for what realloc gives. */
static inline uint32_t kf_mark_next(uint32_t old, size_t before, size_t after)
{
	return unlikely(kf_mark_hooks.next)
		       ? kf_mark_hooks.next(old, before, after)
		       : 0;
}

#endif

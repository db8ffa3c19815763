/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slabs: runs of pages cut into blocks of one class.
 *
 * Glossary
 *	carved		blocks of a slab that exist; the rest is untouched
 *	slab offset	(colouring) bytes before a slab's first block, so that
 *			blocks of many slabs spread over the sets of the
 *			processor's caches
 *	local list	a slab's blocks freed by its owner
 *	key		the owner's address, in the second word of a free block
 *	link		the next block's address, in the first word, coded
 *
 * The key marks a free block: free() finds a block that is freed twice by it,
 * and malloc clears it. A program may store the same value there by chance, so
 * the lists of free blocks are searched before a double free is reported. A
 * block on its way to another thread's heap has a code in that word that does
 * not occur by chance: see kf_slab_is_sent().
 *
 * A link is coded with a random number whose upper bit is set. An address, a
 * small number, a text or zeroes that the program wrote over a link decode to a
 * negative number, which malloc's test for an empty list finds too.
 */
#ifndef KF_HEAP_SLAB_H
#define KF_HEAP_SLAB_H

#include "base/compiler.h"
#include "base/list.h"
#include "heap/class.h"
#include "pages/map.h"

struct kf_heap;
struct kf_bin;

/*
 * A slab of larger blocks leaves the class as soon as it is empty: a program
 * may have used such blocks once, and its other classes need the pages.
 */
#define KF_SPARSE_MIN ((size_t)8192)

#define KF_SLAB_FULL ((uintptr_t)1)   /* tags in the owner word */
#define KF_SLAB_MARKED ((uintptr_t)2) /* see heap/marked.h */
#define KF_SLAB_MEDIUM ((uintptr_t)4) /* blocks above KF_TINY_MAX, no marks */
#define KF_SLAB_TAGS (KF_SLAB_FULL | KF_SLAB_MARKED | KF_SLAB_MEDIUM)
#define KF_SLAB_NOBODYS KF_SLAB_FULL /* what no slab has for an owner */

struct kf_slab {
	struct kf_run run;
	/* second line: the owner's */
	uintptr_t owner; /* the heap, with tags */
	void *local;
	uint64_t *frees;     /* the owner's counter of the class; constant */
	uint64_t size;	     /* of a block; constant */
	uint64_t inverse;    /* 2^64 / size, rounded up; constant */
	struct kf_list link; /* in the heap's list of the class */
	uint16_t used;
	uint16_t carved;
	uint16_t capacity;    /* blocks at most; constant until disposed */
	uint8_t first_offset; /* of KF_SLAB_OFFSET_STEP, before its blocks;
				 constant */
	bool zeroed;	      /* what is not carved reads as zero; constant */
} __kf_aligned(KF_CACHE_LINE);

_Static_assert(sizeof(struct kf_slab) == KF_RUN_BYTES, "fits a descriptor");
_Static_assert(KF_SLAB_PAGES *KF_PAGE / 16 <= UINT16_MAX, "can be counted");

static inline unsigned int kf_slab_class(const struct kf_slab *slab)
{
	return kf_class_of(slab->size);
}

/* The first block. */
static inline const char *kf_slab_blocks(const struct kf_slab *slab)
{
	return slab->run.start +
	       (size_t)slab->first_offset * KF_SLAB_OFFSET_STEP;
}

/* Where the class' bin is in a heap, and its counters in a slot. */
static inline size_t kf_slab_bin_offset(const struct kf_slab *slab)
{
	return kf_slab_class(slab) * sizeof(struct kf_stats_pair);
}

static inline bool kf_slab_is_sparse(const struct kf_slab *slab)
{
	return slab->size > KF_SPARSE_MIN;
}

/* The slab that an address lies in, or NULL. */
static inline struct kf_slab *kf_slab_at(const void *p)
{
	struct kf_run *run = kf_map_get(p);

	return run->kind == KF_RUN_SLAB
		       ? kf_container_of(run, struct kf_slab, run)
		       : NULL;
}

/**
 * kf_slab_is_block() - whether an address is the start of a carved block
 * @slab:	the slab
 * @p:		an address in it
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool kf_slab_is_block(const struct kf_slab *slab, const void *p)
{
	uint64_t offset = (uint64_t)((const char *)p - kf_slab_blocks(slab));
	/* The owner may be carving more blocks. */
	uint16_t carved = __atomic_load_n(&slab->carved, __ATOMIC_RELAXED);

	/* A multiple, by the inverse: Lemire and others, 2019. */
	return offset < (uint64_t)carved * slab->size &&
	       offset * slab->inverse < slab->inverse;
}

/* The heap that owns a slab, whatever its tags say. */
static inline struct kf_heap *kf_slab_owner(const struct kf_slab *slab)
{
	return (struct kf_heap *)(__atomic_load_n(&slab->owner,
						  __ATOMIC_RELAXED) &
				  ~KF_SLAB_TAGS);
}

/* The number that links are coded with; constant after the start. */
extern uintptr_t kf_link_key __kf_hidden;

/* A link from an address, or the address from a link. */
static __always_inline_kf void *kf_link_code(const void *p)
{
	return (void *)((uintptr_t)p ^ kf_link_key);
}

/* Whether a decoded link may be a block: not NULL, and not damaged. */
static __always_inline_kf bool kf_link_leads_on(const void *p)
{
	return (intptr_t)p > 0;
}

/* Whether a decoded link shows that the program wrote over it. */
static __always_inline_kf bool kf_link_is_damaged(const void *p)
{
	return unlikely((intptr_t)p < 0);
}

/* The block that a free block's link leads to. */
static __always_inline_kf void *kf_link_next(const void *block)
{
	return kf_link_code(*(void *const *)block);
}

static __always_inline_kf void kf_link_set(void *block, const void *next)
{
	*(void **)block = kf_link_code(next);
}

/* Where the key of a free block is. */
static __always_inline_kf uintptr_t *kf_slab_key(void *p)
{
	return (uintptr_t *)p + 1;
}

/* Whether a block looks as if it were free. */
static inline bool kf_slab_looks_free(const struct kf_slab *slab, const void *p)
{
	return ((const uintptr_t *)p)[1] == (uintptr_t)kf_slab_owner(slab);
}

/*
 * The second word of a block on its way to its owner: a later block of the same
 * list, or NULL. It is coded as a link is, but for the lower bits, so that no
 * link that a program copies looks like it.
 */
#define KF_REMOTE_BITS ((uintptr_t)9)

static __always_inline_kf uintptr_t kf_remote_code(const void *later)
{
	return (uintptr_t)kf_link_code(later) ^ KF_REMOTE_BITS;
}

static __always_inline_kf const void *kf_remote_later(const void *p)
{
	uintptr_t word = ((const uintptr_t *)p)[1];

	return kf_link_code((const void *)(word ^ KF_REMOTE_BITS));
}

/* Whether a block may be on its way: of random words one in 2^17 looks so. */
static __always_inline_kf bool kf_slab_looks_sent(const void *p)
{
	return unlikely((uintptr_t)kf_remote_later(p) >> KF_ADDRESS_BITS == 0);
}

/**
 * kf_slab_is_sent() - whether a block is on its way to its owner
 * @slab:	the slab
 * @p:		the block
 *
 * Context: any.
 * Return: true if its second word leads to none or to another block of the same
 *	   owner.
 */
bool kf_slab_is_sent(const struct kf_slab *slab, const void *p);

/**
 * kf_slab_has_free() - whether a block of a slab is free
 * @heap:	the caller's heap
 * @slab:	the slab, of any heap
 * @p:		the block
 *
 * Searches the lists that the caller may read.
 *
 * Context: the heap's owner.
 * Return: true if it is in one of them.
 */
bool kf_slab_has_free(const struct kf_heap *heap, const struct kf_slab *slab,
		      const void *p);

/**
 * kf_slab_make() - a new slab in a heap's list
 * @heap:	the heap
 * @class:	not 0
 *
 * Context: the heap's owner.
 * Return: the slab, or NULL when the kernel has no more.
 */
struct kf_slab *kf_slab_make(struct kf_heap *heap,
			     unsigned int class) __must_check;

/**
 * kf_slab_take() - a list of blocks for a bin
 * @heap:	the heap
 * @slab:	one of its slabs that is not full
 * @bin:	the empty bin
 *
 * Context: the heap's owner.
 * Return: how many blocks; 0: the list was damaged, which was reported.
 */
uint32_t kf_slab_take(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin);

/**
 * kf_slab_retire() - a slab has nothing left
 * kf_slab_unretire() - a block of such a slab was freed
 * @heap:	the heap
 * @slab:	its slab; off its list, and on it again
 *
 * Context: the heap's owner.
 */
void kf_slab_retire(struct kf_slab *slab);
void kf_slab_unretire(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_emptied() - dispose of a slab without used blocks, or keep it
 * kf_slab_emptied_alone() - the same, outside of kf_heap_enter()
 * @heap:	the heap
 * @slab:	its slab, in the heap's list
 *
 * Context: the heap's owner.
 */
void kf_slab_emptied(struct kf_heap *heap, struct kf_slab *slab);
void kf_slab_emptied_alone(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_dispose() - give a slab's pages back
 * @heap:	the heap
 * @slab:	its slab, in the heap's list, without used blocks
 *
 * Context: the heap's owner.
 */
void kf_slab_dispose(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_return() - put a block into the local list
 * @heap:	the heap
 * @slab:	its slab
 * @p:		the block
 *
 * The slab may be gone afterwards.
 *
 * Context: the heap's owner.
 */
static inline void kf_slab_return(struct kf_heap *heap, struct kf_slab *slab,
				  void *p)
{
	kf_link_set(p, slab->local);
	*kf_slab_key(p) = (uintptr_t)heap;
	slab->local = p;
	slab->used--;
	if (unlikely(slab->owner & KF_SLAB_FULL))
		kf_slab_unretire(heap, slab);
	if (unlikely(!slab->used))
		kf_slab_emptied(heap, slab);
}

#endif

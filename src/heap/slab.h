/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slabs: runs of pages cut into blocks of one class.
 *
 * Glossary
 *	carved		made into blocks, a page or a few at a time; the rest of
 *			the slab is untouched
 *	slab offset	(colouring) bytes before a slab's first block, so that
 *			blocks of many slabs spread over the sets of the
 *			processor's caches
 *	local list	the slab's blocks that its owner freed
 *	key		the second word of a free block: the address of the heap
 *			that owns its slab
 *	link		the first word of a free block: the next block's
 *			address, coded
 *
 * free() recognizes a block that is freed twice by its key; malloc clears the
 * key. A live block may contain the same value by chance, so the lists of free
 * blocks are searched before a double free is reported. A block that was sent
 * to its owner has a code in its second word instead, which does not occur by
 * chance: see kf_is_sent().
 *
 * A link is coded with a random number whose top bit is set. If the program
 * writes an address, a small number, text or zeroes over a link, the link
 * decodes to a negative number. malloc's test for an empty list finds this too.
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
 * Slabs of blocks above this size (bytes) are disposed of as soon as they are
 * empty: a program may use such blocks only once, and other classes need the
 * pages.
 */
#define KF_SPARSE_MIN ((size_t)8192)

/* Tags in the owner word. */
#define KF_SLAB_FULL ((uintptr_t)1)
#define KF_SLAB_MARKED ((uintptr_t)2) /* heap/marked.h */
#define KF_SLAB_MEDIUM ((uintptr_t)4) /* blocks above KF_TINY_MAX, no marks */
#define KF_SLAB_TAGS (KF_SLAB_FULL | KF_SLAB_MARKED | KF_SLAB_MEDIUM)
#define KF_SLAB_NOBODYS KF_SLAB_FULL /* no slab's owner word is this */

struct kf_slab {
	struct kf_run run;
	/* The owner's cache line. Other threads read @owner and @carved. */
	/*
	 * The heap's address, with tags; 0: nobody's. Atomic. Written when the
	 * slab is made, when it becomes full or has free blocks again, and when
	 * it is disposed of: by the owner, or for the last by a thread that
	 * holds the heap (reclaim.h).
	 */
	uintptr_t owner;
	void *local;	      /* the local list */
	uint64_t *frees;      /* the owner's counter of the class; constant */
	uint64_t size;	      /* bytes of a block; constant */
	uint64_t inverse;     /* 2^64 / size, rounded up; constant */
	struct kf_list link;  /* in the heap's list of the class */
	uint16_t used;	      /* blocks */
	uint16_t carved;      /* blocks; atomic */
	uint16_t capacity;    /* blocks at most; constant until disposed */
	uint8_t first_offset; /* slab offset / KF_SLAB_OFFSET_STEP; constant */
	bool zeroed; /* blocks not carved yet read as zeroes; constant */
} __kf_aligned(KF_CACHE_LINE);

_Static_assert(sizeof(struct kf_slab) == KF_RUN_BYTES, "fits a descriptor");
_Static_assert(4 * KF_SLAB_PAGES * KF_PAGE / 16 <= UINT16_MAX,
	       "16 bits hold a number of blocks, and an offset of one");

static inline unsigned int kf_slab_class(const struct kf_slab *slab)
{
	return kf_class_of(slab->size);
}

/* The start of the first block. */
static inline const char *kf_slab_blocks(const struct kf_slab *slab)
{
	return slab->run.start +
	       (size_t)slab->first_offset * KF_SLAB_OFFSET_STEP;
}

/* The offset, in bytes, of the class's bin and of its counters. */
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

	/* A multiple of the size: Lemire and others, 2019. */
	return offset < (uint64_t)carved * slab->size &&
	       offset * slab->inverse < slab->inverse;
}

/* The heap that owns a slab: the owner word without its tags. */
static inline struct kf_heap *kf_slab_owner(const struct kf_slab *slab)
{
	return (struct kf_heap *)(__atomic_load_n(&slab->owner,
						  __ATOMIC_RELAXED) &
				  ~KF_SLAB_TAGS);
}

/* The random number that links are coded with; constant after the start. */
extern uintptr_t kf_link_key __kf_hidden;

/* Encode an address as a link, or decode a link. */
static __always_inline_kf void *kf_link_code(const void *p)
{
	return (void *)((uintptr_t)p ^ kf_link_key);
}

/* Whether a decoded link may be a block: not NULL and not damaged. */
static __always_inline_kf bool kf_link_leads_on(const void *p)
{
	return (intptr_t)p > 0;
}

/* Whether a decoded link shows that the program wrote over it. */
static __always_inline_kf bool kf_link_is_damaged(const void *p)
{
	return unlikely((intptr_t)p < 0);
}

/* The block after a free block, or NULL; kf_link_is_damaged() may be true. */
static __always_inline_kf void *kf_link_next(const void *block)
{
	return kf_link_code(*(void *const *)block);
}

static __always_inline_kf void kf_link_set(void *block, const void *next)
{
	*(void **)block = kf_link_code(next);
}

/* The word of a block that has its key while the block is free. */
static __always_inline_kf uintptr_t *kf_slab_key(void *p)
{
	return (uintptr_t *)p + 1;
}

/* Whether a block has the key of a free block. */
static inline bool kf_slab_looks_free(const struct kf_slab *slab, const void *p)
{
	return ((const uintptr_t *)p)[1] == (uintptr_t)kf_slab_owner(slab);
}

/*
 * The second word of a block that was sent to its owner: its own address, coded
 * as a link with other low bits. So neither a copy of a link nor a copy of this
 * word, which realloc makes where a program has not written to its block, looks
 * like it elsewhere.
 */
static __always_inline_kf uintptr_t kf_sent_key(const void *p)
{
	return (uintptr_t)kf_link_code(p) ^ 9;
}

/* Whether a block is on its way to its owner. */
static __always_inline_kf bool kf_is_sent(const void *p)
{
	return unlikely(((const uintptr_t *)p)[1] == kf_sent_key(p));
}

/*
 * Blocks of a slab that other threads freed, in one word: the first one's
 * offset in units of 16 bytes, their number, and the epoch. A forked child has
 * a new epoch, as the kernel may have copied the word and not the links. A word
 * of an earlier epoch stands for none.
 */
extern uint32_t kf_remote_epoch __kf_hidden;

static inline uint64_t kf_remote_word(const struct kf_slab *slab,
				      const char *first, uint64_t nr)
{
	return (uint64_t)(first - slab->run.start) / 16 | nr << 16 |
	       (uint64_t)kf_remote_epoch << 32;
}

static inline uint32_t kf_remote_nr(uint64_t word)
{
	return word >> 32 == kf_remote_epoch ? (uint16_t)(word >> 16) : 0;
}

/* The word of an earlier epoch as one of this epoch. */
static inline uint64_t kf_remote_renew(uint64_t word)
{
	return (uint32_t)word | (uint64_t)kf_remote_epoch << 32;
}

static inline void *kf_remote_first(const struct kf_slab *slab, uint64_t word)
{
	return kf_remote_nr(word) ? slab->run.start + (word & 0xffff) * 16
				  : NULL;
}

/**
 * kf_slab_has_free() - search for a block in lists of free blocks
 * @heap:	the caller's heap
 * @slab:	the slab, of any heap
 * @p:		the block
 *
 * Searches the bin and the block cache of the class in @heap, and the slab's
 * local list if @heap owns the slab.
 *
 * Context: the heap's owner.
 * Return: true if the block is in one of the lists.
 */
bool kf_slab_has_free(const struct kf_heap *heap, const struct kf_slab *slab,
		      const void *p);

/**
 * kf_slab_make() - make a slab and add it to the heap's list
 * @heap:	the heap
 * @class:	not 0
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: the slab, or NULL when the kernel has no more memory.
 */
struct kf_slab *kf_slab_make(struct kf_heap *heap,
			     unsigned int class) __must_check;

/**
 * kf_slab_take() - move a slab's local list into a bin, or carve blocks for it
 * @heap:	the heap
 * @slab:	one of its slabs that is not full
 * @bin:	the empty bin of the class
 *
 * Context: the heap's owner, inside kf_heap_enter().
 * Return: number of blocks in the bin; 0 when the local list was damaged, which
 *	   was reported.
 */
uint32_t kf_slab_take(struct kf_heap *heap, struct kf_slab *slab,
		      struct kf_bin *bin);

/**
 * kf_slab_retire() - mark a slab full and take it off its list
 * kf_slab_unretire() - put a full slab on its list: a block of it was freed
 * @heap:	the heap
 * @slab:	its slab
 *
 * Context: the heap's owner.
 */
void kf_slab_retire(struct kf_slab *slab);
void kf_slab_unretire(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_emptied() - dispose of a slab that has no used block left
 * kf_slab_emptied_alone() - the same, outside of kf_heap_enter()
 * @heap:	the heap
 * @slab:	its slab, in the heap's list
 *
 * Keeps the slab if it is the source of a bin and not sparse.
 *
 * Context: the heap's owner.
 */
void kf_slab_emptied(struct kf_heap *heap, struct kf_slab *slab);
void kf_slab_emptied_alone(struct kf_heap *heap, struct kf_slab *slab);

/**
 * kf_slab_dispose() - give a slab's pages to the run cache, or back
 * kf_slab_forget() - let a slab be only a run, which the caller gives back
 * @heap:	the heap
 * @slab:	its slab, without used blocks
 *
 * Context: the heap's owner; kf_slab_forget() also while the heap is held.
 */
void kf_slab_dispose(struct kf_heap *heap, struct kf_slab *slab);
void kf_slab_forget(struct kf_heap *heap, struct kf_slab *slab);

/*
 * Take a block that was pushed to the local list off the used ones. The store
 * comes last: when all used blocks are remote ones, another thread may reclaim
 * the slab. Returns whether none is left.
 */
static __always_inline_kf bool kf_slab_unuse(struct kf_slab *slab)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return unlikely(--slab->used == 0);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Guarded blocks: a block alone on a page of a pool, with an inaccessible page
 * on both sides. After its free the page is inaccessible until its slot is the
 * one that was freed longest ago and serves another block.
 *
 * Glossary
 *	slot	a page of the pool for one block, and what is known of the block
 *	closed	inaccessible; a closed page keeps its contents
 *	told	a slot that had a fault: it serves no further block
 *
 * A block begins at the beginning of its page or, as often, ends at its end, up
 * to its alignment. Some bytes behind it hold a pattern, which is checked when
 * it is freed. Its usable size is the size asked.
 *
 * The pages are closed only while kf_guarded_close() says that somebody handles
 * the faults. There is no lock: a slot changes its state by compare and swap.
 * A slot that is between two states while another thread forks is lost in the
 * child. The blocks count as large ones.
 */
#ifndef KF_HEAP_GUARDED_H
#define KF_HEAP_GUARDED_H

#include "heap/heap.h"
#include "pages/map.h"
#include "sample/trace.h"
#include "stats/report.h"

#include "konfiscator-engine.h"

#define KF_GUARDED_MOST 64	/* live blocks */
#define KF_GUARDED_SLOTS_EACH 3 /* slots for each of these */
#define KF_GUARDED_MAX (KF_GUARDED_MOST * KF_GUARDED_SLOTS_EACH)

enum kf_guarded_state {
	KF_GUARDED_UNUSED,
	KF_GUARDED_BUSY, /* a thread changes the slot */
	KF_GUARDED_LIVE,
	KF_GUARDED_FREED,
};

struct kf_guarded_slot {
	uint32_t state; /* enum kf_guarded_state; atomic */
	bool told;	/* atomic */
	uint32_t mark;	/* of the block: marked.h; its owner's */
	size_t asked;	/* bytes; constant while live */
	char *block;	/* constant while live; NULL: there was none yet */
	uint64_t freed; /* number of its free; 0: none yet; atomic */
	struct kf_trace came;
	struct kf_trace went; /* while it is freed */
};

/* The pool in the address map; @start is NULL until it is there; atomic. */
extern struct kf_run kf_guarded_pool[2] __kf_hidden;

/* Whether an address is in the pool. */
static inline bool kf_guarded_holds(const void *p)
{
	const char *start = kf_load_acquire(&kf_guarded_pool[0].start);

	return unlikely(start) && (size_t)((const char *)p - start) <
					  kf_run_bytes(&kf_guarded_pool[0]);
}

/**
 * kf_guarded_start() - reserve the pool
 * @live:	most blocks at a time, 1 to KF_GUARDED_MOST
 * @report:	called when a free finds bytes written behind a block
 *
 * Context: one thread at a time, once.
 * Return: false when there are no addresses, or no memory for the map.
 */
bool kf_guarded_start(unsigned int live,
		      void (*report)(struct kf_guarded_slot *slot,
				     const void *at)) __must_check;

/**
 * kf_guarded_may() - whether a block fits in a slot
 * @size:	bytes
 * @align:	power of two
 *
 * Context: any.
 * Return: whether it fits.
 */
static inline bool kf_guarded_may(size_t size, size_t align)
{
	return size <= KF_PAGE && align <= KF_PAGE;
}

/**
 * kf_guarded_nr_live() - number of live guarded blocks
 *
 * Context: any.
 * Return: the number.
 */
unsigned int kf_guarded_nr_live(void);

/**
 * kf_guarded_alloc() - a guarded block
 * @size:	bytes, not 0; kf_guarded_may() it
 * @align:	power of two, at least 16
 * @zeroed:	whether it must read as zeroes
 * @mark:	the mark, not 0
 *
 * Context: any thread, no lock of the library held. Walks the stack.
 * Return: the block, counted; NULL: no slot is free, or the kernel refused.
 */
void *kf_guarded_alloc(size_t size, size_t align, bool zeroed,
		       uint32_t mark) __must_check;

/**
 * kf_guarded_free() - free a guarded block, and close its page
 * @p:		an address in the pool
 *
 * Context: any thread, no lock of the library held. Walks the stack.
 * Return: KONF_FINE, or what is wrong with the pointer: nothing changed then.
 */
enum konf_misuse kf_guarded_free(void *p);

/**
 * kf_guarded_check() - whether an address is a live block
 * @p:		an address in the pool
 *
 * Context: any thread.
 * Return: KONF_FINE, or what is wrong with it.
 */
enum konf_misuse kf_guarded_check(const void *p);

/**
 * kf_guarded_usable() - usable bytes of a block
 * @p:		an address in the pool
 *
 * Context: any thread.
 * Return: the bytes asked; 0: no live block.
 */
size_t kf_guarded_usable(const void *p);

/**
 * kf_guarded_mark() - where the mark of a block is
 * @p:		an address in the pool
 *
 * Context: any thread; no other thread may free the block meanwhile.
 * Return: the place; NULL: no live block.
 */
uint32_t *kf_guarded_mark(const void *p);

/**
 * kf_guarded_each() - call a function for the marks of live blocks
 * @each:	the function; it gets the mark and 0
 *
 * Context: any thread; a block may be freed meanwhile.
 */
void kf_guarded_each(void (*each)(uint32_t mark, uint64_t parts));

/**
 * kf_guarded_judge() - what an access to a closed page is
 * @at:		the address, in the pool
 * @slot:	out: the block's slot; for KF_GUARDED_WILD the page's, or NULL
 *
 * In a page between two blocks the nearer live one is meant, or else the
 * nearer one that was freed.
 *
 * Context: any, signal handlers too.
 * Return: the kind.
 */
enum kf_guarded_fault kf_guarded_judge(const void *at,
				       struct kf_guarded_slot **slot);

/**
 * kf_guarded_slot_of() - the slot of an address that was freed wrongly
 * @p:		the address, in the pool
 *
 * Context: any.
 * Return: the slot, or NULL: there was no block.
 */
struct kf_guarded_slot *kf_guarded_slot_of(const void *p);

/**
 * kf_guarded_tell() - claim the right to report what happened to a slot
 * @slot:	the slot
 *
 * Context: any.
 * Return: true once for each slot.
 */
bool kf_guarded_tell(struct kf_guarded_slot *slot) __must_check;

/**
 * kf_guarded_admit() - make the page of an address accessible for good
 * @at:		the address, in the pool
 * @first:	out: whether this is the first call for the page, and the page
 *		is not that of a live block
 *
 * Context: any, signal handlers too.
 * Return: false when the kernel refused.
 */
bool kf_guarded_admit(const void *at, bool *first) __must_check;

/**
 * kf_guarded_open() - make all pages accessible, until kf_guarded_close()
 * kf_guarded_close() - close the pages of freed blocks and those between blocks
 *
 * Context: any, signal handlers too; one thread at a time.
 */
void kf_guarded_open(void);
void kf_guarded_close(void);

#endif

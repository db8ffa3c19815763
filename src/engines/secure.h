/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the engine secure, which trades time and memory for the
 * detection of misuse.
 *
 * Glossary
 *	area	pages between guards, with one block or many slots
 *	slot	a place for a block in an area, all of one class
 *	guard	addresses that fault, more than a MiB of them, at random lengths
 *	redzone	32 bytes before a slot and behind the last, filled with canaries
 *	slack	bytes of a slot, or of a block's pages, that were not asked for;
 *		likewise filled
 *	canary	a byte that is never 0 and follows from a secret and its address
 *	quarantine	freed blocks that wait before they are given again
 *	spare	an area whose only block has left the quarantine
 *
 * Invariants, between two calls:
 *	- a live block's redzones and slack hold canaries;
 *	- a slot that is not live reads as zeroes; a block's pages in
 *	  quarantine fault;
 *	- all that is known of a block stands in its area's descriptor, and no
 *	  descriptor lies beside a block.
 *
 * One call at a time is in here, by the host, but for kf_secure_find() and
 * kf_secure_judge(), which look at one block and its area only.
 */
#ifndef KF_ENGINES_SECURE_H
#define KF_ENGINES_SECURE_H

#include "base/list.h"
#include "heap/class.h"
#include "engines/engine.h"
#include "heap/audit.h"
#include "pages/map.h"

#define KF_SECURE_REDZONE ((size_t)32)
#define KF_SECURE_SMALL ((size_t)2048) /* larger ones have their own area */
#define KF_SECURE_LONG (64 * KF_KIB)   /* its pages go when it is freed */
#define KF_SECURE_LEAST ((size_t)8) /* the host links blocks while it forks */
#define KF_SECURE_CLASSES 73

_Static_assert(KF_SECURE_CLASSES == 1 + KF_NR_TINY + 8, "those to 2 KiB");

enum kf_secure_state {
	KF_SECURE_FRESH, /* never given */
	KF_SECURE_LIVE,
	KF_SECURE_WAITING, /* in quarantine */
	KF_SECURE_FREE,
};

/*
 * @primed: the redzone before it has its canaries. Not one word with the rest,
 * as it is set for the slot behind one that is given, whose block may be looked
 * at meanwhile.
 */
struct kf_secure_slot {
	uint64_t asked : 48;
	uint8_t state; /* enum kf_secure_state */
	uint8_t primed;
};

/*
 * @run is what the address map has for the area; the line behind it stays
 * zero, so that no heap ever owns it. Constant once made, but for @bytes, which
 * becomes 0 with kf_secure_area_close() and changes with an area's only block,
 * as @first does, and what comes behind @nr.
 */
struct kf_secure_area {
	struct kf_run run; /* its start: of the pages between the guards */
	uint64_t engine_part[KF_CACHE_LINE / 8];
	char *base;	 /* of the addresses, with guards */
	size_t reserved; /* bytes of these */
	size_t bytes;	 /* between the guards */
	size_t limit;	 /* that @bytes may grow to */
	size_t held;	 /* bytes of the descriptor; 0: one among others */
	char *first;	 /* the first slot */
	char *named;	 /* what the address map has of it */
	size_t named_bytes;
	uint32_t class;
	uint32_t stride; /* from slot to slot */
	uint32_t size; /* bytes of a slot; 0: one block, or blocks of size 0 */
	uint32_t nr;   /* slots */
	bool hidden;   /* its pages are there, and fault */
	struct kf_list link; /* among all areas, or spare ones, or unused
				descriptors */
	struct kf_list room; /* among those of the class with free slots, or
				spare ones of as many pages */
	uint32_t busy;	     /* live or in quarantine */
	uint32_t nr_free;
	struct kf_secure_slot slot[]; /* @nr + 1, then the free ones' numbers */
};

/* A slot and its block. */
struct kf_secure_block {
	struct kf_secure_area *area;
	uint32_t index;
};

/**
 * kf_secure_fill() - write canaries
 * kf_secure_holds() - whether they are as they were written
 * kf_secure_is_zero() - whether bytes are all zero
 * @from:	first byte
 * @to:		behind the last
 *
 * Context: the owner of these bytes.
 * Return: true if so.
 */
void kf_secure_fill(char *from, const char *to);
bool kf_secure_holds(const char *from, const char *to);
bool kf_secure_is_zero(const char *from, const char *to);

/**
 * kf_secure_random() - a number below another
 * @below:	not 0
 *
 * Context: inside the engine.
 * Return: as even as its use asks for.
 */
uint64_t kf_secure_random(uint64_t below);

/**
 * kf_secure_area_init() - draw the secrets
 *
 * Context: once, before the rest.
 */
void kf_secure_area_init(void);

/**
 * kf_secure_area_make() - pages between guards, with a descriptor
 * @bytes:	of the pages; 0: as many as @nr slots of 16 bytes that fault
 * @room:	bytes that the pages may grow by, if there are addresses for it
 * @align:	of the pages, a power of two
 * @nr:		slots
 *
 * Where addresses or mappings are scarce spare areas go, and blocks leave the
 * quarantine.
 *
 * Context: inside the engine.
 * Return: the area, its block part to be set, or NULL without memory.
 */
struct kf_secure_area *kf_secure_area_make(size_t bytes, size_t room,
					   size_t align,
					   uint32_t nr) __must_check;

/**
 * kf_secure_area_name() - have the address map know an area
 * @area:	the area
 * @start:	first byte
 * @bytes:	how many
 *
 * Context: inside the engine.
 * Return: false without memory for the map.
 */
bool kf_secure_area_name(struct kf_secure_area *area, const char *start,
			 size_t bytes) __must_check;

/**
 * kf_secure_area_close() - let an area's pages fault, its addresses stay
 * @area:	an area of one block
 *
 * Context: inside the engine.
 */
void kf_secure_area_close(struct kf_secure_area *area);

/**
 * kf_secure_area_drop() - give an area back
 * @area:	the area, without busy slots
 *
 * Context: inside the engine.
 */
void kf_secure_area_drop(struct kf_secure_area *area);

/**
 * kf_secure_pages_alloc() - a block with pages of its own
 * @size:	bytes; 0: an address that faults
 * @align:	power of two, at least 16
 *
 * Context: inside the engine.
 * Return: the block, which reads as zeroes, or NULL without memory.
 */
void *kf_secure_pages_alloc(size_t size, size_t align) __must_check;

/**
 * kf_secure_pages_resize() - resize a block with pages of its own
 * @area:	its area
 * @size:	bytes, at least KF_SECURE_LEAST
 *
 * Context: inside the engine.
 * Return: the block where it is now, contents kept, new bytes zeroed; or NULL
 *	   without memory, and nothing changed.
 */
void *kf_secure_pages_resize(struct kf_secure_area *area,
			     size_t size) __must_check;

/**
 * kf_secure_pages_free() - let the pages of a block fault
 * kf_secure_pages_leave() - the block leaves the quarantine
 * @area:	its area
 *
 * Context: inside the engine.
 */
void kf_secure_pages_free(struct kf_secure_area *area);
void kf_secure_pages_leave(struct kf_secure_area *area);

/**
 * kf_secure_pages_drop_spare() - give the oldest spare area back
 *
 * Context: inside the engine.
 * Return: false if there is none.
 */
bool kf_secure_pages_drop_spare(void);

/**
 * kf_secure_empty() - empty the quarantine, and give all spare areas back
 *
 * Context: inside the engine.
 */
void kf_secure_empty(void);

/**
 * kf_secure_find() - the slot that begins at an address
 * @p:		any pointer
 * @block:	out: where
 *
 * Context: any thread, of a block that it owns.
 * Return: false: it is the start of no slot.
 */
bool kf_secure_find(const void *p, struct kf_secure_block *block);

/**
 * kf_secure_judge() - what is wrong with a block that is to be freed
 * @p:		any pointer
 *
 * Context: as kf_secure_find().
 * Return: what, or KONF_FINE.
 */
enum konf_misuse kf_secure_judge(const void *p);

/**
 * kf_secure_slot_alloc() - a small block
 * @size:	bytes, 0 or from KF_SECURE_LEAST to KF_SECURE_SMALL
 *
 * Context: inside the engine.
 * Return: the block, which reads as zeroes, or NULL without memory.
 */
void *kf_secure_slot_alloc(size_t size) __must_check;

/**
 * kf_secure_slot_leave() - a block leaves quarantine
 * @block:	which
 *
 * Tells of what was written into it meanwhile.
 *
 * Context: inside the engine.
 */
void kf_secure_slot_leave(struct kf_secure_block block);

/**
 * kf_secure_slot_at() - where a slot begins
 * @block:	the slot
 *
 * Context: any.
 * Return: its address.
 */
static inline char *kf_secure_slot_at(struct kf_secure_block block)
{
	return block.area->first + (size_t)block.index * block.area->stride;
}

/**
 * kf_secure_slot_check() - whether a slot is as it has to be
 * @block:	a slot, live or not
 *
 * Context: inside the engine, or as kf_secure_judge().
 * Return: what is wrong, or KONF_FINE.
 */
enum konf_misuse kf_secure_slot_check(struct kf_secure_block block);

/**
 * kf_secure_wait() - put a freed block in quarantine; another may leave it
 * @block:	which
 *
 * Context: inside the engine.
 */
void kf_secure_wait(struct kf_secure_block block);

/**
 * kf_secure_wait_less() - the oldest block leaves the quarantine
 *
 * Context: inside the engine.
 * Return: false if there is none.
 */
bool kf_secure_wait_less(void);

/**
 * kf_secure_wait_init() - make the quarantine
 *
 * Context: once.
 * Return: false without memory.
 */
bool kf_secure_wait_init(void);

/* All areas; inside the engine. */
extern struct kf_list kf_secure_areas;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engines of the library. What an engine is, is said in
 * include/konfiscator-engine.h; here is what those inside share.
 *
 * An engine NAME defines `const struct konf_engine kf_engine_NAME` in NAME.c.
 * It takes memory by kf_engine_map(), or counts in the same words; memory of
 * the page runs would be taken for the default engine's. It may use base to
 * pages.
 */
#ifndef KF_ENGINES_ENGINE_H
#define KF_ENGINES_ENGINE_H

#include "base/compiler.h"

#include "konfiscator-engine.h"

#define KF_ENGINE(id, help) extern const struct konf_engine kf_engine_##id;
#include "engines/engines.def"
#undef KF_ENGINE

/* Opens the definition of an engine inside the library. */
#define KF_ENGINE_HEAD \
	.version = KONF_ENGINE_VERSION, .size = sizeof(struct konf_engine)

/**
 * kf_engine_find() - an engine by its name
 * @name:	the name, or NULL for the default
 *
 * Context: any.
 * Return: the engine, or NULL where none has that name.
 */
const struct konf_engine *kf_engine_find(const char *name);

/**
 * kf_engine_map() - memory of the kernel for an engine, counted as held
 * @size:	bytes, whole pages
 * @align:	power of two, at least a page
 *
 * Fires memory_mmap_more.
 *
 * Context: any; no lock. Keeps errno.
 * Return: zeroed memory, or NULL when the kernel has no more.
 */
void *kf_engine_map(size_t size, size_t align) __must_check;

/**
 * kf_engine_unmap() - give memory of kf_engine_map() back
 * @addr:	first byte
 * @size:	bytes; may be a part
 *
 * By name, once the engine has returned: see kf_pages_settle(). Fires
 * memory_mmap_less.
 *
 * Context: an engine that one call at a time is in. Keeps errno.
 */
void kf_engine_unmap(void *addr, size_t size);

/**
 * kf_engine_unmap_at_once() - the same, by a system call that nobody hears of
 * @addr:	first byte
 * @size:	bytes; may be a part
 *
 * For engines that threads are in at once: the host sees no end of a call, and
 * the engine may hold locks of its own.
 *
 * Context: any; no lock. Keeps errno.
 */
void kf_engine_unmap_at_once(void *addr, size_t size);

/*
 * The malloc that the engine system passes on to.
 * @heads: engines/chunk.h holds for its blocks
 */
struct kf_next_malloc {
	void *(*malloc)(size_t size);
	void (*free)(void *p);
	size_t (*usable_size)(const void *p);
	void *(*zeroed)(size_t size);
	bool heads;
};

/*
 * What an engine of the library may have besides what the contract says. The
 * host asks for these members, never for an engine by its name.
 */
struct kf_engine_extra {
	/*
	 * Give up what is in a part of a live block that will be freed or cut
	 * off next: the pages go by name, which the engine cannot do as it is
	 * under a lock. The block's owner calls it, with no lock held.
	 */
	void (*give_pages)(char *p, size_t bytes);
	/* The program ends: look at all blocks and tell of what is wrong. */
	void (*look_over)(void);
	/* The malloc that it passes on to, to be asked at once. */
	struct kf_next_malloc (*next)(void);
	/* All of mallopt(3) is for that malloc: what it says. */
	int (*mallopt)(int param, int value);
	/* Whether aligned_alloc(3) rounds up there, and does not refuse. */
	bool (*rounds)(void);
	/* Without memory of its own for it, a block is the default engine's. */
	bool falls_back;
	/* It knows what was asked for a block to the byte. */
	bool is_exact;
};

extern const struct kf_engine_extra kf_engine_extra_secure;
extern const struct kf_engine_extra kf_engine_extra_system;

/**
 * kf_engine_extra() - what an engine has besides the contract
 * @engine:	the engine, or NULL for the default
 *
 * Context: any.
 * Return: its extra members; all are NULL or false for most.
 */
const struct kf_engine_extra *kf_engine_extra(const struct konf_engine *engine);

/**
 * kf_engine_commit() - let reserved addresses have pages, counted as held
 * @addr:	first byte
 * @size:	bytes, whole pages
 *
 * Fires memory_mmap_more.
 *
 * Context: any; no lock. Keeps errno.
 * Return: false when the kernel refused; nothing changed.
 */
bool kf_engine_commit(void *addr, size_t size) __must_check;

/**
 * kf_engine_decommit() - give the pages back and let the addresses fault
 * @addr:	first byte
 * @size:	bytes, whole pages
 *
 * Fires memory_mmap_less.
 *
 * Context: any; no lock. Keeps errno.
 * Return: false when the kernel refused; nothing changed.
 */
bool kf_engine_decommit(void *addr, size_t size) __must_check;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engines of the library. What an engine is, is said in
 * include/konfiscator-engine.h; here is what those inside share.
 *
 * An engine NAME defines `const struct kf_engine kf_engine_NAME` in NAME.c.
 * It takes memory by kf_engine_map(), or counts in the same words; memory of
 * the page runs would be taken for the default engine's. It may use base to
 * pages.
 */
#ifndef KF_ENGINES_ENGINE_H
#define KF_ENGINES_ENGINE_H

#include "base/compiler.h"

#include "konfiscator-engine.h"

/* Opens the contract's part of an engine inside the library. */
#define KF_ENGINE_HEAD \
	.version = KONF_ENGINE_VERSION, .size = sizeof(struct konf_engine)

/**
 * kf_engine_find() - an engine by its name
 * @name:	the name, or NULL for the default
 *
 * Context: any.
 * Return: the engine, or NULL where none has that name.
 */
const struct kf_engine *kf_engine_find(const char *name);

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
 * By name, once the engine has returned: see kf_pages_release_deferred(). Fires
 * memory_mmap_less.
 *
 * Context: an engine that one call at a time is in. Keeps errno.
 */
void kf_engine_unmap(void *addr, size_t size);

/**
 * kf_engine_unmap_at_once() - the same, by a system call that tools do not see
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
 * An engine: the contract, and what an engine of the library may have besides;
 * these members may be NULL or false. Nobody asks for an engine by its name.
 * Constant, but for the copy of an engine from outside, which is constant once
 * it serves.
 */
struct kf_engine {
	struct konf_engine base;

	/*
	 * An engine that counts its blocks itself, and knows their marks
	 * (heap/marked.h), has these in place of alloc, free, realloc and
	 * check: then its fast paths come before the host. All keep errno.
	 * @mark: 0 for none. @usable: out: usable bytes of the block.
	 */
	void *(*counted_alloc)(size_t size, size_t align, bool zeroed,
			       uint32_t mark, size_t *usable);
	enum konf_misuse (*counted_free)(void *p);
	/*
	 * NULL: nothing changed.
	 * @wrong: out: what is wrong with the pointer
	 */
	void *(*counted_realloc)(void *p, size_t size, enum konf_misuse *wrong);

	/*
	 * Give up the contents of a part of a live block that will be freed or
	 * cut off next. The pages go by munmap's name (sys/named.h), for which
	 * no lock may be held. Called by the block's owner.
	 */
	void (*give_pages)(char *p, size_t bytes);
	/* The program ends: check all blocks and report what is wrong. */
	void (*finish)(void);
	/* The malloc behind this engine, to be called without it. */
	struct kf_next_malloc (*next)(void);
	/* mallopt(3) of the malloc behind the engine, in place of ours. */
	int (*mallopt)(int param, int value);
	/* Whether aligned_alloc(3) rounds a bad alignment up. */
	bool (*rounds)(void);
	/* When the engine has no memory, the default engine gives the block. */
	bool falls_back;
	/* Its blocks may be samples. */
	bool samples;
	/* The usable size of a block is what was asked for. */
	bool is_exact;
};

#define KF_ENGINE(id, help) extern const struct kf_engine kf_engine_##id;
#include "engines/engines.def"
#undef KF_ENGINE

/* The engine that serves. Changes once at most, before main(); atomic. */
extern const struct kf_engine *kf_engine __kf_hidden;

/* Whether the engine that serves is asked by the host, and counted there. */
static inline bool kf_engine_is_hosted(void)
{
	return !__atomic_load_n(&kf_engine, __ATOMIC_RELAXED)->counted_alloc;
}

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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A limit of one's own for the memory that the allocator holds, as
 * kf_stats_held() counts it: pages that were purged are not held, nor are those
 * of free runs that were never used.
 *
 * Near the limit few dirty pages and no run caches are kept, and memory is
 * refused before the caches were given back: the caller gives them back
 * (kf_host_trim()) and tries again with kf_limit_retry(), as when the kernel
 * has no more. Such a second try is refused above a hard limit alone.
 *
 * While memory is short elsewhere (kf_limit_press()), as little is kept as near
 * the limit, also where there is no limit.
 */
#ifndef KF_PAGES_LIMIT_H
#define KF_PAGES_LIMIT_H

#include "base/compiler.h"
#include "stats/stats.h"

/* All is atomic; without a limit the bounds are UINT64_MAX. */
struct kf_limit {
	uint64_t bytes;
	uint64_t near;	  /* held bytes from which memory is kept low */
	uint64_t trim_at; /* and from which caches are given back first */
	uint64_t watch;	  /* and from which kf_limit_watch() has to look */
	uint64_t dirty;	  /* dirty bytes that may be kept */
	bool is_near;
	bool pressed; /* memory is short elsewhere */
	bool crossed; /* KF_LIMIT_TOLD percent were reached */
	bool hard;    /* constant after start */
};

extern struct kf_limit kf_limit;

/* Percent of the limit from which memory is kept low, and reported. */
#define KF_LIMIT_NEAR 80
#define KF_LIMIT_TOLD 90

/* A share of some bytes; the product may not fit in 64 bits. */
static inline uint64_t kf_limit_part(uint64_t bytes, uint64_t percent)
{
	return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/**
 * kf_limit_set() - set the limit
 * @bytes:	the limit; 0: none
 *
 * Context: any thread, one at a time.
 */
void kf_limit_set(uint64_t bytes);

/**
 * kf_limit_press() - keep as little memory as near the limit, or as usual
 * @on:		true: memory is short elsewhere
 *
 * Context: any thread, one at a time.
 */
void kf_limit_press(bool on);

/**
 * kf_limit_allows() - whether more memory may be held
 * @more:	bytes
 *
 * Context: any thread; before memory is taken from the kernel.
 * Return: true if so; without a limit always.
 */
bool kf_limit_allows(size_t more) __must_check;

/**
 * kf_limit_retry() - begin or end a second try to allocate
 * @on:		true: the caches were given back, the try begins
 *
 * Context: any thread, pairwise.
 */
void kf_limit_retry(bool on);

/**
 * kf_limit_note() - look at what is held: see kf_limit_watch()
 * @held:	bytes
 *
 * Context: any thread.
 */
void kf_limit_note(uint64_t held);

/* Look at what is held now; fires limit_near. Each time that more is held. */
static inline void kf_limit_watch(uint64_t held)
{
	if (unlikely(held >= kf_load(&kf_limit.watch)))
		kf_limit_note(held);
}

/**
 * kf_limit_dirty() - the dirty bytes that the limit allows
 * @usual:	bytes that are allowed without a limit
 *
 * Context: any thread.
 * Return: bytes.
 */
static inline uint64_t kf_limit_dirty(uint64_t usual)
{
	uint64_t most = kf_load(&kf_limit.dirty);

	return KF_MIN(usual, most);
}

#endif

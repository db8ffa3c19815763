/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The header of a block of the GNU C library's malloc: one word with the
 * bytes of the chunk and three flags. The chunk begins two words before its
 * block and ends one word behind the next one's begin, so that a block has all
 * of it but a word.
 *
 * The engine system reads sizes here where it has seen that they are the ones
 * that malloc_usable_size() gives: a call less for each malloc and each free.
 */
#ifndef KF_ENGINES_CHUNK_H
#define KF_ENGINES_CHUNK_H

#include "base/compiler.h"

/* Bytes of a chunk are multiples of this; below are flags. */
#define KF_CHUNK_STEP ((size_t)16)
/* Bytes of a chunk that its block does not have. */
#define KF_CHUNK_HEAD sizeof(size_t)
/* Flag: the chunk is a mapping of its own; its block is smaller. */
#define KF_CHUNK_MAPPED ((size_t)2)

/* Longer chunks may be mappings; malloc_usable_size() is called for them. */
#define KF_CHUNK_MAX ((size_t)1 << 17)

static inline size_t kf_chunk_word(const void *p)
{
	/* Another thread that frees the block before may change a flag. */
	return __atomic_load_n((const size_t *)p - 1, __ATOMIC_RELAXED);
}

static inline size_t kf_chunk_bytes(const void *p)
{
	return kf_chunk_word(p) & -KF_CHUNK_STEP;
}

/* Usable bytes of the block of a chunk of so many bytes, no mapping. */
static inline size_t kf_chunk_usable(size_t chunk)
{
	return chunk - KF_CHUNK_HEAD;
}

/* Whether the word can be one of a short chunk that is no mapping. */
static inline bool kf_chunk_is_short(const void *p)
{
	return !(kf_chunk_word(p) & (KF_CHUNK_MAPPED | -KF_CHUNK_MAX));
}

#endif

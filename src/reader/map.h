/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A map from 64-bit keys to small entries, for millions of them: open
 * addressing, two thirds full on average, without memory beside the entries.
 * The keys are spread over 256 tables that grow one at a time, so that growing
 * never needs room for all entries twice.
 */
#ifndef KF_READER_MAP_H
#define KF_READER_MAP_H

#include "base/compiler.h"

struct kf_map_table;

struct kf_map {
	size_t entry_size;	     /* bytes; its first 8 are the key */
	struct kf_map_table *tables; /* NULL until the first entry */
	uint64_t nr;
};

#define KF_MAP_KEY 0xcbf29ce484222325ULL /* to begin with */

/**
 * kf_map_key() - make a key of bytes: FNV-1a (Fowler, Noll, Vo)
 * @key:	KF_MAP_KEY, or the key of what is before these bytes
 * @bytes:	the bytes
 * @size:	how many
 *
 * Return: the key; not 0.
 */
static inline uint64_t kf_map_key(uint64_t key, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;

	for (; size; size--)
		key = (key ^ *p++) * 0x100000001b3ULL;
	return key ? key : 1;
}

/**
 * kf_map_find() - look an entry up
 * @m:		the map
 * @key:	its key, not 0
 *
 * Return: the entry, unaligned, valid until the map is changed; or NULL.
 */
void *kf_map_find(const struct kf_map *m, uint64_t key);

/**
 * kf_map_add() - find an entry, or add it
 * @m:		the map; initially all zero except entry_size
 * @key:	its key, not 0
 *
 * Return: the entry, as from kf_map_find(); a new entry is zero except its key;
 *	   NULL when out of memory.
 */
void *kf_map_add(struct kf_map *m, uint64_t key);

/**
 * kf_map_remove() - remove an entry
 * @m:		the map
 * @key:	its key, not 0; a missing key is ignored
 */
void kf_map_remove(struct kf_map *m, uint64_t key);

/**
 * kf_map_each() - call a function for every entry, in no order
 * @m:		the map; it must not change meanwhile
 * @see:	called with each
 * @arg:	for @see
 */
void kf_map_each(const struct kf_map *m,
		 void (*see)(const void *entry, void *arg), void *arg);

/**
 * kf_map_release() - free what a map holds
 * @m:		the map; harmless twice, and it may be filled again
 */
void kf_map_release(struct kf_map *m);

#endif

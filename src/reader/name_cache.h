/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cache of symbol names for the next scrape: reading the symbol table of a
 * large library takes longer than the rest of a profile.
 *
 * Promises: bounded memory. A name belongs to one file in one state: a file
 * that was replaced or written to, or another file with the same build id, has
 * entries of its own.
 */
#ifndef KF_READER_NAME_CACHE_H
#define KF_READER_NAME_CACHE_H

#include "base/compiler.h"

#include <pthread.h>
#include <time.h>

#define KF_NAME_CACHE_FILES 256
#define KF_NAME_CACHE_BYTES (4 * KF_MIB)

/* A file and its state. Compared as bytes, so there is no padding. */
struct kf_file_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	struct timespec modified;
	struct timespec changed;
	uint64_t build_id_size;
	uint8_t build_id[64]; /* filled up with zeroes */
};

/* A name; the cache owns @text. NULL: an empty place; "": there is no name. */
struct kf_cached_name {
	uint64_t offset; /* offset in the file */
	char *text;
};

/* The names of a file: a table of open addressing, at most half full. */
struct kf_cached_file {
	struct kf_file_key key;
	uint64_t used; /* time of the last use, by a counter; 0: unused */
	size_t bytes;
	size_t nr;
	size_t room; /* a power of two, or 0 */
	struct kf_cached_name *name;
};

/* The lock guards all members below it. */
struct kf_name_cache {
	const char *procfs; /* procfs' mount point; constant */
	pthread_mutex_t lock;
	uint64_t uses;
	size_t bytes;
	struct kf_cached_file file[KF_NAME_CACHE_FILES];
};

/**
 * kf_name_cache_init() - make an empty cache
 * @c:		out: the cache
 * @procfs:	procfs' mount point; outlives @c
 *
 * Context: once, before there are threads.
 */
void kf_name_cache_init(struct kf_name_cache *c, const char *procfs);

/**
 * kf_name_cache_free() - free all names
 * @c:		the cache
 *
 * Context: once, when no thread uses the cache any more.
 */
void kf_name_cache_free(struct kf_name_cache *c);

/**
 * kf_name_cache_get() - look up a cached name
 * @c:		the cache
 * @key:	the file
 * @offset:	of the code in it, in bytes
 *
 * Return: the name, "" if the file is known to have none; free() it. NULL if it
 *	   is not cached.
 */
char *kf_name_cache_get(struct kf_name_cache *c, const struct kf_file_key *key,
			uint64_t offset);

/**
 * kf_name_cache_put() - add a name
 * @c:		the cache
 * @key:	the file
 * @offset:	of the code in it, in bytes
 * @text:	the name, "" for none; is copied
 *
 * Drops the least recently used files if there is no room; adds nothing when
 * out of memory.
 */
void kf_name_cache_put(struct kf_name_cache *c, const struct kf_file_key *key,
		       uint64_t offset, const char *text);

#endif

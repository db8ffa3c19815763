/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that were found, for the next scrape: to read the table of symbols of
 * a large library takes longer than all the rest of a profile.
 *
 * Promises: bounded memory, whatever comes and goes. A name is that of the very
 * file that is asked about: a file that was replaced or written to since, or
 * is another one with the same build id, is another file here.
 */
#ifndef KF_READER_NAME_CACHE_H
#define KF_READER_NAME_CACHE_H

#include "base/compiler.h"

#include <pthread.h>
#include <time.h>

#define KF_NAME_CACHE_FILES 256
#define KF_NAME_CACHE_BYTES (4 * KF_MIB)

/* Which file, in which state. Without padding: it is compared as bytes. */
struct kf_file_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	struct timespec modified;
	struct timespec changed;
	uint64_t build_id_size;
	uint8_t build_id[64]; /* zeroes behind it */
};

/* A name; @text is ours, NULL in an empty place, "" where there is none. */
struct kf_cached_name {
	uint64_t offset; /* in the file */
	char *text;
};

/* The names of a file: a table of open addressing, at most half full. */
struct kf_cached_file {
	struct kf_file_key key;
	uint64_t used; /* when, as the cache counts; 0: not in use */
	size_t bytes;
	size_t nr;
	size_t room; /* a power of two, or 0 */
	struct kf_cached_name *name;
};

/* The lock is over all below it. */
struct kf_name_cache {
	const char *procfs; /* where processes are found; constant */
	pthread_mutex_t lock;
	uint64_t uses;
	size_t bytes;
	struct kf_cached_file file[KF_NAME_CACHE_FILES];
};

/**
 * kf_name_cache_init() - begin without names
 * @c:		out: the cache
 * @procfs:	procfs' mount point; outlives @c
 *
 * Context: once, before there are threads.
 */
void kf_name_cache_init(struct kf_name_cache *c, const char *procfs);

/**
 * kf_name_cache_free() - let all names go
 * @c:		the cache
 *
 * Context: once, when nobody uses it any more.
 */
void kf_name_cache_free(struct kf_name_cache *c);

/**
 * kf_name_cache_get() - a name that was found before
 * @c:		the cache
 * @key:	the file
 * @offset:	of the code in it, in bytes
 *
 * Return: the name, "" where the file was found to have none; free() it. NULL
 *	   where the file has to be asked.
 */
char *kf_name_cache_get(struct kf_name_cache *c, const struct kf_file_key *key,
			uint64_t offset);

/**
 * kf_name_cache_put() - keep a name
 * @c:		the cache
 * @key:	the file
 * @offset:	of the code in it, in bytes
 * @text:	the name, "" for none; is copied
 *
 * Lets go of the files that were not asked about for longest where there is no
 * room; keeps nothing when out of memory.
 */
void kf_name_cache_put(struct kf_name_cache *c, const struct kf_file_key *key,
		       uint64_t offset, const char *text);

#endif

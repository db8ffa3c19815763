/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache of a search: what does not change in a stats file, and the
 * directory of its process in procfs, which stays open until the next search.
 * The files are opened each time, so that a process takes one descriptor.
 * Nothing outside src/reader includes this header.
 *
 * Promises that the cache changes only two answers, which may be up to
 * KF_EXE_EVERY searches late: that a process has other user ids now, and that
 * it runs another program now which has no stats file, the same name and the
 * same number of text pages.
 */
#ifndef KF_READER_FILE_CACHE_H
#define KF_READER_FILE_CACHE_H

#include "reader/internal.h"

#define KF_FILE_CACHE_BUCKETS 16384
#define KF_FILE_CACHE_READERS 4
#define KF_FILE_CACHE_LOWEST 1024 /* lowest descriptor that the cache uses */
#define KF_EXE_EVERY 8

/*
 * A file by its directory, name and inode. One reader at a time uses an entry.
 */
struct kf_cached_file {
	struct kf_cached_file *next; /* in its bucket */
	uint64_t dir_dev;
	uint64_t dir_ino;
	uint64_t file_ino; /* from the directory entry */
	bool listed;	   /* listed by the current search */
	bool slow;	   /* reading took long the last time */
	bool known;	   /* it was a stats file the last time */
	bool odd;	   /* it was none */
	bool owned;	   /* @owner is known */
	uint32_t owner;
	uint64_t described; /* of struct kf_snapshot, with @descs; 0: unknown */
	struct kf_stats_section descs;
	uint64_t created_ns; /* of the file that was @described */
	/* of its process, while it is alive */
	int procfd; /* its directory in procfs; -1: not open */
	int32_t pid;
	int32_t id_pid; /* this and the next are in the file */
	uint64_t start_ticks;
	uint32_t claimed_by; /* owner of the file that named the process */
	bool firm;	     /* as in struct kf_file */
	uint64_t text;	     /* pages of its program's code; 0: not read */
	unsigned int looked; /* number of searches that compared @text */
	char comm[16];
	char name[];
};

struct kf_file_cache {
	struct kf_cached_file *file[KF_FILE_CACHE_BUCKETS];
	uint64_t key;	    /* of the hash: others choose the names */
	unsigned int later; /* where the last search of late files ended */
	struct kf_desc_ids ids;
	struct kf_desc_cache descs[KF_FILE_CACHE_READERS]; /* one a reader */
};

/**
 * kf_file_cache_get() - find or add the entry of a listed file
 * @cache:	the cache
 * @dir:	the file's directory
 * @name:	its name there
 * @ino:	the inode in the directory entry
 *
 * Return: the entry, empty for a new file; NULL when out of memory.
 */
struct kf_cached_file *kf_file_cache_get(struct kf_file_cache *cache,
					 const struct kf_place *dir,
					 const char *name, uint64_t ino);

/**
 * kf_file_cache_unlisted() - pass the stats files of a directory that were not
 *			      listed
 * @cache:	the cache
 * @dir:	the directory
 * @fn:		called for each, to note it as listed; a result other than 0
 *		ends it
 * @ctx:	passed to @fn
 *
 * Return: 0, or the result of @fn.
 */
int kf_file_cache_unlisted(struct kf_file_cache *cache,
			   const struct kf_place *dir,
			   int (*fn)(void *ctx, struct kf_cached_file *e),
			   void *ctx);

/**
 * kf_file_cache_sweep() - drop the files that were not listed since the last
 *			   call
 * @cache:	the cache
 *
 * Context: one thread, when all readers have ended.
 */
void kf_file_cache_sweep(struct kf_file_cache *cache);

/**
 * kf_file_cache_move_fd() - move a descriptor above those that others use
 * @fd:		the descriptor, which is closed in any case; or -1
 *
 * Return: the descriptor, at least KF_FILE_CACHE_LOWEST; -1 if @fd is -1 or
 *	   there are no more descriptors.
 */
int kf_file_cache_move_fd(int fd);

/**
 * kf_cached_file_forget() - close the process of a file, and forget both
 * @e:		the entry, empty afterwards
 *
 * Context: the reader that uses the entry.
 */
void kf_cached_file_forget(struct kf_cached_file *e);

/* What statm says, in pages. */
struct kf_statm {
	uint64_t all;
	uint64_t resident;
	uint64_t shared;
	uint64_t text;
};

/**
 * kf_statm_read() - what a process has in memory
 * @procfd:	its directory in procfs, or -1
 * @m:		out: all 0 where its memory has gone
 *
 * Return: whether that could be read.
 */
bool kf_statm_read(int procfd, struct kf_statm *m);

/**
 * kf_cached_file_is_alive() - whether a process still runs its file's program
 * @view:	the view; its comm is the process' name afterwards
 * @e:		the file's entry
 * @s:		the file as it is now
 * @dirfd:	as for kf_life_of()
 * @m:		out: the memory of the process
 *
 * Context: the reader that uses the entry.
 * Return: true if it certainly does; otherwise ask kf_life_of().
 */
bool kf_cached_file_is_alive(struct kf_life_view *view,
			     struct kf_cached_file *e,
			     const struct kf_snapshot *s, int dirfd,
			     struct kf_statm *m);

/**
 * kf_cached_file_store_process() - store a process that kf_life_of() found
 *				    alive
 * @view:	the view
 * @e:		out: the entry of its file
 * @f:		the file, with its process
 *
 * Context: the reader that uses the entry.
 */
void kf_cached_file_store_process(struct kf_life_view *view,
				  struct kf_cached_file *e,
				  const struct kf_file *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache of a search: stats files that stay open until the next search, and
 * the directories of their processes in procfs. Nothing outside src/reader
 * includes this header.
 *
 * Promises that the cache changes only two answers, which may be up to
 * KF_EXE_EVERY searches late: that a process has other user ids now, and that
 * it runs another program now which has no stats file, the same name and the
 * same number of text pages.
 */
#ifndef KF_READER_FILE_CACHE_H
#define KF_READER_FILE_CACHE_H

#include "reader/internal.h"

#define KF_FILE_CACHE_BUCKETS 4096
#define KF_FILE_CACHE_READERS 4
#define KF_FILE_CACHE_LOWEST 1024 /* lowest descriptor that the cache uses */
#define KF_EXE_EVERY 8

/*
 * A file by its directory, name and inode, with the parts of its contents that
 * do not change. One reader at a time uses an entry.
 */
struct kf_cached_file {
	struct kf_cached_file *next; /* in its bucket */
	uint64_t dir_dev;
	uint64_t dir_ino;
	uint64_t file_ino; /* from the directory entry */
	bool listed;	   /* listed by the current search */
	bool slow;	   /* reading took long the last time */
	int fd;		   /* -1: not open, and nothing is cached */
	uint64_t size;
	uint64_t described; /* this and the next: see struct kf_snapshot */
	uint64_t dev;
	uint64_t ino;
	uint32_t owner;
	struct kf_stats_header h;
	struct kf_stats_identity id;
	struct kf_stats_ending ending; /* when the file was opened */
	/* of its process, while it is alive */
	int procfd; /* its directory in procfs; -1: not open */
	int32_t pid;
	bool firm;	     /* as in struct kf_file */
	uint64_t text;	     /* pages of its program's code; 0: not read */
	unsigned int looked; /* number of searches that compared @text */
	char comm[16];
	char name[];
};

struct kf_file_cache {
	struct kf_cached_file *file[KF_FILE_CACHE_BUCKETS];
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
 * kf_cached_file_store() - store a file that was read in its entry
 * @e:		out: the entry
 * @src:	the file, which the caller closes: the entry has a duplicate
 * @s:		what was read
 *
 * Context: the reader that uses the entry.
 */
void kf_cached_file_store(struct kf_cached_file *e, const struct kf_source *src,
			  const struct kf_snapshot *s);

/**
 * kf_cached_file_matches() - whether the layout of a file is the cached one
 * @e:		the entry
 * @h:		the file's header as it is now
 *
 * Context: the reader that uses the entry.
 * Return: false if a part changed that never should: read the file anew.
 */
bool kf_cached_file_matches(const struct kf_cached_file *e,
			    const struct kf_stats_header *h);

/**
 * kf_cached_file_close() - close the file and its process, and forget both
 * @e:		the entry, empty afterwards
 *
 * Context: the reader that uses the entry.
 */
void kf_cached_file_close(struct kf_cached_file *e);

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
 * @dirfd:	as for kf_life_of()
 * @m:		out: the memory of the process
 *
 * Context: the reader that uses the entry.
 * Return: true if it certainly does; otherwise ask kf_life_of().
 */
bool kf_cached_file_is_alive(struct kf_life_view *view,
			     struct kf_cached_file *e, int dirfd,
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

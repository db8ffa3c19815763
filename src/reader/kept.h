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
#ifndef KF_READER_KEPT_H
#define KF_READER_KEPT_H

#include "reader/internal.h"

#define KF_KEPT_BUCKETS 4096
#define KF_KEPT_READERS 4
#define KF_KEPT_LOWEST 1024 /* lowest descriptor that the cache uses */
#define KF_EXE_EVERY 8

/*
 * A file by its directory, name and inode, with its constant contents. One
 * reader at a time uses it.
 */
struct kf_kept_file {
	struct kf_kept_file *next;
	uint64_t dir_dev;
	uint64_t dir_ino;
	uint64_t file_ino; /* as the directory says */
	bool listed;	   /* listed by the current search */
	bool slow;	   /* reading took long the last time */
	int fd;		   /* -1: not open, and nothing is cached */
	uint64_t size;
	uint64_t described; /* as of struct kf_snapshot, like those below */
	uint64_t dev;
	uint64_t ino;
	uint32_t owner;
	struct kf_stats_header h;
	struct kf_stats_identity id;
	struct kf_stats_ending ending; /* likewise, at the time of opening */
	/* of its process, while it is alive */
	int procfd; /* its directory in procfs; -1: not open */
	int32_t pid;
	bool firm;	     /* as of struct kf_file */
	uint64_t text;	     /* pages of its program's code; 0: not looked */
	unsigned int looked; /* how often */
	char comm[16];
	char name[];
};

struct kf_kept {
	struct kf_kept_file *file[KF_KEPT_BUCKETS];
	struct kf_desc_ids ids;
	struct kf_desc_cache cache[KF_KEPT_READERS];
};

/**
 * kf_kept_get() - the cache entry of a listed file
 * @kept:	all that is kept
 * @dir:	its directory
 * @name:	its name there
 * @ino:	the inode in the directory entry
 *
 * Return: the entry, empty for a new file; NULL when out of memory.
 */
struct kf_kept_file *kf_kept_get(struct kf_kept *kept,
				 const struct kf_place *dir, const char *name,
				 uint64_t ino);

/**
 * kf_kept_sweep() - drop the files that were not listed since the last call
 * @kept:	all that is kept
 *
 * Context: one thread, when all readers have ended.
 */
void kf_kept_sweep(struct kf_kept *kept);

/**
 * kf_kept_file() - keep a file that was read
 * @k:		out: what is kept of it
 * @src:	the file, which its caller closes
 * @s:		what was read
 *
 * Context: the reader that has it.
 */
void kf_kept_file(struct kf_kept_file *k, const struct kf_source *src,
		  const struct kf_snapshot *s);

/**
 * kf_kept_same() - whether a header tells of the same places
 * @k:		what is kept
 * @h:		the header, as it is now
 *
 * Context: the reader that has it.
 * Return: false where that changed which must not: read the file anew.
 */
bool kf_kept_same(const struct kf_kept_file *k,
		  const struct kf_stats_header *h);

/**
 * kf_kept_close() - close what is kept of a file and its process
 * @k:		what is kept
 *
 * Context: the reader that has it.
 */
void kf_kept_close(struct kf_kept_file *k);

/**
 * kf_kept_high() - move a descriptor out of the way of others
 * @fd:		the descriptor, closed whatever comes of it; or -1
 *
 * Return: the descriptor, KF_KEPT_LOWEST or above; -1 where there is none.
 */
int kf_kept_high(int fd);

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
 * kf_kept_alive() - whether a process still runs its file's program
 * @view:	the view; its comm is the process' then
 * @k:		what is kept of it
 * @dirfd:	as for kf_life_of()
 * @m:		out: what it has in memory
 *
 * Context: the reader that has it.
 * Return: true where it is alive for certain; else ask kf_life_of().
 */
bool kf_kept_alive(struct kf_life_view *view, struct kf_kept_file *k, int dirfd,
		   struct kf_statm *m);

/**
 * kf_kept_process() - keep a process that kf_life_of() found alive
 * @view:	the view
 * @k:		out: what is kept of it
 * @f:		the file, with its process
 *
 * Context: the reader that has it.
 */
void kf_kept_process(struct kf_life_view *view, struct kf_kept_file *k,
		     const struct kf_file *f);

#endif

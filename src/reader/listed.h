/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that a search has found, and the share of it that each user has.
 * Nothing outside src/reader includes this header.
 *
 * Anyone may put any number of files of any kind into a directory of stats
 * files, and change them at any time. Promises that this takes a bounded part
 * of the time of a search that limits users, and no other user's part: of the
 * files of a user in a directory as many are read as the library makes there,
 * those that were stats files at the last search before all others; and when
 * they took their time, the rest comes after all other users' files.
 */
#ifndef KF_READER_LISTED_H
#define KF_READER_LISTED_H

#include "reader/internal.h"

#include <dirent.h>

/* When a file is read. */
enum kf_turn {
	KF_TURN_KNOWN, /* it was a stats file at the last search */
	KF_TURN_OTHERS,
	KF_TURN_ODD,   /* it was none */
	KF_TURN_LATER, /* it is torn or slow, or its user's time is over */
	KF_TURN_DONE,
};

#define KF_NR_SHARES 4096

/* What the files of a user in a directory took of a search. */
struct kf_share {
	bool used;
	unsigned int place;
	uint32_t owner;
	unsigned int nr_files;
	_Atomic uint64_t ns; /* processor time */
};

/* A name in a directory, and what identifies the file's process. */
struct kf_listed {
	char *name;
	unsigned int place;	   /* number of its directory */
	_Atomic enum kf_turn turn; /* seen by readers that do not have it */
	bool regular;		   /* by the directory entry; false: unknown */
	struct kf_cached_file *cached; /* its entry in the cache, or NULL */
	struct kf_share *share;	       /* its user's, if users are limited */
	unsigned int kept; /* its number in the result from 1 on; 0: none */
	/* once it was read */
	bool ok;   /* the rest is valid */
	bool firm; /* as in struct kf_file */
	enum kf_life life;
	uint32_t owner;
	int32_t id_pid;
	uint64_t pid_ns;
	uint64_t start_ticks;
	uint64_t created_ns;
	uint64_t boot; /* a hash of the boot id */
	uint64_t dev;
	uint64_t ino;
};

/* All files of a search. */
struct kf_listing {
	struct kf_listed *file;
	unsigned int nr;
	unsigned int room;
	unsigned int nr_full;	/* directories with more names than are read */
	struct kf_share *share; /* KF_NR_SHARES; NULL: users are not limited */
};

/**
 * kf_listing_add() - list the names of a directory
 * @l:		the listing
 * @fd:		the directory
 * @place:	the last one of the search
 * @number:	its number
 * @part:	only names with this in them; NULL: all
 * @cache:	or NULL
 *
 * Names with a dot in front are left out. If users are limited, of a directory
 * with very many names only a part and those in the cache are listed.
 *
 * Return: 0, or -1 when out of memory.
 */
int kf_listing_add(struct kf_listing *l, int fd, const struct kf_place *place,
		   unsigned int number, const char *part,
		   struct kf_file_cache *cache);

/**
 * kf_listed_note() - note what claims are settled by, when all files were read
 * @l:		out: the file
 * @f:		as it was read
 *
 * Context: the reader that has the file.
 */
void kf_listed_note(struct kf_listed *l, const struct kf_file *f);

/**
 * kf_listed_owned() - find the owner of a file, which only root can change
 * @f:		the file; out: its owner
 * @dirfd:	its directory
 *
 * Context: the reader that has the file.
 * Return: false if the file is not there.
 */
bool kf_listed_owned(struct kf_listed *f, int dirfd);

/**
 * kf_share_take() - count a file in the share of its user
 * @l:		the listing, which limits users
 * @f:		the file, with its owner
 *
 * Context: one thread at a time.
 * Return: the share; NULL: the user has more files than the library makes.
 */
struct kf_share *kf_share_take(struct kf_listing *l, const struct kf_listed *f);

/**
 * kf_share_is_over() - whether the files of a user took their time
 * @share:	the user's share
 *
 * Return: true if so.
 */
bool kf_share_is_over(const struct kf_share *share);

/**
 * kf_listing_release() - free what a listing holds
 * @l:		the listing
 */
void kf_listing_release(struct kf_listing *l);

#endif

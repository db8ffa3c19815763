/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes ledgers: see ledger-layout.h for the file and its rules.
 *
 * Promises that a stats file's counters are added exactly once, even if the
 * writer is killed at any instruction; that only plain files of the user are
 * written; and that a writer waits 20 ms at most for a lock. Which processes
 * have ended is left to sweep.c, and their counters to fold.c.
 */
#ifndef KF_STATS_LEDGER_H
#define KF_STATS_LEDGER_H

#include "base/compiler.h"
#include "stats/ledger-layout.h"

/* The counters and classes of a ledger; constant while it is open. */
struct kf_ledger_described {
	const struct kf_stats_desc *desc; /* of stats files, with gauges */
	uint32_t nr;
	const uint64_t *class_bytes; /* KF_STATS_NR_CLASSES */
};

/* A ledger, open and locked. */
struct kf_ledger_writer {
	int fd;
	int dirfd;
	uint64_t committed; /* equals @applied of the file between folds */
	uint32_t nr_rows;
	uint32_t max_rows;
};

/* A stats file that is folded. */
struct kf_ledger_target {
	const char *name; /* NULL: the counters were in memory only */
	uint64_t dev;
	uint64_t ino;
	uint64_t created_ns;
	int32_t pid;
	enum kf_ledger_reason reason;
	bool own;  /* of this process: nobody folded it before */
	bool keep; /* true: mark the file; false: remove its name */
};

/**
 * kf_ledger_open() - open a ledger, lock it, finish an interrupted fold
 * @w:		out: the ledger
 * @dirfd:	its directory; stays open while the ledger is
 * @uid:	its user: the effective user, or any user for root
 * @d:		its counters and classes
 * @make:	make the ledger where there is none
 *
 * Context: one thread at a time in a process.
 * Return: 0, or a negative errno: -EPERM where the file is another user's, or
 *	   no plain file; -EINVAL where it is damaged (with @make it is then
 *	   removed); -EAGAIN where another process has it locked for long;
 *	   -ENOENT, -ENOSPC, ...
 */
int kf_ledger_open(struct kf_ledger_writer *w, int dirfd, uint32_t uid,
		   const struct kf_ledger_described *d, bool make) __must_check;

/**
 * kf_ledger_close() - unlock and close a ledger
 * @w:		the ledger
 *
 * Context: as kf_ledger_open().
 */
void kf_ledger_close(struct kf_ledger_writer *w);

/**
 * kf_ledger_fold() - add a process' counters
 * @w:		the ledger
 * @add:	its key and its counters; other fields are ignored
 * @t:		its stats file; a file that was folded is not folded again
 *
 * Context: as kf_ledger_open().
 * Return: 0, or a negative errno: nothing was added, unless a later writer
 *	   finishes the fold.
 */
int kf_ledger_fold(struct kf_ledger_writer *w, const struct kf_ledger_row *add,
		   const struct kf_ledger_target *t) __must_check;

/**
 * kf_ledger_values() - add the counters of a slot or of the words to a row
 * @d:		the ledger's counters
 * @scope:	KF_SCOPE_SLOT or KF_SCOPE_WORD
 * @word:	the counters, by the index of their descriptions
 * @nr:		number of words
 * @row:	the row whose values grow
 *
 * Context: any.
 */
void kf_ledger_values(const struct kf_ledger_described *d,
		      enum kf_stats_scope scope, const uint64_t *word,
		      uint32_t nr, struct kf_ledger_row *row);

/**
 * kf_ledger_inherited() - the value for blocks that children inherited
 * @d:		the ledger's counters
 *
 * Context: any.
 * Return: the value's number in a row.
 */
uint32_t kf_ledger_inherited(const struct kf_ledger_described *d);

/**
 * kf_ledger_files() - read notes of stats files
 * @w:		the ledger
 * @from:	the first note
 * @file:	out: the notes; unused ones where the file ends
 * @nr:		number of notes
 *
 * Context: as kf_ledger_open().
 */
void kf_ledger_files(const struct kf_ledger_writer *w, uint32_t from,
		     struct kf_ledger_file *file, uint32_t nr);

/**
 * kf_ledger_set_file() - write a note of a stats file
 * @w:		the ledger
 * @i:		the note's number, less than KF_LEDGER_FILES
 * @file:	the note
 *
 * Context: as kf_ledger_open().
 * Return: whether it was written.
 */
bool kf_ledger_set_file(const struct kf_ledger_writer *w, uint32_t i,
			const struct kf_ledger_file *file);

#endif

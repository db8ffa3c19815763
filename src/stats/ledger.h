/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes ledgers: see ledger-layout.h for the file and its rules.
 *
 * Promises that a stats file's counters are added once, whatever kills the
 * writer and when; that nothing but a plain file of the user's own is written
 * to; and that nobody waits long for a lock. Knows nothing of processes: which
 * files have ended is asked by others (sweep.c), what they counted as well
 * (fold.c).
 */
#ifndef KF_STATS_LEDGER_H
#define KF_STATS_LEDGER_H

#include "base/compiler.h"
#include "stats/ledger-layout.h"

/* What a ledger is for; constant while it is open. */
struct kf_ledger_described {
	const struct kf_stats_desc *desc; /* of stats files, gauges included */
	uint32_t nr;
	const uint64_t *class_bytes; /* KF_STATS_NR_CLASSES */
};

/* A ledger, open and locked. */
struct kf_ledger_writer {
	int fd;
	int dirfd;
	uint64_t committed; /* at rest: what was applied as well */
	uint32_t nr_rows;
	uint32_t max_rows;
};

/* A stats file that is folded. */
struct kf_ledger_target {
	const char *name; /* NULL: there is none, its counters were in memory */
	uint64_t dev;
	uint64_t ino;
	uint64_t created_ns;
	int32_t pid;
	enum kf_ledger_reason reason;
	bool keep; /* the file stays, marked; else its name is removed */
};

/**
 * kf_ledger_open() - open a ledger, lock it, finish what was left half done
 * @w:		out: the ledger
 * @dirfd:	its directory; stays open while the ledger is
 * @uid:	whose it is: the effective user, or any for root
 * @d:		what it is for
 * @make:	make it where there is none
 *
 * Context: one thread at a time in a process.
 * Return: 0, or a negative errno: -EPERM where the name is another user's, or
 *	   no plain file; -EINVAL where it is damaged: with @make it is removed;
 *	   -EAGAIN where another process has it for long; -ENOENT, -ENOSPC, ...
 */
int kf_ledger_open(struct kf_ledger_writer *w, int dirfd, uint32_t uid,
		   const struct kf_ledger_described *d, bool make) __must_check;

/**
 * kf_ledger_close() - let a ledger go
 * @w:		the ledger
 *
 * Context: as kf_ledger_open().
 */
void kf_ledger_close(struct kf_ledger_writer *w);

/**
 * kf_ledger_fold() - add what a process counted
 * @w:		the ledger
 * @add:	its key, and what to add to the row of that; all else is ignored
 * @t:		where that stood; nothing happens where it was folded already
 *
 * Context: as kf_ledger_open().
 * Return: 0, or a negative errno: then nothing was added, unless another writer
 *	   finishes it.
 */
int kf_ledger_fold(struct kf_ledger_writer *w, const struct kf_ledger_row *add,
		   const struct kf_ledger_target *t) __must_check;

/**
 * kf_ledger_values() - the counters of a description, as values of a row
 * @d:		what a ledger is for
 * @scope:	of which counters
 * @word:	what these count, by the index of their description
 * @nr:		how many words there are
 * @row:	their values are added to
 *
 * Context: any.
 */
void kf_ledger_values(const struct kf_ledger_described *d,
		      enum kf_stats_scope scope, const uint64_t *word,
		      uint32_t nr, struct kf_ledger_row *row);

/**
 * kf_ledger_inherited() - where a row has the blocks that children began with
 * @d:		what the ledger is for
 *
 * Context: any.
 * Return: the number of the value.
 */
uint32_t kf_ledger_inherited(const struct kf_ledger_described *d);

/**
 * kf_ledger_files() - read entries of the files that are watched over
 * @w:		the ledger
 * @from:	the first of them
 * @file:	out: the entries; free ones where the file ends
 * @nr:		how many
 *
 * Context: as kf_ledger_open().
 */
void kf_ledger_files(const struct kf_ledger_writer *w, uint32_t from,
		     struct kf_ledger_file *file, uint32_t nr);

/**
 * kf_ledger_set_file() - write an entry of the files that are watched over
 * @w:		the ledger
 * @i:		which, less than KF_LEDGER_FILES
 * @file:	what it becomes
 *
 * Context: as kf_ledger_open().
 * Return: whether it was written.
 */
bool kf_ledger_set_file(const struct kf_ledger_writer *w, uint32_t i,
			const struct kf_ledger_file *file);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads ledgers: what processes that have ended counted, see
 * stats/ledger-layout.h.
 *
 * Promises what reader.h promises of stats files: pread only, each length is
 * checked before it is used, nothing is written. All that is read of one ledger
 * is of one moment, between two folds. It leaves to its callers to add rows to
 * what processes that live have counted.
 */
#ifndef KF_READER_LEDGER_H
#define KF_READER_LEDGER_H

#include "reader/reader.h"
#include "stats/ledger-layout.h"

struct kf_ledger {
	enum kf_read_result result;
	int error;    /* errno where result is KF_READ_ERROR */
	uint32_t uid; /* whose processes */
	uint64_t dev;
	uint64_t ino;
	uint64_t nr_folds; /* made so far; the number of the last one */
	unsigned int nr_rows;
	struct kf_ledger_row *rows;   /* by number; strings end in NUL */
	struct kf_ledger_fold *folds; /* KF_LEDGER_FOLDS; number 0: none */
	/* for kf_ledger_row() */
	unsigned int nr_descs;
	struct kf_stats_desc *descs;
	unsigned int nr_classes;
	uint64_t class_bytes[KF_STATS_NR_CLASSES];
	struct kf_desc_cache *cache;
	struct kf_snapshot snap;
};

/**
 * kf_ledger_is_name() - whether a name is that of a ledger
 * @name:	a name in a directory
 * @uid:	out: the user it is for; may be NULL
 *
 * Return: true if so.
 */
bool kf_ledger_is_name(const char *name, uint32_t *uid);

/**
 * kf_ledger_read() - read a ledger
 * @dirfd:	directory the name is relative to
 * @name:	its name; KF_READ_FOREIGN where it is no plain file of the user
 *		in the name
 * @l:		out: the ledger; release it whatever the result
 *
 * KF_READ_NOT_READY: it is being made, or folds came so often that there was no
 * moment between two: try again.
 *
 * Return: the same as @l->result.
 */
enum kf_read_result kf_ledger_read(int dirfd, const char *name,
				   struct kf_ledger *l);

/**
 * kf_ledger_release() - free what a ledger holds
 * @l:		the ledger; harmless twice
 */
void kf_ledger_release(struct kf_ledger *l);

/**
 * kf_ledger_row() - a row as a snapshot, as if one process had counted it all
 * @l:		a ledger that was read well
 * @row:	its number, less than @l->nr_rows
 *
 * The snapshot has the row's key in its identity and ending, its counters and
 * classes, and the totals of these. What is live, and gauges, mean nothing in
 * it.
 *
 * Context: one thread a ledger; allocates.
 * Return: the snapshot, until the next call; NULL where the row is not in use,
 *	   or memory is short.
 */
const struct kf_snapshot *kf_ledger_row(struct kf_ledger *l, unsigned int row);

/**
 * kf_ledger_fold_of() - the fold of a stats file, among the last ones
 * @l:		a ledger that was read well
 * @id:		who wrote the stats file
 *
 * Return: the fold, or NULL.
 */
const struct kf_ledger_fold *
kf_ledger_fold_of(const struct kf_ledger *l,
		  const struct kf_stats_identity *id);

/**
 * kf_ledger_row_of() - the row that has a process' counters, if it was folded
 * @l:		a ledger that was read well
 * @id:		the process, as its stats file has it
 * @ending:	likewise
 *
 * For folds that are no longer among the last ones.
 *
 * Return: its number; 0, which is the row of all others, too.
 */
unsigned int kf_ledger_row_of(const struct kf_ledger *l,
			      const struct kf_stats_identity *id,
			      const struct kf_stats_ending *ending);

/* What is done with a ledger's name; not 0 ends the visit. */
typedef int kf_ledger_visit_fn(void *ctx, const char *name);

/**
 * kf_ledgers_visit() - list the ledgers of a directory
 * @dirfd:	the directory
 * @visit:	called with each name; reads the ledger where it wants to
 * @ctx:	handed on
 *
 * At most 65536 names are looked at. @dirfd stays as it is.
 *
 * Return: 0, or what @visit ended it with; -1 with errno where the directory
 *	   cannot be read.
 */
int kf_ledgers_visit(int dirfd, kf_ledger_visit_fn *visit, void *ctx);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads ledgers, the counters of processes that have ended: see
 * stats/ledger-layout.h.
 *
 * Has the promises of reader.h: pread only, each length is checked before it is
 * used, nothing is written. A ledger is read as it was between two folds.
 * Callers add the rows to the counters of living processes.
 */
#ifndef KF_READER_LEDGER_H
#define KF_READER_LEDGER_H

#include "reader/reader.h"
#include "stats/ledger-layout.h"

struct kf_ledger {
	enum kf_read_result result;
	int error;    /* errno if result is KF_READ_ERROR */
	uint32_t uid; /* user id of the processes */
	uint64_t dev;
	uint64_t ino;
	uint64_t nr_folds; /* number of the last fold */
	unsigned int nr_rows;
	struct kf_ledger_row *rows;   /* by row number; strings end in NUL */
	struct kf_ledger_fold *folds; /* KF_LEDGER_FOLDS; number 0: unused */
	/* memory of kf_ledger_row() */
	unsigned int nr_descs;
	struct kf_stats_desc *descs;
	unsigned int nr_classes;
	uint64_t class_bytes[KF_STATS_NR_CLASSES];
	struct kf_desc_cache *cache;
	struct kf_snapshot snap;
};

/**
 * kf_ledger_is_name() - whether a file name is that of a ledger
 * @name:	a name in a directory
 * @uid:	out: its user; may be NULL
 *
 * Return: true if so.
 */
bool kf_ledger_is_name(const char *name, uint32_t *uid);

/**
 * kf_ledger_read() - read a ledger
 * @dirfd:	directory the name is relative to
 * @name:	its name; KF_READ_FOREIGN if it is not a regular file of the
 *		user in the name
 * @l:		out: the ledger; release it whatever the result
 *
 * KF_READ_NOT_READY: the ledger is being made, or folds came too often to read
 * it between two of them: try again.
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
 * kf_ledger_row() - a row, as the snapshot of a single process
 * @l:		a ledger with result KF_READ_OK
 * @row:	its number, less than @l->nr_rows
 *
 * The snapshot has the row's key in its identity and ending, its counters and
 * classes, and their totals. Its live figures and gauges are meaningless.
 *
 * Context: one thread a ledger; allocates.
 * Return: the snapshot, valid until the next call; NULL if the row is unused,
 *	   or when out of memory.
 */
const struct kf_snapshot *kf_ledger_row(struct kf_ledger *l, unsigned int row);

/**
 * kf_ledger_fold_of() - the fold of a stats file, if it is among the last ones
 * @l:		a ledger with result KF_READ_OK
 * @id:		the identity in the stats file
 *
 * Return: the fold, or NULL.
 */
const struct kf_ledger_fold *
kf_ledger_fold_of(const struct kf_ledger *l,
		  const struct kf_stats_identity *id);

/**
 * kf_ledger_row_of() - the row that has a process' counters, if it was folded
 * @l:		a ledger with result KF_READ_OK
 * @id:		the identity in its stats file
 * @ending:	likewise
 *
 * For older folds, which kf_ledger_fold_of() does not find.
 *
 * Return: its number; 0, which is the row of all others, too.
 */
unsigned int kf_ledger_row_of(const struct kf_ledger *l,
			      const struct kf_stats_identity *id,
			      const struct kf_stats_ending *ending);

/* Called with a ledger's name; a result other than 0 ends the visit. */
typedef int kf_ledger_visit_fn(void *ctx, const char *name);

/**
 * kf_ledgers_visit() - list the ledgers of a directory
 * @dirfd:	the directory
 * @visit:	called with each name; may read the ledger
 * @ctx:	passed to @visit
 *
 * At most 65536 names are read. The offset of @dirfd is unchanged.
 *
 * Return: 0, or the result of @visit that ended the visit; -1 with errno if the
 *	   directory cannot be read.
 */
int kf_ledgers_visit(int dirfd, kf_ledger_visit_fn *visit, void *ctx);

#endif

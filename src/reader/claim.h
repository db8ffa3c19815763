/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whose word a stats file is. Anyone can write one that names the process of
 * somebody else, so a file counts for a process only if its owner is root or a
 * user of that process, and no file takes the place of another user's unless
 * its owner could run the process all by himself. Nothing outside src/reader
 * includes it.
 */
#ifndef KF_READER_CLAIM_H
#define KF_READER_CLAIM_H

#include "reader/internal.h"

enum kf_claim {
	KF_CLAIM_NONE,	/* the owner is no user of the process */
	KF_CLAIM_PART,	/* one of its user ids is the owner's */
	KF_CLAIM_WHOLE, /* root, or the real and saved user of the process */
};

/**
 * kf_claim_of() - what the owner of a file is to a process that lives
 * @view:	the view
 * @pid:	the process as procfs shows it
 * @owner:	user id of the file
 *
 * Root is also the root of the user namespace that the process is in. User ids
 * are compared as they are seen from here.
 *
 * Return: the claim; KF_CLAIM_NONE where the process is not to be seen.
 */
enum kf_claim kf_claim_of(const struct kf_life_view *view, int32_t pid,
			  uint32_t owner);

/**
 * kf_claim_lies() - whether a file names another user than its owner
 * @view:	the view
 * @id:		who the file says wrote it
 * @owner:	user id of the file
 *
 * For processes that cannot be asked any more. User ids of another container
 * are not compared, and the caller may have copies of others' files.
 *
 * Return: true where it does, and neither root nor the caller owns it.
 */
bool kf_claim_lies(const struct kf_life_view *view,
		   const struct kf_stats_identity *id, uint32_t owner);

/* What becomes of a file: newer ones of its process are there. */
struct kf_claim_verdicts {
	int (*execed)(void *ctx, struct kf_file *f);
	int (*conflict)(void *ctx, struct kf_file *f);
	void *ctx;
};

/**
 * kf_claims_settle() - settle which files of the same process count
 * @files:	all files, read
 * @v:		called for those that do not count as they are; not 0 ends it
 *
 * Each exec begins a new file, so of one process' files the last one counts.
 * That holds among files of one owner, and for a newer file whose owner has
 * the whole claim. Where files of several owners would live, those whose owner
 * has only a part are in conflict.
 *
 * Return: 0, or -1 when out of memory, or what was returned to it.
 */
int kf_claims_settle(struct kf_files *files, const struct kf_claim_verdicts *v);

#endif

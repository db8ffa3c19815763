/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which stats files are believed. Anyone can write a file that names the
 * process of another user, so a file counts for a process only if its owner is
 * root or a user of that process, and a file replaces another user's file only
 * if its owner is root or both the real and the saved user of the process.
 * Nothing outside src/reader includes this header.
 */
#ifndef KF_READER_CLAIM_H
#define KF_READER_CLAIM_H

#include "reader/listed.h"

enum kf_claim {
	KF_CLAIM_NONE,	/* the owner is not a user of the process */
	KF_CLAIM_PART,	/* one of its user ids is the owner's */
	KF_CLAIM_WHOLE, /* root, or the real and saved user of the process */
};

/**
 * kf_claim_of() - the claim of a file's owner on a living process
 * @view:	the view
 * @pid:	the process as procfs shows it
 * @owner:	user id of the file
 *
 * The root of the process' user namespace counts as root. User ids are compared
 * as seen from our namespace.
 *
 * Return: the claim; KF_CLAIM_NONE if the process cannot be seen.
 */
enum kf_claim kf_claim_of(const struct kf_life_view *view, int32_t pid,
			  uint32_t owner);

/**
 * kf_claim_lies() - whether a file names another user than its owner
 * @view:	the view
 * @id:		the process that the file names
 * @owner:	user id of the file
 *
 * For processes that have ended. User ids of another container are not
 * compared, and the caller may own copies of other users' files.
 *
 * Return: true if it does, and neither root nor the caller owns it.
 */
bool kf_claim_lies(const struct kf_life_view *view,
		   const struct kf_stats_identity *id, uint32_t owner);

/* The verdict on a file that has newer files of its process. */
struct kf_claim_verdicts {
	int (*execed)(void *ctx, struct kf_listed *f);
	int (*conflict)(void *ctx, struct kf_listed *f);
	void *ctx;
};

/**
 * kf_claims_settle() - settle which files of the same process count
 * @files:	all files, read
 * @v:		called for each file that does not count; a result other than 0
 *		ends it
 *
 * Each exec begins a new file, so of one process' files the last one counts.
 * This applies to files of one owner, and to a newer file whose owner has the
 * whole claim. If files of several owners claim to be alive, those whose owner
 * has only a part of the claim are in conflict.
 *
 * Return: 0, or -1 when out of memory, or the result of @v.
 */
int kf_claims_settle(struct kf_listing *files,
		     const struct kf_claim_verdicts *v);

#endif

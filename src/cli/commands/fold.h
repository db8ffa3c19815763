/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Adds the counters of an ended process to the ledger of its user.
 */
#ifndef KF_CLI_COMMANDS_FOLD_H
#define KF_CLI_COMMANDS_FOLD_H

#include "reader/reader.h"

/**
 * kf_fold_ended() - add what an ended process counted to its ledger, once
 * @f:		its stats file, as it was found; its directory is open
 *
 * The name of the file is removed with it. A file that was folded before, or
 * is gone, is left as it is.
 *
 * Context: run by root, it has the rights of the file's owner meanwhile.
 * Return: 0, or a negative errno: then nothing was added. -EOVERFLOW where a
 *	   ledger has no place for so many counters, -EPERM where the file is
 *	   another user's or the name of the ledger is no file of its user,
 *	   -ESTALE where another file has the name now.
 */
int kf_fold_ended(const struct kf_file *f);

#endif

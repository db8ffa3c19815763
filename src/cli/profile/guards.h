/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reports of guarded blocks that a stats file has, with named stacks.
 */
#ifndef KF_CLI_PROFILE_GUARDS_H
#define KF_CLI_PROFILE_GUARDS_H

#include "cli/cli.h"
#include "cli/table.h"

#include <jansson.h>

/**
 * kf_guards_print() - print the reports, a paragraph for each
 * @cli:	how names are shown
 * @f:		the process, read with KF_TABLE_STACKS and KF_TABLE_REPORTS
 *
 * Prints nothing where there are none.
 */
void kf_guards_print(const struct kf_cli *cli, const struct kf_file *f);

/**
 * kf_guards_json() - the reports as an array
 * @cli:	as kf_guards_print()
 * @f:		as kf_guards_print()
 *
 * Return: the array, an object for each report.
 */
json_t *kf_guards_json(const struct kf_cli *cli, const struct kf_file *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The searches of `konfiscator whatif`: settings, and the size of a pool.
 */
#ifndef KF_CLI_COMMANDS_WHATIF_TUNE_H
#define KF_CLI_COMMANDS_WHATIF_TUNE_H

#include "cli/whatif/whatif.h"

/**
 * kf_whatif_set() - add a candidate: the library with settings
 * @w:		to which
 * @settings:	"NAME=VALUE,..." by conf.def, or NULL: the default
 * @option:	for messages, as "--set"
 *
 * Return: 0, or the exit status after a message.
 */
int kf_whatif_set(struct kf_whatif *w, const char *settings,
		  const char *option);

/**
 * kf_whatif_tune() - try settings, and print the best for time and memory
 * @w:		the script; without candidates
 * @seconds:	budget
 *
 * Return: the exit status.
 */
int kf_whatif_tune(struct kf_whatif *w, double seconds);

/**
 * kf_whatif_pool() - find the smallest TLSF pool that serves all calls
 * @w:		the script; without candidates
 *
 * Return: the exit status.
 */
int kf_whatif_pool(struct kf_whatif *w);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of a stats file's process, in one word.
 */
#ifndef KF_CLI_STATE_H
#define KF_CLI_STATE_H

#include "reader/reader.h"

/**
 * kf_state_name() - the state of a file in one word
 * @f:		the file
 *
 * Return: "alive", "dead", "execed", "unknown" or "bad" (it has no readable
 *	   snapshot).
 */
const char *kf_state_name(const struct kf_file *f);

/**
 * kf_file_age_ns() - how long ago a file was made
 * @f:		the file
 *
 * Return: nanoseconds; 0 if the clock was set back.
 */
uint64_t kf_file_age_ns(const struct kf_file *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why getopt_long() refused a long option: it returns '?' for three reasons.
 */
#ifndef KF_READER_USAGE_H
#define KF_READER_USAGE_H

#include "base/compiler.h"

#include <getopt.h>

/**
 * kf_usage_refused() - why a long option was refused
 * @why:	out: words to follow the option, as "is unknown"
 * @size:	bytes of @why; what is longer is cut
 * @longs:	the options, as getopt_long() had them
 * @given:	the argument, as --frob or --frob=VALUE
 *
 * Return: @why.
 */
const char *kf_usage_refused(char *why, size_t size, const struct option *longs,
			     const char *given);

#endif

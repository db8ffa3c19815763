/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of flags of the command line: name, argument, default and help of
 * each, and what it sets.
 */
#ifndef KF_EXPORTER_CONFIG_FLAGS_H
#define KF_EXPORTER_CONFIG_FLAGS_H

#include "exporter/config/options.h"

#include <stddef.h>

struct kf_flag {
	const char *name;
	const char *metavar;  /* NULL: no argument */
	const char *fallback; /* shown and parsed; NULL: none */
	const char *help;
	/* Return: NULL; or, if @value is not allowed, what is. */
	const char *(*set)(struct kf_options *o, const char *value);
	size_t on; /* if @set is NULL: the bool that becomes true */
};

#define KF_NR_FLAGS 48

extern const struct kf_flag kf_flags[KF_NR_FLAGS];

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments of orders: see order.h.
 */
#include "config.h"

#include "cli/order.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int kf_order_take_sample(const char *command, const char *arg, uint64_t *mean)
{
	if (kf_order_parse_sample(arg, mean) && *mean)
		return 0;
	kf_error("%s: --sample: '%s' is not 1, or from 1K to 1T", command, arg);
	return KF_EXIT_USAGE;
}

char *kf_pattern_here(const char *pattern)
{
	char *cwd = pattern[0] == '/' ? NULL : getcwd(NULL, 0);
	char *path =
		kf_alloc(2 * (cwd ? strlen(cwd) : 0) + 2 + strlen(pattern), 1);
	char *end = path;

	/*
	 * Percent signs in our directory's name are doubled: %p is the process
	 * id.
	 */
	for (const char *p = cwd; p && *p; p++) {
		*end++ = *p;
		if (*p == '%')
			*end++ = '%';
	}
	if (cwd)
		*end++ = '/';
	memcpy(end, pattern, strlen(pattern) + 1);
	free(cwd);
	return path;
}

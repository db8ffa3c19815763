/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * getopt_long() accepts a whole name, or a unique prefix. An option of these
 * that it refused nevertheless was given a value.
 */
#include "config.h"

#include "reader/usage.h"

#include "base/near.h"

#include <stdio.h>
#include <string.h>

static void usage_unknown(char *why, size_t size, const struct option *longs,
			  const char *name, size_t len)
{
	struct kf_near near = {0};

	for (; longs->name; longs++)
		kf_near_look(&near, name, len, longs->name);
	if (near.name)
		snprintf(why, size, "is unknown (did you mean --%s?)",
			 near.name);
	else
		snprintf(why, size, "is unknown");
}

const char *kf_usage_refused(char *why, size_t size, const struct option *longs,
			     const char *given)
{
	const char *name = given + strspn(given, "-");
	size_t len = strcspn(name, "="), at;
	const struct option *all = longs;
	bool whole = false;
	int begin = 0;

	at = (size_t)snprintf(why, size, "is ambiguous:");
	for (; longs->name; longs++) {
		if (strncmp(longs->name, name, len) != 0)
			continue;
		whole |= !longs->name[len];
		if (at < size)
			at += (size_t)snprintf(why + at, size - at, "%s --%s",
					       begin ? "," : "", longs->name);
		begin++;
	}
	if (whole || begin == 1)
		snprintf(why, size, "takes no argument");
	else if (!begin)
		usage_unknown(why, size, all, name, len);
	return why;
}

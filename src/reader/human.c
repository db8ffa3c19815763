/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for people: see human.h.
 */
#include "config.h"

#include "reader/human.h"

#include <stdio.h>

static void human_scaled(char *buf, size_t size, double n, double step,
			 const char *const *units, size_t nr_units)
{
	size_t u = 0;

	/* 1023.95 would be printed as 1024.0 of the smaller unit */
	while (n >= step - 0.05 && u + 1 < nr_units) {
		n /= step;
		u++;
	}
	snprintf(buf, size, n < 9.995 ? "%.2f%s" : "%.1f%s", n, units[u]);
}

char *kf_human_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"",	  "Ki", "Mi", "Gi",
					    "Ti", "Pi", "Ei"};

	if (bytes < 1024)
		snprintf(buf, size, "%u", (unsigned int)bytes);
	else
		human_scaled(buf, size, (double)bytes, 1024, units,
			     KF_ARRAY_SIZE(units));
	return buf;
}

char *kf_human_size(char *buf, size_t size, double bytes)
{
	static const char *const units[] = {"B",   "KiB", "MiB",
					    "GiB", "TiB", "PiB"};
	double n = bytes;
	size_t i = 0;

	while (n >= 1023.5 && i + 1 < KF_ARRAY_SIZE(units)) {
		n /= 1024;
		i++;
	}
	snprintf(buf, size, "%.*f %s", i && n < 99.95 ? (n < 9.995 ? 2 : 1) : 0,
		 n, units[i]);
	return buf;
}

char *kf_human_count(char *buf, size_t size, double n)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

	if (n < 999.95)
		snprintf(buf, size, "%.1f", n);
	else
		human_scaled(buf, size, n, 1000, units, KF_ARRAY_SIZE(units));
	return buf;
}

char *kf_human_age(char *buf, size_t size, uint64_t seconds)
{
	unsigned long long s = seconds;

	if (s < 60)
		snprintf(buf, size, "%llus", s);
	else if (s < 3600)
		snprintf(buf, size, "%llum%llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lluh%llum", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%llud%lluh", s / 86400, s / 3600 % 24);
	return buf;
}

char *kf_human_seconds(char *buf, size_t size, double seconds)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	if (!(seconds > 0))
		snprintf(buf, size, "0s");
	else
		human_scaled(buf, size, seconds * 1e9, 1000, units,
			     KF_ARRAY_SIZE(units));
	return buf;
}

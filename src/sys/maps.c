/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of this process: see maps.h.
 */
#include "config.h"

#include "sys/maps.h"

#include "base/text.h"

#include <string.h>

int kf_maps_open(struct kf_maps *maps)
{
	return kf_lines_open(&maps->lines, "/proc/self/maps");
}

/* A number and the character behind it. */
static bool maps_field(const char **s, unsigned int base, char end, uint64_t *n)
{
	*n = kf_parse_digits(s, base);
	return *(*s)++ == end;
}

/* BEGIN-END rwxp OFFSET MAJOR:MINOR INODE      PATH */
static bool maps_parse(const char *line, size_t len, struct kf_mapping *m)
{
	const char *s = line;
	uint64_t device;

	if (!maps_field(&s, 16, '-', &m->begin) ||
	    !maps_field(&s, 16, ' ', &m->end) || strnlen(s, 5) < 5)
		return false;
	m->writable = s[1] == 'w';
	m->executable = s[2] == 'x';
	s += 5;
	if (!maps_field(&s, 16, ' ', &m->offset) ||
	    !maps_field(&s, 16, ':', &device) ||
	    !maps_field(&s, 16, ' ', &device))
		return false;
	m->inode = kf_parse_digits(&s, 10);
	while (*s == ' ')
		s++;
	m->path = s;
	m->path_len = len - (size_t)(s - line);
	return true;
}

bool kf_maps_next(struct kf_maps *maps, struct kf_mapping *m)
{
	size_t len;
	char *line;

	while ((line = kf_lines_next(&maps->lines, &len))) {
		if (maps_parse(line, len, m))
			return true;
	}
	return false;
}

void kf_maps_close(struct kf_maps *maps)
{
	kf_lines_close(&maps->lines);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of this process: see maps.h.
 */
#include "config.h"

#include "sys/maps.h"

#include "base/text.h"
#include "sys/call.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>

int kf_maps_open(struct kf_maps *maps)
{
	maps->fd = kf_file_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	maps->cuts = false;
	maps->at = maps->len = 0;
	return maps->fd < 0 ? maps->fd : 0;
}

static bool read_more(struct kf_maps *maps)
{
	long n;

	memmove(maps->buf, maps->buf + maps->at, maps->len - maps->at);
	maps->len -= maps->at;
	maps->at = 0;
	if (maps->len == sizeof(maps->buf)) {
		maps->cuts = true;
		maps->len = 0;
	}
	do {
		n = kf_sys(SYS_read, maps->fd, maps->buf + maps->len,
			   sizeof(maps->buf) - maps->len);
	} while (n == -EINTR);
	maps->len += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The next line of the buffer, terminated; NULL: none is whole. */
static char *take_line(struct kf_maps *maps, size_t *len)
{
	char *line = maps->buf + maps->at;
	char *end = memchr(line, '\n', maps->len - maps->at);

	if (!end)
		return NULL;
	*end = '\0';
	*len = (size_t)(end - line);
	maps->at += *len + 1;
	return line;
}

/* The next line, terminated; NULL at the end. */
static char *next_line(struct kf_maps *maps, size_t *len)
{
	char *line;

	do {
		line = take_line(maps, len);
		if (line && !maps->cuts)
			return line;
		/* this is the rest of a line that was too long */
		if (line)
			maps->cuts = false;
	} while (line || read_more(maps));
	return NULL;
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

	while ((line = next_line(maps, &len))) {
		if (maps_parse(line, len, m))
			return true;
	}
	return false;
}

void kf_maps_close(struct kf_maps *maps)
{
	kf_file_close(maps->fd);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines of a file of the kernel: see lines.h.
 */
#include "config.h"

#include "sys/lines.h"

#include "sys/call.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>

int kf_lines_open(struct kf_lines *lines, const char *path)
{
	lines->fd = kf_file_open(AT_FDCWD, path, O_RDONLY, 0);
	lines->cuts = false;
	lines->at = lines->len = 0;
	return lines->fd < 0 ? lines->fd : 0;
}

static bool lines_read_more(struct kf_lines *lines)
{
	long n;

	memmove(lines->buf, lines->buf + lines->at, lines->len - lines->at);
	lines->len -= lines->at;
	lines->at = 0;
	if (lines->len == sizeof(lines->buf)) {
		lines->cuts = true;
		lines->len = 0;
	}
	do {
		n = kf_sys(SYS_read, lines->fd, lines->buf + lines->len,
			   sizeof(lines->buf) - lines->len);
	} while (n == -EINTR);
	lines->len += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The next line of the buffer, terminated; NULL: none is whole. */
static char *lines_take(struct kf_lines *lines, size_t *len)
{
	char *line = lines->buf + lines->at;
	char *end = memchr(line, '\n', lines->len - lines->at);

	if (!end)
		return NULL;
	*end = '\0';
	*len = (size_t)(end - line);
	lines->at += *len + 1;
	return line;
}

char *kf_lines_next(struct kf_lines *lines, size_t *len)
{
	char *line;

	do {
		line = lines_take(lines, len);
		if (line && !lines->cuts)
			return line;
		/* this is the rest of a line that was too long */
		if (line)
			lines->cuts = false;
	} while (line || lines_read_more(lines));
	return NULL;
}

void kf_lines_close(struct kf_lines *lines)
{
	kf_file_close(lines->fd);
}

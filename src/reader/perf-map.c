/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See perf-map.h.
 */
#include "reader/perf-map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (64 * KF_KIB)
#define HEAD 64 /* bytes, enough for both numbers */

/* The line that is being read. */
struct line {
	uint64_t at; /* its offset in the file */
	size_t nr;   /* bytes in @head */
	bool broken; /* its begin was not seen */
	char head[HEAD];
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Returns what follows the number and its blanks; NULL: there is none. */
static const char *number_take(const char *s, uint64_t *n)
{
	const char *from;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	*n = 0;
	for (from = s; digit_value(*s) >= 0; s++) {
		if (*n >> 60)
			return NULL;
		*n = *n << 4 | (uint64_t)digit_value(*s);
	}
	if (s == from || *s != ' ')
		return NULL;
	return s + strspn(s, " ");
}

/* Returns the name; NULL: it is no line of a map. */
static const char *line_parse(const char *text, struct kf_jit_range *range)
{
	uint64_t size;

	text = number_take(text, &range->begin);
	if (text)
		text = number_take(text, &size);
	if (!text || !text[0] || size > UINT64_MAX - range->begin)
		return NULL;
	range->end = range->begin + size;
	return text;
}

static bool line_end(struct line *l, struct kf_jit_ranges *out)
{
	struct kf_jit_range range = {.at = l->at};

	l->head[l->nr] = '\0';
	return l->broken || !line_parse(l->head, &range) ||
	       kf_jit_ranges_add(out, &range);
}

/* Reads the lines that end in a piece of the file. */
static bool piece_read(struct line *l, const char *piece, size_t nr,
		       uint64_t offset, struct kf_jit_ranges *out)
{
	const char *s = piece, *end = piece + nr;

	while (s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t here = (size_t)((nl ? nl : end) - s);
		size_t fits = KF_MIN(here, HEAD - 1 - l->nr);

		memcpy(l->head + l->nr, s, fits);
		l->nr += fits;
		if (!nl)
			return true;
		if (!line_end(l, out))
			return false;
		s = nl + 1;
		*l = (struct line){.at = offset + (uint64_t)(s - piece)};
	}
	return true;
}

bool kf_perf_map_read(int fd, uint64_t begin, uint64_t end,
		      struct kf_jit_ranges *out)
{
	struct line line = {.at = begin, .broken = begin};
	char *piece = malloc(PIECE);
	bool done = piece;

	while (done && begin < end) {
		size_t want = (size_t)KF_MIN((uint64_t)PIECE, end - begin);
		ssize_t n = pread(fd, piece, want, (off_t)begin);

		if (n <= 0)
			break;
		done = piece_read(&line, piece, (size_t)n, begin, out);
		begin += (uint64_t)n;
	}
	free(piece);
	return done;
}

bool kf_perf_map_name(int fd, const struct kf_jit_range *range, char *name,
		      size_t size)
{
	struct kf_jit_range now = {0};
	char *text = calloc(1, HEAD + size);
	ssize_t n = -1;
	const char *from = NULL;

	if (text)
		n = pread(fd, text, HEAD + size - 1, (off_t)range->at);
	if (n > 0) {
		text[strcspn(text, "\n")] = '\0';
		from = line_parse(text, &now);
	}
	if (now.begin != range->begin || now.end != range->end)
		from = NULL;
	snprintf(name, size, "%s", from ? from : "");
	free(text);
	return from;
}

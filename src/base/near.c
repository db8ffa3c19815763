/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that are nearly the same: see near.h.
 */
#include "base/near.h"

#include "base/compiler.h"

#include <string.h>

#define NAME_MAX_BYTES 48
#define DISTANCE_MAX 3

/* Three rows of the matrix: the one before last, the last, the present one. */
struct rows {
	size_t row[3][NAME_MAX_BYTES + 1];
};

static size_t near_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* @i and @j: characters of the two beginnings that are compared, not 0. */
static size_t near_cell(const struct rows *rows, const char *a, size_t i,
			const char *b, size_t j)
{
	const size_t *last = rows->row[(i + 2) % 3];
	size_t least = last[j - 1] + (a[i - 1] != b[j - 1]);

	least = near_min(least, last[j] + 1);
	least = near_min(least, rows->row[i % 3][j - 1] + 1);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		least = near_min(least, rows->row[(i + 1) % 3][j - 2] + 1);
	return least;
}

static size_t near_distance(const char *a, size_t a_len, const char *b,
			    size_t b_len)
{
	struct rows rows;

	for (size_t j = 0; j <= b_len; j++)
		rows.row[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		rows.row[i % 3][0] = i;
		for (size_t j = 1; j <= b_len; j++)
			rows.row[i % 3][j] = near_cell(&rows, a, i, b, j);
	}
	return rows.row[a_len % 3][b_len];
}

void kf_near_look(struct kf_near *near, const char *typed, size_t len,
		  const char *name)
{
	size_t name_len = strlen(name), distance;

	if (len > NAME_MAX_BYTES || name_len > NAME_MAX_BYTES)
		return;
	distance = near_distance(typed, len, name, name_len);
	if (distance > DISTANCE_MAX || 3 * distance > name_len ||
	    (near->name && near->distance <= distance))
		return;
	*near = (struct kf_near){name, distance};
}

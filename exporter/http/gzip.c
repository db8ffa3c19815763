/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * gzip by zlib in one call, at the fastest level, since a page mostly repeats
 * the same names.
 */
#include "config.h"

#include "exporter/http/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_FORMAT (15 + 16) /* zlib: largest window, gzip's head and tail */
#define MEMORY_LEVEL 8	      /* zlib's default */

bool kf_gzip(struct kf_buf *b)
{
	z_stream z = {0};
	size_t room;
	char *data;
	bool done;

	if (b->failed || b->len == 0 || b->len > UINT32_MAX / 2 ||
	    deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_FORMAT,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, b->len);
	data = malloc(room);
	z.next_in = (unsigned char *)b->data;
	z.avail_in = (unsigned int)b->len;
	z.next_out = (unsigned char *)data;
	z.avail_out = (unsigned int)room;
	done = data && deflate(&z, Z_FINISH) == Z_STREAM_END &&
	       z.total_out < b->len;
	deflateEnd(&z);
	if (!done) {
		free(data);
		return false;
	}
	free(b->data);
	b->data = data;
	b->len = z.total_out;
	b->room = 0; /* not NUL-terminated; nothing may be appended */
	return true;
}

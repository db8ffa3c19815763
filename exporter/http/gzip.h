/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compression of what is served, for those who ask for it.
 */
#ifndef KF_EXPORTER_HTTP_GZIP_H
#define KF_EXPORTER_HTTP_GZIP_H

#include "exporter/buf.h"

/**
 * kf_gzip_wanted() - whether an Accept-Encoding header asks for gzip
 * @accept_encoding:	the header's value, or NULL where it is missing
 *
 * By name, or by a star; a quality of 0 is a no, and so is what does not
 * parse. In accept.c, with the other header.
 *
 * Context: any thread.
 * Return: true where gzip is welcome.
 */
bool kf_gzip_wanted(const char *accept_encoding);

/**
 * kf_gzip() - compress a string
 * @b:		the string; replaced by its gzip form, or left as it is
 *
 * Context: as kf_buf_add().
 * Return: false where there was no memory, or nothing to be won.
 */
bool kf_gzip(struct kf_buf *b);

#endif

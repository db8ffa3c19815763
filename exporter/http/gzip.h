/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compression of responses.
 */
#ifndef KF_EXPORTER_HTTP_GZIP_H
#define KF_EXPORTER_HTTP_GZIP_H

#include "exporter/buf.h"

/**
 * kf_gzip_wanted() - whether an Accept-Encoding header accepts gzip
 * @accept_encoding:	the header's value, or NULL if it is missing
 *
 * By name or by "*"; a quality of 0, or a malformed header, means no. Defined
 * in accept.c.
 *
 * Return: true if gzip is accepted.
 */
bool kf_gzip_wanted(const char *accept_encoding);

/**
 * kf_gzip() - compress a string
 * @b:		the string; replaced by its gzip form, or left as it is
 *
 * Context: as kf_buf_add().
 * Return: false if there was no memory, or gzip is not smaller.
 */
bool kf_gzip(struct kf_buf *b);

#endif

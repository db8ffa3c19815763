/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that pages need beside them: style sheet, picture, and the scripts
 * of charts, unless it was built without. They are part of the program.
 */
#ifndef KF_EXPORTER_SITE_ASSETS_H
#define KF_EXPORTER_SITE_ASSETS_H

#include "exporter/buf.h"

struct kf_asset {
	const char *path;
	const char *type; /* for Content-Type */
	const unsigned char *data;
	size_t size;
};

/**
 * kf_asset_find() - a file by its path
 * @url:	the path, without what follows a question mark
 *
 * Context: any thread.
 * Return: the file, or NULL.
 */
const struct kf_asset *kf_asset_find(const char *url);

/**
 * kf_assets_charts() - whether the scripts of charts were built in
 *
 * Context: any thread; pure.
 * Return: whether.
 */
bool kf_assets_charts(void);

/**
 * kf_assets_link() - what a page's head says of the files
 * @out:	the page
 *
 * An address holds a checksum of the file, so that a browser may keep the
 * file for good.
 *
 * Context: as kf_buf_add().
 */
void kf_assets_link(struct kf_buf *out);

/**
 * kf_hash() - a number for some bytes (FNV-1a, 64 bits)
 * @seed:	0, or what the bytes before them gave
 * @data:	the bytes
 * @len:	how many
 *
 * Context: any thread; pure.
 * Return: the number.
 */
uint64_t kf_hash(uint64_t seed, const void *data, size_t len);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that pages refer to: style sheet, icon, and the scripts of charts,
 * unless built without. They are embedded in the program.
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
 * kf_asset_find() - find a file by its path
 * @url:	the path, without the query
 *
 * Return: the file, or NULL.
 */
const struct kf_asset *kf_asset_find(const char *url);

/**
 * kf_assets_charts() - whether the scripts of charts were built in
 *
 * Return: true if so.
 */
bool kf_assets_charts(void);

/**
 * kf_assets_link() - write the links to the files in a page's head
 * @out:	the page
 *
 * A link has a checksum of the file, so that browsers can cache the file
 * forever.
 *
 * Context: as kf_buf_add().
 */
void kf_assets_link(struct kf_buf *out);

/**
 * kf_hash() - hash bytes (FNV-1a, 64 bits)
 * @seed:	0, or the hash of the preceding bytes
 * @data:	the bytes
 * @len:	how many
 *
 * Return: the hash.
 */
uint64_t kf_hash(uint64_t seed, const void *data, size_t len);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that are compressed with zstd, whole, in streams: neither needs the
 * file in memory.
 */
#ifndef KF_CLI_ZSTD_H
#define KF_CLI_ZSTD_H

#include <stdbool.h>
#include <stdint.h>

/**
 * kf_zstd_is_built() - whether this command was built with libzstd
 *
 * Return: whether.
 */
bool kf_zstd_is_built(void);

/**
 * kf_zstd_is() - whether a file is compressed
 * @fd:		the file
 *
 * Return: whether it begins as such a file does.
 */
bool kf_zstd_is(int fd);

/**
 * kf_zstd_unpack() - what is in a compressed file
 * @fd:		the file; closed
 * @path:	its name, for messages
 * @magic:	the first 8 bytes that what is in it must have
 *
 * The contents are in a file without a name; its pages of zeroes are holes. If
 * the compressed file is cut or damaged they end there, after a message.
 *
 * Return: its descriptor; -1 after a message; -2 if the contents begin with
 *	   something else.
 */
int kf_zstd_unpack(int fd, const char *path, uint64_t magic);

/**
 * kf_zstd_pack() - compress a file, and delete it
 * @path:	the file; with .zst behind it the name of the compressed one
 * @before:	out: its bytes
 * @after:	out: the bytes of the compressed file
 *
 * Return: 0, or -1 after a message: the file stays as it is.
 */
int kf_zstd_pack(const char *path, uint64_t *before, uint64_t *after);

#endif

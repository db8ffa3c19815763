/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of this process, read from /proc/self/maps inside malloc.
 *
 * No call allocates or takes the dynamic linker's lock. Mappings come in the
 * order of addresses; a mapping that changes during the walk is seen before or
 * after the change. A line that is longer than the buffer is left out.
 */
#ifndef KF_SYS_MAPS_H
#define KF_SYS_MAPS_H

#include "base/compiler.h"
#include "sys/lines.h"

/* A mapping; the path is in the walk's buffer, valid until the next call. */
struct kf_mapping {
	uint64_t begin;
	uint64_t end;
	uint64_t offset; /* of @begin in the file */
	uint64_t inode;	 /* 0: not of a file */
	bool writable;
	bool executable;
	const char *path; /* raw, ends in NUL; "" for none */
	size_t path_len;
};

/* A walk through the mappings. */
struct kf_maps {
	struct kf_lines lines;
};

/**
 * kf_maps_open() - begin a walk
 * @maps:	out: the walk
 *
 * Context: any; opens a file.
 * Return: 0, or a negative errno.
 */
int kf_maps_open(struct kf_maps *maps) __must_check;

/**
 * kf_maps_next() - the next mapping
 * @maps:	the walk
 * @m:		out: the mapping
 *
 * Context: any.
 * Return: false at the end.
 */
bool kf_maps_next(struct kf_maps *maps, struct kf_mapping *m) __must_check;

/**
 * kf_maps_close() - end a walk
 * @maps:	the walk
 *
 * Context: any.
 */
void kf_maps_close(struct kf_maps *maps);

#endif

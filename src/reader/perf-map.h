/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A map of perf: a text file that runtimes append a line to for each piece of
 * code that they make, "START SIZE NAME", the numbers hexadecimal with or
 * without 0x, the name to the end of the line.
 *
 * The file may be written to meanwhile, and may be another user's: what is no
 * such line, or has no end yet, is skipped, and only names that are asked for
 * are read.
 */
#ifndef KF_READER_PERF_MAP_H
#define KF_READER_PERF_MAP_H

#include "reader/jit-ranges.h"

/**
 * kf_perf_map_read() - read where code is
 * @fd:		the file
 * @begin:	offset of the first byte to read; if it is not 0, the rest of
 *		its line is skipped
 * @end:	offset of the end
 * @out:	out: the ranges are added
 *
 * Return: false when out of memory.
 */
bool kf_perf_map_read(int fd, uint64_t begin, uint64_t end,
		      struct kf_jit_ranges *out);

/**
 * kf_perf_map_name() - read a name
 * @fd:		the file
 * @range:	its code
 * @name:	out: the name, raw, cut if it is longer
 * @size:	bytes of @name
 *
 * Return: false if the file says something else there now.
 */
bool kf_perf_map_name(int fd, const struct kf_jit_range *range, char *name,
		      size_t size);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A jitdump file of perf: a binary file that runtimes append a record to for
 * each piece of code that they make, with its name, its bytes and perhaps its
 * source lines. The runtime maps the file's first page, so that it is found.
 *
 * The file may be written to meanwhile, and may be another user's: a record
 * that has no end yet ends the file, records of unknown kinds are skipped, and
 * only names that are asked for are read.
 *
 * Source lines that V8 wrote are not used, as they may name other files; its
 * functions' names say where they begin.
 */
#ifndef KF_READER_JITDUMP_H
#define KF_READER_JITDUMP_H

#include "reader/jit-ranges.h"

/* Source lines of an address. */
struct kf_jit_line {
	char *file; /* out: raw, "" unknown; cut if it is longer */
	size_t size;
	unsigned int line; /* out: 0: unknown */
};

/**
 * kf_jitdump_read() - read where code is
 * @fd:		the file
 * @end:	its size in bytes
 * @out:	out: the ranges are added
 *
 * Return: 0; ENOEXEC: it is no jitdump file of this machine; ENOMEM.
 */
int kf_jitdump_read(int fd, uint64_t end, struct kf_jit_ranges *out);

/**
 * kf_jitdump_name() - read a name
 * @fd:		the file
 * @range:	its code
 * @name:	out: the name, raw, cut if it is longer
 * @size:	bytes of @name
 *
 * Return: false if the file says something else there now.
 */
bool kf_jitdump_name(int fd, const struct kf_jit_range *range, char *name,
		     size_t size);

/**
 * kf_jitdump_line() - read the source line of an address
 * @fd:		the file
 * @range:	its code
 * @address:	the address
 * @line:	@file and @size are filled in; out: the rest
 */
void kf_jitdump_line(int fd, const struct kf_jit_range *range, uint64_t address,
		     struct kf_jit_line *line);

#endif

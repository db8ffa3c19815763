/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the addresses of a process are called, by the symbol tables of its
 * files: functions, no lines.
 *
 * Promises: tables are read, not mapped, and none beyond a size, so that a file
 * that changes or lies does no harm; debug information is left to the command
 * line, since to read it may take seconds. Where a name is not to be had the
 * library and the place in it stand for it. Names that were found before are
 * taken from a cache, by what the file is now.
 */
#ifndef KF_EXPORTER_SITE_NAMES_H
#define KF_EXPORTER_SITE_NAMES_H

#include "exporter/site/name_cache.h"
#include "reader/code.h"

struct kf_symbol_table;

/* The file of a mapping, once it was asked about. */
struct kf_names_file {
	int fd; /* -1: not to be had */
	bool opened;
	bool kept; /* what is found goes into the cache */
	struct kf_file_key key;
	struct kf_symbol_table *table; /* NULL: not needed yet */
};

/* Private but for @codes. */
struct kf_names {
	struct kf_name_cache *cache;
	int pid;
	struct kf_codes codes;
	struct kf_names_file *files; /* of each of @codes */
};

/* A call at an address. */
struct kf_name {
	const struct kf_code *code; /* NULL: in no file */
	bool known;		    /* @function is a name */
	char function[512];
};

/**
 * kf_names_begin() - look what code a process has
 * @n:		out: for kf_names_find()
 * @cache:	names that are known, and where procfs is; outlives @n
 * @pid:	the process there, 0: it has ended
 * @s:		its stats file, read with KF_TABLE_STACKS
 *
 * Context: one thread for a struct; allocates.
 * Return: false when out of memory; end it whatever the result.
 */
bool kf_names_begin(struct kf_names *n, struct kf_name_cache *cache, int pid,
		    const struct kf_snapshot *s);

/**
 * kf_names_find() - what the call is that returns to an address
 * @n:		the process' names
 * @address:	the return address
 * @name:	out: the call; valid UTF-8
 *
 * Context: as kf_names_begin(); the first name of a file that is not in the
 *	    cache has it read.
 */
void kf_names_find(struct kf_names *n, uint64_t address, struct kf_name *name);

/**
 * kf_names_file() - the file that a mapping is of
 * @n:		the process' names
 * @code:	one of @n->codes
 *
 * Context: as kf_names_begin().
 * Return: the file, with its build id; @n's.
 */
const struct kf_names_file *kf_names_file(struct kf_names *n,
					  const struct kf_code *code);

/**
 * kf_names_end() - let names go
 * @n:		the names
 *
 * Context: as kf_names_begin().
 */
void kf_names_end(struct kf_names *n);

#endif

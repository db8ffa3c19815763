/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exporter's use of the symbolizer (reader/symbols.h): functions only, at
 * most two seconds for a process. It does not read debug information, which may
 * take long.
 */
#ifndef KF_EXPORTER_SITE_NAMES_H
#define KF_EXPORTER_SITE_NAMES_H

#include "exporter/buf.h"
#include "reader/symbols.h"

#define KF_NAME_ROOM 4096

/**
 * kf_names_open() - open the symbols of a process
 * @cache:	cached names, and where procfs is; outlives the symbols
 * @pid:	its PID in that procfs; 0: it has ended
 * @s:		its stats file, read with KF_TABLE_STACKS
 *
 * Return: the symbols; NULL when out of memory.
 */
struct kf_symbols *kf_names_open(struct kf_name_cache *cache, int pid,
				 const struct kf_snapshot *s);

/**
 * kf_names_close() - free symbols
 * @symbols:	the symbols, or NULL
 *
 * Logs once, for all processes, which capabilities would bring missing names.
 *
 * Return: their names, a constant; NULL: none would.
 */
const char *kf_names_close(struct kf_symbols *symbols);

/**
 * kf_names_find() - find the call that returns to an address
 * @symbols:	the symbols
 * @address:	the return address
 * @generation:	of its stack
 * @text:	out: its function as valid UTF-8, or a substitute
 *
 * Context: as kf_symbols_frames().
 * Return: the call; NULL when out of memory, with an empty @text.
 */
const struct kf_frame *kf_names_find(struct kf_symbols *symbols,
				     uint64_t address, uint32_t generation,
				     char text[KF_NAME_ROOM]);

/**
 * kf_names_skip() - count the wrappers of malloc that a stack begins with
 * @symbols:	the symbols
 * @address:	the return addresses, the innermost first
 * @nr:		how many there are
 * @generation:	of the stack
 *
 * Views begin after them, as those of konfiscator(1) do.
 *
 * Context: as kf_symbols_frames().
 * Return: how many; 0 if the stack has nothing else, or when out of memory.
 */
uint32_t kf_names_skip(struct kf_symbols *symbols, const uint64_t *address,
		       uint32_t nr, uint32_t generation);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exporter's use of the symbolizer (reader/symbols.h): functions only, at
 * most two seconds for a process. It does not read debug information, which may
 * take long.
 */
#ifndef KF_EXPORTER_SITE_NAMES_H
#define KF_EXPORTER_SITE_NAMES_H

#include "exporter/buf.h"
#include "reader/calls.h"

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

/* The calls of a stack, the innermost first. */
struct kf_calls {
	size_t nr;
	const struct kf_frame *frame[KF_STATS_STACK_MAX];
	bool recursive[KF_STATS_STACK_MAX]; /* it stands for several calls */
};

/**
 * kf_names_calls() - find the calls of a stack, as konfiscator(1) shows them
 * @symbols:	the symbols
 * @s:		the stats file
 * @stack:	of it
 * @calls:	out: they live as long as the symbols
 *
 * Context: as kf_symbols_frames().
 * Return: false when out of memory.
 */
bool kf_names_calls(struct kf_symbols *symbols, const struct kf_snapshot *s,
		    const struct kf_stats_stack *stack, struct kf_calls *calls);

/**
 * kf_names_text() - the name of a call
 * @frame:	the call
 * @text:	out: its function as valid UTF-8, or a substitute
 */
void kf_names_text(const struct kf_frame *frame, char text[KF_NAME_ROOM]);

#endif

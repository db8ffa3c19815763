/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a file's debug information does not give what it could: for messages.
 */
#ifndef KF_READER_DEBUG_GAP_H
#define KF_READER_DEBUG_GAP_H

#include "reader/code.h"

enum kf_debug_gap {
	KF_DEBUG_GAP_NONE,  /* or the file cannot be opened */
	KF_DEBUG_GAP_SPLIT, /* the file of a split unit is missing */
	KF_DEBUG_GAP_ZSTD,  /* libelf cannot unpack it */
};

/**
 * kf_debug_gap() - what the debug information in a file lacks
 * @pid:	the process, 0: it has ended
 * @code:	the file, mapped
 * @name:	out: the missing file's name, as the debug information has it
 * @size:	room in @name
 *
 * Context: allocates; reads the file, and those that it names if they are
 *	    regular.
 * Return: the first gap.
 */
enum kf_debug_gap kf_debug_gap(int pid, const struct kf_code *code, char *name,
			       size_t size);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The map of the heap (heap/cells.h), for the stats file: noted when it is
 * ordered.
 */
#ifndef KF_CORE_MAPPING_H
#define KF_CORE_MAPPING_H

struct kf_text;

/**
 * kf_mapping_note() - note the map of the heap in the stats file
 * @reply:	out: what came of it
 *
 * Context: one thread at a time; not from a signal handler. Takes the pages
 *	    lock.
 * Return: 0 or an errno.
 */
int kf_mapping_note(struct kf_text *reply);

#endif

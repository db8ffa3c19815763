/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the blocks of tags and of stacks pin (heap/pinned.h), for the stats
 * file. Nobody needs it all the time, so it is found out when it is ordered.
 */
#ifndef KF_CORE_PINNING_H
#define KF_CORE_PINNING_H

struct kf_text;

/**
 * kf_pinning_note() - note in the stats file what blocks pin
 * @reply:	out: what came of it
 *
 * Context: one thread at a time. Takes the pages lock.
 * Return: 0 or an errno.
 */
int kf_pinning_note(struct kf_text *reply);

#endif

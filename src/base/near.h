/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that are nearly the same, for "did you mean".
 */
#ifndef KF_BASE_NEAR_H
#define KF_BASE_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* The best of the names that were looked at. Begins with zeroes. */
struct kf_near {
	const char *name; /* NULL: none is near */
	size_t distance;
};

/**
 * kf_near_look() - look at a name
 * @near:	in and out: the best name so far
 * @typed:	what was typed
 * @len:	its bytes
 * @name:	a name that is allowed; stays where it is
 *
 * Names differ by characters that are inserted, left out, replaced or swapped
 * with their neighbour: the restricted edit distance (F. Damerau, 1964). A name
 * is near if at most a third of it differs, and at most three characters.
 *
 * Context: anywhere; pure but for @near.
 */
void kf_near_look(struct kf_near *near, const char *typed, size_t len,
		  const char *name);

#endif

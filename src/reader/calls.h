/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks as people read them, in every view and file of the command line and
 * the exporter.
 *
 * - Wrappers of malloc are left out where they are the innermost calls
 *   (wrappers.def), and so is what the interpreter calls to allocate, where a
 *   call of Python is outside of it.
 * - Recursion is folded: where a call or a series of calls follows itself, one
 *   of them is left, and marked.
 * - Stacks that read alike are one row, whether or not they are marked.
 */
#ifndef KF_READER_CALLS_H
#define KF_READER_CALLS_H

#include "reader/estimate.h"
#include "reader/symbols.h"

/* Follows a name that stands for several calls. */
#define KF_RECURSIVE " (recursive)"

enum kf_calls_how {
	KF_CALLS_RAW = 1,     /* keep wrappers of malloc */
	KF_CALLS_ALL = 2,     /* keep each call of a recursion */
	KF_CALLS_BY_LINE = 4, /* calls from different lines are not alike */
};

/**
 * kf_calls_simplify() - make a stack readable, in place
 * @frame:	its calls, the innermost first
 * @recursive:	out: of each call that is left: it stands for several calls
 * @nr:		how many there are
 * @how:	of enum kf_calls_how
 *
 * Return: how many are left; 0 only if there were none.
 */
size_t kf_calls_simplify(const struct kf_frame **frame, bool *recursive,
			 size_t nr, unsigned int how);

/**
 * kf_calls_compare() - compare two texts that have names of calls
 * @a:		a text
 * @b:		another
 *
 * Return: as strcmp(), as if there were no marks KF_RECURSIVE.
 */
int kf_calls_compare(const char *a, const char *b);

/**
 * kf_calls_mark() - mark what is marked in a text that reads alike
 * @text:	the text, from malloc(); out: another one
 * @from:	a text that kf_calls_compare() finds equal
 *
 * Return: false when out of memory; @text is as it was.
 */
bool kf_calls_mark(char **text, const char *from);

/* A stack in a list. */
struct kf_calls_row {
	char *shown; /* for people, or in a file; from malloc() */
	struct kf_estimate value;
	uint64_t samples;
};

/**
 * kf_calls_join() - make stacks that read alike one row
 * @rows:	the stacks; out: the rows, the largest first
 * @nr:		how many; out: how many are left
 *
 * Return: false when out of memory: marks are missing.
 */
bool kf_calls_join(struct kf_calls_row *rows, size_t *nr);

#endif

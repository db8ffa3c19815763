/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process, by its stats file, and names that mean the same to it
 * as here.
 */
#ifndef KF_CLI_ORDER_H
#define KF_CLI_ORDER_H

#include "reader/reader.h"
#include "stats/layout.h"

enum kf_order_result {
	KF_ORDER_DONE,
	KF_ORDER_REFUSED,  /* the answer says why */
	KF_ORDER_TOO_LONG, /* and not given */
	KF_ORDER_OLD,	   /* the file has no place for orders */
	KF_ORDER_FILTERED, /* the process filters its system calls: not given */
	KF_ORDER_LATE,	   /* no answer yet */
	KF_ORDER_ERROR,	   /* errno tells */
};

struct kf_answer {
	int error; /* errno, 0: done */
	char reply[KF_STATS_CONTROL_REPLY];
};

/**
 * kf_order_give() - give an order and wait for the answer
 * @f:		the stats file of a process that lives
 * @text:	the order
 * @timeout_s:	how long to wait, in seconds
 * @force:	also to a process that filters its system calls
 * @answer:	out: where the result is done or refused
 *
 * Waits for other orders to the same process to be answered first. What the
 * library calls to carry out an order may not be what a process has allowed
 * itself, and be its end; a filter from before the program began, as a
 * container's, does not count.
 *
 * Return: what became of it.
 */
enum kf_order_result kf_order_give(const struct kf_file *f, const char *text,
				   uint64_t timeout_s, bool force,
				   struct kf_answer *answer);

/**
 * kf_pattern_here() - a recording's name, as it is meant here
 * @pattern:	the name; may hold %p
 *
 * Return: an absolute path, to free().
 */
char *kf_pattern_here(const char *pattern);

#endif

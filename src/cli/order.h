/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process, through its stats file.
 */
#ifndef KF_CLI_ORDER_H
#define KF_CLI_ORDER_H

#include "reader/reader.h"
#include "stats/layout.h"

enum kf_order_result {
	KF_ORDER_DONE,
	KF_ORDER_REFUSED,  /* the answer says why */
	KF_ORDER_TOO_LONG, /* not sent */
	KF_ORDER_OLD,	   /* the library is older and takes no orders */
	KF_ORDER_FILTERED, /* not sent: the process filters its system calls */
	KF_ORDER_LATE,	   /* no answer yet */
	KF_ORDER_ERROR,	   /* see errno */
};

struct kf_answer {
	int error; /* errno, 0: done */
	char reply[KF_STATS_CONTROL_REPLY];
};

/**
 * kf_order_give() - send an order and wait for the answer
 * @f:		the stats file of a living process
 * @text:	the order
 * @timeout_s:	how long to wait, in seconds
 * @force:	send even if the process filters its system calls
 * @answer:	out: filled in if the result is done or refused
 *
 * Other orders to the same process are answered first. System calls of the
 * library may violate a filter that the process installed, and end it, so such
 * processes get orders only by force. A filter from before the program began,
 * such as a container's, does not count.
 *
 * Return: the result.
 */
enum kf_order_result kf_order_give(const struct kf_file *f, const char *text,
				   uint64_t timeout_s, bool force,
				   struct kf_answer *answer);

/**
 * kf_pattern_here() - a recording's name, relative to our directory
 * @pattern:	the name; may hold %p
 *
 * Return: an absolute path, to free().
 */
char *kf_pattern_here(const char *pattern);

#endif

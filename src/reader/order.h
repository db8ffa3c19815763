/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process, through its stats file.
 */
#ifndef KF_READER_ORDER_H
#define KF_READER_ORDER_H

#include "reader/reader.h"
#include "stats/layout.h"

enum kf_order_result {
	KF_ORDER_DONE,
	KF_ORDER_REFUSED,  /* the answer says why */
	KF_ORDER_TOO_LONG, /* not sent */
	KF_ORDER_OLD,	   /* the library is older and takes no orders */
	KF_ORDER_FILTERED, /* not sent: the process filters its system calls */
	KF_ORDER_LATE,	   /* no answer yet; the order stays */
	KF_ORDER_WITHDRAWN,
	KF_ORDER_ERROR, /* see errno */
};

struct kf_answer {
	int error; /* errno, 0: done */
	char reply[KF_STATS_CONTROL_REPLY];
	char replaced[KF_STATS_CONTROL_TEXT]; /* an order that waited, or "" */
};

/* Samples: what the library takes, src/core/sampling.c, beside off. */
#define KF_SAMPLE_SMALL 2 /* smaller numbers */
#define KF_SAMPLE_LEAST ((uint64_t)1 << 10)
#define KF_SAMPLE_MOST ((uint64_t)1 << 40)
#define KF_SAMPLE_RANGE "0, 1, or from 1K to 1T"

/**
 * kf_order_parse_sample() - parse a distance of samples
 * @text:	the value of the order sample
 * @mean:	out: the distance
 *
 * Return: whether the library takes it.
 */
bool kf_order_parse_sample(const char *text, uint64_t *mean);

enum kf_order_flags {
	KF_ORDER_FORCE = 1,    /* send even if it filters its system calls */
	KF_ORDER_WITHDRAW = 2, /* what was not answered is not carried out */
};

/**
 * kf_order_give() - send an order and wait for the answer
 * @procfs:	mount point of procfs
 * @f:		the stats file of a living process
 * @text:	the order
 * @timeout_s:	how long to wait, in seconds
 * @flags:	enum kf_order_flags
 * @answer:	out: filled in if the result is done or refused
 *
 * Other orders to the same process are answered first. System calls of the
 * library may violate a filter that the process installed, and end it, so such
 * processes get orders only by force. A filter from before the program began,
 * such as a container's, does not count.
 *
 * Return: the result.
 */
enum kf_order_result kf_order_give(const char *procfs, const struct kf_file *f,
				   const char *text, uint64_t timeout_s,
				   unsigned int flags,
				   struct kf_answer *answer);

/* Room for why an order is not carried out. */
#define KF_ORDER_REFUSAL (4 * KF_STATS_CONTROL_REPLY)

/**
 * kf_order_refusal() - why an order is not carried out
 * @result:	of kf_order_give(); KF_ORDER_ERROR: errno is still the reason
 * @answer:	likewise
 * @text:	out: the reason, printable
 *
 * Return: false if it is carried out, or will be.
 */
bool kf_order_refusal(enum kf_order_result result,
		      const struct kf_answer *answer,
		      char text[KF_ORDER_REFUSAL]);

#endif

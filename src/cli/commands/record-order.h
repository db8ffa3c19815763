/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders of konfiscator record to a process that runs, and what it says about
 * the processes that it followed.
 */
#ifndef KF_CLI_COMMANDS_RECORD_ORDER_H
#define KF_CLI_COMMANDS_RECORD_ORDER_H

#include "cli/cli.h"
#include "cli/order.h"
#include "cli/profile/follow.h"

#define KF_RECORD_SAMPLE "512K"

struct kf_record_orders {
	const char *sample; /* distance of samples that is wanted, or NULL */
	bool first;	    /* nothing of the process is in the profile yet */
	uint32_t family;    /* number for its children; 0: none */

	/* Private. */
	bool late;	    /* the order to sample waits */
	bool samples;	    /* it samples because we said so */
	bool marks;	    /* its children have the number, likewise */
	uint64_t wanted;    /* distance of samples */
	uint64_t mean;	    /* that it had before; 0: none */
	bool by_default;    /* it had @mean by default */
	uint32_t relatives; /* the number that it had before */
};

/**
 * kf_record_orders_give() - have a process that runs take samples, and mark its
 *			     children
 * @cli:	the command line
 * @o:		public members are filled in, the others 0 before the first
 *		orders
 * @f:		its stats file
 *
 * Return: 0, or the exit status after a message.
 */
int kf_record_orders_give(const struct kf_cli *cli, struct kf_record_orders *o,
			  const struct kf_file *f);

/**
 * kf_record_orders_mark() - mark the children of a process that was not told to
 *			     until now
 * @o:		the orders
 * @f:		its stats file
 *
 * A process has room for one order: it takes the one to sample first.
 *
 * Return: 0, or the exit status after a message.
 */
int kf_record_orders_mark(struct kf_record_orders *o, const struct kf_file *f);

/**
 * kf_record_orders_any() - whether there is anything to take back
 * @o:		the orders
 *
 * Return: true if so.
 */
bool kf_record_orders_any(const struct kf_record_orders *o);

/**
 * kf_record_orders_back() - have a process do as before
 * @o:		the orders
 * @f:		its stats file
 */
void kf_record_orders_back(const struct kf_record_orders *o,
			   const struct kf_file *f);

/**
 * kf_record_tell_followed() - say how many other processes there are
 * @cli:	the command line
 * @w:		the follower, after its last look
 */
void kf_record_tell_followed(const struct kf_cli *cli,
			     const struct kf_follower *w);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments of commands that give orders, see reader/order.h.
 */
#ifndef KF_CLI_ORDER_H
#define KF_CLI_ORDER_H

#include "reader/order.h"

/**
 * kf_order_take_sample() - take the argument of a command's --sample
 * @command:	the command's name, for the message
 * @arg:	the argument
 * @mean:	out: the distance, not 0
 *
 * Return: 0, or the exit status after a message.
 */
int kf_order_take_sample(const char *command, const char *arg, uint64_t *mean);

/**
 * kf_pattern_here() - a recording's name, relative to our directory
 * @pattern:	the name; may hold %p
 *
 * Return: an absolute path, to free().
 */
char *kf_pattern_here(const char *pattern);

#endif

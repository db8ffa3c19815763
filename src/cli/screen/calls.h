/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sampled stacks as a tree of calls, from the outermost call down. A call
 * has the live bytes of all stacks that pass through it.
 */
#ifndef KF_CLI_SCREEN_CALLS_H
#define KF_CLI_SCREEN_CALLS_H

#include "cli/screen/top.h"

/* Of a call in the table, column "state". */
enum kf_call_state { KF_CALL_LEAF, KF_CALL_CLOSED, KF_CALL_OPEN };

/**
 * kf_calls_table() - a row for each call below open ones
 * @t:		out: the table; kf_table_release() it
 * @top:	the snapshots
 * @pid:	of this process alone; 0: of all
 *
 * The columns "call", "above" and "state" have no heading: the id of the call,
 * that of its caller, and an enum kf_call_state. A call is indented where its
 * caller has several.
 */
void kf_calls_table(struct kf_table *t, const struct kf_top *top, int32_t pid);

/**
 * kf_calls_open() - show or hide the calls below a call, from now on
 * @call:	its id
 * @open:	whether to show them
 */
void kf_calls_open(uint64_t call, bool open);

#endif

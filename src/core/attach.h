/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library in a process that was started without it: from when to when it
 * observes the process.
 *
 * The engine is system: blocks are the program's malloc's, before, during and
 * after, so any call may reach this library or not. Counters begin at 0 with
 * each attach, and the process has a stats file until it is detached.
 */
#ifndef KF_CORE_ATTACH_H
#define KF_CORE_ATTACH_H

#include "base/compiler.h"

/**
 * kf_attach_begin() - observe the process from now on
 * @mean:	take samples at this mean distance in bytes; 0: as options say
 *
 * Context: one thread, before calls are led here. May allocate.
 * Return: NULL, or in words why the process cannot be observed.
 */
const char *kf_attach_begin(uint64_t mean);

/**
 * kf_attach_is_on() - whether the process is observed
 *
 * Context: as kf_attach_begin().
 * Return: true after kf_attach_begin() until kf_attach_end().
 */
bool kf_attach_is_on(void);

/**
 * kf_attach_end() - observe nothing any more
 *
 * Ends a recording and the samples, adds the counters to the ledger, and
 * removes the stats file.
 *
 * Context: one thread, after kf_attach_begin(), when calls are led back.
 */
void kf_attach_end(void);

#endif

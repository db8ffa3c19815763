/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a process that runs: `konfiscator ctl` writes them into the stats
 * file, slow paths look for them. What can be ordered is in control.def.
 */
#ifndef KF_CORE_CONTROL_H
#define KF_CORE_CONTROL_H

#include "base/compiler.h"

/* The numbers of the last order, and of the last one carried out; atomic. */
extern const uint64_t *kf_control_request __kf_hidden;
extern uint64_t kf_control_seen __kf_hidden;

/**
 * kf_control_start() - look for orders from now on
 *
 * An order that is there already is ignored: in a child it is the parent's.
 *
 * Context: after kf_stats_init(), and in a forked child.
 */
void kf_control_start(void);

/**
 * kf_control_obey() - carry out the order in the stats file
 *
 * Context: any thread; one of them does it. Keeps errno.
 */
void kf_control_obey(void);

/* Whether there is a new order. */
static inline bool kf_control_is_due(void)
{
	return unlikely(__atomic_load_n(kf_control_request, __ATOMIC_RELAXED) !=
			__atomic_load_n(&kf_control_seen, __ATOMIC_RELAXED));
}

/* Carry out a new order, if any: on slow paths. */
static inline void kf_control_poll(void)
{
	if (kf_control_is_due())
		kf_control_obey();
}

#endif

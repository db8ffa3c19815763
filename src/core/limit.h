/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * KONFISCATOR_LIMIT: what pages/limit.h is told. A share of the cgroup's limit
 * follows that limit, which is read again on slow paths, every KF_LIMIT_READ_MS
 * at most; a program that has set a filter of its system calls keeps the limit
 * that was read before. At the same time it is read how short memory is, for
 * the cgroup or the system: if tasks waited for it for much of the time since
 * the last look, or memory.high was exceeded, free memory is given back.
 */
#ifndef KF_CORE_LIMIT_H
#define KF_CORE_LIMIT_H

#include "base/compiler.h"

#define KF_LIMIT_READ_MS 2000

/* Whether kf_limit_look() has something to look at; constant after start. */
extern bool kf_limit_is_set;

/**
 * kf_limit_start() - take over the options
 *
 * Context: once, at start, before the engine takes memory.
 */
void kf_limit_start(void);

/**
 * kf_limit_settle() - forget the limit if the engine's memory is elsewhere
 *
 * Writes a line then.
 *
 * Context: once, at start, when the engine was chosen.
 */
void kf_limit_settle(void);

/**
 * kf_limit_look() - read the limit and the pressure again if it is time; write
 *		     the snapshot that is due as the limit is near
 *
 * Context: any thread, on slow paths.
 */
void kf_limit_look(void);

/**
 * kf_limit_fork_child() - forget what another thread was doing
 *
 * Context: a forked child's only thread.
 */
void kf_limit_fork_child(void);

/* Look at the limit: on slow paths. */
static inline void kf_limit_poll(void)
{
	if (unlikely(kf_limit_is_set))
		kf_limit_look();
}

#endif

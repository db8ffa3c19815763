/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Take a lock, count a wait for it, and fire the probe of the wait. The
 * function is not in src/sys because that layer knows neither counters nor
 * probes.
 */
#ifndef KF_PAGES_COUNTED_LOCK_H
#define KF_PAGES_COUNTED_LOCK_H

#include "base/compiler.h"
#include "stats/stats.h"
#include "sys/lock.h"

#include "probes/konfiscator-probes.h"

/**
 * kf_counted_lock_take() - take a lock; a wait fires memory_arena_reuse_wait
 * @lock:	the lock
 * @arena:	address of the thread heap that it guards, 0 for none
 *
 * Context: as kf_lock_take(). Time is measured only while the probe is traced.
 * Return: true if the lock was taken; false while another thread forks.
 */
static inline bool kf_counted_lock_take(struct kf_lock *lock, uintptr_t arena)
{
	bool traced = kf_traces_memory_arena_reuse_wait();
	uint64_t waited_ns = 0;
	enum kf_lock_result r =
		kf_lock_take_timed(lock, traced ? &waited_ns : NULL);

	if (unlikely(r == KF_LOCK_WAITED)) {
		kf_word_add_atomic(KF_WORD_lock_contended, 1);
		kf_probe_memory_arena_reuse_wait((uintptr_t)lock, arena, 0,
						 waited_ns);
	}
	return r != KF_LOCK_FORKING;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock that is cheap enough to be read at each call, in ticks.
 *
 * It is the processor's time stamp counter where the kernel uses that as its
 * clock source: then the counter has a constant rate and is the same on all
 * processors. Elsewhere it is CLOCK_MONOTONIC. The length of a tick follows
 * from two readings of both clocks.
 */
#ifndef KF_SYS_CLOCK_H
#define KF_SYS_CLOCK_H

#include "base/compiler.h"
#include "sys/thread.h"

/* Whether ticks are those of the counter; constant after kf_clock_init(). */
extern bool kf_clock_is_tsc;

/**
 * kf_clock_init() - choose the clock
 *
 * Context: one thread at a time; a second call changes nothing.
 */
void kf_clock_init(void);

/* Whether kf_clock_ticks() reads the processor's counter. */
static inline bool kf_clock_is_cheap(void)
{
#if defined(__x86_64__)
	return likely(kf_clock_is_tsc);
#else
	return false;
#endif
}

/* The processor's counter, where kf_clock_is_cheap(). */
static inline uint64_t kf_clock_read(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* The counter as kf_clock_stamp() reads it, where kf_clock_is_cheap(). */
static inline uint64_t kf_clock_read_between(void)
{
#if defined(__x86_64__)
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = kf_clock_read();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return ticks;
#else
	return 0;
#endif
}

/* The time about now. */
static inline uint64_t kf_clock_ticks(void)
{
	return kf_clock_is_cheap() ? kf_clock_read() : kf_now_ns();
}

/*
 * The time after all earlier loads and before all later stores: the fence lets
 * the counter wait for earlier loads, and stores become visible in order.
 */
static inline uint64_t kf_clock_stamp(void)
{
	if (kf_clock_is_cheap())
		return kf_clock_read_between();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return kf_now_ns();
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock as one number.
 */
#ifndef KF_EXPORTER_CLOCK_H
#define KF_EXPORTER_CLOCK_H

#include <stdint.h>
#include <time.h>

/**
 * kf_clock_ns() - read a clock
 * @clock:	CLOCK_REALTIME, CLOCK_MONOTONIC, ...
 *
 * Return: nanoseconds.
 */
static inline uint64_t kf_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif

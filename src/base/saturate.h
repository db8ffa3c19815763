/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arithmetic with figures from files of other users. Results end at KF_MOST, so
 * that they fit in a signed number and the sum of two never wraps.
 */
#ifndef KF_BASE_SATURATE_H
#define KF_BASE_SATURATE_H

#include "base/compiler.h"

#include <stdint.h>

/* No true figure is as large: 100 GB a second for a year and a half. */
#define KF_MOST ((uint64_t)INT64_MAX / 2)

/**
 * kf_sum() - add two figures
 * @a:		a figure
 * @b:		a figure
 *
 * Context: anywhere.
 * Return: their sum, KF_MOST at most.
 */
static inline uint64_t kf_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? KF_MOST
						  : KF_MIN(sum, KF_MOST);
}

/**
 * kf_times() - multiply two figures
 * @a:		a figure
 * @b:		a figure
 *
 * Context: anywhere.
 * Return: their product, KF_MOST at most.
 */
static inline uint64_t kf_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product)
		       ? KF_MOST
		       : KF_MIN(product, KF_MOST);
}

#endif

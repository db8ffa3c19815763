/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arithmetic with figures that anybody may have written: it ends at KF_MOST,
 * so that what is made of it still has a sign, and the sum of two never wraps.
 */
#ifndef KF_BASE_SATURATE_H
#define KF_BASE_SATURATE_H

#include "base/compiler.h"

#include <stdint.h>

/* No true figure comes here: bytes at 100 GB a second for a year and a half. */
#define KF_MOST ((uint64_t)INT64_MAX / 2)

/**
 * kf_sum() - add two figures
 * @a:		the one
 * @b:		the other
 *
 * Context: anywhere.
 * Return: their sum; KF_MOST where it is more.
 */
static inline uint64_t kf_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? KF_MOST
						  : KF_MIN(sum, KF_MOST);
}

/**
 * kf_times() - multiply two figures
 * @a:		the one
 * @b:		the other
 *
 * Context: anywhere.
 * Return: their product; KF_MOST where it is more.
 */
static inline uint64_t kf_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product)
		       ? KF_MOST
		       : KF_MIN(product, KF_MOST);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arithmetic on powers of two.
 *
 * Pure functions of their arguments, one or two instructions each.
 */
#ifndef KF_BASE_BITS_H
#define KF_BASE_BITS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * kf_ilog2() - the logarithm to base 2, rounded down
 * @x:	the number, not 0
 *
 * Context: anywhere, signal handlers too.
 * Return: the index of the highest bit that is set in @x, 0 to 63.
 */
static inline unsigned int kf_ilog2(size_t x)
{
	return sizeof(x) * CHAR_BIT - 1 - (unsigned int)__builtin_clzl(x);
}

/**
 * kf_is_pow2() - whether a number is a power of two
 * @x:	the number
 *
 * Context: anywhere, signal handlers too.
 * Return: true for 1, 2, 4, ...; false for other numbers and 0.
 */
static inline bool kf_is_pow2(size_t x)
{
	return x && !(x & (x - 1));
}

/**
 * kf_pow2_up() - the next power of two
 * @x:	the number
 *
 * Context: anywhere, signal handlers too.
 * Return: the least power of two that is not below @x (1 for 0), or 0 when a
 *	   size_t cannot hold it.
 */
static inline size_t kf_pow2_up(size_t x)
{
	if (x <= 1)
		return 1;
	/* Two shifts, as one by the whole width would be undefined. */
	return (size_t)1 << kf_ilog2(x - 1) << 1;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Natural numbers of any size. Each result is a new block that the caller
 * frees; arguments stay as they are. No memory ends the program.
 */
#ifndef KF_BENCH_NATURAL_H
#define KF_BENCH_NATURAL_H

#include <stdint.h>

/* Digits to the base of 2^32, the lowest first; the highest is not 0. */
struct natural {
	uint32_t nr;
	uint32_t digits[];
};

/**
 * natural_new() - a number of at most one digit
 * @word:	the number
 *
 * Context: any thread, as all of these.
 * Return: the number.
 */
struct natural *natural_new(uint32_t word);

/**
 * natural_times() - a product
 * @a:		any number
 * @b:		any number
 *
 * Context: any thread.
 * Return: a * b.
 */
struct natural *natural_times(const struct natural *a, const struct natural *b);

/**
 * natural_plus() - a sum
 * @a:		any number
 * @word:	what is added; 0 makes a copy
 *
 * Context: any thread.
 * Return: a + word.
 */
struct natural *natural_plus(const struct natural *a, uint32_t word);

/**
 * natural_distance() - a difference
 * @a:		any number
 * @b:		any number
 *
 * Context: any thread.
 * Return: the larger less the smaller.
 */
struct natural *natural_distance(const struct natural *a,
				 const struct natural *b);

/**
 * natural_modulo() - the rest of a division
 * @a:		any number
 * @m:		not 0
 *
 * Context: any thread.
 * Return: a modulo m.
 */
struct natural *natural_modulo(const struct natural *a,
			       const struct natural *m);

/**
 * natural_divisor() - by Euclid's algorithm
 * @a:		any number
 * @b:		any number
 *
 * Context: any thread.
 * Return: the greatest common divisor of both.
 */
struct natural *natural_divisor(const struct natural *a,
				const struct natural *b);

#endif

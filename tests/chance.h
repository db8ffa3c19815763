/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers by chance that are the same in each run, for all tests in C.
 */
#ifndef KF_TESTS_CHANCE_H
#define KF_TESTS_CHANCE_H

#include <stdint.h>

/**
 * chance_next() - the next number of a sequence
 * @state:	the sequence; start with any number
 *
 * Context: any thread, with a state of its own.
 * Return: 64 bits.
 */
static inline uint64_t chance_next(uint64_t *state)
{
	/* splitmix64: small, and good from any seed on. */
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/**
 * chance_below() - a number below a limit
 * @state:	the sequence
 * @limit:	not 0
 *
 * Context: any thread, with a state of its own.
 * Return: 0 to @limit - 1.
 */
static inline uint64_t chance_below(uint64_t *state, uint64_t limit)
{
	return chance_next(state) % limit;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contents of blocks that can be told apart: word i of the pattern with a key
 * is key + i * STEP, and a last part of a word its first bytes. A beginning of
 * a pattern is the pattern of the shorter length. Addresses need no alignment.
 */
#ifndef KF_TESTS_PATTERN_H
#define KF_TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PATTERN_STEP 0x9e3779b97f4a7c15

/**
 * pattern_fill() - write the pattern of a key
 * @at:		where
 * @bytes:	how long
 * @key:	which
 *
 * Context: any thread that owns the bytes.
 */
static inline void pattern_fill(unsigned char *at, size_t bytes, uint64_t key)
{
	size_t done;

	for (done = 0; done + 8 <= bytes; done += 8, key += PATTERN_STEP)
		memcpy(at + done, &key, 8);
	if (bytes > done)
		memcpy(at + done, &key, bytes - done);
}

/**
 * pattern_holds() - whether the bytes are the pattern of a key
 * @at:		where
 * @bytes:	how long
 * @key:	which
 *
 * Context: any thread that may read the bytes.
 * Return: true if all of them are.
 */
static inline bool pattern_holds(const unsigned char *at, size_t bytes,
				 uint64_t key)
{
	uint64_t word, wrong = 0;
	size_t done;

	for (done = 0; done + 8 <= bytes; done += 8, key += PATTERN_STEP) {
		memcpy(&word, at + done, 8);
		wrong |= word ^ key;
	}
	return !wrong &&
	       (bytes == done || !memcmp(at + done, &key, bytes - done));
}

/**
 * pattern_is_zero() - whether all bytes are 0
 * @at:		where
 * @bytes:	how long
 *
 * Context: any thread that may read the bytes.
 * Return: true if they are.
 */
static inline bool pattern_is_zero(const unsigned char *at, size_t bytes)
{
	return !bytes || (!at[0] && !memcmp(at, at + 1, bytes - 1));
}

#endif

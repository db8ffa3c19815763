/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the fuzzers share. Each is a program of one function, which is given any
 * bytes and has to come back. `make fuzz` links libFuzzer to it; the tests
 * link standalone.c, which plays the kept inputs and neighbours of theirs.
 */
#ifndef KF_TESTS_FUZZ_H
#define KF_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest input of interest, bytes. */
#define FUZZ_MOST ((size_t)65536)

/* What is left of an input. */
struct fuzz_in {
	const uint8_t *at;
	size_t left;
};

/**
 * LLVMFuzzerTestOneInput() - try one input
 * @data:	the bytes
 * @size:	how many
 *
 * Context: one thread, again and again.
 * Return: 0; a fault ends the program.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/**
 * fuzz_number() - take a number from an input
 * @in:		the input
 * @bytes:	how many bytes it has, 1 to 8
 *
 * Context: any.
 * Return: the number, with zeroes where the input ends.
 */
uint64_t fuzz_number(struct fuzz_in *in, size_t bytes);

/**
 * fuzz_text() - take a text from an input
 * @in:		the input
 * @dst:	where to; ends in NUL
 * @size:	bytes at @dst, not 0
 *
 * It ends where the input has a NUL or ends, or @dst is full.
 *
 * Context: any.
 */
void fuzz_text(struct fuzz_in *in, char *dst, size_t size);

/**
 * fuzz_file() - make a file of bytes
 * @data:	the bytes
 * @size:	how many
 *
 * Context: one thread. It is the same file each time, with other bytes.
 * Return: a path to it.
 */
const char *fuzz_file(const uint8_t *data, size_t size);

/**
 * fuzz_sparse() - make a file that is mostly zeroes
 * @data:	pairs of a place and what is there: the place as a number of 3
 *		bytes, a length of 2, and the bytes; sparse.py writes such
 * @size:	bytes at @data
 *
 * So that a file which has its tables far apart is a small input.
 *
 * Context: as fuzz_file().
 * Return: a path to it.
 */
const char *fuzz_sparse(const uint8_t *data, size_t size);

/**
 * fuzz_directory() - the fuzzer's own directory
 *
 * Removed when the program ends by itself.
 *
 * Context: one thread.
 * Return: its path.
 */
const char *fuzz_directory(void);

/**
 * fuzz_write() - a file in the fuzzer's directory
 * @name:	its name; directories in it are made
 * @data:	its bytes
 * @size:	how many
 *
 * Context: one thread.
 */
void fuzz_write(const char *name, const void *data, size_t size);

/**
 * fuzz_change() - change a file as an input says, up to the next look at it
 * @in:		the input. Of each change the first byte, modulo 8: 0 to 3 write
 *		a piece as of fuzz_sparse(), 4 cuts or grows to a place of 3
 *		bytes, 5 puts a copy of the file in its place, 6 an empty one,
 *		and 7 is the look
 * @name:	the file, in the fuzzer's directory; made where it is not there
 *
 * Context: one thread.
 * Return: whether there was something left of the input.
 */
bool fuzz_change(struct fuzz_in *in, const char *name);

/**
 * fuzz_require() - end the program unless something holds
 * @holds:	whether it does
 * @what:	the line that says what does not
 *
 * Context: any.
 */
void fuzz_require(bool holds, const char *what);

#endif

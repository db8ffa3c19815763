/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of src/reader share: a directory of their own with fixture
 * files in it.
 */
#ifndef KF_TESTS_READER_SUPPORT_H
#define KF_TESTS_READER_SUPPORT_H

#include "reader/reader.h"
#include "tests/fixture/stats-file.h"

extern char support_dir[64];

/**
 * support_begin() - make the directory; it goes when the test ends
 *
 * Context: once, at the head of a test.
 */
void support_begin(void);

/**
 * support_write() - write a file into the directory
 * @f:		the file
 * @name:	its name
 *
 * Context: one thread; fails the test where it cannot.
 */
void support_write(const struct fixture *f, const char *name);

/**
 * support_bytes() - write any bytes into the directory
 * @bytes:	the bytes
 * @size:	how many
 * @name:	the file's name
 *
 * Context: one thread; fails the test where it cannot.
 */
void support_bytes(const void *bytes, size_t size, const char *name);

/**
 * support_text() - write a text into the directory
 * @text:	the text
 * @name:	the file's name; directories on the way are made
 *
 * Context: one thread; fails the test where it cannot.
 */
void support_text(const char *text, const char *name);

/**
 * support_path() - a path in the directory
 * @name:	the file's name
 *
 * Context: one thread; overwritten by the next call.
 * Return: the path.
 */
const char *support_path(const char *name);

/**
 * support_result() - what the reader says of a file in the directory
 * @name:	the file's name
 *
 * Context: one thread.
 * Return: the result; the snapshot is released.
 */
enum kf_read_result support_result(const char *name);

/**
 * support_find() - all files of the directory
 * @files:	out; release them
 *
 * Context: one thread; fails the test where it cannot.
 */
void support_find(struct kf_files *files);

#endif

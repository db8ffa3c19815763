/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inputs and files of fuzzers: see fuzz.h.
 */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define MAX_CHANGES 64 /* between two looks: copies take time */

static char directory[64];

uint64_t fuzz_number(struct fuzz_in *in, size_t bytes)
{
	uint64_t n = 0;

	bytes = bytes < in->left ? bytes : in->left;
	memcpy(&n, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return n;
}

void fuzz_text(struct fuzz_in *in, char *dst, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && in->left) {
		char c = (char)fuzz_number(in, 1);

		if (!c)
			break;
		dst[len++] = c;
	}
	dst[len] = '\0';
}

void fuzz_require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	return remove(path);
}

static void remove_all(void)
{
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_directory(void)
{
	const char *base = getenv("TMPDIR");

	if (*directory)
		return directory;
	snprintf(directory, sizeof(directory), "%s/fuzz.XXXXXX",
		 base && strlen(base) < 48 ? base : "/tmp");
	fuzz_require(mkdtemp(directory), "no directory for files");
	atexit(remove_all);
	return directory;
}

/* The directories that a path below ours names. */
static void make_parents(char *path)
{
	char *slash = path + strlen(fuzz_directory());

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

void fuzz_write(const char *name, const void *data, size_t size)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), name);
	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size,
		     "a file cannot be written");
	close(fd);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[PATH_MAX];

	fuzz_write("input", data, size);
	snprintf(path, sizeof(path), "%s/input", fuzz_directory());
	return path;
}

const char *fuzz_sparse(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(NULL, 0);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct fuzz_in in = {data, size};

	fuzz_require(fd >= 0, "a file cannot be written");
	while (in.left) {
		off_t at = (off_t)fuzz_number(&in, 3);
		size_t nr = fuzz_number(&in, 2);

		nr = nr < in.left ? nr : in.left;
		/* Nothing is only a length: the file is as long as this. */
		if (!nr && ftruncate(fd, at))
			break;
		if (nr && pwrite(fd, in.at, nr, at) != (ssize_t)nr)
			break;
		in.at += nr;
		in.left -= nr;
	}
	close(fd);
	return path;
}

static void patch(struct fuzz_in *in, int fd)
{
	off_t at = (off_t)fuzz_number(in, 3);
	size_t nr = fuzz_number(in, 2);

	nr = nr < in->left ? nr : in->left;
	if (nr && pwrite(fd, in->at, nr, at) < 0)
		fuzz_require(false, "a file cannot be written");
	in->at += nr;
	in->left -= nr;
}

/* Another file of the name, with what is in @fd or with nothing. */
static int replace(int fd, const char *path, bool copy)
{
	char beside[PATH_MAX], some[4096];
	off_t at = 0;
	ssize_t n;
	int to;

	snprintf(beside, sizeof(beside), "%s/.beside", fuzz_directory());
	to = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_require(to >= 0, "a file cannot be made");
	while (copy && (n = pread(fd, some, sizeof(some), at)) > 0) {
		fuzz_require(pwrite(to, some, (size_t)n, at) == n,
			     "a file cannot be written");
		at += n;
	}
	fuzz_require(!rename(beside, path), "a file cannot be renamed");
	close(fd);
	return to;
}

bool fuzz_change(struct fuzz_in *in, const char *name)
{
	char path[PATH_MAX];
	int fd, what = -1;

	if (!in->left)
		return false;
	snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fuzz_require(fd >= 0, "a file cannot be opened");
	for (int nr = 0; nr < MAX_CHANGES && in->left && what != 7; nr++) {
		what = (int)(fuzz_number(in, 1) % 8);
		if (what < 4)
			patch(in, fd);
		else if (what == 4)
			fuzz_require(!ftruncate(fd, (off_t)fuzz_number(in, 3)),
				     "a file cannot be cut");
		else if (what < 7)
			fd = replace(fd, path, what == 5);
	}
	close(fd);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See support.h.
 */
#include "config.h"

#include "tests/unit/reader/support.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char support_dir[64];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	return remove(path);
}

static void support_end(void)
{
	if (getpid() == owner)
		nftw(support_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void support_begin(void)
{
	snprintf(support_dir, sizeof(support_dir),
		 "/tmp/konfiscator-reader.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(support_dir));
	owner = getpid();
	atexit(support_end);
}

const char *support_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", support_dir, name);
	return path;
}

void support_write(const struct fixture *f, const char *name)
{
	ck_assert_int_eq(fixture_write(f, support_path(name)), 0);
}

void support_bytes(const void *bytes, size_t size, const char *name)
{
	int fd = open(support_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

void support_text(const char *text, const char *name)
{
	char dir[64];

	for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(at - name), name);
		if (mkdir(support_path(dir), 0700))
			ck_assert_int_eq(errno, EEXIST);
	}
	support_bytes(text, strlen(text), name);
}

enum kf_read_result support_result(const char *name)
{
	struct kf_snapshot s;
	enum kf_read_result result;

	result = kf_snapshot_read(AT_FDCWD, support_path(name), &s);
	ck_assert_int_eq(s.result, result);
	kf_snapshot_release(&s);
	return result;
}

void support_find(struct kf_files *files)
{
	const char *dirs[] = {support_dir, NULL};
	struct kf_find find = {.dirs = dirs};

	ck_assert_int_eq(kf_files_find(&find, files), 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * To replace a file: write PATH.new, sync it, rename it. To append: write and
 * sync.
 */
#include "config.h"

#include "exporter/replace.h"

#include "reader/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A rename is durable only after the directory is synced. */
static int file_sync_dir(int dirfd)
{
	int rc = fsync(dirfd);

	/* some file systems cannot sync a directory */
	return rc != 0 && errno == EINVAL ? 0 : rc;
}

static int file_write_new(int dirfd, const char *name, mode_t mode,
			  const char *data, size_t len)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd, rc;

	/* a file of this name is left over from a crash */
	unlinkat(dirfd, name, 0);
	fd = openat(dirfd, name, flags, mode);
	if (fd < 0)
		return -1;
	rc = file_write_all(fd, data, len);
	if (rc == 0)
		rc = fsync(fd);
	if (rc != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return close(fd);
}

static int file_replace_at(int dirfd, const char *name, mode_t mode,
			   const char *data, size_t len)
{
	char beside[NAME_MAX + 1];
	struct stat st;
	int error;

	/* do not replace a device or a directory */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	if (snprintf(beside, sizeof(beside), "%s.new", name) >=
	    (int)sizeof(beside)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (file_write_new(dirfd, beside, mode, data, len) == 0 &&
	    renameat(dirfd, beside, dirfd, name) == 0)
		return file_sync_dir(dirfd);
	error = errno;
	unlinkat(dirfd, beside, 0);
	errno = error;
	return -1;
}

int kf_file_replace(const char *path, mode_t mode, const char *data, size_t len)
{
	const char *name;
	int dirfd = kf_place_of(path, &name);
	int error, rc;

	if (dirfd < 0)
		return -1;
	rc = file_replace_at(dirfd, name, mode, data, len);
	error = errno;
	close(dirfd);
	errno = error;
	return rc;
}

int kf_file_open_trusted(const char *path, int flags, mode_t mode)
{
	char *name;
	int dirfd = kf_place_to_write(path, &name);
	int fd, error;

	if (dirfd < 0)
		return -1;
	fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	error = errno;
	close(dirfd);
	free(name);
	errno = error;
	return fd;
}

int kf_file_move_aside(const char *path, const char *suffix)
{
	char aside[NAME_MAX + 1];
	const char *name;
	int dirfd = kf_place_of(path, &name);
	int error, rc = -1;

	if (dirfd < 0)
		return -1;
	if (snprintf(aside, sizeof(aside), "%s%s", name, suffix) <
	    (int)sizeof(aside))
		rc = renameat(dirfd, name, dirfd, aside);
	else
		errno = ENAMETOOLONG;
	error = errno;
	close(dirfd);
	errno = error;
	return rc;
}

int kf_file_append(int fd, const char *data, size_t len)
{
	return file_write_all(fd, data, len) == 0 ? fdatasync(fd) : -1;
}

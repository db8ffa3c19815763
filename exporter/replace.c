/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replacing a file: written beside, made durable, renamed over it. Adding to
 * it: written, made durable.
 */
#include "config.h"

#include "exporter/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const char *data, size_t len)
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

/* The rename is durable only once the directory is. */
static int sync_dir(const char *path)
{
	char *copy = strdup(path);
	int fd, rc;

	if (!copy)
		return -1;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	/* some file systems cannot sync a directory: nothing more to do */
	if (rc != 0 && errno == EINVAL)
		rc = 0;
	close(fd);
	return rc;
}

int kf_file_replace(const char *path, mode_t mode, const char *data, size_t len)
{
	char beside[4096];
	int fd, error, rc;
	struct stat st;

	/* a device or a directory that somebody named stays what it is */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISLNK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	if (snprintf(beside, sizeof(beside), "%s.new", path) >=
	    (int)sizeof(beside)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* whatever bears the name is a crash's leftover */
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	rc = write_all(fd, data, len);
	if (rc == 0)
		rc = fsync(fd);
	error = errno;
	if (close(fd) != 0 && rc == 0) {
		error = errno;
		rc = -1;
	}
	if (rc == 0 && rename(beside, path) == 0)
		return sync_dir(path);
	if (rc == 0)
		error = errno;
	unlink(beside);
	errno = error;
	return -1;
}

int kf_file_append(int fd, const char *data, size_t len)
{
	return write_all(fd, data, len) == 0 ? fdatasync(fd) : -1;
}

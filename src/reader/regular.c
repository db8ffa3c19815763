/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See regular.h.
 */
#include "config.h"

#include "reader/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Opens the file of the O_PATH descriptor @at, and closes @at. */
static int open_found(int at)
{
	char self[32];
	int fd = -1, error;
	struct stat st;

	if (at < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	if (fstat(at, &st) == 0) {
		errno = ENOTSUP;
		if (S_ISREG(st.st_mode))
			fd = openat(AT_FDCWD, self, FLAGS);
	}
	error = errno;
	close(at);
	errno = error;
	return fd;
}

int kf_regular_open(const char *path)
{
	return open_found(openat(AT_FDCWD, path, O_PATH | O_CLOEXEC));
}

static int regular_open_below(const char *root, const char *path,
			      uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int dir = openat(AT_FDCWD, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int at, error;

	if (dir < 0)
		return -1;
	at = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	error = errno;
	close(dir);
	errno = error;
	return open_found(at);
}

int kf_regular_open_in(const char *root, const char *path)
{
	return regular_open_below(root, path, 0);
}

int kf_regular_open_no_link(const char *root, const char *path)
{
	return regular_open_below(root, path, O_NOFOLLOW);
}

bool kf_data_find(int fd, uint64_t *begin, uint64_t *end)
{
	off_t data = lseek(fd, (off_t)*begin, SEEK_DATA), hole;
	struct stat st;

	if (data < 0 && errno == ENXIO)
		return false;
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	if (hole < 0) {
		*end = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
		return *begin < *end;
	}
	*begin = (uint64_t)data;
	*end = (uint64_t)hole;
	return true;
}

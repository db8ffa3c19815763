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

/* Opens what @at, which is closed, was found to be. */
static int open_found(int at)
{
	char self[32];
	int fd = -1, error;
	struct stat st;

	if (at < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	if (fstat(at, &st) == 0) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP;
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

int kf_regular_open_in(const char *root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
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

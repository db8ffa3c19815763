/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See guard.h. This open() replaces libc's for the libraries of the program,
 * too.
 */
#include "config.h"

#include "reader/guard.h"

#include "reader/regular.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

static _Thread_local int guard_fd;

void kf_guard_begin(void)
{
	guard_fd++;
}

void kf_guard_end(void)
{
	guard_fd--;
}

static int guard_open_file(const char *path, int flags, mode_t mode)
{
	if (guard_fd && (flags & (O_ACCMODE | O_CREAT | O_PATH)) == O_RDONLY &&
	    !(flags & O_DIRECTORY))
		return kf_regular_open(path);
	return openat(AT_FDCWD, path, flags, mode);
}

#define KF_OPEN(name)                                                      \
	__attribute__((visibility("default"))) int name(const char *path,  \
							int flags, ...)    \
	{                                                                  \
		mode_t mode = 0;                                           \
		va_list args;                                              \
                                                                           \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
			va_start(args, flags);                             \
			mode = va_arg(args, mode_t);                       \
			va_end(args);                                      \
		}                                                          \
		return guard_open_file(path, flags, mode);                 \
	}

KF_OPEN(open)
KF_OPEN(open64)

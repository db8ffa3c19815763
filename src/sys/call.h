/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls without libc's wrappers.
 *
 * A wrapper may be a cancellation point, or be another preloaded library's
 * that allocates; this is neither. errno is kept, a failure is the negative
 * errno as inside the kernel. Which call is made is left to the rooms of this
 * layer.
 */
#ifndef KF_SYS_CALL_H
#define KF_SYS_CALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long kf_sys_result(long result, int saved)
{
	if (result == -1) {
		result = -errno;
		errno = saved;
	}
	return result;
}

/*
 * kf_sys() - make a system call: its number, then its arguments
 *
 * Context: any, signal handlers too. Keeps errno.
 * Return: what the kernel returned, a failure as its negative errno.
 */
#define kf_sys(...)                                                \
	({                                                         \
		int kf_sys_saved = errno;                          \
		kf_sys_result(syscall(__VA_ARGS__), kf_sys_saved); \
	})

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much this process has, by the kernel's count, asked without allocating.
 */
#ifndef KF_TESTS_SPACE_H
#define KF_TESTS_SPACE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* The fields of /proc/self/statm that tests ask for. */
enum space { SPACE_MAPPED, SPACE_RESIDENT };

/**
 * space_bytes() - what this process has of one kind
 * @which:	addresses, or RAM
 *
 * Context: any thread.
 * Return: bytes, or 0 where the kernel does not say.
 */
static inline size_t space_bytes(enum space which)
{
	char text[128] = "";
	char *at = text;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (nr <= 0)
		return 0;
	if (which == SPACE_RESIDENT)
		strtoul(text, &at, 10);
	return strtoul(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

#endif

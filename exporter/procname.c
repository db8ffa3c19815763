/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names from procfs. All of it may be gone at the next look, and the name of
 * a process is whatever the process says: raw bytes, to be cleaned by others.
 */
#include "config.h"

#include "exporter/procname.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ID_DIGITS 64
#define SHORT_ID 12

static bool read_text(const char *procfs, int pid, const char *name, char *buf,
		      size_t size)
{
	char path[4096];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/%s", procfs, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	buf[len] = '\0';
	return len > 0;
}

bool kf_proc_comm(const char *procfs, int pid, char comm[64])
{
	char buf[64];
	size_t len;

	if (!read_text(procfs, pid, "comm", buf, sizeof(buf)))
		return false;
	/* a newline ends it, but it may hold others */
	len = strlen(buf);
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	memcpy(comm, buf, sizeof(buf));
	return true;
}

void kf_container_id(const char *text, char out[KF_CONTAINER_SIZE])
{
	size_t run = 0;

	out[0] = '\0';
	for (; *text; text++) {
		run = isxdigit((unsigned char)*text) ? run + 1 : 0;
		if (run != ID_DIGITS)
			continue;
		/* a part of a path ends here, perhaps as a scope's name */
		if (!text[1] || strchr("/\n.:", text[1])) {
			memcpy(out, text + 1 - ID_DIGITS, SHORT_ID);
			out[SHORT_ID] = '\0';
		}
	}
}

void kf_proc_container(const char *procfs, int pid, char out[KF_CONTAINER_SIZE])
{
	char buf[8192];

	out[0] = '\0';
	if (read_text(procfs, pid, "cgroup", buf, sizeof(buf)))
		kf_container_id(buf, out);
}

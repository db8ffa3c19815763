/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about a process from procfs: see proc.h.
 */
#include "config.h"

#include "base/text.h"
#include "reader/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID_DIGITS (KF_CONTAINER_ID - 1)

ssize_t kf_proc_read(int dirfd, const char *name, char *buf, size_t size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	buf[n < 0 ? 0 : len] = '\0';
	return n < 0 ? -1 : (ssize_t)len;
}

ssize_t kf_proc_text(const char *procfs, int pid, const char *name, char *buf,
		     size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/%s", procfs, pid, name);
	return kf_proc_read(AT_FDCWD, path, buf, size);
}

ssize_t kf_proc_read_once(int dirfd, const char *name, char *buf, size_t size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

/* PID/NAME, or PID alone. */
static void proc_make_path(char *text, size_t size, int pid, const char *name)
{
	struct kf_text path;

	kf_text_init(&path, text, size);
	kf_text_i64(&path, pid);
	if (name)
		kf_text_char(&path, '/');
	kf_text_str(&path, name ? name : "");
}

ssize_t kf_proc_line(int procfd, int pid, const char *name, char *buf,
		     size_t size)
{
	char path[64];

	proc_make_path(path, sizeof(path), pid, name);
	return kf_proc_read_once(procfd, path, buf, size);
}

int kf_proc_open(int procfd, int pid)
{
	char path[64];

	proc_make_path(path, sizeof(path), pid, NULL);
	return openat(procfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void kf_proc_memory(const char *procfs, int pid, struct kf_proc_memory *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long all, resident, shared;
	char text[128];

	*m = (struct kf_proc_memory){0};
	if (!pid || kf_proc_text(procfs, pid, "statm", text, sizeof(text)) < 0)
		return;
	if (sscanf(text, "%llu %llu %llu", &all, &resident, &shared) != 3)
		return;
	m->all = all * page;
	m->resident = resident * page;
	m->shared = shared * page;
}

bool kf_proc_comm(const char *procfs, int pid, char comm[KF_PROC_COMM])
{
	char buf[KF_PROC_COMM];
	ssize_t len = kf_proc_text(procfs, pid, "comm", buf, sizeof(buf));

	if (len <= 0)
		return false;
	/* the file ends in a newline, but the name may have newlines too */
	if (buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	memcpy(comm, buf, sizeof(buf));
	return true;
}

void kf_container_in(const char *text, char id[KF_CONTAINER_ID])
{
	size_t run = 0;

	id[0] = '\0';
	for (const char *p = text; *p; p++) {
		run = isxdigit((unsigned char)*p) ? run + 1 : 0;
		if (run != ID_DIGITS)
			continue;
		/* the end of a path component, or of a scope's name */
		if (!p[1] || strchr("/\n.:", p[1])) {
			memcpy(id, p + 1 - ID_DIGITS, ID_DIGITS);
			id[ID_DIGITS] = '\0';
		}
	}
}

void kf_proc_container(const char *procfs, int pid, char id[KF_CONTAINER_ID])
{
	char text[8192];

	kf_proc_text(procfs, pid, "cgroup", text, sizeof(text));
	kf_container_in(text, id);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A path of the library that another process can load: see attach.h.
 *
 * What another process has mounted is not trusted: its directories are opened
 * below its root, without links, and a copy is a new file.
 */
#include "config.h"

#include "cli/attach.h"

#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define COPY_PREFIX "libkonfiscator.so.attached-"

/* Below the root, so that no link leads out of it. */
static const char *const place_dirs[] = {"tmp", "run", "dev"};

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool is_same_view(int32_t pid)
{
	char *mounts = kf_format("/proc/%d/ns/mnt", pid);
	char *root = kf_format("/proc/%d/root/.", pid);
	bool same = is_same_file(mounts, "/proc/self/ns/mnt") &&
		    is_same_file(root, "/");

	free(mounts);
	free(root);
	return same;
}

/* Whether all may read a file: it, and each directory above it. */
static bool all_may_read(const char *path)
{
	char *part = kf_format("%s", path);
	struct stat st;
	bool may = !stat(part, &st) && st.st_mode & S_IROTH;
	char *slash;

	while (may && (slash = strrchr(part, '/'))) {
		*slash = '\0';
		may = !stat(*part ? part : "/", &st) && st.st_mode & S_IXOTH;
	}
	free(part);
	return may;
}

static bool is_our_user(int32_t pid)
{
	char *path = kf_format("/proc/%d", pid);
	struct stat st;
	bool ours = !stat(path, &st) && st.st_uid == geteuid();

	free(path);
	return ours;
}

static bool copy_into(int to, const char *library)
{
	int from = open(library, O_RDONLY | O_CLOEXEC);
	ssize_t n = from < 0 ? -1 : 1;

	while (n > 0)
		n = sendfile(to, from, NULL, 1 << 20);
	if (from >= 0)
		close(from);
	return !n && !fchmod(to, 0755);
}

/* Returns the name of the copy, to free(); NULL with errno. */
static char *copy_in(int dir, const char *library)
{
	uint64_t random = 0;
	struct statvfs fs;
	char *name;
	int fd;

	if (fstatvfs(dir, &fs) || fs.f_flag & ST_NOEXEC) {
		errno = EACCES;
		return NULL;
	}
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	name = kf_format(COPY_PREFIX "%016llx", (unsigned long long)random);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && copy_into(fd, library)) {
		close(fd);
		return name;
	}
	if (fd >= 0) {
		unlinkat(dir, name, 0);
		close(fd);
	}
	free(name);
	return NULL;
}

static int open_root(int32_t pid)
{
	char *path = kf_format("/proc/%d/root", pid);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	free(path);
	return fd;
}

static char *place_copy(int32_t pid, const char *library)
{
	int root = open_root(pid);
	char *path = NULL;

	for (size_t i = 0; i < KF_ARRAY_SIZE(place_dirs) && !path; i++) {
		int dir = root < 0 ? -1
				   : openat(root, place_dirs[i],
					    O_RDONLY | O_DIRECTORY |
						    O_NOFOLLOW | O_CLOEXEC);
		char *name = dir < 0 ? NULL : copy_in(dir, library);

		if (name)
			path = kf_format("/%s/%s", place_dirs[i], name);
		free(name);
		if (dir >= 0)
			close(dir);
	}
	if (root >= 0)
		close(root);
	return path;
}

char *kf_attach_place(int32_t pid, const char *library)
{
	char *path;

	if (is_same_view(pid) && (is_our_user(pid) || all_may_read(library)))
		return kf_format("%s", library);
	path = place_copy(pid, library);
	if (!path)
		kf_error("attach: the library cannot be copied to where "
			 "process %d can load it: its /tmp, /run and /dev are "
			 "not writable, or are mounted noexec",
			 pid);
	return path;
}

void kf_attach_unplace(int32_t pid, const char *mapped)
{
	const char *slash = strrchr(mapped, '/');
	int root = open_root(pid), dir = -1;
	char *above;

	if (slash && !strncmp(slash + 1, COPY_PREFIX, strlen(COPY_PREFIX))) {
		above = kf_format("%.*s", (int)(slash - mapped), mapped);
		if (root >= 0)
			dir = openat(root, above[0] ? above + 1 : ".",
				     O_PATH | O_DIRECTORY | O_NOFOLLOW |
					     O_CLOEXEC);
		if (dir >= 0) {
			unlinkat(dir, slash + 1, 0);
			close(dir);
		}
		free(above);
	}
	if (root >= 0)
		close(root);
}

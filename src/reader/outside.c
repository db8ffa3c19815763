/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes of other mount namespaces: see outside.h.
 */
#include "config.h"

#include "reader/outside.h"

#include "reader/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct look {
	int procfd;
	uint64_t own_ns;
	unsigned int *hidden;
	kf_outside_dir *dir;
	void *ctx;
};

static bool mount_hides(int error)
{
	return error == EACCES || error == EPERM;
}

/* The inode of a process' mount namespace; 0: ended, or not readable. */
static uint64_t mount_ns(const struct look *l, const char *pid)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "%s/ns/mnt", pid);
	if (fstatat(l->procfd, name, &st, 0) == 0)
		return (uint64_t)st.st_ino;
	*l->hidden += mount_hides(errno);
	return 0;
}

/*
 * Whether a line of maps looks like a stats file's: a shared mapping of an
 * existing file named COMM.PID.RANDOM. Reading the file decides.
 * Return: its path within the line, or NULL.
 */
static char *stats_path(char *line)
{
	char flags[5], *path = strchr(line, '/'), *base, *dot, *end;

	if (!path || sscanf(line, "%*s %4s", flags) != 1 || flags[3] != 's')
		return NULL;
	path[strcspn(path, "\n")] = '\0';
	base = strrchr(path, '/') + 1;
	dot = strrchr(base, '.');
	if (!dot || !dot[1] || strchr(dot, ' '))
		return NULL;
	for (end = dot; end > base && isdigit((unsigned char)end[-1]); end--)
		;
	return end < dot && end > base + 1 && end[-1] == '.' ? path : NULL;
}

/* Opens a directory below the process' root, following links. */
static int open_below(const struct look *l, const char *pid, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "%s/root", pid);
	root = openat(l->procfd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		*l->hidden += mount_hides(errno);
		return -1;
	}
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		*l->hidden += mount_hides(errno) || errno == ENOSYS;
	close(root);
	return fd;
}

/*
 * A path of another namespace begins at that namespace's root, which is not the
 * process' own after chroot(2).
 */
static void outside_strip_root(const struct look *l, const char *pid,
			       char *path)
{
	char name[32], root[4096];
	ssize_t len;

	snprintf(name, sizeof(name), "%s/root", pid);
	len = readlinkat(l->procfd, name, root, sizeof(root));
	if (len > 1 && len < (ssize_t)sizeof(root) &&
	    !strncmp(path, root, (size_t)len) && path[len] == '/')
		memmove(path, path + len, strlen(path + len) + 1);
}

static int give_dir(struct look *l, const char *pid, uint64_t ns, char *path)
{
	char name[KF_OUTSIDE_NAME];
	int fd;

	outside_strip_root(l, pid, path);
	*strrchr(path, '/') = '\0';
	fd = open_below(l, pid, *path ? path : "/");
	if (fd < 0)
		return 0;
	snprintf(name, sizeof(name), "mnt:[%llu]%s", (unsigned long long)ns,
		 path);
	return l->dir(l->ctx, fd, name);
}

/* The path of the stats file that a process maps, to free(), or NULL. */
static char *outside_path(const struct look *l, const char *pid)
{
	char name[32], *line = NULL, *path = NULL;
	size_t size = 0;
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%s/maps", pid);
	fd = openat(l->procfd, name, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f) {
		*l->hidden += fd < 0 && mount_hides(errno);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	/* a process has one stats file */
	while (!path && getline(&line, &size, f) > 0)
		path = stats_path(line);
	path = path && strlen(path) < 4096 ? strdup(path) : NULL;
	free(line);
	fclose(f);
	return path;
}

static int outside_look_at(struct look *l, const char *pid)
{
	uint64_t ns = mount_ns(l, pid);
	char *path = ns && ns != l->own_ns ? outside_path(l, pid) : NULL;
	int rc = path ? give_dir(l, pid, ns, path) : 0;

	free(path);
	return rc;
}

static bool open_procfs(struct look *l, const char *procfs)
{
	struct stat st;

	*l->hidden = 0;
	l->procfd = open(procfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->procfd < 0)
		return false;
	if (fstatat(l->procfd, "self/ns/mnt", &st, 0) == 0)
		l->own_ns = (uint64_t)st.st_ino;
	return true;
}

int kf_outside_of(const char *procfs, int pid, unsigned int *hidden,
		  struct kf_outside *found)
{
	struct look l = {.hidden = hidden};
	char name[16], *path;
	uint64_t ns;

	found->fd = -1;
	if (!open_procfs(&l, procfs))
		return -1;
	snprintf(name, sizeof(name), "%d", pid);
	ns = mount_ns(&l, name);
	path = ns ? outside_path(&l, name) : NULL;
	found->outside = ns != l.own_ns;
	if (path && found->outside)
		outside_strip_root(&l, name, path);
	if (path)
		*strrchr(path, '/') = '\0';
	if (path && found->outside) {
		snprintf(found->name, sizeof(found->name), "%s/%s/root%s",
			 procfs, name, path);
		found->fd = open_below(&l, name, *path ? path : "/");
	} else if (path) {
		snprintf(found->name, sizeof(found->name), "%s", path);
		found->fd = kf_place_open(*path ? path : "/");
	}
	free(path);
	close(l.procfd);
	return found->fd < 0 ? -1 : 0;
}

int kf_outside_find(const char *procfs, unsigned int *hidden,
		    kf_outside_dir *dir, void *ctx)
{
	struct look l = {.hidden = hidden, .dir = dir, .ctx = ctx};
	struct dirent *de;
	int rc = 0;
	DIR *d;

	if (!open_procfs(&l, procfs))
		return 0;
	d = fdopendir(l.procfd);
	if (!d) {
		close(l.procfd);
		return 0;
	}
	while (l.own_ns && !rc && (de = readdir(d))) {
		if (isdigit((unsigned char)de->d_name[0]) &&
		    strlen(de->d_name) < 12)
			rc = outside_look_at(&l, de->d_name);
	}
	closedir(d);
	return rc;
}

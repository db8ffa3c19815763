/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directories of stats files: see place.h.
 */
#include "config.h"

#include "reader/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40

/* The state of a path walk. */
struct way {
	int fd; /* the current directory, O_PATH; -1: none */
	unsigned int links;
	bool elsewhere; /* the walk went through a link of procfs */
};

static int way_walk(struct way *w, const char *path);

static void way_reach(struct way *w, int fd)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
}

static int way_start(struct way *w, const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".",
		      O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	way_reach(w, fd);
	return 0;
}

static bool place_is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/*
 * Whether a link is root's or the caller's. For root the owner of the link is
 * not enough: without protected hard links, anyone can link root's link into a
 * world-writable directory.
 */
static bool is_trusted(const struct way *w, const struct stat *link)
{
	struct stat dir;

	if (!place_is_ours(link) || geteuid())
		return place_is_ours(link);
	return !fstat(w->fd, &dir) && place_is_ours(&dir) &&
	       !(dir.st_mode & (S_IWGRP | S_IWOTH));
}

bool kf_place_is_proc(int dirfd)
{
	struct statfs fs;

	return !fstatfs(dirfd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Reads where a link leads; an absolute one begins at the root. */
static int read_link(struct way *w, int link, char text[PATH_MAX])
{
	ssize_t n = readlinkat(link, "", text, PATH_MAX - 1);

	if (n < 0)
		return -1;
	text[n] = '\0';
	return text[0] == '/' ? way_start(w, text) : 0;
}

/* Users cannot make links in procfs, and their text is not their target. */
static int follow_proc(struct way *w, const char *name)
{
	int fd = openat(w->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	w->elsewhere = true;
	way_reach(w, fd);
	return 0;
}

static int way_follow(struct way *w, const char *name, int link,
		      const struct stat *st)
{
	char text[PATH_MAX];

	if (kf_place_is_proc(w->fd))
		return follow_proc(w, name);
	if (w->elsewhere || ++w->links > MAX_LINKS || !is_trusted(w, st)) {
		errno = ELOOP;
		return -1;
	}
	return read_link(w, link, text) ? -1 : way_walk(w, text);
}

static int way_step(struct way *w, const char *name)
{
	int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return -1;
	rc = fstat(fd, &st);
	if (!rc && !S_ISLNK(st.st_mode)) {
		way_reach(w, fd);
		return 0;
	}
	if (!rc)
		rc = way_follow(w, name, fd, &st);
	close(fd);
	return rc;
}

static int way_walk(struct way *w, const char *path)
{
	char name[NAME_MAX + 1];
	int rc = 0;

	while (!rc && *(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");

		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		rc = way_step(w, name);
	}
	return rc;
}

/* The user in the name of a directory; false: no user in it. */
static bool user_of(const char *path, uint32_t *user)
{
	static const char *const patterns[] = {"/tmp/konfiscator-stats-%u%n",
					       "/run/user/%u/konfiscator%n"};

	for (size_t i = 0; i < KF_ARRAY_SIZE(patterns); i++) {
		int end = 0;

		if (sscanf(path, patterns[i], user, &end) == 1 && end &&
		    !path[end])
			return true;
	}
	return false;
}

static bool may_use(const char *path, int fd)
{
	struct stat st;
	uint32_t user;

	if (fstat(fd, &st))
		return false;
	if (!user_of(path, &user) || st.st_uid == user || place_is_ours(&st))
		return true;
	errno = EPERM;
	return false;
}

int kf_place_open(const char *path)
{
	struct way w = {.fd = -1};
	int error, fd = -1;

	if (!*path) {
		errno = ENOENT;
		return -1;
	}
	if (!way_start(&w, path) && !way_walk(&w, path))
		fd = openat(w.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = errno;
	if (w.fd >= 0)
		close(w.fd);
	errno = error;
	if (fd >= 0 && !may_use(path, fd)) {
		error = errno;
		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

int kf_place_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *dir;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!slash)
		return kf_place_open(".");
	dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!dir)
		return -1;
	fd = kf_place_open(dir);
	free(dir);
	return fd;
}

/* Returns 1 if @name is a link to follow, with its text; 0 if not; -1. */
static int next_text(struct way *w, const char *name, char text[PATH_MAX])
{
	int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (!fstat(fd, &st) && S_ISLNK(st.st_mode) && !w->elsewhere &&
	    !kf_place_is_proc(w->fd) && is_trusted(w, &st)) {
		errno = ELOOP;
		rc = ++w->links > MAX_LINKS || read_link(w, fd, text) ? -1 : 1;
	}
	close(fd);
	return rc;
}

/* Goes to the directory of @path, which becomes the name of the file in it. */
static int walk_to_file(struct way *w, char path[PATH_MAX])
{
	int rc;

	do {
		char *slash = strrchr(path, '/');
		char *name = slash ? slash + 1 : path;

		if (slash)
			*slash = '\0';
		if (slash && way_walk(w, path))
			return -1;
		memmove(path, name, strlen(name) + 1);
		if (!*path || !strcmp(path, ".") || !strcmp(path, "..")) {
			errno = EISDIR;
			return -1;
		}
		rc = next_text(w, path, path);
	} while (rc > 0);
	return rc;
}

int kf_place_to_write(const char *path, char **name)
{
	struct way w = {.fd = -1};
	char text[PATH_MAX];
	int error;

	*name = NULL;
	if (strlen(path) >= sizeof(text)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(text, path, strlen(path) + 1);
	if (!way_start(&w, text) && !walk_to_file(&w, text))
		*name = strdup(text);
	if (*name)
		return w.fd;
	error = errno;
	if (w.fd >= 0)
		close(w.fd);
	errno = error;
	return -1;
}

const char *kf_place_error(int error)
{
	return error == ELOOP ? "a symbolic link in the path may be another "
				"user's"
			      : strerror(error);
}

bool kf_place_refused(int error)
{
	return error == ELOOP || error == EPERM;
}

/*
 * A user who can write the directory may replace the file between fstatat and
 * unlinkat, but only by a file whose name that user could delete anyway.
 */
int kf_place_delete(int dirfd, const char *name, uint64_t dev, uint64_t ino)
{
	struct stat st;
	int rc = fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);

	if (!rc &&
	    (!S_ISREG(st.st_mode) || st.st_dev != dev || st.st_ino != ino)) {
		errno = ESTALE;
		return -1;
	}
	if (!rc)
		rc = unlinkat(dirfd, name, 0);
	return rc && errno == ENOENT ? 0 : rc;
}

int kf_places_add(struct kf_places *places, int fd, const char *name,
		  bool outside)
{
	struct kf_place *grown;
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	for (unsigned int i = 0; i < places->nr; i++) {
		const struct kf_place *p = &places->place[i];

		if (p->dev == st.st_dev && p->ino == st.st_ino)
			return 0;
	}
	grown = realloc(places->place, (places->nr + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	places->place = grown;
	grown += places->nr;
	*grown = (struct kf_place){.name = strdup(name),
				   .fd = fd,
				   .dev = st.st_dev,
				   .ino = st.st_ino,
				   .owner = st.st_uid,
				   .outside = outside};
	if (!grown->name)
		return -1;
	places->nr++;
	return 1;
}

void kf_places_close(struct kf_places *places)
{
	while (places->nr) {
		struct kf_place *p = &places->place[--places->nr];

		close(p->fd);
		free(p->name);
	}
	free(places->place);
	places->place = NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of -o: made beside their place and moved there when they are complete.
 */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_temp(const char *path, char **temp)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	*temp = kf_format("%s.XXXXXX", path);
	fd = mkostemp(*temp, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0666 & ~mask);
		return fd;
	}
	free(*temp);
	*temp = NULL;
	return -1;
}

/*
 * A link of another user, or one that another user could have put there a
 * moment ago, may lead to what is root's: it is replaced, and others are
 * followed.
 */

/* Root's or ours, and nobody else exchanges what is in it. */
static bool is_trusted(const struct stat *dir)
{
	return (!dir->st_uid || dir->st_uid == geteuid()) &&
	       (dir->st_mode & S_ISVTX ||
		!(dir->st_mode & (S_IWGRP | S_IWOTH)));
}

/* A place that is looked at and opened through its directory. */
struct place {
	int dirfd;
	const char *name; /* within the path */
	struct stat st;	  /* of what is there, a link as that */
	bool follow;	  /* it is a link that is ours or root's for good */
};

/* Returns whether something is there; then @place is to be closed. */
static bool look_at(struct place *place, const char *path)
{
	char *copy = kf_format("%s", path);
	const char *slash = strrchr(path, '/');
	struct stat dir;

	place->name = slash ? slash + 1 : path;
	place->dirfd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (place->dirfd < 0)
		return false;
	if (fstat(place->dirfd, &dir) ||
	    fstatat(place->dirfd, place->name, &place->st,
		    AT_SYMLINK_NOFOLLOW)) {
		close(place->dirfd);
		return false;
	}
	place->follow = S_ISLNK(place->st.st_mode) && is_trusted(&dir) &&
			(!place->st.st_uid || place->st.st_uid == geteuid());
	return true;
}

char *kf_output_place(const char *path)
{
	struct place place;
	struct stat st;
	char *real = NULL, *copy;

	if (look_at(&place, path)) {
		if (place.follow && !fstatat(place.dirfd, place.name, &st, 0) &&
		    S_ISREG(st.st_mode))
			real = realpath(path, NULL);
		close(place.dirfd);
	}
	copy = kf_format("%s", real ? real : path);
	free(real);
	return copy;
}

/*
 * What is there and no regular file, as a terminal or a pipe, is written to as
 * it is; -1 where there is none.
 */
static int open_special(const char *path)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	struct place place;
	struct stat st;
	int fd = -1;

	if (!look_at(&place, path))
		return -1;
	st = place.st;
	if (place.follow && fstatat(place.dirfd, place.name, &st, 0))
		st.st_mode = S_IFREG;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		fd = openat(place.dirfd, place.name,
			    flags | (place.follow ? 0 : O_NOFOLLOW));
	close(place.dirfd);
	return fd;
}

int kf_output_make(const char *path, char **temp)
{
	struct stat st;
	int fd = open_special(path);

	*temp = NULL;
	if (fd >= 0 && !fstat(fd, &st) && !S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	/* A device that may not be written to stays what it is. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
		return -1;
	}
	return open_temp(path, temp);
}

static int open_failed(struct kf_output *o)
{
	kf_error("%s: %s", o->path, strerror(errno));
	free(o->temp);
	free(o->path);
	memset(o, 0, sizeof(*o));
	return -1;
}

int kf_output_open(struct kf_output *o, const char *path)
{
	int fd;

	memset(o, 0, sizeof(*o));
	if (!path || !strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	o->path = kf_output_place(path);
	fd = kf_output_make(path, &o->temp);
	if (fd < 0)
		return open_failed(o);
	o->file = fdopen(fd, "w");
	if (!o->file) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	return 0;
}

int kf_output_close(struct kf_output *o, bool good)
{
	int rc = fflush(o->file) || ferror(o->file) ? -1 : 0;

	if (o->path && fclose(o->file))
		rc = -1;
	if (!rc && good && o->temp)
		rc = rename(o->temp, o->path);
	if (rc)
		kf_error("%s: %s", o->path ? o->path : "stdout",
			 strerror(errno));
	if (o->temp && (rc || !good))
		unlink(o->temp);
	free(o->temp);
	free(o->path);
	memset(o, 0, sizeof(*o));
	return rc;
}

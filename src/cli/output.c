/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of -o: made beside their place and moved there when they are complete.
 * The directory is opened once, so nobody can lead what follows elsewhere.
 */
#include "config.h"

#include "cli/output.h"
#include "cli/terminal.h"

#include "reader/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_TRIES 16

static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A name beside the place that nobody can guess. */
static int open_temp(struct kf_output *o)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	uint64_t random;
	int fd = -1;

	for (int i = 0; fd < 0 && i < NAME_TRIES; i++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -1;
		free(o->temp);
		o->temp = kf_format("%s.%016llx", o->name,
				    (unsigned long long)random);
		fd = openat(o->dirfd, o->temp, flags, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0) {
		fchmod(fd, usual_mode());
		return fd;
	}
	free(o->temp);
	o->temp = NULL;
	return -1;
}

/* A link of procfs, as /dev/stdout leads to one, is written to as it is. */
static int open_link(struct kf_output *o)
{
	if (!kf_place_is_proc(o->dirfd))
		return open_temp(o); /* another user's: replaced */
	return openat(o->dirfd, o->name,
		      O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
}

/* A terminal, a pipe or a device stays what it is. */
static int open_special(struct kf_output *o)
{
	int fd = openat(o->dirfd, o->name,
			O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

int kf_output_make(struct kf_output *o, const char *path)
{
	struct stat st;
	int fd;

	memset(o, 0, sizeof(*o));
	o->path = kf_format("%s", path);
	o->dirfd = kf_place_to_write(path, &o->name);
	if (o->dirfd < 0)
		fd = -1;
	else if (fstatat(o->dirfd, o->name, &st, AT_SYMLINK_NOFOLLOW) ||
		 S_ISREG(st.st_mode))
		fd = open_temp(o);
	else
		fd = S_ISLNK(st.st_mode) ? open_link(o) : open_special(o);
	if (fd < 0)
		kf_error("%s: %s", path, kf_place_error(errno));
	return fd;
}

int kf_output_show(struct kf_output *o)
{
	int rc = o->temp ? renameat(o->dirfd, o->temp, o->dirfd, o->name) : 0;

	if (!rc) {
		free(o->temp);
		o->temp = NULL;
	}
	return rc;
}

/*
 * A name that nobody gave can be guessed, and the directory be open to others:
 * what is written over there is an earlier profile of ours, and nothing that a
 * link leads to.
 */
int kf_output_usual(const char *path)
{
	const int flags =
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = open(path, flags, 0666);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    st.st_uid == geteuid() && !ftruncate(fd, 0))
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

void kf_output_release(struct kf_output *o)
{
	if (o->temp)
		unlinkat(o->dirfd, o->temp, 0);
	if (o->name)
		close(o->dirfd);
	free(o->temp);
	free(o->name);
	free(o->path);
	memset(o, 0, sizeof(*o));
}

int kf_output_open(struct kf_output *o, const char *path)
{
	int fd;

	memset(o, 0, sizeof(*o));
	if (!path || !strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	fd = kf_output_make(o, path);
	if (fd < 0) {
		kf_output_release(o);
		return -1;
	}
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

	if (!o->path && kf_pager_is_on())
		rc = 0;

	if (o->path && fclose(o->file))
		rc = -1;
	if (!rc && good)
		rc = kf_output_show(o);
	if (rc)
		kf_error("%s: %s", o->path ? o->path : "stdout",
			 strerror(errno));
	kf_output_release(o);
	return rc;
}

int kf_output_unnamed(void)
{
	const char *env = getenv("TMPDIR");
	const char *dir = env && env[0] == '/' ? env : "/var/tmp";
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	path = kf_format("%s/konfiscator.XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	else
		kf_error("cannot create a file in %s: %s", dir,
			 strerror(errno));
	free(path);
	return fd;
}

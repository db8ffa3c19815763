/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of -o: made beside their place and moved there when they are complete.
 */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_temp(struct kf_output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	o->temp = kf_format("%s.XXXXXX", o->path);
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0666 & ~mask);
	return fd;
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
	struct stat st;
	int fd;

	memset(o, 0, sizeof(*o));
	if (!path || !strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	o->path = kf_format("%s", path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		fd = open_temp(o);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a scan says of files and directories that it did not read, each once.
 */
#include "config.h"

#include "exporter/groups/groups.h"
#include "exporter/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BAD_FILES 1000

void kf_groups_complain(struct kf_groups *g, const char *path,
			enum kf_read_result result, int error)
{
	struct kf_bad_file *b;

	for (b = g->bad; b; b = b->next) {
		if (b->result == result && strcmp(b->path, path) == 0) {
			b->present = true;
			return;
		}
	}
	/* log late files only once */
	if (result == KF_READ_NOT_READY || result == KF_READ_LATE ||
	    g->nr_bad >= MAX_BAD_FILES)
		return;
	b = calloc(1, sizeof(*b));
	if (!b)
		return;
	b->path = strdup(path);
	if (!b->path) {
		free(b);
		return;
	}
	b->result = result;
	b->present = true;
	b->next = g->bad;
	g->bad = b;
	g->nr_bad++;
	kf_log(KF_LOG_WARN, "stats file skipped", "path", path, "result",
	       kf_read_result_name(result), "error",
	       result == KF_READ_ERROR ? strerror(error) : "", NULL);
}

/* Count as an unreadable file, so that missing files are noticed. */
static void complain_of_dir(struct kf_groups *g, const char *dir)
{
	int fd = kf_place_open(dir);

	if (fd >= 0) {
		close(fd);
		return;
	}
	/* some of the library's default directories may not exist */
	if (errno == ENOENT && !g->conf.dirs)
		return;
	g->files[KF_READ_ERROR]++;
	kf_groups_complain(g, dir, KF_READ_ERROR, errno);
}

static void complain_of_dirs(struct kf_groups *g)
{
	char **own = g->conf.dirs ? NULL : kf_default_dirs();
	const char *const *dirs = own ? (const char *const *)own : g->conf.dirs;

	for (; dirs && *dirs; dirs++)
		complain_of_dir(g, *dirs);
	free(own);
}

static void forget_bad_files(struct kf_groups *g)
{
	struct kf_bad_file **at = &g->bad, *b;

	while ((b = *at)) {
		if (b->present) {
			b->present = false;
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b->path);
		free(b);
		g->nr_bad--;
	}
}

static void complain_of_late(struct kf_groups *g)
{
	char nr[16];

	snprintf(nr, sizeof(nr), "%u", g->files[KF_READ_LATE]);
	if (g->files[KF_READ_LATE] && !g->late_said)
		kf_log(KF_LOG_WARN, "some stats files were not read in time",
		       "files", nr, NULL);
	g->late_said = g->files[KF_READ_LATE];
}

static void complain_of_left(struct kf_groups *g)
{
	bool left = g->left.surplus || g->left.nr_dirs;
	char files[16], dirs[16];

	snprintf(files, sizeof(files), "%u", g->left.surplus);
	snprintf(dirs, sizeof(dirs), "%u", g->left.nr_dirs);
	if (left && !g->left_said)
		kf_log(KF_LOG_WARN,
		       "some files are not read: their users have too many in a directory",
		       "files", files, "directories not listed to the end",
		       dirs, NULL);
	g->left_said = left;
	g->files[KF_READ_SURPLUS] = g->left.surplus;
}

static void complain_of_hidden(struct kf_groups *g)
{
	if (g->hidden && !g->hidden_said)
		kf_log(KF_LOG_WARN,
		       "some containers cannot be examined: CAP_SYS_PTRACE is missing",
		       NULL);
	g->hidden_said = g->hidden_said || g->hidden;
}

void kf_groups_tell(struct kf_groups *g)
{
	complain_of_dirs(g);
	forget_bad_files(g);
	complain_of_late(g);
	complain_of_left(g);
	complain_of_hidden(g);
}

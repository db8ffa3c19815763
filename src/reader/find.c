/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All stats files of the directories, each with its snapshot and its life.
 *
 * A file whose process has ended is read once more after that is known, so
 * that what it says is final. A directory is read once however many names it
 * has. What cannot be read is in the list too: its result says why.
 */
#include "reader/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a directory was opened: one look at each, whatever its name. */
struct seen {
	dev_t dev;
	ino_t ino;
};

struct search {
	struct kf_files *out;
	unsigned int room;
	struct kf_life_view view;
	struct seen *seen;
	unsigned int nr_seen;
};

static bool ended(enum kf_life life)
{
	return life == KF_LIFE_DEAD || life == KF_LIFE_EXECED;
}

static void read_again(int dirfd, struct kf_file *f)
{
	struct kf_snapshot s;

	kf_snapshot_read(dirfd, f->name, &s);
	if (s.result != KF_READ_OK) {
		kf_snapshot_release(&s);
		return;
	}
	kf_snapshot_release(&f->snap);
	f->snap = s;
}

static struct kf_file *file_add(struct search *se, const char *dir,
				const char *name)
{
	struct kf_files *out = se->out;
	struct kf_file *f;

	if (out->nr == se->room) {
		unsigned int room = se->room ? 2 * se->room : 16;

		f = realloc(out->file, room * sizeof(*f));
		if (!f)
			return NULL;
		out->file = f;
		se->room = room;
	}
	f = &out->file[out->nr];
	memset(f, 0, sizeof(*f));
	f->dir = strdup(dir);
	f->name = strdup(name);
	if (!f->dir || !f->name) {
		free(f->dir);
		free(f->name);
		return NULL;
	}
	out->nr++;
	return f;
}

static int file_read(struct search *se, const char *dir, int dirfd,
		     const char *name)
{
	struct kf_file *f = file_add(se, dir, name);

	if (!f)
		return -1;
	f->life = KF_LIFE_UNKNOWN;
	kf_snapshot_read(dirfd, name, &f->snap);
	if (f->snap.result == KF_READ_ERROR && f->snap.error == ENOENT) {
		/* it went between the look at the directory and ours */
		free(f->dir);
		free(f->name);
		se->out->nr--;
		return 0;
	}
	if (f->snap.result == KF_READ_ERROR && f->snap.error == ENOMEM)
		return -1;
	if (f->snap.result != KF_READ_OK)
		return 0;
	f->life = kf_life_of(&se->view, &f->snap.id, dirfd, name, &f->pid);
	if (ended(f->life))
		read_again(dirfd, f);
	return 0;
}

/* Whether a directory was read under another name; it is noted if not. */
static bool dir_seen(struct search *se, int fd)
{
	struct seen *grown;
	struct stat st;

	if (fstat(fd, &st))
		return true;
	for (unsigned int i = 0; i < se->nr_seen; i++) {
		if (se->seen[i].dev == st.st_dev &&
		    se->seen[i].ino == st.st_ino)
			return true;
	}
	grown = realloc(se->seen, (se->nr_seen + 1) * sizeof(*grown));
	if (!grown)
		return true;
	se->seen = grown;
	se->seen[se->nr_seen++] = (struct seen){st.st_dev, st.st_ino};
	return false;
}

static int dir_read(struct search *se, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *de;
	int rc = 0;
	DIR *dir;

	if (fd < 0)
		return 0;
	if (dir_seen(se, fd)) {
		close(fd);
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -1;
	}
	while (!rc && (de = readdir(dir))) {
		if (de->d_name[0] != '.')
			rc = file_read(se, path, fd, de->d_name);
	}
	closedir(dir);
	return rc;
}

static int by_place(const void *va, const void *vb)
{
	const struct kf_file *a = va, *b = vb;
	int cmp = strcmp(a->dir, b->dir);

	return cmp ? cmp : strcmp(a->name, b->name);
}

static int by_process(const void *va, const void *vb)
{
	const struct kf_file *const *fa = va, *const *fb = vb;
	const struct kf_stats_identity *a = &(*fa)->snap.id;
	const struct kf_stats_identity *b = &(*fb)->snap.id;
	int cmp;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->pid_ns != b->pid_ns)
		return a->pid_ns < b->pid_ns ? -1 : 1;
	if (a->start_ticks != b->start_ticks)
		return a->start_ticks < b->start_ticks ? -1 : 1;
	cmp = memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
	if (cmp)
		return cmp;
	if (a->created_ns != b->created_ns)
		return a->created_ns < b->created_ns ? -1 : 1;
	return strcmp((*fa)->name, (*fb)->name);
}

static bool same_process(const struct kf_stats_identity *a,
			 const struct kf_stats_identity *b)
{
	return a->pid == b->pid && a->pid_ns == b->pid_ns && a->start_ticks &&
	       a->start_ticks == b->start_ticks &&
	       !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

static void mark_execed(struct kf_file *f)
{
	int fd;

	if (f->life == KF_LIFE_EXECED)
		return;
	f->life = KF_LIFE_EXECED;
	f->pid = 0;
	fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	read_again(fd, f);
	close(fd);
}

/* Each exec begins a new file: of one process' files the last one counts. */
static int mark_older(struct kf_files *out)
{
	struct kf_file **order = calloc(out->nr + 1, sizeof(*order));
	unsigned int nr = 0;

	if (!order)
		return -1;
	for (unsigned int i = 0; i < out->nr; i++) {
		if (out->file[i].snap.result == KF_READ_OK)
			order[nr++] = &out->file[i];
	}
	qsort(order, nr, sizeof(*order), by_process);
	for (unsigned int i = 0; i + 1 < nr; i++) {
		if (same_process(&order[i]->snap.id, &order[i + 1]->snap.id))
			mark_execed(order[i]);
	}
	free(order);
	return 0;
}

static int read_all(struct search *se, const struct kf_find *find)
{
	char **own = NULL;
	const char *const *dirs = find ? find->dirs : NULL;
	int rc = 0;

	if (!dirs) {
		own = kf_default_dirs();
		dirs = (const char *const *)own;
	}
	if (!dirs)
		return -1;
	for (; !rc && *dirs; dirs++)
		rc = dir_read(se, *dirs);
	free(own);
	return rc;
}

int kf_files_find(const struct kf_find *find, struct kf_files *out)
{
	const char *procfs = find && find->procfs ? find->procfs : "/proc";
	struct search se = {.out = out};
	int rc;

	memset(out, 0, sizeof(*out));
	kf_life_open(&se.view, procfs);
	rc = read_all(&se, find);
	if (!rc)
		rc = mark_older(out);
	kf_life_close(&se.view);
	free(se.seen);
	if (rc) {
		kf_files_release(out);
		errno = ENOMEM;
		return -1;
	}
	if (out->nr)
		qsort(out->file, out->nr, sizeof(*out->file), by_place);
	return 0;
}

void kf_files_release(struct kf_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++) {
		kf_snapshot_release(&files->file[i].snap);
		free(files->file[i].dir);
		free(files->file[i].name);
	}
	free(files->file);
	files->file = NULL;
	files->nr = 0;
}

/* What the patterns of the other users' directories match, for root. */
static void glob_all(glob_t *g)
{
	memset(g, 0, sizeof(*g));
	if (geteuid() != 0)
		return;
	glob("/run/user/*/konfiscator", 0, NULL, g);
	glob("/tmp/konfiscator-stats-*", g->gl_pathc ? GLOB_APPEND : 0, NULL,
	     g);
}

static char *place(char *at, const char *text)
{
	size_t len = strlen(text) + 1;

	return (char *)memcpy(at, text, len) + len;
}

char **kf_default_dirs(void)
{
	const char *env = getenv("KONFISCATOR_DIR");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char user[4096] = "", tmp[64];
	size_t nr = 0, bytes;
	char **dirs, *at;
	glob_t g;

	glob_all(&g);
	if (runtime && runtime[0] == '/')
		snprintf(user, sizeof(user), "%s/konfiscator", runtime);
	snprintf(tmp, sizeof(tmp), "/tmp/konfiscator-stats-%u",
		 (unsigned int)geteuid());
	bytes = (env ? strlen(env) : 0) + sizeof(user) + sizeof(tmp) + 64;
	for (size_t i = 0; i < g.gl_pathc; i++)
		bytes += strlen(g.gl_pathv[i]) + 1;
	dirs = malloc((g.gl_pathc + 5) * sizeof(*dirs) + bytes);
	if (!dirs) {
		globfree(&g);
		return NULL;
	}
	at = (char *)(dirs + g.gl_pathc + 5);
	if (env && env[0])
		at = place(dirs[nr++] = at, env);
	at = place(dirs[nr++] = at, "/run/konfiscator");
	if (user[0])
		at = place(dirs[nr++] = at, user);
	at = place(dirs[nr++] = at, tmp);
	for (size_t i = 0; i < g.gl_pathc; i++)
		at = place(dirs[nr++] = at, g.gl_pathv[i]);
	dirs[nr] = NULL;
	globfree(&g);
	return dirs;
}

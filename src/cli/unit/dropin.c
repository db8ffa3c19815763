/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The drop-in: its text, and its file. See unit.h.
 *
 * The text opens only what the unit closes: a path in ReadWritePaths= or
 * BindPaths= gives a unit mounts of its own, and a unit that has none must not
 * get them, as what it mounts would be hidden from all others.
 */
#include "config.h"

#include "cli/unit/unit.h"
#include "reader/regular.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD \
	"# Written by `konfiscator enable`, deleted by `konfiscator disable`."
#define SYSTEM_DIR "/run/konfiscator"

/* The beginnings of the lines of a drop-in. */
static const char *const dropin_lines[] = {
	HEAD,
	"[Service]",
	"Environment=\"LD_PRELOAD=",
	"Environment=\"KONFISCATOR_",
	"Environment=\"PYTHONMALLOC=malloc\"",
	"ReadWritePaths=-",
	"BindPaths=-",
	"BindReadOnlyPaths=",
};

/* A value between double quotes, where '%' and '\' mean themselves. */
static void put_quoted(FILE *f, const char *text, bool expanded)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		if (*text == '%' && expanded)
			putc('%', f);
		putc(*text, f);
	}
}

static bool preload_is_ours(const char *path, size_t len)
{
	static const char ours[] = "libkonfiscator.so";
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;

	return len - (size_t)(name - path) >= sizeof(ours) - 1 &&
	       !strncmp(name, ours, sizeof(ours) - 1);
}

/* The entries of the unit's own LD_PRELOAD, behind ours. */
static void put_others(FILE *f, const struct kf_unit *unit)
{
	const char *list = unit->value[KF_UNIT_environment], *p;
	char *word, *last = NULL;

	while ((word = kf_unit_word(&list))) {
		bool is = !strncmp(word, "LD_PRELOAD=", 11);

		free(is ? last : word);
		last = is ? word : last;
	}
	for (p = last ? last + 11 : ""; *p; p += strspn(p, ": ")) {
		size_t len = strcspn(p, ": ");

		if (len && !preload_is_ours(p, len)) {
			char *entry = kf_format("%.*s", (int)len, p);

			putc(':', f);
			put_quoted(f, entry, unit->expanded);
			free(entry);
		}
		p += len;
	}
	free(last);
}

static bool is_closed(const struct kf_unit *unit, const char *dir)
{
	return !strcmp(unit->value[KF_UNIT_protect_system], "strict") ||
	       kf_unit_yes(unit, KF_UNIT_dynamic_user) ||
	       kf_unit_names(unit->value[KF_UNIT_read_only_paths], dir);
}

static bool is_hidden(const struct kf_unit *unit, const char *path)
{
	return unit->value[KF_UNIT_root_directory][0] ||
	       kf_unit_names(unit->value[KF_UNIT_temporary_file_system], path);
}

static void put_dir(FILE *f, const struct kf_unit *unit, const char *dir)
{
	if (is_hidden(unit, dir))
		fputs("BindPaths=-\"", f);
	else if (is_closed(unit, dir))
		fputs("ReadWritePaths=-\"", f);
	else
		return;
	put_quoted(f, dir, true);
	fputs("\"\n", f);
}

char *kf_dropin_text(const struct kf_units *units, const struct kf_unit *unit,
		     const struct kf_dropin *d)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	fprintf(f, "%s\n[Service]\nEnvironment=\"LD_PRELOAD=", HEAD);
	put_quoted(f, d->library, true);
	put_others(f, unit);
	fputs("\"\n", f);
	for (char **e = d->environment; *e; e++) {
		fputs("Environment=\"", f);
		put_quoted(f, *e, true);
		fputs("\"\n", f);
	}
	if (is_hidden(unit, d->library)) {
		fputs("BindReadOnlyPaths=\"", f);
		put_quoted(f, d->library, true);
		fputs("\"\n", f);
	}
	if (d->dir)
		put_dir(f, unit, d->dir);
	put_dir(f, unit, SYSTEM_DIR);
	if (units->user && is_closed(unit, "%t"))
		fputs("ReadWritePaths=-%t/konfiscator\n", f);
	fclose(f);
	return text;
}

char *kf_dropin_path(const struct kf_units *units, const char *name)
{
	return kf_format("%s%s/%s.d/" KF_DROPIN_NAME,
			 strcmp(units->root, "/") != 0 ? units->root : "",
			 units->config, name);
}

/* A descriptor of a directory of the root, made where it is missing. */
static int dropin_open(const struct kf_units *units, const char *path,
		       bool make)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int at = open(units->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *part = kf_format("%s", path), *end = part;
	int fd = -1, error;

	while (at >= 0) {
		int parent = fd < 0 ? at : fd;
		char was = *(end += strcspn(end + 1, "/") + 1);

		*end = '\0';
		fd = (int)syscall(SYS_openat2, at, part, &how, sizeof(how));
		if (fd < 0 && errno == ENOENT && make &&
		    !mkdirat(parent, strrchr(part, '/') + 1, 0755))
			fd = (int)syscall(SYS_openat2, at, part, &how,
					  sizeof(how));
		error = errno;
		if (parent != at)
			close(parent);
		errno = error;
		if (fd < 0 || !was)
			break;
		*end = was;
	}
	error = errno;
	if (at >= 0)
		close(at);
	free(part);
	errno = error;
	return fd;
}

/* The directory UNIT.d, which may not be a link. */
static int dropin_dir(const struct kf_units *units, const char *name, bool make)
{
	int parent = dropin_open(units, units->config, make);
	char *dir = kf_format("%s.d", name);
	int fd = -1, error;

	if (parent >= 0 && make && mkdirat(parent, dir, 0755) &&
	    errno != EEXIST) {
		error = errno;
	} else {
		if (parent >= 0)
			fd = openat(parent, dir,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					    O_CLOEXEC);
		error = errno;
	}
	if (parent >= 0)
		close(parent);
	free(dir);
	errno = error;
	return fd;
}

static bool line_is_ours(const char *line, bool first)
{
	if (first)
		return !strcmp(line, HEAD "\n");
	for (size_t i = 1; i < KF_ARRAY_SIZE(dropin_lines); i++) {
		if (!strncmp(line, dropin_lines[i], strlen(dropin_lines[i])))
			return true;
	}
	return false;
}

enum kf_dropin_state kf_dropin_look(const struct kf_units *units,
				    const char *name)
{
	int dir = dropin_dir(units, name, false);
	int fd = dir < 0 ? -1
			 : openat(dir, KF_DROPIN_NAME,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					  O_CLOEXEC);
	enum kf_dropin_state state = KF_DROPIN_OURS;
	int error = fd < 0 ? errno : 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;
	struct stat st;

	if (dir >= 0)
		close(dir);
	if (error == ENOENT || error == ENOTDIR)
		return KF_DROPIN_NONE;
	if (error == EACCES)
		return KF_DROPIN_HIDDEN;
	if (!f || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		state = KF_DROPIN_FOREIGN;
	for (bool first = true;
	     state == KF_DROPIN_OURS && getline(&line, &size, f) > 0;
	     first = false) {
		if (!line_is_ours(line, first))
			state = KF_DROPIN_FOREIGN;
	}
	free(line);
	if (f)
		fclose(f);
	return state;
}

static int dropin_fill(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0644);
	size_t len = strlen(text);
	int rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, len) == (ssize_t)len && !fsync(fd) ? 0 : -1;
	return close(fd) || rc ? -1 : 0;
}

int kf_dropin_write(const struct kf_units *units, const char *name,
		    const char *text)
{
	/* unit files are for all to read */
	mode_t mask = umask(022);
	int dir = dropin_dir(units, name, true);
	/* systemd reads no file with this end */
	char *fresh = kf_format("." KF_DROPIN_NAME ".%d", (int)getpid());
	int rc = -1, error;

	if (dir >= 0) {
		rc = dropin_fill(dir, fresh, text);
		if (!rc)
			rc = renameat(dir, fresh, dir, KF_DROPIN_NAME);
		error = errno;
		if (rc)
			unlinkat(dir, fresh, 0);
		close(dir);
		errno = error;
	}
	umask(mask);
	free(fresh);
	return rc;
}

int kf_dropin_delete(const struct kf_units *units, const char *name)
{
	int dir = dropin_dir(units, name, false);
	int rc = dir < 0 ? -1 : unlinkat(dir, KF_DROPIN_NAME, 0);
	int parent, error = errno;
	char *path = kf_format("%s.d", name);

	if (dir >= 0)
		close(dir);
	parent = rc ? -1 : dropin_open(units, units->config, false);
	if (parent >= 0) {
		/* fails while other drop-ins are in it */
		unlinkat(parent, path, AT_REMOVEDIR);
		close(parent);
	}
	free(path);
	errno = error;
	return rc;
}

static int dropin_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int kf_dropin_units(const struct kf_units *units, char ***names, size_t *nr)
{
	int fd = dropin_open(units, units->config, false);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char **all = NULL;

	*names = NULL;
	*nr = 0;
	if (!d)
		return errno == ENOENT ? 0 : -1;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);
		char *name;

		if (len < 10 || strcmp(e->d_name + len - 10, ".service.d") != 0)
			continue;
		name = kf_format("%.*s", (int)len - 2, e->d_name);
		if (kf_dropin_look(units, name) == KF_DROPIN_NONE) {
			free(name);
			continue;
		}
		all = realloc(all, (*nr + 1) * sizeof(*all));
		if (!all) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
		all[(*nr)++] = name;
	}
	closedir(d);
	if (*nr)
		qsort(all, *nr, sizeof(*all), dropin_compare);
	*names = all;
	return 0;
}

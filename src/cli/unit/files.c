/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Units from their files: see unit.h.
 *
 * By the rules of systemd.unit(5): the file of a name in the first directory
 * that has it, then the drop-ins of all directories in the order of their
 * names, of which the first directory has the last word, too. Our own drop-in
 * is left out, so that the values are those of the unit without the library.
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

#define MOST_DIRS 6
#define MOST_LINE ((size_t)1 << 20) /* as systemd's own */

/* The directories of unit files, the first one first; NULL ends them. */
static void files_dirs(const struct kf_units *units,
		       const char *dirs[MOST_DIRS])
{
	const char *const all[2][MOST_DIRS] = {
		{units->config, "/run/systemd/system",
		 "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
		 "/lib/systemd/system"},
		{units->config, "/etc/systemd/user",
		 "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
		 "/lib/systemd/user"},
	};

	memcpy(dirs, all[units->user], sizeof(all[0]));
}

/* Opens a path of the root with no way out of it. */
static int files_open(const struct kf_units *units, const char *path,
		      uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int root = open(units->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -1
			  : (int)syscall(SYS_openat2, root, path, &how,
					 sizeof(how));

	if (root >= 0)
		close(root);
	return fd;
}

static void files_take(struct kf_unit *unit, const char *section,
		       const char *line)
{
	static const struct {
		const char *name, *join;
	} known[KF_NR_UNIT] = {
#define KF_UNIT(id, name, file, join) {file, join},
#include "cli/unit/properties.def"
#undef KF_UNIT
	};
	size_t len = strcspn(line, "= \t");
	const char *value = line + len + strspn(line + len, " \t");

	if (strcmp(section, "[Service]") != 0 || *value++ != '=')
		return;
	value += strspn(value, " \t");
	for (int i = 0; i < KF_NR_UNIT; i++) {
		if (!strncmp(known[i].name, line, len) && !known[i].name[len])
			kf_unit_add(unit, (enum kf_unit_property)i, value,
				    known[i].join);
	}
}

/* Returns @line with what follows a backslash at its end; both are freed. */
static char *files_join(char *whole, const char *line)
{
	char *joined = kf_format("%s%s", whole ? whole : "", line);

	free(whole);
	return joined;
}

static void files_parse(struct kf_unit *unit, FILE *f)
{
	char *line = NULL, *whole = NULL, section[64] = "";
	size_t size = 0;

	while (getline(&line, &size, f) > 0) {
		char *text = line + strspn(line, whole ? "" : " \t");
		size_t len = strcspn(text, "\n");

		text[len] = '\0';
		if (text[0] == '#' || text[0] == ';' || len > MOST_LINE)
			continue;
		if (len && text[len - 1] == '\\') {
			text[len - 1] = ' ';
			whole = files_join(whole, text);
			continue;
		}
		whole = files_join(whole, text);
		while (whole[0] && strchr(" \t\r", whole[strlen(whole) - 1]))
			whole[strlen(whole) - 1] = '\0';
		if (whole[0] == '[')
			snprintf(section, sizeof(section), "%s", whole);
		else
			files_take(unit, section, whole);
		free(whole);
		whole = NULL;
	}
	free(whole);
	free(line);
}

static bool files_read(const struct kf_units *units, const char *path,
		       struct kf_unit *unit)
{
	int fd = kf_regular_open_in(units->root, path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f)
		return false;
	files_parse(unit, f);
	fclose(f);
	return true;
}

/* An empty file masks the unit, too. */
static bool files_is_empty(const struct kf_units *units, const char *path)
{
	int fd = kf_regular_open_in(units->root, path);
	struct stat st;
	bool empty = fd >= 0 && !fstat(fd, &st) && !st.st_size;

	if (fd >= 0)
		close(fd);
	return empty;
}

/* What a link of a unit's name leads to, to free(); NULL: it is no link. */
static char *files_link(const struct kf_units *units, const char *path)
{
	int fd = files_open(units, path, O_PATH | O_NOFOLLOW);
	char target[PATH_MAX];
	ssize_t n =
		fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NULL;
	target[n] = '\0';
	return kf_format("%s", target);
}

/* The name of the template of an instance, to free(); NULL. */
static char *template_of(const char *name)
{
	const char *at = strchr(name, '@');

	if (!at || !strcmp(at, "@.service"))
		return NULL;
	return kf_format("%.*s@.service", (int)(at - name), name);
}

/* Returns whether there is a file of the name, which may be an alias. */
static bool files_find(const struct kf_units *units, const char *name,
		       struct kf_unit *unit, bool is_template)
{
	const char *dirs[MOST_DIRS];
	bool found = false;

	files_dirs(units, dirs);
	for (int i = 0; dirs[i] && !found; i++) {
		char *path = kf_format("%s/%s", dirs[i], name);
		char *link = files_link(units, path);

		if ((link && !strcmp(link, "/dev/null")) ||
		    files_is_empty(units, path)) {
			kf_unit_add(unit, KF_UNIT_load_state, "masked", "");
			found = true;
		} else {
			found = files_read(units, path, unit);
		}
		if (found && link && !is_template &&
		    kf_unit_is_name(basename(link)))
			kf_unit_add(unit, KF_UNIT_id, basename(link), "");
		free(link);
		free(path);
	}
	return found;
}

/* A drop-in, by the name that orders it. */
struct found {
	char *name, *path;
};

struct founds {
	size_t nr;
	struct found *all;
};

static void founds_add(struct founds *f, const char *dir, const char *name)
{
	struct found *more;

	for (size_t i = 0; i < f->nr; i++) {
		if (!strcmp(f->all[i].name, name))
			return;
	}
	more = realloc(f->all, (f->nr + 1) * sizeof(*more));
	if (!more) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	f->all = more;
	f->all[f->nr++] = (struct found){kf_format("%s", name),
					 kf_format("%s/%s", dir, name)};
}

static int founds_compare(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static void founds_look(struct founds *f, const struct kf_units *units,
			const char *dir)
{
	int fd = files_open(units, dir, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len > 5 && !strcmp(e->d_name + len - 5, ".conf") &&
		    strcmp(e->d_name, KF_DROPIN_NAME) != 0)
			founds_add(f, dir, e->d_name);
	}
	if (d)
		closedir(d);
}

/* Of a-b.service it is a-.service, then service; NULL behind that. */
static char *files_shorter(char *name)
{
	size_t len = strlen(name);
	char *dash, *shorter = NULL;

	if (strcmp(name, "service") != 0) {
		if (len >= 9 && !strcmp(name + len - 9, "-.service"))
			name[len - 9] = '\0';
		dash = strrchr(name, '-');
		shorter = dash ? kf_format("%.*s-.service", (int)(dash - name),
					   name)
			       : kf_format("service");
	}
	free(name);
	return shorter;
}

static void founds_of_name(struct founds *f, const struct kf_units *units,
			   const char *name)
{
	const char *dirs[MOST_DIRS];
	char *at = kf_format("%s", name);

	files_dirs(units, dirs);
	for (; at; at = files_shorter(at)) {
		for (int i = 0; dirs[i]; i++) {
			char *dir = kf_format("%s/%s.d", dirs[i], at);

			founds_look(f, units, dir);
			free(dir);
		}
	}
}

static void files_add_dropins(const struct kf_units *units, const char *name,
			      const char *template, struct kf_unit *unit)
{
	struct founds f = {0};

	founds_of_name(&f, units, name);
	if (template)
		founds_of_name(&f, units, template);
	if (f.nr)
		qsort(f.all, f.nr, sizeof(*f.all), founds_compare);
	for (size_t i = 0; i < f.nr; i++) {
		files_read(units, f.all[i].path, unit);
		free(f.all[i].name);
		free(f.all[i].path);
	}
	free(f.all);
}

bool kf_unit_read_files(const struct kf_units *units, const char *name,
			struct kf_unit *unit)
{
	char *template = template_of(name);
	bool found;

	kf_unit_add(unit, KF_UNIT_id, name, "");
	found = files_find(units, name, unit, false) ||
		(template && files_find(units, template, unit, true));
	if (found)
		files_add_dropins(units, unit->value[KF_UNIT_id], template,
				  unit);
	free(template);
	return found;
}

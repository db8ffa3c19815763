/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See library.h. A link in $TMPDIR or /tmp is trusted only in a directory that
 * the user owns and nobody else can write.
 */
#include "config.h"

#include "cli/library.h"

#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *kf_build_tree(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash, *probe;
	bool here;

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	/* a build tree has libtool's file of the library beside the command */
	probe = kf_format("%s/libkonfiscator.la", exe);
	here = !access(probe, F_OK);
	free(probe);
	return here ? kf_format("%s", exe) : NULL;
}

static char *from_environment(const char *name)
{
	const char *env = getenv("KONFISCATOR_LIBRARY");
	const char *slash;

	if (!env || !env[0])
		return NULL;
	if (!strcmp(name, "libkonfiscator.so"))
		return kf_format("%s", env);
	slash = strrchr(env, '/');
	return kf_format("%.*s%s", slash ? (int)(slash - env) + 1 : 0, env,
			 name);
}

/* The name that stays when the package is upgraded under a running program. */
static char *library_installed(const char *name)
{
	if (!strcmp(name, "libkonfiscator.so"))
		return kf_format("%s", KF_LIBRARY);
	return kf_format("%s/%s", KF_PKGLIBDIR, name);
}

char *kf_library_look(const char *name, char **tried)
{
	char *path = from_environment(name);
	char *tree = path ? NULL : kf_build_tree();
	bool elsewhere = path || tree;

	if (!path)
		path = tree ? kf_format("%s/.libs/%s", tree, name)
			    : library_installed(name);
	free(tree);
	*tried = path;
	if (elsewhere)
		return realpath(path, NULL);
	return access(path, F_OK) ? NULL : kf_format("%s", path);
}

char *kf_library_find(const char *name)
{
	char *tried, *real = kf_library_look(name, &tried);

	if (!real)
		kf_error("the library %s: %s: set KONFISCATOR_LIBRARY to its "
			 "path",
			 tried, strerror(errno));
	free(tried);
	return real;
}

static bool dir_is_ours(const char *dir)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether LD_PRELOAD can hold the path without a link. */
static bool is_safe(const char *path)
{
	return !path[strcspn(path, " \t\n:$")];
}

static const char *tmp_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' && is_safe(dir) ? dir : "/tmp";
}

static char *make_own_dir(void)
{
	char *dir = kf_format("%s/konfiscator-lib-%u", tmp_dir(),
			      (unsigned int)geteuid());

	/* readable by all: a child may run as another user */
	if (mkdir(dir, 0755) && errno != EEXIST) {
		free(dir);
		return NULL;
	}
	if (dir_is_ours(dir))
		return dir;
	/* another user owns the name */
	free(dir);
	dir = kf_format("%s/konfiscator-lib.XXXXXX", tmp_dir());
	if (!mkdtemp(dir) || chmod(dir, 0755)) {
		free(dir);
		return NULL;
	}
	return dir;
}

static bool links_to(const char *link, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));

	return n > 0 && (size_t)n == strlen(path) &&
	       !memcmp(target, path, (size_t)n);
}

/* Each path has a link of its own, named by its hash: FNV-1a, 64 bits. */
static uint64_t library_hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return h;
}

static char *make_link(const char *dir, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char *link, *fresh;
	int rc;

	/* libkonfiscator-alone.so looks for its name in LD_PRELOAD */
	link = kf_format("%s/%016llx-%s", dir,
			 (unsigned long long)library_hash(path),
			 is_safe(name) ? name : "libkonfiscator.so");

	if (links_to(link, path))
		return link;
	fresh = kf_format("%s.%ld", link, (long)getpid());
	rc = symlink(path, fresh);
	if (!rc)
		rc = rename(fresh, link);
	if (rc) {
		unlink(fresh);
		free(link);
		link = NULL;
	}
	free(fresh);
	return link;
}

char *kf_library_safe(const char *path)
{
	char *dir, *link;

	if (is_safe(path))
		return kf_format("%s", path);
	dir = make_own_dir();
	link = dir ? make_link(dir, path) : NULL;
	if (!link)
		kf_error("LD_PRELOAD cannot hold a path with a space or a "
			 "colon, and no link to %s can be made in %s: %s",
			 path, tmp_dir(), strerror(errno));
	free(dir);
	return link;
}

int kf_library_preload(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char *value = kf_format("%s%s%s", path, old && old[0] ? ":" : "",
				old ? old : "");
	int rc = setenv("LD_PRELOAD", value, 1);

	free(value);
	return rc;
}

char *kf_scripts_dir(void)
{
	const char *env = getenv("KONFISCATOR_SCRIPTS");
	char *tree, *dir;

	if (env && env[0])
		return kf_format("%s", env);
	tree = kf_build_tree();
	if (!tree)
		return kf_format("%s/scripts", KF_DATADIR);
	/* a link to the source's, made by the build */
	dir = kf_format("%s/.libs/scripts", tree);
	free(tree);
	return dir;
}

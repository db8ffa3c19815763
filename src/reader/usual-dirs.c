/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The default directories of stats files: the library's, and for root those of
 * all users.
 */
#include "reader/reader.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For root: the matches of the patterns of other users' directories. */
static void glob_all(glob_t *g)
{
	memset(g, 0, sizeof(*g));
	if (geteuid() != 0)
		return;
	glob("/run/user/*/konfiscator", 0, NULL, g);
	glob("/tmp/konfiscator-stats-*", g->gl_pathc ? GLOB_APPEND : 0, NULL,
	     g);
}

static char *usual_place(char *at, const char *text)
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
		at = usual_place(dirs[nr++] = at, env);
	at = usual_place(dirs[nr++] = at, "/run/konfiscator");
	if (user[0])
		at = usual_place(dirs[nr++] = at, user);
	at = usual_place(dirs[nr++] = at, tmp);
	for (size_t i = 0; i < g.gl_pathc; i++)
		at = usual_place(dirs[nr++] = at, g.gl_pathv[i]);
	dirs[nr] = NULL;
	globfree(&g);
	return dirs;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a unit cannot run under the library: see unit.h.
 */
#include "config.h"

#include "cli/program.h"
#include "cli/unit/unit.h"
#include "reader/regular.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An id that no file has. */
#define NOBODY ((uid_t)-2)

/* Who runs the unit's programs. */
static void programs_user(const struct kf_units *units,
			  const struct kf_unit *unit, struct kf_program_as *as)
{
	const char *user = unit->value[KF_UNIT_user];
	const struct passwd *pw = NULL;

	as->uid = units->user ? getuid() : 0;
	as->gid = units->user ? getgid() : 0;
	if (kf_unit_yes(unit, KF_UNIT_dynamic_user)) {
		as->uid = NOBODY;
		as->gid = NOBODY;
	} else if (user[0] && !units->user && strcmp(user, "root") != 0) {
		/* an image has users of its own */
		pw = strcmp(units->root, "/") != 0 ? NULL : getpwnam(user);
		as->uid = pw ? pw->pw_uid : NOBODY;
		as->gid = pw ? pw->pw_gid : NOBODY;
	}
	as->no_new_privileges = kf_unit_yes(unit, KF_UNIT_no_new_privileges);
}

/* The program of a line of ExecStart, of a file or of systemctl show. */
static char *programs_of(const char *line)
{
	static const char shown[] = "{ path=";

	if (!strncmp(line, shown, sizeof(shown) - 1))
		return kf_format("%.*s", (int)strcspn(line + 7, " "), line + 7);
	line += strspn(line, "@-:+!|");
	return kf_unit_word(&line);
}

static char *programs_refusal(const struct kf_program_as *as, const char *line,
			      const char *library)
{
	char *path = programs_of(line), *why = NULL, *whole = NULL;

	/* a specifier is filled in by systemd; a bare name is in its PATH */
	if (path && path[0] == '/' && !strchr(path, '%'))
		why = kf_program_refusal_as(path, library, as);
	if (why)
		whole = kf_format("%s: %s", path, why);
	free(path);
	free(why);
	return whole;
}

static char *refuse_programs(const struct kf_units *units,
			     const struct kf_unit *unit, const char *library)
{
	const char *inner = unit->value[KF_UNIT_root_directory];
	char *lines = kf_format("%s", unit->value[KF_UNIT_exec_start]);
	char *root = kf_format("%s%s", units->root, inner), *why = NULL;
	int fd = kf_regular_open_in(units->root, library);
	char *ours = kf_format("/proc/self/fd/%d", fd);
	char *line, *save = NULL;
	struct kf_program_as as = {.root = root};

	programs_user(units, unit, &as);
	for (line = strtok_r(lines, "\n", &save); line && !why;
	     line = strtok_r(NULL, "\n", &save))
		why = programs_refusal(&as, line, ours);
	if (fd >= 0)
		close(fd);
	free(ours);
	free(root);
	free(lines);
	return why;
}

/* Whether a file of variables sets LD_PRELOAD. */
static bool sets_preload(const char *root, const char *path)
{
	int fd = kf_regular_open_in(root, path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;
	bool sets = false;

	while (f && !sets && getline(&line, &size, f) > 0)
		sets = !strncmp(line + strspn(line, " \t"), "LD_PRELOAD=", 11);
	free(line);
	if (f)
		fclose(f);
	return sets;
}

/* EnvironmentFile= has the last word over Environment=, and Unset over both. */
static char *refuse_environment(const struct kf_units *units,
				const struct kf_unit *unit)
{
	const char *unset = unit->value[KF_UNIT_unset_environment];
	const char *files = unit->value[KF_UNIT_environment_file];
	char *word, *why = NULL;

	while (!why && (word = kf_unit_word(&unset))) {
		if (!strcmp(word, "LD_PRELOAD"))
			why = kf_format(
				"the unit has UnsetEnvironment=LD_PRELOAD");
		free(word);
	}
	while (!why && (word = kf_unit_word(&files))) {
		const char *path = word + (word[0] == '-');

		if (path[0] == '/' && sets_preload(units->root, path))
			why = kf_format(
				"%s sets LD_PRELOAD and has the last word: add the library there",
				path);
		free(word);
	}
	return why;
}

static bool is_below(const char *path, const char *dirs)
{
	return kf_unit_names(dirs, path);
}

/* What keeps the unit from seeing the library. */
static char *refuse_sight(const struct kf_unit *unit, const char *library)
{
	const char *home = unit->value[KF_UNIT_protect_home];

	if (unit->value[KF_UNIT_root_image][0])
		return kf_format(
			"the unit has RootImage=%s: install the library in that image",
			unit->value[KF_UNIT_root_image]);
	if (kf_unit_names(unit->value[KF_UNIT_inaccessible_paths], library))
		return kf_format("InaccessiblePaths= hides the library %s",
				 library);
	if ((!strcmp(home, "tmpfs") ||
	     kf_unit_yes(unit, KF_UNIT_protect_home)) &&
	    is_below(library, "/home /root /run/user"))
		return kf_format("ProtectHome=%s hides the library %s", home,
				 library);
	if ((kf_unit_yes(unit, KF_UNIT_private_tmp) ||
	     kf_unit_yes(unit, KF_UNIT_dynamic_user)) &&
	    is_below(library, "/tmp /var/tmp"))
		return kf_format("PrivateTmp=yes hides the library %s",
				 library);
	return NULL;
}

char *kf_unit_refusal(const struct kf_units *units, const struct kf_unit *unit,
		      const char *library)
{
	char *why = refuse_sight(unit, library);

	if (!why)
		why = refuse_environment(units, unit);
	return why ? why : refuse_programs(units, unit, library);
}

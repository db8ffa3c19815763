/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator enable and disable: let systemd start a service under the
 * library, by a drop-in of its unit.
 *
 * All is checked before the drop-in is written: a service that does not start
 * is worse than one that is not counted.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/conf.h"
#include "cli/commands/run.h"
#include "cli/commands/unit.h"
#include "cli/library.h"
#include "reader/regular.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_DIR "/run/konfiscator"

static bool enable_python, enable_dry;

enum { OPT_PYTHON = KF_OPT_UNIT_OWN };

/* Bytes that a line of a unit file cannot hold. */
static bool has_control(const char *text)
{
	while (*text && !iscntrl((unsigned char)*text))
		text++;
	return *text != '\0';
}

/* One NAME=VALUE of the environment from an OPTION=VALUE; NULL after a message.
 */
static char *enable_option(const char *word)
{
	size_t len = strcspn(word, "=");
	enum kf_conf_id id = kf_conf_find(word, len);
	const char *value = word + len + (word[len] == '=');
	const char *allowed = NULL;
	char *variable, *both;

	if (id == KF_NR_CONF || !word[len]) {
		kf_error(
			"enable: '%s' is not OPTION=VALUE with an option of konfiscator run",
			word);
		return NULL;
	}
	if (!value[0])
		allowed = "a value: it must not be empty";
	else if (has_control(value))
		allowed = "allowed: a unit file cannot hold control characters";
	else if (value[0] != '/' &&
		 (id == KF_CONF_ID_dir || id == KF_CONF_ID_record))
		allowed = "an absolute path";
	else
		allowed = kf_conf_refusal(id, value);
	if (allowed) {
		kf_error("enable: %.*s: '%s' is not %s", (int)len, word, value,
			 allowed);
		return NULL;
	}
	variable = kf_conf_variable(kf_conf_options[id].id);
	both = kf_format("%s=%s", variable, value);
	free(variable);
	return both;
}

/* Returns 0, or the exit status after a message. */
static int enable_options(int argc, char **argv, struct kf_dropin *d)
{
	d->environment = kf_alloc((size_t)argc + 2, sizeof(char *));
	for (int i = 0; i < argc; i++) {
		d->environment[i] = enable_option(argv[i]);
		if (!d->environment[i])
			return KF_EXIT_USAGE;
		if (!strncmp(d->environment[i], "KONFISCATOR_DIR=", 16))
			d->dir = d->environment[i] + 16;
	}
	if (enable_python)
		d->environment[argc] = kf_format("PYTHONMALLOC=malloc");
	return 0;
}

/* The library's path within the root, to free(); NULL after a message. */
static char *enable_library(const struct kf_units *units)
{
	bool is_image = strcmp(units->root, "/") != 0;
	char *path = is_image ? kf_format("%s", KF_LIBRARY)
			      : kf_library_find("libkonfiscator.so");
	int fd = path ? kf_regular_open_in(units->root, path) : -1;
	const char *problem = NULL;

	if (!path)
		return NULL;
	if (fd < 0)
		problem = strerror(errno);
	else if (path[strcspn(path, " \t\n:$")])
		problem =
			"LD_PRELOAD cannot hold a path with a blank, ':' or '$'";
	if (fd >= 0)
		close(fd);
	if (!problem)
		return path;
	kf_error("enable: the library %s%s: %s", is_image ? units->root : "",
		 path, problem);
	free(path);
	return NULL;
}

static void enable_tell_place(const struct kf_cli *cli,
			      const struct kf_units *units,
			      const struct kf_unit *unit)
{
	if (kf_unit_names(unit->value[KF_UNIT_inaccessible_paths], SYSTEM_DIR))
		kf_note(cli, "enable: InaccessiblePaths= hides " SYSTEM_DIR
			     ": the counters cannot be read");
	else if (units->live && !units->user && access(SYSTEM_DIR, F_OK))
		kf_note(cli,
			"enable: there is no " SYSTEM_DIR
			": systemd-tmpfiles --create konfiscator.conf makes it; without it stats files are in the /tmp that the service sees");
}

static int enable_unit(const struct kf_cli *cli, const struct kf_units *units,
		       const struct kf_unit *unit, const struct kf_dropin *d)
{
	const char *name = unit->value[KF_UNIT_id];
	char *why = kf_unit_refusal(units, unit, d->library);
	char *text;
	int rc = 0;

	if (why)
		kf_error("enable: %s: %s", name, why);
	if (why || !kf_unit_may_write(units, name)) {
		free(why);
		return KF_EXIT_FAILED;
	}
	text = kf_dropin_text(units, unit, d);
	if (enable_dry)
		fputs(text, stdout);
	else if (kf_dropin_write(units, name, text))
		rc = kf_unit_failed(units, name);
	else
		rc = kf_unit_changed(units, unit, name, "written");
	free(text);
	if (!rc && !enable_dry)
		enable_tell_place(cli, units, unit);
	return rc;
}

static void dropin_release(struct kf_dropin *d)
{
	for (char **e = d->environment; e && *e; e++)
		free(*e);
	free(d->environment);
}

static int enable_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_dropin d = {0};
	struct kf_units units;
	struct kf_unit unit;
	char *name = NULL, *library = NULL;
	int status = kf_unit_one(cli, argc, argv, true, &name);

	if (!status)
		status = enable_options(argc - 1, argv + 1, &d);
	if (!status)
		status = kf_unit_begin(cli, &units);
	if (!status) {
		library = enable_library(&units);
		d.library = library;
		status = KF_EXIT_FAILED;
		if (library && !kf_unit_read(&units, name, &unit))
			status = enable_unit(cli, &units, &unit, &d);
		if (library)
			kf_unit_release(&unit);
		kf_units_close(&units);
	}
	dropin_release(&d);
	free(library);
	free(name);
	return status;
}

static int enable_take(struct kf_cli *cli, int key, const char *arg)
{
	if (key == OPT_PYTHON)
		enable_python = true;
	else if (key == 'n')
		enable_dry = true;
	else
		return kf_unit_option(cli, key, arg);
	return 0;
}

static const struct kf_option enable_table[] = {
	{OPT_PYTHON, "python", NULL, KF_RUN_PYTHON},
	{'n', "dry-run", NULL, "print the drop-in, but write nothing"},
	KF_UNIT_OPTIONS,
	{0},
};

const struct kf_command kf_command_enable = {
	.name = "enable",
	.args = "UNIT [OPTION=VALUE...]",
	.help = "Have systemd start a service under the library",
	.about =
		"Writes the drop-in UNIT.d/50-konfiscator.conf, lets systemd read it, and says what to\n"
		"restart. OPTION is an option of konfiscator run, without --. An LD_PRELOAD of the unit\n"
		"is kept, and restrictions of the unit are opened for the stats file alone. A unit\n"
		"whose program cannot run under the library is refused: static, set-id, using musl.\n"
		"Options of an earlier call are replaced.",
	.examples =
		"  konfiscator enable nginx                the next start is under the library\n"
		"  konfiscator enable redis-server sample=64K    with an option of the library\n"
		"  konfiscator enable postgresql@.service  all instances of a template\n"
		"  konfiscator enable --user pipewire      a service of the user",
	.options = enable_table,
	.formats = KF_FORMAT_TABLE,
	.option = enable_take,
	.run = enable_run,
};

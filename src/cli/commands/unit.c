/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What enable, disable and status have in common: see unit.h.
 */
#include "config.h"

#include "cli/commands/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *unit_root;
static bool unit_user;

int kf_unit_option(struct kf_cli *cli, int key, const char *arg)
{
	if (key == KF_OPT_UNIT_USER)
		unit_user = true;
	else
		unit_root = arg;
	return 0;
}

int kf_unit_begin(const struct kf_cli *cli, struct kf_units *units)
{
	if (unit_user && unit_root) {
		kf_error(
			"%s: --user and --root cannot be combined: an image has no user",
			cli->command->name);
		return KF_EXIT_USAGE;
	}
	return kf_units_open(units, unit_root, unit_user);
}

int kf_unit_one(const struct kf_cli *cli, int argc, char **argv, bool more,
		char **name)
{
	if (!argc || (argc > 1 && !more)) {
		kf_error("%s: %s", cli->command->name,
			 argc ? "only one unit can be given"
			      : "no unit: name a service");
		return KF_EXIT_USAGE;
	}
	*name = kf_unit_name(argv[0]);
	return *name ? 0 : KF_EXIT_USAGE;
}

int kf_unit_changed(const struct kf_units *units, const struct kf_unit *unit,
		    const char *name, const char *what)
{
	static const char *const reload[] = {"daemon-reload", NULL};
	const char *active = unit->value[KF_UNIT_active_state];
	const char *user = units->user ? " --user" : "";
	char *path = kf_dropin_path(units, name);

	printf("%s: %s\n", path, what);
	free(path);
	if (!units->live)
		return 0;
	if (kf_units_systemctl(units, reload, NULL))
		return KF_EXIT_FAILED;
	if (strstr(name, "@."))
		printf("%s: takes effect when an instance is restarted: systemctl%s restart '%.*s*'\n",
		       name, user, (int)(strchr(name, '@') - name) + 1, name);
	else if (!strcmp(active, "active") || !strcmp(active, "reloading") ||
		 !strcmp(active, "activating"))
		printf("%s: takes effect when it is restarted: systemctl%s restart %s\n",
		       name, user, name);
	else
		printf("%s: takes effect when it is started\n", name);
	return 0;
}

bool kf_unit_may_write(const struct kf_units *units, const char *name)
{
	char *path;

	if (kf_dropin_look(units, name) != KF_DROPIN_FOREIGN)
		return true;
	path = kf_dropin_path(units, name);
	kf_error(
		"%s: it has lines that konfiscator did not write: rename or delete it",
		path);
	free(path);
	return false;
}

int kf_unit_failed(const struct kf_units *units, const char *name)
{
	char *path = kf_dropin_path(units, name);

	kf_error("%s: %s", path, strerror(errno));
	free(path);
	return KF_EXIT_FAILED;
}

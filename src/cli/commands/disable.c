/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator disable: delete the drop-in of a service.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/unit.h"

#include <stdlib.h>

static int disable_unit(const struct kf_cli *cli, const struct kf_units *units,
			const struct kf_unit *unit, const char *name)
{
	if (kf_dropin_look(units, name) == KF_DROPIN_NONE) {
		kf_note(cli, "disable: %s: it was not enabled", name);
		return 0;
	}
	if (!kf_unit_may_write(units, name))
		return KF_EXIT_FAILED;
	if (kf_dropin_delete(units, name))
		return kf_unit_failed(units, name);
	return kf_unit_changed(units, unit, name, "deleted");
}

static int disable_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_units units;
	struct kf_unit unit;
	char *name;
	int status = kf_unit_one(cli, argc, argv, false, &name);

	if (status)
		return status;
	status = kf_unit_begin(cli, &units);
	if (!status) {
		/* of a unit that is gone the drop-in may be left */
		int is = kf_unit_look(&units, name, &unit);

		status = KF_EXIT_FAILED;
		if (is >= 0)
			status = disable_unit(cli, &units, &unit,
					      is ? unit.value[KF_UNIT_id]
						 : name);
		kf_unit_release(&unit);
		kf_units_close(&units);
	}
	free(name);
	return status;
}

static const struct kf_option disable_table[] = {
	KF_UNIT_OPTIONS,
	{0},
};

const struct kf_command kf_command_disable = {
	.name = "disable",
	.args = "UNIT",
	.help = "Undo konfiscator enable",
	.about =
		"Deletes the drop-in, lets systemd know, and says what to restart. A file of that name\n"
		"with lines that konfiscator did not write is not deleted.",
	.options = disable_table,
	.formats = KF_FORMAT_TABLE,
	.option = kf_unit_option,
	.run = disable_run,
};

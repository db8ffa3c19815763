/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator status: which services are enabled, and which of their processes
 * run under the library.
 */
#include "config.h"

#include "cli/cli.h"
#include "cli/commands/unit.h"
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT, ENABLED, PROCESSES, UNDER, UNKNOWN, TO_DO };

static const struct kf_column status_columns[] = {
	[UNIT] = {"UNIT", "unit", KF_CELL_TEXT},
	[ENABLED] = {"ENABLED", "enabled", KF_CELL_TEXT},
	[PROCESSES] = {"PROCESSES", "processes", KF_CELL_COUNT},
	[UNDER] = {"WITH LIBRARY", "with_library", KF_CELL_COUNT},
	[UNKNOWN] = {NULL, "unknown", KF_CELL_COUNT},
	[TO_DO] = {"TO DO", "to_do", KF_CELL_TEXT},
};

/* What is read once for all units. */
struct sight {
	const struct kf_units *units;
	struct kf_unit_process *all;
	size_t nr;
	struct kf_files files;
	bool here; /* the units' processes are this system's */
};

struct status_counts {
	unsigned int nr[3]; /* by enum kf_unit_under */
	unsigned int all;
};

static void status_count(const struct sight *s, const char *name,
			 struct status_counts *c)
{
	*c = (struct status_counts){0};
	for (size_t i = 0; i < s->nr; i++) {
		if (!kf_unit_is_of(s->all[i].unit, name))
			continue;
		c->nr[kf_unit_under(s->all[i].pid, &s->files)]++;
		c->all++;
	}
}

/* What the user has to do, to free(). */
static char *status_to_do(const struct sight *s, const char *name,
			  enum kf_dropin_state state,
			  const struct status_counts *c)
{
	const char *user = s->units->user ? " --user" : "";
	const char *at = strchr(name, '@');
	bool template = at && !strcmp(at, "@.service");

	if (state == KF_DROPIN_FOREIGN)
		return kf_format("its " KF_DROPIN_NAME
				 " has lines that konfiscator did not write");
	if (state == KF_DROPIN_HIDDEN)
		return kf_format("its " KF_DROPIN_NAME
				 " cannot be read: run as root");
	if (c->nr[KF_UNDER_UNKNOWN])
		return kf_format(
			"%u process%s cannot be looked at: run as root",
			c->nr[KF_UNDER_UNKNOWN],
			c->nr[KF_UNDER_UNKNOWN] == 1 ? "" : "es");
	if (state == KF_DROPIN_OURS ? c->nr[KF_UNDER_NO] && !c->nr[KF_UNDER_YES]
				    : c->nr[KF_UNDER_YES])
		return kf_format("systemctl%s restart %s%.*s%s", user,
				 template ? "'" : "",
				 template ? (int)(at - name) + 1
					  : (int)strlen(name),
				 name, template ? "*'" : "");
	return NULL;
}

static void status_add(struct kf_table *t, const struct sight *s,
		       const char *name)
{
	static const char *const words[] = {
		[KF_DROPIN_NONE] = "no",
		[KF_DROPIN_OURS] = "yes",
		[KF_DROPIN_FOREIGN] = "unknown",
		[KF_DROPIN_HIDDEN] = "unknown",
	};
	enum kf_dropin_state state = kf_dropin_look(s->units, name);
	struct kf_cell *row = kf_table_row(t);
	struct status_counts c;
	char *to_do;

	status_count(s, name, &c);
	to_do = status_to_do(s, name, state, &c);
	kf_cell_text(&row[UNIT], name);
	kf_cell_text(&row[ENABLED], words[state]);
	row[PROCESSES].count = c.all;
	row[UNDER].count = c.nr[KF_UNDER_YES];
	row[UNKNOWN].count = c.nr[KF_UNDER_UNKNOWN];
	row[PROCESSES].none = row[UNDER].none = row[UNKNOWN].none = !s->here;
	kf_cell_text(&row[TO_DO], to_do ? to_do : "");
	row[TO_DO].none = !to_do;
	if (to_do)
		row[TO_DO].mark = KF_MARK_WARN;
	free(to_do);
}

/* Returns the exit status: KF_EXIT_NO_MATCH if the unit is not enabled. */
static int status_of_one(struct kf_table *t, const struct sight *s,
			 const char *text)
{
	char *name = kf_unit_name(text);
	enum kf_dropin_state state;
	struct kf_unit unit;
	int status = KF_EXIT_FAILED;

	if (!name)
		return KF_EXIT_USAGE;
	if (!kf_unit_read(s->units, name, &unit)) {
		const char *id = unit.value[KF_UNIT_id];

		status_add(t, s, id);
		state = kf_dropin_look(s->units, id);
		status = state == KF_DROPIN_OURS ? 0 : KF_EXIT_NO_MATCH;
	}
	kf_unit_release(&unit);
	free(name);
	return status;
}

static int status_of_all(const struct kf_cli *cli, struct kf_table *t,
			 const struct sight *s)
{
	char **names;
	size_t nr;

	if (kf_dropin_units(s->units, &names, &nr)) {
		kf_error("status: %s%s: %s", s->here ? "" : s->units->root,
			 s->units->config, strerror(errno));
		return KF_EXIT_FAILED;
	}
	for (size_t i = 0; i < nr; i++) {
		status_add(t, s, names[i]);
		free(names[i]);
	}
	free(names);
	if (!nr)
		kf_note(cli, "status: no unit is enabled");
	return nr ? 0 : KF_EXIT_NO_MATCH;
}

static int status_look(struct kf_cli *cli, struct sight *s, int argc,
		       char **argv)
{
	struct kf_table t;
	int status;

	s->here = !strcmp(s->units->root, "/");
	if (s->here) {
		status = kf_cli_find(cli, &s->files);
		if (status)
			return status;
		s->all = kf_unit_processes(s->units, &s->nr);
	}
	kf_table_init(&t, status_columns, KF_ARRAY_SIZE(status_columns));
	status = argc ? status_of_one(&t, s, argv[0])
		      : status_of_all(cli, &t, s);
	if (t.nr_rows || cli->format != KF_FORMAT_TABLE)
		kf_table_print(&t, cli);
	kf_table_release(&t);
	if (s->here)
		kf_files_release(&s->files);
	free(s->all);
	return status;
}

static int status_run(struct kf_cli *cli, int argc, char **argv)
{
	struct kf_units units;
	struct sight s = {.units = &units};
	int status;

	if (argc > 1) {
		kf_error("status: only one unit can be given");
		return KF_EXIT_USAGE;
	}
	status = kf_unit_begin(cli, &units);
	if (status)
		return status;
	status = status_look(cli, &s, argc, argv);
	kf_units_close(&units);
	return status;
}

static const struct kf_option status_options[] = {
	KF_UNIT_OPTIONS,
	{0},
};

const struct kf_command kf_command_status = {
	.name = "status",
	.args = "[UNIT]",
	.help = "Show which services run under the library",
	.about =
		"Without UNIT all enabled services are shown. PROCESSES are those of the service, WITH\n"
		"LIBRARY those of them that have loaded the library. The exit status is 0 if UNIT, or\n"
		"any unit, is enabled, and 3 if not.",
	.options = status_options,
	.formats = KF_FORMAT_TABLE | KF_FORMAT_JSON | KF_FORMAT_CSV,
	.option = kf_unit_option,
	.run = status_run,
};

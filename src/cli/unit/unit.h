/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Units of systemd, and the drop-in that starts a unit under the library.
 *
 * A unit is read from systemd where it runs, else from the unit files of a
 * root directory, as of an image. Only the drop-in is ever written.
 */
#ifndef KF_CLI_UNIT_UNIT_H
#define KF_CLI_UNIT_UNIT_H

#include "cli/cli.h"

#include <stdio.h>

/* The name of the drop-in in the directory UNIT.d. */
#define KF_DROPIN_NAME "50-konfiscator.conf"

/* Where units are. Constant once it is open. */
struct kf_units {
	const char *root; /* the directory that is /: "/", or an image */
	bool user;	  /* the user's units, not the system's */
	bool live;	  /* systemd runs here, and answers */
	char *config;	  /* the directory of drop-ins, within @root */
};

/* The properties of a unit; each "" where it is not set. */
enum kf_unit_property {
#define KF_UNIT(id, name, file, join) KF_UNIT_##id,
#include "cli/unit/properties.def"
#undef KF_UNIT
	KF_NR_UNIT
};

struct kf_unit {
	char *value[KF_NR_UNIT];
	bool expanded; /* by systemd: '%' has no meaning in the values */
};

/**
 * kf_units_open() - find out where units are
 * @units:	out; kf_units_close() it
 * @root:	an image's directory, or NULL: this system
 * @user:	the user's units
 *
 * Return: 0, or the exit status after a message.
 */
int kf_units_open(struct kf_units *units, const char *root, bool user);

/**
 * kf_units_close() - free what kf_units_open() made
 * @units:	the units
 */
void kf_units_close(struct kf_units *units);

/**
 * kf_units_systemctl() - call systemctl
 * @units:	the units, live
 * @words:	its arguments; ends with NULL
 * @output:	out: what it printed, to free(); or NULL
 *
 * Return: 0, or -1 after a message.
 */
int kf_units_systemctl(const struct kf_units *units, const char *const *words,
		       char **output);

/**
 * kf_unit_name() - the name of a service by systemd's rules
 * @text:	the name, with or without ".service"
 *
 * Return: the name with ".service", to free(); NULL after a message.
 */
char *kf_unit_name(const char *text);

/**
 * kf_unit_is_name() - whether a text is the full name of a service
 * @name:	the text
 *
 * Return: whether it is.
 */
bool kf_unit_is_name(const char *name);

/**
 * kf_unit_is_of() - whether a unit is an instance of a template, or the same
 * @unit:	the name of a unit
 * @name:	the name of a unit or of a template
 *
 * Return: whether.
 */
bool kf_unit_is_of(const char *unit, const char *name);

/**
 * kf_unit_read() - read a unit
 * @units:	where it is
 * @name:	its name
 * @unit:	out; kf_unit_release() it in any case
 *
 * The Id of an alias is the unit's own name.
 *
 * Return: 0, or -1 after a message: there is no such unit, or it is masked.
 */
int kf_unit_read(const struct kf_units *units, const char *name,
		 struct kf_unit *unit);

/**
 * kf_unit_look() - the same, without a message of a unit that is not there
 * @units:	where it is
 * @name:	its name
 * @unit:	out; kf_unit_release() it in any case
 *
 * Return: 1; 0 if there is no such unit; -1 after a message.
 */
int kf_unit_look(const struct kf_units *units, const char *name,
		 struct kf_unit *unit);

/**
 * kf_unit_read_files() - the same from the unit files
 * @units:	where it is
 * @name:	its name
 * @unit:	out; all members are freed by kf_unit_release()
 *
 * Return: whether there is a unit; LoadState says "masked" of one that is.
 */
bool kf_unit_read_files(const struct kf_units *units, const char *name,
			struct kf_unit *unit);

/**
 * kf_unit_add() - add a value to a property as systemd does
 * @unit:	the unit
 * @p:		the property
 * @value:	the value; an empty one takes all earlier ones away
 * @join:	goes between two values; "": the last one counts
 */
void kf_unit_add(struct kf_unit *unit, enum kf_unit_property p,
		 const char *value, const char *join);

/**
 * kf_unit_release() - free a unit's properties
 * @unit:	the unit
 */
void kf_unit_release(struct kf_unit *unit);

/**
 * kf_unit_yes() - whether a property is a true boolean
 * @unit:	the unit
 * @p:		the property
 *
 * Return: whether.
 */
bool kf_unit_yes(const struct kf_unit *unit, enum kf_unit_property p);

/**
 * kf_unit_word() - the next word of a list, without its quotes and escapes
 * @at:		in and out: the rest of the list
 *
 * Return: the word, to free(); NULL at the end.
 */
char *kf_unit_word(const char **at);

/**
 * kf_unit_names() - whether a list of paths has one at or above a path
 * @list:	the value of a property
 * @path:	an absolute path
 *
 * Return: whether.
 */
bool kf_unit_names(const char *list, const char *path);

/**
 * kf_unit_refusal() - why a unit's programs cannot run under the library
 * @units:	where it is
 * @unit:	the unit
 * @library:	the library's path, within the root
 *
 * Return: the reason, to free(); NULL if they can.
 */
char *kf_unit_refusal(const struct kf_units *units, const struct kf_unit *unit,
		      const char *library);

/* What goes into a drop-in. */
struct kf_dropin {
	const char *library; /* the library's path, within the root */
	const char *dir;     /* the option dir, or NULL */
	char **environment;  /* NAME=VALUE, ends with NULL */
};

/**
 * kf_dropin_text() - the text of a drop-in
 * @units:	where the unit is
 * @unit:	the unit: its LD_PRELOAD is kept, its restrictions are opened
 *		for the library and the stats file, as far as needed
 * @d:		what the drop-in sets
 *
 * Return: the text, to free().
 */
char *kf_dropin_text(const struct kf_units *units, const struct kf_unit *unit,
		     const struct kf_dropin *d);

/**
 * kf_dropin_path() - where a unit's drop-in is
 * @units:	where units are
 * @name:	the unit's name
 *
 * Return: the path from this system's /, for messages, to free().
 */
char *kf_dropin_path(const struct kf_units *units, const char *name);

/* What is at the path of a drop-in. */
enum kf_dropin_state {
	KF_DROPIN_NONE,
	KF_DROPIN_OURS,
	KF_DROPIN_FOREIGN,
	KF_DROPIN_HIDDEN, /* from this user */
};

/**
 * kf_dropin_look() - whether a unit has the drop-in
 * @units:	where the unit is
 * @name:	its name
 *
 * A file with a line that kf_dropin_text() does not write is foreign.
 *
 * Return: which.
 */
enum kf_dropin_state kf_dropin_look(const struct kf_units *units,
				    const char *name);

/**
 * kf_dropin_write() - write a unit's drop-in in place of an earlier one
 * @units:	where the unit is
 * @name:	its name
 * @text:	the drop-in
 *
 * Return: 0, or -1 with errno.
 */
int kf_dropin_write(const struct kf_units *units, const char *name,
		    const char *text);

/**
 * kf_dropin_delete() - delete a unit's drop-in, and its directory if it is
 * empty
 * @units:	where the unit is
 * @name:	its name
 *
 * Return: 0, or -1 with errno.
 */
int kf_dropin_delete(const struct kf_units *units, const char *name);

/**
 * kf_dropin_units() - the units that have a drop-in of that name
 * @units:	where units are
 * @names:	out: their names, sorted, to free() each and the array
 * @nr:		out: how many
 *
 * Return: 0, or -1 with errno.
 */
int kf_dropin_units(const struct kf_units *units, char ***names, size_t *nr);

/* A process of a service. */
struct kf_unit_process {
	int32_t pid;
	char unit[256];
};

/**
 * kf_unit_processes() - the processes of all services
 * @units:	the system's or the user's; live or not
 * @nr:		out: how many
 *
 * By the names of their cgroups, of version 1 or 2.
 *
 * Return: the processes, to free().
 */
struct kf_unit_process *kf_unit_processes(const struct kf_units *units,
					  size_t *nr);

/* Whether a process runs under the library. */
enum kf_unit_under { KF_UNDER_NO, KF_UNDER_YES, KF_UNDER_UNKNOWN };

/**
 * kf_unit_under() - whether a process has mapped the library
 * @pid:	the process
 * @files:	all stats files, for processes of others
 *
 * Return: whether; KF_UNDER_UNKNOWN if it has ended, or may not be looked at.
 */
enum kf_unit_under kf_unit_under(int32_t pid, const struct kf_files *files);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the commands of konfiscator(1) share.
 *
 * A command is one file, commands/NAME.c, with one `const struct kf_command` at
 * its bottom; help, option parsing and dispatch follow from it. A new command
 * needs its line in commands.def, its file in Makemodule.am, its section in
 * doc/konfiscator.1 and its tests in tests/cli;
 * tests/cli/help_and_manual_agree.sh holds the manual to the table.
 */
#ifndef KF_CLI_CLI_H
#define KF_CLI_CLI_H

#include "base/compiler.h"
#include "reader/reader.h"

#include <sys/types.h>

/* The compiler checks the arguments from @first on against the format @fmt. */
#define __kf_printf(fmt, first) __attribute__((format(printf, fmt, first)))

enum kf_exit {
	KF_EXIT_OK = 0,
	KF_EXIT_FAILED = 1,
	KF_EXIT_USAGE = 2,
	KF_EXIT_NO_MATCH = 3,
	KF_EXIT_RUN_FAILED = 125,
	KF_EXIT_NOT_EXECUTABLE = 126,
	KF_EXIT_NOT_FOUND = 127,
};

/* Bits, so that a command can name the formats it supports. */
enum kf_format {
	KF_FORMAT_TABLE = 1,
	KF_FORMAT_JSON = 2,
	KF_FORMAT_CSV = 4,
	KF_FORMAT_PROM = 8,
};

/* Keys of options that have no letter; commands begin at KF_OPT_OWN. */
enum kf_opt {
	KF_OPT_GROUP = -1, /* no option: the next ones have a title */
	KF_OPT_COMMON = 256,
	KF_OPT_OWN = 512
};

struct kf_option {
	int key;	      /* its letter, or a number of enum kf_opt */
	const char *name;     /* long name, or NULL */
	const char *arg;      /* name of its argument, or NULL */
	const char *help;     /* of KF_OPT_GROUP: the title */
	const char *fallback; /* the default, which --help adds, or NULL */
	bool bytes;	      /* @fallback is a number of bytes */
};

/* The processes that a command selects. Constant once options are parsed. */
struct kf_select {
	unsigned int nr_pids;
	int32_t *pids;
	unsigned int nr_files;
	const char **files;    /* names of stats files in their directories */
	const char *name;      /* a glob, or NULL */
	const char *container; /* the start of an id, or NULL */
	bool by_user;
	uid_t user;
	bool all; /* processes that have ended too */
};

/* The command line. Constant once options are parsed. */
struct kf_cli {
	const struct kf_command *command;
	const char **dirs; /* ends with NULL; or NULL: the defaults */
	enum kf_format format;
	bool exact; /* --bytes */
	bool no_header;
	bool color;
	bool quiet;
	bool verbose;
	bool no_pager;
	bool raw;	     /* keep wrappers of malloc in stacks */
	bool no_fold;	     /* keep repeated calls in stacks */
	bool attach;	     /* bring the library into the process first */
	bool outside;	     /* the process needs no library */
	bool full_names;     /* print names of functions as long as they are */
	unsigned int tables; /* enum kf_tables: the tables to read */
	struct kf_select select;
};

struct kf_command {
	const char *name;
	const char *args;  /* after the options, as usage shows it; "": none */
	const char *help;  /* one line */
	const char *about; /* more, for --help; or NULL */
	const char *examples;		 /* lines for --help; or NULL */
	const struct kf_option *options; /* ends with a zero entry, or NULL */
	unsigned int formats;		 /* of enum kf_format */
	bool selects;			 /* has -p, -n, -c and -u */
	bool selects_ended;		 /* has -a */
	bool selects_files;		 /* its arguments are processes */
	bool attaches;			 /* has --attach */
	bool stacks;	  /* has --raw, --no-fold and --full-names */
	bool pages;	  /* its output may go through a pager */
	bool stops;	  /* options end at the first argument */
	int usage_status; /* exit status of wrong usage; 0: 2 */

	/* An option of the table; returns 0, or an exit status. */
	int (*option)(struct kf_cli *cli, int key, const char *arg);
	/* Gets the remaining arguments; returns the exit status. */
	int (*run)(struct kf_cli *cli, int argc, char **argv);
};

#define KF_COMMAND(id) extern const struct kf_command kf_command_##id;
#include "cli/commands.def"
#undef KF_COMMAND

/**
 * kf_commands() - all commands, in the order of the help
 *
 * Return: an array that ends with NULL.
 */
const struct kf_command *const *kf_commands(void);

/**
 * kf_command_find() - the command of a name
 * @name:	the name
 *
 * Return: the command; NULL after a message: there is none.
 */
const struct kf_command *kf_command_find(const char *name);

/**
 * kf_options_parse() - parse options into @cli
 * @cli:	the command line; its command is NULL for the global part
 * @argc:	number of @argv
 * @argv:	the arguments, the first is skipped
 * @status:	out: the exit status where it returns -1
 *
 * Prints help or version where asked for, and errors.
 *
 * Return: index of the first argument that is not an option, or -1 to exit.
 */
int kf_options_parse(struct kf_cli *cli, int argc, char **argv, int *status);

/**
 * kf_options_refuse_format() - print that the command has no such --format
 * @cli:	the command line, with its command
 *
 * Return: the exit status.
 */
int kf_options_refuse_format(const struct kf_cli *cli);

/**
 * kf_options_add_dir() - read a directory instead of the default ones
 * @cli:	the command line
 * @dir:	the directory, which is copied
 */
void kf_options_add_dir(struct kf_cli *cli, const char *dir);

/**
 * kf_options_drop_dirs() - read the default directories again
 * @cli:	the command line
 */
void kf_options_drop_dirs(struct kf_cli *cli);

/**
 * kf_select_option() - parse a selector
 * @sel:	where to put it
 * @key:	its letter
 * @arg:	its argument
 *
 * Return: 0, or the exit status after a message.
 */
int kf_select_option(struct kf_select *sel, int key, const char *arg);

/**
 * kf_select_pid() - select a process, beside those that are selected
 * @sel:	what is selected
 * @pid:	the process
 */
void kf_select_pid(struct kf_select *sel, int32_t pid);

/**
 * kf_select_arguments() - select the processes that the arguments name
 * @cli:	the command line; its command has selectors
 * @argc:	in and out: number of @argv
 * @argv:	in and out: the arguments
 *
 * The first arguments that are numbers and no files are processes. Where all
 * arguments of the command are processes, the others are stats files.
 *
 * Return: 0, or the exit status after a message.
 */
int kf_select_arguments(struct kf_cli *cli, int *argc, char ***argv);

/**
 * kf_select_tell_none() - print that no process is selected, and which there
 * are
 * @cli:	the command line
 * @files:	what was found
 */
void kf_select_tell_none(const struct kf_cli *cli,
			 const struct kf_files *files);

/**
 * kf_select_any() - whether a selector other than -a was given
 * @sel:	the selectors
 *
 * Return: whether.
 */
bool kf_select_any(const struct kf_select *sel);

/**
 * kf_select_hint() - a hint why no ended process was found
 * @cli:	the command line
 *
 * Return: words for the end of a message, or "".
 */
const char *kf_select_hint(const struct kf_cli *cli);

/**
 * kf_select_matches() - whether a file's process is selected
 * @sel:	the selectors
 * @f:		the file; one without a snapshot only matches no selector
 *
 * The caller evaluates -a.
 *
 * Return: whether.
 */
bool kf_select_matches(const struct kf_select *sel, const struct kf_file *f);

/**
 * kf_tell_refused() - print the directories that are not read, and why
 * @all:	directories; NULL-terminated; or NULL
 *
 * Directories that kf_place_open() refuses for safety are printed to stderr.
 */
void kf_tell_refused(const char *const *all);

/**
 * kf_cli_check_dir() - whether a directory that --dir names is one
 * @path:	the directory
 *
 * Return: 0, or -1 after a message.
 */
int kf_cli_check_dir(const char *path);

/**
 * kf_cli_find() - read the stats files that the command line names
 * kf_cli_find_part() - read those with a text in their names
 * @cli:	the command line
 * @part:	the text; NULL: all files
 * @files:	out: the files
 *
 * Return: 0, or the exit status after a message.
 */
int kf_cli_find(const struct kf_cli *cli, struct kf_files *files);
int kf_cli_find_part(const struct kf_cli *cli, const char *part,
		     struct kf_files *files);

/**
 * kf_error() - one line on stderr, with the program's and command's names
 * @fmt:	printf's
 * @...:	what @fmt asks for
 *
 * Control bytes of the whole line are escaped.
 */
void __kf_printf(1, 2) kf_error(const char *fmt, ...);

/**
 * kf_note() - the same, but not with -q
 * @cli:	the command line
 * @fmt:	printf's
 * @...:	what @fmt asks for
 */
void __kf_printf(2, 3) kf_note(const struct kf_cli *cli, const char *fmt, ...);

/**
 * kf_take_seconds() - parse the argument of an option that is a time
 * @option:	for the message, as "stat: --watch"
 * @arg:	the argument
 * @seconds:	out
 *
 * Return: 0, or the exit status after a message.
 */
int kf_take_seconds(const char *option, const char *arg, double *seconds);

/**
 * kf_alloc() - allocate zeroed memory, or exit
 * @nr:		number of things
 * @size:	bytes of each
 *
 * Return: the memory; ends the program with status 1 where there is none.
 */
void *kf_alloc(size_t nr, size_t size);

/**
 * kf_format() - a string by printf's rules
 * @fmt:	printf's
 * @...:	what @fmt asks for
 *
 * Return: memory to free(); ends the program where there is none.
 */
char *__kf_printf(1, 2) kf_format(const char *fmt, ...);

/**
 * kf_take_marks() - kf_calls_mark(), or exit
 * @text:	as there
 * @from:	as there
 */
void kf_take_marks(char **text, const char *from);

struct kf_map;

/**
 * kf_entry() - an entry of a map, made where there is none
 * @map:	the map
 * @key:	of the entry, not 0
 * @is_new:	out: whether it was made now
 *
 * Return: the entry; ends the program with status 1 where there is no memory.
 */
void *kf_entry(struct kf_map *map, uint64_t key, bool *is_new);

#endif

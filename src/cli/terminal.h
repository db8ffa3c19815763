/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A terminal as stdout: its width, a pager for long output, and function names
 * that are cut to fit.
 */
#ifndef KF_CLI_TERMINAL_H
#define KF_CLI_TERMINAL_H

#include "cli/cli.h"

struct kf_table;

/**
 * kf_terminal_width() - the width of the terminal that is stdout
 *
 * The answer stays the same when a pager takes the terminal's place.
 *
 * Return: its columns; 0: stdout is no terminal.
 */
int kf_terminal_width(void);

/**
 * kf_pager_start() - let a pager show what is printed from here on
 * @cli:	the command line; only commands that page get a pager
 *
 * Does nothing if stdout is no terminal, with --no-pager, or if the user wants
 * none. stderr goes to the pager too if it is a terminal. The pager is waited
 * for at exit. Output to a pager that has ended is dropped: it changes neither
 * the exit status, nor does it end the program.
 */
void kf_pager_start(const struct kf_cli *cli);

/**
 * kf_pager_is_on() - whether a pager was started
 *
 * Return: true if so; errors of stdout then mean that the pager has ended.
 */
bool kf_pager_is_on(void);

/**
 * kf_names_fold() - fold the template arguments of names
 * @text:	names of functions
 *
 * Return: the names with an ellipsis between < and >; free() it.
 */
char *kf_names_fold(const char *text);

/**
 * kf_names_fit() - cut names of functions to a width
 * @text:	a name, or a stack as kf_site_callers() gives it; blanks before
 *		a name are kept up to half of the width
 * @room:	columns
 *
 * An ellipsis stands in the middle of each name that is cut. If a stack has no
 * room for some columns of each name, its outer calls are left out.
 *
 * Return: the text; free() it.
 */
char *kf_names_fit(const char *text, int room);

/**
 * kf_table_fit() - cut the names in a table so that its rows fit a width
 * @t:		the table; its columns of names change, and spare columns are
 *		left out, which a note says once
 * @cli:	the options of the format; nothing is done with --full-names
 * @room:	columns
 */
void kf_table_fit(struct kf_table *t, const struct kf_cli *cli, int room);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The texts of --help: see help.h.
 */
#include "config.h"

#include "cli/help.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 100
#define INDENT 34 /* of the descriptions */
#define LEFT 30	  /* a longer option has a line of its own */

/* The bytes of the next word; "(default 1M)" is one. */
static size_t help_word(const char *text)
{
	return strncmp(text, "(default ", 9) ? strcspn(text, " ")
					     : strlen(text);
}

/* Print words from a column on, in lines that begin at INDENT. */
static void help_wrap(const char *text, size_t column)
{
	while (*text) {
		size_t len = help_word(text);

		if (column > INDENT && column + 1 + len > WIDTH) {
			printf("\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* "512K", or the number itself. */
static void help_bytes(char *buf, size_t size, const char *digits)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	size_t unit = 0;
	uint64_t n = 0;

	kf_parse_u64(digits, &n);
	while (n && n % 1024 == 0 && unit < KF_ARRAY_SIZE(units) - 1) {
		n /= 1024;
		unit++;
	}
	snprintf(buf, size, "%llu%s", (unsigned long long)n, units[unit]);
}

/* "description (default 1M)", to free() */
static char *help_text(const struct kf_option *o)
{
	const char *value = o->fallback;
	char bytes[32];

	if (!value)
		return kf_format("%s", o->help);
	if (o->bytes) {
		help_bytes(bytes, sizeof(bytes), value);
		value = bytes;
	}
	return kf_format("%s (default %s)", o->help, value);
}

static void help_option(const struct kf_option *o)
{
	char left[80], name[KF_OPTION_NAME], letter[4] = "  ", comma = ' ';
	char *text = help_text(o);

	if (o->key < KF_OPT_COMMON)
		snprintf(letter, sizeof(letter), "-%c", o->key);
	if (o->key < KF_OPT_COMMON && o->name)
		comma = ',';
	snprintf(left, sizeof(left), "%s%c %s%s%s%s", letter, comma,
		 o->name ? "--" : "", kf_option_name(name, o->name),
		 o->arg ? (o->name ? "=" : " ") : "", o->arg ? o->arg : "");
	if (strlen(left) > LEFT)
		printf("  %s\n%*s", left, INDENT, "");
	else
		printf("  %-*s ", LEFT + 1, left);
	help_wrap(text, INDENT);
	free(text);
}

/* Whether an option of the command has the name of another one. */
static bool help_is_hidden(const struct kf_option *o,
			   const struct kf_option *hides)
{
	for (; hides && hides->key; hides++) {
		if (o->name && hides->name && !strcmp(o->name, hides->name))
			return true;
	}
	return false;
}

static void help_group(const struct kf_option_group *group,
		       const struct kf_option *hides)
{
	const struct kf_option *o = group->options;

	if (group->title && o->key != KF_OPT_GROUP)
		printf("\n%s:\n", group->title);
	for (; o->key; o++) {
		if (o->key == KF_OPT_GROUP)
			printf("\n%s:\n", o->help);
		else if (o == hides || !help_is_hidden(o, hides))
			help_option(o);
	}
}

static void help_commands(void)
{
	const struct kf_command *const *c;

	printf("Usage: konfiscator [OPTION...] COMMAND [ARGUMENT...]\n"
	       "\nRun programs under the konfiscator malloc, and see what "
	       "their heaps do.\n\nCommands:\n");
	for (c = kf_commands(); *c; c++)
		printf("  %-31s %s\n", (*c)->name, (*c)->help);
	printf("\n'konfiscator help COMMAND' describes a command.\n");
}

void kf_help_print(const struct kf_command *c)
{
	struct kf_option_group groups[KF_OPTION_GROUPS];
	size_t nr = kf_option_groups(c, groups);

	if (c)
		printf("Usage: konfiscator %s [OPTION...]%s%s\n\n%s.\n",
		       c->name, c->args[0] ? " " : "", c->args, c->help);
	else
		help_commands();
	if (c && c->about)
		printf("\n%s\n", c->about);
	if (c && c->examples)
		printf("\nExamples:\n%s\n", c->examples);
	for (size_t i = 0; i < nr; i++)
		help_group(&groups[i], c && groups[i].options != c->options
					       ? c->options
					       : NULL);
}

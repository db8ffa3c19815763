/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names and properties of units: see unit.h.
 */
#include "config.h"

#include "cli/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define SERVICE ".service"
#define UNIT_NAME_MAX 255

static bool is_unit_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr(":-_.\\@", c));
}

/* What is wrong with a full name, or NULL. */
static const char *name_problem(const char *name)
{
	size_t stem = strlen(name) - strlen(SERVICE);

	if (!stem || name[0] == '.' || name[0] == '@')
		return "is not the name of a unit";
	if (strlen(name) > UNIT_NAME_MAX)
		return "is longer than 255 bytes";
	for (const char *p = name; *p; p++) {
		if (!is_unit_letter(*p))
			return "is not the name of a unit: letters, digits and :-_.\\@ are allowed";
	}
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

bool kf_unit_is_name(const char *name)
{
	return ends_with(name, SERVICE) && !name_problem(name);
}

char *kf_unit_name(const char *text)
{
	static const char *const others[] = {
		".socket", ".device", ".mount", ".automount", ".swap",
		".target", ".path",   ".timer", ".slice",     ".scope"};
	const char *problem = NULL;
	char *name = kf_format("%s%s", text,
			       ends_with(text, SERVICE) ? "" : SERVICE);

	for (size_t i = 0; i < KF_ARRAY_SIZE(others); i++) {
		if (ends_with(text, others[i]))
			problem =
				"is not a service: only services can be enabled";
	}
	if (!problem)
		problem = name_problem(name);
	if (!problem)
		return name;
	kf_error("'%s' %s", text, problem);
	free(name);
	return NULL;
}

bool kf_unit_is_of(const char *unit, const char *name)
{
	const char *at = strchr(name, '@');
	size_t len = at ? (size_t)(at - name) + 1 : 0;

	if (at && !strcmp(at, "@" SERVICE))
		return !strncmp(unit, name, len) && ends_with(unit, SERVICE);
	return !strcmp(unit, name);
}

void kf_unit_add(struct kf_unit *unit, enum kf_unit_property p,
		 const char *value, const char *join)
{
	char *old = unit->value[p];
	bool joins = old && old[0] && value[0] && join[0];

	unit->value[p] =
		kf_format("%s%s%s", joins ? old : "", joins ? join : "", value);
	free(old);
}

void kf_unit_release(struct kf_unit *unit)
{
	for (int i = 0; i < KF_NR_UNIT; i++)
		free(unit->value[i]);
}

bool kf_unit_yes(const struct kf_unit *unit, enum kf_unit_property p)
{
	static const char *const words[] = {"yes", "true", "on", "1", "y", "t"};

	for (size_t i = 0; i < KF_ARRAY_SIZE(words); i++) {
		if (!strcasecmp(unit->value[p], words[i]))
			return true;
	}
	return false;
}

/* The character that an escape stands for; @at is behind the backslash. */
static char unit_escaped(const char **at)
{
	static const char letters[] = "abfnrtvs";
	static const char values[] = "\a\b\f\n\r\t\v ";
	char c = *(*at)++;
	const char *found = strchr(letters, c);
	char digits[3] = {0};

	if (c == 'x' && (*at)[0] && (*at)[1]) {
		memcpy(digits, *at, 2);
		*at += 2;
		return (char)strtoul(digits, NULL, 16);
	}
	return found ? values[found - letters] : c;
}

char *kf_unit_word(const char **at)
{
	const char *p = *at + strspn(*at, " \t\n");
	char *word, *to, quote = '\0';

	if (!*p)
		return NULL;
	word = to = kf_format("%s", p);
	while (*p && (quote || !strchr(" \t\n", *p))) {
		char c = *p++;

		if (c == quote)
			quote = '\0';
		else if (!quote && (c == '"' || c == '\''))
			quote = c;
		else if (c == '\\' && *p)
			*to++ = unit_escaped(&p);
		else
			*to++ = c;
	}
	*to = '\0';
	*at = p;
	return word;
}

bool kf_unit_names(const char *list, const char *path)
{
	bool found = false;
	char *word;

	while (!found && (word = kf_unit_word(&list))) {
		const char *dir = word + strspn(word, "-+");
		size_t len = strcspn(dir, ":");

		while (len && dir[len - 1] == '/')
			len--;
		found = dir[0] == '/' && !strncmp(path, dir, len) &&
			(!path[len] || path[len] == '/');
		free(word);
	}
	return found;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of functions as people read them: see function-name.h.
 */
#include "config.h"

#include "reader/function-name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 256 /* brackets within each other */

static const char *const wrapper_names[] = {
#define KF_WRAPPER(name) name,
#define KF_WRAPPER_SCOPE(name)
#include "reader/wrappers.def"
#undef KF_WRAPPER
#undef KF_WRAPPER_SCOPE
};

static const char *const wrapper_scopes[] = {
#define KF_WRAPPER(name)
#define KF_WRAPPER_SCOPE(name) name,
#include "reader/wrappers.def"
#undef KF_WRAPPER
#undef KF_WRAPPER_SCOPE
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The characters of an operator that follow the word at @p. */
static size_t operator_length(const char *begin, const char *p)
{
	static const char word[] = "operator";
	const size_t len = sizeof(word) - 1;

	if ((size_t)(p - begin) < len || memcmp(p - len, word, len) != 0)
		return 0;
	if ((size_t)(p - begin) > len && is_word(p[-len - 1]))
		return 0;
	if (!strncmp(p, "()", 2))
		return 2;
	return strspn(p, "<>=-");
}

/* What is left of @nr open brackets when @c closes one. */
static size_t bracket_close(const char *open, size_t nr, char c)
{
	if (c == '>')
		return nr && open[nr - 1] == '<' ? nr - 1 : nr;
	/* a < in an expression is not closed */
	while (nr && open[nr - 1] == '<')
		nr--;
	return nr ? nr - 1 : 0;
}

static bool is_arrow(const char *p)
{
	return p[0] == '-' && p[1] == '>';
}

/*
 * The length of the bracket that begins at @p, with all in it; 0: it is not
 * closed.
 */
static size_t bracket_length(const char *p)
{
	char open[MAX_DEPTH];
	size_t nr = 0, i = 0;

	do {
		size_t skip = operator_length(p, p + i);
		bool opens;

		if (skip) {
			i += skip;
			continue;
		}
		opens = strchr("<({[", p[i]);
		if (opens && nr == MAX_DEPTH)
			return 0;
		if (opens) {
			open[nr++] = p[i];
		} else if (strchr(">)}]", p[i]) && !is_arrow(p + i - 1)) {
			nr = bracket_close(open, nr, p[i]);
		}
		i++;
	} while (nr && p[i]);
	return nr ? 0 : i;
}

/* Whether the < at @p begins the arguments of a template. */
static bool is_template(const char *begin, const char *p)
{
	if (*p != '<' || p == begin)
		return false;
	/* operator<< <int> has a blank between */
	if (p[-1] == ' ')
		return p - begin > 1 && strchr("<>=-", p[-2]);
	return is_word(p[-1]) || p[-1] == ']' || p[-1] == ')';
}

char *kf_function_fold(const char *name, const char *by)
{
	size_t room = strlen(name) + 1, by_size = strlen(by), at = 0;
	const char *p = name;
	char *out;

	/* a list of arguments has two characters at least */
	room += room / 2 * by_size;
	out = malloc(room);
	while (out && *p) {
		size_t skip = operator_length(name, p);

		if (skip) {
			memcpy(out + at, p, skip);
			at += skip;
			p += skip;
			continue;
		}
		skip = is_template(name, p) ? bracket_length(p) : 0;
		if (!skip) {
			out[at++] = *p++;
			continue;
		}
		out[at++] = '<';
		memcpy(out + at, by, by_size);
		at += by_size;
		out[at++] = '>';
		p += skip;
	}
	if (out)
		out[at] = '\0';
	return out;
}

/* Cuts off parameters and suffixes of the compiler. */
static void bare_name(char *name)
{
	char *end = name;

	while (*end) {
		size_t skip = operator_length(name, end);

		if (!skip &&
		    (*end == '(' || *end == '.' || !strncmp(end, " [clone", 7)))
			break;
		end += skip ? skip : 1;
	}
	*end = '\0';
}

/*
 * A function of a template has its type before its name, and a blank; a
 * conversion has a type behind it.
 */
static const char *without_type(const char *bare)
{
	static const char word[] = "operator";
	const size_t len = sizeof(word) - 1;
	const char *blank = strrchr(bare, ' ');

	if (!blank ||
	    ((size_t)(blank - bare) >= len && !strncmp(blank - len, word, len)))
		return bare;
	return blank + 1;
}

static bool is_in_scope(const char *bare)
{
	const char *name = without_type(bare);

	for (size_t i = 0; i < KF_ARRAY_SIZE(wrapper_scopes); i++) {
		if (!strncmp(name, wrapper_scopes[i],
			     strlen(wrapper_scopes[i])))
			return true;
	}
	return false;
}

bool kf_function_is_wrapper(const char *name)
{
	char *bare = kf_function_fold(name, "");
	const char *part = bare;
	bool found = false;

	if (!bare)
		return false;
	bare_name(bare);
	if (!strncmp(part, "__GI_", 5))
		part += 5;
	for (size_t i = 0; !found && i < KF_ARRAY_SIZE(wrapper_names); i++)
		found = !strcmp(part, wrapper_names[i]);
	found = found || is_in_scope(part);
	free(bare);
	return found;
}

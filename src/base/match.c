/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of patterns: see match.h.
 */
#include "base/match.h"

#include <string.h>

#define BETWEEN ",\t\n"

struct pattern {
	const char *text; /* without sign, * and blanks */
	size_t len;
	bool plus;
	bool begin; /* a prefix of names */
};

/* Parse the first pattern; returns the rest, NULL after the last pattern. */
static const char *match_take(const char *list, struct pattern *p)
{
	size_t len = strcspn(list, BETWEEN);
	const char *rest = list[len] ? list + len + 1 : NULL;

	for (; len && *list == ' '; len--)
		list++;
	while (len && list[len - 1] == ' ')
		len--;
	p->plus = !len || *list != '-';
	if (len && (*list == '+' || *list == '-')) {
		list++;
		len--;
	}
	p->begin = len && list[len - 1] == '*';
	p->text = list;
	p->len = p->begin ? len - 1 : len;
	return rest;
}

bool kf_match_is_list(const char *list)
{
	struct pattern p;

	while (list) {
		list = match_take(list, &p);
		if ((!p.len && !p.begin) || memchr(p.text, '*', p.len))
			return false;
	}
	return true;
}

static bool pattern_matches(const struct pattern *p, const char *name,
			    size_t len)
{
	return (p->begin ? len >= p->len : len == p->len) &&
	       !memcmp(name, p->text, p->len);
}

bool kf_match(const char *list, const char *name, size_t len)
{
	struct pattern p;
	bool selected = false;

	while (list) {
		list = match_take(list, &p);
		if (pattern_matches(&p, name, len))
			selected = p.plus;
	}
	return selected;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of patterns that say which names are meant, as "+net*,-net.cache".
 *
 * Patterns stand between commas, tabs or newlines; blanks around one are not
 * its own. A pattern is a whole name or, with * at its end, how names begin. +
 * before it means those names, as does nothing; - means not those. The last
 * pattern that a name matches decides; a name that matches none is not meant.
 * The rule is that of Pixar's TfMallocTag.
 */
#ifndef KF_BASE_MATCH_H
#define KF_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/**
 * kf_match_is_list() - whether a text is such a list
 * @list:	the text
 *
 * Context: anywhere, signal handlers too.
 * Return: false where a pattern is empty, or has * but at its end.
 */
bool kf_match_is_list(const char *list);

/**
 * kf_match() - whether a name is meant
 * @list:	patterns, by kf_match_is_list()
 * @name:	the name
 * @len:	bytes of it
 *
 * Context: anywhere, signal handlers too.
 * Return: true if so.
 */
bool kf_match(const char *list, const char *name, size_t len);

#endif

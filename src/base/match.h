/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of patterns that select names, such as "+net*,-net.cache".
 *
 * Patterns are separated by commas, tabs or newlines; blanks around a pattern
 * are ignored. A pattern is a whole name or, with * at its end, a prefix of
 * names. - before it excludes these names; + or no sign selects them. The last
 * pattern that matches a name decides; a name without a match is not selected.
 * These are the rules of Pixar's TfMallocTag.
 */
#ifndef KF_BASE_MATCH_H
#define KF_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/**
 * kf_match_is_list() - whether a text is a list of patterns
 * @list:	the text
 *
 * Context: anywhere, signal handlers too.
 * Return: false where a pattern is empty, or has * before its end.
 */
bool kf_match_is_list(const char *list);

/**
 * kf_match() - whether a list selects a name
 * @list:	the patterns, valid by kf_match_is_list()
 * @name:	the name
 * @len:	its bytes
 *
 * Context: anywhere, signal handlers too.
 * Return: true if the list selects the name.
 */
bool kf_match(const char *list, const char *name, size_t len);

#endif

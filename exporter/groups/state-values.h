/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths and counts as JSON, for the state file.
 */
#ifndef KF_EXPORTER_GROUPS_STATE_VALUES_H
#define KF_EXPORTER_GROUPS_STATE_VALUES_H

#include "exporter/groups/figures.h"

#include <jansson.h>

/**
 * kf_state_path_to_json() - encode a path, which may have any bytes
 * @path:	the path
 *
 * Return: a string; NULL when out of memory.
 */
json_t *kf_state_path_to_json(const char *path);

/**
 * kf_state_path_from_json() - decode a path in place
 * @s:		in and out: the text
 *
 * Return: false if it is not an encoded path.
 */
bool kf_state_path_from_json(char *s);

/**
 * kf_state_values_to_json() - encode counters by their keys, without zeroes
 * @t:		the figures
 * @value:	a value for each; NULL: all 0
 *
 * Return: an object; NULL when out of memory.
 */
json_t *kf_state_values_to_json(const struct kf_figures *t,
				const uint64_t *value);

/**
 * kf_state_values_from_json() - decode counters
 * @t:		the figures
 * @j:		the object; keys of unknown figures are ignored
 * @value:	in and out: a value for each figure
 */
void kf_state_values_from_json(const struct kf_figures *t, json_t *j,
			       uint64_t *value);

#endif

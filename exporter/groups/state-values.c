/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths and counts in the state file: see state-values.h.
 */
#include "config.h"

#include "exporter/groups/state-values.h"
#include "exporter/buf.h"

#include <ctype.h>
#include <string.h>

json_t *kf_state_path_to_json(const char *path)
{
	struct kf_buf b = {0};
	json_t *j = NULL;

	for (; *path; path++) {
		if (isgraph((unsigned char)*path) && *path != '%')
			kf_buf_add(&b, path, 1);
		else
			kf_buf_fmt(&b, "%%%02x", (unsigned char)*path);
	}
	if (!b.failed && b.data)
		j = json_string(b.data);
	kf_buf_free(&b);
	return j;
}

static int state_hex(char c)
{
	const char *digits = "0123456789abcdef", *p = strchr(digits, c);

	return c && p ? (int)(p - digits) : -1;
}

/* Decode in place; return false if the text is not an encoded path. */
bool kf_state_path_from_json(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		if (state_hex(s[1]) < 0 || state_hex(s[2]) < 0)
			return false;
		*out++ = (char)(state_hex(s[1]) * 16 + state_hex(s[2]));
		s += 2;
	}
	*out = '\0';
	return true;
}

json_t *kf_state_values_to_json(const struct kf_figures *t,
				const uint64_t *value)
{
	json_t *j = json_object();
	unsigned int i;

	for (i = 0; value && i < t->nr; i++) {
		if (value[i] && kf_figure_grows(&t->figure[i]))
			json_object_set_new(j, t->figure[i].key,
					    json_integer((json_int_t)value[i]));
	}
	return j;
}

void kf_state_values_from_json(const struct kf_figures *t, json_t *j,
			       uint64_t *value)
{
	const char *key;
	json_t *v;

	json_object_foreach(j, key, v)
	{
		int i = kf_figures_find(t, key);

		if (i >= 0 && json_integer_value(v) > 0)
			value[i] = (uint64_t)json_integer_value(v);
	}
}

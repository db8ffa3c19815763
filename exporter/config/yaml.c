/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strict YAML: see yaml.h. libyaml's loader accepts duplicate keys; the
 * functions here refuse them.
 */
#include "config.h"

#include "exporter/config/yaml.h"
#include "reader/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1u << 20)

bool kf_yaml_fail(struct kf_yaml *y, const yaml_node_t *n, const char *fmt, ...)
{
	size_t at = 0;
	va_list ap;

	if (y->error[0])
		return false;
	at = (size_t)snprintf(y->error, sizeof(y->error), "%s:", y->path);
	if (n && at < sizeof(y->error))
		at += (size_t)snprintf(y->error + at, sizeof(y->error) - at,
				       "%zu:", n->start_mark.line + 1);
	if (at + 1 >= sizeof(y->error))
		return false;
	y->error[at++] = ' ';
	va_start(ap, fmt);
	vsnprintf(y->error + at, sizeof(y->error) - at, fmt, ap);
	va_end(ap);
	return false;
}

/* With aliases a small file could expand to a huge or infinite tree. */
static bool config_has_no_aliases(struct kf_yaml *y, const char *text,
				  size_t len)
{
	yaml_parser_t parser;
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t event;
	bool fine = true;

	if (!yaml_parser_initialize(&parser))
		return kf_yaml_fail(y, NULL, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (fine && type != YAML_STREAM_END_EVENT) {
		if (!yaml_parser_parse(&parser, &event)) {
			fine = kf_yaml_fail(y, NULL, "line %zu: %s",
					    parser.problem_mark.line + 1,
					    parser.problem ? parser.problem
							   : "not YAML");
			break;
		}
		type = event.type;
		if (type == YAML_ALIAS_EVENT)
			fine = kf_yaml_fail(y, NULL,
					    "line %zu: aliases are not allowed",
					    event.start_mark.line + 1);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return fine;
}

static bool config_load(struct kf_yaml *y, const char *text, size_t len)
{
	yaml_parser_t parser;

	if (!config_has_no_aliases(y, text, len))
		return false;
	if (!yaml_parser_initialize(&parser))
		return kf_yaml_fail(y, NULL, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	y->loaded = yaml_parser_load(&parser, &y->doc);
	if (!y->loaded)
		kf_yaml_fail(y, NULL, "%s",
			     parser.problem ? parser.problem : "not YAML");
	yaml_parser_delete(&parser);
	return y->loaded;
}

yaml_node_t *kf_yaml_load(struct kf_yaml *y, const char *path)
{
	yaml_node_t *root = NULL;
	char *text = malloc(MAX_FILE + 1);
	ssize_t len;

	*y = (struct kf_yaml){.path = path};
	if (!text) {
		kf_yaml_fail(y, NULL, "out of memory");
		return NULL;
	}
	len = kf_proc_read(AT_FDCWD, path, text, MAX_FILE + 1);
	if (len < 0)
		kf_yaml_fail(y, NULL, "%s", strerror(errno));
	else if ((size_t)len >= MAX_FILE)
		kf_yaml_fail(y, NULL, "more than 1 MiB");
	else if (config_load(y, text, (size_t)len))
		root = yaml_document_get_root_node(&y->doc);
	free(text);
	return root;
}

void kf_yaml_release(struct kf_yaml *y)
{
	if (y->loaded)
		yaml_document_delete(&y->doc);
	y->loaded = false;
}

const char *kf_yaml_text(struct kf_yaml *y, const yaml_node_t *n)
{
	const char *text = (const char *)n->data.scalar.value;

	if (n->type != YAML_SCALAR_NODE ||
	    strlen(text) != n->data.scalar.length) {
		kf_yaml_fail(y, n, "expected a plain value");
		return NULL;
	}
	return text;
}

static bool config_node_is_empty(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && !n->data.scalar.length &&
	       n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool config_take_pair(struct kf_yaml *y, const yaml_node_pair_t *pair,
			     const struct kf_yaml_key *keys, size_t nr,
			     uint32_t *seen, void *out)
{
	yaml_node_t *key = yaml_document_get_node(&y->doc, pair->key);
	const char *name = kf_yaml_text(y, key);
	size_t i;

	for (i = 0; name && i < nr; i++) {
		if (strcmp(name, keys[i].name) != 0)
			continue;
		if (*seen & 1u << i)
			return kf_yaml_fail(y, key, "duplicate key \"%s\"",
					    name);
		*seen |= 1u << i;
		return keys[i].take(
			y, yaml_document_get_node(&y->doc, pair->value), out);
	}
	return name ? kf_yaml_fail(y, key, "unknown key \"%s\"", name) : false;
}

bool kf_yaml_mapping(struct kf_yaml *y, yaml_node_t *n,
		     const struct kf_yaml_key *keys, size_t nr, void *out)
{
	yaml_node_pair_t *p;
	uint32_t seen = 0;

	if (config_node_is_empty(n))
		return true;
	if (n->type != YAML_MAPPING_NODE)
		return kf_yaml_fail(y, n, "expected keys with values");
	for (p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
	     p++) {
		if (!config_take_pair(y, p, keys, nr, &seen, out))
			return false;
	}
	return true;
}

bool kf_yaml_pairs(struct kf_yaml *y, yaml_node_t *n,
		   bool (*take)(struct kf_yaml *y, yaml_node_t *at,
				const char *key, const char *value, void *out),
		   void *out)
{
	yaml_node_pair_t *p;

	if (config_node_is_empty(n))
		return true;
	if (n->type != YAML_MAPPING_NODE)
		return kf_yaml_fail(y, n, "expected keys with values");
	for (p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
	     p++) {
		yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);
		yaml_node_t *value = yaml_document_get_node(&y->doc, p->value);
		const char *name = kf_yaml_text(y, key);
		const char *text = name ? kf_yaml_text(y, value) : NULL;

		if (!text || !take(y, key, name, text, out))
			return false;
	}
	return true;
}

bool kf_yaml_list(struct kf_yaml *y, yaml_node_t *n,
		  bool (*take)(struct kf_yaml *y, yaml_node_t *value,
			       void *out),
		  void *out)
{
	yaml_node_item_t *i;

	if (config_node_is_empty(n))
		return true;
	if (n->type != YAML_SEQUENCE_NODE)
		return kf_yaml_fail(y, n, "expected a list");
	for (i = n->data.sequence.items.start; i < n->data.sequence.items.top;
	     i++) {
		if (!take(y, yaml_document_get_node(&y->doc, *i), out))
			return false;
	}
	return true;
}

bool kf_yaml_bool(struct kf_yaml *y, const yaml_node_t *n, bool *out)
{
	const char *text = kf_yaml_text(y, n);

	if (!text)
		return false;
	*out = strcmp(text, "true") == 0;
	if (*out || strcmp(text, "false") == 0)
		return true;
	return kf_yaml_fail(y, n, "\"%s\" is not true or false", text);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of the library: see conf.h and conf.def.
 */
#include "core/conf.h"

#include "base/match.h"
#include "base/near.h"
#include "base/text.h"
#include "engines/engine.h"
#include "sys/env.h"
#include "sys/file.h"
#include "sys/out.h"

#include <limits.h>
#include <string.h>

#define PREFIX "KONFISCATOR_"

enum kind {
	KIND_BOOL,
	KIND_SIZE,
	KIND_COUNT,
	KIND_STRING,
	KIND_ENGINE,
	KIND_ACTION,
	KIND_MATCH,
	KIND_LIMIT,
};

struct option {
	const char *id;
	enum kind kind;
	const char *arg;
	uint64_t fallback;
	void *value; /* in kf_conf */
};

/*
 * A program may write what it likes over its environment, and those that show a
 * title in ps do: what is looked at after the start is copied to here. A page
 * of it is used where a text is set.
 */
static char texts[16384];
static size_t texts_used;

struct kf_conf kf_conf = {
#define KF_CONF(id, kind, def, arg, help) .id = (KF_CONF_C_##kind)def,
#include "core/conf.def"
#undef KF_CONF
};

static const struct option options[] = {
#define KF_CONF(id, kind, def, arg, help) \
	{#id, KIND_##kind, arg, (uint64_t)def, &kf_conf.id},
#include "core/conf.def"
#undef KF_CONF
};

/* Which options have a value of a variable. */
static bool given[KF_ARRAY_SIZE(options)];

static const struct {
	const void *value; /* in kf_conf */
	const char *engine;
	const char *name;
} also[] = {
#define KF_CONF(id, kind, def, arg, help)
#define KF_CONF_ALSO(id, engine, name) {&kf_conf.id, #engine, #name},
#define KF_CONF_NAME(id, name) {&kf_conf.id, NULL, #name},
#include "core/conf.def"
#undef KF_CONF_NAME
#undef KF_CONF_ALSO
#undef KF_CONF
};

static const char *const allowed[] = {
	[KIND_BOOL] = "0 or 1",
	[KIND_SIZE] = "bytes, with K, M, G or T",
	[KIND_COUNT] = "a number",
	[KIND_STRING] = "a text",
	[KIND_ACTION] = "one of ", /* and its argument */
	[KIND_LIMIT] = "bytes, with K, M, G or T, or 1% to 100%",
	[KIND_MATCH] =
		"a comma-separated list of names, each with an optional + or - before it and * after it",
#define KF_ENGINE(id, help) #id ", "
	[KIND_ENGINE] =
#include "engines/engines.def"
		"or the path of an engine",
#undef KF_ENGINE
};

static void variable_name(const struct option *o, char *buf, size_t size)
{
	struct kf_text text;

	kf_text_init(&text, buf, size);
	kf_text_str(&text, PREFIX);
	for (const char *c = o->id; *c; c++)
		kf_text_char(&text, *c >= 'a' && *c <= 'z'
					    ? (char)(*c - 'a' + 'A')
					    : *c);
}

void kf_conf_begin_line(struct kf_text *text, char *buf, size_t size,
			const char *name, const char *value)
{
	kf_text_init(text, buf, size - 1);
	kf_text_str(text, "konfiscator: ");
	kf_text_str(text, name);
	kf_text_char(text, '=');
	kf_text_ascii(text, value, size - 256);
	if (strlen(value) > size - 256)
		kf_text_str(text, "...");
	kf_text_str(text, ": ");
}

static void conf_warn(const struct option *o, const char *name,
		      const char *value)
{
	char buf[320];
	struct kf_text text;

	kf_conf_begin_line(&text, buf, sizeof(buf), name, value);
	kf_text_str(&text, "not ");
	kf_text_str(&text, allowed[o->kind]);
	if (o->kind == KIND_ACTION)
		kf_text_str(&text, o->arg);
	kf_text_str(&text, "; the default stays\n");
	kf_out(&text);
}

/* NULL, with one line, where all texts together are too long. */
static const char *conf_keep(const char *name, const char *value)
{
	size_t size = strlen(value) + 1;
	char *kept = texts + texts_used;
	char buf[320];
	struct kf_text text;

	if (size <= sizeof(texts) - texts_used) {
		texts_used += size;
		memcpy(kept, value, size);
		return kept;
	}
	kf_conf_begin_line(&text, buf, sizeof(buf), name, value);
	kf_text_str(&text, "too long; the default stays\n");
	kf_out(&text);
	return NULL;
}

/* Children may be made in another directory. */
static bool is_from_here(char path[PATH_MAX], const char *value)
{
	struct kf_text text;
	ssize_t n;

	kf_text_init(&text, path, PATH_MAX);
	n = value[0] == '/' ? 0 : kf_file_cwd(path, PATH_MAX);
	if (n <= 0)
		return false;
	text.len = (size_t)n;
	kf_text_char(&text, '/');
	kf_text_str(&text, value);
	return !kf_text_full(&text);
}

static void conf_set_text(const struct option *o, const char *name,
			  const char *value)
{
	char path[PATH_MAX];
	const char *kept;

	if (o->value == &kf_conf.dir && is_from_here(path, value))
		value = path;
	kept = conf_keep(name, value);
	if (kept)
		*(const char **)o->value = kept;
}

static bool conf_parse(const struct option *o, const char *name,
		       const char *value)
{
	uint64_t n = 0;

	switch (o->kind) {
	case KIND_BOOL:
		if (!kf_parse_u64(value, &n) || n > 1)
			return false;
		break;
	case KIND_COUNT:
		if (!kf_parse_u64(value, &n) || n > UINT32_MAX)
			return false;
		break;
	case KIND_SIZE:
		if (!kf_parse_size(value, &n) || n > PTRDIFF_MAX)
			return false;
		break;
	case KIND_LIMIT:
		if (!kf_parse_limit(value, &n))
			return false;
		break;
	case KIND_ENGINE:
		/* A path is judged when it is loaded. */
		if (!kf_engine_find(value) && !strchr(value, '/'))
			return false;
		conf_set_text(o, name, value);
		return true;
	case KIND_ACTION:
		if (!kf_parse_choice(o->arg, value, &n))
			return false;
		break;
	case KIND_MATCH:
		if (!kf_match_is_list(value))
			return false;
		/* fall through */
	case KIND_STRING:
		conf_set_text(o, name, value);
		return true;
	}
	*(uint64_t *)o->value = n;
	given[o - options] = true;
	return true;
}

/* Whether the variable was set, well or not. */
static bool read_variable(const struct option *o, const char *name)
{
	const char *value = kf_env_get(name);

	if (!value || !*value)
		return false;
	if (!conf_parse(o, name, value))
		conf_warn(o, name, value);
	return true;
}

static void read_older_names(const struct option *o)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(also); i++) {
		const char *engine = also[i].engine;

		if (also[i].value == o->value &&
		    (!engine ||
		     (kf_conf.engine && !strcmp(kf_conf.engine, engine))))
			read_variable(o, also[i].name);
	}
}

static void read_runtime_dir(void)
{
	const char *name = "XDG_RUNTIME_DIR";
	const char *value = kf_env_get(name);

	if (value && *value)
		kf_conf.runtime_dir = conf_keep(name, value);
}

static const char *const of_tools[] = {
#define KF_CONF(id, kind, def, arg, help)
#define KF_CONF_TOOL(name) PREFIX #name,
#include "core/conf.def"
#undef KF_CONF_TOOL
#undef KF_CONF
};

static bool conf_is_name(const char *name, size_t len, const char *known,
			 struct kf_near *near)
{
	kf_near_look(near, name, len, known);
	return strlen(known) == len && !strncmp(name, known, len);
}

/* A name that is misspelt would be left out without a word. */
static void conf_check_name(const char *name, size_t len)
{
	struct kf_near near = {0};
	struct kf_text text;
	char buf[256], known[KF_ARRAY_SIZE(options)][32];

	for (size_t i = 0; i < KF_ARRAY_SIZE(of_tools); i++) {
		if (conf_is_name(name, len, of_tools[i], &near))
			return;
	}
	for (size_t i = 0; i < KF_ARRAY_SIZE(options); i++) {
		variable_name(&options[i], known[i], sizeof(known[i]));
		if (conf_is_name(name, len, known[i], &near))
			return;
	}
	kf_text_init(&text, buf, sizeof(buf));
	kf_text_str(&text, "konfiscator: ");
	kf_text_ascii(&text, name, KF_MIN(len, (size_t)64));
	kf_text_str(&text, ": there is no such option");
	if (near.name) {
		kf_text_str(&text, " (did you mean ");
		kf_text_str(&text, near.name);
		kf_text_str(&text, "?)");
	}
	kf_text_char(&text, '\n');
	kf_out(&text);
}

bool kf_conf_is_set(const void *value)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(options); i++) {
		if (options[i].value == value)
			return given[i];
	}
	return false;
}

void kf_conf_read(void)
{
	char name[64];

	texts_used = 0;
	if (!kf_env_is_trusted())
		return;
	read_runtime_dir();
	for (size_t i = 0; i < KF_ARRAY_SIZE(options); i++) {
		variable_name(&options[i], name, sizeof(name));
		if (!read_variable(&options[i], name))
			read_older_names(&options[i]);
	}
	kf_env_each(PREFIX, conf_check_name);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment's names for mallopt's parameters: see tune.h and glibc.def.
 */
#include "core/tune.h"

#include "base/text.h"
#include "core/choose.h"
#include "core/conf.h"
#include "engines/engine.h"
#include "sys/env.h"
#include "sys/out.h"

#include "probes/konfiscator-probes.h"

#include <malloc.h>
#include <string.h>

#define TUNABLES "GLIBC_TUNABLES"
#define OURS "glibc.malloc."

static const struct setting {
	const char *variable;
	const char *tunable;
	int param;
	const char *option;
} settings[] = {
#define KF_GLIBC(variable, tunable, param, option) \
	{variable, tunable, param, option},
#define KF_GLIBC_NAMED(tunable, probe)
#include "core/glibc.def"
#undef KF_GLIBC
#undef KF_GLIBC_NAMED
};

static struct {
	const char *tunable;
	void (*fire)(uint64_t value, uint64_t old);
	uint64_t old;
} named[] = {
#define KF_GLIBC(variable, tunable, param, option)
#define KF_GLIBC_NAMED(tunable, probe) {tunable, probe, 0},
#include "core/glibc.def"
#undef KF_GLIBC
#undef KF_GLIBC_NAMED
};

/* A part of a string, without a NUL at its end. */
struct part {
	const char *at;
	size_t size;
};

static void glibc_warn(struct part name, struct part value, const char *what)
{
	char buf[256];
	struct kf_text text;

	kf_text_init(&text, buf, sizeof(buf) - 1);
	kf_text_str(&text, "konfiscator: ");
	kf_text_ascii(&text, name.at, KF_MIN(name.size, (size_t)64));
	kf_text_str(&text, "=");
	kf_text_ascii(&text, value.at, KF_MIN(value.size, (size_t)64));
	kf_text_str(&text, what);
	kf_out(&text);
}

/* As glibc reads it, but in decimal: -1 is the largest. */
static bool glibc_parse(struct part value, int64_t *n)
{
	char digits[24];
	bool minus = value.size && value.at[0] == '-';
	uint64_t u;

	value.at += minus;
	value.size -= minus;
	if (value.size >= sizeof(digits))
		return false;
	memcpy(digits, value.at, value.size);
	digits[value.size] = 0;
	if (!kf_parse_u64(digits, &u) || u > INT64_MAX)
		return false;
	*n = minus ? -(int64_t)u : (int64_t)u;
	return true;
}

static void glibc_set(const struct setting *s, struct part name,
		      struct part value)
{
	int64_t n;

	if (*s->option && kf_env_get(s->option))
		return;
	if (!glibc_parse(value, &n) || !kf_tune(s->param, n))
		glibc_warn(name, value,
			   ": not a valid value; the default stays\n");
}

static bool is(struct part part, const char *text)
{
	return part.size == strlen(text) && !memcmp(part.at, text, part.size);
}

static void glibc_fire(struct part tunable, struct part value)
{
	int64_t n;

	for (size_t i = 0; i < KF_ARRAY_SIZE(named); i++) {
		if (!is(tunable, named[i].tunable) || !glibc_parse(value, &n))
			continue;
		named[i].fire((uint64_t)n, named[i].old);
		named[i].old = (uint64_t)n;
	}
}

static void set_tunable(struct part name, struct part value)
{
	const size_t prefix = sizeof(OURS) - 1;
	struct part tunable = {name.at + prefix, name.size - prefix};

	if (name.size <= prefix || memcmp(name.at, OURS, prefix))
		return;
	for (size_t i = 0; i < KF_ARRAY_SIZE(settings); i++) {
		if (is(tunable, settings[i].tunable)) {
			glibc_set(&settings[i], name, value);
			return;
		}
	}
	glibc_fire(tunable, value);
	glibc_warn(name, value, ": has no effect here\n");
}

static void read_tunable(struct part part)
{
	for (size_t i = 0; i < part.size; i++) {
		if (part.at[i] != '=')
			continue;
		set_tunable((struct part){part.at, i},
			    (struct part){part.at + i + 1, part.size - i - 1});
		return;
	}
}

/* name=value, with colons between. */
static void read_tunables(const char *at)
{
	while (at && *at) {
		const char *end = strchr(at, ':');
		size_t size = end ? (size_t)(end - at) : strlen(at);

		read_tunable((struct part){at, size});
		at = end ? end + 1 : NULL;
	}
}

static struct part part_of(const char *text)
{
	return (struct part){text, strlen(text)};
}

void kf_tune_read(void)
{
	const struct kf_engine *engine = kf_engine_find(kf_conf.engine);
	const char *value;

	/* The malloc behind an engine reads these variables itself. */
	if (!kf_env_is_trusted() || (engine && engine->mallopt))
		return;
	for (size_t i = 0; i < KF_ARRAY_SIZE(settings); i++) {
		const char *name = settings[i].variable;

		value = *name ? kf_env_get(name) : NULL;
		if (value && *value)
			glibc_set(&settings[i], part_of(name), part_of(value));
	}
	value = kf_env_get("MALLOC_CHECK_");
	if (value && *value)
		glibc_warn(part_of("MALLOC_CHECK_"), part_of(value),
			   ": has no effect here; see KONFISCATOR_ON_ERROR\n");
	read_tunables(kf_env_get(TUNABLES));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See conf.h.
 */
#include "config.h"

#include "base/match.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/conf.h"
#include "cli/order.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const struct kf_conf_option kf_conf_options[KF_NR_CONF] = {
#define KF_CONF(id, kind, fallback, argument, text) \
	{#id, KF_CONF_##kind, argument},
#include "core/conf.def"
#undef KF_CONF
};

static const char *const conf_engines[] = {
#define KF_ENGINE(id, text) #id,
#include "engines/engines.def"
#undef KF_ENGINE
};

/* "firstfit, ..., " */
#define KF_ENGINE(id, text) #id ", "
static const char engine_names[] =
#include "engines/engines.def"
	"or the path of a readable file";
#undef KF_ENGINE

static bool is_engine(const char *value)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(conf_engines); i++) {
		if (!strcmp(conf_engines[i], value))
			return true;
	}
	return strchr(value, '/') && !access(value, R_OK);
}

/* What is allowed, where @value is not; else NULL. */
static const char *conf_wanted(const struct kf_conf_option *conf,
			       const char *value)
{
	uint64_t n;

	switch (conf->kind) {
	case KF_CONF_BOOL:
		return kf_parse_u64(value, &n) && n <= 1 ? NULL : "0 or 1";
	case KF_CONF_COUNT:
		return kf_parse_u64(value, &n) && n <= UINT32_MAX
			       ? NULL
			       : "a number from 0 to 4294967295";
	case KF_CONF_SIZE:
		return kf_parse_size(value, &n) && n <= PTRDIFF_MAX
			       ? NULL
			       : "a number of bytes, with K, M, G or T";
	case KF_CONF_LIMIT:
		return kf_parse_limit(value, &n)
			       ? NULL
			       : "a number of bytes, with K, M, G or T, or 1% "
				 "to 100%";
	case KF_CONF_ACTION:
		return kf_parse_choice(conf->argument, value, &n)
			       ? NULL
			       : kf_format("one of %s", conf->argument);
	case KF_CONF_MATCH:
		return kf_match_is_list(value)
			       ? NULL
			       : "a comma-separated list of names, each with an optional + or - before it and * after it";
	case KF_CONF_ENGINE:
		return is_engine(value) ? NULL : engine_names;
	default:
		return NULL;
	}
}

/* What the library allows within a kind: src/core, src/stats/box.h. */
static const struct {
	enum kf_conf_id id;
	uint64_t small; /* numbers below this one are allowed, too */
	uint64_t least, most;
	const char *text;
} conf_bounds[] = {
	{KF_CONF_ID_sample, KF_SAMPLE_SMALL, KF_SAMPLE_LEAST, KF_SAMPLE_MOST,
	 KF_SAMPLE_RANGE},
	{KF_CONF_ID_stack_frames, 0, 1, 1024, "a number from 1 to 1024"},
	{KF_CONF_ID_events, 1, 1, 4096, "a number from 0 to 4096"},
	{KF_CONF_ID_tag_levels, 0, 2, 256, "a number from 2 to 256"},
	{KF_CONF_ID_tag_nodes, 0, 2, 32768, "a number from 2 to 32768"},
};

static const char *out_of_bounds(enum kf_conf_id id, const char *value)
{
	uint64_t n;

	for (size_t i = 0; i < KF_ARRAY_SIZE(conf_bounds); i++) {
		if (conf_bounds[i].id != id || !kf_parse_size(value, &n) ||
		    n < conf_bounds[i].small ||
		    (n >= conf_bounds[i].least && n <= conf_bounds[i].most))
			continue;
		return conf_bounds[i].text;
	}
	return NULL;
}

static bool is_signal(const char *name)
{
	static const char *const names[] = {"USR1",  "USR2", "HUP",
					    "WINCH", "PROF", "URG"};
	static const int numbers[] = {SIGUSR1,	SIGUSR2, SIGHUP,
				      SIGWINCH, SIGPROF, SIGURG};
	bool is_number;
	uint64_t n;

	if (!strncmp(name, "SIG", 3))
		name += 3;
	is_number = kf_parse_u64(name, &n);
	for (size_t i = 0; i < KF_ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], name) ||
		    (is_number && n == (uint64_t)numbers[i]))
			return true;
	}
	return is_number && n >= 34 && n <= 64;
}

const char *kf_conf_refusal(enum kf_conf_id id, const char *value)
{
	const char *allowed = conf_wanted(&kf_conf_options[id], value);

	if (!allowed)
		allowed = out_of_bounds(id, value);
	if (!allowed && id == KF_CONF_ID_snapshot_signal && !is_signal(value))
		allowed = "USR1, USR2, HUP, WINCH, PROF, URG or 34 to 64";
	return allowed;
}

/* Whether two names are the same but for dashes. */
static bool is_conf(const char *id, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (id[i] != (name[i] == '-' ? '_' : name[i]))
			return false;
	}
	return !id[len];
}

enum kf_conf_id kf_conf_find(const char *name, size_t len)
{
	size_t i = 0;

	while (i < KF_NR_CONF && !is_conf(kf_conf_options[i].id, name, len))
		i++;
	return (enum kf_conf_id)i;
}

char *kf_conf_variable(const char *id)
{
	char *name = kf_format("KONFISCATOR_%s", id);

	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return name;
}

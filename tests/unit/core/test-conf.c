/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * core/conf.c: every option of conf.def, with good and with bad values.
 */
#include "config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/conf.h"
#include "tests/unit/unit.h"

enum kind { BOOL, SIZE, COUNT, STRING, ENGINE, ACTION, MATCH, LIMIT };

#define KF_ENGINE(id, help) #id ", "
static const char engine_names[] =
#include "engines/engines.def"
	"or the path of an engine";
#undef KF_ENGINE

/* What each kind takes and refuses; NULL: there is no such value. */
static const struct {
	const char *good;
	uint64_t number; /* that @good is; 0: a string */
	const char *bad[4];
	const char *allowed;
} kinds[] = {
	[BOOL] = {"1", 1, {"2", "yes", "-1", "0x"}, "0 or 1"},
	[SIZE] = {"3M",
		  3 * KF_MIB,
		  {"3X", "-5", "9223372036854775808", "M"},
		  "bytes, with K, M, G or T"},
	[COUNT] = {"77", 77, {"4294967296", "7K", "-7", "many"}, "a number"},
	[LIMIT] = {"90%",
		   KF_LIMIT_SHARE | 90,
		   {"0%", "101%", "%", "90%x"},
		   "bytes, with K, M, G or T, or 1% to 100%"},
	[ACTION] = {"count",
		    1,
		    {"Count", "1", "abort ", "abort|count"},
		    "one of abort|count|abort-on-size"},
	[MATCH] =
		{"+net*,-net.cache",
		 0,
		 {"net*s", "a,,b", "-", "+a,"},
		 "a comma-separated list of names, each with an optional + or - before it and * after it"},
	[STRING] = {"a text", 0, {NULL}, NULL},
	[ENGINE] = {"firstfit",
		    0,
		    {"first", "FIRSTFIT", "firstfit ", "7"},
		    engine_names},
};

static const struct {
	const char *id;
	enum kind kind;
	void *value;
} options[] = {
#define KF_CONF(id, kind, def, arg, help) {#id, kind, &kf_conf.id},
#include "core/conf.def"
#undef KF_CONF
};

static const struct kf_conf defaults = {
#define KF_CONF(id, kind, def, arg, help) .id = (KF_CONF_C_##kind)def,
#include "core/conf.def"
#undef KF_CONF
};

static char name[64];
static char said[512];

static void set(int i, const char *value)
{
	size_t n = (size_t)snprintf(name, sizeof(name), "KONFISCATOR_%s",
				    options[i].id);

	for (size_t c = 0; c < n; c++)
		name[c] = (char)toupper((unsigned char)name[c]);
	ck_assert_int_eq(setenv(name, value, 1), 0);
}

/* Read the options; what went to stderr is in @said. */
static void read_options(void)
{
	int saved = dup(2), ends[2];
	ssize_t n;

	unsetenv("XDG_RUNTIME_DIR");
	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[1], 2);
	kf_conf_read();
	dup2(saved, 2);
	close(ends[1]);
	n = read(ends[0], said, sizeof(said) - 1);
	ck_assert_int_ge(n, 0);
	said[n] = '\0';
	close(ends[0]);
	close(saved);
}

/* A directory is kept as it is named from here. */
static const char *kept(int i, const char *value)
{
	static char path[PATH_MAX + 64];
	size_t length;

	if (options[i].value != &kf_conf.dir || value[0] == '/')
		return value;
	ck_assert_ptr_nonnull(getcwd(path, PATH_MAX));
	length = strlen(path);
	snprintf(path + length, sizeof(path) - length, "/%s", value);
	return path;
}

START_TEST(good_value_is_taken_without_a_word)
{
	enum kind kind = options[_i].kind;

	set(_i, kinds[kind].good);
	read_options();
	ck_assert_str_eq(said, "");
	if (kinds[kind].number)
		ck_assert_uint_eq(*(uint64_t *)options[_i].value,
				  kinds[kind].number);
	else
		ck_assert_str_eq(*(char **)options[_i].value,
				 kept(_i, kinds[kind].good));
}
END_TEST

START_TEST(bad_value_gets_one_line_and_the_default)
{
	enum kind kind = options[_i].kind;

	for (int b = 0; b < 4 && kinds[kind].bad[b]; b++) {
		char want[256];

		set(_i, kinds[kind].bad[b]);
		read_options();
		snprintf(want, sizeof(want),
			 "konfiscator: %s=%s: not %s; the default stays\n",
			 name, kinds[kind].bad[b], kinds[kind].allowed);
		ck_assert_str_eq(said, want);
		ck_assert_mem_eq(&kf_conf, &defaults, sizeof(defaults));
	}
}
END_TEST

START_TEST(empty_value_is_none)
{
	set(_i, "");
	read_options();
	ck_assert_str_eq(said, "");
	ck_assert_mem_eq(&kf_conf, &defaults, sizeof(defaults));
}
END_TEST

START_TEST(terminal_is_not_fooled_by_a_value)
{
	if (options[_i].kind == STRING)
		return;
	set(_i, "\033[2J\n");
	read_options();
	ck_assert_ptr_nonnull(strstr(said, "=?[2J?: not "));
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}
END_TEST

/* Each older name: its option and the engine it is for. */
static const struct {
	const char *name;
	const char *engine;
	const uint64_t *value;
} olds[] = {
#define KF_CONF(id, kind, def, arg, help)
#define KF_CONF_ALSO(id, engine, name) {#name, #engine, &kf_conf.id},
#include "core/conf.def"
#undef KF_CONF_ALSO
#undef KF_CONF
};

START_TEST(older_name_counts_for_its_engine_only)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(olds); i++) {
		uint64_t was;

		kf_conf = defaults;
		was = *olds[i].value;
		setenv(olds[i].name, "12K", 1);
		unsetenv("KONFISCATOR_ENGINE");
		read_options();
		ck_assert_uint_eq(*olds[i].value, was);
		setenv("KONFISCATOR_ENGINE", "firstfit", 1);
		read_options();
		ck_assert_uint_eq(*olds[i].value, was);
		setenv("KONFISCATOR_ENGINE", olds[i].engine, 1);
		read_options();
		ck_assert_str_eq(said, "");
		ck_assert_uint_eq(*olds[i].value, 12 * KF_KIB);
	}
}
END_TEST

START_TEST(other_name_counts_for_every_engine)
{
	setenv("MTAG_SNAPSHOT_INTERVAL_SEC", "7", 1);
	setenv("MTAG_STATS_OUTPUT_JSON", "/tmp/x", 1);
	read_options();
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(kf_conf.snapshot_interval, 7);
	ck_assert_str_eq(kf_conf.tags_json, "/tmp/x");
}
END_TEST

START_TEST(options_own_name_comes_before_an_older_one)
{
	setenv("KONFISCATOR_ENGINE", "tlsf", 1);
	setenv("KONFISCATOR_TLSF_INITIAL", "7K", 1);
	setenv("INITIAL_MEMPOOL_SIZE", "abc", 1);
	read_options();
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(kf_conf.tlsf_initial, 7 * KF_KIB);
}
END_TEST

START_TEST(bad_value_of_an_older_name_is_told_by_that)
{
	setenv("KONFISCATOR_ENGINE", "tlsf", 1);
	setenv("INITIAL_MEMPOOL_SIZE", "100X", 1);
	read_options();
	ck_assert_str_eq(said,
			 "konfiscator: INITIAL_MEMPOOL_SIZE=100X: not bytes, "
			 "with K, M, G or T; the default stays\n");
	ck_assert_uint_eq(kf_conf.tlsf_initial, defaults.tlsf_initial);
}
END_TEST

static int run_each(void)
{
	const TTest *const tests[] = {
		good_value_is_taken_without_a_word,
		bad_value_gets_one_line_and_the_default,
		empty_value_is_none,
		terminal_is_not_fooled_by_a_value,
	};

	return unit_run_each("core/conf", tests, KF_ARRAY_SIZE(tests),
			     KF_ARRAY_SIZE(options));
}

int main(void)
{
	const TTest *const tests[] = {
		older_name_counts_for_its_engine_only,
		other_name_counts_for_every_engine,
		options_own_name_comes_before_an_older_one,
		bad_value_of_an_older_name_is_told_by_that,
	};
	int failed = run_each();

	return unit_run("core/conf: older names", tests,
			KF_ARRAY_SIZE(tests)) ||
	       failed;
}

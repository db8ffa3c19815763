/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parsing of the command line by the table of flags.h.
 */
#include "config.h"

#include "exporter/config/flags.h"
#include "exporter/collect/collector.h"
#include "reader/usage.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ME "konfiscator_exporter"

/* Return values of getopt for each kind of flag; smaller ones are letters. */
enum {
	OPT_FLAG = 500,
	OPT_COLLECTOR = 1000,
	OPT_NO_COLLECTOR = 2000,
	OPT_HELP = 3000,
	OPT_VERSION
};

#define NR_OPTIONS (KF_NR_FLAGS + 2 * KF_MAX_COLLECTORS + 3)

struct table {
	struct option option[NR_OPTIONS];
	char name[2 * KF_MAX_COLLECTORS][48];
};

static void option_make_table(struct table *t)
{
	struct option *o = t->option;
	unsigned int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < KF_NR_FLAGS; i++)
		*o++ = (struct option){kf_flags[i].name,
				       kf_flags[i].metavar ? required_argument
							   : no_argument,
				       NULL, OPT_FLAG + (int)i};
	for (i = 0; i < kf_nr_collectors; i++) {
		snprintf(t->name[2 * i], sizeof(t->name[0]), "collector.%s",
			 kf_collectors[i]->name);
		snprintf(t->name[2 * i + 1], sizeof(t->name[0]),
			 "no-collector.%s", kf_collectors[i]->name);
		*o++ = (struct option){t->name[2 * i], no_argument, NULL,
				       OPT_COLLECTOR + (int)i};
		*o++ = (struct option){t->name[2 * i + 1], no_argument, NULL,
				       OPT_NO_COLLECTOR + (int)i};
	}
	*o++ = (struct option){"help", no_argument, NULL, OPT_HELP};
	*o = (struct option){"version", no_argument, NULL, OPT_VERSION};
}

static void option_print_flag(const char *name, const char *metavar,
			      const char *help, const char *fallback)
{
	char left[128];

	snprintf(left, sizeof(left), "--%s%s%s", name, metavar ? "=" : "",
		 metavar ? metavar : "");
	printf("  %-36s %s%s%s%s\n", left, help, fallback ? " [" : "",
	       fallback ? fallback : "", fallback ? "]" : "");
}

static void option_print_help(void)
{
	char name[64];
	unsigned int i;

	printf("Usage: " ME " [FLAG...]\n"
	       "Serve the counters of konfiscator's stats files to Prometheus.\n\n"
	       "Flags, with defaults in brackets:\n");
	for (i = 0; i < KF_NR_FLAGS; i++)
		option_print_flag(kf_flags[i].name, kf_flags[i].metavar,
				  kf_flags[i].help, kf_flags[i].fallback);
	for (i = 0; i < kf_nr_collectors; i++) {
		snprintf(name, sizeof(name), "[no-]collector.%s",
			 kf_collectors[i]->name);
		option_print_flag(name, NULL, kf_collectors[i]->help,
				  kf_collectors[i]->off ? "off" : "on");
	}
	printf("  %-36s print this and exit\n", "-h, --help");
	option_print_flag("version", NULL, "print the version and exit", NULL);
}

static enum kf_parse finish_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return KF_PARSE_DONE;
	fprintf(stderr, ME ": cannot write to stdout: %s\n", strerror(errno));
	return KF_PARSE_USAGE;
}

/* Report what getopt_long() refused: a letter, or the argument at optind - 1.
 */
static enum kf_parse option_refuse_flag(const struct table *t,
					const char *given)
{
	char why[256];

	if (optopt && optopt < OPT_FLAG)
		fprintf(stderr, ME ": there is no flag -%c; see --help\n",
			optopt);
	else
		fprintf(stderr, ME ": flag %s %s; see --help\n", given,
			kf_usage_refused(why, sizeof(why), t->option, given));
	return KF_PARSE_USAGE;
}

static enum kf_parse option_refuse(int argc, char **argv, const char *why)
{
	int at = optind > 1 ? optind - 1 : 1;

	fprintf(stderr, ME ": %s '%s'; see --help\n", why,
		at < argc ? argv[at] : "");
	return KF_PARSE_USAGE;
}

static enum kf_parse option_set(struct kf_options *o, const struct kf_flag *f,
				const char *value)
{
	const char *allowed = f->set ? f->set(o, value) : NULL;

	if (!f->set)
		*(bool *)((char *)o + f->on) = true;
	if (!allowed)
		return KF_PARSE_RUN;
	fprintf(stderr, ME ": --%s: invalid value '%s': expected %s\n", f->name,
		value, allowed);
	return KF_PARSE_USAGE;
}

static enum kf_parse option_fill_defaults(struct kf_options *o)
{
	unsigned int i;

	for (i = 0; i < KF_NR_FLAGS; i++) {
		if (kf_flags[i].fallback &&
		    option_set(o, &kf_flags[i], kf_flags[i].fallback) !=
			    KF_PARSE_RUN)
			return KF_PARSE_USAGE;
	}
	for (i = 0; i < kf_nr_collectors; i++)
		o->collector[i] = !kf_collectors[i]->off;
	return KF_PARSE_RUN;
}

static enum kf_parse option_apply(struct kf_options *o, int c)
{
	if (c == OPT_HELP || c == 'h') {
		option_print_help();
		return finish_stdout();
	}
	if (c == OPT_VERSION) {
		printf(ME " %s\n", PACKAGE_VERSION);
		return finish_stdout();
	}
	if (c >= OPT_NO_COLLECTOR)
		o->collector[c - OPT_NO_COLLECTOR] = false;
	else if (c >= OPT_COLLECTOR)
		o->collector[c - OPT_COLLECTOR] = true;
	else {
		const struct kf_flag *f = &kf_flags[c - OPT_FLAG];

		/* the first given address replaces the default */
		if (!strcmp(f->name, "web.listen-address") && !o->listens) {
			o->nr_listen = 0;
			o->listens = true;
		}
		return option_set(o, f, optarg);
	}
	return KF_PARSE_RUN;
}

bool kf_options_run_tracers(const struct kf_options *o)
{
	unsigned int i;

	for (i = 0; i < o->trace.nr; i++) {
		if (strcmp(o->trace.name[i], KF_TRACE_PAGE) != 0)
			return true;
	}
	return false;
}

const char *kf_options_look_into_others(const struct kf_options *o)
{
	if (o->containers)
		return "--stats.containers";
	if (o->smaps)
		return "--resident.smaps";
	return kf_options_run_tracers(o) ? "--trace" : NULL;
}

/* The error if a flag needs another one that is missing, or NULL. */
static const char *option_lacks(const struct kf_options *o)
{
	if (o->landlock == KF_SANDBOX_ON && kf_options_look_into_others(o))
		return KF_LANDLOCK_EXCLUDES;
	if (o->injector && !o->injector_image)
		return "--injector needs --injector.image";
	if (!o->otlp.url && o->otlp_profiles)
		return "--otlp.profiles needs --otlp.endpoint";
	if (!o->otlp.url && o->otlp.headers_file)
		return "--otlp.headers-file needs --otlp.endpoint";
	if (!o->otlp.url && o->otlp.ca_file)
		return "--otlp.ca-file needs --otlp.endpoint";
	if (!o->pyroscope.url && o->pyroscope.headers_file)
		return "--pyroscope.headers-file needs --pyroscope.endpoint";
	if (!o->pyroscope.url && o->pyroscope.ca_file)
		return "--pyroscope.ca-file needs --pyroscope.endpoint";
	return NULL;
}

enum kf_parse kf_options_parse(struct kf_options *o, int argc, char **argv)
{
	enum kf_parse result;
	const char *lacks;
	struct table table;
	int c;

	memset(o, 0, sizeof(*o));
	o->trace.scripts = KF_DATADIR "/scripts/bpftrace";
	o->trace.library = KF_LIBRARY;
	option_make_table(&table);
	result = option_fill_defaults(o);
	opterr = 0;
	while (result == KF_PARSE_RUN &&
	       (c = getopt_long(argc, argv, ":h", table.option, NULL)) != -1) {
		if (c == ':')
			return option_refuse(argc, argv, "no value for flag");
		if (c == '?')
			return option_refuse_flag(&table, argv[optind - 1]);
		result = option_apply(o, c);
	}
	if (result == KF_PARSE_RUN && optind < argc) {
		optind++;
		return option_refuse(argc, argv, "unexpected argument");
	}
	lacks = result == KF_PARSE_RUN ? option_lacks(o) : NULL;
	if (!lacks)
		return result;
	fprintf(stderr, ME ": %s\n", lacks);
	return KF_PARSE_USAGE;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile in the processed format of the Firefox Profiler, version 48, which
 * later ones convert: a thread for each metric in bytes, whose samples are
 * stacks with their bytes as weights.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <jansson.h>
#include <stdlib.h>

/* gecko's version, and that of the processed format */
#define GECKO_VERSION 27
#define PROCESSED_VERSION 48

/* The tables of a thread; functions, frames and strings have equal indices. */
struct firefox {
	json_t *strings;
	json_t *known; /* index of a function by its name */
	json_t *prefix;
	json_t *frame;
	json_t *nodes; /* index of a stack by its prefix and function */
};

static json_int_t firefox_function(struct firefox *to, const char *label)
{
	char name[4096];
	json_t *index;

	kf_escape(name, sizeof(name), label);
	index = json_object_get(to->known, name);
	if (!index) {
		index = json_integer((json_int_t)json_array_size(to->strings));
		json_array_append_new(to->strings, json_string(name));
		json_object_set_new(to->known, name, index);
	}
	return json_integer_value(index);
}

/* The stack @function below the stack @prefix; below none if that is -1. */
static json_int_t firefox_node(struct firefox *to, json_int_t prefix,
			       json_int_t function)
{
	char *key =
		kf_format("%lld,%lld", (long long)prefix, (long long)function);
	json_t *index = json_object_get(to->nodes, key);

	if (!index) {
		index = json_integer((json_int_t)json_array_size(to->frame));
		json_array_append_new(to->prefix,
				      prefix < 0 ? json_null()
						 : json_integer(prefix));
		json_array_append_new(to->frame, json_integer(function));
		json_object_set_new(to->nodes, key, index);
	}
	free(key);
	return json_integer_value(index);
}

static json_int_t firefox_stack(struct firefox *to, const struct kf_prof *prof,
				const struct kf_site *site)
{
	json_int_t at = -1;
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	for (size_t i = 0; i < nr; i++)
		at = firefox_node(to, at, firefox_function(to, labels[i]));
	kf_site_labels_free(labels, nr);
	return at;
}

/* An array of @nr equal values; takes @value. */
static json_t *firefox_fill(size_t nr, json_t *value)
{
	json_t *all = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append(all, value);
	json_decref(value);
	return all;
}

static json_t *firefox_numbers(size_t nr)
{
	json_t *all = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(all, json_integer((json_int_t)i));
	return all;
}

/* Sets members of a table that have the same value in each row. */
static void firefox_same(json_t *table, const char *const *names, size_t nr,
			 json_t *value)
{
	for (; *names; names++)
		json_object_set_new(table, *names,
				    firefox_fill(nr, json_incref(value)));
	json_object_set_new(table, "length", json_integer((json_int_t)nr));
	json_decref(value);
}

static const char *const firefox_no_functions[] = {"fileName", "lineNumber",
						   "columnNumber", NULL};
static const char *const firefox_no_frames[] = {
	"line",		 "column",	   "nativeSymbol",
	"innerWindowID", "implementation", NULL};
static const char *const firefox_categories[] = {"category", "subcategory",
						 NULL};

static json_t *firefox_functions(size_t nr)
{
	json_t *t = json_object();

	firefox_same(t, firefox_no_functions, nr, json_null());
	json_object_set_new(t, "name", firefox_numbers(nr));
	json_object_set_new(t, "isJS", firefox_fill(nr, json_false()));
	json_object_set_new(t, "relevantForJS", firefox_fill(nr, json_false()));
	json_object_set_new(t, "resource", firefox_fill(nr, json_integer(-1)));
	return t;
}

static json_t *firefox_frames(size_t nr)
{
	json_t *t = json_object();

	firefox_same(t, firefox_no_frames, nr, json_null());
	firefox_same(t, firefox_categories, nr, json_integer(0));
	json_object_set_new(t, "func", firefox_numbers(nr));
	json_object_set_new(t, "address", firefox_fill(nr, json_integer(-1)));
	json_object_set_new(t, "inlineDepth",
			    firefox_fill(nr, json_integer(0)));
	return t;
}

static json_t *firefox_stacks(const struct firefox *to)
{
	size_t nr = json_array_size(to->frame);
	json_t *t = json_object();

	firefox_same(t, firefox_categories, nr, json_integer(0));
	json_object_set(t, "frame", to->frame);
	json_object_set(t, "prefix", to->prefix);
	return t;
}

static json_t *firefox_samples(const struct kf_prof *prof,
			       const json_int_t *stacks, enum kf_metric metric)
{
	json_t *t = json_object(), *stack = json_array(),
	       *weight = json_array();
	size_t nr;

	for (size_t i = 0; i < prof->nr_sites; i++) {
		double value = kf_site_value(&prof->sites[i], metric).value;

		if (value < 1)
			continue;
		json_array_append_new(stack, json_integer(stacks[i]));
		json_array_append_new(weight, json_integer((json_int_t)value));
	}
	nr = json_array_size(stack);
	json_object_set_new(t, "length", json_integer((json_int_t)nr));
	json_object_set_new(t, "stack", stack);
	json_object_set_new(t, "time", firefox_numbers(nr));
	json_object_set_new(t, "weight", weight);
	json_object_set_new(t, "weightType", json_string("bytes"));
	return t;
}

static json_t *firefox_thread(const struct kf_prof *prof,
			      const struct firefox *to,
			      const json_int_t *stacks, enum kf_metric metric)
{
	size_t nr = json_array_size(to->strings);
	json_t *t = json_pack(
		"{s:s, s:s, s:i, s:n, s:i, s:n, s:[], s:b, s:i}", "processType",
		"default", "name", kf_metric_title(metric), "registerTime", 0,
		"unregisterTime", "processStartupTime", 0,
		"processShutdownTime", "pausedRanges", "isMainThread",
		metric == KF_METRIC_LIVE, "tid", (int)metric);

	json_object_set_new(t, "pid",
			    json_sprintf("%d", kf_prof_identity(prof)->pid));
	json_object_set_new(t, "samples",
			    firefox_samples(prof, stacks, metric));
	json_object_set_new(
		t, "markers",
		json_pack("{s:[], s:[], s:[], s:[], s:[], s:[], s:i}", "data",
			  "name", "startTime", "endTime", "phase", "category",
			  "length", 0));
	json_object_set_new(t, "stackTable", firefox_stacks(to));
	json_object_set_new(t, "frameTable", firefox_frames(nr));
	json_object_set_new(t, "funcTable", firefox_functions(nr));
	json_object_set_new(t, "resourceTable",
			    json_pack("{s:[], s:[], s:[], s:[], s:i}", "lib",
				      "name", "host", "type", "length", 0));
	json_object_set_new(t, "nativeSymbols",
			    json_pack("{s:[], s:[], s:[], s:[], s:i}",
				      "libIndex", "address", "name",
				      "functionSize", "length", 0));
	json_object_set(t, "stringArray", to->strings);
	return t;
}

static json_t *firefox_meta(const struct kf_prof *prof)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	char name[256];

	kf_escape(name, sizeof(name), id->name[0] ? id->name : id->comm);
	return json_pack("{s:i, s:i, s:i, s:f, s:i, s:s, s:i, s:b, s:[], s:s,"
			 " s:[{s:s, s:s, s:[s]}]}",
			 "version", GECKO_VERSION, "preprocessedProfileVersion",
			 PROCESSED_VERSION, "interval", 1, "startTime",
			 (double)(prof->profile.head.real_ns / 1000000),
			 "processType", 0, "product", name, "stackwalk", 1,
			 "symbolicated", 1, "markerSchema", "importedFrom",
			 "konfiscator " PACKAGE_VERSION, "categories", "name",
			 "Other", "color", "grey", "subcategories", "Other");
}

static int write_firefox(const struct kf_prof *prof, FILE *out)
{
	struct firefox to = {json_array(), json_object(), json_array(),
			     json_array(), json_object()};
	json_int_t *stacks = kf_alloc(prof->nr_sites, sizeof(*stacks));
	json_t *file = json_object(), *threads = json_array();
	int rc;

	for (size_t i = 0; i < prof->nr_sites; i++)
		stacks[i] = firefox_stack(&to, prof, &prof->sites[i]);
	for (int m = 0; m < KF_NR_METRICS; m++) {
		enum kf_metric metric = (enum kf_metric)m;

		if (!kf_metric_is_blocks(metric) &&
		    kf_metric_known(prof, metric))
			json_array_append_new(
				threads,
				firefox_thread(prof, &to, stacks, metric));
	}
	json_object_set_new(file, "meta", firefox_meta(prof));
	json_object_set_new(file, "libs", json_array());
	json_object_set_new(file, "pages", json_array());
	json_object_set_new(file, "threads", threads);
	rc = json_dumpf(file, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	free(stacks);
	json_decref(file);
	json_decref(to.strings);
	json_decref(to.known);
	json_decref(to.prefix);
	json_decref(to.frame);
	json_decref(to.nodes);
	return rc;
}

const struct kf_prof_format kf_prof_format_firefox = {"firefox.json",
						      write_firefox};

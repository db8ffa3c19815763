/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile in the format of speedscope: a profile for each metric, of which
 * the one of --metric is shown first.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <jansson.h>
#include <stdlib.h>

/* The functions; @known has the index of each by name and source file. */
struct speedscope {
	json_t *frames;
	json_t *known;
};

static json_int_t speedscope_frame(struct speedscope *to, const char *label,
				   const char *file)
{
	char name[4096], path[4096];
	json_t *index, *frame;
	char *key;

	kf_escape(name, sizeof(name), label);
	kf_escape(path, sizeof(path), file ? file : "");
	key = kf_format("%s\n%s", name, path);
	index = json_object_get(to->known, key);
	if (!index) {
		frame = json_object();
		json_object_set_new(frame, "name", json_string(name));
		if (path[0])
			json_object_set_new(frame, "file", json_string(path));
		index = json_integer((json_int_t)json_array_size(to->frames));
		json_array_append_new(to->frames, frame);
		json_object_set_new(to->known, key, index);
	}
	free(key);
	return json_integer_value(index);
}

/* A stack, the outermost call first. */
static json_t *speedscope_stack(struct speedscope *to,
				const struct kf_prof *prof,
				const struct kf_site *site)
{
	bool by_frame = prof->pick.group != KF_GROUP_LIB;
	json_t *stack = json_array();
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	for (size_t i = 0; i < nr; i++) {
		const char *file = NULL;

		if (by_frame && nr - i <= site->nr_frames)
			file = site->frames[nr - i - 1]->file;
		json_array_append_new(stack, json_integer(speedscope_frame(
						     to, labels[i], file)));
	}
	kf_site_labels_free(labels, nr);
	return stack;
}

static json_t *speedscope_metric(const struct kf_prof *prof,
				 json_t *const *stacks, enum kf_metric metric)
{
	json_t *samples = json_array(), *weights = json_array();
	json_t *o = json_object();
	json_int_t sum = 0;

	for (size_t i = 0; i < prof->nr_sites; i++) {
		double value = kf_site_value(&prof->sites[i], metric).value;

		if (value < 1)
			continue;
		json_array_append(samples, stacks[i]);
		json_array_append_new(weights, json_integer((json_int_t)value));
		sum += (json_int_t)value;
	}
	json_object_set_new(o, "type", json_string("sampled"));
	json_object_set_new(o, "name", json_string(kf_metric_title(metric)));
	json_object_set_new(
		o, "unit",
		json_string(kf_metric_is_blocks(metric) ? "none" : "bytes"));
	json_object_set_new(o, "startValue", json_integer(0));
	json_object_set_new(o, "endValue", json_integer(sum));
	json_object_set_new(o, "samples", samples);
	json_object_set_new(o, "weights", weights);
	return o;
}

static json_t *speedscope_file(const struct kf_prof *prof, json_t *frames,
			       json_t *const *stacks)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	json_t *o = json_object(), *profiles = json_array();
	size_t active = 0;
	char name[256];

	kf_escape(name, sizeof(name), id->name[0] ? id->name : id->comm);
	for (int m = 0; m < KF_NR_METRICS; m++) {
		enum kf_metric metric = (enum kf_metric)m;

		if (!kf_metric_known(prof, metric))
			continue;
		if (metric == prof->pick.metric)
			active = json_array_size(profiles);
		json_array_append_new(profiles,
				      speedscope_metric(prof, stacks, metric));
	}
	json_object_set_new(
		o, "$schema",
		json_string("https://www.speedscope.app/file-format-schema."
			    "json"));
	json_object_set_new(o, "exporter",
			    json_string("konfiscator " PACKAGE_VERSION));
	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "activeProfileIndex",
			    json_integer((json_int_t)active));
	json_object_set_new(o, "shared", json_pack("{s:O}", "frames", frames));
	json_object_set_new(o, "profiles", profiles);
	return o;
}

static int write_speedscope(const struct kf_prof *prof, FILE *out)
{
	struct speedscope to = {json_array(), json_object()};
	json_t **stacks = kf_alloc(prof->nr_sites, sizeof(*stacks)), *file;
	int rc;

	for (size_t i = 0; i < prof->nr_sites; i++)
		stacks[i] = speedscope_stack(&to, prof, &prof->sites[i]);
	file = speedscope_file(prof, to.frames, stacks);
	rc = json_dumpf(file, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	for (size_t i = 0; i < prof->nr_sites; i++)
		json_decref(stacks[i]);
	free(stacks);
	json_decref(file);
	json_decref(to.frames);
	json_decref(to.known);
	return rc;
}

const struct kf_prof_format kf_prof_format_speedscope = {
	"speedscope.json", write_speedscope, true};

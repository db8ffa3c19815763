/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exports of a profile: folded stacks for flame graphs, JSON, CSV and massif's
 * text.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* In a folded line ';' separates the calls, and the last blank the number. */
static void folded_label(FILE *out, const char *label)
{
	char safe[1024];

	kf_escape(safe, sizeof(safe), label);
	for (const char *p = safe; *p; p++)
		fputc(*p == ';' ? ':' : *p, out);
}

static void folded_stack(const struct kf_prof *prof, const struct kf_site *site,
			 FILE *out)
{
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	for (size_t k = 0; k < nr; k++) {
		if (k)
			fputc(';', out);
		folded_label(out, labels[k]);
	}
	kf_site_labels_free(labels, nr);
}

/* Sites of different addresses may have the same names. */
static int write_folded(const struct kf_prof *prof, FILE *out)
{
	size_t nr;
	struct kf_calls_row *row = kf_site_rows(prof, folded_stack, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (row[i].value.value >= 1)
			fprintf(out, "%s %" PRIu64 "\n", row[i].shown,
				(uint64_t)row[i].value.value);
		free(row[i].shown);
	}
	free(row);
	return 0;
}

/* Names may be any bytes, but JSON must be UTF-8. */
static json_t *export_text(const char *s)
{
	char safe[4096];

	return json_string(kf_escape(safe, sizeof(safe), s));
}

static json_t *frames_json(const struct kf_site *site)
{
	json_t *all = json_array();

	for (size_t i = 0; i < site->nr_frames; i++) {
		const struct kf_frame *f = site->frames[i];
		json_t *o = json_object();
		char address[32];

		snprintf(address, sizeof(address), "0x%" PRIx64, f->address);
		json_object_set_new(o, "function", export_text(f->function));
		json_object_set_new(o, "library", export_text(f->library));
		json_object_set_new(o, "file",
				    f->file ? export_text(f->file)
					    : json_null());
		json_object_set_new(o, "line", json_integer(f->line));
		json_object_set_new(o, "address", json_string(address));
		json_object_set_new(o, "inlined", json_boolean(f->inlined));
		json_object_set_new(o, "recursive",
				    json_boolean(site->recursive[i]));
		json_array_append_new(all, o);
	}
	return all;
}

static void set_estimate(json_t *o, const char *name, struct kf_estimate e)
{
	char error[32];

	snprintf(error, sizeof(error), "%s_error_95", name);
	json_object_set_new(o, name, json_integer((json_int_t)e.value));
	json_object_set_new(o, error,
			    json_integer((json_int_t)kf_estimate_error(e)));
}

static json_t *ages_json(const struct kf_ages *a)
{
	json_t *o = json_object(), *spans = json_array();
	double below = (double)KF_STATS_SPAN_FIRST / 1e9;

	json_object_set_new(o, "live_samples",
			    json_integer((json_int_t)a->samples));
	json_object_set_new(o, "oldest", json_real((double)a->oldest_ns / 1e9));
	json_object_set_new(o, "mean", json_real((double)a->mean_ns / 1e9));
	set_estimate(o, "foreign", a->foreign);
	for (int i = 0; i < KF_STATS_SPANS; i++, below *= 10) {
		json_t *span = json_object();

		json_object_set_new(span, "below",
				    i < KF_STATS_SPANS - 1 ? json_real(below)
							   : json_null());
		set_estimate(span, "live", a->span[i].live);
		set_estimate(span, "freed", a->span[i].freed);
		json_array_append_new(spans, span);
	}
	json_object_set_new(o, "spans", spans);
	return o;
}

static json_t *site_json(const struct kf_prof *prof, const struct kf_site *site)
{
	json_t *o = json_object();

	for (int m = 0; m < KF_NR_METRICS; m++) {
		enum kf_metric metric = (enum kf_metric)m;

		if (kf_metric_known(prof, metric))
			set_estimate(o, kf_metric_name(metric),
				     kf_site_value(site, metric));
	}
	json_object_set_new(o, "samples",
			    json_integer((json_int_t)site->now.samples));
	json_object_set_new(o, "tag", export_text(site->tag));
	json_object_set_new(o, "thread", export_text(site->thread));
	json_object_set_new(o, "tid", json_integer(site->stack->tid));
	json_object_set_new(o, "process", export_text(site->process->label));
	json_object_set_new(o, "ages",
			    site->process->profile->nr_ages
				    ? ages_json(site->ages)
				    : json_null());
	json_object_set_new(o, "frames", frames_json(site));
	return o;
}

/* The levels that a profile without the library lacks end here. */
#define HELD_END 6

static json_t *snapshots_json(const struct kf_prof *prof)
{
	json_t *all = json_array();

	for (size_t i = 0; i < prof->nr_levels; i++) {
		const struct kf_profile_snapshot *s = &prof->levels[i];
		const struct {
			const char *name;
			uint64_t value;
		} levels[] = {
			{"live", s->live},	   {"rounding", s->rounding},
			{"cached", s->cached},	   {"free", s->free},
			{"metadata", s->metadata}, {"held", s->held},
			{"resident", s->resident}, {"blocks", s->live_blocks},
		};
		json_t *o = json_object();

		json_object_set_new(o, "time",
				    json_real((double)s->time_ns / 1e9));
		/* held is the sum of them; 0: they are not known */
		for (size_t k = 0; k < KF_ARRAY_SIZE(levels); k++)
			json_object_set_new(
				o, levels[k].name,
				!s->held && k && k < HELD_END
					? json_null()
					: json_integer(
						  (json_int_t)levels[k].value));
		json_array_append_new(all, o);
	}
	return all;
}

static int write_json(const struct kf_prof *prof, FILE *out)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	json_t *o = json_object(), *sites = json_array();
	int rc;

	json_object_set_new(o, "program",
			    export_text(id->name[0] ? id->name : id->comm));
	json_object_set_new(o, "exe", export_text(id->exe));
	json_object_set_new(o, "pid", json_integer(id->pid));
	json_object_set_new(o, "time", json_real((double)prof->time_ns / 1e9));
	json_object_set_new(o, "snapshots", snapshots_json(prof));
	for (size_t i = 0; i < prof->nr_sites; i++)
		json_array_append_new(sites, site_json(prof, &prof->sites[i]));
	json_object_set_new(o, "sites", sites);
	rc = json_dumpf(o, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	json_decref(o);
	return rc;
}

static void csv_text(FILE *out, const char *s)
{
	char safe[4096];

	fputc('"', out);
	for (const char *p = kf_escape(safe, sizeof(safe), s); *p; p++) {
		if (*p == '"')
			fputc('"', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

static int write_csv(const struct kf_prof *prof, FILE *out)
{
	if (!prof->cli->no_header) {
		for (int m = 0; m < KF_NR_METRICS; m++)
			fprintf(out, "%s,%s_error_95,",
				kf_metric_name((enum kf_metric)m),
				kf_metric_name((enum kf_metric)m));
		fputs("samples,tag,tid,thread,process,stack\n", out);
	}
	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *site = &prof->sites[i];

		for (int m = 0; m < KF_NR_METRICS; m++) {
			enum kf_metric metric = (enum kf_metric)m;
			struct kf_estimate e = kf_site_value(site, metric);

			if (!kf_metric_known(prof, metric))
				fputs(",,", out);
			else
				fprintf(out, "%.0f,%.0f,", e.value,
					kf_estimate_error(e));
		}
		fprintf(out, "%" PRIu64 ",", site->now.samples);
		csv_text(out, site->tag);
		fprintf(out, ",%d,", site->stack->tid);
		csv_text(out, site->thread);
		fputc(',', out);
		csv_text(out, site->process->label);
		fputs(",\"", out);
		for (size_t k = site->nr_frames; k-- > 0;) {
			char *call;

			call = kf_site_call(site->frames[k]);
			folded_label(out, call);
			free(call);
			if (k)
				fputc(';', out);
		}
		fputs("\"\n", out);
	}
	return 0;
}

static void massif_nodes(FILE *out, const struct kf_node *node, int depth)
{
	char safe[1024], library[1024];

	if (!depth)
		snprintf(safe, sizeof(safe),
			 "(heap allocation functions) malloc/new/new[], "
			 "--alloc-fns, etc.");
	else
		kf_escape(safe, sizeof(safe), node->label);
	fprintf(out, "%*sn%zu: %" PRIu64 " ", depth, "", node->nr,
		(uint64_t)node->value.value);
	if (depth)
		fprintf(out, "0x%" PRIX64 ": %s (in %s)\n",
			node->frame ? node->frame->address : 0, safe,
			kf_escape(library, sizeof(library),
				  node->frame ? node->frame->library : "?"));
	else
		fprintf(out, "%s\n", safe);
	for (size_t i = 0; i < node->nr; i++)
		massif_nodes(out, &node->nodes[i], depth + 1);
}

/*
 * massif's tree goes from the allocation to its callers, ours from main() to
 * the allocation: the frames of each site are reversed.
 */
static struct kf_node *prof_inverted(const struct kf_prof *prof)
{
	struct kf_prof turned = *prof;
	struct kf_node *root;

	/* no names of processes */
	turned.nr_chosen = 1;
	turned.sites = kf_alloc(prof->nr_sites, sizeof(*turned.sites));
	for (size_t i = 0; i < prof->nr_sites; i++) {
		struct kf_site *s = &turned.sites[i];

		*s = prof->sites[i];
		s->frames = kf_alloc(s->nr_frames, sizeof(*s->frames));
		for (size_t k = 0; k < s->nr_frames; k++)
			s->frames[k] =
				prof->sites[i].frames[s->nr_frames - 1 - k];
	}
	root = kf_tree_make(&turned);
	for (size_t i = 0; i < turned.nr_sites; i++)
		free(turned.sites[i].frames);
	free(turned.sites);
	return root;
}

static int write_massif(const struct kf_prof *prof, FILE *out)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	struct kf_node *root = prof_inverted(prof);
	char path[1024], program[256];
	struct kf_massif m = {.out = out};

	kf_escape(path, sizeof(path), prof->path);
	kf_escape(program, sizeof(program), id->name[0] ? id->name : id->comm);
	kf_massif_head(&m, "profile", path, program);
	for (size_t i = 0; i < prof->nr_levels; i++) {
		const struct kf_profile_snapshot *s = &prof->levels[i];
		bool shown = s->time_ns == kf_prof_shown_ns(prof);

		kf_massif_level(&m, s->time_ns,
				shown ? (uint64_t)root->value.value : s->live,
				s->held, shown ? "peak" : "empty");
		if (shown)
			massif_nodes(out, root, 0);
	}
	kf_tree_free(root);
	return 0;
}

const struct kf_prof_format kf_prof_format_folded = {"folded", write_folded,
						     true};
const struct kf_prof_format kf_prof_format_json = {"json", write_json,
						   .levels = true};
const struct kf_prof_format kf_prof_format_csv = {"csv", write_csv};
const struct kf_prof_format kf_prof_format_massif = {"massif", write_massif,
						     .levels = true};

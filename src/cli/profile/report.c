/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator report of a profile: chooses the view, or the format by the
 * suffix of -o, and warns of samples that the figures do not include.
 */
#include "config.h"

#include "cli/profile/views.h"
#include "cli/serve.h"

#include <stdlib.h>
#include <string.h>

#define KF_PROFILE_FORMAT(id)
#define KF_PROFILE_VIEW(id) &kf_prof_view_##id,
static const struct kf_prof_view *const prof_views[] = {
#include "cli/profile/views.def"
};
#undef KF_PROFILE_VIEW
#undef KF_PROFILE_FORMAT

#define KF_PROFILE_VIEW(id)
#define KF_PROFILE_FORMAT(id) &kf_prof_format_##id,
static const struct kf_prof_format *const prof_formats[] = {
#include "cli/profile/views.def"
};
#undef KF_PROFILE_VIEW
#undef KF_PROFILE_FORMAT

const struct kf_prof_view *kf_prof_view_find(const char *name)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(prof_views); i++) {
		if (!strcmp(prof_views[i]->name, name))
			return prof_views[i];
	}
	return NULL;
}

static const struct kf_prof_format *format_of(const char *path)
{
	for (size_t i = 0; i < KF_ARRAY_SIZE(prof_formats); i++) {
		size_t len = strlen(prof_formats[i]->suffix),
		       all = strlen(path);

		if (all > len + 1 && path[all - len - 1] == '.' &&
		    !strcmp(path + all - len, prof_formats[i]->suffix))
			return prof_formats[i];
	}
	return NULL;
}

const char *kf_prof_format_suffix(const char *path)
{
	const struct kf_prof_format *format = format_of(path);

	return format ? format->suffix : NULL;
}

static int unknown_suffix(const struct kf_cli *cli, const char *path)
{
	char *all = kf_format(".%s", prof_formats[0]->suffix), *longer;

	for (size_t i = 1; i < KF_ARRAY_SIZE(prof_formats); i++) {
		longer = kf_format("%s, .%s", all, prof_formats[i]->suffix);
		free(all);
		all = longer;
	}
	kf_error("%s: -o: '%s' does not end in one of %s", cli->command->name,
		 path, all);
	free(all);
	return KF_EXIT_USAGE;
}

static bool prof_has_stacks(const struct kf_prof *prof)
{
	for (size_t i = 0; i < prof->nr_processes; i++) {
		if (prof->processes[i].chosen &&
		    prof->processes[i].profile->nr_stacks)
			return true;
	}
	return false;
}

char *kf_prof_no_samples(const struct kf_prof *prof)
{
	char *how, *text;

	if (prof_has_stacks(prof))
		return NULL;
	how = prof->pid ? kf_format("konfiscator ctl %d sample=64K", prof->pid)
			: kf_format("konfiscator record --sample=64K");
	text = kf_format("%s has no samples: sampling was off, or the program "
			 "allocated too little; %s takes more",
			 prof->path, how);
	free(how);
	return text;
}

/* A file that would have nothing to show is not written. */
static int prof_refuse_empty(const struct kf_prof *prof,
			     const struct kf_prof_format *format)
{
	bool has_map = format == &kf_prof_format_html && prof->heap.nr_cells;
	bool has_levels = format->levels && prof->nr_levels > 1;
	char *missing = kf_prof_no_samples(prof);

	if (missing && !has_map && !has_levels) {
		kf_error("%s: %s", prof->cli->command->name, missing);
		free(missing);
		return -1;
	}
	free(missing);
	return 0;
}

static int prof_write_file(struct kf_report *r, const struct kf_prof *prof,
			   const struct kf_prof_format *format)
{
	struct kf_output o;
	int rc;

	if (prof_refuse_empty(prof, format) || kf_output_open(&o, r->output))
		return KF_EXIT_FAILED;
	rc = format->write(prof, o.file);
	if (kf_output_close(&o, !rc))
		rc = -1;
	return rc ? KF_EXIT_FAILED : KF_EXIT_OK;
}

/* The page is complete before its address is known. */
static int prof_make_page(const struct kf_prof *prof, char **page, size_t *size)
{
	FILE *out;
	int rc;

	if (prof_refuse_empty(prof, &kf_prof_format_html))
		return KF_EXIT_FAILED;
	out = open_memstream(page, size);
	rc = out ? kf_prof_format_html.write(prof, out) : -1;

	if (out && fclose(out))
		rc = -1;
	if (rc)
		kf_error("out of memory");
	return rc ? KF_EXIT_FAILED : KF_EXIT_OK;
}

static void prof_tell_losses(const struct kf_report *r,
			     const struct kf_prof *prof)
{
	struct kf_stacks_lost lost = {0};
	uint64_t without = 0;
	char text[KF_STACKS_LOST_TEXT];
	char *missing = kf_prof_no_samples(prof);

	for (size_t i = 0; i < prof->nr_sites; i++) {
		const struct kf_site *s = &prof->sites[i];

		kf_stacks_lost_add(
			&lost, s->stack->flags,
			kf_profile_generation(s->process->profile, s->stack),
			s->now.samples);
		if (!s->stack->nr_frames &&
		    !(s->stack->flags & KF_STACK_OVERFLOW))
			without += s->now.samples;
	}
	if (missing)
		kf_note(r->cli, "%s: %s", r->cli->command->name, missing);
	free(missing);
	if (prof->profile.cut)
		kf_note(r->cli,
			"%s: the end of the profile is missing: konfiscator record was killed, or the file is damaged",
			r->cli->command->name);
	if (kf_stacks_lost_text(&lost, text, sizeof(text)))
		kf_note(r->cli, "%s: %s", r->cli->command->name, text);
	if (without)
		kf_note(r->cli, "%s: samples without a stack: %llu",
			r->cli->command->name, (unsigned long long)without);
}

static void few_write(const struct kf_prof *prof, const struct kf_site *site,
		      FILE *out)
{
	char *calls = kf_site_callers(site, 0, SIZE_MAX);

	(void)prof;
	fputs(calls, out);
	free(calls);
}

/* Whether so few samples fell that not even the largest stack is estimated. */
static bool prof_is_poor(const struct kf_prof *prof)
{
	struct kf_calls_row *row;
	bool poor;
	size_t nr;

	if (!prof->nr_sites || !kf_estimate_is_poor(prof->sites[0].value))
		return false;
	row = kf_site_rows(prof, few_write, &nr);
	poor = kf_estimate_is_poor(row[0].value);
	for (size_t i = 0; i < nr; i++)
		free(row[i].shown);
	free(row);
	return poor;
}

/* Says how to get more samples, where there are few. */
static void prof_tell_few(const struct kf_report *r, const struct kf_prof *prof)
{
	const struct kf_profile_count *c;
	char text[KF_SAMPLE_HINT];
	char *command;

	if (!prof_is_poor(prof))
		return;
	c = &prof->sites[0].now;
	command = prof->pid ? kf_format("konfiscator ctl %d sample=", prof->pid)
			    : kf_format("konfiscator record --sample=");
	kf_note(r->cli,
		"report: there are few samples: the interval of each stack is as large as its value; %s",
		kf_sample_hint(text, sizeof(text), command,
			       c->samples ? c->allocated / c->samples : 0));
	free(command);
}

/* What the values of a metric are, for a line. */
static char *metric_meaning(const struct kf_prof *prof)
{
	double seconds = (double)kf_prof_shown_ns(prof) / 1e9;
	size_t nr = (size_t)(prof->snapshot - prof->levels) + 1;

	if (prof->pick.metric == KF_METRIC_PEAK)
		return kf_format(
			"live bytes at %.1f s, the largest of %zu snapshots",
			seconds, nr);
	if (prof->pick.metric == KF_METRIC_PEAKS)
		return kf_format(
			"sum of the stacks' own peaks, an upper bound of the live bytes at any time");
	return kf_format("live bytes at %.1f s", seconds);
}

/* Says which time and metric the figures are of, and how to see others. */
static void tell_metric(const struct kf_report *r, const struct kf_prof *prof)
{
	bool usual = prof->pick.usual;
	char *meaning, *at;

	if (!prof->snapshot || !prof_has_stacks(prof) ||
	    (!usual && prof->pick.metric != KF_METRIC_PEAK &&
	     prof->pick.metric != KF_METRIC_PEAKS))
		return;
	meaning = metric_meaning(prof);
	at = kf_format(" at %.1f s, --at=SEC the live bytes at an earlier time",
		       (double)prof->time_ns / 1e9);
	if (!usual)
		kf_note(r->cli, "report: %s", meaning);
	else if (prof->at_end)
		kf_note(r->cli,
			"report: %s, because the program had ended; "
			"--metric=live shows the bytes still live%s",
			meaning, prof->time_ns ? at : "");
	else
		kf_note(r->cli, "report: %s; --metric=%s shows %s", meaning,
			kf_metric_name(prof->peak ? KF_METRIC_PEAK
						  : KF_METRIC_PEAKS),
			prof->peak ? "the peak" : "each stack's own peak");
	if (usual && prof->at_end && prof->nr_chosen > 1)
		kf_note(r->cli,
			"report: %zu processes are added up; --group=process "
			"tells them apart",
			prof->nr_chosen);
	free(meaning);
	free(at);
}

static int prof_unmatched(const struct kf_prof *prof)
{
	if (!prof->pick.filter || prof->matched)
		return 0;
	kf_error("report: --filter: nothing in %s%s matches '%s'", prof->path,
		 prof_has_stacks(prof) ? "" : ", which has no samples,",
		 prof->pick.filter);
	return KF_EXIT_NO_MATCH;
}

int kf_prof_report(struct kf_report *r, const struct kf_profile_pick *pick,
		   const char *view)
{
	const struct kf_prof_format *format = NULL;
	const struct kf_prof_view *shown =
		view ? kf_prof_view_find(view) : prof_views[0];
	struct kf_prof prof = {.cli = r->cli, .path = r->path, .pick = *pick};
	char *page = NULL;
	size_t size;
	int status;

	if (!shown) {
		kf_error(
			"report: --view: '%s' is a view of recordings, but this is a profile",
			view);
		return KF_EXIT_USAGE;
	}
	if (r->output) {
		format = format_of(r->output);
		if (!format)
			return unknown_suffix(r->cli, r->output);
	}
	if (r->serve)
		format = &kf_prof_format_html;
	prof.wants_heap = format == &kf_prof_format_html;
	prof.pick.usual &= format ? format->weighs : shown->weighs;
	status = kf_prof_open(&prof);
	if (!status)
		status = prof_unmatched(&prof);
	if (!status)
		status = r->serve ? prof_make_page(&prof, &page, &size)
			 : format ? prof_write_file(r, &prof, format)
				  : shown->show(r, &prof);
	if (!status)
		tell_metric(r, &prof);
	if (!status)
		prof_tell_losses(r, &prof);
	if (!status)
		prof_tell_few(r, &prof);
	if (!status)
		kf_prof_tell_missing(&prof);
	kf_prof_close(&prof);
	if (!status && r->serve)
		status = kf_serve(r->cli, r->serve, page, size);
	free(page);
	return status;
}

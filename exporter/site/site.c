/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pages by address, and the history for charts.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "exporter/site/assets.h"
#include "exporter/site/flame.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY "/api/v1/history"
#define STACKS "/api/v1/stacks"
#define HEAP "/debug/pprof/heap"
#define ALLOCS "/debug/pprof/allocs" /* the same profile, Go's other name */
#define PROCESS "/process"
#define ENDED "/ended"

#define HTML "text/html; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"
#define BYTES "application/octet-stream"

static bool site_is_process(const char *path)
{
	return strcmp(path, PROCESS) == 0 ||
	       strncmp(path, PROCESS "/", strlen(PROCESS "/")) == 0;
}

static bool site_is_profile(const char *path)
{
	return strcmp(path, HEAP) == 0 || strcmp(path, ALLOCS) == 0;
}

bool kf_site_has(const char *path)
{
	return strcmp(path, "/") == 0 || site_is_process(path) ||
	       strcmp(path, ENDED) == 0 || strcmp(path, HISTORY) == 0 ||
	       strcmp(path, STACKS) == 0 || site_is_profile(path) ||
	       kf_asset_find(path);
}

const char *kf_site_id(const char *path)
{
	if (strncmp(path, PROCESS "/", strlen(PROCESS "/")) != 0)
		return NULL;
	return path + strlen(PROCESS "/");
}

void kf_site_scan(const struct kf_site *site)
{
	struct kf_groups *g = site->sources->groups;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&g->lock);
	kf_groups_scan(g, &now, NULL);
	pthread_mutex_unlock(&g->lock);
}

static void site_put_value(struct kf_buf *out, float value)
{
	if (isnan(value))
		kf_buf_str(out, "null");
	else
		kf_buf_fmt(out, "%.0f", (double)value);
}

/* A value that is not known stands in the middle of each gap. */
static void site_put_values(struct kf_buf *out, const char *name,
			    const struct kf_past *past, const float *value)
{
	uint64_t gap_ms = kf_past_gap_ms(past);
	unsigned int i;

	kf_buf_fmt(out, ",\"%s\":[", name);
	for (i = 0; i < past->nr; i++) {
		kf_buf_str(out, i ? "," : "");
		if (i && past->ms[i] - past->ms[i - 1] > gap_ms)
			kf_buf_str(out, "null,");
		site_put_value(out, value[i]);
	}
	kf_buf_str(out, "]");
}

static void site_put_times(struct kf_buf *out, const struct kf_past *past)
{
	uint64_t gap_ms = kf_past_gap_ms(past), since;
	unsigned int i;

	kf_buf_str(out, "{\"time\":[");
	for (i = 0; i < past->nr; i++) {
		since = i ? past->ms[i] - past->ms[i - 1] : 0;
		kf_buf_str(out, i ? "," : "");
		if (since > gap_ms)
			kf_buf_fmt(out, "%.3f,",
				   (double)(past->ms[i] - since / 2) / 1000);
		kf_buf_fmt(out, "%.3f", (double)past->ms[i] / 1000);
	}
	kf_buf_str(out, "]");
}

/*
 * Write times in seconds, then bytes of each part, as lists of the same length.
 */
static void site_history(const struct kf_site *site, const char *id,
			 struct kf_buf *out)
{
	struct kf_past *past = calloc(1, sizeof(*past));
	uint64_t of = KF_TIMELINE_ALL;
	char *end = "";
	unsigned int i;

	if (!past) {
		out->failed = true;
		return;
	}
	if (id)
		of = strtoull(id, &end, 16);
	/* an invalid id has no history */
	if (!id || (*id && !*end))
		kf_timelines_get(site->timelines, of, past);
	site_put_times(out, past);
	for (i = 0; i < KF_NR_PARTS; i++)
		site_put_values(out, kf_part_names[i], past, past->part[i]);
	kf_buf_str(out, "}\n");
	free(past);
}

void kf_site_timeline(const struct kf_site *site, uint64_t id,
		      struct kf_buf *out)
{
	struct kf_past *past = calloc(1, sizeof(*past));

	if (!past) {
		out->failed = true;
		return;
	}
	kf_timelines_get(site->timelines, id, past);
	kf_buf_fmt(out,
		   "<section id=\"lately\">\n<h2>Held from the kernel</h2>\n"
		   "<div class=\"plot\" data-history=\"" HISTORY
		   "?id=%016" PRIx64 "\">",
		   id);
	kf_html_spark(out, past->ms, past->held, past->nr,
		      kf_past_gap_ms(past));
	if (past->nr < 2)
		kf_buf_fmt(out,
			   "<p class=\"hint\">The line starts in %u s.</p>",
			   site->timelines->every_s);
	kf_buf_str(out, "</div>\n");
	if (past->nr > 1) {
		kf_buf_fmt(out,
			   "<p class=\"hint\">The last %.0f min, from 0 to ",
			   ceil((double)(past->ms[past->nr - 1] - past->ms[0]) /
				60000));
		kf_html_bytes(out, (double)kf_past_top(past));
		kf_buf_str(out, "</p>\n");
	}
	kf_buf_str(out, "</section>\n");
	free(past);
}

void kf_site_flame(uint64_t id, enum kf_sites_by by, struct kf_buf *out)
{
	kf_buf_fmt(out,
		   "<section id=\"flame\" hidden=\"hidden\">\n"
		   "<h2>Flame graph</h2>\n"
		   "<div data-calls=\"" STACKS "?id=%016" PRIx64
		   "\" data-metric=\"%s\"></div>\n</section>\n",
		   id, by == KF_SITES_BY_BLOCKS ? "live_blocks" : "live");
}

static bool site_stacks(const struct kf_site *site,
			const struct kf_site_request *q, struct kf_buf *out)
{
	struct kf_groups *g = site->sources->groups;
	struct kf_subject subject;
	bool found;

	kf_site_scan(site);
	found = kf_subject_find(g, q, &subject);
	if (found) {
		found = kf_flame_write(site->names, &subject, out);
		kf_subject_release(&subject);
	}
	if (!found)
		kf_buf_str(out, "{\"error\":\"no such process\"}\n");
	return found;
}

/* The named process, or all. */
static bool site_profile(const struct kf_site *site,
			 const struct kf_site_request *q, struct kf_buf *out)
{
	struct kf_groups *g = site->sources->groups;
	struct kf_subjects all = {0};
	struct kf_subject one = {0};
	bool found = true;

	kf_site_scan(site);
	if (q->pid || q->id) {
		found = kf_subject_find(g, q, &one);
		if (found)
			kf_heap_profile(site->names,
					&(struct kf_subjects){1, &one}, out);
		kf_subject_release(&one);
	} else {
		if (kf_subjects_list(g, &all))
			kf_heap_profile(site->names, &all, out);
		else
			out->failed = true;
		kf_subjects_release(&all);
	}
	if (!found)
		kf_buf_str(out, "no such process\n");
	return found;
}

static void site_not_found(const struct kf_site *site, struct kf_buf *out)
{
	kf_buf_free(out);
	kf_html_begin(out, "no such process", site->telemetry_path);
	kf_buf_str(out,
		   "<h1>No such process</h1>\n<p>It has ended, or it never "
		   "left a stats file here.</p>\n");
	kf_html_end(out);
}

void kf_site_answer(const struct kf_site *site, const struct kf_site_request *q,
		    struct kf_site_answer *a)
{
	const struct kf_asset *asset = kf_asset_find(q->path);

	*a = (struct kf_site_answer){.found = true, .type = HTML};
	if (asset) {
		a->lasting = true;
		a->type = asset->type;
		kf_buf_add(&a->body, (const char *)asset->data, asset->size);
	} else if (strcmp(q->path, HISTORY) == 0) {
		a->type = JSON;
		site_history(site, q->id, &a->body);
	} else if (strcmp(q->path, STACKS) == 0) {
		a->type = JSON;
		a->found = site_stacks(site, q, &a->body);
	} else if (site_is_profile(q->path)) {
		a->found = site_profile(site, q, &a->body);
		a->packed = a->found;
		a->type = a->found ? BYTES : TEXT;
	} else if (site_is_process(q->path)) {
		kf_site_scan(site);
		a->found = kf_site_process(site, q, &a->body);
		if (!a->found)
			site_not_found(site, &a->body);
	} else if (strcmp(q->path, ENDED) == 0) {
		kf_site_scan(site);
		kf_site_ended(site, &a->body);
	} else {
		kf_site_scan(site);
		kf_site_overview(site, &a->body);
	}
}

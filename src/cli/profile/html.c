/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile as an HTML page: the flame graph, levels over time, and tables. The
 * page loads nothing from other hosts, which its Content-Security-Policy
 * enforces. The scripts put a flame graph that can be searched and zoomed in
 * the place of its picture; the page can be read without them.
 */
#include "config.h"

#include "src/cli/profile/page.h"
#include "cli/profile/graph.h"
#include "cli/profile/views.h"
#include "cli/table.h"
#include "reader/growth.h"
#include "reader/heap-picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHART_WIDTH 1200.0
#define CHART_HEIGHT 160.0
#define MAX_SITES 50

void kf_page_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
	      "charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
	      "content=\"default-src 'none'; style-src 'unsafe-inline'; "
	      "script-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<title>",
	      out);
	kf_xml_text(out, title);
	fprintf(out, "</title>\n<style>\n%s%s%s</style></head>\n<body>\n",
		page_css, flame_css, map_css);
}

void kf_page_end(FILE *out)
{
	fprintf(out, "<script>\n%s\n%s\n%s</script>\n", flame_tree_js,
		flame_tools_js, flame_js);
	fputs("</body></html>\n", out);
}

static void html_begin(const struct kf_prof *prof, bool sampled, FILE *out)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	const char *name = id->name[0] ? id->name : id->comm;
	char value[32], error[32];
	enum kf_metric m = prof->pick.metric;
	char *title = kf_format("%s: memory", name);

	kf_page_begin(out, title);
	free(title);
	fputs("<h1>", out);
	kf_xml_text(out, name);
	fprintf(out, ", process %d</h1>\n<p>", id->pid);
	kf_xml_text(out, id->exe);
	if (sampled)
		fprintf(out, ": %s, estimated %s \302\261 %s (95 %%)",
			kf_metric_title(m),
			kf_page_amount(value, sizeof(value), m,
				       prof->total.value),
			kf_page_amount(error, sizeof(error), m,
				       kf_estimate_error(prof->total)));
	if (prof->time_ns)
		fprintf(out, ", after %.1f s",
			(double)kf_prof_shown_ns(prof) / 1e9);
	fputs("</p>\n", out);
}

/* A profile by the shown metric and, if there is one, by its counterpart. */
struct both {
	const struct kf_prof *by[2];
	struct kf_prof other;
	int nr;
};

/* What is counted in bytes and in blocks. */
static const enum kf_metric html_pairs[][2] = {
	{KF_METRIC_LIVE, KF_METRIC_BLOCKS},
	{KF_METRIC_BLOCKS, KF_METRIC_LIVE},
	{KF_METRIC_ALLOC, KF_METRIC_COUNT},
	{KF_METRIC_COUNT, KF_METRIC_ALLOC},
};

static void html_both(const struct kf_prof *prof, struct both *both)
{
	*both = (struct both){.by = {prof, &both->other}, .nr = 1};
	for (size_t i = 0; i < KF_ARRAY_SIZE(html_pairs); i++) {
		if (prof->pick.metric == html_pairs[i][0]) {
			kf_prof_by(prof, html_pairs[i][1], &both->other);
			both->nr = 2;
		}
	}
}

/* A switch that works by the style sheet: what has by-1 or by-2 is shown. */
static void html_switch(const struct both *both, FILE *out)
{
	for (int i = 0; both->nr > 1 && i < both->nr; i++) {
		enum kf_metric m = both->by[i]->pick.metric;

		fprintf(out,
			"<input type=\"radio\" name=\"by\" id=\"by-%d\" "
			"value=\"%s\"%s><label for=\"by-%d\">by %s</label>\n",
			i + 1, kf_metric_name(m), i ? "" : " checked", i + 1,
			kf_metric_is_blocks(m) ? "blocks" : "bytes");
	}
}

static void html_picture(const struct kf_prof *prof, int number, FILE *out)
{
	struct kf_node *root = kf_tree_make(prof);

	fprintf(out, "<div class=\"scroll by-%d\" tabindex=\"0\">", number);
	kf_flame_write(prof, root, out);
	fputs("</div>", out);
	kf_tree_free(root);
}

static void html_flame(const struct both *both, FILE *out)
{
	fputs("<h2>Call stacks that allocated it</h2>\n", out);
	html_switch(both, out);
	fputs("<div id=\"flame\" data-calls=\"#calls\">", out);
	for (int i = 0; i < both->nr; i++)
		html_picture(both->by[i], i + 1, out);
	fputs("</div>\n", out);
	kf_graph_write_profile(both->by[0], out);
}

/* Levels of memory at times, to be drawn. */
struct chart {
	const struct kf_profile_snapshot *level;
	size_t nr;
	const char *live; /* what its live bytes are called */
};

/* The style sheet has a colour for each name. */
struct line {
	const char *name;
	size_t at; /* offset in the snapshot */
};

static const struct line chart_lines[] = {
	{"resident", offsetof(struct kf_profile_snapshot, resident)},
	{"held", offsetof(struct kf_profile_snapshot, held)},
	{"live", offsetof(struct kf_profile_snapshot, live)},
};

static uint64_t chart_level(const struct kf_profile_snapshot *s,
			    const struct line *line)
{
	return *(const uint64_t *)((const char *)s + line->at);
}

/* 0: it is not known at any time. */
static uint64_t chart_highest(const struct chart *c, const struct line *line)
{
	uint64_t most = 0;

	for (size_t i = 0; i < c->nr; i++)
		most = KF_MAX(most, chart_level(&c->level[i], line));
	return most;
}

static void html_curve(const struct chart *c, const struct line *line,
		       uint64_t most, uint64_t last, FILE *out)
{
	fprintf(out,
		"<g class=\"%s\"><polyline fill=\"none\" "
		"stroke-width=\"1.5\" points=\"",
		line->name);
	for (size_t i = 0; i < c->nr; i++) {
		const struct kf_profile_snapshot *s = &c->level[i];
		uint64_t at = chart_level(s, line);

		if (at)
			fprintf(out, "%.1f,%.1f ",
				CHART_WIDTH * (double)s->time_ns / (double)last,
				CHART_HEIGHT * (1 - (double)at / (double)most));
	}
	fprintf(out, "\"/><text x=\"%zu\" y=\"%.0f\">%s</text></g>\n",
		200 + 80 * (size_t)(line - chart_lines), CHART_HEIGHT + 15,
		strcmp(line->name, "live") ? line->name : c->live);
}

static void html_chart(const struct chart *c, FILE *out)
{
	uint64_t last = c->level[c->nr - 1].time_ns, most = 1;
	char text[32];

	for (size_t k = 0; k < KF_ARRAY_SIZE(chart_lines); k++)
		most = KF_MAX(most, chart_highest(c, &chart_lines[k]));
	fprintf(out,
		"<div class=\"scroll\" tabindex=\"0\">"
		"<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" "
		"width=\"100%%\" font-family=\"sans-serif\" "
		"font-size=\"11\">\n",
		CHART_WIDTH, CHART_HEIGHT + 20);
	for (size_t k = 0; k < KF_ARRAY_SIZE(chart_lines); k++) {
		if (chart_highest(c, &chart_lines[k]))
			html_curve(c, &chart_lines[k], most, KF_MAX(last, 1ULL),
				   out);
	}
	fprintf(out,
		"<text x=\"3\" y=\"11\">%s</text>\n"
		"<text x=\"3\" y=\"%.0f\">0 s</text>\n"
		"<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.1f s</text>\n"
		"</svg></div>\n",
		kf_page_amount(text, sizeof(text), KF_METRIC_LIVE,
			       (double)most),
		CHART_HEIGHT + 15, CHART_WIDTH - 3, CHART_HEIGHT + 15,
		(double)last / 1e9);
}

static void cell_bytes(FILE *out, uint64_t bytes, bool known)
{
	char text[32];

	kf_page_amount(text, sizeof(text), KF_METRIC_LIVE, (double)bytes);
	fprintf(out, "<td class=\"n\">%s</td>", known ? text : "-");
}

static void html_levels(const struct chart *c, FILE *out)
{
	size_t step = c->nr / 20 + 1;

	fputs("<h2>Over time</h2>\n", out);
	html_chart(c, out);
	fprintf(out,
		"<details><summary>As a table</summary><table><tr><th "
		"class=\"n\">time<th class=\"n\">%s<th class=\"n\">held<th "
		"class=\"n\">resident<th class=\"n\">blocks</tr>\n",
		c->live);
	for (size_t i = 0; i < c->nr; i += step) {
		const struct kf_profile_snapshot *s = &c->level[i];

		fprintf(out, "<tr><td class=\"n\">%.1f s</td>",
			(double)s->time_ns / 1e9);
		cell_bytes(out, s->live, true);
		cell_bytes(out, s->held, s->held);
		cell_bytes(out, s->resident, s->resident);
		fprintf(out, "<td class=\"n\">%" PRIu64 "</td></tr>\n",
			s->live_blocks);
	}
	fputs("</table></details>\n", out);
}

/* What a process noted itself, and what it has now or had at its end. */
static void html_moments(const struct kf_snapshot *s, FILE *out)
{
	struct kf_stats_moment end = kf_snapshot_end(s);
	struct kf_profile_snapshot *all =
		kf_alloc(s->nr_moments + 1u, sizeof(*all));
	struct chart c = {.level = all, .live = "in use"};

	for (uint32_t i = 0; i <= s->nr_moments; i++) {
		const struct kf_stats_moment *m =
			i < s->nr_moments ? &s->moments[i] : &end;

		if (m->time < s->id.created_mono)
			continue;
		all[c.nr++] = (struct kf_profile_snapshot){
			.time_ns = m->time - s->id.created_mono,
			.live = m->live,
			.held = m->held,
			.live_blocks = m->blocks,
		};
	}
	if (c.nr > 1)
		html_levels(&c, out);
	free(all);
}

static void html_timeline(const struct kf_prof *prof, FILE *out)
{
	const struct chart c = {prof->levels, prof->nr_levels, "live"};

	if (c.nr > 1)
		html_levels(&c, out);
	else if (prof->nr_chosen == 1 && prof->processes[0].chosen)
		html_moments(&prof->heap, out);
}

static bool html_has_heap(const struct kf_prof *prof)
{
	return prof->processes[0].chosen &&
	       kf_heap_picture_is_known(&prof->heap, prof->pid);
}

static void html_heap(const struct kf_prof *prof, FILE *out)
{
	if (!html_has_heap(prof))
		return;
	fputs("<h2>Map of the heap", out);
	if (prof->nr_chosen > 1) {
		fputs(" of ", out);
		kf_xml_text(out, prof->processes[0].label);
	}
	fputs("</h2>\n", out);
	kf_heap_picture(&prof->heap, prof->pid, out);
}

static void html_amount(const struct kf_prof *prof, const struct kf_estimate *e,
			FILE *out)
{
	char value[32], error[32];
	enum kf_metric m = prof->pick.metric;

	fprintf(out,
		"<td class=\"n\">%s</td><td class=\"n\">\302\261 %s</td>"
		"<td class=\"n\">%.1f %%</td>",
		kf_page_amount(value, sizeof(value), m, e->value),
		kf_page_amount(error, sizeof(error), m, kf_estimate_error(*e)),
		prof->total.value > 0 ? 100 * e->value / prof->total.value : 0);
}

static void html_stack(const struct kf_site *site, FILE *out)
{
	fputs("<details><summary>", out);
	if (!site->nr_frames)
		fputs("[no stack]", out);
	for (size_t i = 0; i < site->nr_frames; i++) {
		const struct kf_frame *f = site->frames[i];

		if (i == 1)
			fputs("</summary>", out);
		kf_xml_text(out, f->function);
		if (site->recursive[i])
			fputs(KF_RECURSIVE, out);
		fputs(" <span class=\"note\">", out);
		if (f->file) {
			kf_xml_text(out, f->file);
			fprintf(out, ":%u", f->line);
		} else {
			kf_xml_text(out, f->library);
		}
		fputs("</span><br>", out);
	}
	if (site->nr_frames < 2)
		fputs("</summary>", out);
	fputs("</details>", out);
}

/* The cells with texts. */
static void html_words(const struct kf_prof *prof, const struct kf_site *site,
		       FILE *out)
{
	fputs("<td>", out);
	if (prof->nr_chosen > 1) {
		kf_xml_text(out, site->process->label);
		fputs("</td><td>", out);
	}
	kf_xml_text(out, site->tag);
	fputs("</td><td>", out);
	kf_xml_text(out, site->thread);
	fputs("</td><td>", out);
	html_stack(site, out);
	fputs("</td>", out);
}

static void html_sites(const struct kf_prof *prof, int number, FILE *out)
{
	size_t nr;
	struct kf_calls_row *row = kf_site_rows(prof, html_words, &nr);

	fprintf(out,
		"<div class=\"by-%d\"><p class=\"note\">%zu of %zu</p>\n"
		"<div class=\"scroll\" tabindex=\"0\">"
		"<table class=\"stacks\"><tr><th class=\"n\">%s<th "
		"class=\"n\">95 %%<th "
		"class=\"n\">share<th class=\"n\">samples%s<th>tag<th>thread"
		"<th>stack, the innermost call first</tr>\n",
		number, KF_MIN(nr, (size_t)MAX_SITES), nr,
		kf_metric_name(prof->pick.metric),
		prof->nr_chosen > 1 ? "<th>process" : "");
	for (size_t i = 0; i < nr; i++) {
		if (i < MAX_SITES) {
			fputs("<tr>", out);
			html_amount(prof, &row[i].value, out);
			fprintf(out,
				"<td class=\"n\" data-unit=\" samples\">%" PRIu64
				"</td>%s</tr>\n",
				row[i].samples, row[i].shown);
		}
		free(row[i].shown);
	}
	free(row);
	fputs("</table></div></div>\n", out);
}

/* The key of a file; those of several processes are listed once. */
static uint64_t module_file_key(const struct kf_profile_module *m)
{
	const char *path = kf_profile_path(m);

	return kf_map_key(kf_map_key(KF_MAP_KEY, m->build_id, m->build_id_size),
			  path, strlen(path));
}

static void html_module(const struct kf_profile_module *m, FILE *out)
{
	fputs("<tr><td>", out);
	kf_xml_text(out, kf_profile_path(m));
	fputs("</td><td>", out);
	for (uint32_t k = 0; k < m->build_id_size; k++)
		fprintf(out, "%02x", m->build_id[k]);
	fputs("</td></tr>\n", out);
}

static void html_modules(const struct kf_prof *prof, FILE *out)
{
	struct kf_map listed = {.entry_size = sizeof(uint64_t)};
	bool is_new = true;

	fputs("<h2>Code</h2>\n<details><summary>Files and their build ids"
	      "</summary><table><tr><th>file<th>build id</tr>\n",
	      out);
	for (size_t i = 0; i < prof->nr_processes; i++) {
		const struct kf_profile *p = prof->processes[i].profile;
		size_t nr = prof->processes[i].chosen ? p->nr_modules : 0;

		for (size_t k = 0; k < nr; k++) {
			if (prof->nr_chosen > 1)
				kf_entry(&listed,
					 module_file_key(p->modules[k]),
					 &is_new);
			if (is_new)
				html_module(p->modules[k], out);
		}
	}
	kf_map_release(&listed);
	fputs("</table></details>\n", out);
}

static void html_samples(const struct kf_prof *prof, FILE *out)
{
	struct both both;

	html_both(prof, &both);
	html_flame(&both, out);
	html_timeline(prof, out);
	fputs("<h2>The largest stacks</h2>\n", out);
	for (int i = 0; i < both.nr; i++)
		html_sites(both.by[i], i + 1, out);
	free(both.other.sites);
}

static int write_html(const struct kf_prof *prof, FILE *out)
{
	char *missing = kf_prof_no_samples(prof);

	html_begin(prof, !missing, out);
	if (!missing) {
		html_samples(prof, out);
	} else {
		fputs("<p class=\"note\">", out);
		kf_xml_text(out, missing);
		fputs("</p>\n", out);
		html_timeline(prof, out);
	}
	html_heap(prof, out);
	html_modules(prof, out);
	kf_page_end(out);
	free(missing);
	return 0;
}

const struct kf_prof_format kf_prof_format_html = {
	"html", write_html, .weighs = true, .levels = true};

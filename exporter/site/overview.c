/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The overview: sums, warnings, groups and processes, those that hold most
 * memory first. It is written under the groups' lock, so that its figures are
 * consistent.
 */
#include "config.h"

#include "exporter/site/site.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_ROWS 200

/* A row of a table: a group, or one of its processes. */
struct row {
	const struct kf_group *group;
	const struct kf_member *m; /* NULL: the group as a whole */
	uint64_t part[KF_NR_PARTS];
	uint64_t held;
};

struct rows {
	struct row *row;
	size_t nr;
	size_t room;
};

static int overview_by_held(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->held != y->held)
		return x->held < y->held ? 1 : -1;
	return x->m && y->m ? x->m->pid - y->m->pid : 0;
}

static bool overview_add(struct rows *rows, const struct kf_group *group,
			 const struct kf_member *m)
{
	struct row *row;

	if (rows->nr == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;

		row = realloc(rows->row, room * sizeof(*row));
		if (!row)
			return false;
		rows->row = row;
		rows->room = room;
	}
	row = &rows->row[rows->nr++];
	row->group = group;
	row->m = m;
	kf_parts_of(m ? m->seen : group->now, row->part);
	row->held = kf_parts_sum(row->part);
	return true;
}

static bool overview_add_groups(struct rows *rows, const struct kf_groups *g)
{
	const struct kf_group *group;

	for (group = g->groups; group; group = group->next) {
		if (group->processes && !overview_add(rows, group, NULL))
			return false;
	}
	return true;
}

static bool overview_add_processes(struct rows *rows, const struct kf_groups *g)
{
	const struct kf_member *m;
	bool done = true;
	unsigned int i;

	for (i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (m = g->members[i]; m; m = m->next)
			done = done && (!kf_member_shown(m) ||
					overview_add(rows, m->group, m));
	}
	return done;
}

/* Write its name, for a process with a link to its page. */
static void overview_name_cell(struct kf_buf *out, const struct row *row)
{
	kf_buf_str(out, "<td class=\"name\">");
	if (row->m)
		kf_buf_fmt(out, "<a href=\"/process/%016" PRIx64 "\">",
			   kf_member_id(row->m));
	kf_html_text(out, row->m ? row->m->name : row->group->name);
	if (row->m)
		kf_buf_str(out, "</a>");
	if (row->group->container[0]) {
		kf_buf_str(out, " <span class=\"tag\" title=\"container\">");
		kf_html_text(out, row->group->container);
		kf_buf_str(out, "</span>");
	}
	kf_buf_str(out, "</td>");
}

static void overview_number_cell(struct kf_buf *out, const struct row *row)
{
	if (!row->m)
		kf_html_count_cell(out, "Processes", row->group->processes);
	else if (row->m->pid)
		kf_buf_fmt(out, "<td class=\"n\" data-label=\"Pid\">%d</td>",
			   row->m->pid);
	else
		kf_buf_str(out, "<td class=\"n\" data-label=\"Pid\">"
				"<span title=\"not visible from here\">"
				"hidden</span></td>");
}

static uint64_t overview_id(const struct row *row)
{
	return row->m ? kf_member_id(row->m) : kf_group_id(row->group);
}

static void overview_spark_cell(const struct kf_site *site, struct kf_buf *out,
				const struct row *row, struct kf_past *past)
{
	kf_timelines_get(site->timelines, overview_id(row), past);
	kf_buf_str(out, "<td class=\"trend\">");
	kf_html_spark(out, past->ms, past->held, past->nr,
		      kf_past_gap_ms(past));
	kf_buf_str(out, "</td>");
}

static void overview_mallocs_cell(const struct kf_site *site,
				  struct kf_buf *out, const struct row *row)
{
	const uint64_t *now = row->m ? row->m->seen : row->group->now;

	kf_buf_str(out, "<td class=\"n\" data-label=\"Mallocs\"><span>");
	kf_html_count(out, now[KF_FIG_MALLOCS]);
	kf_html_rate(
		out,
		kf_timelines_rates(site->timelines, overview_id(row)).mallocs,
		" <small>", "</small>");
	kf_buf_str(out, "</span></td>");
}

static void overview_write_row(const struct kf_site *site, struct kf_buf *out,
			       const struct row *row, uint64_t most,
			       struct kf_past *past)
{
	const uint64_t *now = row->m ? row->m->seen : row->group->now;

	kf_buf_str(out, "<tr>");
	overview_name_cell(out, row);
	overview_number_cell(out, row);
	kf_html_bytes_cell(out, "Held", row->held);
	kf_html_bytes_cell(out, "Live", row->part[KF_PART_LIVE]);
	kf_html_bytes_cell(out, "Free", row->part[KF_PART_FREE]);
	kf_buf_str(out, "<td class=\"bars\">");
	kf_html_bar(out, row->part, most);
	kf_buf_str(out, "</td>");
	overview_spark_cell(site, out, row, past);
	overview_mallocs_cell(site, out, row);
	kf_html_count_cell(out, "Live blocks", now[KF_FIG_LIVE_BLOCKS]);
	kf_buf_str(out, "</tr>\n");
}

static void overview_table(const struct kf_site *site, struct kf_buf *out,
			   struct rows *rows, bool groups)
{
	struct kf_past *past = malloc(sizeof(*past));
	size_t i;

	if (!past) {
		out->failed = true;
		return;
	}
	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(rows->row[0]),
		      overview_by_held);
	kf_buf_fmt(out,
		   "<section id=\"%s\">\n<h2>%s</h2>\n<table class=\"stack\">"
		   "<thead><tr><th>Name</th><th class=\"n\">%s</th>"
		   "<th class=\"n\">Held</th><th class=\"n\">Live</th>"
		   "<th class=\"n\">Free</th><th>Held by use</th>"
		   "<th>Lately</th><th class=\"n\">Mallocs</th>"
		   "<th class=\"n\">Live blocks</th></tr></thead>\n<tbody>\n",
		   groups ? "groups" : "processes",
		   groups ? "Groups" : "Processes",
		   groups ? "Processes" : "Pid");
	for (i = 0; i < rows->nr && i < MAX_ROWS; i++)
		overview_write_row(site, out, &rows->row[i], rows->row[0].held,
				   past);
	kf_buf_str(out, "</tbody></table>\n");
	if (rows->nr > MAX_ROWS)
		kf_buf_fmt(out,
			   "<p class=\"hint\">and %zu more, which hold less"
			   "</p>\n",
			   rows->nr - MAX_ROWS);
	kf_buf_str(out, "</section>\n");
	free(past);
}

static void overview_cards(const struct kf_site *site, struct kf_buf *out,
			   const struct rows *groups)
{
	uint64_t part[KF_NR_PARTS] = {0}, mallocs = 0, blocks = 0, held;
	unsigned int processes = 0, p;
	size_t i;

	for (i = 0; i < groups->nr; i++) {
		for (p = 0; p < KF_NR_PARTS; p++)
			part[p] += groups->row[i].part[p];
		processes += groups->row[i].group->processes;
		mallocs += groups->row[i].group->now[KF_FIG_MALLOCS];
		blocks += groups->row[i].group->now[KF_FIG_LIVE_BLOCKS];
	}
	held = kf_parts_sum(part);
	kf_buf_str(out, "<section class=\"cards\" id=\"cards\">\n");
	kf_html_card(out, "Processes");
	kf_buf_fmt(out, "<p>%u</p><small>in %zu group%s</small></div>\n",
		   processes, groups->nr, groups->nr == 1 ? "" : "s");
	kf_html_card(out, "Held from the kernel");
	kf_buf_str(out, "<p>");
	kf_html_bytes(out, (double)held);
	kf_buf_fmt(out, "</p><small>%.1f %% of it free pages</small></div>\n",
		   held ? 100.0 * (double)part[KF_PART_FREE] / (double)held
			: 0);
	kf_html_card(out, "Live");
	kf_buf_str(out, "<p>");
	kf_html_bytes(out, (double)part[KF_PART_LIVE]);
	kf_buf_str(out, "</p><small>in ");
	kf_html_count(out, blocks);
	kf_buf_str(out, " blocks</small></div>\n");
	kf_html_card(out, "Calls of malloc");
	kf_buf_str(out, "<p>");
	kf_html_count(out, mallocs);
	kf_buf_str(out, "</p><small>by all of these groups");
	kf_html_rate(
		out,
		kf_timelines_rates(site->timelines, KF_TIMELINE_ALL).mallocs,
		", ", "");
	kf_buf_str(out, "</small></div>\n"
			"<div class=\"wide card\"><h2>Held by use</h2>");
	kf_html_bar(out, part, held);
	kf_html_legend(out, part);
	kf_buf_str(out, "</div>\n</section>\n");
}

static void overview_write_all(const struct kf_site *site, struct kf_groups *g,
			       struct kf_buf *out)
{
	struct rows groups = {0}, processes = {0};

	if (!overview_add_groups(&groups, g) ||
	    !overview_add_processes(&processes, g))
		out->failed = true;
	kf_site_warnings(g, out);
	if (!groups.nr) {
		kf_buf_str(
			out,
			"<section class=\"empty\" id=\"empty\"><h2>No process yet</h2>\n"
			"<p>No living process has a stats file here. Start "
			"one with <code>konfiscator run -- PROGRAM</code>."
			"</p></section>\n");
	} else {
		overview_cards(site, out, &groups);
		kf_site_timeline(site, KF_TIMELINE_ALL, out);
		kf_site_limits(g, out);
		overview_table(site, out, &groups, true);
		overview_table(site, out, &processes, false);
	}
	free(groups.row);
	free(processes.row);
}

void kf_site_overview(const struct kf_site *site, struct kf_buf *out)
{
	struct kf_groups *g = site->sources->groups;

	kf_html_begin(out, "Overview", site->telemetry_path);
	kf_buf_str(out, "<h1>Memory by process</h1>\n");
	pthread_mutex_lock(&g->lock);
	if (g->scan_result != 0)
		kf_buf_str(out, "<p class=\"warning\">The stats files could "
				"not be read: out of memory.</p>\n");
	else
		overview_write_all(site, g, out);
	pthread_mutex_unlock(&g->lock);
	kf_html_end(out);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory and limits of containers and other cgroups, those nearest to their
 * limit first, with a warning for those near it.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "exporter/groups/cgroups.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 100

struct row {
	const struct kf_cgroup *cgroup;
	uint64_t used;
	uint64_t limit; /* 0: none */
	double share;	/* of the limit, 0 without */
};

static int limits_by_share(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	if (x->used != y->used)
		return x->used < y->used ? 1 : -1;
	return strcmp(x->cgroup->place.path, y->cgroup->place.path);
}

static uint64_t limits_left(const struct row *row)
{
	return row->used < row->limit ? row->limit - row->used : 0;
}

static struct row *limits_read_all(const struct kf_groups *g, size_t *nr)
{
	const struct kf_cgroup *c;
	struct kf_cgroup_memory m;
	struct row *row;
	size_t room = 0;

	*nr = 0;
	for (c = g->cgroups; c; c = c->next)
		room++;
	row = calloc(room + 1, sizeof(*row));
	for (c = g->cgroups; row && c; c = c->next) {
		if (!kf_cgroup_read(g->conf.cgroupfs, &c->place, &m))
			continue;
		row[(*nr)++] = (struct row){
			.cgroup = c,
			.used = m.current,
			.limit = m.limit,
			.share = m.limit ? (double)m.current / (double)m.limit
					 : 0,
		};
	}
	if (row)
		qsort(row, *nr, sizeof(*row), limits_by_share);
	return row;
}

static void limits_write_name(struct kf_buf *out, const struct kf_cgroup *c)
{
	if (c->container[0]) {
		kf_buf_str(out, "<span class=\"tag\" title=\"container\">");
		kf_html_text(out, c->container);
		kf_buf_str(out, "</span> ");
	}
	kf_html_text(out, c->place.path);
}

static void limits_write_row(struct kf_buf *out, const struct row *row)
{
	kf_buf_str(out, "<tr><td class=\"name\">");
	limits_write_name(out, row->cgroup);
	kf_buf_str(out, "</td>");
	kf_html_count_cell(out, "Processes", row->cgroup->processes);
	kf_html_bytes_cell(out, "Held by these", row->cgroup->held);
	kf_html_bytes_cell(out, "Used", row->used);
	kf_buf_str(out, "<td class=\"bars\">");
	if (row->limit)
		kf_html_share(out, row->used, row->limit);
	kf_buf_str(out, "</td>");
	if (row->limit) {
		kf_html_bytes_cell(out, "Limit", row->limit);
		kf_html_bytes_cell(out, "Headroom", limits_left(row));
	} else {
		kf_buf_str(out, "<td class=\"n\" data-label=\"Limit\">none</td>"
				"<td class=\"n\"></td>");
	}
	kf_buf_str(out, "</tr>\n");
}

void kf_site_limits(const struct kf_groups *g, struct kf_buf *out)
{
	struct row *row;
	size_t nr, i;

	row = limits_read_all(g, &nr);
	if (!row)
		out->failed = true;
	if (!row || !nr) {
		free(row);
		return;
	}
	kf_buf_str(out,
		   "<section id=\"containers\">\n<h2>Containers and other "
		   "cgroups</h2>\n<table class=\"stack\"><thead><tr>"
		   "<th>Cgroup</th><th class=\"n\">Processes</th>"
		   "<th class=\"n\">Held by these</th><th class=\"n\">Used"
		   "</th><th>Used of the limit</th><th class=\"n\">Limit</th>"
		   "<th class=\"n\">Headroom</th></tr></thead>\n<tbody>\n");
	for (i = 0; i < nr && i < MAX_ROWS; i++)
		limits_write_row(out, &row[i]);
	kf_buf_str(out, "</tbody></table>\n");
	if (nr > i)
		kf_buf_fmt(out, "<p class=\"hint\">and %zu more</p>\n", nr - i);
	kf_buf_str(out, "</section>\n");
	free(row);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The landing page: links, version, and the groups there are. Plain HTML with
 * no script and no style, so that the strictest policy fits it; every name on
 * it is escaped.
 */
#include "config.h"

#include "exporter/page.h"

#include <inttypes.h>

static void link_to(struct kf_buf *out, const char *path, const char *what)
{
	kf_buf_str(out, "<li><a href=\"");
	kf_buf_html(out, path);
	kf_buf_str(out, "\">");
	kf_buf_html(out, path);
	kf_buf_fmt(out, "</a> %s</li>\n", what);
}

static void row(struct kf_buf *out, const struct kf_group *group)
{
	const uint64_t *now = group->now;
	unsigned int i;

	kf_buf_str(out, "<tr><td>");
	kf_buf_html(out, group->name);
	kf_buf_str(out, "</td><td>");
	kf_buf_html(out, group->container);
	kf_buf_fmt(out, "</td><td>%u</td>", group->processes);
	for (i = KF_FIG_HEAP_LIVE; i <= KF_FIG_HEAP_METADATA; i++)
		kf_buf_fmt(out, "<td>%" PRIu64 "</td>", now[i]);
	kf_buf_fmt(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n",
		   now[KF_FIG_MALLOCS], now[KF_FIG_FREES]);
}

static void table(struct kf_buf *out, struct kf_groups *g)
{
	const struct kf_group *group;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&g->lock);
	if (kf_groups_scan(g, &now) != 0) {
		kf_buf_str(out, "<p>The stats files could not be read.</p>\n");
	} else if (!g->groups) {
		kf_buf_str(out,
			   "<p>No process has left a stats file yet.</p>\n");
	} else {
		kf_buf_str(
			out,
			"<table><caption>Heap bytes and calls</caption>\n"
			"<tr><th>Process</th><th>Container</th><th>Processes</th>"
			"<th>Live</th><th>Rounding</th><th>Cached</th><th>Free</th>"
			"<th>Metadata</th><th>Mallocs</th><th>Frees</th></tr>\n");
		for (group = g->groups; group; group = group->next)
			row(out, group);
		kf_buf_str(out, "</table>\n");
	}
	pthread_mutex_unlock(&g->lock);
}

void kf_page_html(const struct kf_sources *sources, const char *telemetry_path,
		  struct kf_buf *out)
{
	kf_buf_str(out,
		   "<!DOCTYPE html>\n<html lang=\"en\">\n"
		   "<head><meta charset=\"utf-8\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width\">\n"
		   "<title>konfiscator exporter</title></head>\n<body>\n"
		   "<h1>konfiscator exporter</h1>\n"
		   "<p>Version " PACKAGE_VERSION "</p>\n<ul>\n");
	link_to(out, telemetry_path, "metrics");
	link_to(out, "/-/healthy", "whether it runs");
	link_to(out, "/-/ready", "whether it serves");
	kf_buf_str(out, "</ul>\n");
	table(out, sources->groups);
	kf_buf_str(out, "</body>\n</html>\n");
}

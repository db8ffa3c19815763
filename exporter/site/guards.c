/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reports of guarded blocks that a stats file has.
 */
#include "config.h"

#include "exporter/site/names.h"
#include "exporter/site/sites.h"
#include "reader/reports.h"

#include <inttypes.h>

#define MAX_CALLS 16

static void guards_calls(const struct kf_calls *calls, struct kf_buf *out)
{
	char name[KF_NAME_ROOM];

	kf_buf_str(out, "<code>");
	for (size_t i = 0; i < calls->nr && i < MAX_CALLS; i++) {
		if (i)
			kf_buf_str(out, " <span class=\"sep\">&#8249;</span> ");
		kf_names_text(calls->frame[i], name);
		kf_buf_html(out, name);
		if (calls->recursive[i])
			kf_buf_str(out, KF_RECURSIVE);
	}
	kf_buf_str(out, calls->nr > MAX_CALLS ? " &#8230;</code>" : "</code>");
}

static void guards_report(const struct kf_snapshot *s,
			  struct kf_symbols *symbols,
			  const struct kf_stats_report *r, struct kf_buf *out)
{
	char line[KF_REPORT_LINE];
	struct kf_calls calls;

	kf_report_line(r, line);
	kf_buf_str(out, "<p>");
	kf_html_text(out, line);
	if (r->times > 1)
		kf_buf_fmt(out, " (%" PRIu64 " times with the same stacks)",
			   r->times);
	kf_buf_str(out, "</p>\n<dl class=\"facts\">\n");
	for (unsigned int i = 0; i < KF_ARRAY_SIZE(r->by); i++) {
		const char *what = kf_report_by(r, i);
		uint32_t entry = r->by[i].stack;

		if (!what)
			continue;
		kf_buf_fmt(out, "<dt>%s by thread %" PRId32 "</dt><dd>", what,
			   r->by[i].tid);
		if (!entry)
			kf_buf_str(out, "the stack is not known");
		else if (kf_names_calls(symbols, s, &s->stacks[entry], &calls))
			guards_calls(&calls, out);
		else
			out->failed = true;
		kf_buf_str(out, "</dd>\n");
	}
	kf_buf_str(out, "</dl>\n");
}

void kf_sites_guards(const struct kf_snapshot *s, struct kf_name_cache *cache,
		     int pid, struct kf_buf *out)
{
	struct kf_symbols *symbols;

	if (!s->nr_reports)
		return;
	symbols = kf_names_open(cache, pid, s);
	if (!symbols) {
		out->failed = true;
		return;
	}
	kf_buf_str(out, "<section id=\"guards\">\n"
			"<h2>Misuse of guarded blocks</h2>\n");
	for (uint32_t i = 0; i < s->nr_reports; i++)
		guards_report(s, symbols, &s->reports[i], out);
	if (s->nr_reports == KF_STATS_REPORTS)
		kf_buf_fmt(out,
			   "<p class=\"hint\">The stats file keeps the first "
			   "%d reports; the counters have all.</p>\n",
			   KF_STATS_REPORTS);
	kf_buf_str(out, "</section>\n");
	kf_names_close(symbols);
}

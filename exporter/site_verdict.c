/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a process has the memory that it has, by the rules of `konfiscator
 * explain`. What was noted of it lately is the watch that they ask for.
 */
#include "config.h"

#include "exporter/site.h"
#include "exporter/subject.h"
#include "reader/verdict.h"

#include <math.h>
#include <stdlib.h>

#define WATCH_MS 600000	    /* at most */
#define WATCH_LEAST_MS 8000 /* less tells nothing */

static float used_at(const struct kf_past *past, unsigned int i)
{
	return past->part[KF_PART_LIVE][i] + past->part[KF_PART_ROUNDING][i];
}

/* The first moment from @ms on at which the process was seen; @nr: none. */
static unsigned int seen_from(const struct kf_past *past, uint64_t ms)
{
	unsigned int i;

	for (i = 0; i < past->nr; i++) {
		if (past->ms[i] >= ms && !isnan(past->held[i]))
			break;
	}
	return i;
}

/*
 * What was noted first is left out, a half of it: most programs grow when they
 * begin.
 */
static void add_watch(struct kf_case *c, const struct kf_past *past)
{
	unsigned int last = past->nr - 1, first, middle;
	uint64_t now, span;

	first = seen_from(past, 0);
	if (first >= past->nr)
		return;
	now = past->ms[last];
	span = KF_MIN((now - past->ms[first]) / 2, (uint64_t)WATCH_MS);
	first = seen_from(past, now - span);
	if (span < WATCH_LEAST_MS || first >= last)
		return;
	middle = seen_from(past, past->ms[first] + (now - past->ms[first]) / 2);
	if (middle >= last)
		return;
	c->seconds = (double)(now - past->ms[first]) / 1000;
	c->first = (uint64_t)used_at(past, first);
	c->middle = (uint64_t)used_at(past, middle);
}

void kf_site_verdict(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out)
{
	struct kf_past *past = calloc(1, sizeof(*past));
	struct kf_case look = {
		.snap = s,
		.procfs = site->sources->groups->conf.procfs,
		.pid = subject->pid,
	};
	struct kf_explained e;

	if (!past) {
		out->failed = true;
		return;
	}
	kf_timelines_get(site->timelines, subject->id, past);
	add_watch(&look, past);
	free(past);
	kf_explain_case(&look, &e);
	if (!e.why)
		out->failed = true;
	kf_buf_fmt(out,
		   "<section id=\"verdict\">\n<h2>Why it has this memory</h2>\n"
		   "<p><b>%s</b>: ",
		   kf_verdict_name(e.verdict));
	kf_html_text(out, e.why ? e.why : "");
	kf_buf_str(out, "</p>\n<p class=\"hint\">");
	if (subject->pid)
		kf_buf_fmt(out, "<code>konfiscator explain -p %d</code>",
			   subject->pid);
	else
		kf_buf_str(out, "<code>konfiscator explain</code>");
	kf_buf_str(out, " tells which sizes and sites it is.</p>\n"
			"</section>\n");
	kf_explained_release(&e);
}

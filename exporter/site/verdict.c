/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verdict on a process' memory, by the rules of `konfiscator explain`. The
 * recent history is the watch that the rules need.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "exporter/site/subject.h"
#include "reader/verdict.h"

#include <math.h>
#include <stdlib.h>

#define WATCH_MS 600000	    /* at most */
#define WATCH_LEAST_MS 8000 /* a shorter history is not used */

/* Facts for a verdict beside the snapshot. */
struct memory {
	struct kf_past past;
	uint64_t used[KF_NR_MOMENTS];
};

static float verdict_used_at(const struct kf_past *past, unsigned int i)
{
	return past->part[KF_PART_LIVE][i] + past->part[KF_PART_ROUNDING][i];
}

/* Find the first time from @ms on at which the process was seen; @nr: none. */
static unsigned int verdict_seen_from(const struct kf_past *past, uint64_t ms)
{
	unsigned int i;

	for (i = 0; i < past->nr; i++) {
		if (past->ms[i] >= ms && !isnan(past->held[i]))
			break;
	}
	return i;
}

/*
 * The peak of held memory until a time: the largest stored value or, if the
 * heap's own peak is clearly larger, that.
 */
static uint64_t verdict_held_before(const struct kf_snapshot *s,
				    const struct kf_past *past,
				    unsigned int moment)
{
	uint64_t peak = kf_snapshot_value(s, "peak_held");
	float most = 0;

	for (unsigned int i = 0; i < moment; i++)
		most = past->held[i] > most ? past->held[i] : most;
	if (peak - peak / KF_EXPLAIN_PEAK_PARTS > (uint64_t)kf_past_top(past))
		return peak;
	return (uint64_t)most;
}

/*
 * Leave out the first half of the history: most programs grow when they begin.
 */
static void verdict_add_watch(struct kf_case *c, struct memory *m)
{
	const struct kf_past *past = &m->past;
	unsigned int last = past->nr - 1, first;
	uint64_t now, span;

	first = verdict_seen_from(past, 0);
	if (first >= past->nr)
		return;
	now = past->ms[last];
	span = KF_MIN((now - past->ms[first]) / 2, (uint64_t)WATCH_MS);
	first = verdict_seen_from(past, now - span);
	if (span < WATCH_LEAST_MS || first >= last)
		return;
	c->seconds = (double)(now - past->ms[first]) / 1000;
	c->used = m->used;
	for (unsigned int i = first; i <= last; i++) {
		if (!isnan(past->held[i]))
			m->used[c->nr_used++] =
				(uint64_t)verdict_used_at(past, i);
	}
	c->before = verdict_held_before(c->snap, past, first);
}

void kf_site_verdict(const struct kf_site *site,
		     const struct kf_subject *subject,
		     const struct kf_snapshot *s, struct kf_buf *out)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	struct kf_case look = {
		.snap = s,
		.procfs = site->sources->groups->conf.procfs,
		.pid = subject->pid,
	};
	struct kf_explained e;

	if (!memory) {
		out->failed = true;
		return;
	}
	kf_timelines_get(site->timelines, subject->id, &memory->past);
	verdict_add_watch(&look, memory);
	kf_explain_case(&look, &e);
	free(memory);
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
		kf_buf_fmt(out, "<code>konfiscator %s</code>",
			   subject->ended ? "post-mortem" : "explain");
	kf_buf_str(out, " lists the sizes and call sites.</p>\n"
			"</section>\n");
	kf_explained_release(&e);
}

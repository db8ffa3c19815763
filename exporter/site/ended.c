/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that have ended and left their stats files: a list, the latest
 * first, and how one of them ended.
 */
#include "config.h"

#include "exporter/site/site.h"
#include "reader/growth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define MAX_ROWS 200

static const char *const ended_causes[KF_NR_ENDED_CAUSES] = {
	[KF_ENDED_EXIT] = "exit 0",
	[KF_ENDED_FAILURE] = "exit with a failure",
	[KF_ENDED_SIGNAL] = "signal or _exit",
	[KF_ENDED_CRASH] = "crash",
	[KF_ENDED_OOM] = "out of memory",
	[KF_ENDED_LIKELY_OOM] = "likely out of memory",
	[KF_ENDED_UNKNOWN] = "unknown",
};

struct list {
	const struct kf_member **m;
	size_t nr;
};

static void ended_time(time_t when, char text[40])
{
	struct tm tm;

	text[0] = '\0';
	if (gmtime_r(&when, &tm))
		strftime(text, 40, "%Y-%m-%d %H:%M:%S UTC", &tm);
}

static int ended_latest_first(const void *va, const void *vb)
{
	const struct kf_member *a = *(const struct kf_member *const *)va;
	const struct kf_member *b = *(const struct kf_member *const *)vb;

	if (a->ended_at != b->ended_at)
		return a->ended_at < b->ended_at ? 1 : -1;
	return (a->created_ns < b->created_ns) -
	       (a->created_ns > b->created_ns);
}

static bool ended_append(struct list *all, const struct kf_member *m)
{
	const struct kf_member **more = all->m;

	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(all->nr & (all->nr - 1)))
		more = realloc(more, (all->nr ? 2 * all->nr : 1) *
					     sizeof(const struct kf_member *));
	if (!more)
		return false;
	all->m = more;
	all->m[all->nr++] = m;
	return true;
}

static void ended_row(const struct kf_member *m, struct kf_buf *out)
{
	uint64_t part[KF_NR_PARTS];
	char when[40];

	kf_parts_of(m->seen, part);
	ended_time(m->ended_at, when);
	kf_buf_fmt(out,
		   "<tr><td class=\"name\"><a href=\"/process/%016" PRIx64
		   "\">",
		   kf_member_id(m));
	kf_html_text(out, m->name);
	kf_buf_str(out, "</a>");
	if (m->container[0]) {
		kf_buf_str(out, " <span class=\"tag\" title=\"container\">");
		kf_html_text(out, m->container);
		kf_buf_str(out, "</span>");
	}
	kf_buf_fmt(out,
		   "</td><td class=\"n\" data-label=\"Pid\">%" PRId32
		   "</td><td data-label=\"Ended\">%s</td>"
		   "<td data-label=\"By\">%s</td>",
		   m->id_pid, when, ended_causes[m->cause]);
	kf_html_bytes_cell(out, "Held", kf_parts_sum(part));
	kf_html_bytes_cell(out, "Live", part[KF_PART_LIVE]);
	kf_buf_str(out, "<td class=\"bars\">");
	kf_html_bar(out, part, 0);
	kf_buf_str(out, "</td></tr>\n");
}

static void ended_table(const struct list *all, struct kf_buf *out)
{
	size_t i;

	kf_buf_str(out,
		   "<section id=\"ended\">\n<table class=\"stack\"><thead>"
		   "<tr><th>Name</th><th class=\"n\">Pid</th><th>Noticed</th>"
		   "<th>By</th><th class=\"n\">Held</th>"
		   "<th class=\"n\">Live</th><th>Held by use</th></tr>"
		   "</thead>\n<tbody>\n");
	for (i = 0; i < all->nr && i < MAX_ROWS; i++)
		ended_row(all->m[i], out);
	kf_buf_str(out, "</tbody></table>\n");
	if (all->nr > i)
		kf_buf_fmt(out, "<p class=\"hint\">and %zu more</p>\n",
			   all->nr - i);
	kf_buf_str(out, "</section>\n");
}

static void ended_gather(const struct kf_groups *g, struct kf_buf *out)
{
	struct list all = {0};

	for (unsigned int i = 0; i < KF_MEMBER_BUCKETS; i++) {
		for (const struct kf_member *m = g->members[i]; m; m = m->next)
			if (kf_member_left(m) && !ended_append(&all, m))
				out->failed = true;
	}
	if (all.nr) {
		qsort(all.m, all.nr, sizeof(const struct kf_member *),
		      ended_latest_first);
		ended_table(&all, out);
	} else {
		kf_buf_str(out,
			   "<section class=\"empty\" id=\"empty\">"
			   "<h2>None</h2>\n<p>No process that has ended left a "
			   "stats file here. One that exits normally keeps its "
			   "file only if samples were asked for, or with "
			   "<code>KONFISCATOR_KEEP=1</code>.</p></section>\n");
	}
	free(all.m);
}

void kf_site_ended(const struct kf_site *site, struct kf_buf *out)
{
	struct kf_groups *g = site->sources->groups;

	kf_html_begin(out, "Ended processes", site->telemetry_path);
	kf_buf_str(out, "<h1>Ended processes</h1>\n");
	pthread_mutex_lock(&g->lock);
	ended_gather(g, out);
	pthread_mutex_unlock(&g->lock);
	kf_html_end(out);
}

/* Bytes in use at the moments of its file, and at the end. */
static void ended_growth(const struct kf_snapshot *s, struct kf_buf *out)
{
	const struct kf_stats_moment end = kf_snapshot_end(s);
	uint64_t *ms = calloc(s->nr_moments + 1u, sizeof(*ms));
	float *used = calloc(s->nr_moments + 1u, sizeof(*used));
	unsigned int nr = 0;

	for (uint32_t i = 0; ms && used && i <= s->nr_moments; i++) {
		const struct kf_stats_moment *m =
			i < s->nr_moments ? &s->moments[i] : &end;

		if (nr && m->time / 1000000 <= ms[nr - 1])
			continue;
		ms[nr] = m->time / 1000000;
		used[nr++] = (float)m->live;
	}
	if (nr > 1) {
		kf_buf_str(out, "<div class=\"plot\">");
		kf_html_spark(out, ms, used, nr, UINT64_MAX / nr);
		kf_buf_fmt(out,
			   "</div>\n<p class=\"hint\">Bytes in use in its last "
			   "%.1f s; ",
			   (double)(ms[nr - 1] - ms[0]) / 1000);
		kf_html_bytes(out, (double)end.live);
		kf_buf_str(out, " at the end</p>\n");
	}
	out->failed |= !ms || !used;
	free(ms);
	free(used);
}

void kf_site_end(const struct kf_subject *subject, const struct kf_snapshot *s,
		 struct kf_buf *out)
{
	char when[40];

	ended_time(subject->ended_at, when);
	kf_buf_fmt(out,
		   "<section id=\"end\">\n<h2>Ended</h2>\n<p><b>%s</b>, "
		   "noticed %s</p>\n",
		   ended_causes[subject->cause], when);
	ended_growth(s, out);
	kf_buf_fmt(out,
		   "<p class=\"hint\"><code>konfiscator post-mortem -p %" PRId32
		   "</code> has its last events too.</p>\n</section>\n",
		   s->id.pid);
}
